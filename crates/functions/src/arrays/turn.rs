//! Arrays turned around: rotated, shifted, cut into runs, transposed.
//!
//! Invariant: the elements are the argument's; what becomes free is filled with the default, unless a value is given.

use std::ops::Range;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::compute::take;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::resize::{Filled, element_of, integer, size_of};
use crate::cast::type_default_array;
use crate::columns::container::{list_of, offsets_of, range};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::gather;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::supertype;

/// Elements moved by so many places to the left, those that fall out put in again at the end.
fn rotate(call: &Call<'_>, left: bool) -> Result<ArrayRef, FunctionError> {
    let (lists, steps) = (call.lists(0)?, call.ints(1)?);
    gather(call, &lists.element, lists.values(), |row, out| {
        let own = lists.range(row);
        let Ok(count) = i64::try_from(own.len()) else { return Ok(()) };
        if count > 0 {
            let steps = steps.get(row).rem_euclid(count);
            let steps = size_of(if left { steps } else { (count - steps) % count });
            out.extend((own.start + steps..own.end).chain(own.start..own.start + steps).map(u64_of));
        }
        Ok(())
    })
}

fn moved_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let element = element_of(args, 0, name)?;
        integer(args, 1, name)?;
        if let Some(filler) = args.get(2)
            && supertype([element, &filler.column_type]).ok().as_ref() != Some(element)
        {
            return Err(FunctionError::illegal_type(&filler.column_type, name));
        }
        Ok(args[0].column_type.clone())
    }
}

/// Elements moved by so many places, what becomes free filled.
fn shift(call: &Call<'_>, left: bool) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayShiftLeft"));
    };
    let filled = Filled::of(call, (call.args.len() > 2).then_some(2), type_default_array)?;
    let steps = call.ints(1)?;
    gather(call, element, &filled.values, |row, out| {
        let (own, steps) = (filled.lists.range(row), steps.get(row));
        let count = size_of(steps).min(own.len());
        let fill = std::iter::repeat_n(filled.filler(row), count);
        if (steps >= 0) == left {
            out.extend((own.start + count..own.end).map(u64_of).chain(fill));
        } else {
            out.extend(fill.chain((own.start..own.end - count).map(u64_of)));
        }
        Ok(())
    })
}

fn shingles(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(inner) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayShingles"));
    };
    let (lists, sizes) = (call.lists(0)?, call.ints(1)?);
    let wrong = |message: &str| {
        FunctionError::bad_argument(format!("shingle argument of function arrayShingles {message}"))
    };
    pieces(call, &lists.element, inner, lists.values(), |row, out| {
        let own = lists.range(row);
        let size = usize::try_from(sizes.get(row)).ok().filter(|size| *size > 0);
        let size = size.ok_or_else(|| wrong("must be a positive integer"))?;
        if size > own.len() {
            return Err(wrong("must be less than or equal to the array length"));
        }
        // Each run as a list of places, then all of them together, then the elements.
        let runs = own.len() - size + 1;
        call.reserve(runs.saturating_mul(size.saturating_mul(32).saturating_add(32)))?;
        call.allowance.check_elements(runs.saturating_mul(size))?;
        out.extend((own.start..=own.end - size).map(|start| (start..start + size).map(u64_of).collect()));
        Ok(())
    })
}

/// An array of arrays, each of elements that `pick` names.
fn pieces(
    call: &Call<'_>,
    element: &ColumnType,
    inner: &ColumnType,
    values: &ArrayRef,
    mut pick: impl FnMut(usize, &mut Vec<Vec<u64>>) -> Result<(), FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let (mut places, mut sizes, mut counts) = (vec![], vec![], Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let mut made = vec![];
        if !call.is_null(row) {
            pick(row, &mut made)?;
        }
        counts.push(made.len());
        for piece in made {
            sizes.push(piece.len());
            places.extend(piece);
        }
    }
    let taken = take(values, &UInt64Array::from(places), None)?;
    let lists = list_of(element, offsets_of(sizes), taken, None)?;
    Ok(list_of(inner, offsets_of(counts), lists, None)?)
}

fn nested_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| match element_of(args, 0, name)? {
        ColumnType::Array(_) => Ok(args[0].column_type.clone()),
        other => Err(FunctionError::illegal_type(other, name)),
    }
}

/// Rows become columns.
fn transpose(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let outer = call.lists(0)?;
    let ColumnType::Array(element) = &outer.element else {
        return Err(FunctionError::illegal_type(&outer.element, "arrayTranspose"));
    };
    let lists = outer.values().as_list::<i32>();
    pieces(call, element, &outer.element, lists.values(), |row, out| {
        let inner: Vec<Range<usize>> = outer.range(row).map(|at| range(lists.value_offsets(), at)).collect();
        let width = inner.first().map_or(0, Range::len);
        if inner.iter().any(|own| own.len() != width) {
            let message = "arrayTranspose needs inner arrays of one length";
            return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
        out.extend((0..width).map(|column| inner.iter().map(|own| u64_of(own.start + column)).collect()));
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("arrayRotateLeft", 2..=2, moved_type("arrayRotateLeft"), |call| {
            rotate(call, true)
        })
        .doc(
            "arrayRotateLeft(array, n)",
            "The first n elements put behind the others.",
            "arrayRotateLeft([1, 2, 3], 1) -> [2,3,1]",
        ),
        ScalarFunction::new("arrayRotateRight", 2..=2, moved_type("arrayRotateRight"), |call| {
            rotate(call, false)
        })
        .doc(
            "arrayRotateRight(array, n)",
            "The last n elements put in front of the others.",
            "arrayRotateRight([1, 2, 3], 1) -> [3,1,2]",
        ),
        ScalarFunction::new("arrayShiftLeft", 2..=3, moved_type("arrayShiftLeft"), |call| shift(call, true))
            .doc(
                "arrayShiftLeft(array, n[, filler])",
                "The array without its first n elements, filled at the end.",
                "arrayShiftLeft([1, 2, 3], 1) -> [2,3,0]",
            ),
        ScalarFunction::new("arrayShiftRight", 2..=3, moved_type("arrayShiftRight"), |call| {
            shift(call, false)
        })
        .doc(
            "arrayShiftRight(array, n[, filler])",
            "The array without its last n elements, filled in front.",
            "arrayShiftRight([1, 2, 3], 1) -> [0,1,2]",
        ),
        ScalarFunction::new(
            "arrayShingles",
            2..=2,
            |args| {
                element_of(args, 0, "arrayShingles")?;
                integer(args, 1, "arrayShingles")?;
                Ok(ColumnType::Array(Box::new(args[0].column_type.clone())))
            },
            shingles,
        )
        .doc(
            "arrayShingles(array, n)",
            "All runs of n elements.",
            "arrayShingles([1, 2, 3], 2) -> [[1,2],[2,3]]",
        ),
        ScalarFunction::new("arrayTranspose", 1..=1, nested_type("arrayTranspose"), transpose).doc(
            "arrayTranspose(arrays)",
            "The first elements of all arrays, the second ones, ...",
            "arrayTranspose([[1, 2], [3, 4]]) -> [[1,3],[2,4]]",
        ),
    ]
}
