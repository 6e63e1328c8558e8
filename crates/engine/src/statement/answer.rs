//! The answer of a statement on its way to whoever asked, and the statement's place in the list of running ones.
//!
//! Invariant: a statement leaves the list once: at its last batch, at its error, when it is killed, or when its answer
//! is dropped. Must not know: how rows are made.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::Error;
use boundary::outfile::Outfile;
use boundary::request::{Outcome, Rows};
use boundary::room::{in_pieces, room_for};
use formats::FormatKind;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use host::guarded::message_of;
use host::meter;
use tokio_util::sync::DropGuard;

use stores::calls::urls::masked_urls;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::source_settings::{format_settings, unchanged_format_settings};

/// Batches computed ahead of whoever reads them: the next while one is being written.
const BATCHES_AHEAD: usize = 1;

/// So many batches are computed without looking whether the first is taken: most answers end with them, and need not wait.
const BATCHES_AT_ONCE: u64 = 2;

/// A row is written as text into a buffer that grows by doubling, and that is sent, or encoded once more.
const COPIES_WRITTEN: usize = 4;

/// A statement in the list of running ones. Left alone, as by a client that goes away, it ends as cancelled.
pub(crate) struct Listed {
    pub services: Arc<Services>,
    pub number: u64,
    /// Lets the task that waits for the deadline go, when the statement is over.
    pub deadline: Option<DropGuard>,
}

impl Listed {
    pub(crate) fn end(&self, result_rows: u64, error: Option<Error>) {
        let now = self.services.host.clock.monotonic();
        self.services.processes.end(self.number, now, result_rows, error);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // Nothing happens to one that has ended.
        self.end(0, Some(Error::cancelled()));
    }
}

/// How the answer is wanted.
pub(crate) struct Shown {
    pub format: Option<FormatKind>,
    pub outfile: Option<Outfile>,
}

pub(crate) fn outcome(execution: &Arc<Execution>, listed: Listed, rows: Rows, output: Shown) -> Outcome {
    let rows = in_pieces(rows);
    let schema = Arc::clone(&rows.schema);
    let (stream, format_settings) = if rows.schema.fields().is_empty() {
        let skipped = execution.progress.rejects.rows();
        if skipped > 0 {
            let what = "row(s) could not be read and were skipped";
            execution.warn(format!("{skipped} {what}: system.load_rejected_rows has them"));
        }
        // Nothing will come: nobody needs to wait for another task to say so.
        listed.end(0, None);
        (futures::stream::empty().boxed(), unchanged_format_settings())
    } else {
        (pump(Arc::clone(execution), listed, rows.stream), format_settings(&execution.settings))
    };
    let warnings: Vec<String> =
        execution.warnings.lock().iter().map(|warning| masked_urls(warning)).collect();
    execution.progress.set_warnings(&warnings);
    Outcome {
        schema,
        stream,
        format: output.format,
        format_settings,
        outfile: output.outfile,
        warnings,
        already_loaded: execution.progress.already_loaded().cloned(),
        progress: Arc::clone(&execution.progress),
        query_id: execution.query_id.clone(),
        account: Some(Arc::clone(&execution.account)),
    }
}

/// Computes batches on the computing threads, one ahead of the reader, and writes the query log at the end.
fn pump(
    execution: Arc<Execution>,
    listed: Listed,
    mut rows: BoxStream<'static, Result<RecordBatch, Error>>,
) -> BoxStream<'static, Result<RecordBatch, Error>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(BATCHES_AHEAD);
    let runtimes = listed.services.runtimes.clone();
    let account = Some(Arc::clone(&execution.account));
    let work = async move {
        let (mut batches, mut result_rows, mut failed, mut is_lost) = (0, 0, None, false);
        // A panic must not look like the end of the rows.
        while let Some(batch) = AssertUnwindSafe(rows.next()).catch_unwind().await.unwrap_or_else(broke) {
            let batch = batch.and_then(|batch| {
                room_for(&batch, COPIES_WRITTEN, "the answer")?;
                Ok(batch)
            });
            let batch = batch.map_err(|error| execution.without_secrets(&listed.services.config, error));
            match &batch {
                Ok(batch) => result_rows += batch.num_rows() as u64,
                Err(error) => failed = Some(error.clone()),
            }
            if failed.is_some() {
                break;
            }
            batches += 1;
            let taken = async {
                sender.send(batch).await.is_ok()
                    && (batches < BATCHES_AT_ONCE || sender.reserve().await.is_ok())
            };
            // One that is killed does not wait for a slow reader; why it was, the rows themselves say next.
            let heard = tokio::select! {
                biased;
                taken = taken => taken,
                () = execution.progress.cancellation().cancelled() => {
                    is_lost = true;
                    true
                }
            };
            if !heard {
                is_lost = true;
                break;
            }
        }
        if is_lost && failed.is_none() {
            failed = Some(Error::cancelled());
        }
        drop(rows);
        listed.end(result_rows, failed.clone());
        drop(execution);
        if let Some(error) = failed {
            // Nobody may be there to hear it.
            let _ = sender.send(Err(error)).await;
        }
    };
    let task = runtimes.spawn_cpu("result", meter::metered(account, work));
    let stop = task.abort_handle();
    let batches =
        futures::stream::unfold((receiver, AbortOnDrop(stop)), |(mut receiver, guard)| async move {
            let batch = receiver.recv().await?;
            Some((batch, (receiver, guard)))
        });
    batches.boxed()
}

fn broke(panic: Box<dyn Any + Send>) -> Option<Result<RecordBatch, Error>> {
    Some(Err(Error::panicked(message_of(panic.as_ref()))))
}

/// The sender notices a dropped receiver only at its next batch; a long computation is stopped at once.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
