//! One sink of a staged load: rows in, staged parts out, cut only where units end.
//!
//! Invariant: a part holds rows of units that are staged together with it, and no others. Parts that are not staged are
//! deleted, unless it is not known whether they are.

use std::sync::Arc;

use catalog::Op;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use mergetree::write::PartSink;
use model::{LoadId, SealedPart};
use tokio_util::sync::CancellationToken;

use crate::commit::commit;
use crate::error::{Error, ErrorKind};
use crate::exec::unit_ends::{UnitEnd, UnitEnds};
use crate::loads::LoadAttempt;
use crate::sink_target::SinkTarget;

/// What the sinks of one attempt share.
pub(crate) struct Staging {
    pub load: LoadId,
    pub target: SinkTarget,
    pub ends: Arc<UnitEnds>,
    /// Stored bytes of ended units from which a sink stages them.
    pub stage_bytes_min: u64,
    /// Ends all sinks.
    pub stop: CancellationToken,
    /// Keeps others away from the load until the last sink has stopped.
    pub attempt: Arc<LoadAttempt>,
}

/// Units read and not staged yet.
#[derive(Default)]
struct Pending {
    units: Vec<u32>,
    bytes: u64,
    /// Rows the units have.
    rows_ended: u64,
    /// Rows the sink has taken.
    rows_taken: u64,
}

impl Pending {
    fn add(&mut self, ends: Vec<UnitEnd>) {
        for end in ends {
            self.units.push(end.unit);
            self.bytes += end.bytes;
            self.rows_ended += end.rows;
        }
    }

    /// Whether the sink holds these units wholly and nothing else.
    fn is_whole(&self) -> bool {
        self.rows_ended == self.rows_taken
    }
}

/// Writes and stages one stream on a thread of its own. An error stops the other sinks, too.
pub(crate) async fn write_units(
    input: SendableRecordBatchStream,
    staging: Arc<Staging>,
    stream: usize,
) -> Result<(), Error> {
    let handle = tokio::runtime::Handle::current();
    let runtimes = staging.target.runtimes.clone();
    let work = move || {
        let written = handle.block_on(run(input, &staging, stream));
        written.inspect_err(|_| staging.stop.cancel())
    };
    let written = runtimes.spawn_thread("sink", work)?;
    written.await.map_err(|_| Error::internal("a sink ended early"))?
}

async fn run(mut input: SendableRecordBatchStream, staging: &Staging, stream: usize) -> Result<(), Error> {
    let target = &staging.target;
    let mut sink = PartSink::new(target.table.clone(), target.settings.clone())?;
    let mut pending = Pending::default();
    loop {
        let batch = tokio::select! {
            biased;
            () = staging.stop.cancelled() => return Err(Error::cancelled()),
            batch = input.next() => batch,
        };
        let read = batch.transpose().map_err(Error::from);
        let read = read.and_then(|batch| batch.map(|batch| target.conform.apply(&batch)).transpose());
        // Units that ended before this batch was handed on: their rows are in the sink, those of the batch are not.
        pending.add(staging.ends.take(stream));
        let goes_on = matches!(read, Ok(Some(_)));
        let due = !goes_on || pending.bytes >= staging.stage_bytes_min;
        if due && pending.is_whole() && !pending.units.is_empty() {
            let staged = std::mem::take(&mut pending);
            let parts = sink.cut().map_err(Error::from);
            let done = parts.and_then(|parts| stage(staging, staged.units, parts, staged.rows_taken));
            // What could not be read is the reason for everything after it.
            if read.is_ok() {
                done?;
            }
        }
        let Some(batch) = read? else { break };
        let (rows, bytes) = (batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        pending.rows_taken += rows;
        sink.write(batch)?;
        staging.attempt.progress.add_written(rows, bytes);
    }
    if pending.is_whole() && pending.units.is_empty() {
        return Ok(());
    }
    let (taken, ended) = (pending.rows_taken, pending.rows_ended);
    Err(Error::internal(format!("a sink took {taken} rows of units that have {ended}")))
}

/// Commits that these units are in these parts. Blocks for one fsync.
fn stage(staging: &Staging, units: Vec<u32>, parts: Vec<SealedPart>, rows: u64) -> Result<(), Error> {
    let table = &staging.target.table;
    // Looked at as late as can be: people were told what is staged.
    if staging.attempt.progress.is_given_up() {
        discard(staging, &parts);
        return Err(Error::cancelled());
    }
    let op = Op::StageAdd { load: staging.load, units, parts: parts.clone(), rows };
    let read_seq = table.catalog.snapshot().seq();
    let committed = commit(&table.catalog, &table.host, read_seq, Vec::new(), vec![op], None);
    if let Err(error) = &committed
        && error.kind != ErrorKind::OutcomeUnknown
    {
        discard(staging, &parts);
    }
    committed.map(drop)
}

fn discard(staging: &Staging, parts: &[SealedPart]) {
    for part in parts {
        // Best effort: a file that stays is an orphan, and orphans are collected at open.
        let _ = staging.target.table.store.delete(part.descriptor());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_waits_until_the_sink_holds_whole_units() {
        let mut pending = Pending::default();
        assert!(pending.is_whole());
        pending.rows_taken += 10;
        assert!(!pending.is_whole(), "in the middle of a unit");
        pending.add(vec![UnitEnd { unit: 4, rows: 10, bytes: 100 }, UnitEnd { unit: 6, rows: 0, bytes: 1 }]);
        assert!(pending.is_whole());
        assert_eq!((pending.units.as_slice(), pending.bytes), ([4, 6].as_slice(), 101));
    }
}
