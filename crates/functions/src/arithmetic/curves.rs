//! Several numbers as one along a curve through space, and back: Morton's and Hilbert's.
//!
//! Invariant: decoding what encoding made gives the same numbers, as long as they have few enough bits.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use model::curves::{along_hilbert, gathered, interleaved, of_hilbert, spread, taken_apart};
use model::{ColumnType, ErrorCode};

use crate::cast::CastMode;
use crate::columns::container::{tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_int;
use crate::kernel::types::integer_shape;

/// Most numbers that Morton's curve joins.
const DIMENSIONS_MAX: usize = 8;

/// What a tuple of numbers in front of the others does to them, number by number.
#[derive(Clone, Copy)]
struct Scales {
    least: u64,
    most: u64,
    encode: fn(u64, u64) -> u64,
    decode: fn(u64, u64) -> u64,
}

/// Morton's: each bit takes the room of so many.
const ROOM: Scales = Scales { least: 1, most: 8, encode: spread, decode: gathered };
/// Hilbert's: a number is shifted by so many bits.
const SHIFT: Scales = Scales {
    least: 0,
    most: 32,
    encode: |number, bits| number << bits,
    decode: |number, bits| number >> bits,
};

fn unsigned(column_type: &ColumnType) -> bool {
    integer_shape(column_type).is_some_and(|(_, signed)| !signed)
}

fn out_of_bound(message: String) -> FunctionError {
    FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message)
}

fn encode_type(
    name: &'static str,
    most: usize,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        if args.is_empty() {
            let message = format!("{name} takes one number at least");
            return Err(FunctionError::new(ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION, message));
        }
        let (scales, numbers) = match args {
            [ArgType { column_type: ColumnType::Tuple(scales), .. }, numbers @ ..] => (Some(scales), numbers),
            numbers => (None, numbers),
        };
        if numbers.len() > most {
            let message = format!("{name} takes {most} numbers at most");
            return Err(FunctionError::new(ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION, message));
        }
        if scales.is_some_and(|scales| scales.len() != numbers.len()) {
            return Err(out_of_bound(format!("the tuple of {name} has as many numbers as stand behind it")));
        }
        let scales = scales.into_iter().flatten().map(|scale| &scale.column_type);
        match scales.chain(numbers.iter().map(|arg| &arg.column_type)).find(|one| !unsigned(one)) {
            Some(other) => Err(FunctionError::illegal_type(other, name)),
            None => Ok(ColumnType::UInt64),
        }
    }
}

/// The numbers of the tuple in front, of the first row: `None` if there is no tuple, and nothing of a column without rows.
fn scales_of(call: &Call<'_>, scales: Scales, name: &str) -> Result<Option<Vec<u64>>, FunctionError> {
    let Arg { array, column_type: ColumnType::Tuple(elements), .. } = call.arg(0)? else { return Ok(None) };
    match array.len() {
        0 => return Ok(Some(vec![])),
        1 => {}
        _ => {
            let message = format!("the first argument of {name} is a constant");
            return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
        }
    }
    let caster = call.caster(CastMode::Strict);
    let mut numbers = Vec::with_capacity(elements.len());
    for (column, element) in array.as_struct().columns().iter().zip(elements) {
        let column = caster.column(column, &element.column_type, &ColumnType::UInt64)?;
        let number = column.as_primitive::<UInt64Type>().value(0);
        if !(scales.least..=scales.most).contains(&number) {
            let message =
                format!("{number} in the tuple of {name}: it is {} to {}", scales.least, scales.most);
            return Err(out_of_bound(message));
        }
        numbers.push(number);
    }
    Ok(Some(numbers))
}

fn encode(
    call: &Call<'_>,
    name: &str,
    scales: Scales,
    join: fn(&[u64]) -> u64,
) -> Result<ArrayRef, FunctionError> {
    let given = scales_of(call, scales, name)?;
    let columns: Vec<(ArrayRef, usize)> = (usize::from(given.is_some())..call.args.len())
        .map(|index| Ok((call.converted(index, &ColumnType::UInt64)?, index)))
        .collect::<Result<_, FunctionError>>()?;
    call.each::<UInt64Type>(|row| {
        let mut numbers: Vec<u64> = columns
            .iter()
            .map(|(array, index)| array.as_primitive::<UInt64Type>().value(call.args[*index].row(row)))
            .collect();
        for (number, scale) in numbers.iter_mut().zip(given.iter().flatten()) {
            *number = (scales.encode)(*number, *scale);
        }
        Ok(join(&numbers))
    })
}

fn decode_type(
    name: &'static str,
    most: usize,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let no_column = |other: &ColumnType| {
            let message = format!("{name} takes unsigned integers, not {other}");
            FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message)
        };
        if !unsigned(&args[1].column_type) {
            return Err(no_column(&args[1].column_type));
        }
        let count = match &args[0].column_type {
            ColumnType::Tuple(scales) => match scales.iter().find(|scale| !unsigned(&scale.column_type)) {
                Some(other) => return Err(FunctionError::illegal_type(&other.column_type, name)),
                None => Some(scales.len()),
            },
            number if number.is_integer() => {
                constant_int(args, 0).and_then(|count| usize::try_from(count).ok())
            }
            other => return Err(no_column(other)),
        };
        let count = count.filter(|count| (1..=most).contains(count)).ok_or_else(|| {
            out_of_bound(format!("the first argument of {name} is a constant from 1 to {most}"))
        })?;
        Ok(unnamed((0..count).map(|_| ColumnType::UInt64)))
    }
}

fn decode(
    call: &Call<'_>,
    name: &str,
    scales: Scales,
    apart: fn(u64, usize) -> Vec<u64>,
) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "of a curve"));
    };
    let given = scales_of(call, scales, name)?;
    let (codes, arg) = (call.converted(1, &ColumnType::UInt64)?, call.arg(1)?);
    let codes = codes.as_primitive::<UInt64Type>();
    let mut columns = vec![Vec::with_capacity(call.rows); elements.len()];
    for row in 0..call.rows {
        let mut numbers = apart(codes.value(arg.row(row)), elements.len());
        for (number, scale) in numbers.iter_mut().zip(given.iter().flatten()) {
            *number = (scales.decode)(*number, *scale);
        }
        for (column, number) in columns.iter_mut().zip(numbers) {
            column.push(number);
        }
    }
    let columns = columns.into_iter().map(|column| Arc::new(UInt64Array::from(column)) as ArrayRef).collect();
    Ok(tuple_of(elements, columns, None, call.rows)?)
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    let hilbert = |numbers: &[u64]| match numbers {
        // Of an even count of steps the first one starts along the second number.
        [x, y] => along_hilbert(*y, *x),
        [x] => *x,
        _ => 0,
    };
    let apart = |code: u64, count: usize| match count {
        1 => vec![code],
        _ => {
            let (y, x) = of_hilbert(code);
            vec![x, y]
        }
    };
    vec![
        ScalarFunction::new(
            "mortonEncode",
            0..=DIMENSIONS_MAX + 1,
            encode_type("mortonEncode", DIMENSIONS_MAX),
            |call| encode(call, "mortonEncode", ROOM, interleaved),
        )
        .doc(
            "mortonEncode([room,] a, b, ...)",
            "The bits of all numbers in turn, as one number; each takes as many places as the tuple `room` says.",
            "mortonEncode(1, 2, 3) -> 53",
        ),
        ScalarFunction::new("mortonDecode", 2..=2, decode_type("mortonDecode", DIMENSIONS_MAX), |call| {
            decode(call, "mortonDecode", ROOM, taken_apart)
        })
        .doc(
            "mortonDecode(n, code)",
            "The n numbers of a Morton code; n may be the tuple that encoding was given.",
            "mortonDecode(3, 53) -> (1,2,3)",
        ),
        ScalarFunction::new("hilbertEncode", 0..=usize::MAX, encode_type("hilbertEncode", 2), move |call| {
            encode(call, "hilbertEncode", SHIFT, hilbert)
        })
        .doc(
            "hilbertEncode([shift,] a, b)",
            "The place of two numbers on Hilbert's curve, after shifts to the left by the tuple `shift`.",
            "hilbertEncode(3, 4) -> 31",
        ),
        ScalarFunction::new("hilbertDecode", 2..=2, decode_type("hilbertDecode", 2), move |call| {
            decode(call, "hilbertDecode", SHIFT, apart)
        })
        .doc(
            "hilbertDecode(n, code)",
            "The n numbers at a place of Hilbert's curve; n may be the tuple that encoding was given.",
            "hilbertDecode(2, 31) -> (3,4)",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_lead_back() {
        for (x, y) in [(0, 0), (3, 4), (17, 1_000_000), (0xFFFF_FFFF, 5)] {
            assert_eq!(of_hilbert(along_hilbert(x, y)), (x, y));
            assert_eq!(taken_apart(interleaved(&[x, y]), 2), [x, y]);
        }
    }
}
