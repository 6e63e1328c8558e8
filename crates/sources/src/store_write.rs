//! Requests that write objects: one PUT, or an upload in parts of which nobody sees anything until it is completed.
//!
//! Invariant: as for reading, every request runs on the `io` threads and is aborted when nobody waits for it; errors
//! name bucket and key. An upload is completed or aborted by its id alone, by whoever knows it.
//! Must not know: what the bytes mean, when a statement commits.

use std::sync::Arc;

use bytes::Bytes;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutOptions};
use tokio_util::task::AbortOnDropHandle;

use crate::error::{Result, SourceError, SourceErrorKind};
use crate::store::Store;
use crate::store_errors::write_error;

/// A part on its way; dropping it gives the request up.
pub(crate) type PartRequest = AbortOnDropHandle<Result<String>>;

impl Store {
    /// Writes an object in one request. `replace` is false: an object that is there already is [`SourceErrorKind::Exists`],
    /// as far as the server can tell; one that does not know the condition writes as if it were true.
    pub(crate) async fn put_whole(&self, key: &str, content: Bytes, replace: bool) -> Result<()> {
        let path = self.path(key)?;
        let mode = if replace { PutMode::Overwrite } else { PutMode::Create };
        let first = self.put_once(&path, content.clone(), mode).await?;
        let done = match first {
            Err(error) if !replace && knows_no_condition(&error) => {
                self.put_once(&path, content, PutMode::Overwrite).await?
            }
            other => other,
        };
        done.map_err(|error| write_error(&error, &self.shown(key)))
    }

    async fn put_once(
        &self,
        path: &Path,
        content: Bytes,
        mode: PutMode,
    ) -> Result<Result<(), object_store::Error>> {
        let (objects, path) = (Arc::clone(&self.objects), path.clone());
        let options = PutOptions { mode, ..PutOptions::default() };
        self.on_io(
            "export put",
            async move { objects.put_opts(&path, content.into(), options).await.map(drop) },
        )
        .await
    }

    /// Begins an upload; its id is all that finishing or aborting it needs.
    pub(crate) async fn create_upload(&self, key: &str) -> Result<String> {
        let (uploads, path) = (self.uploads()?, self.path(key)?);
        let answer =
            self.on_io("export create", async move { uploads.create_multipart(&path).await }).await?;
        answer.map_err(|error| write_error(&error, &self.shown(key)))
    }

    /// Sends part number `index`, counted from 0, at once; the answer is what completing needs to name it.
    pub(crate) fn put_part(
        self: &Arc<Self>,
        key: &str,
        upload: &str,
        index: usize,
        content: Bytes,
    ) -> Result<PartRequest> {
        let (uploads, path) = (self.uploads()?, self.path(key)?);
        let (store, key, upload) = (Arc::clone(self), key.to_owned(), upload.to_owned());
        let request = async move {
            match uploads.put_part(&path, &upload, index, content.into()).await {
                Ok(part) => Ok(part.content_id),
                Err(error) => Err(write_error(&error, &store.shown(&key))),
            }
        };
        Ok(AbortOnDropHandle::new(self.runtimes.spawn_io("export part", request)))
    }

    /// Makes the object of an upload visible. An upload that is gone because this was done before is done.
    pub(crate) async fn complete_upload(&self, key: &str, upload: &str, parts: &[Arc<str>]) -> Result<()> {
        let (uploads, path, id) = (self.uploads()?, self.path(key)?, upload.to_owned());
        let parts = parts.iter().map(|part| PartId { content_id: part.to_string() }).collect();
        let answer = self
            .on_io("export complete", async move { uploads.complete_multipart(&path, &id, parts).await })
            .await?;
        let Err(error) = answer.map_err(|error| write_error(&error, &self.shown(key))) else { return Ok(()) };
        // An answer that was lost: the first attempt completed it.
        if error.kind() == SourceErrorKind::NotFound && self.head(key).await.is_ok() {
            return Ok(());
        }
        Err(error)
    }

    /// Gives an upload up; one that is gone already is given up.
    pub(crate) async fn abort_upload(&self, key: &str, upload: &str) -> Result<()> {
        let (uploads, path, id) = (self.uploads()?, self.path(key)?, upload.to_owned());
        let answer =
            self.on_io("export abort", async move { uploads.abort_multipart(&path, &id).await }).await?;
        match answer.map_err(|error| write_error(&error, &self.shown(key))) {
            Err(error) if error.kind() == SourceErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Whether a key is taken.
    pub(crate) async fn exists(&self, key: &str) -> Result<bool> {
        let (objects, path) = (Arc::clone(&self.objects), self.path(key)?);
        match self.on_io("export head", async move { objects.head(&path).await }).await? {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(write_error(&error, &self.shown(key))),
        }
    }

    fn uploads(&self) -> Result<Arc<dyn MultipartStore>> {
        self.uploads.clone().ok_or_else(|| {
            SourceError::unsupported(format!("\"{}\" takes no uploads in parts", self.identity()))
        })
    }
}

/// `501 Not Implemented`: what servers without conditional writes answer, if they do not just ignore the condition.
fn knows_no_condition(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotImplemented { .. })
        || write_error(error, "").http_status() == Some(501)
}
