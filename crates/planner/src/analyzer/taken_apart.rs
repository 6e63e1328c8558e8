//! The analyzer rule that takes sums of a column and a constant apart: `sum(x + 1)` is `sum(x) + 1 * count(x)`.
//!
//! Several sums that differ in the constant alone then need one pass over the column. ClickHouse does the same
//! (`optimize_arithmetic_operations_in_aggregate_functions`).
//! Invariant: types, values and names of the output do not change. That holds for integers of up to 64 bits, whose sums wrap;
//! floating-point numbers would be rounded elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunction, Alias};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

use crate::scalar::adapter::call;
use aggregates::named;
use aggregates::typing::type_of;

/// See the module. Runs when every expression has its type.
#[derive(Debug)]
pub(crate) struct TakenApart;

impl AnalyzerRule for TakenApart {
    fn name(&self) -> &str {
        "sums_taken_apart"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let node = |node| match node {
            LogicalPlan::Aggregate(aggregate) => taken_apart(aggregate),
            other => Ok(Transformed::no(other)),
        };
        Ok(plan.transform_up_with_subqueries(node)?.data)
    }
}

/// `sum(column op constant)`.
struct Sum<'a> {
    function: &'a AggregateFunction,
    /// `plus` or `minus`.
    operator: &'a str,
    column: &'a Expr,
    constant: &'a Expr,
}

fn taken_apart(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = aggregate.input.schema();
    let mut of_column: HashMap<&Expr, usize> = HashMap::new();
    for sum in aggregate.aggr_expr.iter().filter_map(|expr| sum_of(expr, schema)) {
        *of_column.entry(sum.column).or_default() += 1;
    }
    let is_set = matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)]);
    if is_set || of_column.values().all(|sums| *sums < 2) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let mut inner: Vec<Expr> = Vec::new();
    let mut outer: Vec<Expr> = Vec::new();
    let keys = aggregate.schema.iter().take(aggregate.schema.fields().len() - aggregate.aggr_expr.len());
    outer.extend(keys.map(|(qualifier, field)| Expr::Column(Column::from((qualifier, field)))));
    for (expr, (qualifier, field)) in
        aggregate.aggr_expr.iter().zip(aggregate.schema.iter().skip(outer.len()))
    {
        match sum_of(expr, schema).filter(|sum| of_column.get(sum.column).is_some_and(|sums| *sums > 1)) {
            Some(sum) => {
                let whole = sum.of_parts(&mut inner)?;
                outer.push(Expr::Alias(Alias::new(whole, qualifier.cloned(), field.name())));
            }
            None => {
                add(&mut inner, expr.clone());
                outer.push(Expr::Column(Column::from((qualifier, field))));
            }
        }
    }
    let parts = Aggregate::try_new(Arc::clone(&aggregate.input), aggregate.group_expr.clone(), inner)?;
    let whole = Projection::try_new(outer, Arc::new(LogicalPlan::Aggregate(parts)))?;
    let same_type = |(before, after): (&Arc<_>, &Arc<_>)| {
        let (before, after): (&arrow::datatypes::Field, &arrow::datatypes::Field) = (before, after);
        before.data_type() == after.data_type()
    };
    match aggregate.schema.fields().iter().zip(whole.schema.fields().iter()).all(same_type) {
        true => Ok(Transformed::yes(LogicalPlan::Projection(whole))),
        false => Ok(Transformed::no(LogicalPlan::Aggregate(aggregate))),
    }
}

impl Sum<'_> {
    /// The sum out of its parts, which are added to the aggregates.
    fn of_parts(&self, aggregates: &mut Vec<Expr>) -> Result<Expr> {
        let mut part = |function: &str| -> Result<Expr> {
            let mut part = self.function.clone();
            part.params.args = vec![self.column.clone()];
            if function != part.func.name() {
                part.func = named(function)?;
            }
            let part = Expr::AggregateFunction(part);
            let name = part.schema_name().to_string();
            add(aggregates, part);
            Ok(Expr::Column(Column::from_name(name)))
        };
        let (sum, count) = (part("sum")?, part("count")?);
        call(self.operator, vec![sum, call("multiply", vec![self.constant.clone(), count])?])
    }
}

fn add(aggregates: &mut Vec<Expr>, expr: Expr) {
    if !aggregates.contains(&expr) {
        aggregates.push(expr);
    }
}

/// The sum of a small integer and a constant, if it is one.
fn sum_of<'a>(expr: &'a Expr, schema: &DFSchema) -> Option<Sum<'a>> {
    let expr = match expr {
        Expr::Alias(alias) => alias.expr.as_ref(),
        other => other,
    };
    let Expr::AggregateFunction(function) = expr else { return None };
    let params = &function.params;
    let [Expr::ScalarFunction(arithmetic)] = params.args.as_slice() else { return None };
    let is_plain = function.func.name() == "sum" && !params.distinct && params.order_by.is_empty();
    let is_literal = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if !value.is_null());
    let (column, constant) = match (arithmetic.name(), arithmetic.args.as_slice()) {
        ("plus" | "minus", [column, constant]) if is_literal(constant) => (column, constant),
        ("plus", [constant, column]) if is_literal(constant) => (column, constant),
        _ => return None,
    };
    let is_small_integer = |expr: &Expr| type_of(expr, schema).is_ok_and(|kind| kind.is_integer());
    let fits = is_plain
        && matches!(column, Expr::Column(_))
        && is_small_integer(column)
        && is_small_integer(constant);
    fits.then_some(Sum { function, operator: arithmetic.name(), column, constant })
}
