//! `equals`, `less` and their kin between any two comparable types.
//!
//! Invariant: numbers compare by value whatever their types, NaN equals nothing, text meets a date or number as that
//! date or number. Results are UInt8.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::make_comparator;
use arrow::array::{ArrayRef, AsArray, Int64Array, UInt8Array};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Decimal256Type, Float64Type, Int8Type, Int16Type, UInt8Type, UInt32Type,
};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use crate::arithmetic::wide_integers;
use crate::cast::is_wide;
use crate::columns::number::{Number, with_number};
use crate::columns::wide::{kind_of, numbers};
use crate::error::FunctionError;
use crate::kernel::alike::number_supertype;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::repeated;
use crate::kernel::types::{compared_supertype, integer_shape, is_float};
use crate::time::temporal::ticks;
use crate::truth::intervals::{self, Meeting};
use crate::truth::mixed_lists::{self, order_of};
use crate::truth::nested_order;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
            Comparison::Greater => order.is_gt(),
            Comparison::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Two sides, each a column or a constant of one row.
pub(crate) struct Sides<'a> {
    pub(crate) a: &'a ArrayRef,
    pub(crate) b: &'a ArrayRef,
    pub(crate) a_constant: bool,
    pub(crate) b_constant: bool,
    pub(crate) rows: usize,
}

impl Sides<'_> {
    fn rows_of(&self, row: usize) -> (usize, usize) {
        (if self.a_constant { 0 } else { row }, if self.b_constant { 0 } else { row })
    }

    fn each(&self, test: impl Fn(usize, usize) -> bool) -> UInt8Array {
        let values: Vec<u8> = (0..self.rows)
            .map(|row| {
                let (x, y) = self.rows_of(row);
                u8::from(test(x, y))
            })
            .collect();
        UInt8Array::new(ScalarBuffer::from(values), None)
    }

    /// Slices of native values, compared without a branch per row.
    fn natives<T: PartialOrd + Copy>(&self, a: &[T], b: &[T], comparison: Comparison) -> UInt8Array {
        let apply = |test: fn(&T, &T) -> bool| -> UInt8Array {
            let values: Vec<u8> = match (self.a_constant, self.b_constant) {
                (false, false) => a.iter().zip(b).map(|(x, y)| u8::from(test(x, y))).collect(),
                (false, true) => a.iter().map(|x| u8::from(test(x, &b[0]))).collect(),
                (true, false) => b.iter().map(|y| u8::from(test(&a[0], y))).collect(),
                (true, true) => vec![u8::from(test(&a[0], &b[0])); self.rows],
            };
            UInt8Array::new(ScalarBuffer::from(values), None)
        };
        match comparison {
            Comparison::Equal => apply(|x, y| x == y),
            Comparison::NotEqual => apply(|x, y| x != y),
            Comparison::Less => apply(|x, y| x < y),
            Comparison::LessOrEqual => apply(|x, y| x <= y),
            Comparison::Greater => apply(|x, y| x > y),
            Comparison::GreaterOrEqual => apply(|x, y| x >= y),
        }
    }
}

/// Compares two sides of one type.
pub(crate) fn compare(
    sides: &Sides<'_>,
    column_type: &ColumnType,
    comparison: Comparison,
) -> Result<UInt8Array, FunctionError> {
    let (a, b) = (sides.a, sides.b);
    Ok(match column_type.value_type() {
        ColumnType::String | ColumnType::FixedString(_) => {
            let (a, b) = (a.as_string_view(), b.as_string_view());
            match comparison {
                Comparison::Equal => sides.each(|x, y| a.value(x) == b.value(y)),
                Comparison::NotEqual => sides.each(|x, y| a.value(x) != b.value(y)),
                _ => sides.each(|x, y| comparison.holds(a.value(x).cmp(b.value(y)))),
            }
        }
        ColumnType::Date | ColumnType::Date32 => sides.natives(
            a.as_primitive::<Date32Type>().values(),
            b.as_primitive::<Date32Type>().values(),
            comparison,
        ),
        ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => {
            let (a, b): (Int64Array, Int64Array) = (ticks(a), ticks(b));
            sides.natives(a.values(), b.values(), comparison)
        }
        ColumnType::Enum8(_) => sides.natives(
            a.as_primitive::<Int8Type>().values(),
            b.as_primitive::<Int8Type>().values(),
            comparison,
        ),
        ColumnType::Enum16(_) => sides.natives(
            a.as_primitive::<Int16Type>().values(),
            b.as_primitive::<Int16Type>().values(),
            comparison,
        ),
        ColumnType::Ipv4 => sides.natives(
            a.as_primitive::<UInt32Type>().values(),
            b.as_primitive::<UInt32Type>().values(),
            comparison,
        ),
        ColumnType::Bool => {
            let (a, b) = (a.as_boolean(), b.as_boolean());
            sides.each(|x, y| comparison.holds(a.value(x).cmp(&b.value(y))))
        }
        wide @ ColumnType::Decimal { .. } if is_wide(wide) => {
            let (a, b) = (a.as_primitive::<Decimal256Type>(), b.as_primitive::<Decimal256Type>());
            sides.natives(a.values(), b.values(), comparison)
        }
        ColumnType::Decimal { .. } => {
            let (a, b) = (a.as_primitive::<Decimal128Type>(), b.as_primitive::<Decimal128Type>());
            sides.natives(a.values(), b.values(), comparison)
        }
        number => with_number!(number, T => {
            sides.natives(a.as_primitive::<T>().values(), b.as_primitive::<T>().values(), comparison)
        }, else return compare_nested(sides, comparison)),
    })
}

/// UUIDs, addresses, wide integers, arrays, tuples and maps by their bytes or elements.
fn compare_nested(sides: &Sides<'_>, comparison: Comparison) -> Result<UInt8Array, FunctionError> {
    let wide = |array: &ArrayRef, constant: bool| {
        if constant { repeated(array, sides.rows) } else { Ok(Arc::clone(array)) }
    };
    // Inside of arrays and maps NaN is a value that is greater than all numbers.
    let (a, b) = (nested_order::settled(sides.a, false)?, nested_order::settled(sides.b, false)?);
    let (a, b) = (wide(&a, sides.a_constant)?, wide(&b, sides.b_constant)?);
    let options = SortOptions { descending: false, nulls_first: false };
    let order = make_comparator(&a, &b, options)?;
    let values: Vec<u8> = (0..sides.rows).map(|row| u8::from(comparison.holds(order(row, row)))).collect();
    Ok(UInt8Array::new(ScalarBuffer::from(values), None))
}

/// The type both sides are compared in; `None` for UInt64 against a signed number and for 64 bits against a float, which no
/// type holds, and for arrays of them.
fn common_type(a: &ColumnType, b: &ColumnType) -> Result<Option<ColumnType>, FunctionError> {
    let (a, b) = (a.value_type(), b.value_type());
    if a == b {
        return Ok(Some(a.clone()));
    }
    if wide_integers::applies(a, b) {
        return Ok(None);
    }
    let is_decimal = |t: &ColumnType| matches!(t, ColumnType::Decimal { .. });
    let is_number = |t: &ColumnType| t.is_number() || *t == ColumnType::Bool;
    if is_number(a) && is_number(b) {
        let wide = a.is_wide_integer() || b.is_wide_integer();
        if let (ColumnType::Decimal { scale, .. }, _) | (_, ColumnType::Decimal { scale, .. }) = (a, b)
            && wide
        {
            return Ok(Some(ColumnType::Decimal { precision: 76, scale: *scale }));
        }
        if (is_float(a) || is_float(b)) && (wide || is_decimal(a) || is_decimal(b)) {
            return Ok(Some(ColumnType::Float64));
        }
        let shapes = (integer_shape(a), integer_shape(b));
        if let (Some((8, _)), None) | (None, Some((8, _))) = shapes
            && (is_float(a) || is_float(b))
        {
            return Ok(None);
        }
        if let (Some((x, x_signed)), Some((y, y_signed))) = shapes
            && x_signed != y_signed
            && (x == 8 && !x_signed || y == 8 && !y_signed)
        {
            return Ok(None);
        }
        let plain = |t: &ColumnType| if *t == ColumnType::Bool { ColumnType::UInt8 } else { t.clone() };
        return compared_supertype([&plain(a), &plain(b)]).map(Some).map_err(|_| illegal_types(a, b));
    }
    match (a, b) {
        (a, b) if a.is_string() && b.is_string() => Ok(Some(ColumnType::String)),
        (text, other) | (other, text) if text.is_string() => Ok(Some(other.clone())),
        (names, number) | (number, names) if names.enum_values().is_some() && number.is_number() => {
            compared_supertype([&ColumnType::Int16, number]).map(Some)
        }
        (ColumnType::Ipv4, ColumnType::Ipv6) | (ColumnType::Ipv6, ColumnType::Ipv4) => {
            Ok(Some(ColumnType::Ipv6))
        }
        (ColumnType::Ipv4, number) | (number, ColumnType::Ipv4) if number.is_integer() => {
            Ok(Some(ColumnType::UInt64))
        }
        _ => match number_supertype(&[a, b]) {
            Ok(common) => Ok(Some(common)),
            Err(_) if mixed_lists::are_some(a, b) => Ok(None),
            Err(_) => Err(illegal_types(a, b)),
        },
    }
}

fn illegal_types(a: &ColumnType, b: &ColumnType) -> FunctionError {
    let message = format!("illegal types {a} and {b} of arguments of a comparison");
    FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
}

fn evaluate(call: &Call<'_>, comparison: Comparison) -> Result<ArrayRef, FunctionError> {
    let (a, b) = (call.arg(0)?, call.arg(1)?);
    if let Some(differs) = unknown_element(call)? {
        // A text that the enum does not name equals none of its values.
        let answer = u8::from(comparison == Comparison::NotEqual);
        if differs && matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            return call.each::<UInt8Type>(|_| Ok(answer));
        }
    }
    match intervals::meeting(&a.column_type, &b.column_type)? {
        Some(Meeting::Lengths) => {
            let (x, y) = (intervals::lengths(call, 0)?, intervals::lengths(call, 1)?);
            return call.each_flag(|row| comparison.holds(x[a.row(row)].cmp(&y[b.row(row)])));
        }
        Some(Meeting::Numbers) => {
            let args = [intervals::as_number(a), intervals::as_number(b)];
            return evaluate(&Call { args: &args, ..call.again() }, comparison);
        }
        None => {}
    }
    let Some(common) = common_type(&a.column_type, &b.column_type)? else {
        return widest(call, comparison);
    };
    let (left, right) = (in_type(call, 0, &common)?, in_type(call, 1, &common)?);
    let sides =
        Sides { a: &left, b: &right, a_constant: a.is_constant, b_constant: b.is_constant, rows: call.rows };
    Ok(Arc::new(compare(&sides, &common, comparison)?))
}

/// Whether an enum meets a constant text that it does not name; `None` where no enum meets a constant text.
fn unknown_element(call: &Call<'_>) -> Result<Option<bool>, FunctionError> {
    for (names, text) in [(0, 1), (1, 0)] {
        let arg = call.arg(text)?;
        let Some(values) = call.arg(names)?.column_type.enum_values() else { continue };
        if arg.column_type.is_string() && arg.is_constant {
            return Ok(Some(values.number(call.texts(text)?.get(0)).is_none()));
        }
    }
    Ok(None)
}

fn in_type(call: &Call<'_>, index: usize, common: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let arg = call.arg(index)?;
    if arg.column_type == *common {
        return Ok(Arc::clone(&arg.array));
    }
    let array = call.converted(index, common).map_err(|error| {
        let message = format!("cannot convert {} to type {common}: {}", arg.column_type, error.message);
        let code = if arg.column_type.is_string() { ErrorCode::TYPE_MISMATCH } else { error.code };
        FunctionError::new(code, message)
    })?;
    Ok(cast(&array, &to_data_type(common))?)
}

fn widest(call: &Call<'_>, comparison: Comparison) -> Result<ArrayRef, FunctionError> {
    let (x, y) = (call.arg(0)?, call.arg(1)?);
    let (x_type, y_type) = (x.column_type.value_type(), y.column_type.value_type());
    if mixed_lists::are_some(x_type, y_type) {
        let orders = mixed_lists::orders(call)?;
        return call.each_flag(|row| {
            orders[row].map_or(comparison == Comparison::NotEqual, |order| comparison.holds(order))
        });
    }
    if wide_integers::applies(x_type, y_type) {
        let (a, b) = (numbers(&x.array, x_type)?, numbers(&y.array, y_type)?);
        let (x_kind, y_kind) = (kind_of(x_type), kind_of(y_type));
        return call.each_flag(|row| comparison.holds(x_kind.order(a[x.row(row)], y_kind, b[y.row(row)])));
    }
    let read = |index: usize| -> Result<Vec<i128>, FunctionError> {
        let arg = call.arg(index)?;
        let plain =
            if arg.column_type == ColumnType::Bool { ColumnType::UInt8 } else { arg.column_type.clone() };
        let array = call.converted(index, &plain)?;
        Ok(
            with_number!(&plain, T => array.as_primitive::<T>().values().iter().map(|v| v.int()).collect(), else Vec::new()),
        )
    };
    if is_float(x_type) || is_float(y_type) {
        let (float, whole) = if is_float(x_type) { (0, 1) } else { (1, 0) };
        let (floats, wholes) = (call.converted(float, &ColumnType::Float64)?, read(whole)?);
        let floats = floats.as_primitive::<Float64Type>();
        let (of_float, of_whole) = (call.arg(float)?, call.arg(whole)?);
        return call.each_flag(|row| {
            let order = order_of(floats.value(of_float.row(row)), wholes[of_whole.row(row)]);
            let order = if float == 0 { order } else { order.map(Ordering::reverse) };
            order.map_or(comparison == Comparison::NotEqual, |order| comparison.holds(order))
        });
    }
    let (a, b) = (read(0)?, read(1)?);
    let (left, right) = (&call.arg(0)?.array, &call.arg(1)?.array);
    let (a_constant, b_constant) = (call.arg(0)?.is_constant, call.arg(1)?.is_constant);
    let sides = Sides { a: left, b: right, a_constant, b_constant, rows: call.rows };
    Ok(Arc::new(sides.natives(&a, &b, comparison)))
}

fn rule(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if let [a, b] = args
        && intervals::meeting(&a.column_type, &b.column_type)?.is_none()
    {
        common_type(&a.column_type, &b.column_type)?;
    }
    Ok(ColumnType::UInt8)
}

/// Whether two rows are equal, by a mode that keeps NULL apart from every value.
pub(crate) fn equal_flags(call: &Call<'_>, a: usize, b: usize) -> Result<Vec<bool>, FunctionError> {
    let args = [call.arg(a)?.clone(), call.arg(b)?.clone()];
    let uint8 = ColumnType::UInt8;
    let plain = |arg: &crate::kernel::call::Arg| crate::kernel::call::Arg {
        array: Arc::clone(&arg.array),
        is_constant: arg.is_constant,
        column_type: arg.column_type.value_type().clone(),
    };
    let pair = [plain(&args[0]), plain(&args[1])];
    if pair.iter().any(|arg| arg.column_type == ColumnType::Nothing) {
        return Ok(vec![false; call.rows]);
    }
    let inner = Call::new(&pair, call.rows, &uint8, call.session);
    let equal = evaluate(&inner, Comparison::Equal)?;
    let equal = equal.as_primitive::<UInt8Type>();
    let is_equal = |row: usize| equal.value(row) == 1 && !args[0].is_null(row) && !args[1].is_null(row);
    Ok((0..call.rows).map(is_equal).collect())
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let table = [
        ("equals", Comparison::Equal, "equals(a, b)", "Whether a = b.", "equals(1, 1.0) -> 1"),
        (
            "notEquals",
            Comparison::NotEqual,
            "notEquals(a, b)",
            "Whether a and b differ.",
            "notEquals(1, 2) -> 1",
        ),
        ("less", Comparison::Less, "less(a, b)", "Whether a < b.", "less(1, 2) -> 1"),
        (
            "lessOrEquals",
            Comparison::LessOrEqual,
            "lessOrEquals(a, b)",
            "Whether a <= b.",
            "lessOrEquals(2, 2) -> 1",
        ),
        ("greater", Comparison::Greater, "greater(a, b)", "Whether a > b.", "greater(1, 2) -> 0"),
        (
            "greaterOrEquals",
            Comparison::GreaterOrEqual,
            "greaterOrEquals(a, b)",
            "Whether a >= b.",
            "greaterOrEquals(2, 2) -> 1",
        ),
    ];
    let make = |(name, comparison, signature, description, example)| {
        ScalarFunction::new(name, 2..=2, rule, move |call| evaluate(call, comparison)).doc(
            signature,
            description,
            example,
        )
    };
    table.into_iter().map(make).collect()
}
