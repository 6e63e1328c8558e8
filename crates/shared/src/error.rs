//! What keeps a process from using a shared root, by what people do about it.

use std::io;
use std::path::PathBuf;

use catalog::CatalogError;

#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// The bucket is missing, access is denied, nobody answers.
    #[error("the shared root {place} cannot be used: {source}")]
    Unreachable { place: String, source: io::Error },
    /// Something else is below the prefix.
    #[error("{place} is not empty and is no database: there is {found}; choose an empty prefix")]
    NotARoot { place: String, found: String },
    /// Nobody has made a root there.
    #[error("there is no database at {place}: the object \"root\" is not there")]
    NoRoot { place: String },
    /// Written by a program too new for this one.
    #[error("{place} has format {found}, this program knows formats up to {known}: update it")]
    TooNew { place: String, found: u64, known: u64 },
    #[error("{place} is damaged: {problem}")]
    Damaged { place: String, problem: String },
    /// Records that somebody knew are not there any more.
    #[error(
        "{place} is damaged: its log ends at record {seq}, and {witness} says that there was record {known}"
    )]
    Cut { place: String, seq: u64, known: u64, witness: String },
    /// Not understood, or no client can be made for it.
    #[error("the shared root cannot be opened: {0}")]
    Url(String),
    /// The folder for what this process keeps of it.
    #[error("the cache folder {path}: {source}", path = .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the cache folder {path} is in use by another process", path = .path.display())]
    InUse { path: PathBuf },
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Commits would overwrite each other.
    #[error(
        "the store at {place} does not create objects only where there are none: of {racers} who created one object at once \
         {winners} were told that they had; it cannot hold a shared root"
    )]
    NoConditions { place: String, racers: usize, winners: usize },
}

impl SharedError {
    pub(crate) fn unreachable(place: String) -> impl FnOnce(io::Error) -> SharedError {
        move |source| SharedError::Unreachable { place, source }
    }
}
