//! Parts as DataFusion's file groups: the only bridge from a part to a DataFusion scan.
//!
//! Invariant: every row of every given part is read exactly once. Must not know: which parts to read, or why.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use chrono::DateTime;
use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use model::PartDescriptor;
use model::table_def::column_id_of;
use object_store::ObjectMeta;
use object_store::path::Path;
use parts::UnpackedPages;

use super::part_reader::PartReaderFactory;

/// The name under which the store that holds a database's parts is registered with DataFusion.
pub(crate) const PART_STORE_URL: &str = "gristmill-parts://local";

/// Bytes at the end of a part read in one go, so that footer and page index come with the first request.
const FOOTER_BYTES_HINT: usize = 512 * 1024;

/// What to read of the parts.
pub(crate) struct PartScan<'a> {
    pub schema: SchemaRef,
    pub parts: &'a [Arc<PartDescriptor>],
    pub projection: Option<&'a Vec<usize>>,
    pub predicate: Option<Arc<dyn PhysicalExpr>>,
    pub limit: Option<usize>,
}

/// A scan over the parts; one file group a partition, balanced by bytes. DataFusion cuts groups further by row group.
pub(crate) fn scan_parts(state: &dyn Session, scan: PartScan<'_>) -> Result<Arc<dyn ExecutionPlan>> {
    let url = ObjectStoreUrl::parse(PART_STORE_URL)?;
    let runtime = state.runtime_env();
    let store = runtime.object_store(&url)?;
    let mut readers = PartReaderFactory::new(store, runtime.cache_manager.get_file_metadata_cache());
    if let Some(unpacked) = state.config().get_extension::<UnpackedPages>() {
        readers = readers.with_unpacked(unpacked, columns_read(&scan));
    }
    let mut source = ParquetSource::new(Arc::clone(&scan.schema))
        .with_table_parquet_options(state.default_table_options().parquet)
        .with_parquet_file_reader_factory(Arc::new(readers))
        .with_metadata_size_hint(FOOTER_BYTES_HINT)
        .with_enable_page_index(true)
        .with_pushdown_filters(filters_first(&scan));
    if let Some(predicate) = scan.predicate
        && !may_meet_nan(&predicate, scan.parts, &scan.schema)
    {
        source = source.with_predicate(predicate);
    }
    let partitions = state.config_options().execution.target_partitions;
    let config = FileScanConfigBuilder::new(url, Arc::new(source))
        .with_file_groups(file_groups(scan.parts, &scan.schema, partitions))
        .with_statistics(statistics(scan.parts, &scan.schema))
        .with_projection_indices(scan.projection.cloned())?
        .with_limit(scan.limit)
        .build();
    Ok(DataSourceExec::from_data_source(config))
}

/// Whether the filter shall run while decoding, so that the other columns are decoded for the rows it keeps only.
///
/// Measured on a table of 105 columns and on TPC-H: skipping rows of numbers costs more than decoding them, so it is
/// worth it for texts (and nested values) alone, and only if there are more of them behind the filter than in it.
fn filters_first(scan: &PartScan<'_>) -> bool {
    let Some(predicate) = &scan.predicate else { return false };
    let is_long = |position: usize| {
        scan.schema.fields().get(position).is_some_and(|field| {
            let data_type = field.data_type();
            data_type.is_nested() || matches!(data_type, DataType::Utf8View | DataType::BinaryView)
        })
    };
    let filter: HashSet<usize> = collect_columns(predicate).iter().map(Column::index).collect();
    let all = 0..scan.schema.fields().len();
    let read: Vec<usize> = scan.projection.cloned().unwrap_or_else(|| all.collect());
    let behind = read.into_iter().filter(|position| !filter.contains(position) && is_long(*position)).count();
    behind > filter.iter().filter(|position| is_long(**position)).count()
}

/// The names of the columns that are given or compared.
fn columns_read(scan: &PartScan<'_>) -> HashSet<String> {
    let fields = scan.schema.fields();
    let given = scan.projection.cloned().unwrap_or_else(|| (0..fields.len()).collect());
    let compared = scan.predicate.iter().flat_map(collect_columns).map(|column| column.index());
    given.into_iter().chain(compared).filter_map(|at| Some(fields.get(at)?.name().clone())).collect()
}

/// Whether the predicate is about a column of floating point numbers in which some part has NaN. Statistics inside a
/// Parquet file leave NaN out, so they prove nothing about such rows; our own bounds are absent for such a column.
fn may_meet_nan(
    predicate: &Arc<dyn PhysicalExpr>,
    parts: &[Arc<PartDescriptor>],
    schema: &SchemaRef,
) -> bool {
    collect_columns(predicate).into_iter().any(|column| {
        let Some(field) = schema.fields().get(column.index()) else { return true };
        let unbounded = |part: &Arc<PartDescriptor>| {
            column_id_of(field).is_none_or(|id| part.bounds_of(id).is_none_or(|bounds| bounds.max.is_none()))
        };
        field.data_type().is_floating() && parts.iter().any(unbounded)
    })
}

/// Largest parts first, each to the group with the fewest bytes.
fn file_groups(parts: &[Arc<PartDescriptor>], schema: &SchemaRef, groups: usize) -> Vec<FileGroup> {
    let mut order: Vec<&Arc<PartDescriptor>> = parts.iter().collect();
    order.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let count = groups.clamp(1, parts.len().max(1));
    let mut filled: Vec<(u64, Vec<PartitionedFile>)> = vec![(0, Vec::new()); count];
    for part in order {
        if let Some(least) = filled.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            least.0 += part.bytes;
            least.1.push(part_file(part, schema));
        }
    }
    filled.into_iter().map(|(_, files)| FileGroup::new(files)).collect()
}

/// Where the store of parts has it, and by which its footer is kept.
pub(crate) fn part_path(part: &PartDescriptor) -> Path {
    Path::from(part.location.key.as_ref())
}

fn part_file(part: &PartDescriptor, schema: &SchemaRef) -> PartitionedFile {
    let created = i64::try_from(part.created_ms).ok().and_then(DateTime::from_timestamp_millis);
    let meta = ObjectMeta {
        location: part_path(part),
        last_modified: created.unwrap_or_default(),
        size: part.bytes,
        e_tag: None,
        version: None,
    };
    PartitionedFile::new_from_meta(meta)
        .with_statistics(Arc::new(statistics(std::slice::from_ref(&Arc::new(part.clone())), schema)))
}

/// Exact row counts let `count()` be answered without a read.
fn statistics(parts: &[Arc<PartDescriptor>], schema: &SchemaRef) -> Statistics {
    let rows: u64 = parts.iter().map(|part| part.rows).sum();
    let bytes: u64 = parts.iter().map(|part| part.bytes_uncompressed).sum();
    let exact = |number: u64| usize::try_from(number).map_or(Precision::Absent, Precision::Exact);
    let mut statistics = Statistics::new_unknown(schema);
    statistics.num_rows = exact(rows);
    statistics.total_byte_size = exact(bytes).to_inexact();
    statistics
}
