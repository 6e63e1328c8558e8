//! CASE within CASE, which DataFusion asks for its type and whether it may be NULL, each time both, all the way down.
//!
//! Invariant: planning a CASE takes a time proportional to what is in it: what would double with each level has its type
//! written on it, or is refused. Must not know: what branches become.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Case;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable};
use functions::FunctionError;
use model::ErrorCode;

use aggregates::typing::external;

/// Levels of CASE in conditions of CASE: each doubles the time.
const CONDITION_LEVELS_MAX: usize = 10;
/// Nodes that the copies of an operand may have in which there is a CASE.
const COPIED_NODES_MAX: usize = 4000;

/// The branch with its type on it, if finding that out would go through another CASE: the first branch is asked for it.
pub(crate) fn of_known_type(branch: Expr, schema: &DFSchema) -> Result<Expr> {
    if matches!(branch, Expr::Case(_)) || !holds_case(&branch)? {
        return Ok(branch);
    }
    let data_type = branch.get_type(schema)?;
    Ok(Expr::Cast(Cast::new(Box::new(branch), data_type)))
}

/// Refuses an operand that stands in so many comparisons, if it doubles with each CASE in it.
pub(crate) fn check_copies(operand: &Expr, comparisons: usize) -> Result<()> {
    if !holds_case(operand)? {
        return Ok(());
    }
    let mut nodes = 0_usize;
    operand.apply(|_| {
        nodes += 1;
        Ok(if nodes > COPIED_NODES_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if nodes.saturating_mul(comparisons) <= COPIED_NODES_MAX {
        return Ok(());
    }
    let message = format!(
        "CASE within the operand of CASE stands for more than {COPIED_NODES_MAX} elements: compute it in a subquery in FROM"
    );
    Err(external(FunctionError::new(ErrorCode::TOO_BIG_AST, message)))
}

/// Refuses CASE in a condition of CASE in a condition of CASE.
pub(crate) fn check_conditions(case: &Expr) -> Result<()> {
    if levels(case)? <= CONDITION_LEVELS_MAX {
        return Ok(());
    }
    let message = format!(
        "CASE, if and multiIf are nested deeper than {CONDITION_LEVELS_MAX} levels in conditions of each other: compute \
         the inner ones in a subquery in FROM"
    );
    Err(external(FunctionError::new(ErrorCode::TOO_DEEP_RECURSION, message)))
}

fn holds_case(expr: &Expr) -> Result<bool> {
    expr.exists(|expr| Ok(matches!(expr, Expr::Case(_))))
}

/// CASEs above each other on the way down, where a branch is no level.
fn levels(expr: &Expr) -> Result<usize> {
    let mut most = 0;
    expr.apply_children(|child| {
        most = most.max(levels(child)?);
        Ok(TreeNodeRecursion::Continue)
    })?;
    if let Expr::Case(Case { when_then_expr, .. }) = expr {
        for (when, _) in when_then_expr {
            most = most.max(levels(when)? + 1);
        }
    }
    Ok(most)
}
