//! What is constant on the optional side of an outer join is not constant behind it: rows without a partner have NULLs there. And
//! what is constant in each input of a UNION ALL is not when the inputs are asked together for their first rows; nor what is
//! constant below ROLLUP, in its totals.
//!
//! DataFusion believes that it is, and takes keys of ORDER BY away. Invariant: only what is known is less; a plan without outer
//! joins and unions over constants stays as it is. Barriers stay in the plan: nodes ask again what is known whenever they are
//! built anew.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::{AcrossPartitions, ConstExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::barrier::Barrier;
use crate::unary::Unary;

/// How calls begin that put defaults where an outer join has NULLs.
const FILLED: &str = "_filled(";

/// See the module.
#[derive(Debug)]
pub(super) struct OptionalSides;

impl PhysicalOptimizerRule for OptionalSides {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node = |node: Arc<dyn ExecutionPlan>| {
            if differs_by_input(&node) || knows_filled(&node) {
                return Unary::over(node, Barrier::Values).map(Transformed::yes);
            }
            if has_sets(&node) && node.children().into_iter().any(knows_values) {
                let inputs = node.children().into_iter().cloned();
                let inputs =
                    inputs.map(|input| Unary::over(input, Barrier::Values)).collect::<Result<_>>()?;
                return Ok(Transformed::yes(replace_children_if_necessary(node, inputs)?));
            }
            let (left, right) = match join_type(&node) {
                Some(JoinType::Left) => (false, true),
                Some(JoinType::Right) => (true, false),
                Some(JoinType::Full) => (true, true),
                _ => return Ok(Transformed::no(node)),
            };
            let sides = node.children().into_iter().zip([left, right]);
            let sides =
                sides.map(|(side, is_optional)| (Arc::clone(side), is_optional && knows_values(side)));
            let sides: Vec<_> = sides.collect();
            if !sides.iter().any(|(_, is_told)| *is_told) {
                return Ok(Transformed::no(node));
            }
            let apart = |(side, is_told)| if is_told { Unary::over(side, Barrier::Values) } else { Ok(side) };
            let sides = sides.into_iter().map(apart).collect::<Result<_>>()?;
            Ok(Transformed::yes(replace_children_if_necessary(node, sides)?))
        };
        Ok(plan.transform_up(node)?.data)
    }

    fn name(&self) -> &str {
        "optional_sides"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether it groups by several sets of keys: what is constant below is NULL in the rows of sets that leave it out.
fn has_sets(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.downcast_ref::<AggregateExec>().is_some_and(|groups| !groups.group_expr().is_single())
}

/// Whether a column is constant in each input of a UNION ALL and not in all of them.
fn differs_by_input(node: &Arc<dyn ExecutionPlan>) -> bool {
    let differs =
        |constant: ConstExpr| !matches!(constant.across_partitions, AcrossPartitions::Uniform(Some(_)));
    node.is::<UnionExec>() && node.properties().eq_properties.constants().into_iter().any(differs)
}

/// Whether a condition makes a column constant that an outer join filled: what was filled moves on to other nodes, and is not
/// known to be constant there.
fn knows_filled(node: &Arc<dyn ExecutionPlan>) -> bool {
    let is_filled = |constant: ConstExpr| constant.expr.to_string().starts_with(FILLED);
    node.is::<FilterExec>() && node.properties().eq_properties.constants().into_iter().any(is_filled)
}

fn join_type(node: &Arc<dyn ExecutionPlan>) -> Option<JoinType> {
    let hash = node.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let loops = || node.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let merge = || node.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type);
    hash.or_else(loops).or_else(merge)
}

fn knows_values(side: &Arc<dyn ExecutionPlan>) -> bool {
    !side.properties().eq_properties.eq_group().is_empty()
}
