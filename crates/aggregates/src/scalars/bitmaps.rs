//! Functions of sets of integers, which are states of `groupBitmap`.
//!
//! Invariant: the order in which values come out is ClickHouse's (see [`Bitmap`]). Values are compared without their sign, so
//! bounds and results of `bitmapMin` and `bitmapMax` are as large as their bits. Must not know: who made the states.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt8Array, UInt64Array};
use arrow::buffer::OffsetBuffer;
use functions::allowance::reserve;
use functions::container::list_of;
use functions::{ArgType, Call, FunctionError, ScalarFunction};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::arguments::{Integers, Lists, Sets, is_null, unexpected};
use crate::kernels::bitmap::{Bitmap, bytes_of, column_of, largest, state_of, values_of, written};
use crate::typing::internal;

/// Copies of the values while a set is made: as read, as a set, put together with others, as a column, as a state.
const COPIES: usize = 5;

const PLACES: [&str; 3] = ["first", "second", "third"];

fn illegal(message: String) -> FunctionError {
    FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
}

/// The type of the values of an argument that is a set.
fn set(args: &[ArgType], at: usize, name: &str) -> Result<ColumnType, FunctionError> {
    let column_type = &args[at].column_type;
    values_of(column_type).ok_or_else(|| {
        illegal(format!("the {} argument of function {name} must be a bitmap, not {column_type}", PLACES[at]))
    })
}

/// The type of the values of both arguments.
fn two_sets(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    let (one, other) = (set(args, 0, name)?, set(args, 1, name)?);
    if one == other {
        return Ok(one);
    }
    Err(illegal(format!("bitmaps of function {name} must have values of one type, not {one} and {other}")))
}

fn is_unsigned(column_type: &ColumnType) -> bool {
    matches!(
        column_type.value_type(),
        ColumnType::UInt8 | ColumnType::UInt16 | ColumnType::UInt32 | ColumnType::UInt64
    )
}

/// A set, and behind it two numbers without a sign, or two arrays of them.
fn set_and_two(args: &[ArgType], name: &str, arrays: bool) -> Result<ColumnType, FunctionError> {
    let values = set(args, 0, name)?;
    for arg in &args[1..] {
        let fits = match &arg.column_type {
            ColumnType::Array(element) => arrays && !element.is_nullable() && is_unsigned(element),
            other => !arrays && is_unsigned(other),
        };
        if !fits {
            let wanted = if arrays { "arrays of integers without a sign" } else { "integers without a sign" };
            let message = format!(
                "the second and third arguments of function {name} must be {wanted}, not {}",
                arg.column_type
            );
            return Err(illegal(message));
        }
    }
    Ok(state_of(values))
}

/// The values of a state that the function gives.
fn values_of_result(call: &Call<'_>) -> Result<ColumnType, FunctionError> {
    values_of(call.result_type).ok_or_else(|| unexpected(&call.args[0]))
}

/// A set for each row.
fn sets(
    call: &Call<'_>,
    mut make: impl FnMut(usize) -> Result<Bitmap, FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let rows = 0..call.rows;
    let made = rows.map(|row| if is_null(call, row) { Ok(Bitmap::default()) } else { make(row) });
    written(&made.collect::<Result<Vec<_>, _>>()?, &values_of_result(call)?).map_err(internal)
}

fn numbers(call: &Call<'_>, number: impl Fn(usize) -> u64) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values((0..call.rows).map(number)))
}

fn flags(call: &Call<'_>, flag: impl Fn(usize) -> bool) -> ArrayRef {
    Arc::new(UInt8Array::from_iter_values((0..call.rows).map(|row| u8::from(flag(row)))))
}

fn build(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let ColumnType::Array(element) = &args[0].column_type else {
        return Err(FunctionError::illegal_type(&args[0].column_type, "bitmapBuild"));
    };
    let values = element.value_type();
    if element.is_nullable() || bytes_of(values).is_none() {
        return Err(FunctionError::illegal_type(&args[0].column_type, "bitmapBuild"));
    }
    Ok(state_of(values.clone()))
}

fn built(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let values = call.args[0].array.as_list_opt::<i32>().map_or(0, |list| list.values().len());
    let _room = reserve("bitmapBuild", values.saturating_mul(COPIES * size_of::<u64>()))?;
    let (lists, mask) = (Lists::of(call, 0)?, largest(&values_of_result(call)?));
    sets(call, |row| Ok(Bitmap::collect(lists.get(row).iter().map(|value| value & mask))))
}

fn to_array(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else { return Err(unexpected(&call.args[0])) };
    let found = Sets::of(call, 0)?;
    let values: usize = (0..call.rows).map(|row| found.get(row).len()).sum();
    let _room = reserve("bitmapToArray", values.saturating_mul(2 * size_of::<u64>()))?;
    let (mut bits, mut lengths) = (Vec::with_capacity(values), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        bits.extend_from_slice(found.get(row).values());
        lengths.push(found.get(row).len());
    }
    let values = column_of(&bits, None, element).map_err(internal)?;
    Ok(list_of(element, OffsetBuffer::from_lengths(lengths), values, None)?)
}

/// The smallest value; of no values the largest that the sets of ClickHouse can have: of 32 bits, or of 64.
fn smallest(set: &Bitmap, values: &ColumnType) -> u64 {
    let of_none = if bytes_of(values) == Some(8) { u64::MAX } else { u64::from(u32::MAX) };
    set.values().iter().min().copied().unwrap_or(of_none)
}

fn single() -> Vec<ScalarFunction> {
    let count = |name: &'static str, number: fn(&Bitmap, &ColumnType) -> u64| {
        ScalarFunction::new(
            name,
            1..=1,
            move |args| set(args, 0, name).map(|_| ColumnType::UInt64),
            move |call| {
                let found = Sets::of(call, 0)?;
                let values = values_of(&call.args[0].column_type).unwrap_or(ColumnType::UInt64);
                Ok(numbers(call, |row| number(found.get(row), &values)))
            },
        )
    };
    vec![
        ScalarFunction::new("bitmapBuild", 1..=1, build, built).doc(
            "bitmapBuild(array)",
            "The set of the integers of an array, as a state of groupBitmap.",
            "bitmapToArray(bitmapBuild([3, 1, 3])) -> [3, 1]",
        ),
        ScalarFunction::new(
            "bitmapToArray",
            1..=1,
            |args| set(args, 0, "bitmapToArray").map(|values| ColumnType::Array(Box::new(values))),
            to_array,
        )
        .doc(
            "bitmapToArray(set)",
            "The values of a set: up to 32 in the order in which they came, more of them sorted.",
            "bitmapToArray(bitmapBuild([3, 1, 3])) -> [3, 1]",
        ),
        count("bitmapCardinality", |set, _| u64_of(set.len())).doc(
            "bitmapCardinality(set)",
            "How many values a set has.",
            "bitmapCardinality(bitmapBuild([3, 1, 3])) -> 2",
        ),
        count("bitmapMin", smallest).doc(
            "bitmapMin(set)",
            "The smallest value without its sign; of an empty set all bits.",
            "bitmapMin(bitmapBuild([3, 1])) -> 1",
        ),
        count("bitmapMax", |set, _| set.values().iter().max().copied().unwrap_or(0)).doc(
            "bitmapMax(set)",
            "The largest value without its sign; 0 of an empty set.",
            "bitmapMax(bitmapBuild([3, 1])) -> 3",
        ),
        ScalarFunction::new("bitmapContains", 2..=2, contains_type, contains).doc(
            "bitmapContains(set, n)",
            "Whether a set has a value.",
            "bitmapContains(bitmapBuild([3, 1]), 3) -> 1",
        ),
    ]
}

fn contains_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    set(args, 0, "bitmapContains")?;
    match bytes_of(args[1].column_type.value_type()) {
        Some(_) => Ok(ColumnType::UInt8),
        None => Err(FunctionError::illegal_type(&args[1].column_type, "bitmapContains")),
    }
}

/// The value is taken as 64 bits with its sign, as ClickHouse does: a set of Int8 has no -1.
fn contains(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (found, values) = (Sets::of(call, 0)?, Integers::of(call, 1)?);
    Ok(flags(call, |row| found.get(row).contains(values.get(row))))
}

/// A set made of two.
fn made(name: &'static str, make: fn(&Bitmap, &Bitmap) -> Bitmap) -> ScalarFunction {
    ScalarFunction::new(
        name,
        2..=2,
        move |args| two_sets(args, name).map(state_of),
        move |call| {
            let (one, other) = (Sets::of(call, 0)?, Sets::of(call, 1)?);
            sets(call, |row| Ok(make(one.get(row), other.get(row))))
        },
    )
}

/// How many values a set made of two has.
fn counted(name: &'static str, make: fn(&Bitmap, &Bitmap) -> Bitmap) -> ScalarFunction {
    ScalarFunction::new(
        name,
        2..=2,
        move |args| two_sets(args, name).map(|_| ColumnType::UInt64),
        move |call| {
            let (one, other) = (Sets::of(call, 0)?, Sets::of(call, 1)?);
            Ok(numbers(call, |row| u64_of(make(one.get(row), other.get(row)).len())))
        },
    )
}

/// Whether something holds of two sets.
fn tested(name: &'static str, test: fn(&Bitmap, &Bitmap) -> bool) -> ScalarFunction {
    ScalarFunction::new(
        name,
        2..=2,
        move |args| two_sets(args, name).map(|_| ColumnType::UInt8),
        move |call| {
            let (one, other) = (Sets::of(call, 0)?, Sets::of(call, 1)?);
            Ok(flags(call, |row| test(one.get(row), other.get(row))))
        },
    )
}

fn pairs() -> Vec<ScalarFunction> {
    vec![
        made("bitmapAnd", Bitmap::and).doc(
            "bitmapAnd(a, b)",
            "The values that both sets have.",
            "bitmapToArray(bitmapAnd(bitmapBuild([1, 2]), bitmapBuild([2, 3]))) -> [2]",
        ),
        made("bitmapOr", Bitmap::or).doc(
            "bitmapOr(a, b)",
            "The values that either set has.",
            "bitmapToArray(bitmapOr(bitmapBuild([1, 2]), bitmapBuild([2, 3]))) -> [1, 2, 3]",
        ),
        made("bitmapXor", Bitmap::xor).doc(
            "bitmapXor(a, b)",
            "The values that one of the sets has.",
            "bitmapToArray(bitmapXor(bitmapBuild([1, 2]), bitmapBuild([2, 3]))) -> [1, 3]",
        ),
        made("bitmapAndnot", Bitmap::andnot).doc(
            "bitmapAndnot(a, b)",
            "The values of a that b does not have.",
            "bitmapToArray(bitmapAndnot(bitmapBuild([1, 2]), bitmapBuild([2, 3]))) -> [1]",
        ),
        counted("bitmapAndCardinality", Bitmap::and).doc(
            "bitmapAndCardinality(a, b)",
            "How many values both sets have.",
            "bitmapAndCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3])) -> 1",
        ),
        counted("bitmapOrCardinality", Bitmap::or).doc(
            "bitmapOrCardinality(a, b)",
            "How many values either set has.",
            "bitmapOrCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3])) -> 3",
        ),
        counted("bitmapXorCardinality", Bitmap::xor).doc(
            "bitmapXorCardinality(a, b)",
            "How many values one of the sets has.",
            "bitmapXorCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3])) -> 2",
        ),
        counted("bitmapAndnotCardinality", Bitmap::andnot).doc(
            "bitmapAndnotCardinality(a, b)",
            "How many values a has that b does not have.",
            "bitmapAndnotCardinality(bitmapBuild([1, 2]), bitmapBuild([2, 3])) -> 1",
        ),
        tested("bitmapHasAny", |one, other| one.and(other).len() > 0).doc(
            "bitmapHasAny(a, b)",
            "Whether the sets have a value in common.",
            "bitmapHasAny(bitmapBuild([1, 2]), bitmapBuild([2, 3])) -> 1",
        ),
        tested("bitmapHasAll", |one, other| other.values().iter().all(|value| one.contains(*value))).doc(
            "bitmapHasAll(a, b)",
            "Whether a has all values of b.",
            "bitmapHasAll(bitmapBuild([1, 2]), bitmapBuild([2])) -> 1",
        ),
    ]
}

/// Values from `start` to before `end`.
fn in_range(set: &Bitmap, start: u64, end: u64) -> Bitmap {
    Bitmap::collect(set.values().iter().copied().filter(|value| (start..end).contains(value)))
}

/// The smallest `limit` values from `start` on; in their order where these are all.
fn limited(set: &Bitmap, start: u64, limit: u64) -> Bitmap {
    let mut kept: Vec<u64> = set.values().iter().copied().filter(|value| *value >= start).collect();
    if u64_of(kept.len()) > limit {
        kept.sort_unstable();
        kept.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Bitmap::collect(kept)
}

/// `limit` of the sorted values behind the first `offset`.
fn cut(set: &Bitmap, offset: u64, limit: u64) -> Bitmap {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    Bitmap::collect(set.sorted().into_iter().skip(place(offset)).take(place(limit)))
}

/// One value after the other is replaced by another, where it is in the set by then.
fn transformed(set: &Bitmap, from: &[u64], to: &[u64], largest: u64) -> Result<Bitmap, FunctionError> {
    let bad = |message: String| Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
    if from.len() != to.len() {
        return bad("the arrays of function bitmapTransform have different sizes".to_owned());
    }
    if let Some(wide) = to.iter().find(|value| **value > largest) {
        return bad(format!(
            "{wide} of function bitmapTransform does not fit the values of the bitmap, of which the largest is {largest}"
        ));
    }
    let mut values: std::collections::BTreeSet<u64> = set.values().iter().copied().collect();
    for (from, to) in from.iter().zip(to) {
        if from != to && values.remove(from) {
            values.insert(*to);
        }
    }
    Ok(Bitmap::large(values.into_iter().collect()))
}

fn transform(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (found, from, to) = (Sets::of(call, 0)?, Lists::of(call, 1)?, Lists::of(call, 2)?);
    let largest = largest(&values_of_result(call)?);
    sets(call, |row| transformed(found.get(row), from.get(row), to.get(row), largest))
}

fn parts() -> Vec<ScalarFunction> {
    let part = |name: &'static str, make: fn(&Bitmap, u64, u64) -> Bitmap| {
        ScalarFunction::new(
            name,
            3..=3,
            move |args| set_and_two(args, name, false),
            move |call| {
                let (found, one, two) = (Sets::of(call, 0)?, Integers::of(call, 1)?, Integers::of(call, 2)?);
                sets(call, |row| Ok(make(found.get(row), one.get(row), two.get(row))))
            },
        )
    };
    vec![
        part("bitmapSubsetInRange", in_range).doc(
            "bitmapSubsetInRange(set, start, end)",
            "The values from start to before end.",
            "bitmapToArray(bitmapSubsetInRange(bitmapBuild([1, 3, 5]), 2, 5)) -> [3]",
        ),
        part("bitmapSubsetLimit", limited).doc(
            "bitmapSubsetLimit(set, start, limit)",
            "At most so many values from start on, the smallest of them.",
            "bitmapToArray(bitmapSubsetLimit(bitmapBuild([1, 3, 5]), 2, 1)) -> [3]",
        ),
        part("subBitmap", cut).doc(
            "subBitmap(set, offset, limit)",
            "At most so many values behind the first ones, in order.",
            "bitmapToArray(subBitmap(bitmapBuild([5, 3, 1]), 1, 1)) -> [3]",
        ),
        ScalarFunction::new(
            "bitmapTransform",
            3..=3,
            |args| set_and_two(args, "bitmapTransform", true),
            transform,
        )
        .doc(
            "bitmapTransform(set, from, to)",
            "A set in which values are replaced by others, one after the other.",
            "bitmapToArray(bitmapTransform(bitmapBuild([1, 3]), [toUInt8(3)], [toUInt8(7)])) -> [1, 7]",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = single();
    out.extend(pairs());
    out.extend(parts());
    out
}
