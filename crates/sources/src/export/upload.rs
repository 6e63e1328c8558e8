//! One object on its way into a bucket.
//!
//! Invariant: nobody sees the object before its upload is completed or its one PUT is sent, and both are done by others.
//! Bytes held here and on their way are granted from the statement's memory. Must not know: rows, other objects.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use host::{MemoryBudget, MemoryGrant};
use model::export::{ExportObject, ExportStore};
use model::saturating::u64_of;
use stores::clients::store::Store;
use stores::clients::write::{PartRequest, PutFailed};
use stores::error::{Result, SourceError, SourceErrorKind};

use crate::export::part_sizes::{PART_BYTES_MIN, PARTS_MAX, PartSizes};

/// How an object may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct UploadLimits {
    pub sizes: PartSizes,
    pub inflight_parts_max: usize,
}

pub(super) struct Upload {
    store: Arc<Store>,
    place: Arc<ExportStore>,
    key: String,
    limits: UploadLimits,
    held: BytesMut,
    grant: MemoryGrant,
    id: Option<String>,
    sent: VecDeque<PartRequest>,
    parts: Vec<Arc<str>>,
    bytes: u64,
}

/// The content of a part: its memory is free again when the request needs it no more, whoever waits for the answer.
struct GrantedBytes {
    content: Bytes,
    _memory: MemoryGrant,
}

impl AsRef<[u8]> for GrantedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

/// What became of bytes that an object was given.
pub(super) enum Pushed {
    Taken,
    /// They were taken, and the upload has to be begun before it can take more.
    Full,
    /// They were not taken: there is no memory for them before the upload is begun.
    Unbegun,
    /// They were not taken: this object has nothing to send that would make memory free.
    Refused(SourceError),
}

impl Upload {
    pub(super) fn new(
        store: Arc<Store>,
        place: Arc<ExportStore>,
        key: String,
        limits: UploadLimits,
        memory: &MemoryBudget,
    ) -> Upload {
        Upload {
            store,
            place,
            key,
            limits,
            held: BytesMut::new(),
            grant: memory.empty_grant("export"),
            id: None,
            sent: VecDeque::new(),
            parts: Vec::new(),
            bytes: 0,
        }
    }

    /// Takes bytes. An object that is `alone` may become one request, so more of it is held back.
    pub(super) async fn push(&mut self, bytes: &[u8], alone: bool) -> Result<Pushed> {
        if let Some(not_taken) = self.hold(bytes.len()).await? {
            return Ok(not_taken);
        }
        self.held.extend_from_slice(bytes);
        self.bytes += u64_of(bytes.len());
        let held_max = match alone {
            true => self.limits.sizes.single_bytes_max,
            false => self.limits.sizes.bytes_of(0),
        };
        if self.id.is_none() {
            return Ok(if u64_of(self.held.len()) > held_max { Pushed::Full } else { Pushed::Taken });
        }
        self.send_full().await?;
        Ok(Pushed::Taken)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.id.is_some()
    }

    /// Begins the upload in parts; it is to be written down before anything is sent.
    pub(super) async fn begin(&mut self) -> Result<ExportObject> {
        let id = self.store.create_upload(&self.key).await?;
        self.id = Some(id.clone());
        Ok(self.object(&id))
    }

    /// Sends what is held but for less than a part.
    pub(super) async fn send_full(&mut self) -> Result<()> {
        while let Some(full) = self.full_part() {
            self.send(full).await?;
        }
        Ok(())
    }

    /// Bytes that could be sent as a part, if there are enough for one.
    pub(super) fn sendable_bytes(&self) -> Option<usize> {
        Some(self.held.len()).filter(|bytes| u64_of(*bytes) >= PART_BYTES_MIN)
    }

    /// Sends all that is held as one part, which may be smaller than the others.
    pub(super) async fn send_held(&mut self) -> Result<()> {
        self.send(self.held.len()).await
    }

    /// Sends the rest; the object is not waited for.
    pub(super) async fn send_rest(&mut self) -> Result<()> {
        self.send_full().await?;
        // An upload has at least one part, even of nothing.
        if !self.held.is_empty() || self.parts.len() + self.sent.len() == 0 {
            self.send(self.held.len()).await?;
        }
        Ok(())
    }

    /// Waits for every part; what completes the object.
    pub(super) async fn sealed(&mut self) -> Result<ExportObject> {
        while !self.sent.is_empty() {
            self.wait_for_one().await?;
        }
        let id = self.id.clone().unwrap_or_default();
        Ok(ExportObject { parts: std::mem::take(&mut self.parts), bytes: self.bytes, ..self.object(&id) })
    }

    /// The whole object, when nothing of it was sent.
    pub(super) fn into_whole(self) -> WholeObject {
        WholeObject { store: self.store, key: self.key, content: self.held.freeze(), _memory: self.grant }
    }

    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    fn object(&self, id: &str) -> ExportObject {
        ExportObject {
            store: Arc::clone(&self.place),
            key: self.key.as_str().into(),
            upload: id.into(),
            parts: Vec::new(),
            bytes: 0,
        }
    }

    fn full_part(&self) -> Option<usize> {
        let bytes = self.limits.sizes.bytes_of(self.parts.len() + self.sent.len());
        usize::try_from(bytes).ok().filter(|bytes| self.held.len() >= *bytes)
    }

    async fn send(&mut self, bytes: usize) -> Result<()> {
        while self.sent.len() >= self.limits.inflight_parts_max.max(1) {
            self.wait_for_one().await?;
        }
        let index = self.parts.len() + self.sent.len();
        if index >= PARTS_MAX {
            return Err(SourceError::bad_arguments(format!(
                "object \"{}\" needs more than the {PARTS_MAX} parts that a bucket takes",
                self.store.shown(&self.key)
            ))
            .with_hint("raise s3_min_upload_part_size, or write several objects with PARTITION BY"));
        }
        let content = self.held.split_to(bytes).freeze();
        let content = Bytes::from_owner(GrantedBytes { content, _memory: self.grant.split(u64_of(bytes)) });
        let id = self.id.as_deref().unwrap_or_default();
        self.sent.push_back(self.store.put_part(&self.key, id, index, content)?);
        Ok(())
    }

    /// In order: the first part sent is the first to be waited for. `false`: none is on its way.
    pub(super) async fn wait_for_one(&mut self) -> Result<bool> {
        let Some(part) = self.sent.pop_front() else { return Ok(false) };
        let done = part.await.map_err(|task| SourceError::ended_early("sending", task))?;
        self.parts.push(done?.into());
        Ok(true)
    }

    /// Has memory for more bytes, or says why not. Refused, it waits for what is on its way, then sends a smaller part.
    async fn hold(&mut self, more: usize) -> Result<Option<Pushed>> {
        loop {
            let Err(refused) = self.grant.try_grow(u64_of(more)) else { return Ok(None) };
            if self.wait_for_one().await? {
                continue;
            }
            match (self.sendable_bytes(), self.has_begun()) {
                (Some(_), true) => self.send_held().await?,
                (Some(_), false) => return Ok(Some(Pushed::Unbegun)),
                (None, _) => {
                    let message = format!("writing \"{}\": {refused}", self.store.shown(&self.key));
                    return Ok(Some(Pushed::Refused(
                        SourceError::new(SourceErrorKind::Memory, message).with_hint(
                            "raise max_memory_usage, lower s3_min_upload_part_size, or write fewer partitions at once",
                        ),
                    )));
                }
            }
        }
    }
}

/// An object that one PUT makes visible.
pub struct WholeObject {
    store: Arc<Store>,
    key: String,
    content: Bytes,
    _memory: MemoryGrant,
}

impl WholeObject {
    /// Writes it, which is the commit. Unless it `replaces`, an object that came meanwhile stays.
    pub async fn put(self, replaces: bool) -> Result<(), PutFailed> {
        self.store.put_whole(&self.key, self.content, replaces).await
    }
}
