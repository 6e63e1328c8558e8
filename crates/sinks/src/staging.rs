//! One sink of a staged load: rows in, staged parts out, cut only where units end.
//!
//! Invariant: a part holds rows of units that are staged together with it, and no others. Parts that are not staged are
//! deleted, unless it is not known whether they are.

use std::cmp::Ordering;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind, into_datafusion};
use boundary::ledgers::loads::LoadAttempt;
use catalog::Op;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use load::UnitSource;
use mergetree::write::PartSink;
use model::{LoadId, SealedPart};
use physical::adopt::{AdoptExec, Stages};
use physical::nodes::unit_ends::{UnitEnd, UnitEnds};
use tokio_util::sync::CancellationToken;

use crate::commit::commit;
use crate::target::SinkTarget;

/// What the sinks of one attempt share.
pub struct Staging {
    pub load: LoadId,
    pub target: Arc<SinkTarget>,
    pub ends: Arc<UnitEnds>,
    /// Stored bytes of ended units from which a sink stages them.
    pub stage_bytes_min: u64,
    /// Ends all sinks.
    pub stop: CancellationToken,
    /// Keeps others away from the load until the last sink has stopped.
    pub attempt: Arc<LoadAttempt>,
    /// Takes back what cannot be staged.
    pub source: Arc<dyn UnitSource>,
}

/// Units read and not staged yet.
#[derive(Default)]
struct Pending {
    /// In the order in which their rows come.
    ends: Vec<UnitEnd>,
    /// Rows the sink has taken.
    rows_taken: u64,
}

impl Pending {
    /// How many of the units the sink holds wholly, if it holds nothing else: a stream may be ahead of its sink.
    fn whole(&self) -> Option<usize> {
        let mut rows = 0;
        let mut found = (self.rows_taken == 0).then_some(0);
        for (position, end) in self.ends.iter().enumerate() {
            rows += end.rows;
            match rows.cmp(&self.rows_taken) {
                Ordering::Less => {}
                Ordering::Equal => found = Some(position + 1),
                Ordering::Greater => break,
            }
        }
        found
    }

    /// Stored bytes of the first units.
    fn bytes(&self, units: usize) -> u64 {
        self.ends.iter().take(units).map(|end| end.bytes).sum()
    }

    /// Takes the first units, which are all that the sink holds, out.
    fn take(&mut self, units: usize) -> (Vec<u32>, u64) {
        let taken = self.ends.drain(..units.min(self.ends.len())).map(|end| end.unit).collect();
        (taken, std::mem::take(&mut self.rows_taken))
    }
}

/// Writes and stages one stream on a thread of its own. An error stops the other sinks, too.
pub async fn write_units(
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
        pending.ends.extend(staging.ends.take(stream));
        let goes_on = matches!(read, Ok(Some(_)));
        let whole = pending.whole().filter(|units| *units > 0);
        let due = |units: &usize| !goes_on || pending.bytes(*units) >= staging.stage_bytes_min;
        if let Some(whole) = whole.filter(due) {
            let (units, rows) = pending.take(whole);
            let parts = sink.cut().map_err(Error::from);
            let done = parts.and_then(|parts| stage(staging, units, parts, rows));
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
    if pending.rows_taken == 0 && pending.ends.is_empty() {
        return Ok(());
    }
    let (taken, ended) = (pending.rows_taken, pending.ends.iter().map(|end| end.rows).sum::<u64>());
    Err(Error::internal(format!("a sink took {taken} rows of units that have {ended}")))
}

impl Stages for Staging {
    fn bytes_min(&self) -> u64 {
        self.stage_bytes_min
    }

    fn note_read(&self, unit: u32) {
        self.attempt.read.lock().insert(unit);
    }

    fn stage(&self, units: Vec<u32>, parts: Vec<SealedPart>, rows: u64) -> datafusion::common::Result<()> {
        stage(self, units, parts, rows).map_err(into_datafusion)
    }
}

/// Adopts and stages what one stream is given. An error stops the other sinks, too.
pub async fn adopt_units(
    plan: Arc<AdoptExec>,
    staging: Arc<Staging>,
    stream: usize,
    batch_rows: usize,
) -> Result<(), Error> {
    let adopted = plan.stage(stream, batch_rows, Arc::clone(&staging) as _).await.map_err(Error::from);
    adopted.inspect_err(|_| staging.stop.cancel())
}

/// Commits that these units are in these parts. Blocks for one fsync.
fn stage(staging: &Staging, units: Vec<u32>, parts: Vec<SealedPart>, rows: u64) -> Result<(), Error> {
    let table = &staging.target.table;
    // Looked at as late as can be: people were told what is staged.
    if staging.attempt.progress.is_given_up() {
        discard(staging, &parts);
        return Err(Error::cancelled());
    }
    let op = Op::StageAdd { load: staging.load, units: units.clone(), parts: parts.clone(), rows };
    let read_seq = table.catalog.snapshot().seq();
    let committed = commit(&table.catalog, &table.host, read_seq, Vec::new(), vec![op], None);
    if let Err(error) = &committed
        && error.kind != ErrorKind::OutcomeUnknown
    {
        discard(staging, &parts);
        if let Some(free) = staged_elsewhere(staging, &units) {
            staging.source.give_back(&free);
            return Ok(());
        }
    }
    committed.map(drop)
}

/// If somebody else has staged one of these units meanwhile, those that nobody has.
fn staged_elsewhere(staging: &Staging, units: &[u32]) -> Option<Vec<u32>> {
    let open = staging.target.table.catalog.snapshot().load(staging.load)?;
    let free: Vec<u32> = units.iter().copied().filter(|unit| !open.is_covered(*unit)).collect();
    (free.len() < units.len()).then_some(free)
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
        let end = |unit, rows| UnitEnd { unit, rows, bytes: 100 };
        let mut pending = Pending::default();
        assert_eq!(pending.whole(), Some(0));
        pending.rows_taken = 10;
        assert_eq!(pending.whole(), None, "in the middle of a unit");
        // The stream has read one unit more than the sink has taken.
        pending.ends = vec![end(4, 10), end(6, 0), end(7, 5)];
        assert_eq!((pending.whole(), pending.bytes(2)), (Some(2), 200));
        assert_eq!(pending.take(2), (vec![4, 6], 10));
        assert_eq!((pending.whole(), pending.ends.len()), (Some(0), 1));
        pending.rows_taken = 5;
        assert_eq!(pending.take(1), (vec![7], 5));
    }
}
