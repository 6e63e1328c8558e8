//! The columns of the row group that is being written.
//!
//! Plain texts are written by [`TextChunk`], all else by the Parquet library. Invariant: only a row group whose columns have
//! equally many rows gets into a file. Must not know: files, and when a row group is full.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::arrow_writer::{ArrowColumnWriter, compute_leaves};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::SchemaDescriptor;
use arrow::array::ArrayRef;
use arrow::datatypes::Field;

use parking_lot::Mutex;

use crate::packer::Effort;
use crate::parquet::summed_pages::{ChunkPages, SummedPages};
use crate::parquet::text_chunk::TextChunk;

pub(crate) struct OpenRowGroup {
    leaves: Vec<LeafWriter>,
    /// Rows written so far, by column.
    rows: Vec<u64>,
    /// Of the values, before encoding.
    pub bytes: u64,
}

enum LeafWriter {
    Text(Box<TextChunk>),
    Other(Box<ArrowColumnWriter>, Arc<Mutex<ChunkPages>>),
}

impl OpenRowGroup {
    /// `texts` says of each leaf whether, and how, it is written as plain text; `summed` has the pages of the others.
    pub(crate) fn new(
        writers: Vec<ArrowColumnWriter>,
        schema: &SchemaDescriptor,
        texts: &[Option<Effort>],
        summed: &SummedPages,
        columns: usize,
    ) -> ParquetResult<OpenRowGroup> {
        let leaf = |(index, writer)| {
            Ok(match texts.get(index).copied().flatten() {
                Some(effort) => LeafWriter::Text(Box::new(TextChunk::new(&schema.column(index), effort)?)),
                None => LeafWriter::Other(Box::new(writer), summed.of_leaf(index)),
            })
        };
        let leaves = writers.into_iter().enumerate().map(leaf).collect::<ParquetResult<Vec<_>>>()?;
        Ok(OpenRowGroup { leaves, rows: vec![0; columns], bytes: 0 })
    }

    /// Rows of the first column.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.first().copied().unwrap_or(0)
    }

    /// Bytes of encoded pages.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let bytes = self.leaves.iter().map(|leaf| match leaf {
            LeafWriter::Text(chunk) => chunk.memory_size(),
            LeafWriter::Other(writer, _) => writer.memory_size(),
        });
        bytes.map(|bytes| bytes as u64).sum()
    }

    /// Appends values to the column at `position`, whose leaves are `leaves`.
    pub(crate) fn write(
        &mut self,
        position: usize,
        leaves: Range<usize>,
        field: &Field,
        values: &ArrayRef,
    ) -> ParquetResult<()> {
        if let [LeafWriter::Text(chunk)] = &mut self.leaves[leaves.clone()] {
            chunk.write(values)?;
        } else {
            let arrays = compute_leaves(field, values)?;
            for (leaf, array) in self.leaves[leaves].iter_mut().zip(&arrays) {
                match leaf {
                    LeafWriter::Other(writer, _) => writer.write(array)?,
                    LeafWriter::Text(_) => return Err(ParquetError::General("a nested text".to_owned())),
                }
            }
        }
        self.rows[position] += values.len() as u64;
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
        for leaf in self.leaves {
            match leaf {
                LeafWriter::Text(chunk) => chunk.append_to(target, sums)?,
                LeafWriter::Other(writer, pages) => {
                    ChunkPages::append(&pages, writer.close()?, target, sums)?;
                }
            }
        }
        Ok(rows)
    }
}
