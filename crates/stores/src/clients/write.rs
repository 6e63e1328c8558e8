//! Requests that write objects: one PUT, or an upload in parts of which nobody sees anything until it is completed.
//!
//! Invariant: as for reading, every request runs on the `io` threads and is aborted when nobody waits for it; errors
//! name bucket and key. An upload is completed or aborted by its id alone, by whoever knows it.
//! Must not know: what the bytes mean, when a statement commits.

use std::sync::Arc;

use bytes::Bytes;
use model::ExportObject;
use model::saturating::u64_of;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutMode, PutOptions};
use tokio_util::task::AbortOnDropHandle;

use crate::clients::store::{Addressed, Store};
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::requests::errors::write_error;
use crate::requests::lane::RequestKind;

/// A part on its way; dropping it gives the request up.
pub type PartRequest = AbortOnDropHandle<Result<String>>;

/// Why one PUT did not answer that it was done.
#[derive(Debug)]
pub struct PutFailed {
    pub error: SourceError,
    /// The object may be there all the same, and nobody could tell.
    pub is_unknown: bool,
}

impl Store {
    /// Writes an object in one request. `replace` is false: an object that is there already is [`SourceErrorKind::Exists`],
    /// as far as the server can tell; one that does not know the condition writes as if it were true.
    pub async fn put_whole(&self, key: &str, content: Bytes, replace: bool) -> Result<(), PutFailed> {
        let mode = if replace { PutMode::Overwrite } else { PutMode::Create };
        let (mut done, mut requests) = self.put_as(key, content.clone(), mode).await.map_err(undone)?;
        if !replace && done.as_ref().is_err_and(knows_no_condition) {
            (done, requests) = self.put_as(key, content.clone(), PutMode::Overwrite).await.map_err(undone)?;
        }
        let Err(error) = done else { return Ok(()) };
        if requests <= 1 && !may_have_happened(&error) {
            return Err(undone(error));
        }
        // The answer to an attempt may have been lost: then it is our own object that is there.
        match self.holds(key, &content).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(undone(error)),
            Err(_) => Err(PutFailed { error, is_unknown: true }),
        }
    }

    /// Makes an object unless there is one, by one request if the store was made to ask once.
    ///
    /// # Errors
    /// [`SourceErrorKind::Exists`]: there is one. After any other error it may be there, or come to be there.
    pub async fn create_once(&self, key: &str, content: Bytes) -> Result<()> {
        self.put_as(key, content, PutMode::Create).await?.0
    }

    /// Deletes an object of a bucket.
    pub async fn delete(&self, key: &str) -> Result<()> {
        let (Addressed { objects, path, .. }, shown) = (self.addressed(key)?, self.shown(key));
        let attempts = self.attempts.clone();
        let delete = async move {
            let show = |error: &object_store::Error| write_error(error, &shown);
            attempts.run(RequestKind::Put, show, || async { Ok(objects.delete(&path).await?) }).await
        };
        self.on_io("delete", delete).await?
    }

    /// Whether exactly these bytes are there.
    async fn holds(&self, key: &str, content: &Bytes) -> Result<bool> {
        let length = length(content);
        let there = async {
            Ok(self.head(key).await?.bytes == length && self.get(key, 0..length, None).await? == *content)
        };
        match there.await {
            Err(error) if is_no_object(&error) => Ok(false),
            other => other,
        }
    }

    /// Also tells how many requests it took.
    async fn put_as(&self, key: &str, content: Bytes, mode: PutMode) -> Result<(Result<()>, usize)> {
        let (Addressed { objects, path, .. }, shown) = (self.addressed(key)?, self.shown(key));
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
    pub async fn create_upload(&self, key: &str) -> Result<String> {
        let (uploads, path, shown) = self.uploads_to(key)?;
        let attempts = self.attempts.clone();
        let create = async move {
            let show = |error: &object_store::Error| write_error(error, &shown);
            let ask = || async { Ok(uploads.create_multipart(&path).await?) };
            attempts.run(RequestKind::Put, show, ask).await
        };
        self.on_io("export create", create).await?
    }

    /// Sends part number `index`, counted from 0, at once; the answer is what completing needs to name it.
    pub fn put_part(
        self: &Arc<Self>,
        key: &str,
        upload: &str,
        index: usize,
        content: Bytes,
    ) -> Result<PartRequest> {
        let (uploads, path, shown) = self.uploads_to(key)?;
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

    /// Makes the object of an upload visible. An upload that is gone because this was done before is done: then there
    /// is an object of so many `bytes`.
    ///
    /// # Errors
    /// [`SourceErrorKind::NotFound`]: the upload is gone, and what is at the key is not its object. Nobody can complete
    /// it any more.
    pub async fn complete_upload(&self, object: &ExportObject) -> Result<()> {
        let key = &*object.key;
        let (uploads, path, shown) = self.uploads_to(key)?;
        let (attempts, id) = (self.attempts.clone(), object.upload.to_string());
        let named = |part: &Arc<str>| PartId { content_id: part.to_string() };
        let parts: Vec<PartId> = object.parts.iter().map(named).collect();
        let complete = async move {
            let show = |error: &object_store::Error| write_error(error, &shown);
            let ask = || async { Ok(uploads.complete_multipart(&path, &id, parts.clone()).await.map(drop)?) };
            attempts.run(RequestKind::Put, show, ask).await
        };
        let Err(error) = self.on_io("export complete", complete).await? else { return Ok(()) };
        // Azure has no uploads to be missing: blocks that were taken, or thrown away, are none any more.
        if error.kind() != SourceErrorKind::NotFound && error.s3_code() != Some("InvalidBlockList") {
            return Err(error);
        }
        let there = match self.head(key).await {
            // An answer that was lost: the first attempt completed it.
            Ok(there) if there.bytes == object.bytes => return Ok(()),
            Ok(there) => format!("the object that is there has {} bytes", there.bytes),
            Err(missing) if missing.kind() == SourceErrorKind::NotFound => "there is no object".to_owned(),
            Err(error) => return Err(error),
        };
        let shown = self.shown(key);
        let message = format!(
            "the upload of \"{shown}\" ({} bytes) is gone, and {there}: {}",
            object.bytes,
            error.message()
        );
        Err(SourceError::new(SourceErrorKind::NotFound, message)
            .with_file(&shown)
            .with_hint("write the object again if it was not removed or replaced on purpose"))
    }

    /// Gives an upload up; one that is gone already is given up.
    pub async fn abort_upload(&self, key: &str, upload: &str) -> Result<()> {
        let (uploads, path, shown) = self.uploads_to(key)?;
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
    pub async fn exists(&self, key: &str) -> Result<bool> {
        match self.head(key).await {
            Ok(_) => Ok(true),
            Err(error) if is_no_object(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Who takes the parts of a key, by which path, and how it is shown.
    fn uploads_to(&self, key: &str) -> Result<(Arc<dyn MultipartStore>, Path, String)> {
        let Addressed { uploads, path, .. } = self.addressed(key)?;
        let uploads = uploads.ok_or_else(|| {
            SourceError::unsupported(format!("\"{}\" takes no uploads in parts", self.identity()))
        })?;
        Ok((uploads, path, self.shown(key)))
    }
}

fn undone(error: SourceError) -> PutFailed {
    PutFailed { error, is_unknown: false }
}

/// Whether the request may have been carried out all the same: nobody refused it.
fn may_have_happened(error: &SourceError) -> bool {
    error.kind() == SourceErrorKind::Unavailable && !matches!(error.http_status(), Some(400..=499))
}

/// Whether a key has no object in a bucket that is there.
fn is_no_object(error: &SourceError) -> bool {
    error.kind() == SourceErrorKind::NotFound
        && !matches!(error.s3_code(), Some("NoSuchBucket" | "ContainerNotFound"))
}

fn length(content: &Bytes) -> u64 {
    u64_of(content.len())
}

/// `501 Not Implemented`: what servers without conditional writes answer, if they do not just ignore the condition.
fn knows_no_condition(error: &SourceError) -> bool {
    error.kind() == SourceErrorKind::Unsupported || error.http_status() == Some(501)
}
