//! Comparisons as ClickHouse compares: literals take the type of the column they are compared with.
//!
//! Invariant: a column keeps standing bare on its side wherever a literal can be moved to its type instead, so that
//! pruning, hash joins and Parquet see it.

mod names;
mod tuples;

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};
use functions::SessionValues;
use model::{ColumnType, ErrorCode, WideInteger};

use crate::scalar::adapter::{CAST, call};
use crate::scalar::truth::check;
use crate::types::literals::{Purpose, literal_as};
use aggregates::typing::{external, is_predicate, literal_of, type_of};
use functions::FunctionError;
pub(super) use tuples::{call_arguments, elements, elements_of};

/// The function that compares as this operator does, for types Arrow does not compare.
fn function_of(op: Operator) -> Option<&'static str> {
    Some(match op {
        Operator::Eq => "equals",
        Operator::NotEq => "notEquals",
        Operator::Lt => "less",
        Operator::LtEq => "lessOrEquals",
        Operator::Gt => "greater",
        Operator::GtEq => "greaterOrEquals",
        _ => return None,
    })
}

pub(crate) fn is_comparison(op: Operator) -> bool {
    function_of(op).is_some()
}

pub(crate) fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// `_CAST(expr, 'type')`.
pub(crate) fn cast_to(expr: Expr, to: &ColumnType) -> Result<Expr> {
    let text = ScalarValue::Utf8View(Some(to.to_string()));
    call(CAST, vec![expr, Expr::Literal(text, None)])
}

/// As [`cast_to`], of what is no conversion that somebody wrote: a 64-bit integer that a float would round is an error.
pub(crate) fn fit_to(expr: Expr, from: &ColumnType, to: &ColumnType) -> Result<Expr> {
    let may_be_rounded = matches!(from.value_type(), ColumnType::Int64 | ColumnType::UInt64) && is_float(to);
    if !may_be_rounded {
        return cast_to(expr, to);
    }
    let text = ScalarValue::Utf8View(Some(to.to_string()));
    call("accurateCast", vec![expr, Expr::Literal(text, None)])
}

/// The expression as a value: a predicate becomes the UInt8 that it is in ClickHouse.
pub(crate) fn as_value(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if !is_predicate(&expr, schema)? {
        return Ok(expr);
    }
    if is_always_null(&expr, schema)? {
        return Ok(Expr::Literal(ScalarValue::Null, None));
    }
    let column_type = type_of(&expr, schema)?;
    let plain = if is_bool(&expr, schema)? { ColumnType::Bool } else { ColumnType::UInt8 };
    let to = if column_type.is_nullable() && !knows_null(&expr) { plain.nullable() } else { plain };
    cast_to(expr, &to)
}

/// The call with values for those of its arguments that [`argument`] is about.
pub(crate) fn arguments(mut function: ScalarFunction, schema: &DFSchema) -> Result<ScalarFunction> {
    let args = std::mem::take(&mut function.args).into_iter();
    function.args = args.map(|arg| argument(arg, schema)).collect::<Result<_>>()?;
    Ok(function)
}

/// A predicate among the arguments of a function. Where Bools are in it the optimizer makes another type of it than it has here,
/// `b` of `b = true` and `b = false` of `NOT b`: such a one is a value at once.
fn argument(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    if !is_predicate(&expr, schema)? {
        return Ok(expr);
    }
    let compares_bools = match &expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            is_bool(left, schema)? || is_bool(right, schema)?
        }
        _ => false,
    };
    if compares_bools || is_bool(&expr, schema)? { as_value(expr, schema) } else { Ok(expr) }
}

/// Whether a NULL without a type is compared or negated: the answer has no type either.
fn is_always_null(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let is_nothing = |expr: &Expr| {
        Ok::<_, datafusion::common::DataFusionError>(type_of(expr, schema)? == ColumnType::Nothing)
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            Ok(is_nothing(left)? || is_nothing(right)?)
        }
        Expr::Not(inner) => Ok(is_nothing(inner)? || is_always_null(inner, schema)?),
        _ => Ok(false),
    }
}

/// Whether the answer is never NULL, whatever is asked about.
fn knows_null(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => knows_null(&alias.expr),
        Expr::BinaryExpr(BinaryExpr { op, .. }) => {
            matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
        }
        _ => false,
    }
}

/// Logic over a Bool is a Bool; every other predicate is a UInt8.
pub(crate) fn is_bool(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    match expr {
        Expr::Alias(alias) => is_bool(&alias.expr, schema),
        Expr::Not(inner) => is_bool(inner, schema),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            Ok(is_bool(left, schema)? || is_bool(right, schema)?)
        }
        other => Ok(*type_of(other, schema)?.value_type() == ColumnType::Bool),
    }
}

/// The expression as a predicate: a number becomes `number <> 0`.
pub(crate) fn as_predicate(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let layout = expr.get_type(schema)?;
    if layout == arrow::datatypes::DataType::Boolean || layout.is_null() {
        return Ok(expr);
    }
    check(&type_of(&expr, schema)?)?;
    Ok(binary(expr, Operator::NotEq, Expr::Literal(ScalarValue::new_zero(&layout)?, None)))
}

/// `left op right`. Without a session, what depends on its time zone stays as it is.
pub(crate) fn compare(
    left: Expr,
    op: Operator,
    right: Expr,
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<Expr> {
    let (left_type, right_type) = (type_of(&left, schema)?, type_of(&right, schema)?);
    if left_type.state().is_some() || right_type.state().is_some() {
        return Err(illegal_types(&left_type, &right_type));
    }
    if nests(&left_type) || nests(&right_type) {
        return tuples::nested((left, &left_type), op, (right, &right_type), schema, session);
    }
    if let Some(answer) = names::unordered((&left, &left_type), op, (&right, &right_type))? {
        return Ok(answer);
    }
    // A constant that a float rounds is compared with all its digits.
    let (left_literal, right_literal) = (literal_of(&left), literal_of(&right));
    let is_constant = (left_literal.is_some() || right_literal.is_some())
        && !left_literal.into_iter().chain(right_literal).any(is_rounded);
    // It may become the key of a join, which is hashed, in a type that both have.
    let is_key =
        op == Operator::Eq && session.is_none() && (joins(&left, &right) || asks_around(&left, &right));
    if is_apart(&left_type, &right_type)
        && !((is_constant || is_key) && (is_float(&left_type) || is_float(&right_type)))
    {
        return by_function(left, op, right);
    }
    let (left, right) = align((left, &left_type), (right, &right_type), schema, session)?;
    // With a session it is the last time that the comparison is looked at.
    if session.is_some() { without_nan(left, op, right, schema) } else { Ok(binary(left, op, right)) }
}

/// `left = right` as the key of a join, which finds NaN for NaN.
pub(super) fn compare_key(
    left: Expr,
    right: Expr,
    schema: &DFSchema,
    session: &SessionValues,
) -> Result<Expr> {
    let (left_type, right_type) = (type_of(&left, schema)?, type_of(&right, schema)?);
    if !is_float(&left_type) || !is_float(&right_type) {
        return compare(left, Operator::Eq, right, schema, Some(session));
    }
    let (left, right) = align((left, &left_type), (right, &right_type), schema, Some(session))?;
    Ok(binary(left, Operator::Eq, right))
}

/// Arrow has NaN in order with the numbers; in ClickHouse it equals nothing and is neither less nor greater.
fn without_nan(left: Expr, op: Operator, right: Expr, schema: &DFSchema) -> Result<Expr> {
    // Whatever it is compared with, the answer is NULL.
    if [&left, &right].into_iter().any(|side| literal_of(side).is_some_and(ScalarValue::is_null)) {
        return Ok(binary(left, op, right));
    }
    // What a subquery answers for each row is asked for once: it is joined where it stands.
    if asks_for_each_row(&left)? && may_be_nan(&left, schema)?
        || asks_for_each_row(&right)? && may_be_nan(&right, schema)?
    {
        return by_function(left, op, right);
    }
    let mut tests = vec![];
    for (side, other) in [(&left, &right), (&right, &left)] {
        if may_be_nan(side, schema)? {
            // Beside NULL it does not matter what it is: the answer is NULL. Who asks a subquery has a condition, to which false
            // is as good, and which prunes.
            let may_be_null = !other.column_refs().is_empty() && type_of(other, schema)?.is_nullable();
            let is_unknown = may_be_null.then(|| other.clone().is_null());
            tests.push((call("isNaN", vec![side.clone()])?, is_unknown));
        }
    }
    let compared = binary(left, op, right);
    let is_number = |(test, is_unknown): (Expr, Option<Expr>)| {
        let is_number = binary(test, Operator::Eq, Expr::Literal(ScalarValue::UInt8(Some(0)), None));
        is_unknown.into_iter().fold(is_number, Expr::or)
    };
    let is = |test: Expr, op: Operator| binary(test, op, Expr::Literal(ScalarValue::UInt8(Some(0)), None));
    Ok(match (op, tests.len()) {
        (_, 0) => compared,
        // A number and NaN differ for Arrow too.
        (Operator::Eq | Operator::NotEq, 1) => compared,
        (Operator::Eq, _) => tests.into_iter().take(1).map(is_number).fold(compared, Expr::and),
        (Operator::NotEq, _) => {
            let both = conjunction(tests.into_iter().map(|(test, _)| is(test, Operator::NotEq)));
            both.into_iter().fold(compared, Expr::or)
        }
        _ => tests.into_iter().map(is_number).fold(compared, Expr::and),
    })
}

/// Whether one side is of a subquery and the other of the statement around it, with which the subquery is joined.
pub(super) fn asks_around(left: &Expr, right: &Expr) -> bool {
    let is_of_a_table = |expr: &Expr| !expr.contains_outer() && !expr.column_refs().is_empty();
    left.contains_outer() && is_of_a_table(right) || right.contains_outer() && is_of_a_table(left)
}

/// Whether there is a subquery in it that is about the row.
fn asks_for_each_row(expr: &Expr) -> Result<bool> {
    expr.exists(|part| {
        Ok(matches!(part, Expr::ScalarSubquery(subquery) if !subquery.outer_ref_columns.is_empty()))
    })
}

/// Whether the sides are of different tables.
pub(super) fn joins(left: &Expr, right: &Expr) -> bool {
    let (left, right) = (left.column_refs(), right.column_refs());
    let apart = |column: &Column| right.iter().all(|other| other.relation != column.relation);
    !left.is_empty() && !right.is_empty() && left.iter().all(|column| apart(column))
}

fn may_be_nan(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(match literal_of(expr) {
        Some(ScalarValue::Float32(Some(value))) => value.is_nan(),
        Some(ScalarValue::Float64(Some(value))) => value.is_nan(),
        Some(_) => false,
        None => is_float(&type_of(expr, schema)?),
    })
}

/// Whether NaN is among its values.
pub(crate) fn is_float(column_type: &ColumnType) -> bool {
    matches!(column_type.value_type(), ColumnType::Float32 | ColumnType::Float64)
}

pub(super) fn nests(column_type: &ColumnType) -> bool {
    matches!(column_type.value_type(), ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_))
}

fn by_function(left: Expr, op: Operator, right: Expr) -> Result<Expr> {
    let name = function_of(op).unwrap_or("equals");
    let made = call(name, vec![left, right])?;
    let zero = Expr::Literal(ScalarValue::UInt8(Some(0)), None);
    Ok(binary(made, Operator::NotEq, zero))
}

/// Whether no type holds both: UInt256 and numbers below zero, 64 bits and floats.
pub(crate) fn is_apart(a: &ColumnType, b: &ColumnType) -> bool {
    use ColumnType::{Float32, Float64, Int8, Int16, Int32, Int64, Int128, Int256, UInt64, UInt256};
    let signed = |t: &ColumnType| matches!(t, Int8 | Int16 | Int32 | Int64 | Int128 | Int256);
    match (a.value_type(), b.value_type()) {
        (UInt256, other) | (other, UInt256) => signed(other),
        // No float holds them all.
        (Float32 | Float64, Int64 | UInt64) | (Int64 | UInt64, Float32 | Float64) => true,
        _ => false,
    }
}

/// Sides of which one is a wide integer, or two kinds of addresses: both in a type that holds both.
fn common(left: Side, right: Side) -> Result<(Expr, Expr)> {
    let (a, b) = (left.1.value_type(), right.1.value_type());
    let common = match (a, b) {
        _ if a.is_string() || b.is_string() => return Err(no_common_type(a, b)),
        _ if a.is_address() && b.is_address() => ColumnType::Ipv6,
        (ColumnType::Decimal { scale, .. }, _) | (_, ColumnType::Decimal { scale, .. }) => {
            ColumnType::Decimal { precision: 76, scale: *scale }
        }
        _ if is_float(a) || is_float(b) => ColumnType::Float64,
        _ if holds(a, b) => a.clone(),
        _ if holds(b, a) => b.clone(),
        _ if a.is_number() && b.is_number() => ColumnType::Int256,
        _ => return Err(illegal_types(a, b)),
    };
    let side = |(expr, own): Side| match own.is_nullable() {
        _ if *own.value_type() == common => Ok(expr),
        true => cast_to(expr, &common.clone().nullable()),
        false => cast_to(expr, &common),
    };
    Ok((side(left)?, side(right)?))
}

/// Whether a wide type has all numbers of an integer type.
fn holds(wide: &ColumnType, other: &ColumnType) -> bool {
    use ColumnType::{Bool, UInt8, UInt16, UInt32, UInt64};
    let unsigned = |t: &ColumnType| matches!(t, Bool | UInt8 | UInt16 | UInt32 | UInt64);
    match (WideInteger::of(wide), WideInteger::of(other)) {
        (Some(wide), Some(other)) => {
            wide.bytes > other.bytes && (wide.signed || !other.signed) || wide == other
        }
        (Some(wide), None) => unsigned(other) || other.is_integer() && wide.signed,
        _ => false,
    }
}

/// Whether a constant, or an integer beside it, becomes another number where both become Float64.
fn is_rounded(constant: &ScalarValue) -> bool {
    // From 2^63 on a float may be what the largest integers become, though none of them is it.
    const FROM: f64 = 9_223_372_036_854_775_808.0;
    let is_long = |number: u64| {
        number != 0 && u64::BITS - number.leading_zeros() - number.trailing_zeros() > f64::MANTISSA_DIGITS
    };
    match constant {
        ScalarValue::Float32(Some(float)) => float.is_finite() && f64::from(*float).abs() >= FROM,
        ScalarValue::Float64(Some(float)) => float.is_finite() && float.abs() >= FROM,
        ScalarValue::Int64(Some(number)) => is_long(number.unsigned_abs()),
        ScalarValue::UInt64(Some(number)) => is_long(*number),
        _ => false,
    }
}

type Side<'a> = (Expr, &'a ColumnType);

fn align(
    left: Side,
    right: Side,
    schema: &DFSchema,
    session: Option<&SessionValues>,
) -> Result<(Expr, Expr)> {
    let ((left, left_type), (right, right_type)) = (left, right);
    let (left_flag, right_flag) = (is_predicate(&left, schema)?, is_predicate(&right, schema)?);
    let both_booleans = left.get_type(schema)? == right.get_type(schema)?;
    if (left_flag || right_flag) && !both_booleans {
        return Ok((as_value(left, schema)?, as_value(right, schema)?));
    }
    let (a, b) = (left_type.value_type(), right_type.value_type());
    let unknown = |t: &ColumnType| *t == ColumnType::Nothing;
    if a == b || both_booleans && left_flag != right_flag || unknown(a) || unknown(b) {
        return Ok((left, right));
    }
    if let Some(value) = literal_of(&right)
        && let Some(literal) = literal_as(value, right_type, left_type, Purpose::Compare, session)?
    {
        return Ok((left, literal));
    }
    if let Some(value) = literal_of(&left)
        && let Some(literal) = literal_as(value, left_type, right_type, Purpose::Compare, session)?
    {
        return Ok((literal, right));
    }
    // A text may still become a time, in a zone that only the session knows.
    if session.is_none() && (is_moment(a) && b.is_string() || is_moment(b) && a.is_string()) {
        return Ok((left, right));
    }
    if a.is_wide_integer() || b.is_wide_integer() || a.is_address() && b.is_address() {
        return common((left, left_type), (right, right_type));
    }
    columns((left, left_type), (right, right_type))
}

fn is_moment(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. })
}

/// Two sides neither of which is a literal that fits the other.
fn columns(left: Side, right: Side) -> Result<(Expr, Expr)> {
    use ColumnType::{Bool, Date, Date32, DateTime, DateTime64, Decimal, Ipv4, Ipv6, UInt32, UInt64, Uuid};
    use ColumnType::{Float32, Int32};
    let ((left, left_type), (right, right_type)) = (left, right);
    let (a, b) = (left_type.value_type(), right_type.value_type());
    // NULL stays NULL.
    let cast = |(expr, own): (&Expr, &ColumnType), to: &ColumnType| match own.is_nullable() {
        true => cast_to(expr.clone(), &to.clone().nullable()),
        false => cast_to(expr.clone(), to),
    };
    let left_as = |to: &ColumnType| cast((&left, left_type), to);
    let right_as = |to: &ColumnType| cast((&right, right_type), to);
    match (a, b) {
        (ColumnType::String, ColumnType::FixedString(_)) => Ok((without_zeros(left)?, right)),
        (ColumnType::FixedString(_), ColumnType::String) => Ok((left, without_zeros(right)?)),
        _ if a.is_string() && b.is_string() => Ok((left, right)),
        _ if a.is_string() && b.enum_values().is_some() => Ok((left, right_as(&ColumnType::String)?)),
        _ if b.is_string() && a.enum_values().is_some() => Ok((left_as(&ColumnType::String)?, right)),
        _ if a.is_string() || b.is_string() => Err(no_common_type(a, b)),
        (Bool, _) if b.is_number() => Ok((left_as(&ColumnType::UInt8)?, right)),
        (_, Bool) if a.is_number() => Ok((left, right_as(&ColumnType::UInt8)?)),
        // They are exact in that type alone.
        (Float32, Int32 | UInt32) | (Int32 | UInt32, Float32) => {
            Ok((left_as(&ColumnType::Float64)?, right_as(&ColumnType::Float64)?))
        }
        (Decimal { .. }, _) if is_float(b) => Ok((left_as(&ColumnType::Float64)?, right)),
        (_, Decimal { .. }) if is_float(a) => Ok((left, right_as(&ColumnType::Float64)?)),
        (Date | Date32, Date | Date32) => Ok((left, right)),
        // As in ClickHouse, a Date32 becomes a DateTime64 without a zone beside DateTime: midnight of the session.
        (Date32, DateTime { .. }) => Ok((cast((&left_as(&MIDNIGHT)?, left_type), &as_long(b))?, right)),
        (DateTime { .. }, Date32) => Ok((left, cast((&right_as(&MIDNIGHT)?, right_type), &as_long(a))?)),
        (Date | Date32, DateTime { .. } | DateTime64 { .. }) => Ok((left_as(&as_long(b))?, right)),
        (DateTime { .. } | DateTime64 { .. }, Date | Date32) => Ok((left, right_as(&as_long(a))?)),
        (DateTime { .. } | DateTime64 { .. }, DateTime { .. } | DateTime64 { .. }) => {
            // DateTime64(0) lies in memory as DateTime does, and has moments that it has not.
            match (a, b) {
                (DateTime { time_zone: one }, DateTime64 { precision: 0, time_zone: other })
                    if one == other =>
                {
                    Ok((left, right))
                }
                (DateTime { .. }, DateTime64 { .. }) => Ok((left_as(b)?, right)),
                _ if digits(a) < digits(b) => Ok((left_as(b)?, right)),
                _ => Ok((left, right_as(a)?)),
            }
        }
        (DateTime { .. } | DateTime64 { .. }, _) if b.is_number() => Ok((left_as(&seconds_of(a, b))?, right)),
        (_, DateTime { .. } | DateTime64 { .. }) if a.is_number() => Ok((left, right_as(&seconds_of(b, a))?)),
        // The layout of an IPv4 address is its number.
        (Ipv4, UInt32 | UInt64) | (UInt32 | UInt64, Ipv4) => Ok((left, right)),
        (Date | Date32 | Uuid | Ipv4 | Ipv6, _) | (_, Date | Date32 | Uuid | Ipv4 | Ipv6) => {
            Err(illegal_types(a, b))
        }
        _ => Ok((left, right)),
    }
}

/// The type of numbers that a time is compared with this one as: with its fraction.
fn seconds_of(moment: &ColumnType, number: &ColumnType) -> ColumnType {
    match moment {
        ColumnType::DateTime64 { .. } if is_float(number) => ColumnType::Float64,
        ColumnType::DateTime64 { precision, .. } => ColumnType::Decimal { precision: 38, scale: *precision },
        _ => ColumnType::Int64,
    }
}

/// Days as times in the zone of the session.
const MIDNIGHT: ColumnType = ColumnType::DateTime64 { precision: 0, time_zone: None };

/// The type of times that has all dates, in the layout of this one: DateTime ends in 2106 and begins in 1970.
pub(super) fn as_long(moment: &ColumnType) -> ColumnType {
    match moment {
        ColumnType::DateTime { time_zone } => {
            ColumnType::DateTime64 { precision: 0, time_zone: time_zone.clone() }
        }
        other => other.clone(),
    }
}

/// A text without zero bytes at its end, as FixedStrings are kept: compared with one, they do not count.
fn without_zeros(text: Expr) -> Result<Expr> {
    let zero = Expr::Literal(ScalarValue::Utf8View(Some("\0".to_owned())), None);
    call("trimRight", vec![text, zero])
}

fn digits(column_type: &ColumnType) -> u8 {
    match column_type {
        ColumnType::DateTime64 { precision, .. } => *precision,
        _ => 0,
    }
}

fn no_common_type(a: &ColumnType, b: &ColumnType) -> datafusion::common::DataFusionError {
    let message = format!(
        "there is no supertype for types {a}, {b} because some of them are String/FixedString/Enum and some of them \
         are not"
    );
    external(FunctionError::new(ErrorCode::NO_COMMON_TYPE, message))
}

fn illegal_types(a: &ColumnType, b: &ColumnType) -> datafusion::common::DataFusionError {
    let message = format!("illegal types of arguments ({a}, {b}) of a comparison");
    external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
}
