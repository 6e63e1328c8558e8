//! What a table's files are cut into, to be read one by one.
//!
//! Invariant: all units of a listing together are its rows, each once; a unit that is left out has no row that a filter wants.
//! Must not know: who reads them.

use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use formats::FormatKind;
use futures::stream::{self, StreamExt, TryStreamExt};
use stores::error::Result;

use super::{FOOTERS_AT_ONCE, ObjectTable};
use crate::parquet::bloom;
use crate::parquet::prune::RowGroupFilter;
use crate::tables::split::{Cuttable, SourceUnit, cut, share};

impl ObjectTable {
    /// Units of about `target_bytes`, in order, for one statement: large text files come in shares.
    pub async fn shared_units(&self, target_bytes: u64) -> Result<Vec<SourceUnit>> {
        Ok(self.shared(self.units(target_bytes).await?, None))
    }

    /// The same units with large text files in shares, which are good for one reading.
    pub(crate) fn shared(&self, units: Vec<SourceUnit>, projection: Option<&[usize]>) -> Vec<SourceUnit> {
        match self.counts_rows(projection) {
            true => units,
            false => share(units, self.source.format, &self.source.env.settings),
        }
    }

    /// Units of about `target_bytes`, in order. They mean the same rows whenever they are read.
    pub async fn units(&self, target_bytes: u64) -> Result<Vec<SourceUnit>> {
        let all: Vec<usize> = (0..self.source.files.len()).collect();
        self.units_of(&all, target_bytes, &[]).await
    }

    /// Units that may hold rows for which every filter (over [`Self::schema`]) is true.
    pub async fn units_matching(
        &self,
        target_bytes: u64,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Result<Vec<SourceUnit>> {
        let files = self.files_matching(filters)?;
        self.units_of(&files, target_bytes, filters).await
    }

    pub(crate) async fn units_of(
        &self,
        files: &[usize],
        target_bytes: u64,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Result<Vec<SourceUnit>> {
        let filters = self.row_group_filters(filters);
        let cuttable: Vec<_> = files.iter().map(|file| self.cuttable(*file, &filters)).collect();
        let cuttable: Vec<Cuttable> = stream::iter(cuttable).buffered(FOOTERS_AT_ONCE).try_collect().await?;
        Ok(cut(&cuttable, target_bytes))
    }

    async fn cuttable(&self, file: usize, filters: &[RowGroupFilter]) -> Result<Cuttable> {
        let bytes = self.source.files[file].bytes;
        if self.source.format != FormatKind::Parquet {
            return Ok(Cuttable { file, bytes, row_groups: None });
        }
        let (reader, footer) = self.footer_of(file).await?;
        let all: Vec<usize> = (0..footer.num_row_groups()).collect();
        let path = &reader.file.path;
        let mut kept = filters.iter().fold(all, |kept, filter| filter.keep(&footer, path, kept));
        if self.source.env.settings.parquet_bloom_filters {
            kept = bloom::keep(&self.source.env, &reader, &footer, filters, kept).await?;
        }
        Ok(Cuttable { file, bytes, row_groups: Some((footer, kept)) })
    }
}
