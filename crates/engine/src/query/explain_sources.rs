//! What EXPLAIN says of the sources of a statement: how arguments were read, which files, how they are cut, what the
//! filters leave out.
//!
//! Invariant: only what planning reads is read, which is footers, and the first bytes of some text files; no line holds a
//! credential. Must not know: how a source is scanned.

use std::sync::Arc;

use boundary::error::Error;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::DefaultTableSource;
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use model::ByteSize;
use sources::{ObjectTable, SourceUnit};

use crate::query::load_source::UNIT_BYTES;
use crate::query::select::PlannedQuery;

/// Of more files the footers are not read for an explanation alone.
const EXPLAINED_FILES_MAX: usize = 1000;

/// The lines of every source, in the order in which the statement names them; `optimized` is its plan after DataFusion's rules.
pub(crate) async fn source_lines(
    planned: &PlannedQuery,
    optimized: &LogicalPlan,
) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for (source, title) in planned.sources.iter().zip(&planned.titles) {
        let (files, bytes) = (source.files().len(), ByteSize(source.bytes()));
        lines.push(format!("Source: {files} file(s), {bytes}, format {}", source.format().name()));
        lines.push(format!("  {title}"));
        lines.extend(source.notes().iter().map(|note| format!("  {note}")));
        if files > EXPLAINED_FILES_MAX {
            lines.push(format!("  units are not counted for more than {EXPLAINED_FILES_MAX} files"));
            continue;
        }
        let units = source.units(UNIT_BYTES).await?;
        lines.extend(source.compression_notes().await?.iter().map(|note| format!("  {note}")));
        lines.push(format!("  {}", cut_of(&units)));
        lines.extend(filter_lines(planned, optimized, source, &units).await?);
    }
    Ok(lines)
}

/// Units of a source in words: `4 unit(s), 12 row group(s)`.
fn cut_of(units: &[SourceUnit]) -> String {
    let row_groups: usize = units.iter().filter_map(|unit| unit.row_groups.as_ref()).map(Vec::len).sum();
    match units.iter().any(|unit| unit.row_groups.is_some()) {
        true => format!("{} unit(s), {row_groups} row group(s)", units.len()),
        false => format!("{} unit(s)", units.len()),
    }
}

/// What each filter of the source leaves to be read, by itself; nothing where there are none.
async fn filter_lines(
    planned: &PlannedQuery,
    optimized: &LogicalPlan,
    source: &Arc<ObjectTable>,
    units: &[SourceUnit],
) -> Result<Vec<String>, Error> {
    let schema = DFSchema::try_from(source.schema())?;
    let mut lines = Vec::new();
    for filter in filters_of(optimized, source)? {
        let text = filter.to_string();
        let shown = sql::display_name(&text);
        let physical: Arc<dyn PhysicalExpr> = match planned.state.create_physical_expr(filter, &schema) {
            Ok(physical) => physical,
            // It is evaluated above the source.
            Err(_) => continue,
        };
        let kept = source.units_matching(UNIT_BYTES, &[physical]).await?;
        lines.push(format!("  filter {shown} leaves {} of {}", kept_of(&kept), cut_of(units)));
    }
    Ok(lines)
}

fn kept_of(kept: &[SourceUnit]) -> String {
    let files: std::collections::BTreeSet<usize> = kept.iter().map(|unit| unit.file).collect();
    format!("{} file(s), {}", files.len(), cut_of(kept))
}

/// Filters that were pushed to the scans of a source, over its own columns.
fn filters_of(plan: &LogicalPlan, source: &Arc<ObjectTable>) -> Result<Vec<Expr>, Error> {
    let mut filters = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Some(provider) = scan.source.downcast_ref::<DefaultTableSource>()
            && std::ptr::addr_eq(Arc::as_ptr(&provider.table_provider), Arc::as_ptr(source))
        {
            filters.extend(scan.filters.iter().cloned().map(unnormalize_col));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(filters)
}
