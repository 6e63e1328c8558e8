//! Functions of vectors of numbers by index, which are states of `groupNumericIndexedVector`.
//!
//! Invariant: a pair of vectors has the indices of both, and 0 where one has none; a vector and a number have those of the
//! vector. Numbers are multiplied and divided as floats and cut, as in ClickHouse. Must not know: who made the states.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Float64Type;
use functions::container::map_of;
use functions::{Arg, ArgType, Call, CastMode, FunctionError, ScalarFunction, cast_column};
use model::saturating::{place_of, u64_of};
use model::{ColumnType, ErrorCode};

use super::arguments::{is_null, unexpected};
use crate::kernels::bitmap::{bits, column_of};
use crate::kernels::indexed_vector::{Shape, Vector, gather, read, written};
use crate::typing::internal;

/// What becomes of two numbers.
#[derive(Clone, Copy)]
enum Way {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// Of what it says yes to, there is a one.
    Compare(fn(i128, i128) -> bool),
}

impl Way {
    fn of_fixed(self, shape: &Shape, one: u64, other: u64) -> Option<u64> {
        Some(match self {
            Way::Add => shape.add(one, other),
            Way::Subtract => shape.subtract(one, other),
            Way::Multiply | Way::Divide => self.of_floats(shape, one, shape.number(other)),
            Way::Compare(holds) => {
                return holds(shape.steps(one), shape.steps(other)).then(|| shape.one());
            }
        })
    }

    /// A number and a float, multiplied or divided; divided by 0 it is 0.
    fn of_floats(self, shape: &Shape, one: u64, other: f64) -> u64 {
        let one = shape.number(one);
        match self {
            Way::Multiply => shape.computed(one * other),
            _ if other == 0.0 => 0,
            _ => shape.computed(one / other),
        }
    }

    /// Two vectors; as in ClickHouse one of ones alone leaves the other one as it is, also where floats would not.
    fn of_vectors(self, shape: &Shape, one: &Vector, other: &Vector) -> Vector {
        let is_ones = |vector: &Vector| vector.values().all(|fixed| *fixed == shape.one());
        let number = |vector: &Vector, index: &i64| vector.get(index).copied().unwrap_or(0);
        let kept = match self {
            Way::Multiply | Way::Divide if is_ones(other) => Some(one),
            Way::Multiply if is_ones(one) => Some(other),
            _ => None,
        };
        // Who is in one vector alone and below zero is neither less nor greater there.
        let is_asked = |index: &i64| match self {
            Way::Compare(holds) if !(holds(0, 1) && holds(1, 0)) => {
                one.get(index).xor(other.get(index)).is_none_or(|fixed| shape.steps(*fixed) >= 0)
            }
            _ => true,
        };
        let made = |index: &i64| match kept {
            _ if !is_asked(index) => None,
            Some(kept) if one.contains_key(index) && other.contains_key(index) => Some(number(kept, index)),
            _ => self.of_fixed(shape, number(one, index), number(other, index)),
        };
        let indices = one.keys().chain(other.keys().filter(|index| !one.contains_key(*index)));
        indices.filter_map(|index| Some((*index, made(index)?))).collect()
    }
}

fn illegal(message: String) -> FunctionError {
    FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
}

fn shape(args: &[ArgType], name: &str) -> Result<Shape, FunctionError> {
    let column_type = &args[0].column_type;
    Shape::of(column_type).ok_or_else(|| {
        illegal(format!(
            "the first argument of function {name} must be a numeric indexed vector, not {column_type}"
        ))
    })
}

fn shape_of(arg: &Arg) -> Result<Shape, FunctionError> {
    Shape::of(&arg.column_type).ok_or_else(|| unexpected(arg))
}

/// Vectors of an argument, one for each row.
struct Vectors<'a> {
    arg: &'a Arg,
    vectors: Vec<Vector>,
}

impl<'a> Vectors<'a> {
    fn of(call: &'a Call<'_>, index: usize) -> Result<Vectors<'a>, FunctionError> {
        let arg = &call.args[index];
        let states = arg.array.as_binary_view_opt().ok_or_else(|| unexpected(arg))?;
        Ok(Vectors { arg, vectors: read(states, &shape_of(arg)?)? })
    }

    fn get(&self, row: usize) -> &Vector {
        &self.vectors[self.arg.row(row)]
    }
}

/// An argument in another type; NULL is its default.
fn converted(arg: &Arg, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let from = match arg.array.null_count() {
        0 => arg.column_type.clone(),
        _ => arg.column_type.clone().nullable(),
    };
    let mode = if arg.array.null_count() > 0 { CastMode::Insert } else { CastMode::Strict };
    Ok(cast_column(&arg.array, &from, to, mode)?)
}

fn vectors(
    call: &Call<'_>,
    shape: &Shape,
    mut make: impl FnMut(usize) -> Vector,
) -> Result<ArrayRef, FunctionError> {
    let rows = 0..call.rows;
    let made: Vec<Vector> =
        rows.map(|row| if is_null(call, row) { Vector::new() } else { make(row) }).collect();
    written(&made, shape)
}

fn build_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match &args[0].column_type {
        ColumnType::Map(index, value) => Ok(Shape::new(index, value, &[])?.state()),
        other => Err(FunctionError::illegal_type(other, "numericIndexedVectorBuild")),
    }
}

fn build(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let arg = &call.args[0];
    let shape = Shape::of(call.result_type).ok_or_else(|| unexpected(arg))?;
    let map = arg.array.as_map_opt().ok_or_else(|| unexpected(arg))?;
    let indices = bits(map.keys()).ok_or_else(|| unexpected(arg))?;
    let fixed = shape.all_fixed(map.values())?;
    vectors(call, &shape, |row| {
        let row = arg.row(row);
        let own = place_of(map.value_offsets()[row])..place_of(map.value_offsets()[row + 1]);
        gather(&shape, &indices[own.clone()], &fixed[own])
    })
}

fn to_map(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (shape, found) = (shape_of(&call.args[0])?, Vectors::of(call, 0)?);
    let (mut indices, mut fixed, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let vector = found.get(row);
        indices.extend(vector.keys().map(|index| index.cast_unsigned()));
        fixed.extend(vector.values().copied());
        lengths.push(vector.len());
    }
    let keys = column_of(&indices, None, &shape.index).map_err(internal)?;
    let values = shape.values(&fixed)?;
    Ok(map_of(&shape.index, &shape.value, OffsetBuffer::from_lengths(lengths), keys, values, None)?)
}

/// The number of an index; as in ClickHouse, the sign of a float is not seen.
fn get_value(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (shape, found) = (shape_of(&call.args[0])?, Vectors::of(call, 0)?);
    let indices = bits(&converted(&call.args[1], &shape.index)?).ok_or_else(|| unexpected(&call.args[1]))?;
    let fixed: Vec<u64> = (0..call.rows)
        .map(|row| found.get(row).get(&indices[call.args[1].row(row)].cast_signed()).copied().unwrap_or(0))
        .collect();
    shape.unsigned_values(&fixed)
}

fn pair_type(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    let own = shape(args, name)?;
    match Shape::of(&args[1].column_type) {
        Some(other) if other != own => Err(illegal(format!(
            "vectors of function {name} must be of one type, not {} and {}",
            args[0].column_type, args[1].column_type
        ))),
        None if args[1].column_type.state().is_some() => {
            Err(FunctionError::illegal_type(&args[1].column_type, name))
        }
        _ => Ok(own.state()),
    }
}

/// A number for each row, where it is one.
enum Numbers {
    Fixed(Vec<u64>),
    Floats(Vec<f64>),
}

fn pair(call: &Call<'_>, way: Way) -> Result<ArrayRef, FunctionError> {
    let (shape, found) = (shape_of(&call.args[0])?, Vectors::of(call, 0)?);
    let arg = &call.args[1];
    if Shape::of(&arg.column_type).is_some() {
        let others = Vectors::of(call, 1)?;
        return vectors(call, &shape, |row| way.of_vectors(&shape, found.get(row), others.get(row)));
    }
    let numbers = converted(arg, &shape.value)?;
    let numbers = match way {
        Way::Multiply | Way::Divide => Numbers::Floats(floats(&shape, &numbers)?),
        _ => Numbers::Fixed(shape.all_fixed(&numbers)?),
    };
    vectors(call, &shape, |row| {
        let made = |fixed: &u64| match &numbers {
            Numbers::Fixed(numbers) => way.of_fixed(&shape, *fixed, numbers[arg.row(row)]),
            Numbers::Floats(numbers) => Some(match (way, numbers[arg.row(row)]) {
                (Way::Divide, 1.0) => *fixed,
                (_, number) => way.of_floats(&shape, *fixed, number),
            }),
        };
        found.get(row).iter().filter_map(|(index, fixed)| Some((*index, made(fixed)?))).collect()
    })
}

/// Numbers as floats; those that no vector can hold are refused, but for large ones.
fn floats(shape: &Shape, numbers: &ArrayRef) -> Result<Vec<f64>, FunctionError> {
    if !matches!(shape.value, ColumnType::Float32 | ColumnType::Float64) {
        shape.all_fixed(numbers)?;
    }
    let floats = cast_column(numbers, &shape.value, &ColumnType::Float64, CastMode::Strict)?;
    let floats = floats.as_primitive::<Float64Type>().values().to_vec();
    match floats.iter().find(|number| !number.is_finite()) {
        Some(number) => {
            let message = format!("a numeric indexed vector has no {number}");
            Err(FunctionError::new(ErrorCode::INCORRECT_DATA, message))
        }
        None => Ok(floats),
    }
}

fn said() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("numericIndexedVectorBuild", 1..=1, build_type, build).doc(
            "numericIndexedVectorBuild(map)",
            "The vector of a map of numbers by index, as a state of groupNumericIndexedVector.",
            "numericIndexedVectorToMap(numericIndexedVectorBuild(map(1, 2))) -> {1:2}",
        ),
        ScalarFunction::new(
            "numericIndexedVectorToMap",
            1..=1,
            |args| {
                let shape = shape(args, "numericIndexedVectorToMap")?;
                Ok(ColumnType::Map(Box::new(shape.index), Box::new(shape.value)))
            },
            to_map,
        )
        .doc(
            "numericIndexedVectorToMap(vector)",
            "The numbers of a vector by their indices.",
            "numericIndexedVectorToMap(numericIndexedVectorBuild(map(1, 2))) -> {1:2}",
        ),
        ScalarFunction::new(
            "numericIndexedVectorGetValue",
            2..=2,
            |args| Ok(shape(args, "numericIndexedVectorGetValue")?.value),
            get_value,
        )
        .doc(
            "numericIndexedVectorGetValue(vector, index)",
            "The number of an index; 0 where there is none.",
            "numericIndexedVectorGetValue(numericIndexedVectorBuild(map(1, 2)), 1) -> 2",
        ),
        ScalarFunction::new(
            "numericIndexedVectorCardinality",
            1..=1,
            |args| shape(args, "numericIndexedVectorCardinality").map(|_| ColumnType::UInt64),
            |call| {
                let found = Vectors::of(call, 0)?;
                let counts = (0..call.rows).map(|row| u64_of(found.get(row).len()));
                Ok(Arc::new(UInt64Array::from_iter_values(counts)))
            },
        )
        .doc(
            "numericIndexedVectorCardinality(vector)",
            "How many indices a vector has.",
            "numericIndexedVectorCardinality(numericIndexedVectorBuild(map(1, 2))) -> 1",
        ),
        ScalarFunction::new(
            "numericIndexedVectorAllValueSum",
            1..=1,
            |args| shape(args, "numericIndexedVectorAllValueSum").map(|_| ColumnType::Float64),
            |call| {
                let (shape, found) = (shape_of(&call.args[0])?, Vectors::of(call, 0)?);
                let sums = (0..call.rows).map(|row| shape.sum(found.get(row)));
                Ok(Arc::new(Float64Array::from_iter_values(sums)))
            },
        )
        .doc(
            "numericIndexedVectorAllValueSum(vector)",
            "The sum of all numbers of a vector.",
            "numericIndexedVectorAllValueSum(numericIndexedVectorBuild(map(1, 2, 3, 4))) -> 6",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let of_pair = |name: &'static str, way: Way| {
        ScalarFunction::new(name, 2..=2, move |args| pair_type(args, name), move |call| pair(call, way))
    };
    let mut out = said();
    out.extend([
        of_pair("numericIndexedVectorPointwiseAdd", Way::Add).doc(
            "numericIndexedVectorPointwiseAdd(a, b)",
            "The sums of two vectors, or of a vector and a number.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseAdd(numericIndexedVectorBuild(map(1, 2)), 3)) -> {1:5}",
        ),
        of_pair("numericIndexedVectorPointwiseSubtract", Way::Subtract).doc(
            "numericIndexedVectorPointwiseSubtract(a, b)",
            "The differences of two vectors, or of a vector and a number.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseSubtract(numericIndexedVectorBuild(map(1, 5)), 3)) -> {1:2}",
        ),
        of_pair("numericIndexedVectorPointwiseMultiply", Way::Multiply).doc(
            "numericIndexedVectorPointwiseMultiply(a, b)",
            "The products of two vectors, or of a vector and a number.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseMultiply(numericIndexedVectorBuild(map(1, 2)), 3)) -> {1:6}",
        ),
        of_pair("numericIndexedVectorPointwiseDivide", Way::Divide).doc(
            "numericIndexedVectorPointwiseDivide(a, b)",
            "The quotients of two vectors, or of a vector and a number; by 0 they are 0.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseDivide(numericIndexedVectorBuild(map(1, 6)), 3)) -> {1:2}",
        ),
        of_pair("numericIndexedVectorPointwiseEqual", Way::Compare(|one, other| one == other)).doc(
            "numericIndexedVectorPointwiseEqual(a, b)",
            "A one at each index where the numbers are equal.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseEqual(numericIndexedVectorBuild(map(1, 2)), 2)) -> {1:1}",
        ),
        of_pair("numericIndexedVectorPointwiseNotEqual", Way::Compare(|one, other| one != other)).doc(
            "numericIndexedVectorPointwiseNotEqual(a, b)",
            "A one at each index where the numbers differ.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseNotEqual(numericIndexedVectorBuild(map(1, 2)), 3)) -> {1:1}",
        ),
        of_pair("numericIndexedVectorPointwiseLess", Way::Compare(|one, other| one < other)).doc(
            "numericIndexedVectorPointwiseLess(a, b)",
            "A one at each index where the first number is less.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseLess(numericIndexedVectorBuild(map(1, 2)), 3)) -> {1:1}",
        ),
        of_pair("numericIndexedVectorPointwiseLessEqual", Way::Compare(|one, other| one <= other)).doc(
            "numericIndexedVectorPointwiseLessEqual(a, b)",
            "A one at each index where the first number is less or equal.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseLessEqual(numericIndexedVectorBuild(map(1, 2)), 2)) -> {1:1}",
        ),
        of_pair("numericIndexedVectorPointwiseGreater", Way::Compare(|one, other| one > other)).doc(
            "numericIndexedVectorPointwiseGreater(a, b)",
            "A one at each index where the first number is greater.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseGreater(numericIndexedVectorBuild(map(1, 2)), 1)) -> {1:1}",
        ),
        of_pair("numericIndexedVectorPointwiseGreaterEqual", Way::Compare(|one, other| one >= other)).doc(
            "numericIndexedVectorPointwiseGreaterEqual(a, b)",
            "A one at each index where the first number is greater or equal.",
            "numericIndexedVectorToMap(numericIndexedVectorPointwiseGreaterEqual(numericIndexedVectorBuild(map(1, 2)), 2)) -> {1:1}",
        ),
    ]);
    out
}
