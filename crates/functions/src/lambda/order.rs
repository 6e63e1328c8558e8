//! Lambdas that give the key to sort by, or to compare neighbours by.
//!
//! Invariant: elements with equal keys keep their order; NULL and NaN come last in both directions.

use arrow::array::ArrayRef;
use model::ColumnType;
use model::saturating::u64_of;

use super::{LambdaFunction, Over};
use crate::columns::container::map_of;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::{ElementOrder, equality, gather, take_entries};
use crate::kernel::registry::ScalarFunction;

/// The type of an argument that stays what it is.
fn same(
    name: &'static str,
    index: usize,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static {
    move |args| match args.get(index) {
        Some(arg) => {
            if index == 2 && !args[1].column_type.is_integer() {
                return Err(FunctionError::illegal_type(&args[1].column_type, name));
            }
            Ok(arg.column_type.clone())
        }
        None => Err(FunctionError::bad_argument(format!("function {name} needs something to sort"))),
    }
}

/// Arguments: keys, perhaps how many places matter, the array.
fn sort_by(call: &Call<'_>, descending: bool, partial: bool) -> Result<ArrayRef, FunctionError> {
    let (keys, lists) = (call.lists(0)?, call.lists(if partial { 2 } else { 1 })?);
    let order = ElementOrder::new(keys.values())?;
    let limits = if partial { Some(call.ints(1)?) } else { None };
    gather(call, &lists.element, lists.values(), |row, out| {
        let limit = limits.as_ref().map(|limits| usize::try_from(limits.get(row)).unwrap_or(0));
        out.extend(order.sorted(lists.range(row), descending, limit).into_iter().map(u64_of));
        Ok(())
    })
}

/// The same of a map's entries.
fn sort_entries(call: &Call<'_>, descending: bool, partial: bool) -> Result<ArrayRef, FunctionError> {
    let keys = call.lists(0)?;
    let ColumnType::Map(key, value) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "mapSort"));
    };
    let order = ElementOrder::new(keys.values())?;
    let limits = if partial { Some(call.ints(1)?) } else { None };
    let map = call.arg(if partial { 2 } else { 1 })?;
    let (offsets, keys, values) = take_entries(call, map, |row, own, out| {
        let limit = limits.as_ref().map(|limits| usize::try_from(limits.get(row)).unwrap_or(0));
        out.extend(order.sorted(own, descending, limit).into_iter().map(u64_of));
    })?;
    Ok(map_of(key, value, offsets, keys, values, None)?)
}

/// One element of each run with equal results.
fn compact(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (keys, lists) = (call.lists(0)?, call.lists(1)?);
    let equal = equality(keys.values(), keys.values())?;
    gather(call, &lists.element, lists.values(), |row, out| {
        let own = lists.range(row);
        let start = own.start;
        out.extend(own.filter(|at| *at == start || !equal(*at, at - 1)).map(u64_of));
        Ok(())
    })
}

pub(super) fn functions() -> Vec<LambdaFunction> {
    let many = 2..=usize::MAX;
    let arrays = |kernel| LambdaFunction::beside(Over::Elements, kernel);
    let maps = |kernel| LambdaFunction::beside(Over::Entries, kernel);
    let new = |name: &'static str, descending: bool| {
        ScalarFunction::new(name, many.clone(), same(name, 1), move |call| sort_by(call, descending, false))
    };
    let partial = |name: &'static str, descending: bool| {
        ScalarFunction::new(name, many.clone(), same(name, 2), move |call| sort_by(call, descending, true))
    };
    let entries = |name: &'static str, descending: bool, partial: bool| {
        let rule = same(name, if partial { 2 } else { 1 });
        ScalarFunction::new(name, many.clone(), rule, move |call| sort_entries(call, descending, partial))
    };
    vec![
        arrays(new("arraySort", false).doc(
            "arraySort([f, ]a, ...)",
            "The elements of the first array in order, or in the order of what the function gives; NULLs last.",
            "arraySort(x -> -x, [1, 2]) -> [2,1]",
        )),
        arrays(new("arrayReverseSort", true).doc(
            "arrayReverseSort([f, ]a, ...)",
            "The elements of the first array in falling order, or in that of what the function gives; NULLs last.",
            "arrayReverseSort(x -> -x, [1, 2]) -> [1,2]",
        )),
        arrays(partial("arrayPartialSort", false).doc(
            "arrayPartialSort([f, ]limit, a, ...)",
            "As arraySort, but only the first limit places are in order.",
            "arrayPartialSort(x -> -x, 1, [1, 2]) -> [2,1]",
        ))
        .plain(1),
        arrays(partial("arrayPartialReverseSort", true).doc(
            "arrayPartialReverseSort([f, ]limit, a, ...)",
            "As arrayReverseSort, but only the first limit places are in order.",
            "arrayPartialReverseSort(x -> x, 1, [1, 2]) -> [2,1]",
        ))
        .plain(1),
        arrays(ScalarFunction::new("arrayCompact", many.clone(), same("arrayCompact", 1), compact).doc(
            "arrayCompact([f, ]a)",
            "The first element of each run of equal ones, or of equal results of the function.",
            "arrayCompact(x -> x % 2, [1, 3, 4]) -> [1,4]",
        )),
        maps(entries("mapSort", false, false).doc(
            "mapSort([f, ]map)",
            "The entries in the order of their keys, or of what the function gives for key and value.",
            "mapSort((k, v) -> v, map('a', 2, 'b', 1)) -> {'b':1,'a':2}",
        )),
        maps(entries("mapReverseSort", true, false).doc(
            "mapReverseSort([f, ]map)",
            "The entries in the falling order of their keys, or of what the function gives for key and value.",
            "mapReverseSort((k, v) -> v, map('a', 1, 'b', 2)) -> {'b':2,'a':1}",
        )),
        maps(entries("mapPartialSort", false, true).doc(
            "mapPartialSort([f, ]limit, map)",
            "As mapSort, but only the first limit places are in order.",
            "mapPartialSort((k, v) -> v, 1, map('a', 2, 'b', 1)) -> {'b':1,'a':2}",
        ))
        .plain(1),
        maps(entries("mapPartialReverseSort", true, true).doc(
            "mapPartialReverseSort([f, ]limit, map)",
            "As mapReverseSort, but only the first limit places are in order.",
            "mapPartialReverseSort((k, v) -> v, 1, map('a', 1, 'b', 2)) -> {'b':2,'a':1}",
        ))
        .plain(1),
    ]
}
