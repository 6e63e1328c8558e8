//! The analyzer rule that keeps conditions above what is computed of the rows around: `neighbor(x, 1)`,
//! `runningDifference(x)`, `rowNumberInBlock()` and their kin.
//!
//! DataFusion moves a condition on other columns below them, and then they see rows that the query asked of nobody. As in ClickHouse
//! they see the rows that ORDER BY has put in order, where it does not ask for them itself, and of these only the ones that LIMIT
//! leaves. Invariant: rows, columns and their names stay as they are. Must not know: how such a function is computed.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, Filter, Limit, LogicalPlan, Projection, Sort, SortExpr};
use datafusion::optimizer::AnalyzerRule;

use crate::nodes::Apart;

/// The functions whose value depends on which rows stand around.
const OF_BLOCKS: [&str; 6] = [
    "neighbor",
    "runningDifference",
    "runningDifferenceStartingWithFirstValue",
    "runningAccumulate",
    "rowNumberInBlock",
    "blockSize",
];

/// See the module. Runs when every expression has its type.
#[derive(Debug)]
pub(crate) struct WholeBlocks;

impl AnalyzerRule for WholeBlocks {
    fn name(&self) -> &str {
        "whole_blocks"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_up_with_subqueries(sorted_first)?.data;
        let node = |node: LogicalPlan| match &node {
            LogicalPlan::Projection(projection) if sees_blocks(&projection.expr)? => {
                Apart::stopping(node).map(Transformed::yes)
            }
            // A condition that sees them stays above the sort that says which they are.
            LogicalPlan::Filter(filter) if sees_blocks(std::slice::from_ref(&filter.predicate))? => {
                let input = Apart::stopping(filter.input.as_ref().clone())?;
                Filter::try_new(filter.predicate.clone(), Arc::new(input))
                    .map(|filter| Transformed::yes(LogicalPlan::Filter(filter)))
            }
            _ => Ok(Transformed::no(node)),
        };
        Ok(plan.transform_up_with_subqueries(node)?.data)
    }
}

/// A sort of what sees the rows around, with one before these are looked at; of the rows that a limit above leaves.
fn sorted_first(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let changed = match &plan {
        LogicalPlan::Sort(sort) => match sort.input.as_ref() {
            LogicalPlan::Projection(projection) if sees_blocks(&projection.expr)? => {
                over_sorted(sort, projection)?
            }
            _ => None,
        },
        LogicalPlan::Limit(limit) => limited(limit)?,
        _ => None,
    };
    Ok(changed.map_or_else(|| Transformed::no(plan), Transformed::yes))
}

/// The sort over a projection of rows that are sorted; `None` where the keys depend on which rows stand around.
fn over_sorted(sort: &Sort, seeing: &Projection) -> Result<Option<LogicalPlan>> {
    let Some(keys) = keys_before(sort, seeing)? else { return Ok(None) };
    let sorted = Sort { expr: keys, input: Arc::clone(&seeing.input), fetch: sort.fetch };
    let (exprs, schema) = (seeing.expr.clone(), Arc::clone(&seeing.schema));
    let seeing = Projection::try_new_with_schema(exprs, Arc::new(LogicalPlan::Sort(sorted)), schema)?;
    // The sort above says that the rows of the answer stay in that order.
    let input = Arc::new(LogicalPlan::Projection(seeing));
    Ok(Some(LogicalPlan::Sort(Sort { expr: sort.expr.clone(), input, fetch: sort.fetch })))
}

/// A limit of what [`over_sorted`] made goes below it: rows that it leaves out are not looked at.
fn limited(limit: &Limit) -> Result<Option<LogicalPlan>> {
    // What only the order needs is left out above.
    if let LogicalPlan::Projection(shown) = limit.input.as_ref()
        && matches!(shown.input.as_ref(), LogicalPlan::Sort(_))
        && shown.expr.iter().all(|expr| matches!(expr, Expr::Column(_)))
    {
        let below = Limit { input: Arc::clone(&shown.input), ..limit.clone() };
        let Some(below) = limited(&below)? else { return Ok(None) };
        let (exprs, schema) = (shown.expr.clone(), Arc::clone(&shown.schema));
        let shown = Projection::try_new_with_schema(exprs, Arc::new(below), schema)?;
        return Ok(Some(LogicalPlan::Projection(shown)));
    }
    let LogicalPlan::Sort(sort) = limit.input.as_ref() else { return Ok(None) };
    let LogicalPlan::Projection(seeing) = sort.input.as_ref() else { return Ok(None) };
    let LogicalPlan::Sort(first) = seeing.input.as_ref() else { return Ok(None) };
    let is_made = sees_blocks(&seeing.expr)? && keys_before(sort, seeing)?.as_ref() == Some(&first.expr);
    // ClickHouse looks at all rows where there is but an OFFSET.
    if !is_made || first.fetch.is_some() || limit.fetch.is_none() {
        return Ok(None);
    }
    let first = LogicalPlan::Limit(Limit { input: Arc::clone(&seeing.input), ..limit.clone() });
    let (exprs, schema) = (seeing.expr.clone(), Arc::clone(&seeing.schema));
    let seeing = Projection::try_new_with_schema(exprs, Arc::new(first), schema)?;
    Ok(Some(LogicalPlan::Sort(Sort { input: Arc::new(LogicalPlan::Projection(seeing)), ..sort.clone() })))
}

/// The keys of a sort over a projection as keys of its input; `None` where they depend on which rows stand around.
fn keys_before(sort: &Sort, projection: &Projection) -> Result<Option<Vec<SortExpr>>> {
    let mut keys = Vec::with_capacity(sort.expr.len());
    for key in &sort.expr {
        let expr = before(key.expr.clone(), projection)?;
        if expr.is_volatile() {
            return Ok(None);
        }
        keys.push(SortExpr { expr, ..key.clone() });
    }
    Ok(Some(keys))
}

/// An expression over a projection as one over its input.
fn before(expr: Expr, projection: &Projection) -> Result<Expr> {
    let column = |part: Expr| match &part {
        Expr::Column(column) => {
            let at = projection.schema.index_of_column(column)?;
            let computed = projection.expr.get(at).cloned().unwrap_or(part);
            Ok(Transformed::new(computed.unalias(), true, TreeNodeRecursion::Jump))
        }
        _ => Ok(Transformed::no(part)),
    };
    Ok(expr.transform_down(column)?.data)
}

/// Whether one of these depends on which rows stand around, and in which block.
///
/// # Errors
/// Those of the walk.
pub fn sees_blocks(exprs: &[Expr]) -> Result<bool> {
    for expr in exprs {
        let is_one = |part: &Expr| {
            Ok(matches!(part, Expr::ScalarFunction(call) if OF_BLOCKS.contains(&call.func.name())))
        };
        if expr.exists(is_one)? {
            return Ok(true);
        }
    }
    Ok(false)
}
