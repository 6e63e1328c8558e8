//! DataFusion's rules over outer joins, where they leave rows of ClickHouse as they are.
//!
//! An optional side that is empty may not become a list of NULLs: they have no types of ClickHouse, by which defaults stand in
//! their place. With `join_use_nulls` an outer join may not become an inner one: columns of the optional side stay Nullable, and
//! what is computed over no rows shows it. Invariant: everything else is DataFusion's own.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::{ApplyOrder, Optimizer};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::session::query_rules;

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// A rule that leaves some outer joins alone.
#[derive(Debug)]
struct BesideOuterJoins {
    rule: Rule,
    /// Only where rows without a partner have NULLs.
    only_with_nulls: bool,
}

/// The rules that DataFusion has, some of them held back.
pub(crate) fn optimizer_rules() -> Vec<Rule> {
    let held_back = |rule: Rule| -> Rule {
        let only_with_nulls = match rule.name() {
            "propagate_empty_relation" => false,
            "eliminate_outer_join" => true,
            _ => return rule,
        };
        Arc::new(BesideOuterJoins { rule, only_with_nulls })
    };
    Optimizer::new().rules.into_iter().map(held_back).collect()
}

impl OptimizerRule for BesideOuterJoins {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let is_outer = |plan: &LogicalPlan| match plan {
            LogicalPlan::Join(join) => {
                matches!(join.join_type, JoinType::Left | JoinType::Right | JoinType::Full)
            }
            _ => false,
        };
        let is_held_back = match self.only_with_nulls {
            // The join is below the filter that this rule begins with.
            true => query_rules(&config.options()).join_use_nulls,
            false => is_outer(&plan),
        };
        if is_held_back { Ok(Transformed::no(plan)) } else { self.rule.rewrite(plan, config) }
    }
}
