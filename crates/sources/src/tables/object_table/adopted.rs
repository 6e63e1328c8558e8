//! Row groups of a table's Parquet files, for those that copy column chunks instead of decoding rows.
//!
//! Invariant: the file is the one that was listed, in its version. Must not know: which chunks are worth copying.

use std::sync::Arc;

use parquet::file::metadata::ParquetMetaData;
use stores::error::Result;

use super::ObjectTable;
use crate::parquet::adopt::chunks::{self, ArrivingChunks, ChunksRead};
use formats::FormatKind;

impl ObjectTable {
    /// The footer of a Parquet file, by its position in [`ObjectTable::files`]; `None` of another format.
    ///
    /// # Errors
    /// The file cannot be read, or is no Parquet file.
    pub async fn footer(&self, file: usize) -> Result<Option<Arc<ParquetMetaData>>> {
        if self.source.format != FormatKind::Parquet {
            return Ok(None);
        }
        let footers = self.source.env.schema_cache.footers();
        Ok(Some(footers.load(&self.reader(file)?).await?))
    }

    /// The leaf of a file with this footer whose values are those of a column of [`ObjectTable::schema`], as the file stores them.
    /// `None` if they come from elsewhere, or from more than one leaf.
    pub fn stored_leaf(&self, footer: &ParquetMetaData, column: &str) -> Option<usize> {
        if !self.is_stored(column) {
            return None;
        }
        let descriptor = footer.file_metadata().schema_descr();
        let roots = descriptor.root_schema().get_fields();
        let mut named = roots.iter().enumerate().filter(|(_, root)| root.name() == column);
        let (root, field) = named.next()?;
        // Of equal names the first counts, which is not for a copy to decide.
        if named.next().is_some() || !field.is_primitive() {
            return None;
        }
        (0..descriptor.num_columns()).find(|leaf| descriptor.get_column_root_idx(*leaf) == root)
    }

    /// Asks for the stored chunks of some columns, counted as the file's leaves are, of one row group; `None` if there is no memory
    /// for them. `footer` is the file's.
    ///
    /// # Errors
    /// The file has no such row group.
    pub fn row_group_chunks(
        &self,
        (file, footer): (usize, Arc<ParquetMetaData>),
        row_group: usize,
        leaves: Vec<usize>,
    ) -> Result<Option<ArrivingChunks>> {
        let (reader, memory) = (self.reader(file)?, self.source.env.memory.clone());
        chunks::fetch(ChunksRead { reader, footer, row_group, leaves, memory })
    }

    /// Counts rows whose chunks were copied as read.
    pub fn count_copied(&self, rows: usize) {
        self.source.env.progress.add_rows(rows);
    }

    /// Counts a file as read that was read row group by row group.
    pub fn count_file_done(&self) {
        self.source.env.progress.add_file_done();
    }
}
