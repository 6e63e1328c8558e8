//! Rows of a row group that cannot match, by the bounds of its pages.
//!
//! Pure. Invariant: a row is left out only if the page index proves that no filter needs it. Only filters over columns
//! whose values are read exactly as they are stored count. Must not know: stores.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::datasource::physical_plan::ParquetFileMetrics;
use datafusion::datasource::physical_plan::parquet::{
    PagePruningAccessPlanFilter, ParquetAccessPlan, RowGroupAccess,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use model::type_arrow::from_field;
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::ParquetMetaData;

/// Whether a footer points at a page index.
pub(crate) fn has_page_index(footer: &ParquetMetaData) -> bool {
    footer
        .row_groups()
        .iter()
        .flat_map(|group| group.columns())
        .any(|column| column.column_index_offset().is_some())
}

/// The filters in terms of the file; filters that need more than its pages' bounds are left out.
pub(crate) fn usable(
    filters: &[Arc<dyn PhysicalExpr>],
    table: &SchemaRef,
    decoded: &SchemaRef,
) -> Vec<Arc<dyn PhysicalExpr>> {
    let stored_as_read = |name: &str| {
        let (Ok(wanted), Ok(stored)) = (table.field_with_name(name), decoded.field_with_name(name)) else {
            return false;
        };
        // Wide integers lie in files with their lowest byte first, and so do the bounds.
        let turned = from_field(wanted).is_wide_integer();
        !turned && wanted.data_type() == stored.data_type() && (wanted.is_nullable() || !stored.is_nullable())
    };
    filters
        .iter()
        .filter(|filter| collect_columns(filter).iter().all(|column| stored_as_read(column.name())))
        .filter_map(|filter| reassign_expr_columns(Arc::clone(filter), decoded).ok())
        .collect()
}

/// Rows to read of the row groups that are not read whole; a row group without an entry is.
pub(crate) fn selections(
    footer: &ParquetMetaData,
    decoded: &SchemaRef,
    filters: &[Arc<dyn PhysicalExpr>],
    row_groups: &[usize],
) -> HashMap<usize, RowSelection> {
    let mut plan = ParquetAccessPlan::new_none(footer.num_row_groups());
    row_groups.iter().for_each(|row_group| plan.scan(*row_group));
    let schema = footer.file_metadata().schema_descr();
    let metrics = ParquetFileMetrics::new(0, "", &ExecutionPlanMetricsSet::new());
    for filter in filters {
        let pages = PagePruningAccessPlanFilter::new(filter, Arc::clone(decoded));
        plan = pages.prune_plan_with_page_index(plan, decoded, schema, footer, &metrics);
    }
    let rows_of = |access: RowGroupAccess| match access {
        RowGroupAccess::Selection(rows) => Some(rows),
        RowGroupAccess::Skip => Some(RowSelection::default()),
        RowGroupAccess::Scan => None,
    };
    let chosen = plan.into_inner().into_iter().enumerate().filter(|(i, _)| row_groups.contains(i));
    chosen.filter_map(|(i, access)| Some((i, rows_of(access)?))).collect()
}
