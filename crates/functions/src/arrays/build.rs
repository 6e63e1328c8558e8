//! Making arrays: `array`, `range`, `arrayConcat`, `arrayZip` and the empty ones.
//!
//! Invariant: elements take the smallest common type.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, UInt64Array};
use arrow::compute::{concat, take};
use model::saturating::{place_of, u64_of};
use model::{ColumnType, ErrorCode};

use crate::cast::CastMode;
use crate::columns::container::{list_of, offsets_of, tuple_of, unnamed};
use crate::columns::number::{with_number, wrap};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::list::{Lists, concat_lists};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::expanded;
use crate::kernel::types::{branch_type, contained, supertype};

/// Most elements `range` makes in one block, as in ClickHouse.
const RANGE_ELEMENTS_MAX: usize = 500_000_000;

fn array_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let mut element = branch_type(args.iter().map(|arg| &arg.column_type))?;
    if !args.is_empty() {
        element = contained(element);
    }
    Ok(ColumnType::Array(Box::new(element)))
}

/// Row by row the first argument, the second, ...
fn array(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "array"));
    };
    let width = call.args.len();
    if width == 0 {
        let none = crate::cast::default_array(element, 0);
        return Ok(list_of(element, offsets_of(vec![0; call.rows]), none, None)?);
    }
    let mut columns = Vec::with_capacity(width);
    for arg in call.args {
        let array = call.caster(CastMode::Strict).column(&arg.array, &arg.column_type, element)?;
        columns.push(expanded(&Arg { array, ..arg.clone() }, call.rows)?);
    }
    let views: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let all = concat(&views)?;
    let position = |row: usize, column: usize| u64_of(column * call.rows + row);
    let order: Vec<u64> =
        (0..call.rows).flat_map(|row| (0..width).map(move |column| position(row, column))).collect();
    let values = take(&all, &UInt64Array::from(order), None)?;
    Ok(list_of(element, offsets_of(vec![width; call.rows]), values, None)?)
}

fn concat_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    for arg in args {
        if !matches!(arg.column_type, ColumnType::Array(_)) {
            return Err(FunctionError::illegal_type(&arg.column_type, "arrayConcat"));
        }
    }
    supertype(args.iter().map(|arg| &arg.column_type))
}

fn range_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    for arg in args {
        if !arg.column_type.is_integer() {
            return Err(FunctionError::illegal_type(&arg.column_type, "range"));
        }
    }
    let mut element = supertype(args.iter().map(|arg| &arg.column_type))?;
    if args.len() == 1 {
        element = args[0].column_type.clone();
    }
    Ok(ColumnType::Array(Box::new(element)))
}

/// Refuses to make too many elements before any of them takes memory; how many there will be more.
fn check_elements(made: usize, (start, end, step): (i64, i64, i64)) -> Result<usize, FunctionError> {
    let (distance, step) = (i128::from(end) - i128::from(start), i128::from(step));
    let ahead = if step == 0 || (distance > 0) != (step > 0) {
        0
    } else {
        (distance.abs() + step.abs() - 1) / step.abs()
    };
    let all = usize::try_from(ahead).unwrap_or(usize::MAX).saturating_add(made);
    if all <= RANGE_ELEMENTS_MAX {
        return Ok(all - made);
    }
    let message = format!(
        "a call to function range would produce {all} array elements, which is greater than the allowed maximum of \
         {RANGE_ELEMENTS_MAX}"
    );
    Err(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))
}

/// `range(end)`, `range(start, end)`, `range(start, end, step)`.
fn make_range(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "range"));
    };
    let bounds: Vec<_> = (0..call.args.len()).map(|index| call.ints(index)).collect::<Result<_, _>>()?;
    let bounds = |row: usize| match bounds.as_slice() {
        [end] => (0, end.get(row), 1),
        [start, end] => (start.get(row), end.get(row), 1),
        [start, end, step, ..] => (start.get(row), end.get(row), step.get(row)),
        [] => (0, 0, 1),
    };
    let (mut all, mut lengths) = (0, Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let (start, end, step) = bounds(row);
        let length = if call.is_null(row) { 0 } else { check_elements(all, (start, end, step))? };
        if step == 0 && start != end {
            return Err(FunctionError::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                "range needs a step that is not 0",
            ));
        }
        lengths.push(length);
        all += length;
    }
    let values: ArrayRef = with_number!(&**element, T => {
        call.reserve(all.saturating_mul(size_of::<<T as ArrowPrimitiveType>::Native>()))?;
        let mut numbers = Vec::with_capacity(all);
        for (row, length) in lengths.iter().enumerate() {
            let (start, _, step) = bounds(row);
            let mut next = start;
            for _ in 0..*length {
                numbers.push(wrap(next));
                next = next.wrapping_add(step);
            }
        }
        Arc::new(PrimitiveArray::<T>::new(numbers.into(), None))
    }, else return Err(FunctionError::illegal_type(element, "range")));
    Ok(list_of(element, offsets_of(lengths), values, None)?)
}

fn elements_of(args: &[ArgType], name: &str) -> Result<Vec<ColumnType>, FunctionError> {
    args.iter()
        .map(|arg| match &arg.column_type {
            ColumnType::Array(element) => Ok((**element).clone()),
            other => Err(FunctionError::illegal_type(other, name)),
        })
        .collect()
}

fn zip_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    Ok(ColumnType::Array(Box::new(unnamed(elements_of(args, "arrayZip")?))))
}

fn zip(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists: Vec<Lists> = (0..call.args.len()).map(|index| call.lists(index)).collect::<Result<_, _>>()?;
    let mut indices: Vec<Vec<u64>> = vec![Vec::new(); lists.len()];
    let mut lengths = Vec::with_capacity(call.rows);
    for row in 0..call.rows {
        let length = lists[0].range(row).len();
        for (list, indices) in lists.iter().zip(&mut indices) {
            let own = list.range(row);
            if own.len() != length {
                let message =
                    "the argument 1 and the other arguments of function arrayZip have different array sizes";
                return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
            }
            indices.extend(own.map(u64_of));
        }
        lengths.push(length);
    }
    let total = lengths.iter().sum();
    let columns: Vec<ArrayRef> = lists
        .iter()
        .zip(indices)
        .map(|(list, indices)| take(list.values(), &UInt64Array::from(indices), None))
        .collect::<Result<_, _>>()?;
    let pair = unnamed(lists.iter().map(|list| list.element.clone()));
    let ColumnType::Tuple(elements) = &pair else {
        return Err(FunctionError::bad_argument("no arrays given"));
    };
    let tuples = tuple_of(elements, columns, None, total)?;
    Ok(list_of(&pair, offsets_of(lengths), tuples, None)?)
}

/// What stands innermost in nested arrays.
fn innermost(column_type: &ColumnType) -> &ColumnType {
    match column_type {
        ColumnType::Array(inner) => innermost(inner),
        plain => plain,
    }
}

/// Arrays in arrays, however deep -> one array.
fn flatten(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let outer = call.lists(0)?;
    if !matches!(outer.element, ColumnType::Array(_)) {
        return expanded(call.arg(0)?, call.rows);
    }
    let mut levels = vec![outer.values().as_list::<i32>().clone()];
    let mut values = Arc::clone(levels[0].values());
    while let Some(nested) = values.as_list_opt::<i32>().cloned() {
        values = Arc::clone(nested.values());
        levels.push(nested);
    }
    crate::kernel::list::gather(call, innermost(&outer.element), &values, |row, out| {
        let mut own = outer.range(row);
        for level in &levels {
            // Items of neighbours are neighbours.
            let place = |at: usize| place_of(level.value_offsets()[at]);
            own = place(own.start)..place(own.end);
        }
        out.extend(own.map(u64_of));
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let flatten_type = |args: &[ArgType]| match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Array(inner)) => Ok(ColumnType::Array(Box::new(innermost(inner).clone()))),
        _ => Err(FunctionError::bad_argument("arrayFlatten takes an array")),
    };
    vec![
        ScalarFunction::new("array", 0..=usize::MAX, array_type, array).own_nulls().doc(
            "array(a, b, ...)",
            "An array of the arguments.",
            "array(1, 2) -> [1,2]",
        ),
        ScalarFunction::new("arrayConcat", 1..=usize::MAX, concat_type, concat_lists)
            .any_case()
            .aliases(&["array_concat"])
            .doc(
                "arrayConcat(a, b, ...)",
                "The elements of all arrays as one array.",
                "arrayConcat([1], [2]) -> [1,2]",
            ),
        ScalarFunction::new("range", 1..=3, range_type, make_range).doc(
            "range([start, ]end[, step])",
            "The numbers from start, or 0, up to before end.",
            "range(3) -> [0,1,2]",
        ),
        ScalarFunction::new("arrayZip", 1..=usize::MAX, zip_type, zip).doc(
            "arrayZip(a, b, ...)",
            "Tuples of the elements at the same place.",
            "arrayZip([1], ['a']) -> [(1,'a')]",
        ),
        ScalarFunction::new("arrayFlatten", 1..=1, flatten_type, flatten).aliases(&["flatten"]).doc(
            "arrayFlatten(arrays)",
            "Arrays in arrays, however deep, as one array.",
            "arrayFlatten([[1], [2]]) -> [1,2]",
        ),
    ]
}
