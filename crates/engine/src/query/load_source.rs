//! A SELECT that only projects one source: which one it is, and how it is read unit by unit.
//!
//! Invariant: the rows of such a SELECT are those of its source, one by one; each unit is read once, by whichever sink is
//! free. Must not know: where the rows go.

use std::sync::Arc;

use boundary::error::Error;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::{DefaultTableSource, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlan};
use load::{LoadPlan, Unit};
use model::UnitId;
use physical::nodes::unit_table::UnitTable;
use sources::{ObjectTable, SourceUnit};

use crate::query::select::PlannedQuery;

/// Uncompressed bytes of one unit of a load: a second or so of work.
pub(crate) const UNIT_BYTES: u64 = 128 << 20;

/// The source, if the rows of the plan are its rows.
pub(crate) fn plain_source(planned: &PlannedQuery) -> Option<Arc<ObjectTable>> {
    match planned.sources.as_slice() {
        [source] if only_projects(&planned.logical, source) => Some(Arc::clone(source)),
        _ => None,
    }
}

/// [`plain_source`], if also every stream of it stays for itself: subqueries of expressions become joins, which mix them.
pub(crate) fn resumable_source(planned: &PlannedQuery) -> Result<Option<Arc<ObjectTable>>, Error> {
    let is_subquery = |expression: &Expr| {
        use Expr::{Exists, InSubquery, ScalarSubquery, SetComparison};
        Ok(matches!(expression, Exists(_) | InSubquery(_) | ScalarSubquery(_) | SetComparison(_)))
    };
    let mixes = planned.logical.exists(|node| {
        let mut any = false;
        for expression in node.expressions() {
            any |= expression.exists(is_subquery)?;
        }
        Ok(any)
    })?;
    Ok(plain_source(planned).filter(|_| !mixes))
}

/// Reads a SELECT that only projects one source unit by unit; any other stays as it is.
pub(crate) async fn read_by_units(planned: &mut PlannedQuery, sinks: usize) -> Result<(), Error> {
    let Some(source) = plain_source(planned) else { return Ok(()) };
    let units = source.shared_units(UNIT_BYTES).await?;
    source.expect(&units, None).await?;
    let plan = LoadPlan::new(units.iter().enumerate().map(unit_of).collect());
    read_instead(planned, UnitTable::new(source, units, &plan, sinks))
}

/// Puts a table of units in the place of the source.
pub(crate) fn read_instead(planned: &mut PlannedQuery, table: UnitTable) -> Result<(), Error> {
    let table = Arc::new(table);
    let replaced = planned.logical.clone().transform_up(|node| match node {
        LogicalPlan::TableScan(mut scan) if scan.source.downcast_ref::<DefaultTableSource>().is_some() => {
            scan.source = provider_as_source(Arc::clone(&table) as _);
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    planned.logical = replaced.data;
    Ok(())
}

/// A source's unit as the load plan numbers it.
pub(crate) fn unit_of((id, unit): (usize, &SourceUnit)) -> Unit {
    let as_u32 = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Unit { id: UnitId(as_u32(id)), file: as_u32(unit.file), bytes: unit.bytes, rows: unit.rows }
}

/// Whether the rows of `plan` are those of `source`, one by one. A statement may name a source and read something else:
/// in a subquery of an expression, or in a CTE that nobody uses.
fn only_projects(plan: &LogicalPlan, source: &Arc<ObjectTable>) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => only_projects(&projection.input, source),
        LogicalPlan::SubqueryAlias(alias) => only_projects(&alias.input, source),
        LogicalPlan::TableScan(scan) => {
            let provider = scan.source.downcast_ref::<DefaultTableSource>();
            let is_source = provider.is_some_and(|provider| {
                std::ptr::addr_eq(Arc::as_ptr(&provider.table_provider), Arc::as_ptr(source))
            });
            is_source && scan.filters.is_empty() && scan.fetch.is_none()
        }
        _ => false,
    }
}
