//! Which rows are replaced by others of their key: a merge of keys and versions, without any other column.
//!
//! Invariant: of the rows of a key the one of the greatest version is shown, of equal versions the one that was inserted
//! last, and none if that one is deleted: what `write/collapse/choose.rs` chooses for reading. Must not know: who asks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;
use arrow::row::Rows;
use model::MergeMode;
use model::saturating::usize_of;
use model::table_def::column_id_of;
use parking_lot::Mutex;
use parts::sorted::KeyRows;

use super::row_mask::{Bits, RowMask};
use super::sources::{MaskSource, Opened, schema_asked};
use super::splits::pieces;
use crate::error::TableError;
use crate::merge::order::{HeadRows, MergeOrder};
use crate::table::Table;
use crate::write::collapse::{ordered, truths};

/// A thread of its own is worth so many rows.
const PIECE_ROWS: u64 = 256 * 1024;

/// Rows of one source are read so many at a time, and of all sources together about so many.
const BATCH_ROWS_MAX: usize = 8192;
const BATCH_ROWS_MIN: usize = 128;
const BATCHES_ROWS_MAX: usize = 64 * BATCH_ROWS_MAX;

/// Sources that are all the rows of their keys, in the order of insertion, open to be read.
pub struct MaskJob {
    table: Table,
    opened: Arc<Vec<Opened>>,
    /// Rows are read so many at a time.
    batch_rows: usize,
}

impl MaskJob {
    /// # Errors
    /// A part is missing or damaged, or a key cannot be computed.
    pub fn open(table: &Table, sources: &[MaskSource]) -> Result<MaskJob, TableError> {
        let schema = schema_asked(table);
        let opened = sources.iter().map(|source| Opened::open(table, source, &schema));
        let opened = Arc::new(opened.collect::<Result<Vec<_>, _>>()?);
        // Thousands of small parts are not held whole.
        let batch_rows = (BATCHES_ROWS_MAX / opened.len().max(1)).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX);
        Ok(MaskJob { table: table.clone(), opened, batch_rows })
    }

    /// What it holds while it runs.
    pub fn memory_bytes(&self) -> u64 {
        let of = |source: &Opened| source.read_bytes(&self.table, self.batch_rows);
        self.opened.iter().map(of).sum::<u64>().saturating_mul(self.pieces())
    }

    fn pieces(&self) -> u64 {
        let rows: u64 = self.opened.iter().map(|source| source.rows).sum();
        (rows / PIECE_ROWS).clamp(1, self.table.host.workers.threads() as u64 + 1)
    }

    /// The masks. Blocks for as long as it takes to read the columns that decide.
    ///
    /// # Errors
    /// A part is damaged or not in the order of the key; or nobody wants it any more.
    pub fn run(&self, cancelled: &Arc<AtomicBool>) -> Result<Vec<RowMask>, TableError> {
        self.run_in_pieces(self.pieces(), cancelled)
    }

    /// The same in so many pieces, each of which a thread may work on.
    ///
    /// # Errors
    /// As [`MaskJob::run`].
    pub fn run_in_pieces(&self, count: u64, cancelled: &Arc<AtomicBool>) -> Result<Vec<RowMask>, TableError> {
        let pieces = pieces(&self.table, &self.opened, count)?;
        let (sender, receiver) = mpsc::channel();
        let count = pieces.len();
        let waiting = Arc::new(Mutex::new(pieces.into_iter().enumerate().collect::<Vec<_>>()));
        let failed = Arc::new(AtomicBool::new(false));
        for _ in 1..count {
            let work = self.worker(&waiting, &sender, cancelled, &failed);
            self.table.host.workers.run("mask", work);
        }
        // Whoever waits takes what nobody has begun: there may be no other thread for it.
        self.worker(&waiting, &sender, cancelled, &failed)();
        drop(sender);
        let mut found: Vec<Option<Vec<BooleanBuffer>>> = (0..count).map(|_| None).collect();
        for _ in 0..count {
            // One that panicked says nothing.
            let Ok((at, bits)) = receiver.recv() else { break };
            // The others need not go on.
            found[at] = Some(bits.inspect_err(|_| failed.store(true, Ordering::Relaxed))?);
        }
        let found: Option<Vec<_>> = found.into_iter().collect();
        let found =
            found.ok_or_else(|| self.table.rows_error("the rows that are replaced were not found out"))?;
        let of = |at: usize, source: &Opened| joined(source, found.iter().map(|bits| &bits[at]));
        Ok(self.opened.iter().enumerate().map(|(at, source)| of(at, source)).collect())
    }

    /// Works on pieces that nobody has begun, as long as there are any.
    fn worker(
        &self,
        waiting: &Arc<Mutex<Waiting>>,
        sender: &mpsc::Sender<Done>,
        cancelled: &Arc<AtomicBool>,
        failed: &Arc<AtomicBool>,
    ) -> impl FnOnce() + Send + use<> {
        let (table, opened, batch_rows) = (self.table.clone(), Arc::clone(&self.opened), self.batch_rows);
        let (waiting, sender) = (Arc::clone(waiting), sender.clone());
        let (cancelled, failed) = (Arc::clone(cancelled), Arc::clone(failed));
        move || loop {
            let Some((at, ranges)) = waiting.lock().pop() else { return };
            let ends = || cancelled.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            // Whoever asked may have gone after another piece failed.
            let _gone = sender.send((at, piece(&table, &opened, (&ranges, batch_rows), &ends)));
        }
    }

    pub(super) fn opened(&self) -> &[Opened] {
        &self.opened
    }
}

/// Pieces that nobody has begun: which it is, and its rows by source.
type Waiting = Vec<(usize, Vec<Range<u64>>)>;

/// Which piece, and which of its rows are shown by source.
type Done = (usize, Result<Vec<BooleanBuffer>, TableError>);

/// The mask of a source whose pieces follow each other.
fn joined<'a>(source: &Opened, pieces: impl Iterator<Item = &'a BooleanBuffer>) -> RowMask {
    let mut bits = BooleanBufferBuilder::new(usize_of(source.rows));
    pieces.for_each(|piece| bits.append_buffer(piece));
    let in_order = bits.finish();
    let Some(numbers) = source.numbers() else { return RowMask::of(in_order) };
    let mut inserted = Bits::all(in_order.len());
    let dead = numbers.iter().enumerate().filter(|(place, _)| !in_order.value(*place));
    dead.for_each(|(_, number)| inserted.clear(*number as usize));
    RowMask::of(inserted.finish())
}

/// What decides of the current batch of a source.
#[derive(Default)]
struct Decisive {
    /// Which batch it is, by the rows before it; `None` before the first.
    passed: Option<u64>,
    versions: Option<Rows>,
    deleted: Option<BooleanBuffer>,
}

/// The row of a key that is shown so far.
#[derive(Default)]
struct Newest {
    source: usize,
    place: usize,
    is_deleted: bool,
    key: Vec<u8>,
    version: Vec<u8>,
}

/// Merges the rows between two keys.
struct Piece {
    order: MergeOrder,
    version_at: Option<usize>,
    deleted_at: Option<usize>,
    decisive: Vec<Decisive>,
    /// `None` before the first row.
    newest: Option<Newest>,
    live: Vec<Bits>,
}

/// Which rows of these ranges are shown, in the order of the key; no other row has a key of theirs.
///
/// # Errors
/// As [`MaskJob::run`].
pub(super) fn piece(
    table: &Table,
    sources: &[Opened],
    (ranges, batch_rows): (&[Range<u64>], usize),
    ends: &impl Fn() -> bool,
) -> Result<Vec<BooleanBuffer>, TableError> {
    let schema = schema_asked(table);
    let at = |id: model::ColumnId| schema.fields().iter().position(|field| column_id_of(field) == Some(id));
    let MergeMode::Replacing { version, is_deleted } = table.def.mode else {
        return Err(table.rows_error("rows are not replaced"));
    };
    let rows = sources.iter().zip(ranges).map(|(source, range)| source.read(range.clone(), batch_rows));
    let keys = KeyRows::new(&table.keys.sort);
    let mut piece = Piece {
        order: MergeOrder::of_rows(Some(keys), rows.collect(), true)?,
        version_at: version.and_then(at),
        deleted_at: is_deleted.and_then(at),
        decisive: sources.iter().map(|_| Decisive::default()).collect(),
        newest: None,
        live: ranges.iter().map(|range| Bits::all(usize_of(range.end - range.start))).collect(),
    };
    let mut steps = 0_u32;
    while let Some(run) = piece.order.coming(usize::MAX) {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(1024) && ends() {
            return Err(TableError::Cancelled);
        }
        piece.take(run.input, usize_of(run.rows))?;
        piece.order.pass(run)?;
    }
    piece.end_key();
    Ok(piece.live.into_iter().map(Bits::finish).collect())
}

impl Piece {
    /// Takes the next rows of a source, which come before those of all others.
    fn take(&mut self, source: usize, rows: usize) -> Result<(), TableError> {
        let Piece { order, decisive, newest, live, version_at, deleted_at } = self;
        let Some(head) = order.head(source) else { return Ok(()) };
        let decisive = &mut decisive[source];
        if decisive.passed != Some(head.passed) {
            *decisive = decisive_of(&head, *version_at, *deleted_at)?;
        }
        let first = usize_of(head.passed);
        let is_deleted = |row: usize| decisive.deleted.as_ref().is_some_and(|deleted| deleted.value(row));
        let version = |row: usize| decisive.versions.as_ref().map_or(&[][..], |all| all.row(row).data());
        // The newest of the key so far, if it is one of these rows.
        let mut here: Option<usize> = None;
        for row in head.at..head.at + rows {
            let key = head.keys.row(row);
            let is_same = match row == head.at {
                true => newest.as_ref().is_some_and(|newest| newest.key == key.data()),
                false => key == head.keys.row(row - 1),
            };
            match (is_same, here, newest.as_mut()) {
                (true, Some(before), _) => {
                    let dies = if version(row) >= version(before) { here.replace(row) } else { Some(row) };
                    dies.into_iter().for_each(|row| live[source].clear(first + row));
                }
                (true, None, Some(before)) if version(row) >= before.version.as_slice() => {
                    live[before.source].clear(before.place);
                    here = Some(row);
                }
                (true, None, _) => live[source].clear(first + row),
                (false, Some(before), _) => {
                    if is_deleted(before) {
                        live[source].clear(first + before);
                    }
                    here = Some(row);
                }
                (false, None, before) => {
                    if let Some(before) = before.filter(|before| before.is_deleted) {
                        live[before.source].clear(before.place);
                    }
                    here = Some(row);
                }
            }
        }
        if let Some(row) = here {
            let newest = newest.get_or_insert_default();
            (newest.source, newest.place, newest.is_deleted) = (source, first + row, is_deleted(row));
            newest.key.clear();
            newest.key.extend_from_slice(head.keys.row(row).data());
            newest.version.clear();
            newest.version.extend_from_slice(version(row));
        }
        Ok(())
    }

    /// No more rows of the last key come.
    fn end_key(&mut self) {
        if let Some(newest) = self.newest.take().filter(|newest| newest.is_deleted) {
            self.live[newest.source].clear(newest.place);
        }
    }
}

fn decisive_of(
    head: &HeadRows<'_>,
    version_at: Option<usize>,
    deleted_at: Option<usize>,
) -> Result<Decisive, TableError> {
    let versions = version_at.map(|at| ordered(head.batch, at)).transpose()?;
    let deleted = deleted_at.map(|at| truths(head.batch, at)).transpose()?;
    Ok(Decisive { passed: Some(head.passed), versions, deleted })
}
