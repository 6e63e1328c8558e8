//! Unions of many queries as unions of unions: DataFusion compares each input of a union with all others.
//!
//! Invariant: the same rows in the same order of inputs. Must not know: what the inputs are.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{LogicalPlan, Union};

/// Inputs that stand beside each other.
const INPUTS_MAX: usize = 64;

/// The plan without unions wider than [`INPUTS_MAX`]. Only for a plan that no rule sees any more: a rule flattens them.
pub(super) fn divided(plan: &LogicalPlan) -> Result<LogicalPlan> {
    let is_wide =
        |plan: &LogicalPlan| matches!(plan, LogicalPlan::Union(union) if union.inputs.len() > INPUTS_MAX);
    if !plan.exists(|plan| Ok(is_wide(plan)))? {
        return Ok(plan.clone());
    }
    let divide = |plan: LogicalPlan| match plan {
        LogicalPlan::Union(union) if union.inputs.len() > INPUTS_MAX => Transformed::yes(divide(union)),
        other => Transformed::no(other),
    };
    Ok(plan.clone().transform_up(|plan| Ok(divide(plan)))?.data)
}

fn divide(Union { mut inputs, schema }: Union) -> LogicalPlan {
    while inputs.len() > INPUTS_MAX {
        let united = inputs.chunks(INPUTS_MAX).map(|some| {
            let union = Union { inputs: some.to_vec(), schema: Arc::clone(&schema) };
            Arc::new(LogicalPlan::Union(union))
        });
        inputs = united.collect();
    }
    LogicalPlan::Union(Union { inputs, schema })
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::LogicalPlanBuilder;
    use datafusion::prelude::lit;

    use super::*;

    fn widths(plan: &LogicalPlan, most: &mut usize, leaves: &mut usize) {
        match plan {
            LogicalPlan::Union(union) => {
                *most = (*most).max(union.inputs.len());
                union.inputs.iter().for_each(|input| widths(input, most, leaves));
            }
            _ => *leaves += 1,
        }
    }

    #[test]
    fn a_wide_union_keeps_its_inputs_in_narrow_ones() {
        let one = |number: i32| {
            let row = LogicalPlanBuilder::empty(true).project(vec![lit(number).alias("x")]).unwrap();
            Arc::new(row.build().unwrap())
        };
        for count in [2, 64, 65, 5000] {
            let union = Union::try_new((0..count).map(one).collect()).unwrap();
            let whole = LogicalPlan::Union(union);
            let plan = divided(&whole).unwrap();
            let (mut most, mut leaves) = (0, 0);
            widths(&plan, &mut most, &mut leaves);
            assert!(most <= INPUTS_MAX, "{most}");
            assert_eq!(leaves, usize::try_from(count).unwrap());
            assert_eq!(plan.schema(), whole.schema());
        }
    }
}
