//! The analyzer rule that keeps elements of tuples above the ARRAY JOIN that makes the tuples.
//!
//! DataFusion computes `get_field` as near to the tables as it can, and finds its way by the names of columns: below an ARRAY JOIN the
//! same name is that of an array. Invariant: values, types and names stay as they are, and a plan without ARRAY JOIN as it is.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

use crate::nodes::ArrayJoin;
use crate::scalar::adapter::call;

/// See the module. Runs before expressions get their types.
#[derive(Debug)]
pub(crate) struct Elements;

impl AnalyzerRule for Elements {
    fn name(&self) -> &str {
        "elements"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        if !takes_arrays_apart(&plan)? {
            return Ok(plan);
        }
        let node = |node: LogicalPlan| {
            let names = NamePreserver::new(&node);
            let changed = node.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(in_place)?.update_data(|expr| name.restore(expr)))
            })?;
            if changed.transformed { changed.map_data(LogicalPlan::recompute_schema) } else { Ok(changed) }
        };
        Ok(plan.transform_up_with_subqueries(node)?.data)
    }
}

fn takes_arrays_apart(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Extension(extension) = node {
            found |= extension.node.as_any().is::<ArrayJoin>();
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The element by our function, which nobody moves.
fn in_place(expr: Expr) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(field) if field.func.name() == "get_field" && field.args.len() == 2 => {
            call("tupleElement", field.args).map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    }
}
