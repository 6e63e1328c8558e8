//! Requests that write objects: one PUT, or an upload in parts of which nobody sees anything until it is completed.
//!
//! Invariant: as for reading, every request runs on the `io` threads and is aborted when nobody waits for it; errors
//! name bucket and key. An upload is completed or aborted by its id alone, by whoever knows it.
//! Must not know: what the bytes mean, when a statement commits.

use std::sync::Arc;

use bytes::Bytes;
use object_store::multipart::{MultipartStore, PartId};
use object_store::{PutMode, PutOptions};
use tokio_util::task::AbortOnDropHandle;

use crate::error::{Result, SourceError, SourceErrorKind};
use crate::lane::RequestKind;
use crate::store::Store;
use crate::store_errors::write_error;

/// A part on its way; dropping it gives the request up.
pub(crate) type PartRequest = AbortOnDropHandle<Result<String>>;

impl Store {
    /// Writes an object in one request. `replace` is false: an object that is there already is [`SourceErrorKind::Exists`],
    /// as far as the server can tell; one that does not know the condition writes as if it were true.
    pub(crate) async fn put_whole(&self, key: &str, content: Bytes, replace: bool) -> Result<()> {
        let mode = if replace { PutMode::Overwrite } else { PutMode::Create };
        let (done, requests) = self.put_as(key, content.clone(), mode).await?;
        match done {
            Err(error) if !replace && knows_no_condition(&error) => {
                self.put_as(key, content, PutMode::Overwrite).await?.0
            }
            // The answer to an attempt before this one may have been lost: then it is our own object that is there.
            Err(error) if error.kind() == SourceErrorKind::Exists && requests > 1 => {
                let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
                match self.get(key, 0..length, None).await {
                    Ok(there) if there == content && self.head(key).await?.bytes == length => Ok(()),
                    _ => Err(error),
                }
            }
            other => other,
        }
    }

    /// Also tells how many requests it took.
    async fn put_as(&self, key: &str, content: Bytes, mode: PutMode) -> Result<(Result<()>, usize)> {
        let (objects, path, shown) = (Arc::clone(&self.objects), self.path(key)?, self.shown(key));
        let attempts = self.attempts.clone();
        let put = async move {
            let mut requests = 0;
            let show = |error: &object_store::Error| write_error(error, &shown);
            let ask = || {
                requests += 1;
                let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
                let (objects, path, content) = (Arc::clone(&objects), path.clone(), content.clone());
                async move { Ok(objects.put_opts(&path, content.into(), options).await.map(drop)?) }
            };
            let done = attempts.run(RequestKind::Put, show, ask).await;
            (done, requests)
        };
        self.on_io("export put", put).await
    }

    /// Begins an upload; its id is all that finishing or aborting it needs. When an answer is lost, an upload nobody knows
    /// of stays behind; it shows nothing, and a bucket's lifecycle rule removes it.
    pub(crate) async fn create_upload(&self, key: &str) -> Result<String> {
        let (uploads, path, shown) = (self.uploads()?, self.path(key)?, self.shown(key));
        let attempts = self.attempts.clone();
        let create = async move {
            let show = |error: &object_store::Error| write_error(error, &shown);
            let ask = || async { Ok(uploads.create_multipart(&path).await?) };
            attempts.run(RequestKind::Put, show, ask).await
        };
        self.on_io("export create", create).await?
    }

    /// Sends part number `index`, counted from 0, at once; the answer is what completing needs to name it.
    pub(crate) fn put_part(
        self: &Arc<Self>,
        key: &str,
        upload: &str,
        index: usize,
        content: Bytes,
    ) -> Result<PartRequest> {
        let (uploads, path, shown) = (self.uploads()?, self.path(key)?, self.shown(key));
        let (attempts, upload) = (self.attempts.clone(), upload.to_owned());
        let request = async move {
            let show = |error: &object_store::Error| write_error(error, &shown);
            let ask = || async {
                let part = uploads.put_part(&path, &upload, index, content.clone().into()).await?;
                Ok(part.content_id)
            };
            attempts.run(RequestKind::Put, show, ask).await
        };
        Ok(AbortOnDropHandle::new(self.runtimes.spawn_io("export part", request)))
    }

    /// Makes the object of an upload visible. An upload that is gone because this was done before is done.
    pub(crate) async fn complete_upload(&self, key: &str, upload: &str, parts: &[Arc<str>]) -> Result<()> {
        let (uploads, path, shown) = (self.uploads()?, self.path(key)?, self.shown(key));
        let (attempts, id) = (self.attempts.clone(), upload.to_owned());
        let parts: Vec<PartId> = parts.iter().map(|part| PartId { content_id: part.to_string() }).collect();
        let complete = async move {
            let show = |error: &object_store::Error| write_error(error, &shown);
            let ask = || async { Ok(uploads.complete_multipart(&path, &id, parts.clone()).await.map(drop)?) };
            attempts.run(RequestKind::Put, show, ask).await
        };
        let Err(error) = self.on_io("export complete", complete).await? else { return Ok(()) };
        // An answer that was lost: the first attempt completed it.
        if error.kind() == SourceErrorKind::NotFound && self.head(key).await.is_ok() {
            return Ok(());
        }
        Err(error)
    }

    /// Gives an upload up; one that is gone already is given up.
    pub(crate) async fn abort_upload(&self, key: &str, upload: &str) -> Result<()> {
        let (uploads, path, shown) = (self.uploads()?, self.path(key)?, self.shown(key));
        let (attempts, id) = (self.attempts.clone(), upload.to_owned());
        let abort = async move {
            let show = |error: &object_store::Error| write_error(error, &shown);
            let ask = || async { Ok(uploads.abort_multipart(&path, &id).await?) };
            attempts.run(RequestKind::Put, show, ask).await
        };
        match self.on_io("export abort", abort).await? {
            Err(error) if error.kind() == SourceErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Whether a key is taken.
    pub(crate) async fn exists(&self, key: &str) -> Result<bool> {
        match self.head(key).await {
            Ok(_) => Ok(true),
            Err(error)
                if error.kind() == SourceErrorKind::NotFound && error.s3_code() != Some("NoSuchBucket") =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn uploads(&self) -> Result<Arc<dyn MultipartStore>> {
        self.uploads.clone().ok_or_else(|| {
            SourceError::unsupported(format!("\"{}\" takes no uploads in parts", self.identity()))
        })
    }
}

/// `501 Not Implemented`: what servers without conditional writes answer, if they do not just ignore the condition.
fn knows_no_condition(error: &SourceError) -> bool {
    error.kind() == SourceErrorKind::Unsupported || error.http_status() == Some(501)
}
