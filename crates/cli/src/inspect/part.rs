//! What the footer of a part says: `gristmill inspect` of a Parquet file.
//!
//! Invariant: reads the footer alone, also of a file in a store. Must not know: which parts are live.

use std::path::Path;
use std::sync::Arc;

use bytes::buf::Reader;
use bytes::{Buf, Bytes};
use host::{DiskRead, Host};
use model::{ByteSize, RowCount};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};

use crate::failure::Failure;

/// Statistics longer than this are cut.
const VALUE_CHARS_MAX: usize = 24;

/// A file as the Parquet library reads it.
struct Ranges {
    file: Arc<dyn DiskRead>,
    bytes: u64,
}

impl Length for Ranges {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Ranges {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Reader<Bytes>> {
        let length = usize::try_from(self.bytes.saturating_sub(start))?;
        Ok(self.get_bytes(start, length)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.file.read_bytes(start, length).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// The lines of a part; of the file only its footer is read.
pub(super) fn part(path: &Path, host: &Host) -> Result<Vec<String>, Failure> {
    let file = host.disk.open_read(path)?;
    let size = file.len()?;
    let reader = SerializedFileReader::new(Ranges { file, bytes: size })?;
    let metadata = reader.metadata();
    let file = metadata.file_metadata();
    let rows = u64::try_from(file.num_rows()).unwrap_or(0);
    let mut lines = vec![format!(
        "part: {} rows, {}, {} row groups, written by {}",
        RowCount(rows),
        ByteSize(size),
        metadata.num_row_groups(),
        file.created_by().unwrap_or("nobody who says so")
    )];
    lines.extend(
        file.key_value_metadata()
            .into_iter()
            .flatten()
            .filter(|pair| pair.key != "ARROW:schema")
            .map(|pair| format!("{} = {}", pair.key, cut(pair.value.as_deref().unwrap_or("")))),
    );
    lines.extend(sort_order(metadata));
    lines.extend(columns(metadata));
    lines.extend(metadata.row_groups().iter().enumerate().map(|(number, group)| row_group(number, group)));
    Ok(lines)
}

fn sort_order(metadata: &ParquetMetaData) -> Option<String> {
    let order = metadata.row_groups().first()?.sorting_columns()?;
    let names: Vec<String> = order
        .iter()
        .filter_map(|column| {
            let leaf = metadata
                .file_metadata()
                .schema_descr()
                .columns()
                .get(usize::try_from(column.column_idx).ok()?)?;
            Some(format!("{}{}", leaf.path(), if column.descending { " desc" } else { "" }))
        })
        .collect();
    Some(format!("sorted by {}", names.join(", ")))
}

/// One line a column: sizes over all row groups, encodings, bounds.
fn columns(metadata: &ParquetMetaData) -> Vec<String> {
    let leaves = metadata.file_metadata().schema_descr().columns();
    let describe = |(index, leaf): (usize, &parquet::schema::types::ColumnDescPtr)| {
        let chunks: Vec<_> = metadata.row_groups().iter().map(|group| group.column(index)).collect();
        let sum = |of: fn(&parquet::file::metadata::ColumnChunkMetaData) -> i64| {
            ByteSize(u64::try_from(chunks.iter().map(|chunk| of(chunk)).sum::<i64>()).unwrap_or(0))
        };
        let nulls: u64 = chunks.iter().filter_map(|chunk| chunk.statistics()?.null_count_opt()).sum();
        let info = leaf.self_type().get_basic_info();
        let id = if info.has_id() { format!("#{} ", info.id()) } else { String::new() };
        let encodings: Vec<String> = chunks
            .first()
            .map(|chunk| chunk.encodings().map(|e| format!("{e:?}")).collect())
            .unwrap_or_default();
        let codec = chunks.first().map(|chunk| format!("{}", chunk.compression())).unwrap_or_default();
        format!(
            "column {id}{} {}: {} of {} {codec} [{}] nulls={nulls}",
            leaf.path(),
            leaf.physical_type(),
            sum(|chunk| chunk.compressed_size()),
            sum(|chunk| chunk.uncompressed_size()),
            encodings.join(" "),
        )
    };
    leaves.iter().enumerate().map(describe).collect()
}

fn row_group(number: usize, group: &RowGroupMetaData) -> String {
    let rows = u64::try_from(group.num_rows()).unwrap_or(0);
    let bytes = u64::try_from(group.compressed_size()).unwrap_or(0);
    format!("row group {number}: {} rows, {}", RowCount(rows), ByteSize(bytes))
}

fn cut(text: &str) -> String {
    if text.chars().count() <= VALUE_CHARS_MAX {
        return text.to_owned();
    }
    format!("{}...", text.chars().take(VALUE_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"x".repeat(30)), format!("{}...", "x".repeat(24)));
    }
}
