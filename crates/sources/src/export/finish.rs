//! What becomes of objects that are written and not visible: completed after the commit, aborted without one.
//!
//! Invariant: both can be done again, by this process or a later one, until they are done. Must not know: why.

use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use host::Disk;
use model::export::{ExportCredentials, ExportObject, ExportStore};

use crate::credentials::{Credentials, S3Environment};
use crate::error::Result;
use crate::export::destination::{bucket_of, file_error};
use crate::settings::SourceSettings;
use crate::store::Store;
use crate::stores::{RetryPolicy, StoreCache};

/// Objects of one statement that are completed or aborted at one time.
const AT_ONCE: usize = 16;

/// An object, and the client that can reach it; a file has none.
pub type Reachable = (Option<Arc<Store>>, ExportObject);

/// Makes all of them visible.
///
/// # Errors
/// The first that could not be; some may be visible then, and it may be tried again.
pub async fn complete(disk: &Arc<dyn Disk>, objects: Vec<Reachable>) -> Result<()> {
    let each = objects.into_iter().map(|(store, object)| async move {
        match store {
            Some(store) => store.complete_upload(&object.key, &object.upload, &object.parts).await,
            None => rename(disk.as_ref(), &object),
        }
    });
    futures::stream::iter(each).buffer_unordered(AT_ONCE).try_collect().await
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
    // It was done by an attempt before this one.
    if !disk.exists(from).map_err(failed)? && disk.exists(to).map_err(failed)? {
        return Ok(());
    }
    disk.rename(from, to).map_err(failed)?;
    to.parent().map_or(Ok(()), |folder| disk.sync_dir(folder)).map_err(failed)
}

fn remove(disk: &dyn Disk, object: &ExportObject) -> Result<()> {
    let path = Path::new(&*object.upload);
    let failed = |error: std::io::Error| file_error(path, "removed", &error);
    match disk.exists(path).map_err(failed)? {
        true => disk.remove_file(path).map_err(failed),
        false => Ok(()),
    }
}
