//! Arrays from arrays: slices, sorting, distinct elements, enumerations.
//!
//! Invariant: the result's elements are the argument's, gathered by index, or counts about them.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::row::Row;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::columns::container::{list_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::list::{ElementOrder, element_order, equality, gather, reverse_lists};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::Numbers;
use crate::memory::allowance::reserve;

use super::sets::keys_of;

fn same_array(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match args.first().map(|arg| &arg.column_type) {
        Some(array @ ColumnType::Array(_)) => Ok(array.clone()),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("an array is needed")),
    }
}

fn counts(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    let same = same_array(name);
    move |args| {
        for arg in args {
            same(std::slice::from_ref(arg))?;
        }
        Ok(ColumnType::Array(Box::new(ColumnType::UInt32)))
    }
}

fn is_null(arg: &Arg, row: usize) -> bool {
    arg.column_type == ColumnType::Nothing || arg.is_null(row)
}

fn slice_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let is_place = |t: &ColumnType| *t == ColumnType::Nothing || t.value_type().is_integer();
    match args.iter().skip(1).find(|arg| !is_place(&arg.column_type)) {
        Some(other) => Err(FunctionError::illegal_type(&other.column_type, "arraySlice")),
        None => same_array("arraySlice")(args),
    }
}

/// The places of a slice that starts at a 1-based or negative offset.
fn slice_of(own: std::ops::Range<usize>, offset: i64, length: Option<i64>) -> std::ops::Range<usize> {
    let count = i64::try_from(own.len()).unwrap_or(i64::MAX);
    let start = if offset > 0 { offset - 1 } else { count + offset };
    let end = match length {
        None => count,
        Some(length) if length < 0 => count + length,
        Some(length) => start.saturating_add(length),
    };
    let clamp = |at: i64| usize::try_from(at.clamp(0, count)).unwrap_or(0);
    if offset == 0 {
        return own.start..own.start;
    }
    own.start + clamp(start)..own.start + clamp(end).max(clamp(start))
}

fn slice(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let offsets: Numbers<_> = call.ints(1)?;
    let lengths = if call.args.len() > 2 && call.arg(2)?.column_type != ColumnType::Nothing {
        Some(call.ints(2)?)
    } else {
        None
    };
    let (offset_arg, length_arg) = (call.arg(1)?, if lengths.is_some() { Some(call.arg(2)?) } else { None });
    gather(call, &lists.element, lists.values(), |row, out| {
        let is_open = length_arg.is_none_or(|arg| is_null(arg, row));
        let length = lengths.as_ref().filter(|_| !is_open).map(|lengths| lengths.get(row));
        // As in ClickHouse a NULL leaves that side open.
        let offset = if is_null(offset_arg, row) { 1 } else { offsets.get(row) };
        out.extend(slice_of(lists.range(row), offset, length).map(u64_of));
        Ok(())
    })
}

/// Sorts each array; NULLs and NaNs stay last in both directions.
fn sort(call: &Call<'_>, descending: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let order = ElementOrder::new(lists.values())?;
    gather(call, &lists.element, lists.values(), |row, out| {
        out.extend(order.sorted(lists.range(row), descending, None).into_iter().map(u64_of));
        Ok(())
    })
}

/// The same as far as so many places.
fn partial_sort(call: &Call<'_>, descending: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(1)?;
    let limits = call.ints(0)?;
    let order = ElementOrder::new(lists.values())?;
    gather(call, &lists.element, lists.values(), |row, out| {
        let limit = usize::try_from(limits.get(row)).unwrap_or(0);
        out.extend(order.sorted(lists.range(row), descending, Some(limit)).into_iter().map(u64_of));
        Ok(())
    })
}

fn partial_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args {
        [limit, array]
            if limit.column_type.is_integer() && matches!(array.column_type, ColumnType::Array(_)) =>
        {
            Ok(array.column_type.clone())
        }
        [limit, array] => {
            let message = format!(
                "arrayPartialSort takes a number and an array, found {} and {}",
                limit.column_type, array.column_type
            );
            Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message))
        }
        _ => Err(FunctionError::bad_argument("arrayPartialSort takes a number and an array")),
    }
}

fn distinct_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match same_array("arrayDistinct")(args)? {
        ColumnType::Array(element) => Ok(ColumnType::Array(Box::new(element.value_type().clone()))),
        other => Ok(other),
    }
}

/// First occurrences in their order, without NULL.
fn distinct(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (values, nulls) = (lists.values(), lists.values().logical_nulls());
    let order = element_order(values)?;
    // Of one row: its places, those once more, and half of them while they are sorted.
    let longest = (0..call.rows).map(|row| lists.range(row).len()).max().unwrap_or(0);
    let _room = reserve("arrayDistinct", longest.saturating_mul(3 * size_of::<usize>()))?;
    gather(call, lists.element.value_type(), values, |row, out| {
        let is_there = |at: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at));
        let own: Vec<usize> = lists.range(row).filter(is_there).collect();
        let mut firsts = firsts_of(&own, &order);
        firsts.sort_unstable();
        out.extend(firsts.into_iter().map(u64_of));
        Ok(())
    })
}

/// One place, the first, of every group of equal elements.
fn firsts_of(places: &[usize], order: impl Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted = places.to_vec();
    sorted.sort_by(|a, b| order(*a, *b).then(a.cmp(b)));
    sorted.dedup_by(|a, b| order(*a, *b) == Ordering::Equal);
    sorted
}

/// Number of different elements, or of different sets of them.
fn unique(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (keys, lengths) = keys_of(call)?;
    let mut keys = keys.iter();
    let counts: Vec<u32> = lengths
        .into_iter()
        .map(|length| {
            let different: HashSet<Row<'_>> = keys.by_ref().take(length).collect();
            u32::try_from(different.len()).unwrap_or(u32::MAX)
        })
        .collect();
    call.each::<arrow::datatypes::UInt32Type>(|row| Ok(counts[row]))
}

/// A UInt32 per element.
fn numbered(
    call: &Call<'_>,
    mut number: impl FnMut(std::ops::Range<usize>, &mut Vec<u32>),
) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (mut numbers, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let own = if call.is_null(row) { 0..0 } else { lists.range(row) };
        lengths.push(own.len());
        number(own, &mut numbers);
    }
    let values: ArrayRef = std::sync::Arc::new(UInt32Array::from(numbers));
    Ok(list_of(&ColumnType::UInt32, offsets_of(lengths), values, None)?)
}

/// A number for each element, of the elements of its row that were met before.
fn enumerated(
    call: &Call<'_>,
    mut number: impl for<'k> FnMut(&mut HashMap<Row<'k>, u32>, Row<'k>) -> u32,
) -> Result<ArrayRef, FunctionError> {
    let (keys, lengths) = keys_of(call)?;
    let mut keys = keys.iter();
    let mut numbers: Vec<u32> = vec![];
    for length in &lengths {
        let mut known = HashMap::new();
        numbers.extend(keys.by_ref().take(*length).map(|key| number(&mut known, key)));
    }
    let values: ArrayRef = std::sync::Arc::new(UInt32Array::from(numbers));
    Ok(list_of(&ColumnType::UInt32, offsets_of(lengths), values, None)?)
}

fn enumerate_unique(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    enumerated(call, |known, key| {
        let count = known.entry(key).or_insert(0);
        *count += 1;
        *count
    })
}

fn enumerate_dense(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    enumerated(call, |known, key| {
        let next = u32::try_from(known.len() + 1).unwrap_or(u32::MAX);
        *known.entry(key).or_insert(next)
    })
}

fn compact(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let equal = equality(lists.values(), lists.values())?;
    gather(call, &lists.element, lists.values(), |row, out| {
        let own = lists.range(row);
        let start = own.start;
        out.extend(own.filter(|at| *at == start || !equal(*at, at - 1)).map(u64_of));
        Ok(())
    })
}

/// Elements of the array without its first or last one.
fn pop(call: &Call<'_>, first: bool) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    gather(call, &lists.element, lists.values(), |row, out| {
        let own = lists.range(row);
        let keep = if own.is_empty() {
            own
        } else if first {
            own.start + 1..own.end
        } else {
            own.start..own.end - 1
        };
        out.extend(keep.map(u64_of));
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut all = vec![
        ScalarFunction::new("arraySlice", 2..=3, slice_type, slice).own_nulls().doc(
            "arraySlice(array, offset[, length])",
            "A part of the array.",
            "arraySlice([1, 2, 3], 2, 1) -> [2]",
        ),
        ScalarFunction::new("arraySort", 1..=1, same_array("arraySort"), |call| sort(call, false)).doc(
            "arraySort(array)",
            "The elements in order, NULLs last.",
            "arraySort([2, 1]) -> [1,2]",
        ),
        ScalarFunction::new("arrayReverseSort", 1..=1, same_array("arrayReverseSort"), |call| {
            sort(call, true)
        })
        .doc(
            "arrayReverseSort(array)",
            "The elements in falling order, NULLs last.",
            "arrayReverseSort([1, 2]) -> [2,1]",
        ),
        ScalarFunction::new("arrayPartialSort", 2..=2, partial_type, |call| partial_sort(call, false)).doc(
            "arrayPartialSort(limit, array)",
            "The array with its first limit places in order.",
            "arrayPartialSort(1, [3, 1, 2]) -> [1,3,2]",
        ),
        ScalarFunction::new("arrayPartialReverseSort", 2..=2, partial_type, |call| partial_sort(call, true))
            .doc(
                "arrayPartialReverseSort(limit, array)",
                "The array with its first limit places in falling order.",
                "arrayPartialReverseSort(1, [1, 3, 2]) -> [3,1,2]",
            ),
        ScalarFunction::new("arrayReverse", 1..=1, same_array("arrayReverse"), reverse_lists).doc(
            "arrayReverse(array)",
            "The elements backwards.",
            "arrayReverse([1, 2]) -> [2,1]",
        ),
        ScalarFunction::new("arrayDistinct", 1..=1, distinct_type, distinct).doc(
            "arrayDistinct(array)",
            "Each different element once, without NULL.",
            "arrayDistinct([1, 2, 1]) -> [1,2]",
        ),
        ScalarFunction::new("arrayCompact", 1..=1, same_array("arrayCompact"), compact).doc(
            "arrayCompact(array)",
            "Runs of equal elements as one.",
            "arrayCompact([1, 1, 2, 1]) -> [1,2,1]",
        ),
        ScalarFunction::new("arrayPopBack", 1..=1, same_array("arrayPopBack"), |call| pop(call, false)).doc(
            "arrayPopBack(array)",
            "The array without its last element.",
            "arrayPopBack([1, 2]) -> [1]",
        ),
        ScalarFunction::new("arrayPopFront", 1..=1, same_array("arrayPopFront"), |call| pop(call, true)).doc(
            "arrayPopFront(array)",
            "The array without its first element.",
            "arrayPopFront([1, 2]) -> [2]",
        ),
    ];
    all.extend(numbering());
    all
}

fn numbering() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new(
            "arrayUniq",
            1..=usize::MAX,
            |args| counts("arrayUniq")(args).map(|_| ColumnType::UInt32),
            unique,
        )
        .doc(
            "arrayUniq(array, ...)",
            "The number of different elements, or of different sets of elements at the same place.",
            "arrayUniq([1, 2, 1]) -> 2",
        ),
        ScalarFunction::new("arrayEnumerate", 1..=1, counts("arrayEnumerate"), |call| {
            numbered(call, |own, out| {
                out.extend((1..=own.len()).map(|n| u32::try_from(n).unwrap_or(u32::MAX)))
            })
        })
        .doc(
            "arrayEnumerate(array)",
            "The places of the elements, from 1.",
            "arrayEnumerate([5, 6]) -> [1,2]",
        ),
        ScalarFunction::new(
            "arrayEnumerateUniq",
            1..=usize::MAX,
            counts("arrayEnumerateUniq"),
            enumerate_unique,
        )
        .doc(
            "arrayEnumerateUniq(array, ...)",
            "For each element how often it has occurred so far.",
            "arrayEnumerateUniq([5, 5]) -> [1,2]",
        ),
        ScalarFunction::new(
            "arrayEnumerateDense",
            1..=usize::MAX,
            counts("arrayEnumerateDense"),
            enumerate_dense,
        )
        .doc(
            "arrayEnumerateDense(array, ...)",
            "For each element which one of the different elements it is, from 1.",
            "arrayEnumerateDense([5, 6, 5]) -> [1,2,1]",
        ),
    ]
}
