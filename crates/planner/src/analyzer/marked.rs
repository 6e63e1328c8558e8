//! `x IN (SELECT ..)` where rows are computed, not filtered: the subquery is joined, and a mark says what was found.
//!
//! DataFusion does this itself for conditions. Where one is inside of another expression, however, its mark does not know NULL:
//! `NULL IN (..)` is neither true nor false. Invariant: every row of the input stays one row.

use std::sync::Arc;

use aggregates::typing::type_of_field;
use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, JoinType, Result, ScalarValue, TableReference};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection, lit, not, when,
};

use crate::coercion::in_subquery::refuse_other_width;
use crate::scalar::adapter::call;

/// The plan without IN of subqueries in what a SELECT computes.
pub(crate) fn marked(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    match plan {
        LogicalPlan::Projection(projection) if projection.expr.iter().any(has_subquery) => {
            let mut input = Arc::unwrap_or_clone(projection.input);
            let exprs = computed(projection.expr, &mut input, &names)?;
            let projection = Projection::try_new(exprs, Arc::new(input))?;
            Ok(Transformed::yes(LogicalPlan::Projection(projection)))
        }
        LogicalPlan::Aggregate(aggregate)
            if aggregate.aggr_expr.iter().chain(&aggregate.group_expr).any(has_subquery) =>
        {
            let mut input = Arc::unwrap_or_clone(aggregate.input);
            let keys = computed(aggregate.group_expr, &mut input, &names)?;
            let values = computed(aggregate.aggr_expr, &mut input, &names)?;
            let aggregate = Aggregate::try_new(Arc::new(input), keys, values)?;
            Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
        }
        LogicalPlan::Filter(filter) if split_conjunction(&filter.predicate).into_iter().any(has_subquery) => {
            let mut input = Arc::unwrap_or_clone(filter.input);
            let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
            let (inside, direct): (Vec<Expr>, Vec<Expr>) =
                split_conjunction_owned(filter.predicate).into_iter().partition(is_inside);
            // NULL is in no set and out of none, not even of one that is empty.
            let may_be_null = |asked: &&Expr| asked.nullable(input.schema()).unwrap_or(true);
            let asked: Vec<Expr> = direct.iter().filter_map(excluded).filter(may_be_null).cloned().collect();
            let is_widened = !inside.is_empty();
            let inside = computed(inside, &mut input, &names)?;
            let predicates = asked.into_iter().map(Expr::is_not_null).chain(direct).chain(inside);
            let whole = LogicalPlanBuilder::from(input);
            let whole = match conjunction(predicates) {
                Some(predicate) => whole.filter(predicate)?,
                None => whole,
            };
            let whole = if is_widened { whole.project(columns)? } else { whole };
            Ok(Transformed::yes(whole.build()?))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Whether a condition of a filter has IN of a subquery inside of something else, or asks it of a constant.
fn is_inside(condition: &Expr) -> bool {
    let is_direct = |expr: &Expr| match expr {
        Expr::InSubquery(set) => {
            set.expr.any_column_refs() && !has_subquery(&set.expr) && parts_of(&set.expr).is_none()
        }
        _ => false,
    };
    let direct = match condition {
        Expr::Not(inner) => is_direct(inner),
        other => is_direct(other),
    };
    !direct && has_subquery(condition)
}

/// What `x NOT IN (SELECT ..)` asks.
fn excluded(condition: &Expr) -> Option<&Expr> {
    match condition {
        Expr::InSubquery(set) if set.negated => Some(&set.expr),
        Expr::Not(inner) => match inner.as_ref() {
            Expr::InSubquery(set) if !set.negated => Some(&set.expr),
            _ => None,
        },
        _ => None,
    }
}

fn has_subquery(expr: &Expr) -> bool {
    expr.exists(is_subquery).unwrap_or(false)
}

/// Those whose set does not depend on the row.
fn is_subquery(expr: &Expr) -> Result<bool> {
    Ok(matches!(expr, Expr::InSubquery(set) if set.subquery.outer_ref_columns.is_empty()))
}

fn computed(exprs: Vec<Expr>, input: &mut LogicalPlan, names: &NamePreserver) -> Result<Vec<Expr>> {
    let mut done = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let name = names.save(&expr);
        let expr = expr.transform_up(|expr| match expr {
            Expr::InSubquery(set) if set.subquery.outer_ref_columns.is_empty() => {
                Ok(Transformed::yes(found(set, input)?))
            }
            other => Ok(Transformed::no(other)),
        })?;
        done.push(name.restore(expr.data));
    }
    Ok(done)
}

/// The elements of a tuple that is written out.
fn parts_of(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::ScalarFunction(function) if function.func.name() == "tuple" => Some(&function.args),
        _ => None,
    }
}

/// What says that a value is the set's; of tuples each element, as a join finds them by these.
fn equal(value: Expr, element: Expr) -> Result<Vec<Expr>> {
    let Some(parts) = parts_of(&value) else { return Ok(vec![value.eq(element)]) };
    let of_element = |(part, at): (&Expr, u64)| {
        let place = Expr::Literal(ScalarValue::UInt64(Some(at)), None);
        Ok(part.clone().eq(call("tupleElement", vec![element.clone(), place])?))
    };
    parts.iter().zip(1_u64..).map(of_element).collect()
}

/// The set with another name where a column of no table has its own: the two could not be told apart.
fn beside(set: LogicalPlan, input: &LogicalPlan) -> Result<LogicalPlan> {
    let Some((qualifier, field)) = set.schema().iter().next() else { return Ok(set) };
    let is_taken = |(table, other): (Option<&TableReference>, &FieldRef)| {
        table.is_none() && other.name() == field.name()
    };
    if !input.schema().iter().any(is_taken) {
        return Ok(set);
    }
    let renamed = Expr::Column(Column::from((qualifier, field))).alias(format!("{}\u{1}", field.name()));
    Projection::try_new(vec![renamed], Arc::new(set)).map(LogicalPlan::Projection)
}

/// Joins the set to the input; whether the row's value is in it.
fn found(set: InSubquery, input: &mut LogicalPlan) -> Result<Expr> {
    let InSubquery { expr, subquery, negated } = set;
    // Every set adds one column, so that no two get one name.
    let name = format!("\u{1}set{}", input.schema().fields().len());
    let elements = Arc::unwrap_or_clone(subquery.subquery);
    let elements = LogicalPlanBuilder::from(beside(elements, input)?).alias(name.as_str())?.build()?;
    let Some(element) = elements.schema().columns().into_iter().next() else {
        return Ok(lit(false));
    };
    if let (Some(parts), Some(of_set)) = (parts_of(&expr), elements.schema().fields().first()) {
        refuse_other_width(parts.len(), type_of_field(of_set).value_type())?;
    }
    let conditions = equal(expr.as_ref().clone(), Expr::Column(element))?;
    let may_be_null = expr.nullable(input.schema())?;
    let left = std::mem::take(input);
    *input = LogicalPlanBuilder::from(left).join_on(elements, JoinType::LeftMark, conditions)?.build()?;
    let mark = Expr::Column(Column::new(Some(name), "mark"));
    let answer = if negated { not(mark) } else { mark };
    match may_be_null {
        true => when(expr.is_not_null(), answer).end(),
        false => Ok(answer),
    }
}
