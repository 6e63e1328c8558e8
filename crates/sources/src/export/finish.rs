//! What becomes of objects that are written and not visible: completed after the commit, aborted without one.
//!
//! Invariant: both can be done again, by this process or a later one, until they are done. Must not know: why.

use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use host::Disk;
use model::ErrorCode;
use model::export::{ExportCredentials, ExportObject, ExportStore};
use stores::clients::cache::{RetryPolicy, StoreCache};
use stores::clients::store::Store;
use stores::credentials::{Credentials, S3Environment};
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::statement::settings::SourceSettings;

use crate::export::destination::{bucket_of, file_error};
use crate::export::local_file::{NEW_FILE, file_came};

/// Objects of one statement that are completed or aborted at one time.
const AT_ONCE: usize = 16;

/// An object, and the client that can reach it; a file has none.
pub type Reachable = (Option<Arc<Store>>, ExportObject);

/// Makes all of them visible. All are tried.
///
/// # Errors
/// The first that could not be; some may be visible then, and it may be tried again.
pub async fn complete(disk: &Arc<dyn Disk>, objects: Vec<Reachable>) -> Result<()> {
    completed(disk, objects).await.into_iter().collect()
}

/// [`complete`] long after the commit. What nobody can complete any more is answered: its upload or temporary file is
/// gone, and what is there instead is not what it was to become, since somebody removed or replaced one or the other.
///
/// # Errors
/// The first that could not be completed now and may be later.
pub async fn complete_left(disk: &Arc<dyn Disk>, objects: Vec<Reachable>) -> Result<Vec<SourceError>> {
    let mut gone = Vec::new();
    for done in completed(disk, objects).await {
        match done {
            Err(error) if error.kind() == SourceErrorKind::NotFound => gone.push(error),
            other => other?,
        }
    }
    Ok(gone)
}

async fn completed(disk: &Arc<dyn Disk>, objects: Vec<Reachable>) -> Vec<Result<()>> {
    let each = objects.into_iter().map(|(store, object)| async move {
        match store {
            Some(store) => store.complete_upload(&object).await,
            None => rename(disk.as_ref(), &object),
        }
    });
    futures::stream::iter(each).buffer_unordered(AT_ONCE).collect().await
}

/// Leaves nothing of any of them. All are tried.
///
/// # Errors
/// The first that could not be aborted.
pub async fn abort(disk: &Arc<dyn Disk>, objects: Vec<Reachable>) -> Result<()> {
    let each = objects.into_iter().map(|(store, object)| async move {
        match store {
            Some(store) => store.abort_upload(&object.key, &object.upload).await,
            None => remove(disk.as_ref(), &object),
        }
    });
    let done: Vec<Result<()>> = futures::stream::iter(each).buffer_unordered(AT_ONCE).collect().await;
    done.into_iter().collect()
}

/// The client for objects that another process began, if their credentials are not those of a statement.
pub fn store_without_statement(
    place: &ExportStore,
    stores: &StoreCache,
    environment: &S3Environment,
    settings: &SourceSettings,
) -> Option<Result<Arc<Store>>> {
    let bucket = bucket_of(place)?;
    let credentials = match (place.credentials, &environment.key) {
        (ExportCredentials::Nobody, _) => Credentials::Anonymous,
        (ExportCredentials::Ambient, Some(key)) => Credentials::Ambient(key.clone()),
        (ExportCredentials::Ambient, None) | (ExportCredentials::Statement, _) => return None,
    };
    Some(stores.bucket(&bucket, &credentials, RetryPolicy::from(settings)))
}

fn rename(disk: &dyn Disk, object: &ExportObject) -> Result<()> {
    let (from, to) = (Path::new(&*object.upload), Path::new(&*object.key));
    let failed = |error: std::io::Error| file_error(to, "put in place", &error);
    if !disk.exists(from).map_err(failed)? {
        let there = match disk.exists(to).map_err(failed)? {
            true => Some(disk.open_read(to).and_then(|file| file.len()).map_err(failed)?),
            false => None,
        };
        return match there {
            // It was done by an attempt before this one, which may not have come to the sync.
            Some(bytes) if bytes == object.bytes => sync_folder(disk, to).map_err(failed),
            _ => Err(gone(object, there)),
        };
    }
    if object.parts.iter().any(|part| &**part == NEW_FILE) && disk.exists(to).map_err(failed)? {
        return Err(file_came(&object.key));
    }
    disk.rename(from, to).map_err(failed)?;
    sync_folder(disk, to).map_err(failed)
}

fn sync_folder(disk: &dyn Disk, path: &Path) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), |folder| disk.sync_dir(folder))
}

/// Nobody can put it in place any more.
fn gone(object: &ExportObject, there: Option<u64>) -> SourceError {
    let there = match there {
        Some(bytes) => format!("the file that is there has {bytes} bytes"),
        None => "there is no file".to_owned(),
    };
    let message = format!(
        "the temporary file \"{}\" of \"{}\" ({} bytes) is gone, and {there}",
        object.upload, object.key, object.bytes
    );
    SourceError::new(SourceErrorKind::NotFound, message)
        .with_file(&object.key)
        .with_code(ErrorCode::FILE_DOESNT_EXIST)
        .with_hint("write the file again if it was not removed or replaced on purpose")
}

fn remove(disk: &dyn Disk, object: &ExportObject) -> Result<()> {
    let path = Path::new(&*object.upload);
    let failed = |error: std::io::Error| file_error(path, "removed", &error);
    match disk.exists(path).map_err(failed)? {
        true => disk.remove_file(path).map_err(failed),
        false => Ok(()),
    }
}
