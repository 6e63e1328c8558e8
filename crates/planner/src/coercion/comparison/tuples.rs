//! Comparisons of tuples element by element, where that prunes or where an element may be NULL.
//!
//! Invariant: `(a, b) < (c, d)` is `a < c OR a = c AND b < d` with NULL as SQL has it; a written NULL makes all of it NULL,
//! as in ClickHouse. What holds no NULL, no float and no enum is compared by our functions, whole.

use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};
use functions::SessionValues;
use model::ColumnType;

use super::{Side, binary, by_function, compare, joins};
use crate::scalar::adapter::call;
use aggregates::typing::type_of;

/// Arrays, maps and tuples. Tuples that are written out compare element by element, which prunes.
pub(super) fn nested(
    left: Side,
    op: Operator,
    right: Side,
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<Expr> {
    let is_equality = matches!(op, Operator::Eq | Operator::NotEq);
    let written = call_arguments(&left.0, "tuple").is_some() && call_arguments(&right.0, "tuple").is_some();
    let by_elements = compares_by_elements(left.1) || compares_by_elements(right.1);
    let taken_apart =
        is_equality && written || by_elements && !left.0.is_volatile() && !right.0.is_volatile();
    if taken_apart
        && let (Some(a), Some(b)) = (elements_of((&left.0, left.1))?, elements_of((&right.0, right.1))?)
        && a.len() == b.len()
        && !a.is_empty()
    {
        // It may become the key of a join, which looks tuples up whole: that is known when all of the condition is.
        let whole = binary(left.0.clone(), op, right.0.clone());
        let is_key = op == Operator::Eq && session.is_none() && joins(&left.0, &right.0);
        if is_key && whole.get_type(schema).is_ok() {
            return Ok(whole);
        }
        // Of a whole tuple a written NULL is asked for, whatever the other elements are.
        if is_equality && !written && has_written_null(&a, &b, schema)? {
            return Ok(unknown());
        }
        return match op {
            Operator::Eq => elements(&a, &b, schema, session),
            Operator::NotEq => Ok(Expr::Not(Box::new(elements(&a, &b, schema, session)?))),
            _ => in_order(&a, op, &b, schema, session),
        };
    }
    by_function(left.0, op, right.0)
}

/// Whether an element of a tuple, or of a tuple in it, is compared otherwise than by its layout: it may be NULL or NaN, or its
/// names are not in the order of its values.
fn compares_by_elements(column_type: &ColumnType) -> bool {
    use ColumnType::{Enum8, Enum16, Float32, Float64, Nothing, Tuple};
    match column_type.value_type() {
        Tuple(elements) => elements.iter().any(|element| {
            let element = &element.column_type;
            let is_odd = matches!(element, Float32 | Float64 | Enum8(_) | Enum16(_));
            is_odd || element.is_nullable() || compares_by_elements(element)
        }),
        other => *other == Nothing,
    }
}

/// The elements of a tuple; `None` of what is none.
pub(in crate::coercion) fn elements_of(
    (expr, column_type): (&Expr, &ColumnType),
) -> Result<Option<Vec<Expr>>> {
    if let Some(written) = call_arguments(expr, "tuple") {
        return Ok(Some(written.to_vec()));
    }
    let ColumnType::Tuple(elements) = column_type.value_type() else { return Ok(None) };
    let part = |at: usize| {
        let place = Expr::Literal(ScalarValue::UInt64(Some(model::saturating::u64_of(at + 1))), None);
        call("tupleElement", vec![expr.clone(), place])
    };
    (0..elements.len()).map(part).collect::<Result<Vec<_>>>().map(Some)
}

/// The arguments of a call of one of our functions.
pub(in crate::coercion) fn call_arguments<'a>(expr: &'a Expr, name: &str) -> Option<&'a [Expr]> {
    match expr {
        Expr::ScalarFunction(function) if function.func.name() == name => Some(&function.args),
        Expr::Alias(alias) => call_arguments(&alias.expr, name),
        _ => None,
    }
}

fn unknown() -> Expr {
    Expr::Literal(ScalarValue::Boolean(None), None)
}

fn has_written_null(left: &[Expr], right: &[Expr], schema: &DFSchema) -> Result<bool> {
    for element in left.iter().chain(right) {
        if type_of(element, schema)? == ColumnType::Nothing {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `(a, b) = (c, d)` as `a = c AND b = d`, which prunes. A written NULL among constants makes all of it NULL, as in ClickHouse.
pub(in crate::coercion) fn elements(
    left: &[Expr],
    right: &[Expr],
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<Expr> {
    // Of constants all of it is NULL then; of columns an element that differs decides.
    let is_constant = left.iter().chain(right).all(|element| element.column_refs().is_empty());
    if is_constant && has_written_null(left, right, schema)? {
        return Ok(unknown());
    }
    let pairs = left.iter().zip(right);
    let tests = pairs.map(|(a, b)| compare(a.clone(), Operator::Eq, b.clone(), schema, session));
    let all = conjunction(tests.collect::<Result<Vec<_>>>()?);
    Ok(all.unwrap_or_else(|| Expr::Literal(ScalarValue::Boolean(Some(true)), None)))
}

/// `(a, b) < (c, d)` and the like: the first elements that differ decide.
fn in_order(
    left: &[Expr],
    op: Operator,
    right: &[Expr],
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<Expr> {
    if has_written_null(left, right, schema)? {
        return Ok(unknown());
    }
    let strict = match op {
        Operator::Lt | Operator::LtEq => Operator::Lt,
        _ => Operator::Gt,
    };
    let mut decided: Option<Expr> = None;
    for (a, b) in left.iter().zip(right).rev() {
        let test = |op: Operator| compare(a.clone(), op, b.clone(), schema, session);
        decided = Some(match decided {
            None => test(op)?,
            Some(rest) => test(strict)?.or(binary(test(Operator::Eq)?, Operator::And, rest)),
        });
    }
    Ok(decided.unwrap_or_else(unknown))
}
