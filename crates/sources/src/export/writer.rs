//! The objects of one statement while rows come.
//!
//! Rows become bytes of their format, are compressed, and go into an object per partition. Invariant: until whoever owns
//! the [`Export`] commits, nothing of it is visible, and everything begun is known to the journal before a byte of it
//! is sent. Must not know: where rows come from, what the journal is.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use formats::{OutputStats, RowWriter, new_writer};
use futures::{StreamExt, TryStreamExt};
use model::ErrorCode;
use model::export::{ExportObject, ExportStore};
use model::saturating::u64_of;
use stores::codecs::encode::Encoder;
use stores::error::{Result, SourceError, SourceErrorKind};

use crate::export::destination::{Destination, PartitionKey, Spot};
use crate::export::finish::{self, Reachable};
use crate::export::journal::ExportJournal;
use crate::export::local_file::LocalFile;
use crate::export::post::{Post, Posted};
use crate::export::upload::{Pushed, Upload, UploadLimits, WholeObject};

/// What makes the names of this statement's objects its own.
#[derive(Clone, Debug)]
pub struct ExportNames {
    /// Of files that have no name of their own; the same for the same label.
    pub file_id: String,
    /// Of temporary files.
    pub temporary_id: String,
    /// The statement can be repeated under a name: what commits it is the journal, never a PUT.
    pub is_named: bool,
}

/// See the module.
pub struct Export {
    destination: Arc<Destination>,
    schema: SchemaRef,
    journal: Arc<dyn ExportJournal>,
    names: ExportNames,
    objects: Vec<Object>,
    by_partition: HashMap<PartitionKey, usize>,
    begun: Vec<Reachable>,
}

/// What the rows have become when the last one was written.
pub enum Sealed {
    /// One object, of which nothing was sent. [`WholeObject::put`] commits it.
    Whole { object: WholeObject, replaces: bool },
    /// Everything is in place but for being visible. The journal's commit, then [`finish::complete`].
    Staged(Vec<Reachable>),
    /// Bodies of pages that lack their ends. [`Posted::finish`] commits them.
    Posted(Posted),
}

struct Object {
    rows: Box<dyn RowWriter>,
    encoder: Option<Encoder>,
    place: Arc<ExportStore>,
    replaces: bool,
    body: Body,
}

enum Body {
    Upload(Box<Upload>),
    File(LocalFile),
    Page(Box<Post>),
}

impl Export {
    /// `schema` is that of the batches to come.
    pub fn new(
        destination: Arc<Destination>,
        schema: SchemaRef,
        journal: Arc<dyn ExportJournal>,
        names: ExportNames,
    ) -> Export {
        Export {
            destination,
            schema,
            journal,
            names,
            objects: Vec::new(),
            by_partition: HashMap::new(),
            begun: Vec::new(),
        }
    }

    /// Writes rows of one partition; answers how many bytes became of them so far, compressed.
    pub async fn write(&mut self, partition: Option<&PartitionKey>, batch: &RecordBatch) -> Result<u64> {
        let at = match partition.map(|partition| self.by_partition.get(partition)) {
            Some(Some(at)) => *at,
            None if !self.objects.is_empty() => 0,
            Some(None) | None => self.open(partition).await?,
        };
        let (mut plain, mut out) = (Vec::new(), Vec::new());
        let object = &mut self.objects[at];
        object.rows.write(batch, &mut plain).map_err(|error| format_error(&error))?;
        if let Some(encoder) = &mut object.encoder {
            encoder.encode(&plain, &mut out)?;
        }
        self.push(at, &out).await
    }

    /// Everything is written when this returns, and nothing visible. A statement without PARTITION BY writes an object
    /// also of no rows.
    pub async fn seal(&mut self) -> Result<Sealed> {
        if self.objects.is_empty() && self.destination.strategy.is_none() {
            self.open(None).await?;
        }
        for at in 0..self.objects.len() {
            let (mut plain, mut out) = (Vec::new(), Vec::new());
            let object = &mut self.objects[at];
            object.rows.finish(&OutputStats::default(), &mut plain).map_err(|error| format_error(&error))?;
            if let Some(mut encoder) = object.encoder.take() {
                encoder.encode(&plain, &mut out)?;
                encoder.finish(&mut out)?;
            }
            self.push(at, &out).await?;
        }
        if self.is_alone()
            && let [Object { body: Body::Upload(upload), .. }] = self.objects.as_slice()
            && !upload.has_begun()
            && let Some(Object { body: Body::Upload(upload), replaces, .. }) = self.objects.pop()
        {
            return Ok(Sealed::Whole { object: upload.into_whole(), replaces });
        }
        if self.destination.is_page() {
            let pages =
                std::mem::take(&mut self.objects).into_iter().filter_map(|object| match object.body {
                    Body::Page(post) => Some(*post),
                    Body::Upload(_) | Body::File(_) => None,
                });
            return Ok(Sealed::Posted(Posted(pages.collect())));
        }
        self.begin_rest().await?;
        self.send_rests().await
    }

    /// What was begun, to be aborted.
    pub fn into_begun(self) -> Vec<Reachable> {
        self.begun
    }

    /// Aborts everything that was begun.
    ///
    /// # Errors
    /// Something could not be aborted; the journal still has it.
    pub async fn abort(self) -> Result<()> {
        let disk = Arc::clone(self.destination.disk());
        // Parts on their way are given up first, or they could arrive behind the abort.
        drop(self.objects);
        finish::abort(&disk, self.begun).await
    }

    /// Whether anything has to be aborted when the statement fails.
    pub fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }

    async fn open(&mut self, partition: Option<&PartitionKey>) -> Result<usize> {
        let (at, settings) = (self.objects.len(), self.destination.settings());
        let max = settings.partitions_max;
        if max > 0 && u64_of(at) >= max {
            let message =
                format!("the INSERT into \"{}\" has more than {max} partitions", self.destination.shown());
            return Err(SourceError::bad_arguments(message).with_code(ErrorCode::TOO_MANY_PARTS).with_hint(
                "raise max_partitions_per_insert_block (0 means any number), or write fewer at once",
            ));
        }
        let format = &self.destination.env().settings.format;
        let mut rows = new_writer(self.destination.format, format).map_err(|error| format_error(&error))?;
        let mut encoder = Encoder::new(self.destination.compression, settings.effort)?;
        let Spot { key, store, place, appends, replaces, page } =
            self.destination.spot(partition, &self.names.file_id, self.journal.as_ref()).await?;
        let mut head = Vec::new();
        rows.start(&self.schema, &mut head).map_err(|error| format_error(&error))?;
        let body = match (store, page) {
            (_, Some(page)) => {
                let env = self.destination.env();
                Body::Page(Box::new(Post::begin(env.stores.poster(env.settings.web)?, page)?))
            }
            (Some(store), None) => {
                let memory = &self.destination.env().memory;
                let settings = self.destination.settings();
                let (sizes, inflight_parts_max) = match store.storage() {
                    "Azure" => (settings.azure_part_sizes, settings.azure_inflight_parts_max),
                    _ => (settings.part_sizes, settings.inflight_parts_max),
                };
                let limits = UploadLimits { sizes, inflight_parts_max };
                Body::Upload(Box::new(Upload::new(store, Arc::clone(&place), key, limits, memory)))
            }
            (None, None) => {
                let mut file = LocalFile::new(
                    Arc::clone(self.destination.disk()),
                    key,
                    &self.names.temporary_id,
                    replaces,
                );
                self.begun_object(None, file.object(&place))?;
                if file.begin(appends)? {
                    // The file has its header already.
                    head.clear();
                }
                Body::File(file)
            }
        };
        let mut out = Vec::new();
        encoder.encode(&head, &mut out)?;
        self.objects.push(Object { rows, encoder: Some(encoder), place, replaces, body });
        if let Some(partition) = partition {
            self.by_partition.insert(partition.clone(), at);
        }
        self.push(at, &out).await?;
        Ok(at)
    }

    async fn push(&mut self, at: usize, bytes: &[u8]) -> Result<u64> {
        let alone = self.is_alone();
        loop {
            let pushed = match &mut self.objects[at].body {
                Body::File(file) => {
                    file.push(bytes)?;
                    Pushed::Taken
                }
                Body::Upload(upload) => upload.push(bytes, alone).await?,
                Body::Page(post) => {
                    post.push(bytes.to_vec()).await?;
                    Pushed::Taken
                }
            };
            match pushed {
                Pushed::Taken => break,
                Pushed::Full => {
                    self.begin(at).await?;
                    break;
                }
                Pushed::Unbegun => self.begin(at).await?,
                Pushed::Refused(error) => {
                    if !self.give_back().await? {
                        return Err(error);
                    }
                }
            }
        }
        Ok(u64_of(bytes.len()))
    }

    /// Makes memory free that other objects have: a part on its way is waited for, else the largest that can be a part
    /// is sent. `false`: nothing can be.
    async fn give_back(&mut self) -> Result<bool> {
        let mut largest: Option<(usize, usize)> = None;
        for (at, object) in self.objects.iter_mut().enumerate() {
            let Body::Upload(upload) = &mut object.body else { continue };
            if upload.wait_for_one().await? {
                return Ok(true);
            }
            largest = largest.max(upload.sendable_bytes().map(|bytes| (bytes, at)));
        }
        let Some((_, at)) = largest else { return Ok(false) };
        self.begin(at).await?;
        if let Body::Upload(upload) = &mut self.objects[at].body
            && upload.sendable_bytes().is_some()
        {
            upload.send_held().await?;
        }
        Ok(true)
    }

    /// Whether one PUT may be the whole statement, as far as is known.
    fn is_alone(&self) -> bool {
        self.objects.len() == 1 && self.destination.strategy.is_none() && !self.names.is_named
    }

    async fn begin(&mut self, at: usize) -> Result<()> {
        let Body::Upload(upload) = &mut self.objects[at].body else { return Ok(()) };
        if upload.has_begun() {
            return Ok(());
        }
        let object = upload.begin().await?;
        let store = Some(Arc::clone(upload.store()));
        self.begun_object(store, object)?;
        let Body::Upload(upload) = &mut self.objects[at].body else { return Ok(()) };
        upload.send_full().await
    }

    fn begun_object(
        &mut self,
        store: Option<Arc<stores::clients::store::Store>>,
        object: ExportObject,
    ) -> Result<()> {
        let written = self.journal.opened(std::slice::from_ref(&object));
        // Known here also if the journal refuses it: it is to be aborted.
        self.begun.push((store, object));
        written
    }

    /// Begins what was too small to be begun before, in one entry of the journal.
    async fn begin_rest(&mut self) -> Result<()> {
        let at_once = self.destination.settings().delayed_objects_max.max(1);
        let waiting = self.objects.iter_mut().filter_map(|object| match &mut object.body {
            Body::Upload(upload) if !upload.has_begun() => Some(upload),
            Body::Upload(_) | Body::File(_) | Body::Page(_) => None,
        });
        let begins = waiting.map(|upload| async move {
            let object = upload.begin().await?;
            Ok::<_, SourceError>((Some(Arc::clone(upload.store())), object))
        });
        let begun: Vec<Result<Reachable>> =
            futures::stream::iter(begins).buffer_unordered(at_once).collect().await;
        let mut objects = Vec::new();
        let mut failed = None;
        for one in begun {
            match one {
                Ok(reachable) => {
                    objects.push(reachable.1.clone());
                    self.begun.push(reachable);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None if objects.is_empty() => Ok(()),
            None => self.journal.opened(&objects),
        }
    }

    async fn send_rests(&mut self) -> Result<Sealed> {
        let at_once = self.destination.settings().delayed_objects_max.max(1);
        let sealed = self.objects.iter_mut().map(|object| async move {
            match &mut object.body {
                Body::Upload(upload) => {
                    upload.send_rest().await?;
                    Ok::<_, SourceError>((Some(Arc::clone(upload.store())), upload.sealed().await?))
                }
                Body::File(file) => {
                    file.seal()?;
                    Ok((None, file.object(&object.place)))
                }
                Body::Page(_) => Err(SourceError::unsupported("a page that is an object")),
            }
        });
        Ok(Sealed::Staged(futures::stream::iter(sealed).buffered(at_once).try_collect().await?))
    }
}

fn format_error(error: &formats::FormatError) -> SourceError {
    SourceError::new(SourceErrorKind::BadValue, error.to_string()).with_code(error.code)
}
