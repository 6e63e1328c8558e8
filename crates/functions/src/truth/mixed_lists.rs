//! Arrays of numbers of two types that no type holds: 64-bit integers beside floats, or beside integers of another sign.
//!
//! Invariant: every element is compared by its value, none is rounded; NaN is in no order with anything. Must not know: which
//! comparison is asked for.

use std::cmp::Ordering;

use arrow::array::AsArray;
use model::ColumnType;

use crate::cast::CastMode;
use crate::columns::container::range;
use crate::columns::number::{Number, with_number};
use crate::error::FunctionError;
use crate::kernel::alike::{are_machine_numbers, as_numbers};
use crate::kernel::call::{Arg, Call};

/// An element.
#[derive(Clone, Copy)]
enum Cell {
    Whole(i128),
    Float(f64),
}

impl Cell {
    fn order(self, other: Cell) -> Option<Ordering> {
        match (self, other) {
            (Cell::Whole(one), Cell::Whole(other)) => Some(one.cmp(&other)),
            (Cell::Float(one), Cell::Float(other)) => one.partial_cmp(&other),
            (Cell::Float(one), Cell::Whole(other)) => order_of(one, other),
            (Cell::Whole(one), Cell::Float(other)) => order_of(other, one).map(Ordering::reverse),
        }
    }
}

/// A float against a whole number of 64 bits, exactly; `None` of NaN.
pub(super) fn order_of(float: f64, whole: i128) -> Option<Ordering> {
    // 2^70 is outside of 64 bits, and whole numbers below it are exact.
    const OUTSIDE: f64 = 1_180_591_620_717_411_303_424.0;
    if float.is_nan() {
        return None;
    }
    if float.abs() >= OUTSIDE {
        return Some(if float > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 2^70")]
    let order = (float.trunc() as i128).cmp(&whole);
    Some(order.then_with(|| float.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal)))
}

/// Whether both are arrays of plain numbers.
pub(super) fn are_some(a: &ColumnType, b: &ColumnType) -> bool {
    let are_plain =
        |a: &ColumnType, b: &ColumnType| !a.is_nullable() && !b.is_nullable() && are_machine_numbers(a, b);
    match (a, b) {
        (ColumnType::Array(a), ColumnType::Array(b)) => are_plain(a, b),
        _ => false,
    }
}

/// The order of both arguments, row by row; `None` where NaN decides.
pub(super) fn orders(call: &Call<'_>) -> Result<Vec<Option<Ordering>>, FunctionError> {
    let (a, b) = (call.arg(0)?, call.arg(1)?);
    let (ones, others) = (cells(call, a)?, cells(call, b)?);
    let (a_offsets, b_offsets) =
        (a.array.as_list::<i32>().value_offsets(), b.array.as_list::<i32>().value_offsets());
    let order = |row: usize| {
        let (own, other) = (range(a_offsets, a.row(row)), range(b_offsets, b.row(row)));
        let lengths = own.len().cmp(&other.len());
        let mut pairs = ones[own].iter().zip(&others[other]);
        let decided = pairs.find_map(|(one, other)| match one.order(*other) {
            Some(Ordering::Equal) => None,
            decided => Some(decided),
        });
        decided.unwrap_or(Some(lengths))
    };
    Ok((0..call.rows).map(order).collect())
}

/// All elements of an argument.
fn cells(call: &Call<'_>, arg: &Arg) -> Result<Vec<Cell>, FunctionError> {
    let ColumnType::Array(element) = arg.column_type.value_type() else {
        return Err(FunctionError::illegal_type(&arg.column_type, "of a comparison"));
    };
    let plain = as_numbers(element.value_type());
    let list = arg.array.as_list::<i32>();
    let values = call.caster(CastMode::Strict).column(list.values(), element, &plain)?;
    with_number!(&plain, T => {
        let cell = |value: &<T as arrow::datatypes::ArrowPrimitiveType>::Native| {
            let is_float = <<T as arrow::datatypes::ArrowPrimitiveType>::Native as Number>::FLOAT;
            if is_float { Cell::Float(value.float()) } else { Cell::Whole(value.int()) }
        };
        Ok(values.as_primitive::<T>().values().iter().map(cell).collect())
    }, else Err(FunctionError::illegal_type(&plain, "of a comparison")))
}
