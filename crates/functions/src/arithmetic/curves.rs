//! Several numbers as one along a curve through space, and back: Morton's and Hilbert's.
//!
//! Invariant: decoding what encoding made gives the same numbers, as long as they have few enough bits.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use model::{ColumnType, ErrorCode};

use crate::columns::container::{tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::constant_int;
use crate::kernel::types::integer_shape;

/// Most numbers that Morton's curve joins.
const DIMENSIONS_MAX: usize = 8;

fn unsigned(arg: &ArgType) -> bool {
    integer_shape(&arg.column_type).is_some_and(|(_, signed)| !signed)
}

fn encode_type(
    name: &'static str,
    most: usize,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        if args.len() > most {
            let message = format!("{name} takes {most} numbers at most");
            return Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
        match args.iter().find(|arg| !unsigned(arg)) {
            Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
            None => Ok(ColumnType::UInt64),
        }
    }
}

/// The bits of all numbers in turn, from the lowest.
fn interleaved(numbers: &[u64]) -> u64 {
    let (mut code, mut place) = (0, 0);
    for bit in 0..64 {
        for number in numbers {
            if place < 64 {
                code |= (number >> bit & 1) << place;
            }
            place += 1;
        }
    }
    code
}

fn taken_apart(code: u64, count: usize) -> Vec<u64> {
    let mut numbers = vec![0; count];
    for place in 0..64 {
        numbers[place % count] |= (code >> place & 1) << (place / count);
    }
    numbers
}

/// Where Hilbert's curve of 32 steps comes to a place, from the highest bits on; 0 for places beyond it.
fn along_hilbert(x: u64, y: u64) -> u64 {
    if x.max(y) > 0xFFFF_FFFF {
        return 0;
    }
    let (mut x, mut y, mut code) = (x, y, 0);
    for bit in (0..32).rev() {
        let (a, b) = (x >> bit & 1, y >> bit & 1);
        code = code << 2 | (3 * a) ^ b;
        let low = (1_u64 << bit) - 1;
        if b == 0 {
            if a == 1 {
                (x, y) = (low - (x & low), low - (y & low));
            }
            (x, y) = (y & low, x & low);
        }
    }
    code
}

fn of_hilbert(code: u64) -> (u64, u64) {
    let (mut x, mut y) = (0_u64, 0_u64);
    for step in 0..32 {
        let quarter = code >> (2 * step) & 3;
        let a = quarter >> 1 & 1;
        let b = (quarter ^ a) & 1;
        let low = (1_u64 << step) - 1;
        if b == 0 {
            if a == 1 {
                (x, y) = (low - (x & low), low - (y & low));
            }
            (x, y) = (y, x);
        }
        x |= a << step;
        y |= b << step;
    }
    (x, y)
}

fn encode(call: &Call<'_>, join: fn(&[u64]) -> u64) -> Result<ArrayRef, FunctionError> {
    let columns: Vec<(ArrayRef, usize)> = (0..call.args.len())
        .map(|index| Ok((call.converted(index, &ColumnType::UInt64)?, index)))
        .collect::<Result<_, FunctionError>>()?;
    call.each::<UInt64Type>(|row| {
        let numbers: Vec<u64> = columns
            .iter()
            .map(|(array, index)| array.as_primitive::<UInt64Type>().value(call.args[*index].row(row)))
            .collect();
        Ok(join(&numbers))
    })
}

fn decode_type(
    name: &'static str,
    most: usize,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let count = constant_int(args, 0).and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| (1..=most).contains(count)).ok_or_else(|| {
            let message = format!("the first argument of {name} is a constant from 1 to {most}");
            FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message)
        })?;
        if !unsigned(&args[1]) {
            return Err(FunctionError::illegal_type(&args[1].column_type, name));
        }
        Ok(unnamed((0..count).map(|_| ColumnType::UInt64)))
    }
}

fn decode(call: &Call<'_>, apart: fn(u64, usize) -> Vec<u64>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Tuple(elements) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "of a curve"));
    };
    let (codes, arg) = (call.converted(1, &ColumnType::UInt64)?, call.arg(1)?);
    let codes = codes.as_primitive::<UInt64Type>();
    let mut columns = vec![Vec::with_capacity(call.rows); elements.len()];
    for row in 0..call.rows {
        let numbers = apart(codes.value(arg.row(row)), elements.len());
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
    let places = |code: u64, count: usize| match count {
        1 => vec![code],
        _ => {
            let (y, x) = of_hilbert(code);
            vec![x, y]
        }
    };
    vec![
        ScalarFunction::new(
            "mortonEncode",
            1..=DIMENSIONS_MAX,
            encode_type("mortonEncode", DIMENSIONS_MAX),
            |call| encode(call, interleaved),
        )
        .doc(
            "mortonEncode(a, b, ...)",
            "The bits of all numbers in turn, as one number.",
            "mortonEncode(1, 2, 3) -> 53",
        ),
        ScalarFunction::new("mortonDecode", 2..=2, decode_type("mortonDecode", DIMENSIONS_MAX), |call| {
            decode(call, taken_apart)
        })
        .doc(
            "mortonDecode(n, code)",
            "The n numbers of a Morton code.",
            "mortonDecode(3, 53) -> (1,2,3)",
        ),
        ScalarFunction::new("hilbertEncode", 1..=2, encode_type("hilbertEncode", 2), move |call| {
            encode(call, hilbert)
        })
        .doc(
            "hilbertEncode(a, b)",
            "The place of two numbers on Hilbert's curve.",
            "hilbertEncode(3, 4) -> 31",
        ),
        ScalarFunction::new("hilbertDecode", 2..=2, decode_type("hilbertDecode", 2), move |call| {
            decode(call, places)
        })
        .doc(
            "hilbertDecode(n, code)",
            "The n numbers at a place of Hilbert's curve.",
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
