//! `count(DISTINCT x)` over all rows, x a whole number: counted in one set, not by grouping.
//!
//! Invariant: the names and types of the plan stay. With a key of groups, a condition, or other arguments nothing is changed.
//! Must not know: how a set counts.

use std::sync::Arc;

use aggregates::different::{different, is_counted};
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// DataFusion's rule that groups by what is counted, after ours.
pub(crate) fn counted(rule: Rule) -> Rule {
    match rule.name() {
        "single_distinct_aggregation_to_group_by" => Arc::new(Counted { rule }),
        _ => rule,
    }
}

#[derive(Debug)]
struct Counted {
    rule: Rule,
}

impl OptimizerRule for Counted {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = plan else { return self.rule.rewrite(plan, config) };
        if !aggregate.group_expr.is_empty() || !aggregate.aggr_expr.iter().any(is_count_of_different) {
            return self.rule.rewrite(LogicalPlan::Aggregate(aggregate), config);
        }
        let mut is_whole = true;
        for expr in &aggregate.aggr_expr {
            is_whole &= !is_count_of_different(expr) || counts_numbers(expr, &aggregate)?;
        }
        if !is_whole {
            return self.rule.rewrite(LogicalPlan::Aggregate(aggregate), config);
        }
        if aggregate.aggr_expr.iter().all(is_done) {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        }
        let (input, schema) = (Arc::clone(&aggregate.input), Arc::clone(&aggregate.schema));
        let functions = aggregate.aggr_expr.into_iter().map(by_a_set).collect();
        let counted = Aggregate::try_new_with_schema(input, Vec::new(), functions, schema)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(counted)))
    }
}

fn is_count_of_different(expr: &Expr) -> bool {
    matches!(expr, Expr::AggregateFunction(function) if function.params.distinct && function.func.name() == "count")
}

fn is_done(expr: &Expr) -> bool {
    matches!(expr, Expr::AggregateFunction(function) if !is_count_of_different(expr) || function.func == different())
}

fn counts_numbers(expr: &Expr, aggregate: &Aggregate) -> Result<bool> {
    let Expr::AggregateFunction(AggregateFunction { params, .. }) = expr else { return Ok(false) };
    let AggregateFunctionParams { args, filter: None, order_by, .. } = params else { return Ok(false) };
    let [counted] = args.as_slice() else { return Ok(false) };
    Ok(order_by.is_empty() && is_counted(&counted.get_type(aggregate.input.schema())?))
}

fn by_a_set(expr: Expr) -> Expr {
    match expr {
        Expr::AggregateFunction(function) if function.params.distinct && function.func.name() == "count" => {
            Expr::AggregateFunction(AggregateFunction { func: different(), ..function })
        }
        other => other,
    }
}
