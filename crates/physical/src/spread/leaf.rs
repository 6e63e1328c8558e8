//! What a plan reads: parts, rows that are in no part yet, and files outside.
//!
//! Invariant: a leaf of another kind is none. Must not know: who reads which share of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::{Result, Statistics, internal_err};
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use model::PartId;
use sources::ObjectScanExec;

use crate::provider::checked_file::ScannedPart;
use crate::provider::part_files::PART_STORE_URL;

/// See the module.
pub(super) enum Leaf<'a> {
    Parts(&'a FileScanConfig),
    Inline(&'a MemorySourceConfig),
    Files(&'a ObjectScanExec),
}

/// Bytes of a part that somebody reads: the row groups that begin there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartPiece {
    /// Which of the leaves that are shared, in the order of the plan.
    pub leaf: u32,
    pub part: PartId,
    pub begin: u64,
    pub end: u64,
}

impl<'a> Leaf<'a> {
    pub(super) fn of(plan: &'a dyn ExecutionPlan) -> Option<Leaf<'a>> {
        if let Some(scan) = plan.downcast_ref::<ObjectScanExec>() {
            return Some(Leaf::Files(scan));
        }
        let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
        if let Some(config) = source.downcast_ref::<FileScanConfig>() {
            return (config.object_store_url.as_str().starts_with(PART_STORE_URL))
                .then_some(Leaf::Parts(config));
        }
        source.downcast_ref::<MemorySourceConfig>().map(Leaf::Inline)
    }
}

/// The parts of a scan by their ids, each with the file that it is.
pub(super) fn parts_of(config: &FileScanConfig) -> BTreeMap<PartId, &PartitionedFile> {
    let files = config.file_groups.iter().flat_map(FileGroup::iter);
    files.filter_map(|file| Some((file.extension::<ScannedPart>()?.part.id, file))).collect()
}

/// Bytes that a scan of parts reads at most.
pub(super) fn bytes_of(config: &FileScanConfig) -> u64 {
    config.file_groups.iter().flat_map(FileGroup::iter).map(PartitionedFile::effective_size).sum()
}

/// Rows of its parts.
pub(super) fn rows_of(config: &FileScanConfig) -> u64 {
    let rows =
        |file: &&PartitionedFile| file.extension::<ScannedPart>().map_or(0, |scanned| scanned.part.rows);
    parts_of(config).values().map(rows).sum()
}

/// The same scan over some pieces of its parts, in so many groups.
///
/// # Errors
/// A piece is of no part that is scanned here, and is named.
pub(super) fn scan_of(
    config: &FileScanConfig,
    pieces: &[PartPiece],
    groups: usize,
) -> Result<Arc<dyn ExecutionPlan>> {
    let parts = parts_of(config);
    let mut filled: Vec<(u64, Vec<PartitionedFile>)> = vec![(0, Vec::new()); groups.max(1)];
    for piece in pieces {
        let Some(file) = parts.get(&piece.part) else {
            return internal_err!("part {} is not scanned by this plan", piece.part);
        };
        let range = |position: u64| i64::try_from(position).unwrap_or(i64::MAX);
        let mut file = PartitionedFile::clone(file);
        file.range = Some(FileRange { start: range(piece.begin), end: range(piece.end) });
        // Of the whole part.
        file.statistics = None;
        if let Some(least) = filled.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            least.0 += piece.end - piece.begin;
            least.1.push(file);
        }
    }
    let groups = filled.into_iter().map(|(_, files)| FileGroup::new(files)).collect();
    let schema = config.file_source.table_schema().table_schema();
    let config = FileScanConfigBuilder::from(config.clone())
        .with_file_groups(groups)
        .with_statistics(Statistics::new_unknown(schema))
        .build();
    Ok(DataSourceExec::from_data_source(config))
}
