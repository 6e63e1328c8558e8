//! Hashes with a key of two words, which may differ from row to row.
//!
//! Invariant: the key is the first argument and no part of what is hashed; what is joined is hashed with the key, too.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::datatypes::UInt64Type;
use model::hashes::sip;
use model::{ColumnType, ErrorCode};

use super::columns::Family;
use super::{Wide, family_128, joined, wide_texts};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::registry::ScalarFunction;

type Key = (u64, u64);

fn rule(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Tuple(elements))
            if elements.len() == 2
                && elements.iter().all(|element| element.column_type == ColumnType::UInt64) =>
        {
            Ok(result.clone())
        }
        _ => Err(FunctionError::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("the key of {name} is a tuple of two UInt64"),
        )),
    }
}

/// The hash of each row: of all at once where they share a key, else one by one.
fn hashed<W: Copy>(call: &Call<'_>, family: fn(Key) -> Family<W>) -> Result<Vec<W>, FunctionError> {
    let (Some(key), Some(rest)) = (call.args.first(), call.args.get(1..)) else {
        return Err(FunctionError::bad_argument("a key is needed"));
    };
    let words = key.array.as_struct();
    let word =
        |place: usize, row: usize| words.column(place).as_primitive::<UInt64Type>().value(key.row(row));
    let key_of = |row: usize| (word(0, row), word(1, row));
    if key.is_constant {
        return family(key_of(0)).rows(&Call { args: rest, ..call.again() });
    }
    let mut hashes = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let one = |arg: &Arg| Arg { array: arg.array.slice(arg.row(row), 1), ..arg.clone() };
        let args: Vec<Arg> = rest.iter().map(one).collect();
        hashes.extend(family(key_of(row)).rows(&Call {
            args: &args,
            rows: 1,
            nulls: None,
            ..call.again()
        })?);
    }
    Ok(hashes)
}

fn of_64(key: Key) -> Family<u64> {
    let bytes = move |bytes: &[u8]| sip::sip64(bytes, key);
    let combine =
        move |low: u64, high: u64| sip::sip64(&(u128::from(high) << 64 | u128::from(low)).to_le_bytes(), key);
    let (bytes, combine) = (Arc::new(bytes), Arc::new(combine));
    Family {
        bytes,
        number: None,
        length: super::int_hash,
        combine,
        nothing: super::NOTHING,
        null: super::NULL_64,
    }
}

fn of_128(key: Key) -> Family<Wide> {
    family_128(move |bytes| sip::sip128(bytes, key), move |a, b| sip::sip128(&joined(a, b), key))
}

fn of_128_reference(key: Key) -> Family<Wide> {
    family_128(
        move |bytes| sip::sip128_reference(bytes, key),
        move |a, b| sip::sip128_reference(&joined(a, b), key),
    )
}

fn wide(name: &'static str, family: fn(Key) -> Family<Wide>) -> ScalarFunction {
    let kernel = move |call: &Call<'_>| wide_texts(call, &hashed(call, family)?);
    ScalarFunction::new(name, 1..=usize::MAX, rule(name, ColumnType::FixedString(16)), kernel)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let numbers = |call: &Call<'_>| -> Result<ArrayRef, FunctionError> {
        Ok(Arc::new(UInt64Array::from(hashed(call, of_64)?)))
    };
    vec![
        ScalarFunction::new(
            "sipHash64Keyed",
            1..=usize::MAX,
            rule("sipHash64Keyed", ColumnType::UInt64),
            numbers,
        )
        .doc(
            "sipHash64Keyed((a, b), x, ...)",
            "SipHash-2-4 of 64 bits with a key, over all arguments.",
            "sipHash64Keyed((toUInt64(1), toUInt64(2)), 'abc')",
        ),
        wide("sipHash128Keyed", of_128).doc(
            "sipHash128Keyed((a, b), x, ...)",
            "ClickHouse's SipHash-2-4 of 128 bits with a key, over all arguments.",
            "hex(sipHash128Keyed((toUInt64(1), toUInt64(2)), 'abc'))",
        ),
        wide("sipHash128ReferenceKeyed", of_128_reference).doc(
            "sipHash128ReferenceKeyed((a, b), x, ...)",
            "SipHash-2-4 of 128 bits as its authors define it, with a key.",
            "hex(sipHash128ReferenceKeyed((toUInt64(1), toUInt64(2)), 'abc'))",
        ),
    ]
}
