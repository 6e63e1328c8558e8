//! Parts as DataFusion's file groups: the only bridge from a part to a DataFusion scan.
//!
//! Invariant: every row of every given part is read exactly once. Must not know: which parts to read, or why.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, SchemaRef};
use chrono::DateTime;
use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::split_conjunction;
use datafusion::physical_expr::utils::{collect_columns, conjunction_opt};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use model::table_def::column_id_of;
use model::{PartDescriptor, TableDef, Value};
use object_store::ObjectMeta;
use parts::UnpackedPages;

use super::checked_file::{PartChecks, ScannedPart, part_path};
use super::mask_node::{Masking, cannot_fail, provenance};
use super::masks::MaskedParts;
use super::part_reader::PartReaderFactory;
use super::unpruned::Unpruned;
use crate::unary::Unary;

/// The name under which the store that holds a database's parts is registered with DataFusion.
pub const PART_STORE_URL: &str = "gristmill-parts://local";

/// Bytes at the end of a part read in one go, so that footer and page index come with the first request.
const FOOTER_BYTES_HINT: usize = 512 * 1024;

/// What to read of the parts.
pub(crate) struct PartScan<'a> {
    /// The table as it is now.
    pub def: &'a TableDef,
    pub schema: SchemaRef,
    pub parts: &'a [Arc<PartDescriptor>],
    pub projection: Option<&'a Vec<usize>>,
    pub predicate: Option<Arc<dyn PhysicalExpr>>,
    pub limit: Option<usize>,
    /// In one group, in the order given.
    pub in_order: bool,
    /// Rows that are not shown are left out, if there are any.
    pub masked: Option<&'a MaskedParts>,
    /// Behind the columns come, of each row, the place of its part among the parts, and its number there.
    pub is_numbered: bool,
}

impl PartScan<'_> {
    /// Whether rows are read with their numbers, be it for a mask alone.
    fn has_numbers(&self) -> bool {
        self.is_numbered || self.masked.is_some()
    }
}

/// A scan over the parts; one file group a partition, balanced by bytes. DataFusion cuts groups further by row group.
pub(crate) fn scan_parts(state: &dyn Session, scan: PartScan<'_>) -> Result<Arc<dyn ExecutionPlan>> {
    let url = ObjectStoreUrl::parse(PART_STORE_URL)?;
    let runtime = state.runtime_env();
    let store = runtime.object_store(&url)?;
    let Some(checks) = state.config().get_extension::<PartChecks>() else {
        return internal_err!("parts are scanned in a session without a store of parts");
    };
    let footers = runtime.cache_manager.get_file_metadata_cache();
    let groups = file_groups(&scan, state.config_options().execution.target_partitions);
    let mut readers = PartReaderFactory::new(store, footers, checks)
        .in_order(&groups, scan.predicate.is_none() && scan.limit.is_none());
    if let Some(unpacked) = state.config().get_extension::<UnpackedPages>() {
        readers = readers.with_unpacked(unpacked, columns_read(&scan));
    }
    let mut columns = TableSchema::builder(Arc::clone(&scan.schema));
    if scan.has_numbers() {
        let (part, number) = provenance(&scan.schema);
        columns = columns.with_table_partition_cols(vec![part]).with_virtual_columns(vec![number]);
    }
    let mut source = ParquetSource::new(columns.build())
        .with_table_parquet_options(state.default_table_options().parquet)
        .with_parquet_file_reader_factory(Arc::new(readers))
        .with_metadata_size_hint(FOOTER_BYTES_HINT)
        .with_enable_page_index(true)
        .with_pushdown_filters(filters_first(&scan));
    if let Some(predicate) = without_nans(&scan) {
        source = source.with_predicate(predicate);
    }
    let builder = FileScanConfigBuilder::new(url, Arc::new(source)).with_file_groups(groups);
    if !scan.has_numbers() {
        let config = builder
            .with_statistics(statistics(scan.parts, &scan.schema, &exact_columns(&scan)))
            .with_projection_indices(scan.projection.cloned())?
            .with_limit(scan.limit)
            .build();
        return guarded(DataSourceExec::from_data_source(config), &scan);
    }
    // A limit counts rows that are shown, and nobody knows the bounds of those.
    let all = scan.schema.fields().len();
    let given: Vec<usize> = scan.projection.cloned().unwrap_or_else(|| (0..all).collect());
    let read = given.iter().copied().chain([all, all + 1]).collect();
    let numbered = DataSourceExec::from_data_source(builder.with_projection_indices(Some(read))?.build());
    let numbered = guarded(numbered, &scan)?;
    let Some(masked) = scan.masked else { return Ok(numbered) };
    let step = Masking {
        masks: Arc::clone(&masked.masks),
        places: Arc::new(masked.places_of(scan.parts)?),
        schema: match scan.is_numbered {
            true => numbered.schema(),
            false => Arc::new(scan.schema.project(&given)?),
        },
        reads_all: scan.predicate.is_none(),
    };
    Unary::over(numbered, step)
}

/// Whether the filter shall run while decoding, so that the other columns are decoded for the rows it keeps only.
///
/// Measured on a table of 105 columns and on TPC-H: skipping rows of numbers costs more than decoding them, so it is
/// worth it for texts (and nested values) alone, and only if there are more of them behind the filter than in it.
fn filters_first(scan: &PartScan<'_>) -> bool {
    let Some(predicate) = &scan.predicate else { return false };
    if scan.masked.is_some() && !cannot_fail(predicate) {
        // Rows that are not shown would be asked, too.
        return false;
    }
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

/// Whether some part may have NaN in a column. Statistics inside a Parquet file leave NaN out, so they prove nothing about such
/// rows; our own bounds are absent for such a column.
fn may_have_nan(position: usize, scan: &PartScan<'_>) -> bool {
    let Some(field) = scan.schema.fields().get(position) else { return true };
    let unbounded = |part: &Arc<PartDescriptor>| {
        column_id_of(field).is_none_or(|id| part.bounds_of(id).is_none_or(|bounds| bounds.max.is_none()))
    };
    field.data_type().is_floating() && scan.parts.iter().any(unbounded)
}

/// What of the predicate is about other columns than those that may have NaN.
fn without_nans(scan: &PartScan<'_>) -> Option<Arc<dyn PhysicalExpr>> {
    let parts = split_conjunction(scan.predicate.as_ref()?).into_iter();
    let sound = |part: &&Arc<dyn PhysicalExpr>| {
        collect_columns(part).iter().all(|column| !may_have_nan(column.index(), scan))
    };
    conjunction_opt(parts.filter(sound).cloned())
}

/// The scan, out of reach for conditions of nodes above where they might be about a column that may have NaN.
fn guarded(files: Arc<dyn ExecutionPlan>, scan: &PartScan<'_>) -> Result<Arc<dyn ExecutionPlan>> {
    let all = 0..scan.schema.fields().len();
    let given = scan.projection.cloned().unwrap_or_else(|| all.collect());
    match given.into_iter().any(|position| may_have_nan(position, scan)) {
        true => Unary::over(files, Unpruned),
        false => Ok(files),
    }
}

/// Largest parts first, each to the group with the fewest bytes.
fn file_groups(scan: &PartScan<'_>, groups: usize) -> Vec<FileGroup> {
    let parts = scan.parts;
    let file = |at: usize, part: &Arc<PartDescriptor>| part_file(part, scan, at);
    if scan.in_order {
        let files = parts.iter().enumerate().map(|(at, part)| file(at, part)).collect::<Vec<_>>();
        return vec![FileGroup::new(files)];
    }
    let mut order: Vec<(usize, &Arc<PartDescriptor>)> = parts.iter().enumerate().collect();
    order.sort_by_key(|(_, part)| std::cmp::Reverse(part.bytes));
    let count = groups.clamp(1, parts.len().max(1));
    let mut filled: Vec<(u64, Vec<PartitionedFile>)> = vec![(0, Vec::new()); count];
    for (at, part) in order {
        if let Some(least) = filled.iter_mut().min_by_key(|(bytes, _)| *bytes) {
            least.0 += part.bytes;
            least.1.push(file(at, part));
        }
    }
    filled.into_iter().map(|(_, files)| FileGroup::new(files)).collect()
}

/// `at`: its place among the parts of the scan.
fn part_file(part: &Arc<PartDescriptor>, scan: &PartScan<'_>, at: usize) -> PartitionedFile {
    let created = i64::try_from(part.created_ms).ok().and_then(DateTime::from_timestamp_millis);
    let meta = ObjectMeta {
        location: part_path(part),
        last_modified: created.unwrap_or_default(),
        size: part.bytes,
        e_tag: None,
        version: None,
    };
    let scanned = ScannedPart {
        part: Arc::clone(part),
        table: Arc::clone(&scan.def.name),
        version: scan.def.schema_version,
    };
    let file = PartitionedFile::new_from_meta(meta).with_extension(scanned);
    if scan.has_numbers() {
        return file.with_partition_values(vec![ScalarValue::UInt32(u32::try_from(at).ok())]);
    }
    // Bounds of one file would be taken for its values where they are equal: as literals without what the field says of its type.
    file.with_statistics(Arc::new(statistics(std::slice::from_ref(part), &scan.schema, &[])))
}

/// The columns whose bounds are the least and the greatest value of the rows: numbers and times, not texts, whose bounds
/// are cut. Only of those that are read is it certain that all parts have them in today's type.
fn exact_columns(scan: &PartScan<'_>) -> Vec<usize> {
    // With a filter or a limit there are other rows.
    if scan.predicate.is_some() || scan.limit.is_some() {
        return Vec::new();
    }
    let is_exact = |position: &usize| {
        let data_type = scan.schema.fields().get(*position).map(|field| field.data_type());
        data_type.is_some_and(|data_type| data_type.is_integer() || data_type.is_temporal())
    };
    scan.projection.iter().flat_map(|read| read.iter().copied()).filter(is_exact).collect()
}

/// Exact row counts let `count()` be answered without a read, exact bounds `min()` and `max()`.
fn statistics(parts: &[Arc<PartDescriptor>], schema: &SchemaRef, exact: &[usize]) -> Statistics {
    let rows: u64 = parts.iter().map(|part| part.rows).sum();
    let bytes: u64 = parts.iter().map(|part| part.bytes_uncompressed).sum();
    let mut statistics = Statistics::new_unknown(schema);
    statistics.num_rows = exactly(rows);
    statistics.total_byte_size = exactly(bytes).to_inexact();
    for position in exact {
        if let (Some(field), Some(column)) =
            (schema.fields().get(*position), statistics.column_statistics.get_mut(*position))
        {
            *column = column_statistics(parts, field).unwrap_or_default();
        }
    }
    statistics
}

fn exactly(number: u64) -> Precision<usize> {
    usize::try_from(number).map_or(Precision::Absent, Precision::Exact)
}

/// `None` where some part does not say.
fn column_statistics(parts: &[Arc<PartDescriptor>], field: &Field) -> Option<ColumnStatistics> {
    let id = column_id_of(field)?;
    let (mut min, mut max, mut nulls): (Option<&Value>, Option<&Value>, u64) = (None, None, 0);
    for part in parts {
        let bounds = part.bounds_of(id)?;
        nulls += bounds.nulls?;
        if bounds.nulls == Some(part.rows) {
            continue;
        }
        let (least, greatest) = (bounds.min.as_ref()?, bounds.max.as_ref()?);
        min = min.filter(|min| min.order(least).is_le()).or(Some(least));
        max = max.filter(|max| max.order(greatest).is_ge()).or(Some(greatest));
    }
    let scalar = |value: Option<&Value>| -> Option<Precision<ScalarValue>> {
        let array = value?.to_array(field.data_type()).ok()?;
        ScalarValue::try_from_array(&array, 0).ok().map(Precision::Exact)
    };
    Some(ColumnStatistics {
        null_count: exactly(nulls),
        min_value: scalar(min)?,
        max_value: scalar(max)?,
        ..ColumnStatistics::default()
    })
}
