//! Expressions that ClickHouse reads as others: `a BETWEEN 1 AND 2`, CASE, EXTRACT, `a || b`, `DATE_ADD(DAY, 1, d)`.
//!
//! Invariant: what is answered means what was written; operands are as they were. Must not know: how it is laid out.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CaseWhen, CeilFloorKind, DuplicateTreatment, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, ObjectName, visit_expressions,
};

use crate::dialect::{call, interval_unit, name_of, plain_args, text};
use crate::printer::label::{extract_function, trim_function};

/// The expression that ClickHouse reads instead; `None`: it is read as it is.
pub(super) fn plain(expr: &Expr) -> Option<Expr> {
    Some(match expr {
        // Twice as much at every level would be without end.
        Expr::Between { expr, .. } if has_between(expr) => return None,
        Expr::Between { expr, negated, low, high } => between(expr, *negated, low, high),
        Expr::Case { operand, conditions, else_result, .. } => {
            case(operand.as_deref(), conditions, else_result.as_deref())
        }
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => concat(left, right),
        Expr::Extract { field, expr, .. } => call(&extract_function(&field.to_string()), vec![copy(expr)]),
        Expr::Ceil { expr, field } => rounded("ceil", expr, field),
        Expr::Floor { expr, field } => rounded("floor", expr, field),
        Expr::Position { expr, r#in } => call("position", vec![copy(r#in), copy(expr)]),
        Expr::Substring { expr, substring_from, substring_for, shorthand, .. } => {
            let args = [Some(expr), substring_from.as_ref(), substring_for.as_ref()];
            let name = if *shorthand { "substr" } else { "substring" };
            call(name, args.into_iter().flatten().map(|arg| copy(arg)).collect())
        }
        Expr::Trim { trim_where, trim_what, expr, .. } => {
            let args = [Some(expr), trim_what.as_ref()].into_iter().flatten();
            call(trim_function(*trim_where), args.map(|arg| copy(arg)).collect())
        }
        Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => copy(inner),
        Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => call("not", vec![copy(inner)]),
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => in_query(left, right, false)?,
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } => in_query(left, right, true)?,
        Expr::RLike { negated: false, expr, pattern, .. } => call("match", vec![copy(expr), copy(pattern)]),
        Expr::Function(function) => return plain_function(function),
        _ => return None,
    })
}

fn copy(expr: &Expr) -> Expr {
    expr.clone()
}

fn binary(left: &Expr, op: BinaryOperator, right: &Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(copy(left)), op, right: Box::new(copy(right)) }
}

/// `a = ANY (SELECT ..)`.
fn in_query(left: &Expr, right: &Expr, negated: bool) -> Option<Expr> {
    match right {
        Expr::Subquery(query) => {
            Some(Expr::InSubquery { expr: Box::new(copy(left)), subquery: query.clone(), negated })
        }
        _ => None,
    }
}

fn has_between(expr: &Expr) -> bool {
    visit_expressions(expr, |inner| match inner {
        Expr::Between { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}

fn between(expr: &Expr, negated: bool, low: &Expr, high: &Expr) -> Expr {
    let (from, to, both) = match negated {
        true => (BinaryOperator::Lt, BinaryOperator::Gt, BinaryOperator::Or),
        false => (BinaryOperator::GtEq, BinaryOperator::LtEq, BinaryOperator::And),
    };
    binary(&binary(expr, from, low), both, &binary(expr, to, high))
}

fn case(operand: Option<&Expr>, conditions: &[CaseWhen], otherwise: Option<&Expr>) -> Expr {
    let mut args: Vec<Expr> = operand.into_iter().cloned().collect();
    for CaseWhen { condition, result } in conditions {
        args.extend([copy(condition), copy(result)]);
    }
    args.push(otherwise.map_or_else(|| Expr::Value(sqlparser::ast::Value::Null.into()), Expr::clone));
    call(if operand.is_some() { "caseWithExpression" } else { "multiIf" }, args)
}

/// One call for a chain, however long. Walks along its left side.
fn concat(left: &Expr, right: &Expr) -> Expr {
    let mut args = vec![copy(right)];
    let mut rest = left;
    while let Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } = rest {
        args.push(copy(right));
        rest = left;
    }
    args.push(copy(rest));
    args.reverse();
    call("concat", args)
}

fn rounded(name: &str, expr: &Expr, field: &CeilFloorKind) -> Expr {
    match field {
        CeilFloorKind::Scale(digits) => call(name, vec![copy(expr), Expr::Value(digits.clone())]),
        CeilFloorKind::DateTimeField(_) => call(name, vec![copy(expr)]),
    }
}

/// Functions that ClickHouse's grammar knows itself.
fn plain_function(function: &Function) -> Option<Expr> {
    let name = name_of(function);
    let lower = name.to_ascii_lowercase();
    let args = plain_args(function);
    match (lower.as_str(), args.as_slice()) {
        ("date_add" | "dateadd" | "timestamp_add" | "timestampadd", args) => shifted("plus", args),
        ("date_sub" | "datesub" | "timestamp_sub" | "timestampsub", args) => shifted("minus", args),
        ("date_diff" | "datediff" | "timestamp_diff" | "timestampdiff", [unit, from, to]) => {
            let unit = bare_unit(unit).map_or_else(|| copy(unit), |unit| text(unit.to_ascii_lowercase()));
            Some(call_unless(&name, "dateDiff", vec![unit, copy(from), copy(to)], function)?)
        }
        ("grouping" | "extract" | "substring" | "position", _) if name != lower => {
            Some(renamed(function, &lower))
        }
        ("ltrim", [_]) => Some(call("trimLeft", args)),
        ("rtrim", [_]) => Some(call("trimRight", args)),
        ("trim", [_]) => Some(call("trimBoth", args)),
        ("cast", [_, _]) if name != "CAST" => Some(call("CAST", args)),
        _ => combined(function, &name),
    }
}

/// The call of that name, unless it is what was written.
fn call_unless(written: &str, name: &str, args: Vec<Expr>, function: &Function) -> Option<Expr> {
    (written != name || args != plain_args(function)).then(|| call(name, args))
}

fn renamed(function: &Function, name: &str) -> Expr {
    let mut renamed = function.clone();
    renamed.name = ObjectName::from(vec![Ident::with_quote('`', name)]);
    Expr::Function(renamed)
}

/// A unit written without quotes.
fn bare_unit(unit: &Expr) -> Option<&'static str> {
    match unit {
        Expr::Identifier(unit) if unit.quote_style.is_none() => interval_unit(&unit.value),
        _ => None,
    }
}

/// `DATE_ADD(DAY, 1, d)` is the sum that it means.
fn shifted(operator: &str, args: &[Expr]) -> Option<Expr> {
    match args {
        [unit, amount, base] => {
            let interval = call(&format!("toInterval{}", bare_unit(unit)?), vec![copy(amount)]);
            Some(call(operator, vec![copy(base), interval]))
        }
        [base, interval] => Some(call(operator, vec![copy(base), copy(interval)])),
        _ => None,
    }
}

/// `count(DISTINCT a)` is `countDistinct(a)`, `sum(a) FILTER (WHERE b)` is `sumIf(a, b)`.
fn combined(function: &Function, name: &str) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    if list.duplicate_treatment.is_none() && function.filter.is_none() {
        return None;
    }
    let (mut combined, mut list, mut name) = (function.clone(), list.clone(), name.to_owned());
    if list.duplicate_treatment.take() == Some(DuplicateTreatment::Distinct) {
        name.push_str("Distinct");
    }
    if let Some(condition) = combined.filter.take() {
        name.push_str("If");
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(*condition)));
    }
    combined.args = FunctionArguments::List(list);
    Some(renamed(&combined, &name))
}
