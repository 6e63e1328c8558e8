//! Writing objects and files: INSERT INTO FUNCTION.
//!
//! A call becomes a [`Destination`]; an [`Export`] turns rows into objects that nobody sees, and [`finish`] makes them
//! visible together after the statement's commit, or leaves nothing of them. Invariant: one place decides each: names
//! (`names`), sizes (`part_sizes`), requests (`stores::clients`). Must not know: the statement, the log.

pub mod part_sizes;
pub mod names;
pub mod settings;
mod post;
mod asked;
mod journal;
mod links;
pub mod destination;
pub mod places;
mod upload;
mod local_file;
pub mod finish;
mod writer;

pub use destination::{Destination, PartitionKey};
pub use finish::Reachable;
pub use journal::ExportJournal;
pub use names::{PartitionStrategy, can_append};
pub use part_sizes::PartSizes;
pub use post::Posted;
pub use settings::ExportSettings;
pub use upload::WholeObject;
pub use writer::{Export, ExportNames, Sealed};
