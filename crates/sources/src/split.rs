//! Where a source may be cut into units of work.
//!
//! Pure. Invariant: units cover every row once; a unit stays inside one file. Parquet is cut between row groups, text
//! only between files. Must not know: who reads units.

use std::sync::Arc;

use parquet::file::metadata::ParquetMetaData;

/// A piece of one file, read by one stream.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceUnit {
    /// Position in `ObjectTable::files`.
    pub file: usize,
    /// Row groups of a Parquet file; `None` is the whole file.
    pub row_groups: Option<Vec<usize>>,
    /// Bytes as stored, of all columns.
    pub bytes: u64,
    /// Rows, where metadata tells.
    pub rows: Option<u64>,
}

/// A file to be cut.
pub(crate) struct Cuttable {
    pub file: usize,
    pub bytes: u64,
    /// Of Parquet: the footer, and the row groups that may hold rows anyone wants.
    pub row_groups: Option<(Arc<ParquetMetaData>, Vec<usize>)>,
}

/// Units of about `target_bytes`: neighbouring row groups of a file together until there is enough.
pub(crate) fn cut(files: &[Cuttable], target_bytes: u64) -> Vec<SourceUnit> {
    let mut units = Vec::new();
    for file in files {
        match &file.row_groups {
            None => {
                units.push(SourceUnit { file: file.file, row_groups: None, bytes: file.bytes, rows: None })
            }
            Some((footer, kept)) => cut_row_groups(file.file, footer, kept, target_bytes, &mut units),
        }
    }
    units
}

fn cut_row_groups(
    file: usize,
    footer: &ParquetMetaData,
    kept: &[usize],
    target_bytes: u64,
    units: &mut Vec<SourceUnit>,
) {
    let mut open: Option<SourceUnit> = None;
    for row_group in kept {
        let metadata = footer.row_group(*row_group);
        let bytes = u64::try_from(metadata.compressed_size()).unwrap_or(0);
        let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
        if let Some(full) =
            open.take_if(|unit| unit.bytes > 0 && unit.bytes.saturating_add(bytes) > target_bytes)
        {
            units.push(full);
        }
        let unit = open.get_or_insert_with(|| SourceUnit {
            file,
            row_groups: Some(Vec::new()),
            bytes: 0,
            rows: Some(0),
        });
        unit.bytes = unit.bytes.saturating_add(bytes);
        unit.rows = unit.rows.map(|sum| sum.saturating_add(rows));
        unit.row_groups.get_or_insert_default().push(*row_group);
    }
    units.extend(open);
}
