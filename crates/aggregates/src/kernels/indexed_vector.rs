//! A vector of numbers by index, as states of `groupNumericIndexedVector` hold it.
//!
//! Invariant: numbers are fixed-point of so many bits and wrap, as in ClickHouse's bit-sliced index; what is behind the last bit
//! is cut off. A vector is written as rows that add up to it, so its states can be merged like any other. Must not know:
//! functions.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "numbers are the bits of their type"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, Float32Array, Float64Array, ListArray, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type};
use functions::FunctionError;
use model::saturating::{place_of, u64_of};
use model::type_arrow::to_data_type;
use model::type_name::quoted_text;
use model::{ColumnType, ErrorCode, StateType};

use super::bitmap::{bits, bytes_of, column_of};
use super::numbers::is_float;
use crate::bytes::{decode, encode};
use crate::typing::internal;

/// Most bits of a number, and of what is behind its point.
const BITS_MAX: u32 = 64;
const FRACTION_BITS_MAX: u32 = 24;

/// Bits of floats before and behind the point, unless others are asked for.
const FLOAT_BITS: [u32; 2] = [40, 24];

/// Types of indices and numbers, and how many bits a number has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) index: ColumnType,
    pub(crate) value: ColumnType,
    whole_bits: u32,
    fraction_bits: u32,
    state: StateType,
}

fn fail<T>(code: ErrorCode, message: String) -> Result<T, FunctionError> {
    Err(FunctionError::new(code, message))
}

impl Shape {
    /// Of the types of arguments, and parameters as they are written in a type.
    pub(crate) fn new(
        index: &ColumnType,
        value: &ColumnType,
        parameters: &[Arc<str>],
    ) -> Result<Shape, FunctionError> {
        if bytes_of(index).is_none_or(|bytes| bytes >= 8) {
            let message =
                format!("indices of groupNumericIndexedVector are integers of up to 32 bits, not {index}");
            return fail(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message);
        }
        if bytes_of(value).is_none() && !is_float(value) {
            let message =
                format!("values of groupNumericIndexedVector are numbers of up to 64 bits, not {value}");
            return fail(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message);
        }
        let [whole_bits, fraction_bits] = match parameters {
            [] => bytes_of(value).map_or(FLOAT_BITS, |bytes| [8 * bytes, 0]),
            [kind, whole, fraction] => {
                if quoted_text(kind).as_deref() != Some("BSI") {
                    let message = format!("parameter {kind} of groupNumericIndexedVector is not 'BSI'");
                    return fail(ErrorCode::BAD_ARGUMENTS, message);
                }
                asked_bits(value, whole, fraction)?
            }
            _ => {
                let message = "groupNumericIndexedVector takes three parameters or none".to_owned();
                return fail(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message);
            }
        };
        let state = StateType {
            function: "groupNumericIndexedVector".into(),
            parameters: parameters.to_vec(),
            arguments: vec![index.clone(), value.clone()],
        };
        Ok(Shape { index: index.clone(), value: value.clone(), whole_bits, fraction_bits, state })
    }

    /// Of the type of a state; `None` for all other types.
    pub(crate) fn of(column_type: &ColumnType) -> Option<Shape> {
        let state =
            column_type.state().filter(|state| state.function.as_ref() == "groupNumericIndexedVector")?;
        let [index, value] = state.arguments.as_slice() else { return None };
        Shape::new(index, value, &state.parameters).ok()
    }

    /// The type of states.
    pub(crate) fn state(&self) -> ColumnType {
        ColumnType::AggregateFunction(Arc::new(self.state.clone()))
    }

    fn mask(&self) -> u64 {
        match self.whole_bits + self.fraction_bits {
            BITS_MAX => u64::MAX,
            bits => (1 << bits) - 1,
        }
    }

    fn is_signed(&self) -> bool {
        is_float(&self.value)
            || matches!(
                self.value,
                ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64
            )
    }

    fn scale(&self) -> f64 {
        f64::from(1_u32 << self.fraction_bits)
    }

    /// One, as comparisons give it.
    pub(crate) fn one(&self) -> u64 {
        (1 << self.fraction_bits) & self.mask()
    }

    pub(crate) fn add(&self, one: u64, other: u64) -> u64 {
        one.wrapping_add(other) & self.mask()
    }

    pub(crate) fn subtract(&self, one: u64, other: u64) -> u64 {
        one.wrapping_sub(other) & self.mask()
    }

    /// The bits as a number, in steps of the last bit.
    pub(crate) fn steps(&self, fixed: u64) -> i128 {
        let unused = BITS_MAX - (self.whole_bits + self.fraction_bits);
        match (self.is_signed(), unused) {
            (true, BITS_MAX) => 0,
            (true, unused) => i128::from((fixed << unused) as i64 >> unused),
            (false, _) => i128::from(fixed),
        }
    }

    pub(crate) fn number(&self, fixed: u64) -> f64 {
        self.steps(fixed) as f64 / self.scale()
    }

    pub(crate) fn sum(&self, vector: &Vector) -> f64 {
        vector.values().map(|fixed| self.steps(*fixed)).sum::<i128>() as f64 / self.scale()
    }

    /// A number that comes from outside.
    fn fixed(&self, number: f64) -> Result<u64, FunctionError> {
        let steps = number * self.scale();
        if number.is_nan() {
            return fail(ErrorCode::INCORRECT_DATA, "a numeric indexed vector has no NaN".to_owned());
        }
        if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&steps) {
            let message = format!(
                "{number} is out of range for {} bits before the point and {} behind it",
                self.whole_bits, self.fraction_bits
            );
            return fail(ErrorCode::INCORRECT_DATA, message);
        }
        Ok(steps as i64 as u64 & self.mask())
    }

    /// A number that was computed: one that is too large has all bits, one that is too small none.
    pub(crate) fn computed(&self, number: f64) -> u64 {
        let steps = number * self.scale();
        let bits = if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&steps) {
            steps as i64 as u64
        } else {
            steps as u64
        };
        bits & self.mask()
    }

    /// Each number of a column of values.
    pub(crate) fn all_fixed(&self, values: &ArrayRef) -> Result<Vec<u64>, FunctionError> {
        if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
            return floats.values().iter().map(|number| self.fixed(*number)).collect();
        }
        if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
            return floats.values().iter().map(|number| self.fixed(f64::from(*number))).collect();
        }
        let whole = bits(values).unwrap_or_default();
        let large = whole.iter().find(|value| !self.is_signed() && i64::try_from(**value).is_err());
        if let Some(large) = large {
            let message = format!("value {large} of a numeric indexed vector does not fit Int64");
            return fail(ErrorCode::INCORRECT_DATA, message);
        }
        Ok(whole.into_iter().map(|value| value & self.mask()).collect())
    }

    /// Numbers as [`Self::values`], those of floats as if they had no sign.
    pub(crate) fn unsigned_values(&self, fixed: &[u64]) -> Result<ArrayRef, FunctionError> {
        let floats = fixed.iter().map(|fixed| *fixed as f64 / self.scale());
        match self.value {
            ColumnType::Float64 => Ok(Arc::new(Float64Array::from_iter_values(floats))),
            ColumnType::Float32 => {
                Ok(Arc::new(Float32Array::from_iter_values(floats.map(|value| value as f32))))
            }
            _ => self.values(fixed),
        }
    }

    /// Numbers as a column of values.
    pub(crate) fn values(&self, fixed: &[u64]) -> Result<ArrayRef, FunctionError> {
        match self.value {
            ColumnType::Float64 => {
                Ok(Arc::new(Float64Array::from_iter_values(fixed.iter().map(|fixed| self.number(*fixed)))))
            }
            ColumnType::Float32 => Ok(Arc::new(Float32Array::from_iter_values(
                fixed.iter().map(|fixed| self.number(*fixed) as f32),
            ))),
            _ => {
                let whole: Vec<u64> = fixed.iter().map(|fixed| self.steps(*fixed) as u64).collect();
                column_of(&whole, None, &self.value).map_err(internal)
            }
        }
    }

    /// Numbers that add up to one and that the type of values holds exactly.
    fn parts(&self, fixed: u64) -> Vec<u64> {
        const PART_BITS: u32 = 24;
        let steps = self.steps(fixed);
        if !is_float(&self.value) || steps.unsigned_abs() < 1 << PART_BITS {
            return vec![fixed];
        }
        let part = |at: u32| {
            let part = (steps.unsigned_abs() >> (at * PART_BITS) & 0xFF_FFFF) << (at * PART_BITS);
            let part = part as i128;
            (if steps < 0 { -part } else { part }) as u64 & self.mask()
        };
        (0..3).map(part).filter(|part| *part != 0).collect()
    }
}

/// The bits that parameters ask for.
fn asked_bits(value: &ColumnType, whole: &str, fraction: &str) -> Result<[u32; 2], FunctionError> {
    let number = |text: &str| match text.parse::<u32>() {
        Ok(number) => Ok(number),
        Err(_) => fail(ErrorCode::BAD_ARGUMENTS, format!("parameter {text} is not a number of bits")),
    };
    let (whole, fraction) = (number(whole)?, number(fraction)?);
    if whole > BITS_MAX || fraction > FRACTION_BITS_MAX || whole + fraction > BITS_MAX {
        let message = format!(
            "{whole} bits and {fraction} behind the point: at most {BITS_MAX} together, and {FRACTION_BITS_MAX} behind it"
        );
        return fail(ErrorCode::BAD_ARGUMENTS, message);
    }
    match bytes_of(value) {
        Some(_) if fraction > 0 => {
            fail(ErrorCode::BAD_ARGUMENTS, "integers have no bits behind the point".to_owned())
        }
        // States are values of the type.
        Some(bytes) if whole > 8 * bytes => fail(
            ErrorCode::NOT_IMPLEMENTED,
            format!("more than {} bits for {value} are not supported", 8 * bytes),
        ),
        _ => Ok([whole, fraction]),
    }
}

/// Numbers by index; a number that is 0 is there, too.
pub(crate) type Vector = BTreeMap<i64, u64>;

/// Adds numbers of equal index.
pub(crate) fn gather(shape: &Shape, indices: &[u64], fixed: &[u64]) -> Vector {
    let mut vector = Vector::new();
    for (index, fixed) in indices.iter().zip(fixed) {
        let sum = vector.entry(*index as i64).or_insert(0);
        *sum = sum.wrapping_add(*fixed) & shape.mask();
    }
    vector
}

fn items(shape: &Shape) -> [Field; 2] {
    [&shape.index, &shape.value].map(|column_type| Field::new_list_field(to_data_type(column_type), true))
}

/// The vectors of a column of states; no bytes are no numbers.
///
/// # Errors
/// `CORRUPTED_DATA`: these are no states.
pub(crate) fn read(states: &BinaryViewArray, shape: &Shape) -> Result<Vec<Vector>, FunctionError> {
    let mut vectors = vec![Vector::new(); states.len()];
    let there = |row: &usize| states.is_valid(*row) && !states.value(*row).is_empty();
    let rows: Vec<usize> = (0..states.len()).filter(there).collect();
    let places: UInt64Array = rows.iter().map(|row| Some(u64_of(*row))).collect();
    let some = take(states, &places, None)?;
    let layouts = items(shape).map(|item| DataType::List(item.into()));
    let columns = decode(some.as_binary_view(), &layouts).map_err(internal)?;
    let (indices, values) = (columns[0].as_list::<i32>(), columns[1].as_list::<i32>());
    let all_indices = bits(indices.values()).unwrap_or_default();
    let all_fixed = shape.all_fixed(values.values())?;
    for (at, row) in rows.into_iter().enumerate() {
        let own =
            |list: &ListArray| place_of(list.value_offsets()[at])..place_of(list.value_offsets()[at + 1]);
        vectors[row] = gather(shape, &all_indices[own(indices)], &all_fixed[own(values)]);
    }
    Ok(vectors)
}

/// States of vectors.
///
/// # Errors
/// There is no such type of indices or values.
pub(crate) fn written(vectors: &[Vector], shape: &Shape) -> Result<ArrayRef, FunctionError> {
    let (mut indices, mut parts, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(vectors.len()));
    for vector in vectors {
        let before = indices.len();
        for (index, fixed) in vector {
            for part in shape.parts(*fixed) {
                indices.push(*index as u64);
                parts.push(part);
            }
        }
        lengths.push(indices.len() - before);
    }
    let columns = [column_of(&indices, None, &shape.index).map_err(internal)?, shape.values(&parts)?];
    let mut lists: Vec<ArrayRef> = Vec::with_capacity(2);
    for (item, column) in items(shape).into_iter().zip(columns) {
        let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
        lists.push(Arc::new(ListArray::try_new(Arc::new(item), offsets, column, None)?));
    }
    Ok(Arc::new(encode(&lists).map_err(internal)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_add_up_to_what_was_written() {
        for value in [ColumnType::Float64, ColumnType::Float32, ColumnType::Int64] {
            let shape = Shape::new(&ColumnType::Int8, &value, &[]).unwrap();
            let numbers = [0, 1, u64::MAX, i64::MAX as u64, i64::MIN as u64, 0x1234_5678_9abc_def1];
            let vector: Vector = (-3..3).zip(numbers).collect();
            let states = written(&[vector.clone(), Vector::new()], &shape).unwrap();
            assert_eq!(read(states.as_binary_view(), &shape).unwrap(), [vector, Vector::new()], "{value}");
        }
    }
}
