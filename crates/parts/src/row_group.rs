//! The columns of the row group that is being written.
//!
//! Plain texts are written by [`TextChunk`], chunks of other files are copied by [`SplicedChunk`], all else is written by the
//! Parquet library. Invariant: only a row group whose columns have equally many rows gets into a file. Must not know: files, and
//! when a row group is full.

use std::io::Write;

use ::parquet::arrow::arrow_writer::ArrowColumnWriter;
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::SchemaDescriptor;
use arrow::array::ArrayRef;
use arrow::datatypes::FieldRef;
use host::Workers;

use crate::column_writer::{ColumnWriter, LeafWriter, OpenColumn};
use crate::packer::Effort;
use crate::parquet::spliced_chunk::SplicedChunk;
use crate::parquet::summed_pages::SummedPages;
use crate::parquet::text_chunk::TextChunk;

pub(crate) struct OpenRowGroup {
    columns: Vec<OpenColumn>,
    /// Rows written so far, by column.
    rows: Vec<u64>,
    /// Of the values, before encoding.
    pub bytes: u64,
}

impl OpenRowGroup {
    /// `first_leaf` says where the leaves of each column begin, and at last how many there are; `texts` of each leaf whether, and
    /// how, it is written as plain text; `summed` has the pages of the others.
    pub(crate) fn new(
        writers: Vec<ArrowColumnWriter>,
        (schema, first_leaf): (&SchemaDescriptor, &[usize]),
        texts: &[Option<Effort>],
        summed: &SummedPages,
        workers: &Workers,
    ) -> ParquetResult<OpenRowGroup> {
        let leaf = |(index, writer)| {
            Ok(match texts.get(index).copied().flatten() {
                Some(effort) => LeafWriter::Text(Box::new(TextChunk::new(&schema.column(index), effort)?)),
                None => LeafWriter::Other(Box::new(writer), summed.of_leaf(index)),
            })
        };
        let leaves = writers.into_iter().enumerate().map(leaf).collect::<ParquetResult<Vec<_>>>()?;
        let mut leaves = leaves.into_iter();
        let of_column = |ends: &[usize]| ColumnWriter::new(leaves.by_ref().take(ends[1] - ends[0]).collect());
        let columns: Vec<ColumnWriter> = first_leaf.windows(2).map(of_column).collect();
        let rows = vec![0; columns.len()];
        let columns = columns.into_iter().map(|column| OpenColumn::new(column, workers)).collect();
        Ok(OpenRowGroup { columns, rows, bytes: 0 })
    }

    /// Rows of the first column.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.first().copied().unwrap_or(0)
    }

    /// Bytes of encoded pages.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.columns.iter().map(OpenColumn::memory_size).sum()
    }

    /// Appends values to the column at `position`.
    pub(crate) fn write(
        &mut self,
        position: usize,
        field: &FieldRef,
        values: &ArrayRef,
    ) -> ParquetResult<()> {
        self.columns[position].write(field, values)?;
        self.rows[position] += values.len() as u64;
        Ok(())
    }

    /// Gives the column at `position`, which has no values yet, all of them.
    pub(crate) fn splice(&mut self, position: usize, chunk: SplicedChunk) -> ParquetResult<()> {
        if self.rows[position] > 0 {
            return Err(ParquetError::General("a chunk is copied into a column that has values".to_owned()));
        }
        let rows = chunk.rows();
        self.columns[position].splice(chunk)?;
        self.rows[position] = rows;
        Ok(())
    }

    /// Writes all columns, and appends the sums of their pages to `sums`; returns the rows.
    pub(crate) fn append_to<W: Write + Send>(
        self,
        target: &mut SerializedRowGroupWriter<'_, W>,
        sums: &mut Vec<u32>,
    ) -> ParquetResult<u64> {
        let rows = self.rows();
        if self.rows.iter().any(|column_rows| *column_rows != rows) {
            return Err(ParquetError::General("columns of a row group have different lengths".to_owned()));
        }
        for column in self.columns {
            column.append_to(target, sums)?;
        }
        Ok(rows)
    }
}
