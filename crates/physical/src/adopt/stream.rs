//! One stream of an adopting load: it takes row groups one by one, copies what it can of each, and sorts the others.
//!
//! Invariant: every row of a row group is written once, by copying or by sorting, never in part by both; a unit is done when all of
//! its row groups are. Must not know: how many streams there are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::FieldRef;
use datafusion::common::Result;
use host::MemoryGrant;
use load::adoption::{ReencodeReason, RowGroupDecision, SinkReason};
use mergetree::write::PartSink;
use mergetree::write::adopt::{AdoptedColumn, AdoptedParts, AdoptedRows};
use model::saturating::{u64_of, usize_of};
use model::{ColumnId, SealedPart};
use parts::array_bytes;
use sources::{ArrivingChunks, RowGroupChunks};
use stores::SourceError;

use super::adoption::{AdoptTarget, Adoption, Needs, Stages, internal};
use super::counters::AdoptCounters;
use super::groups::{Ended, Groups, Place};
use super::outputs::OutputRows;
use super::row_group::{CopiedColumn, GroupChoice, VerifiedColumn};
use crate::error::into_datafusion;

mod keys;

use keys::Settled;

/// Row groups that turned out not to fit, one behind the other, after which a stream tries no more.
const MISSES_MAX: u32 = 2;

/// Runs a stream on a thread of its own; the parts are among the target's uncommitted ones even if nobody waits for the answer any
/// more.
pub(super) async fn write(
    adoption: Arc<Adoption>,
    target: Arc<dyn AdoptTarget>,
    counters: AdoptCounters,
    batch_rows: usize,
    stages: Option<Arc<dyn Stages>>,
) -> Result<Vec<SealedPart>> {
    let handle = tokio::runtime::Handle::current();
    let runtimes = target.runtimes().clone();
    let work = move || {
        let stages = stages.as_deref();
        let stream = AdoptStream::new(&adoption, (target.as_ref(), stages), &counters, batch_rows)?;
        let run = async {
            tokio::select! {
                biased;
                stopped = target.stopped() => Err(stopped),
                parts = stream.run() => parts,
            }
        };
        handle.block_on(run)
    };
    let written = runtimes.spawn_thread("sink", work)?;
    written.await.map_err(|_| internal("a sink ended early"))?
}

struct AdoptStream<'a> {
    adoption: &'a Adoption,
    target: &'a dyn AdoptTarget,
    /// Of a load that outlives its statement.
    stages: Option<&'a dyn Stages>,
    counters: &'a AdoptCounters,
    batch_rows: usize,
    groups: Groups<'a>,
    /// Units that are written and not staged.
    ended: Vec<Ended>,
    parts: AdoptedParts,
    sink: PartSink,
    /// Rows that went to the sink.
    rows_sorted: u64,
    /// Of the file that is read, by column of the table.
    refused: Vec<Option<ReencodeReason>>,
    file: Option<usize>,
    misses: u32,
}

/// A row group whose bytes are on their way.
enum Opened {
    Adopt(Box<Adopting>),
    Sink(Box<Place>, OutputRows),
}

struct Adopting {
    place: Place,
    choice: GroupChoice,
    chunks: ArrivingChunks,
    needs: Needs,
    rows: OutputRows,
    /// For what is decoded.
    grant: MemoryGrant,
}

/// Why a row group was not written yet.
enum NotWritten {
    /// A column cannot be copied after all: without it, it can be tried again.
    Again,
    Sink(SinkReason),
    NoMemory,
}

impl<'a> AdoptStream<'a> {
    fn new(
        adoption: &'a Adoption,
        (target, stages): (&'a dyn AdoptTarget, Option<&'a dyn Stages>),
        counters: &'a AdoptCounters,
        batch_rows: usize,
    ) -> Result<AdoptStream<'a>> {
        let (table, settings) = (target.table().clone(), target.settings().clone());
        Ok(AdoptStream {
            adoption,
            target,
            stages,
            counters,
            batch_rows,
            groups: Groups::new(adoption),
            ended: Vec::new(),
            parts: AdoptedParts::new(table.clone(), settings.load),
            sink: PartSink::new(table, settings).map_err(into_datafusion)?,
            rows_sorted: 0,
            refused: vec![None; adoption.load.targets.len()],
            file: None,
            misses: 0,
        })
    }

    async fn run(mut self) -> Result<Vec<SealedPart>> {
        let mut ahead = None;
        loop {
            let opened = match ahead.take() {
                Some(opened) => opened,
                None => match self.groups.next(false).await? {
                    Some(place) => self.open(place).await?,
                    None => break,
                },
            };
            if let Some(place) = self.groups.next(true).await? {
                ahead = Some(self.open(place).await?);
            }
            let is_whole = self.take(opened).await?;
            if let Some(stages) = self.stages {
                self.note_ended(stages);
                if is_whole && self.ended.iter().map(|ended| ended.bytes).sum::<u64>() >= stages.bytes_min() {
                    self.stage(stages)?;
                }
            }
        }
        let Some(stages) = self.stages else { return self.cut() };
        self.note_ended(stages);
        self.stage(stages)?;
        Ok(Vec::new())
    }

    fn note_ended(&mut self, stages: &dyn Stages) {
        let ended = self.groups.take_ended();
        ended.iter().for_each(|ended| stages.note_read(ended.unit));
        self.ended.extend(ended);
    }

    /// Stages the units that have ended: nothing of another one is written.
    fn stage(&mut self, stages: &dyn Stages) -> Result<()> {
        let parts = self.cut()?;
        let units: Vec<u32> = std::mem::take(&mut self.ended).into_iter().map(|ended| ended.unit).collect();
        if units.is_empty() {
            return Ok(());
        }
        let rows = parts.iter().map(|part| part.descriptor().rows).sum();
        stages.stage(units, parts, rows)
    }

    /// Seals all that was written since the last time.
    fn cut(&mut self) -> Result<Vec<SealedPart>> {
        let (table, load) = (self.target.table(), self.target.settings().load);
        let before = table.host.clock.monotonic();
        let open = std::mem::replace(&mut self.parts, AdoptedParts::new(table.clone(), load));
        let adopted = open.finish().map_err(into_datafusion)?;
        let is_committed_later = self.stages.is_none();
        if is_committed_later {
            self.target.add_uncommitted(adopted.clone());
        }
        let sorted = self.sink.cut().map_err(into_datafusion)?;
        if is_committed_later {
            self.target.add_uncommitted(sorted.clone());
        }
        let parts = [adopted, sorted].concat();
        self.counters.sink.sealed(&parts);
        self.counters.sink.wrote(0, table.host.clock.monotonic().saturating_sub(before));
        Ok(parts)
    }

    /// Sends the requests for a row group.
    async fn open(&mut self, place: Place) -> Result<Opened> {
        if self.file != Some(place.file) {
            self.file = Some(place.file);
            self.refused.fill(None);
        }
        let load = &self.adoption.load;
        let terms = self.adoption.terms();
        let choice = load.choose(&place.footer, place.row_group, &self.refused, terms);
        if self.misses < MISSES_MAX && matches!(choice.decision, RowGroupDecision::Adopt(_)) {
            let copied: Vec<ColumnId> = choice.copied().map(|at| load.targets[at].id).collect();
            let needs = self.target.needs(&|column| copied.contains(&column));
            let mut leaves: Vec<usize> = choice.leaves.iter().flatten().copied().collect();
            leaves.sort_unstable();
            leaves.dedup();
            let memory = &self.target.settings().memory;
            let decoded = self.decoded_bytes(&place, &choice, &needs);
            let of_file = (place.file, Arc::clone(&place.footer));
            if let Ok(grant) = memory.try_grant("adopted rows", decoded)
                && let Some(chunks) =
                    load.source.row_group_chunks(of_file, place.row_group, leaves).map_err(into_datafusion)?
            {
                let of_unit = (&place.unit, place.rows);
                let rows = load.outputs.read(&load.source, of_unit, &needs.inputs, self.batch_rows).await?;
                return Ok(Opened::Adopt(Box::new(Adopting { place, choice, chunks, needs, rows, grant })));
            }
        }
        self.open_for_sink(place).await
    }

    async fn open_for_sink(&self, place: Place) -> Result<Opened> {
        let load = &self.adoption.load;
        let all: Vec<usize> = (0..load.outputs.schema().fields().len()).collect();
        let rows = load.outputs.read(&load.source, (&place.unit, place.rows), &all, self.batch_rows).await?;
        Ok(Opened::Sink(Box::new(place), rows))
    }

    /// What is held of a row group beside its stored bytes: decoded columns, and what is made of others.
    fn decoded_bytes(&self, place: &Place, choice: &GroupChoice, needs: &Needs) -> u64 {
        const VIEW: u64 = 16;
        let load = &self.adoption.load;
        let group = place.footer.row_group(place.row_group);
        let kept = choice.leaves.iter().zip(&load.targets);
        let kept = kept.filter_map(|(leaf, target)| leaf.filter(|_| self.keeps_values(target.id, needs)));
        let schema = load.source.schema();
        let read = load.outputs.read_for(&load.source, &needs.inputs);
        let read =
            read.iter().filter_map(|at| load.source.stored_leaf(&place.footer, schema.field(*at).name()));
        let stored = |leaf: usize| u64::try_from(group.column(leaf).uncompressed_size()).unwrap_or(0);
        let of_rows = VIEW * u64_of(place.rows);
        let made = u64_of(load.targets.len() - choice.copied().count()) * of_rows;
        kept.chain(read).map(|leaf| stored(leaf).saturating_add(of_rows)).fold(made, u64::saturating_add)
    }

    fn keeps_values(&self, column: ColumnId, needs: &Needs) -> bool {
        self.adoption.keys.contains(&column) || needs.values_of.contains(&column)
    }

    /// Writes a row group; true if its unit is done.
    async fn take(&mut self, opened: Opened) -> Result<bool> {
        let mut opened = opened;
        loop {
            opened = match opened {
                Opened::Sink(place, rows) => {
                    self.counters.sorted_row_groups.add(1);
                    let is_counted = rows.reads();
                    self.sort(rows).await?;
                    return Ok(self.groups.finish(*place, is_counted));
                }
                Opened::Adopt(adopting) => match self.adopt(*adopting).await? {
                    (place, Ok(is_counted)) => {
                        self.misses = 0;
                        return Ok(self.groups.finish(place, is_counted));
                    }
                    (place, Err(NotWritten::Again)) => self.open(place).await?,
                    (place, Err(NotWritten::Sink(SinkReason::Debt | SinkReason::MergesStopped))) => {
                        self.open_for_sink(place).await?
                    }
                    (place, Err(NotWritten::Sink(_) | NotWritten::NoMemory)) => {
                        self.misses += 1;
                        self.open_for_sink(place).await?
                    }
                },
            }
        }
    }

    /// Sorts rows as any load does.
    async fn sort(&mut self, mut rows: OutputRows) -> Result<()> {
        let clock = &self.target.table().host.clock;
        let schema = self.adoption.load.outputs.schema();
        while let Some((count, values)) = rows.next().await? {
            self.check_stopped()?;
            let before = clock.monotonic();
            let options = RecordBatchOptions::new().with_row_count(Some(count));
            let batch = RecordBatch::try_new_with_options(Arc::clone(schema), values, &options)?;
            let batch = self.target.rows(self.rows_sorted, &batch)?;
            self.rows_sorted += u64_of(count);
            let bytes = u64_of(batch.get_array_memory_size());
            self.sink.write(batch).map_err(into_datafusion)?;
            self.target.add_written(u64_of(count), bytes);
            self.counters.sink.wrote(count, clock.monotonic().saturating_sub(before));
        }
        Ok(())
    }

    /// Writes what of the row group is copied and what is not; true if whoever read the rest counted its rows.
    async fn adopt(&mut self, adopting: Adopting) -> Result<(Place, Result<bool, NotWritten>)> {
        let Adopting { place, choice, chunks, needs, mut rows, mut grant } = adopting;
        let chunks = chunks.arrive().await.map_err(into_datafusion)?;
        let (load, clock) = (&self.adoption.load, &self.target.table().host.clock);
        let before = clock.monotonic();
        let mut copied: Vec<Option<CopiedColumn>> = load.targets.iter().map(|_| None).collect();
        // Keys first: they tell whether the rest is worth looking at.
        let (known, rest): (Vec<usize>, Vec<usize>) =
            choice.copied().partition(|at| self.keeps_values(load.targets[*at].id, &needs));
        if !self.verify_all(&place, &choice, &chunks, (known, true), &mut copied)? {
            return Ok((place, Err(NotWritten::Again)));
        }
        let Some(made) = self.decode(&place, &needs, &mut rows, &copied, &mut grant).await? else {
            return Ok((place, Err(NotWritten::NoMemory)));
        };
        let group = match self.settled(&made, &copied)? {
            Ok(group) => group,
            Err(reason) => return Ok((place, Err(NotWritten::Sink(reason)))),
        };
        if !self.verify_all(&place, &choice, &chunks, (rest, false), &mut copied)? {
            return Ok((place, Err(NotWritten::Again)));
        }
        self.write(place.rows, (made, copied), group)?;
        if !rows.reads() {
            load.source.count_copied(place.rows);
        }
        self.counters.sink.wrote(place.rows, clock.monotonic().saturating_sub(before));
        Ok((place, Ok(rows.reads())))
    }

    /// False if one of the columns cannot be copied. All are looked at: a row group is not fetched again for each of them.
    fn verify_all(
        &mut self,
        place: &Place,
        choice: &GroupChoice,
        chunks: &RowGroupChunks,
        (columns, keeps_values): (Vec<usize>, bool),
        copied: &mut [Option<CopiedColumn>],
    ) -> Result<bool> {
        let mut all = true;
        for at in columns {
            all &= self.verify(place, choice, chunks, (at, keeps_values), copied)?;
        }
        Ok(all)
    }

    /// False if the column cannot be copied, which is remembered.
    fn verify(
        &mut self,
        place: &Place,
        choice: &GroupChoice,
        chunks: &RowGroupChunks,
        (at, keeps_values): (usize, bool),
        copied: &mut [Option<CopiedColumn>],
    ) -> Result<bool> {
        self.check_stopped()?;
        let Some(leaf) = choice.leaves[at] else { return Ok(true) };
        let of_file = (place.footer.as_ref(), place.row_group);
        let verified = self.adoption.load.verify(of_file, chunks, (at, leaf), keeps_values);
        match verified.map_err(into_datafusion)? {
            VerifiedColumn::Copied(column) => copied[at] = Some(*column),
            VerifiedColumn::Refused(reason) => {
                self.refused[at] = Some(reason);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The columns that are not copied, in pieces; `None` if there is no memory for them.
    async fn decode(
        &self,
        place: &Place,
        needs: &Needs,
        rows: &mut OutputRows,
        copied: &[Option<CopiedColumn>],
        grant: &mut MemoryGrant,
    ) -> Result<Option<Vec<Vec<ArrayRef>>>> {
        let load = &self.adoption.load;
        let mut made: Vec<Vec<ArrayRef>> = load.targets.iter().map(|_| Vec::new()).collect();
        let (mut done, mut bytes) = (0, 0);
        let fields = load.outputs.schema().fields();
        while let Some((count, values)) = rows.next().await? {
            self.check_stopped()?;
            let mut given: Vec<Option<(ArrayRef, FieldRef)>> = vec![None; fields.len()];
            for (input, values) in needs.inputs.iter().zip(values) {
                given[*input] = Some((values, Arc::clone(&fields[*input])));
            }
            let values_of = |column: ColumnId| {
                let at = load.targets.iter().position(|target| target.id == column)?;
                let values = copied[at].as_ref()?.values.as_ref()?;
                (done + count <= values.len()).then(|| values.slice(done, count))
            };
            let arrays = self.target.columns_beside(count, needs, &given, &values_of)?;
            for ((made, array), copied) in made.iter_mut().zip(arrays).zip(copied) {
                // What is copied is known only for the sake of others.
                if let Some(array) = array.filter(|_| copied.is_none()) {
                    bytes += array_bytes(&array);
                    made.push(array);
                }
            }
            done += count;
            if bytes > grant.bytes() && grant.try_grow(bytes - grant.bytes()).is_err() {
                return Ok(None);
            }
        }
        if done == place.rows {
            return Ok(Some(made));
        }
        let path = load.source.files().get(place.file).map(|file| file.path.clone()).unwrap_or_default();
        let (group, rows) = (place.row_group, place.rows);
        let message = format!(
            "\"{path}\" cannot be decoded: row group {group}: {done} of {rows} rows could be decoded"
        );
        Err(into_datafusion(SourceError::corrupt(&path, message)))
    }

    fn write(
        &mut self,
        rows: usize,
        (made, copied): (Vec<Vec<ArrayRef>>, Vec<Option<CopiedColumn>>),
        group: Settled,
    ) -> Result<()> {
        let (mut bytes, mut stored) = (0, 0);
        let is_key = |at: usize| self.adoption.keys.contains(&self.adoption.load.targets[at].id);
        let columns = made.into_iter().zip(copied).enumerate().map(|(at, (values, copied))| match copied {
            // Pages of a sorted key are worth having bounds, by which readers find rows.
            Some(CopiedColumn { values: Some(values), .. }) if group.ends.is_some() && is_key(at) => {
                bytes += array_bytes(&values);
                AdoptedColumn::Values(vec![values])
            }
            Some(CopiedColumn { chunk, .. }) => {
                bytes += chunk.value_bytes;
                stored += u64_of(chunk.bytes.len());
                AdoptedColumn::Copied(chunk)
            }
            None => {
                bytes += values.iter().map(array_bytes).sum::<u64>();
                AdoptedColumn::Values(values)
            }
        });
        let columns: Vec<AdoptedColumn> = columns.collect();
        let is_debt = group.ends.is_none() && self.adoption.terms.is_sorted;
        let rows_of_group = AdoptedRows { columns, partition: group.partition, ends: group.ends };
        self.parts.write(rows_of_group).map_err(into_datafusion)?;
        if is_debt {
            self.adoption.debt.fetch_add(stored, Ordering::Relaxed);
        }
        self.target.add_written(u64_of(rows), bytes);
        self.counters.adopted_row_groups.add(1);
        self.counters.copied_bytes.add(usize_of(stored));
        Ok(())
    }

    fn check_stopped(&self) -> Result<()> {
        self.target.check_stopped()
    }
}
