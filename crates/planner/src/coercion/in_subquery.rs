//! `x IN (SELECT ..)`: both sides in one type in which equal values are the same, before DataFusion finds one that rounds.
//!
//! Invariant: a value of the set that the left side's type does not hold is in no set, as NULL is; only days are what ClickHouse makes
//! of them, and times of day go where the set has days. Must not know: how a set is looked into.

use std::sync::Arc;

use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Projection, Subquery, when};
use functions::FunctionError;
use model::{ColumnType, ErrorCode, TupleElement};

use super::comparison::{as_long, call_arguments, cast_to, is_apart, is_float};
use crate::scalar::adapter::call;
use aggregates::typing::{external, type_of, type_of_field};

/// The sides of IN as DataFusion may compare them.
pub(crate) fn in_subquery(asked: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let InSubquery { expr, subquery, negated } = asked;
    let (expr, subquery) = of_one_type(*expr, subquery, schema)?;
    let subquery = with_own_name(without_nulls(subquery)?, schema)?;
    Ok(Expr::InSubquery(InSubquery { expr: Box::new(expr), subquery, negated }))
}

/// A value and an element of the set that it is looked up in, both columns of one schema.
pub(crate) fn sides(value: Expr, element: Expr, schema: &DFSchema) -> Result<(Expr, Expr)> {
    let (value_type, element_type) = (type_of(&value, schema)?, type_of(&element, schema)?);
    let value = as_present(value, &value_type, (&element, &element_type))?;
    let value_type = type_of(&value, schema)?;
    match way(value_type.value_type(), element_type.value_type()) {
        // Our functions compare them.
        Way::Never => Ok((value, element)),
        _ => in_one_type((value, &value_type), (element, &element_type)),
    }
}

/// A tuple, or an element of one, that is looked for among tuples which a subquery gives as such: not Nullable where these are not.
fn as_present(value: Expr, own: &ColumnType, (element, wanted): (&Expr, &ColumnType)) -> Result<Expr> {
    let is_written = |set: &Expr| matches!(set, Expr::Column(set) if !set.name.contains(OF_COLUMNS));
    match (call_arguments(element, "tupleElement"), own.value_type(), wanted.value_type()) {
        (Some([set, _]), ..) if is_written(set) => match present_type(own, wanted)? {
            Some(present) => cast_to(value, &present),
            None => Ok(value),
        },
        (None, ColumnType::Tuple(left), ColumnType::Tuple(set))
            if is_written(element) && left.len() == set.len() =>
        {
            without_null_elements(value, left, set)
        }
        _ => Ok(value),
    }
}

/// What the name of a set's tuples has where the rewrite has put them together of several columns: among these a NULL is just not
/// found.
const OF_COLUMNS: &str = "\u{1}in";

/// Whether it is what a subquery gives as such, or an element of such a tuple: in tuples NULL is a value as any other.
pub(super) fn is_of_whole(element: &Expr) -> bool {
    let part = call_arguments(element, "tupleElement").and_then(|args| args.first());
    let is_set = |set: &Expr| matches!(set, Expr::Column(set) if !set.name.contains(OF_COLUMNS));
    part.map_or_else(|| is_set(element), is_set)
}

/// What becomes of two sides of different types.
enum Way {
    /// DataFusion compares them as they are.
    Kept,
    /// The set in the type of the left side; what does not fit is NULL.
    Fitted(ColumnType),
    /// As that, by their digits: Decimals and wide integers have no other conversion that rounds nothing.
    Written(ColumnType),
    /// The set in a type that has all of its values.
    Set(ColumnType),
    /// The left side in a type.
    Left(ColumnType),
    /// Both in their types.
    Both(ColumnType, ColumnType),
    /// The left side in the set's type, as ClickHouse has it always; both as texts, so that what does not fit is a text that no
    /// value has.
    Shown,
    /// They have none.
    Never,
}

fn way(left: &ColumnType, set: &ColumnType) -> Way {
    use ColumnType::{Array, Bool, Date, Date32, DateTime, DateTime64, Decimal, FixedString, Nothing};
    let bytes = |t: &ColumnType| t.is_address() || t.is_wide_integer();
    match (left, set) {
        _ if left == set || *set == Nothing || *left == Nothing => Way::Kept,
        // As ClickHouse, by how the value is written: '01' is not 1.
        (written, ColumnType::String) if is_compared_as_text(written) => Way::Left(ColumnType::String),
        _ if is_shown(left, set) => Way::Shown,
        // As ClickHouse, by the number or time that is written there.
        (FixedString(_), other) if is_plain(other) || other.is_wide_integer() => Way::Left(other.clone()),
        (wide, Decimal { .. }) if wide.is_wide_integer() => Way::Written(left.clone()),
        _ if bytes(left) || bytes(set) => Way::Fitted(left.clone()),
        // By their names; a text of digits is no number of an enum.
        (named, ColumnType::String) if named.enum_values().is_some() => Way::Left(ColumnType::String),
        (named, text) if named.enum_values().is_some() && text.is_string() => {
            Way::Both(ColumnType::String, ColumnType::String)
        }
        (text, named) if text.is_string() && named.enum_values().is_some() => Way::Set(ColumnType::String),
        (Bool, other) if other.is_number() => match way(&ColumnType::UInt8, other) {
            Way::Fitted(number) => Way::Both(number.clone(), number),
            _ => Way::Left(ColumnType::UInt8),
        },
        // Everything but 0 is true.
        (other, Bool) if other.is_number() => Way::Left(Bool),
        (Decimal { .. }, float) if is_float(float) => Way::Both(ColumnType::Float64, ColumnType::Float64),
        (float, Decimal { .. }) if is_float(float) => Way::Set(ColumnType::Float64),
        (Decimal { .. }, _) | (_, Decimal { .. }) => Way::Kept,
        _ if is_float(left) && set.is_integer() || left.is_integer() && is_float(set) => {
            Way::Fitted(left.clone())
        }
        (Date | Date32, DateTime { .. } | DateTime64 { .. }) => Way::Left(as_long(set)),
        (DateTime { .. }, Date | Date32) => Way::Left(set.clone()),
        // As there, what is finer than the set has is left out.
        (DateTime64 { .. }, DateTime64 { .. }) => Way::Left(set.clone()),
        (DateTime { .. } | DateTime64 { .. }, DateTime { .. } | DateTime64 { .. }) => {
            if digits(left) < digits(set) { Way::Left(set.clone()) } else { Way::Set(left.clone()) }
        }
        (Array(a), Array(b)) if is_apart(a, b) => Way::Never,
        _ => Way::Kept,
    }
}

/// Types of which ClickHouse has no common one, but finds values of the one in sets of the other; and a DateTime64 among days,
/// a Decimal among integers, of which it forgets what stands behind the point.
fn is_shown(left: &ColumnType, set: &ColumnType) -> bool {
    use ColumnType::{Bool, Date, Date32, DateTime64, Decimal, String};
    let is_day = |t: &ColumnType| matches!(t, Date | Date32);
    match (left, set) {
        (String, other) | (other, String) => is_plain(other),
        (Bool, other) | (other, Bool) => is_time(other) || other.is_wide_integer(),
        (Decimal { .. }, other) => other.is_integer() || other.is_wide_integer(),
        (DateTime64 { .. }, other) if is_day(other) => true,
        (Date32, Date) => true,
        (day, other) | (other, day) if is_day(day) => other.is_integer() || is_float(other),
        _ => false,
    }
}

fn is_time(column_type: &ColumnType) -> bool {
    use ColumnType::{Date, Date32, DateTime, DateTime64};
    matches!(column_type, Date | Date32 | DateTime { .. } | DateTime64 { .. })
}

/// A number, a time or a Bool.
fn is_plain(column_type: &ColumnType) -> bool {
    is_time(column_type) || column_type.is_number() || *column_type == ColumnType::Bool
}

/// Whether a value is looked up in a set of texts by its own text.
fn is_compared_as_text(column_type: &ColumnType) -> bool {
    use ColumnType::{Bool, Date, DateTime, Decimal, Uuid};
    let is_other = matches!(column_type, Bool | Date | DateTime { .. } | Decimal { .. } | Uuid);
    is_other || column_type.is_number() || column_type.is_address() || column_type.is_wide_integer()
}

/// Digits of a second and whether it is one of DateTime, which has fewer moments than any other type of times.
fn digits(moment: &ColumnType) -> i8 {
    match moment {
        ColumnType::DateTime64 { precision, .. } => i8::try_from(*precision).unwrap_or(i8::MAX),
        _ => -1,
    }
}

fn of_one_type(expr: Expr, subquery: Subquery, schema: &DFSchema) -> Result<(Expr, Subquery)> {
    let column_type = type_of(&expr, schema)?;
    let of_set = Arc::clone(subquery.subquery.schema());
    let Some((qualifier, field)) = of_set.iter().next() else { return Ok((expr, subquery)) };
    let own = type_of_field(field);
    let (expr, column_type) = match (column_type.value_type(), own.value_type()) {
        (ColumnType::Tuple(left), ColumnType::Tuple(set))
            if left.len() == set.len() && !field.name().contains(OF_COLUMNS) =>
        {
            let expr = without_null_elements(expr, left, set)?;
            let column_type = type_of(&expr, schema)?;
            (expr, column_type)
        }
        _ => (expr, column_type),
    };
    let column = Expr::Column(Column::from((qualifier, field)));
    let (expr, element) = in_one_type((expr, &column_type), (column.clone(), &own))?;
    let subquery = if element == column { subquery } else { with_column(subquery, element)? };
    Ok((expr, subquery))
}

fn in_one_type(value: (Expr, &ColumnType), element: (Expr, &ColumnType)) -> Result<(Expr, Expr)> {
    let ((value, value_type), (element, element_type)) = (value, element);
    if let (ColumnType::Tuple(left), ColumnType::Tuple(set)) =
        (value_type.value_type(), element_type.value_type())
        && left.len() == set.len()
    {
        let pairs = left.iter().zip(set).map(|(left, set)| (&left.column_type, &set.column_type));
        let tuple = fitting_tuple(&element, &pairs.collect::<Vec<_>>())?;
        return Ok((value, tuple.unwrap_or(element)));
    }
    refuse_other_widths(value_type.value_type(), element_type.value_type())?;
    let typed = |expr: Expr, own: &ColumnType, to: ColumnType| match own.is_nullable() {
        true => cast_to(expr, &to.nullable()),
        false => cast_to(expr, &to),
    };
    Ok(match way(value_type.value_type(), element_type.value_type()) {
        Way::Kept => (value, element),
        Way::Fitted(to) => (value, fitted(element, &to)?),
        Way::Written(to) => (value, written(element, &to)?),
        Way::Set(to) => (value, typed(element, element_type, to)?),
        Way::Left(to) => (typed(value, value_type, to)?, element),
        Way::Both(left, set) if is_float(&set) => {
            (typed(value, value_type, left)?, typed(element, element_type, set)?)
        }
        Way::Both(left, set) => (typed(value, value_type, left)?, fitted(element, &set)?),
        Way::Shown => (shown(value, value_type, element_type)?, call("toString", vec![element])?),
        Way::Never => {
            let message =
                format!("there is no supertype for types {value_type}, {element_type} of the sides of IN");
            return Err(external(FunctionError::new(ErrorCode::NO_COMMON_TYPE, message)));
        }
    })
}

/// The tuple with elements that are not Nullable where those of the set's tuples are not: a NULL among them is an error when it is
/// met, as in ClickHouse.
///
/// # Errors
/// CANNOT_CONVERT_TYPE: the set has but NULL where the tuple has a value.
fn without_null_elements(value: Expr, left: &[TupleElement], set: &[TupleElement]) -> Result<Expr> {
    let mut elements = left.to_vec();
    for (own, set) in elements.iter_mut().zip(set) {
        if let Some(present) = present_type(&own.column_type, &set.column_type)? {
            own.column_type = present;
        }
    }
    if elements == left { Ok(value) } else { cast_to(value, &ColumnType::Tuple(elements)) }
}

/// The type of an element that must not be NULL; `None` where it may be, or is none.
///
/// # Errors
/// CANNOT_CONVERT_TYPE: the set has but NULL where the tuple has a value.
fn present_type(found: &ColumnType, wanted: &ColumnType) -> Result<Option<ColumnType>> {
    if *wanted == ColumnType::Nothing && *found != ColumnType::Nothing {
        let message = format!("conversion from {found} to Nothing is not supported");
        return Err(external(FunctionError::new(ErrorCode::CANNOT_CONVERT_TYPE, message)));
    }
    if !found.is_nullable() || wanted.is_nullable() {
        return Ok(None);
    }
    let is_bare = *found == ColumnType::Nothing;
    Ok(Some(if is_bare { wanted.clone() } else { found.value_type().clone() }))
}

/// Refuses a tuple in a set of other values, and another value in a set of tuples.
fn refuse_other_widths(left: &ColumnType, set: &ColumnType) -> Result<()> {
    width_of(left).map_or(Ok(()), |left| refuse_other_width(left, set))
}

/// Refuses a value of so many elements in a set of others.
///
/// # Errors
/// NUMBER_OF_COLUMNS_DOESNT_MATCH.
pub(crate) fn refuse_other_width(left: usize, set: &ColumnType) -> Result<()> {
    match width_of(set) {
        Some(set) if left != set => {
            let message = format!("the left side of IN has {left} elements, the subquery {set} columns");
            Err(external(FunctionError::new(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, message)))
        }
        _ => Ok(()),
    }
}

/// Elements of a tuple, one of any other value; `None` of a NULL without a type.
fn width_of(column_type: &ColumnType) -> Option<usize> {
    match column_type {
        ColumnType::Tuple(elements) => Some(elements.len()),
        ColumnType::Nothing => None,
        _ => Some(1),
    }
}

/// The set's tuples with elements of the left side's types, where DataFusion would round one; `None` where it would not.
fn fitting_tuple(tuple: &Expr, pairs: &[(&ColumnType, &ColumnType)]) -> Result<Option<Expr>> {
    let rounds = |(left, set): &(&ColumnType, &ColumnType)| {
        matches!(way(left.value_type(), set.value_type()), Way::Fitted(_) | Way::Written(_))
    };
    if !pairs.iter().any(rounds) {
        return Ok(None);
    }
    let element = |(at, pair): (usize, &(&ColumnType, &ColumnType))| {
        let place = Expr::Literal(ScalarValue::UInt64(Some(model::saturating::u64_of(at + 1))), None);
        let element = call("tupleElement", vec![tuple.clone(), place])?;
        match way(pair.0.value_type(), pair.1.value_type()) {
            Way::Fitted(to) => fitted(element, &to),
            Way::Written(to) => written(element, &to),
            _ => Ok(element),
        }
    };
    let elements = pairs.iter().enumerate().map(element).collect::<Result<Vec<_>>>()?;
    call("tuple", elements).map(Some)
}

/// The value as that type, NULL where it has no such one.
fn fitted(value: Expr, to: &ColumnType) -> Result<Expr> {
    let to = Expr::Literal(ScalarValue::Utf8View(Some(to.to_string())), None);
    call("accurateCastOrNull", vec![value, to])
}

/// A text that no value of a type that is compared by its texts has.
const NO_VALUE: &str = "\u{0}";

/// The text of a value in another type; [`NO_VALUE`] where that has none for it, and NULL only where the value is NULL.
fn shown(value: Expr, own: &ColumnType, to: &ColumnType) -> Result<Expr> {
    let text = call("toString", vec![fitted(within_days(value.clone(), own, to)?, to.value_type())?])?;
    let no_value = Expr::Literal(ScalarValue::Utf8View(Some(NO_VALUE.to_owned())), None);
    let text = call("ifNull", vec![text, no_value.clone()])?;
    // A part of a second is in no set of what has none.
    let text = match own.value_type() {
        ColumnType::DateTime64 { precision: 1.., .. } if !matches!(to.value_type(), ColumnType::String) => {
            let whole = call("toStartOfSecond", vec![value.clone()])?;
            call("if", vec![call("equals", vec![value.clone(), whole])?, text, no_value])?
        }
        _ => text,
    };
    match own.is_nullable() {
        true => {
            let is_there = Expr::IsNotNull(Box::new(value));
            when(is_there, text).end()
        }
        false => Ok(text),
    }
}

/// Days that a set of Dates does not reach are the first and the last one that it has, as in ClickHouse, whose toDate wraps.
fn within_days(value: Expr, own: &ColumnType, to: &ColumnType) -> Result<Expr> {
    use ColumnType::{Date, Date32, DateTime64};
    if !matches!((own.value_type(), to.value_type()), (Date32 | DateTime64 { .. }, Date)) {
        return Ok(value);
    }
    let end = |text: &str| {
        call("toDate32", vec![Expr::Literal(ScalarValue::Utf8View(Some(text.to_owned())), None)])
    };
    let day = call("toDate32", vec![value])?;
    call("least", vec![call("greatest", vec![day, end("1970-01-01")?])?, end("2149-06-06")?])
}

/// As [`fitted`], of the digits of the value.
fn written(value: Expr, to: &ColumnType) -> Result<Expr> {
    fitted(call("toString", vec![value])?, to)
}

/// The set with that in the place of its column.
fn with_column(subquery: Subquery, column: Expr) -> Result<Subquery> {
    let schema = Arc::clone(subquery.subquery.schema());
    let Some((qualifier, field)) = schema.iter().next() else { return Ok(subquery) };
    let column = column.alias_qualified(qualifier.cloned(), field.name());
    let projection = Projection::try_new(vec![column], Arc::clone(&subquery.subquery))?;
    Ok(subquery.with_plan(Arc::new(LogicalPlan::Projection(projection))))
}

/// The set of IN, in which ClickHouse has no NULL.
fn without_nulls(subquery: Subquery) -> Result<Subquery> {
    let schema = Arc::clone(subquery.subquery.schema());
    let Some((qualifier, field)) = schema.iter().next() else { return Ok(subquery) };
    if !field.is_nullable() {
        return Ok(subquery);
    }
    let present = Expr::IsNotNull(Box::new(Expr::Column(Column::from((qualifier, field)))));
    let filter = Filter::new(present, Arc::clone(&subquery.subquery));
    Ok(subquery.with_plan(Arc::new(LogicalPlan::Filter(filter))))
}

/// The set under a name that no column of the input without a table has: DataFusion makes a join of IN, in which it could not tell
/// the two, as in `SELECT n FROM (SELECT a + 1 AS n FROM t) WHERE n IN (SELECT n FROM u)`.
fn with_own_name(subquery: Subquery, schema: &DFSchema) -> Result<Subquery> {
    let of_set = Arc::clone(subquery.subquery.schema());
    let Some((qualifier, field)) = of_set.iter().next() else { return Ok(subquery) };
    let is_taken = |name: &str| schema.iter().any(|(table, other)| table.is_none() && other.name() == name);
    if !is_taken(field.name()) {
        return Ok(subquery);
    }
    let mut name = field.name().clone();
    while is_taken(&name) {
        name.push('\u{1}');
    }
    let column = Expr::Column(Column::from((qualifier, field))).alias(name);
    let projection = Projection::try_new(vec![column], Arc::clone(&subquery.subquery))?;
    Ok(subquery.with_plan(Arc::new(LogicalPlan::Projection(projection))))
}
