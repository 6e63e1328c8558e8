//! AND, OR and `if` as ClickHouse evaluates them: what comes behind a condition runs only where it can matter.
//!
//! DataFusion evaluates both sides of AND over all rows, but CASE branch by branch. So `n != 0 AND intDiv(1, n) > 0`
//! becomes `n != 0 AND CASE WHEN n != 0 THEN intDiv(1, n) > 0 ELSE 0 END`. Invariant: a term that cannot fail, and
//! everything in front of the first one that can, keeps standing bare in the chain, so that pruning sees it.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use model::ColumnType;

use super::comparison::{binary, cast_to};
use aggregates::typing::{literal_of, type_of};

/// Whether this is a call of `if` or `multiIf` with as many arguments as they take.
pub(crate) fn is_choice(function: &ScalarFunction) -> bool {
    let count = function.args.len();
    matches!(function.func.name(), "if" | "multiIf") && count >= 3 && !count.is_multiple_of(2)
}

/// `multiIf(a, x, b, y, z)` as `CASE WHEN a THEN x WHEN b THEN y ELSE z END`.
pub(crate) fn choice(args: Vec<Expr>) -> Case {
    let (mut branches, mut otherwise) = (vec![], None);
    let mut args = args.into_iter();
    while let Some(next) = args.next() {
        match args.next() {
            Some(then) => branches.push((Box::new(next), Box::new(then))),
            None => otherwise = Some(Box::new(next)),
        }
    }
    Case::new(None, branches, otherwise)
}

/// The typed expression with the terms of its ANDs and ORs kept from rows where an earlier term decides.
pub(crate) fn guarded(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if !can_fail(&expr, schema)? {
        return Ok(expr);
    }
    let chains = |expr: Expr| match expr {
        Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
            let terms = terms(expr, op).into_iter().map(|term| guarded(term, schema));
            let chained = chain(terms.collect::<Result<Vec<_>>>()?, op, schema)?;
            Ok(Transformed::new(chained, true, TreeNodeRecursion::Jump))
        }
        other => Ok(Transformed::no(other)),
    };
    Ok(expr.transform_down(chains)?.data)
}

/// The operands of a chain of one operator, from left to right.
fn terms(expr: Expr, op: Operator) -> Vec<Expr> {
    let (mut terms, mut open) = (vec![], vec![expr]);
    while let Some(next) = open.pop() {
        match next {
            Expr::BinaryExpr(BinaryExpr { left, op: found, right }) if found == op => {
                open.push(*right);
                open.push(*left);
            }
            other => terms.push(other),
        }
    }
    terms
}

/// The terms in runs, each but the first beginning with a term that can fail and that the run before it guards.
/// So every term stands at most twice in the result, however long the chain is. Terms that ask outside come last and
/// bare, where DataFusion finds them.
fn chain(terms: Vec<Expr>, op: Operator, schema: &DFSchema) -> Result<Expr> {
    let (mut runs, mut outside) = (vec![vec![]], vec![]);
    for term in terms {
        if asks_outside(&term)? {
            outside.push(term);
            continue;
        }
        let starts = !is_guard(&term) && can_fail(&term, schema)?;
        match runs.last_mut() {
            Some(run) if run.is_empty() || !starts => run.push(term),
            _ => runs.push(vec![term]),
        }
    }
    let mut made: Option<Expr> = None;
    while let Some(run) = runs.pop() {
        made = match made {
            None => joined(run, op),
            Some(rest) => Some(behind(run, op, rest, schema)?),
        };
    }
    let all = joined(made.into_iter().chain(outside), op);
    Ok(all.unwrap_or_else(|| Expr::Literal(ScalarValue::Boolean(Some(op == Operator::And)), None)))
}

fn joined(terms: impl IntoIterator<Item = Expr>, op: Operator) -> Option<Expr> {
    terms.into_iter().reduce(|left, right| binary(left, op, right))
}

/// `first op rest`, where `rest` is evaluated only on rows that `first` does not decide.
fn behind(first: Vec<Expr>, op: Operator, rest: Expr, schema: &DFSchema) -> Result<Expr> {
    // What is evaluated twice must give the same twice.
    let tests = first.iter().filter(|term| !term.is_volatile()).cloned();
    let rest = match joined(tests, op) {
        Some(test) => guard(test, op, rest, schema)?,
        None => rest,
    };
    Ok(match joined(first, op) {
        Some(first) => binary(first, op, rest),
        None => rest,
    })
}

/// `CASE WHEN test IS NOT FALSE THEN rest ELSE 0 END <> 0`; over UInt8, because DataFusion turns a CASE of Booleans
/// back into AND and OR.
fn guard(test: Expr, op: Operator, rest: Expr, schema: &DFSchema) -> Result<Expr> {
    let is_nullable = type_of(&rest, schema)?.is_nullable();
    let number = if is_nullable { ColumnType::UInt8.nullable() } else { ColumnType::UInt8 };
    let (undecided, decided) = match op {
        Operator::Or => (Expr::IsNotTrue(Box::new(test)), 1),
        _ => (Expr::IsNotFalse(Box::new(test)), 0),
    };
    let decided = Expr::Literal(ScalarValue::UInt8(Some(decided)), None);
    let branch = (Box::new(undecided), Box::new(cast_to(rest, &number)?));
    let case = Expr::Case(Case::new(None, vec![branch], Some(Box::new(decided))));
    Ok(binary(case, Operator::NotEq, zero()))
}

fn zero() -> Expr {
    Expr::Literal(ScalarValue::UInt8(Some(0)), None)
}

/// Whether [`guard`] made it: plans may pass here twice.
fn is_guard(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::NotEq, right }) if **right == zero() => {
            match left.as_ref() {
                Expr::Case(Case { expr: None, when_then_expr, .. }) => when_then_expr
                    .iter()
                    .all(|(when, _)| matches!(when.as_ref(), Expr::IsNotFalse(_) | Expr::IsNotTrue(_))),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Subqueries and columns of an outer query: DataFusion joins them only where they stand in the chain itself.
fn asks_outside(expr: &Expr) -> Result<bool> {
    let subquery =
        |e: &Expr| Ok(matches!(e, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_)));
    Ok(expr.contains_outer() || expr.exists(subquery)?)
}

/// Whether a value of some row may make the expression fail.
fn can_fail(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    expr.exists(|found| match found {
        Expr::ScalarFunction(function) => call_can_fail(function, schema),
        _ => Ok(false),
    })
}

fn call_can_fail(function: &ScalarFunction, schema: &DFSchema) -> Result<bool> {
    let name = function.func.name();
    let args = &function.args;
    if !args.iter().any(Expr::any_column_refs) {
        return Ok(false);
    }
    let of_type = |arg: &Expr, test: fn(&ColumnType) -> bool| -> Result<bool> {
        Ok(test(type_of(arg, schema)?.value_type()))
    };
    let any = |test: fn(&ColumnType) -> bool| -> Result<bool> {
        for arg in args {
            if of_type(arg, test)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match name {
        "throwIf" | "range" | "repeat" => Ok(true),
        "intDiv" | "modulo" | "positiveModulo" => Ok(!args.get(1).is_some_and(is_divisor)),
        // Decimals overflow, and divide by zero with an error.
        "plus" | "minus" | "multiply" | "divide" => any(is_decimal),
        "toString" | "toTypeName" | "toNullable" | "toLowCardinality" | "toValidUTF8" | "tokens" => Ok(false),
        _ if ["OrNull", "OrZero", "OrDefault"].iter().any(|end| name.ends_with(*end)) => Ok(false),
        // Text may not read as what is wanted; a number always becomes one.
        "CAST" | "_CAST" => match args.first() {
            Some(arg) => Ok(of_type(arg, is_text)? || of_type(arg, is_decimal)?),
            None => Ok(false),
        },
        // A lambda may fail, and arrays may differ in size.
        _ if name.starts_with("_array") || name.starts_with("_map") => Ok(true),
        _ if name.starts_with("parse") => Ok(true),
        _ if name.starts_with("to") => match args.first() {
            Some(arg) => Ok(of_type(arg, is_text)? || name.starts_with("toDecimal")),
            None => Ok(false),
        },
        _ => Ok(false),
    }
}

fn is_text(column_type: &ColumnType) -> bool {
    column_type.is_string()
}

fn is_decimal(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Decimal { .. })
}

/// A constant that nothing fails to be divided by.
fn is_divisor(expr: &Expr) -> bool {
    let Some(value) = literal_of(expr).filter(|value| !value.is_null()) else { return false };
    ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero != *value)
}
