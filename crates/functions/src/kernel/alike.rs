//! Columns of two types whose cells are asked whether they are equal: both in a type in which equal cells are the same.
//!
//! Invariant: nothing is rounded. A Bool is the number that it is, and integers meet numbers that no type holds beside them as whole
//! numbers, of which a fraction is none. Must not know: which functions ask.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::buffer::ScalarBuffer;
use model::{ColumnType, TupleElement};

use crate::cast::Caster;
use crate::columns::number::{Number, with_number};
use crate::error::FunctionError;
use crate::kernel::types::{compared_supertype, integer_shape, is_float};

/// A column and its type.
pub(crate) type Typed<'a> = (&'a ArrayRef, &'a ColumnType);

/// The type of [`whole`] numbers.
pub(crate) const WHOLE: ColumnType = ColumnType::Decimal { precision: 38, scale: 0 };
/// What is no whole number: no integer of 64 bits.
const NONE: i128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;

/// The type with the number that a Bool is in the place of Bool, also inside of others. Recursive: a type has a depth.
pub(crate) fn as_numbers(column_type: &ColumnType) -> ColumnType {
    let boxed = |inner: &ColumnType| Box::new(as_numbers(inner));
    match column_type {
        ColumnType::Bool => ColumnType::UInt8,
        ColumnType::Nullable(inner) => ColumnType::Nullable(boxed(inner)),
        ColumnType::LowCardinality(inner) => ColumnType::LowCardinality(boxed(inner)),
        ColumnType::Array(element) => ColumnType::Array(boxed(element)),
        ColumnType::Map(key, value) => ColumnType::Map(boxed(key), boxed(value)),
        ColumnType::Tuple(parts) => {
            let part = |part: &TupleElement| TupleElement {
                name: part.name.clone(),
                column_type: as_numbers(&part.column_type),
            };
            ColumnType::Tuple(parts.iter().map(part).collect())
        }
        other => other.clone(),
    }
}

/// The smallest type that holds values of all the types, where a Bool beside others is a number.
pub(crate) fn number_supertype(types: &[&ColumnType]) -> Result<ColumnType, FunctionError> {
    match types {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => Ok((*first).clone()),
        _ => compared_supertype(&types.iter().map(|one| as_numbers(one)).collect::<Vec<_>>()),
    }
}

/// Whether both are numbers of a machine: [`whole`] takes them where no type holds both.
pub(crate) fn are_machine_numbers(a: &ColumnType, b: &ColumnType) -> bool {
    let is_one = |t: &ColumnType| is_float(t) || integer_shape(t).is_some();
    is_one(a.value_type()) && is_one(b.value_type())
}

/// Refuses types of which no cell can be like one of the other.
pub(crate) fn check(a: &ColumnType, b: &ColumnType) -> Result<(), FunctionError> {
    if are_machine_numbers(a, b) {
        return Ok(());
    }
    number_supertype(&[a.value_type(), b.value_type()]).map(|_| ())
}

/// Both columns in one type.
pub(crate) fn alike(
    caster: &Caster,
    a: Typed<'_>,
    b: Typed<'_>,
) -> Result<(ArrayRef, ArrayRef), FunctionError> {
    let common = match number_supertype(&[a.1.value_type(), b.1.value_type()]) {
        Ok(common) => common.nullable(),
        Err(_) if are_machine_numbers(a.1, b.1) => return Ok((whole(caster, a)?, whole(caster, b)?)),
        Err(error) => return Err(error),
    };
    let side = |(array, own): Typed<'_>| caster.column(array, &present(array, own), &common);
    Ok((side(a)?, side(b)?))
}

/// The type, Nullable where there is a NULL.
fn present(array: &ArrayRef, own: &ColumnType) -> ColumnType {
    if array.logical_null_count() > 0 { own.clone().nullable() } else { own.clone() }
}

/// Numbers of a machine as [`WHOLE`] ones.
pub(crate) fn whole(caster: &Caster, (array, own): Typed<'_>) -> Result<ArrayRef, FunctionError> {
    let number = as_numbers(own.value_type());
    let array = caster.column(array, &present(array, own), &number.clone().nullable())?;
    let values: ScalarBuffer<i128> = with_number!(&number, T => {
        array.as_primitive::<T>().values().iter().map(|value| whole_of(*value)).collect()
    }, else return Err(FunctionError::illegal_type(own, "of numbers")));
    let made = Decimal128Array::new(values, array.nulls().cloned());
    Ok(Arc::new(made.with_precision_and_scale(38, 0)?))
}

fn whole_of<N: Number>(value: N) -> i128 {
    // 2^100 is far outside of 64 bits.
    let is_whole = !N::FLOAT || value.float().fract() == 0.0 && value.float().abs() < 1.2e30;
    if is_whole { value.int() } else { NONE }
}
