//! Where sources are cut, so that several threads each merge the rows between two keys.
//!
//! Invariant: rows of one key are in one piece, and every row is in exactly one. Must not know: what is done with a piece.

use std::ops::Range;

use model::saturating::usize_of;
use parts::sorted::KeyRows;

use super::sources::Opened;
use crate::error::TableError;
use crate::table::Table;

/// A row is looked for among so many, which are about a page.
pub(super) const STEP_ROWS: u64 = 4096;

/// Of each piece the rows of each source. There may be fewer pieces than asked for.
///
/// # Errors
/// A part is damaged, or a key cannot be computed.
pub(super) fn pieces(
    table: &Table,
    sources: &[Opened],
    count: u64,
) -> Result<Vec<Vec<Range<u64>>>, TableError> {
    let mut cuts: Vec<Vec<u64>> = vec![sources.iter().map(|_| 0).collect()];
    if let Some(largest) = sources.iter().max_by_key(|source| source.rows) {
        for piece in 1..count {
            let row = u64::try_from(u128::from(largest.rows) * u128::from(piece) / u128::from(count.max(1)));
            let Some(key) = first_key(table, largest, row.unwrap_or(0)..largest.rows)? else { continue };
            let cut = sources.iter().map(|source| first_from(table, source, &key));
            cuts.push(cut.collect::<Result<_, _>>()?);
        }
    }
    cuts.push(sources.iter().map(|source| source.rows).collect());
    let between = |cuts: &[Vec<u64>]| cuts[0].iter().zip(&cuts[1]).map(|(from, to)| *from..*to).collect();
    Ok(cuts.windows(2).map(between).collect())
}

/// The key of the first of these rows.
fn first_key(table: &Table, source: &Opened, rows: Range<u64>) -> Result<Option<Vec<u8>>, TableError> {
    let first = rows.start..rows.end.min(rows.start + 1);
    let Some(batch) = source.read(first, 1).next()? else { return Ok(None) };
    let mut keys = KeyRows::new(&table.keys.sort);
    let arrays = keys.arrays(&batch)?;
    Ok(Some(keys.rows(&arrays)?.row(0).data().to_vec()))
}

/// The first row that is not before the key.
///
/// # Errors
/// A part is damaged, or a key cannot be computed.
pub(super) fn first_from(table: &Table, source: &Opened, key: &[u8]) -> Result<u64, TableError> {
    // Steps whose first row comes before the key.
    let (mut before, mut end) = (0, source.rows.div_ceil(STEP_ROWS));
    while before < end {
        let middle = u64::midpoint(before, end);
        let first = middle * STEP_ROWS;
        match first_key(table, source, first..source.rows)? {
            Some(found) if found.as_slice() < key => before = middle + 1,
            _ => end = middle,
        }
    }
    let Some(step) = before.checked_sub(1) else { return Ok(0) };
    let (start, end) = (step * STEP_ROWS, ((step + 1) * STEP_ROWS).min(source.rows));
    let mut rows = source.read(start..end, usize_of(STEP_ROWS));
    let (mut keys, mut passed) = (KeyRows::new(&table.keys.sort), start);
    while let Some(batch) = rows.next()? {
        let arrays = keys.arrays(&batch)?;
        let encoded = keys.rows(&arrays)?;
        let smaller = (0..encoded.num_rows()).take_while(|row| encoded.row(*row).data() < key).count();
        passed += smaller as u64;
        if smaller < encoded.num_rows() {
            break;
        }
    }
    Ok(passed)
}
