//! The analyzer rule that turns marks behind the keys of a sort into steps of the plan, and sets beside rows into joins.
//!
//! Invariant: runs first, so no other rule ever sees a mark.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinConstraint, JoinType, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Extension, Filter, LogicalPlan, Sort, SortExpr};
use datafusion::optimizer::AnalyzerRule;
use functions::FunctionError;
use model::ErrorCode;
use model::saturating::usize_of;

use super::marked::marked;
use super::marks::{ASOF, DISTINCT_BY, FILL, INTERPOLATE, LIMIT_BY, MARKS, ORDER_BY_ALL, WITH_TIES};
use super::ordered::ordered;
use crate::nodes::{Asof, Cut, CutKind, Ends, Fill, FillKey, Interpolated};
use crate::scalar::prewhere::prewhere_of;
use aggregates::typing::external;

/// See the module.
#[derive(Debug)]
pub(crate) struct Lift;

impl AnalyzerRule for Lift {
    fn name(&self) -> &str {
        "lift_marks"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(steps)?.data)
    }
}

fn steps(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    lifted(plan)?.transform_data(nearest)?.transform_data(marked)?.transform_data(ordered)
}

/// PREWHERE as a filter of its own, below WHERE: a condition that may fail is kept from rows by repeating those before it.
fn prewhere_first(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let (first, rest): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(filter.predicate.clone())
        .into_iter()
        .partition(|condition| prewhere_of(condition).is_some());
    let (Some(first), Some(rest)) = (conjunction(first), conjunction(rest)) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let below = LogicalPlan::Filter(Filter::new(first, filter.input));
    Ok(Transformed::yes(LogicalPlan::Filter(Filter::new(rest, Arc::new(below)))))
}

fn lifted(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut sort = match plan {
        LogicalPlan::Sort(sort) => sort,
        LogicalPlan::Filter(filter) => return prewhere_first(filter),
        LogicalPlan::Limit(limit) => return Ends::planned(limit).map(Transformed::yes),
        other => return Ok(Transformed::no(other)),
    };
    let is_all = |key: &SortExpr| mark_of(&key.expr).is_some_and(|mark| mark.name() == ORDER_BY_ALL);
    let has_all = sort.expr.iter().any(is_all);
    sort.expr = with_all_columns(sort.expr, &sort.input);
    let (marks, keys): (Vec<SortExpr>, Vec<SortExpr>) =
        sort.expr.into_iter().partition(|key| mark_of(&key.expr).is_some());
    if marks.is_empty() {
        let sort = LogicalPlan::Sort(Sort { expr: keys, ..sort });
        return Ok(if has_all { Transformed::yes(sort) } else { Transformed::no(sort) });
    }
    let mut input = Arc::unwrap_or_clone(sort.input);
    let of = |name: &str| marks.iter().filter_map(|key| mark_of(&key.expr)).find(|mark| mark.name() == name);
    if let Some(mark) = of(DISTINCT_BY) {
        input = cut(CutKind::By, mark.args.clone(), (0, 1), input);
    }
    let order: Vec<Expr> = keys.iter().map(|key| key.expr.clone()).collect();
    let sorted_by = keys.clone();
    if !keys.is_empty() {
        input = LogicalPlan::Sort(Sort { expr: keys, input: Arc::new(input), fetch: sort.fetch });
    }
    if let Some(mark) = of(LIMIT_BY) {
        let (bounds, keys) = bounds(mark)?;
        input = cut(CutKind::By, keys.to_vec(), bounds, input);
    }
    let all: Vec<&ScalarFunction> = marks.iter().filter_map(|key| mark_of(&key.expr)).collect();
    if of(FILL).is_some() {
        input = filled(&sorted_by, &all, input)?;
    } else if of(INTERPOLATE).is_some() {
        return Err(invalid_fill("INTERPOLATE needs a key of ORDER BY WITH FILL"));
    }
    if let Some(mark) = of(WITH_TIES) {
        if of(FILL).is_some() {
            let message = "LIMIT WITH TIES together with WITH FILL is not supported";
            return Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)));
        }
        if order.is_empty() {
            let message = "LIMIT WITH TIES needs ORDER BY: without an order nothing is tied";
            return Err(external(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message)));
        }
        input = cut(CutKind::Ties, order, bounds(mark)?.0, input);
    }
    Ok(Transformed::yes(input))
}

/// The keys with all columns in the place of the mark of ORDER BY ALL.
fn with_all_columns(keys: Vec<SortExpr>, input: &LogicalPlan) -> Vec<SortExpr> {
    let all = |key: &SortExpr| -> Vec<SortExpr> {
        let columns = input.schema().columns().into_iter().map(Expr::Column);
        columns.map(|expr| SortExpr { expr, ..key.clone() }).collect()
    };
    let meant = |key: SortExpr| match mark_of(&key.expr) {
        Some(mark) if mark.name() == ORDER_BY_ALL => all(&key),
        _ => vec![key],
    };
    keys.into_iter().flat_map(meant).collect()
}

/// A join whose condition is the mark of ASOF. The last column of USING is the one that is compared.
fn nearest(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
    let mark = join.filter.as_ref().and_then(mark_of).filter(|mark| mark.name() == ASOF);
    let Some([inequality, looks @ ..]) = mark.map(|mark| mark.args.as_slice()) else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let (inequality, looks) = (inequality.clone(), looks.to_vec());
    if join.join_constraint == JoinConstraint::Using {
        join.on.pop();
    }
    let equal = join.on.into_iter().map(|(left, right)| left.eq(right)).collect();
    let sides = (Arc::unwrap_or_clone(join.left), Arc::unwrap_or_clone(join.right));
    let node = Asof::try_new(sides, (equal, inequality, looks), join.join_type == JoinType::Left)?;
    Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(node) })))
}

fn cut(kind: CutKind, keys: Vec<Expr>, bounds: (u64, u64), input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(Cut::new(kind, keys, bounds, input)) })
}

/// Rows between those of the sorted input, as the marks of WITH FILL and INTERPOLATE say.
fn filled(keys: &[SortExpr], marks: &[&ScalarFunction], input: LogicalPlan) -> Result<LogicalPlan> {
    let mut places = vec![];
    let mut fill_keys = vec![];
    for mark in marks.iter().filter(|mark| mark.name() == FILL) {
        let [place, from, to, step, stale] = mark.args.as_slice() else {
            return Err(not_a_count("nothing"));
        };
        let place = usize_of(count(place)?);
        let Some(key) = keys.get(place) else { return Err(not_a_count("a key that is not there")) };
        let given =
            |arg: &Expr| (!matches!(arg, Expr::Literal(value, _) if value.is_null())).then(|| arg.clone());
        let (from, to, step, stale) = (given(from), given(to), given(step), given(stale));
        fill_keys.push(FillKey { expr: bare(&key.expr), descending: !key.asc, from, to, step, stale });
        places.push(place);
    }
    let first = places.iter().copied().min().unwrap_or(0);
    let prefix = keys[..first].iter().map(|key| bare(&key.expr)).collect();
    let interpolated = interpolated(keys, marks, &input)?;
    let node = Fill::try_new(fill_keys, prefix, interpolated, input)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

fn bare(expr: &Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        other => other.clone(),
    }
}

fn interpolated(
    keys: &[SortExpr],
    marks: &[&ScalarFunction],
    input: &LogicalPlan,
) -> Result<Vec<Interpolated>> {
    let is_key = |column: &Column| keys.iter().any(|key| bare(&key.expr) == Expr::Column(column.clone()));
    let mut found = vec![];
    for mark in marks.iter().filter(|mark| mark.name() == INTERPOLATE) {
        let (column, value) = match mark.args.as_slice() {
            [] => {
                let all = input.schema().columns().into_iter().filter(|column| !is_key(column));
                found.extend(all.map(|column| Interpolated { column, value: None }));
                continue;
            }
            [Expr::Column(column)] => (column, None),
            [Expr::Column(column), value] => (column, Some(value.clone())),
            _ => return Err(invalid_fill("INTERPOLATE takes names of columns")),
        };
        if is_key(column) {
            let message = format!("column {} is a key of ORDER BY and cannot be interpolated", column.name);
            return Err(invalid_fill(&message));
        }
        found.push(Interpolated { column: column.clone(), value });
    }
    Ok(found)
}

fn invalid_fill(message: &str) -> datafusion::common::DataFusionError {
    external(FunctionError::new(ErrorCode::INVALID_WITH_FILL_EXPRESSION, message))
}

fn mark_of(expr: &Expr) -> Option<&ScalarFunction> {
    match expr {
        Expr::ScalarFunction(function) if MARKS.contains(&function.name()) => Some(function),
        Expr::Alias(alias) => mark_of(&alias.expr),
        _ => None,
    }
}

/// (rows to skip, rows to pass), and what follows them.
fn bounds(mark: &ScalarFunction) -> Result<((u64, u64), &[Expr])> {
    let [fetch, skip, keys @ ..] = mark.args.as_slice() else {
        return Err(not_a_count("nothing"));
    };
    Ok(((count(skip)?, count(fetch)?), keys))
}

fn count(expr: &Expr) -> Result<u64> {
    let number = match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => u64::try_from(*number).ok(),
        Expr::Literal(ScalarValue::UInt64(Some(number)), _) => Some(*number),
        Expr::Literal(ScalarValue::UInt32(Some(number)), _) => Some(u64::from(*number)),
        Expr::Literal(ScalarValue::UInt16(Some(number)), _) => Some(u64::from(*number)),
        Expr::Literal(ScalarValue::UInt8(Some(number)), _) => Some(u64::from(*number)),
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            text.strip_prefix(sql::reader::clauses::COUNT_MARK).and_then(|digits| digits.parse().ok())
        }
        _ => None,
    };
    number.ok_or_else(|| not_a_count(&expr.to_string()))
}

fn not_a_count(what: &str) -> datafusion::common::DataFusionError {
    let message = format!("the value of LIMIT must be a non-negative whole number, not {what}");
    external(FunctionError::new(ErrorCode::INVALID_LIMIT_EXPRESSION, message))
}
