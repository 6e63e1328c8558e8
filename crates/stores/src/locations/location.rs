//! Where the files of a call are: a bucket, a container, pages, or the local file system.
//!
//! Pure. Invariant: a local pattern stays inside the folder of user files unless anything may be read; displayed file
//! names are `bucket/key` for objects and absolute paths for files, as ClickHouse's `_path` shows them.
//! Must not know: credentials of the environment, clients.

use std::path::{Component, Path, PathBuf};

use model::ErrorCode;

use crate::calls::arguments::ObjectArguments;
use crate::calls::signatures::Family;
use crate::credentials::{GivenCredentials, S3Environment};
use crate::error::{Result, SourceError};
pub use crate::locations::azure::ContainerLocation;
use crate::locations::azure::{Account, azure_account};
pub use crate::locations::bucket::BucketLocation;
use crate::locations::bucket::{S3Url, s3_url};
use crate::statement::settings::SourceSettings;
use crate::web::location::{WebPage, web_pages};

/// Where files are, and which.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    S3 {
        bucket: BucketLocation,
        pattern: String,
    },
    Azure {
        container: ContainerLocation,
        /// From the connection string or the arguments.
        key: GivenCredentials,
        pattern: String,
    },
    /// The URL as it was written, for what is decided by its suffix.
    Web {
        pages: Vec<WebPage>,
        written: String,
    },
    /// Pattern of an absolute path without its leading `/`.
    Local {
        pattern: String,
    },
}

impl Location {
    /// The pattern of keys, or what stands for it.
    pub fn pattern(&self) -> &str {
        match self {
            Location::S3 { pattern, .. } | Location::Azure { pattern, .. } | Location::Local { pattern } => {
                pattern
            }
            Location::Web { written, .. } => written.split('?').next().unwrap_or(written),
        }
    }
}

/// Where `file()` may look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserFiles {
    /// Relative paths start here; absolute.
    pub root: PathBuf,
    /// Absolute paths anywhere are allowed (`local` mode).
    pub anywhere: bool,
}

/// Where the files of sorted arguments are.
///
/// # Errors
/// A URL or path that is not understood or not allowed.
pub fn location(
    arguments: &ObjectArguments,
    environment: &S3Environment,
    settings: &SourceSettings,
    files: &UserFiles,
) -> Result<Location> {
    refuse_members(&arguments.url)?;
    refuse_members(&arguments.blob_path)?;
    match arguments.family {
        Family::File => file_location(&arguments.url, files),
        Family::Azure => azure_location(arguments),
        Family::Url => {
            let pages = web_pages(&arguments.url, settings.glob_expansion_max)?;
            Ok(Location::Web { pages, written: arguments.url.clone() })
        }
        Family::S3 => match s3_url(&arguments.url, environment, settings.presigned_query_in_key)? {
            S3Url::Bucket { mut bucket, pattern } => {
                bucket.headers.clone_from(&arguments.headers);
                Ok(Location::S3 { bucket, pattern })
            }
            S3Url::Presigned { shown } => {
                let page = WebPage::presigned(&arguments.url, &shown)?;
                Ok(Location::Web { pages: vec![page], written: arguments.url.clone() })
            }
        },
    }
}

/// What names of archives end with that ClickHouse looks into.
const ARCHIVES: &[&str] = &[
    ".zip", ".zipx", ".7z", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".tar.bz2",
    ".tbz",
];

/// `archive :: member` would be looked for as a key of that name.
fn refuse_members(written: &str) -> Result<()> {
    let Some((archive, _)) = written.split_once("::") else { return Ok(()) };
    let name = archive.trim_end().rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    match ARCHIVES.iter().any(|suffix| name.ends_with(suffix)) {
        false => Ok(()),
        true => Err(SourceError::unsupported(format!(
            "reading a member of the archive \"{name}\" is not supported"
        ))
        .with_hint("unpack it first, or name the file itself")),
    }
}

fn azure_location(arguments: &ObjectArguments) -> Result<Location> {
    let name = match &arguments.credentials {
        GivenCredentials::Key(key) => Some(key.id.as_str()),
        GivenCredentials::Unsaid | GivenCredentials::NoSign => None,
    };
    let Account { location, key } = azure_account(&arguments.url, &arguments.container, name)?;
    if arguments.blob_path.is_empty() {
        return Err(SourceError::bad_arguments("azureBlobStorage() was given an empty blob path")
            .with_hint("** reads every blob of the container"));
    }
    let key = match (&arguments.credentials, key) {
        (GivenCredentials::Unsaid, Some(key)) => GivenCredentials::Key(key),
        (given, _) => given.clone(),
    };
    let pattern = arguments.blob_path.trim_start_matches('/').to_owned();
    Ok(Location::Azure { container: location, key, pattern })
}

/// Takes a path of `file()` apart.
fn file_location(path: &str, files: &UserFiles) -> Result<Location> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    if path.is_empty() {
        return Err(SourceError::bad_arguments("file() was given an empty path"));
    }
    if path.contains('\0') {
        return Err(SourceError::bad_arguments("file() was given a path with a NUL byte"));
    }
    let absolute = plain_path(&files.root.join(path));
    let root = plain_path(&files.root);
    // Inside braces it cannot be told what `..` leaves.
    let climbs = || path.contains('{') && path.split(['/', '{', '}', ',']).any(|piece| piece == "..");
    if !files.anywhere && (!absolute.starts_with(&root) || climbs()) {
        return Err(SourceError::bad_arguments(format!(
            "file \"{path}\" is not inside \"{}\"",
            root.display()
        ))
        .with_code(ErrorCode::DATABASE_ACCESS_DENIED));
    }
    let text = absolute.to_str().unwrap_or(path);
    Ok(Location::Local { pattern: text.trim_start_matches('/').to_owned() })
}

/// Without `.` and `..`, by text alone: a glob names no real folder to ask.
pub fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_inside_their_folder_unless_told_otherwise() {
        let inside = UserFiles { root: "/data/files".into(), anywhere: false };
        let pattern = |path: &str, files: &UserFiles| match file_location(path, files) {
            Ok(Location::Local { pattern }) => pattern,
            Ok(other) => format!("{other:?}"),
            Err(error) => error.code().to_string(),
        };
        assert_eq!(pattern("a/*.csv", &inside), "data/files/a/*.csv");
        assert_eq!(pattern("/data/files/a.csv", &inside), "data/files/a.csv");
        assert_eq!(pattern("../x.csv", &inside), "291");
        assert_eq!(pattern("/etc/passwd", &inside), "291");
        let anywhere = UserFiles { anywhere: true, ..inside };
        assert_eq!(pattern("/tmp/x.csv", &anywhere), "tmp/x.csv");
        assert_eq!(pattern("./x.csv", &anywhere), "data/files/x.csv");
    }

    #[test]
    fn members_of_archives_are_refused_by_name() {
        for (written, is_refused) in [
            ("http://h/b/a.zip :: x/*.csv", true),
            ("data/A.TAR.GZ::x.csv", true),
            ("a.7z :: x", true),
            ("http://h/b/a::b.csv", false),
            ("http://[::1]/b/a.zip", false),
            ("a.zip", false),
        ] {
            assert_eq!(refuse_members(written).is_err(), is_refused, "{written}");
        }
    }
}
