//! What a statement's progress is measured against: files, bytes and rows of the units that it will read.
//!
//! Invariant: of Parquet the bytes are those of the columns that are read. Must not know: who shows it.

use std::collections::{BTreeMap, HashSet};

use futures::stream::{self, StreamExt, TryStreamExt};
use model::saturating::u64_of;
use stores::error::Result;

use super::{FOOTERS_AT_ONCE, ObjectTable};
use crate::tables::split::SourceUnit;

impl ObjectTable {
    /// Adds what these units will read to the statement's progress counters.
    pub async fn expect(&self, units: &[SourceUnit], projection: Option<&[usize]>) -> Result<()> {
        let files: HashSet<usize> = units.iter().map(|unit| unit.file).collect();
        let rows = units.iter().filter_map(|unit| unit.rows).sum();
        let whole = units.iter().filter(|unit| unit.row_groups.is_none()).map(|unit| unit.bytes);
        let bytes: u64 = whole.sum::<u64>() + self.projected_bytes(units, projection).await?;
        let files = u64_of(files.len());
        self.source.env.progress.add_expected(files, bytes, rows);
        Ok(())
    }

    /// Bytes of the columns of a projection in the row groups of these units. A footer is asked for once a file and
    /// several at a time: those of many wide files are more than are kept.
    async fn projected_bytes(&self, units: &[SourceUnit], projection: Option<&[usize]>) -> Result<u64> {
        let mut row_groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for unit in units {
            if let Some(of_unit) = &unit.row_groups {
                row_groups.entry(unit.file).or_default().extend(of_unit);
            }
        }
        let names: Option<HashSet<&str>> = projection
            .map(|positions| positions.iter().map(|at| self.schema.fields()[*at].name().as_str()).collect());
        let of_files: Vec<_> = row_groups
            .into_iter()
            .map(|(file, row_groups)| self.projected_bytes_of(file, row_groups, names.as_ref()))
            .collect();
        let of_files: Vec<u64> = stream::iter(of_files).buffered(FOOTERS_AT_ONCE).try_collect().await?;
        Ok(of_files.iter().sum())
    }

    async fn projected_bytes_of(
        &self,
        file: usize,
        row_groups: Vec<usize>,
        names: Option<&HashSet<&str>>,
    ) -> Result<u64> {
        let (_, footer) = self.footer_of(file).await?;
        let is_wanted = |name: &String| names.is_none_or(|names| names.contains(name.as_str()));
        let columns = row_groups.iter().flat_map(|i| footer.row_group(*i).columns());
        let wanted = columns.filter(|column| column.column_path().parts().first().is_some_and(is_wanted));
        Ok(wanted.map(|column| u64::try_from(column.compressed_size()).unwrap_or(0)).sum())
    }
}
