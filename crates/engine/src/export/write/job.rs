//! One export from its first row to its end, on a thread of its own: encoding is computing, and the journal blocks.
//!
//! Invariant: the record of the objects is durable before the first is completed; without it everything begun is
//! aborted, also when the statement is cancelled. Must not know: how rows are cut into partitions, requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::exports::Reserved;
use boundary::once::names::{Once, settled};
use catalog::{ExportState, Op};
use futures::StreamExt;
use futures::future::BoxFuture;
use model::{ErrorCode, ExportId, ExportObject, ExportStore};
use sources::Destination;
use sources::export::places::object_name;
use sources::export::{Export, ExportJournal, ExportNames, Reachable, Sealed, finish};
use stores::clients::write::PutFailed;
use stores::{SourceError, SourceErrorKind};
use tokio_util::sync::CancellationToken;

use super::partitions::Partitions;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::export::journal;
use sinks::commit::commit;
use sinks::turns::Batches;
use tables::conform::Conform;

pub(super) struct ExportJob {
    pub services: Arc<Services>,
    pub execution: Arc<Execution>,
    pub destination: Arc<Destination>,
    pub conform: Arc<Conform>,
    pub partitions: Partitions,
    pub rows: Batches,
    pub names: ExportNames,
    pub export: ExportId,
    /// What the statement is known by, once all of its data have passed.
    pub once: Option<Box<dyn Fn() -> Once + Send + Sync>>,
    /// That is final before any data have passed.
    pub is_known_early: bool,
}

/// Remembers in the log what was begun.
struct LogJournal {
    services: Arc<Services>,
    export: ExportId,
    query_id: Arc<str>,
    is_open: AtomicBool,
}

impl ExportJournal for LogJournal {
    fn opened(&self, objects: &[ExportObject]) -> Result<(), SourceError> {
        let (export, query_id, objects) = (self.export, Arc::clone(&self.query_id), objects.to_vec());
        let op = Op::ExportOpen { export, query_id, objects };
        let (catalog, host) = (&self.services.catalog, &self.services.host);
        let read_seq = catalog.snapshot().seq();
        // Set before: a record whose outcome is not known may be there.
        self.is_open.store(true, Ordering::Release);
        commit(catalog, host, read_seq, Vec::new(), vec![op], None).map(drop).map_err(|error| {
            let message =
                format!("the objects of an INSERT could not be noted in the log: {}", error.message);
            SourceError::new(SourceErrorKind::Unavailable, message)
        })
    }

    fn reserve<'a>(
        &'a self,
        place: &'a ExportStore,
        key: &'a str,
        waits: bool,
    ) -> BoxFuture<'a, Result<(), SourceError>> {
        Box::pin(self.reserve_key(place, key, waits))
    }
}

impl LogJournal {
    async fn reserve_key(&self, place: &ExportStore, key: &str, waits: bool) -> Result<(), SourceError> {
        let (name, exports) = (object_name(place, key), &self.services.exports);
        let taken = |how: String| {
            let shown = if place.is_files() { key.to_owned() } else { format!("{}/{key}", place.bucket) };
            SourceError::new(SourceErrorKind::Exists, format!("\"{shown}\" {how}")).with_file(&shown)
        };
        match exports.reserve(self.export, &name, waits).await {
            Reserved::Ours => {}
            Reserved::OursAlready => {
                return Err(taken("is the name of two partitions of the INSERT".to_owned())
                    .with_hint("let the values of PARTITION BY name different files"));
            }
            Reserved::Theirs => {
                return Err(taken("is being written by another statement".to_owned())
                    .with_hint("run the statement again when that one is over"));
            }
        }
        while let Some(left) = self.still_to_complete(&name) {
            if !waits || !exports.is_running(left.id) {
                let how = format!("is not complete yet: the INSERT {} is committed", left.query_id);
                return Err(taken(how).with_hint(
                    "repeat the statement when the place can be written with the credentials of that one; \
                     system.exports shows what is left",
                ));
            }
            exports.until_over(left.id).await;
        }
        Ok(())
    }

    /// The export that will make its own object visible under a name.
    fn still_to_complete(&self, name: &str) -> Option<Arc<ExportState>> {
        let snapshot = self.services.catalog.snapshot();
        // With an outcome that is not known any of them may be committed.
        let catalog = &self.services.catalog;
        let may_be_committed = catalog.is_poisoned() || catalog.may_have_open_record();
        let has = |object: &ExportObject| object_name(&object.store, &object.key) == name;
        let mut left = snapshot.exports().filter(|left| left.id != self.export);
        left.find(|left| (left.is_committed || may_be_committed) && left.objects.iter().any(has)).cloned()
    }
}

impl ExportJob {
    pub(super) async fn run(self) -> Result<(), Error> {
        let runtimes = self.services.runtimes.clone();
        let handle = runtimes.cpu().clone();
        let stop = self.execution.progress.cancellation().child_token();
        // It stops at its next wait when nobody waits for it any more.
        let guard = stop.clone().drop_guard();
        let ended = runtimes.spawn_thread("export", move || handle.block_on(self.write(stop)))?;
        let ended = ended.await.map_err(|_| Error::internal("an export ended early"))?;
        guard.disarm();
        ended
    }

    async fn write(mut self, stop: CancellationToken) -> Result<(), Error> {
        let (services, execution) = (Arc::clone(&self.services), Arc::clone(&self.execution));
        let _working = services.exports.begin(self.export);
        let journal = Arc::new(LogJournal {
            services: Arc::clone(&services),
            export: self.export,
            query_id: execution.query_id.as_str().into(),
            is_open: AtomicBool::new(false),
        });
        let schema = Arc::clone(&self.partitions.schema);
        let destination = Arc::clone(&self.destination);
        let known = Arc::clone(&journal) as Arc<dyn ExportJournal>;
        let mut export = Export::new(destination, schema, known, self.names.clone());
        let written = tokio::select! {
            biased;
            () = stop.cancelled() => Err(Error::cancelled()),
            written = self.write_rows(&mut export) => written,
        };
        let committed = match written {
            Ok((sealed, rows)) => self.commit(sealed, rows).await,
            Err(error) => self.failed(error),
        };
        match committed {
            Ok(Ended::Done) => {}
            Ok(Ended::Undone) => self.abort(export, &journal).await,
            Err(Failed { error, is_undone: true }) => {
                execution.progress.undo_written();
                self.abort(export, &journal).await;
                return Err(error);
            }
            Err(Failed { error, is_undone: false }) => return Err(error),
        }
        Ok(())
    }

    /// Every row in its object; nothing is visible yet.
    async fn write_rows(&mut self, export: &mut Export) -> Result<(Sealed, u64), Error> {
        let mut rows = 0;
        while let Some(batch) = self.rows.next().await {
            let batch = self.conform.apply(&batch?)?;
            let count = batch.num_rows() as u64;
            for (partition, piece) in self.partitions.split(&batch)? {
                let bytes = export.write(partition.as_ref(), &piece).await?;
                self.execution.progress.add_written(piece.num_rows() as u64, bytes);
            }
            rows += count;
        }
        Ok((export.seal().await?, rows))
    }

    /// A repetition that waited for the key of the first finds its object there: it is the label that counts then.
    fn failed(&self, error: Error) -> Result<Ended, Failed> {
        let once = self.once.as_ref().filter(|_| self.is_known_early && error.kind != ErrorKind::Cancelled);
        let once = once.map(|once| once());
        let (catalog, progress) = (&self.services.catalog, &self.execution.progress);
        match settled(Err(error.clone()), once.as_ref(), catalog, progress) {
            Ok(()) => Ok(Ended::Undone),
            Err(_) => Err(Failed::undone(error)),
        }
    }

    async fn commit(&self, sealed: Sealed, rows: u64) -> Result<Ended, Failed> {
        let (services, execution, undone) = (&self.services, &self.execution, Failed::undone);
        if execution.rolls_back {
            return Ok(Ended::Undone);
        }
        execution.progress.begin_commit().map_err(undone)?;
        let objects = match sealed {
            Sealed::Whole { object, replaces } => {
                return object.put(replaces).await.map(|()| Ended::Done).map_err(Failed::put);
            }
            // The server's answer is the commit; what it has taken cannot be taken back.
            Sealed::Posted(pages) => {
                let finished = pages.finish().await;
                return finished.map(|()| Ended::Done).map_err(|error| undone(error.into()));
            }
            Sealed::Staged(objects) => objects,
        };
        let once = self.once.as_ref().map(|once| once());
        let mut ops = once.as_ref().map_or_else(Vec::new, |once| once.ops(rows));
        if objects.is_empty() && ops.is_empty() {
            return Ok(Ended::Done);
        }
        if !objects.is_empty() {
            let written = objects.iter().map(|(_, object)| object.clone()).collect();
            ops.push(Op::ExportCommit { export: self.export, objects: written, rows });
        }
        let (catalog, host) = (&services.catalog, &services.host);
        let committed =
            commit(catalog, host, catalog.snapshot().seq(), Vec::new(), ops, Some(&execution.profile));
        if let Err(error) = committed {
            // The record may be there, and then the next open completes what it names.
            if error.kind == ErrorKind::OutcomeUnknown {
                return Err(Failed { error, is_undone: false });
            }
            // Without an error, somebody ran the same statement under the same label meanwhile.
            return settled(Err(error), once.as_ref(), catalog, &execution.progress)
                .map(|()| Ended::Undone)
                .map_err(undone);
        }
        self.complete(objects).await.map_err(|error| Failed { error, is_undone: false })
    }

    /// What cannot be completed now is completed later, by the record.
    async fn complete(&self, objects: Vec<Reachable>) -> Result<Ended, Error> {
        let count = objects.len();
        finish::complete(&self.services.host.disk, objects).await.map_err(|error| {
            let message = format!("the INSERT is committed, and not all of its {count} object(s) could be completed yet: {error}");
            Error::new(ErrorKind::Unavailable, error.code(), message)
                .with_hint("the next start of the database, or the next INSERT with credentials for the bucket, completes them; system.exports shows what is left")
        })?;
        if count > 0 {
            // What is complete may be completed again: the record that says so is not worth an error.
            let _ = journal::end(&self.services.catalog, &self.services.host, self.export);
        }
        Ok(Ended::Done)
    }

    /// What cannot be aborted now is aborted later, by the record.
    async fn abort(&self, export: Export, journal: &LogJournal) {
        let aborted = export.abort().await;
        if aborted.is_ok() && journal.is_open.load(Ordering::Acquire) {
            let _ = journal::end(&journal.services.catalog, &journal.services.host, self.export);
        }
    }
}

enum Ended {
    Done,
    /// On purpose: everything begun is to be aborted.
    Undone,
}

struct Failed {
    error: Error,
    /// Nothing of it will become visible.
    is_undone: bool,
}

impl Failed {
    fn undone(error: Error) -> Failed {
        Failed { error, is_undone: true }
    }

    fn put(failed: PutFailed) -> Failed {
        let PutFailed { error, is_unknown } = failed;
        match is_unknown {
            false => Failed::undone(error.into()),
            true => {
                let message = format!("it is not known whether the object was written: {error}");
                let error = Error::new(ErrorKind::OutcomeUnknown, ErrorCode::UNKNOWN_EXCEPTION, message)
                    .with_hint("look whether it is there; it is written wholly or not at all");
                Failed { error, is_undone: false }
            }
        }
    }
}
