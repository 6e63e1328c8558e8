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
use parts::sorted::KeyRows;

use super::row_mask::{Bits, RowMask};
use super::sources::{BATCH_ROWS, MaskSource, Opened, schema_asked};
use super::splits::pieces;
use crate::error::TableError;
use crate::merge::order::{HeadRows, MergeOrder};
use crate::table::Table;
use crate::write::collapse::{ordered, truths};

/// A thread of its own is worth so many rows.
const PIECE_ROWS: u64 = 256 * 1024;

/// The masks of sources that are all the rows of their keys, in the order of insertion. Blocks for as long as it takes to
/// read the columns that decide.
///
/// # Errors
/// A part is missing, damaged or not in the order of the key; or nobody wants it any more.
pub fn compute(
    table: &Table,
    sources: &[MaskSource],
    cancelled: &Arc<AtomicBool>,
) -> Result<Vec<RowMask>, TableError> {
    let rows: u64 = sources.iter().map(MaskSource::rows).sum();
    let threads = table.host.workers.threads() as u64 + 1;
    compute_in_pieces(table, sources, (rows / PIECE_ROWS).clamp(1, threads), cancelled)
}

/// The same in so many pieces, each of which a thread may work on.
///
/// # Errors
/// As [`compute`].
pub fn compute_in_pieces(
    table: &Table,
    sources: &[MaskSource],
    count: u64,
    cancelled: &Arc<AtomicBool>,
) -> Result<Vec<RowMask>, TableError> {
    let schema = schema_asked(table);
    let opened = sources.iter().map(|source| Opened::open(table, source, &schema));
    let opened: Arc<Vec<Opened>> = Arc::new(opened.collect::<Result<_, _>>()?);
    let pieces = pieces(table, &opened, count)?;
    let (sender, receiver) = mpsc::channel();
    let count = pieces.len();
    for (at, ranges) in pieces.into_iter().enumerate() {
        let (of, opened, cancelled) = (table.clone(), Arc::clone(&opened), Arc::clone(cancelled));
        let sender = sender.clone();
        let work = move || {
            // Whoever asked may have gone after another piece failed.
            let _gone = sender.send((at, piece(&of, &opened, &ranges, &cancelled)));
        };
        match at + 1 == count {
            true => work(),
            false => table.host.workers.run("mask", work),
        }
    }
    drop(sender);
    let mut found: Vec<Option<Vec<BooleanBuffer>>> = (0..count).map(|_| None).collect();
    for (at, bits) in receiver {
        found[at] = Some(bits?);
    }
    let found: Option<Vec<_>> = found.into_iter().collect();
    let found = found.ok_or_else(|| table.rows_error("the rows that are replaced were not found out"))?;
    Ok(opened
        .iter()
        .enumerate()
        .map(|(at, source)| joined(source, found.iter().map(|bits| &bits[at])))
        .collect())
}

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
/// As [`compute`].
pub(super) fn piece(
    table: &Table,
    sources: &[Opened],
    ranges: &[Range<u64>],
    cancelled: &AtomicBool,
) -> Result<Vec<BooleanBuffer>, TableError> {
    let schema = schema_asked(table);
    let at = |id: model::ColumnId| schema.fields().iter().position(|field| column_id_of(field) == Some(id));
    let MergeMode::Replacing { version, is_deleted } = table.def.mode else {
        return Err(table.rows_error("rows are not replaced"));
    };
    let rows = sources.iter().zip(ranges).map(|(source, range)| source.read(range.clone(), BATCH_ROWS));
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
        if steps.is_multiple_of(1024) && cancelled.load(Ordering::Relaxed) {
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
