//! Asking arrays and maps: `has`, `indexOf`, element access.
//!
//! Invariant: NULL equals NULL here, as in ClickHouse; an index outside gives the default, or NULL for Nullable elements.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{Int64Type, UInt64Type};
use model::ColumnType;
use model::saturating::u64_of;

use crate::cast::{CastMode, default_array};
use crate::columns::container::{list_of, nulls_of, range};
use crate::error::FunctionError;
use crate::kernel::alike::{self, alike, as_numbers, number_supertype};
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::list::{equality, number_equality};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::Numbers;

fn element_of(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Array(element)) => Ok((**element).clone()),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("an array is needed")),
    }
}

fn asks(
    name: &'static str,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let element = element_of(args, name)?;
        if let Some(wanted) = args.get(1) {
            alike::check(&element, &wanted.column_type)?;
        }
        Ok(result.clone())
    }
}

/// The elements of argument 0 and the values of argument 1 in one type.
pub(super) fn compared(call: &Call<'_>) -> Result<(ArrayRef, ArrayRef), FunctionError> {
    let (elements, element) = call.lists_of(0)?;
    let wanted = call.arg(1)?;
    alike(&call.caster(CastMode::Strict), (&elements, &element), (&wanted.array, &wanted.column_type))
}

impl Call<'_> {
    /// Elements of an array argument and their type.
    fn lists_of(&self, index: usize) -> Result<(ArrayRef, ColumnType), FunctionError> {
        let lists = self.lists(index)?;
        Ok((Arc::clone(lists.values()), lists.element))
    }
}

/// For each row the number computed from the places at which the wanted value occurs.
fn occurrences(
    call: &Call<'_>,
    answer: fn(&mut dyn Iterator<Item = usize>) -> u64,
) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (elements, values) = compared(call)?;
    let equal = number_equality(&elements, &values)?;
    let wanted = call.arg(1)?;
    call.each::<UInt64Type>(|row| {
        let own = lists.range(row);
        let start = own.start;
        let mut found = own.filter(|at| equal(*at, wanted.row(row))).map(|at| at - start + 1);
        Ok(answer(&mut found))
    })
}

/// A map is asked for a key.
fn has_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Map(key, _)) => {
            alike::check(key, &args[1].column_type)?;
            Ok(ColumnType::UInt8)
        }
        _ => asks("has", ColumnType::UInt8)(args),
    }
}

fn has(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    if let ColumnType::Map(..) = call.arg(0)?.column_type {
        return map_contains(call);
    }
    let found = occurrences(call, |found| u64::from(found.next().is_some()))?;
    let found = found.as_primitive::<UInt64Type>();
    call.each_flag(|row| found.value(row) == 1)
}

/// Whether all, or any, elements of the second array are in the first.
fn has_many(call: &Call<'_>, all: bool) -> Result<ArrayRef, FunctionError> {
    let common = number_supertype(&[&call.arg(0)?.column_type, &call.arg(1)?.column_type])?;
    let (a, b) = (call.converted(0, &common)?, call.converted(1, &common)?);
    let (a, b) = (a.as_list::<i32>(), b.as_list::<i32>());
    let equal = number_equality(a.values(), b.values())?;
    let (first, second) = (call.arg(0)?, call.arg(1)?);
    call.each_flag(|row| {
        let own = range(a.value_offsets(), first.row(row));
        let mut others = range(b.value_offsets(), second.row(row));
        let contained = |other: usize| own.clone().any(|at| equal(at, other));
        if all { others.all(contained) } else { others.any(contained) }
    })
}

fn pair_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        element_of(args, name)?;
        number_supertype(&[&args[0].column_type, &args[1].column_type])?;
        Ok(ColumnType::UInt8)
    }
}

/// Elements of arrays, values of maps, elements of tuples.
fn access_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Map(_, value)) => Ok((**value).clone()),
        _ => {
            if let Some(index) = args.get(1)
                && !index.column_type.is_integer()
                && index.column_type != ColumnType::Nothing
            {
                return Err(FunctionError::illegal_type(&index.column_type, "arrayElement"));
            }
            element_of(args, "arrayElement")
        }
    }
}

/// Takes one element per row; rows without one get the default.
pub(super) fn pick(
    call: &Call<'_>,
    values: &ArrayRef,
    element: &ColumnType,
    place: impl Fn(usize) -> Option<usize>,
) -> Result<ArrayRef, FunctionError> {
    let fallback = default_array(element, 1);
    let all = arrow::compute::concat(&[values.as_ref(), fallback.as_ref()])?;
    let missing = values.len();
    let places: Vec<u64> = (0..call.rows)
        .map(|row| u64_of(if call.is_null(row) { missing } else { place(row).unwrap_or(missing) }))
        .collect();
    Ok(take(&all, &UInt64Array::from(places), None)?)
}

/// The places that the second argument names; those beyond 63 bits are the largest there are.
fn places(call: &Call<'_>) -> Result<Numbers<Int64Type>, FunctionError> {
    let arg = call.arg(1)?;
    let Some(large) = arg.array.as_primitive_opt::<UInt64Type>() else { return call.ints(1) };
    let array = large.unary::<_, Int64Type>(|place| i64::try_from(place).unwrap_or(i64::MAX));
    Ok(Numbers { array, is_constant: arg.is_constant })
}

/// The place of a 1-based or negative index in a range.
fn at_index(own: std::ops::Range<usize>, index: i64) -> Option<usize> {
    let length = i64::try_from(own.len()).ok()?;
    let offset = if index > 0 { index - 1 } else { length + index };
    (index != 0 && (0..length).contains(&offset))
        .then(|| usize::try_from(offset).ok())?
        .map(|offset| own.start + offset)
}

fn access(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let container = call.arg(0)?;
    if let ColumnType::Map(key, value) = &container.column_type {
        return map_value(call, container, key, value);
    }
    let lists = call.lists(0)?;
    let indices = places(call)?;
    pick(call, lists.values(), &lists.element, |row| at_index(lists.range(row), indices.get(row)))
}

/// The same with NULL for what is not there.
fn access_or_null(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (lists, indices) = (call.lists(0)?, places(call)?);
    let values = arrow::compute::cast(lists.values(), &model::type_arrow::to_data_type(call.result_type))?;
    pick(call, &values, call.result_type, |row| at_index(lists.range(row), indices.get(row)))
}

fn map_value(
    call: &Call<'_>,
    map: &Arg,
    key: &ColumnType,
    value: &ColumnType,
) -> Result<ArrayRef, FunctionError> {
    let entries = map.array.as_map();
    let wanted_arg = call.arg(1)?;
    // A Bool is looked for by the number that it is.
    let number = if wanted_arg.column_type.is_string() { key.clone() } else { as_numbers(key) };
    let keys = call.caster(CastMode::Strict).column(entries.keys(), key, &number)?;
    let wanted = call.converted(1, &number)?;
    let equal = equality(&keys, &wanted)?;
    pick(call, entries.values(), value, |row| {
        range(entries.value_offsets(), map.row(row)).find(|at| equal(*at, wanted_arg.row(row)))
    })
}

fn map_parts(args: &[ArgType], name: &str) -> Result<(ColumnType, ColumnType), FunctionError> {
    match args.first().map(|arg| &arg.column_type) {
        Some(ColumnType::Map(key, value)) => Ok(((**key).clone(), (**value).clone())),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument("a map is needed")),
    }
}

/// Keys or values of a map as an array.
fn map_side(name: &'static str, keys: bool) -> ScalarFunction {
    let side = move |(key, value): (ColumnType, ColumnType)| if keys { key } else { value };
    let rule = move |args: &[ArgType]| Ok(ColumnType::Array(Box::new(side(map_parts(args, name)?))));
    ScalarFunction::new(name, 1..=1, rule, move |call| {
        let arg = call.arg(0)?;
        let map = arg.array.as_map();
        let ColumnType::Array(element) = call.result_type else {
            return Err(FunctionError::illegal_type(call.result_type, name));
        };
        let values = if keys { map.keys() } else { map.values() };
        let list = list_of(element, map.offsets().clone(), Arc::clone(values), nulls_of(map))?;
        crate::kernel::rows::expanded(&Arg { array: list, ..arg.clone() }, call.rows)
    })
}

fn map_contains(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let map = call.arg(0)?;
    let ColumnType::Map(key, _) = &map.column_type else {
        return Err(FunctionError::illegal_type(&map.column_type, "mapContains"));
    };
    let entries = map.array.as_map();
    let wanted_arg = call.arg(1)?;
    let wanted = (&wanted_arg.array, &wanted_arg.column_type);
    let (keys, wanted) = alike(&call.caster(CastMode::Strict), (entries.keys(), key), wanted)?;
    let equal = number_equality(&keys, &wanted)?;
    call.each_flag(|row| {
        range(entries.value_offsets(), map.row(row)).any(|at| equal(at, wanted_arg.row(row)))
    })
}

fn maps() -> Vec<ScalarFunction> {
    vec![
        map_side("mapKeys", true).doc("mapKeys(map)", "The keys.", "mapKeys(map('a', 1)) -> ['a']"),
        map_side("mapValues", false).doc("mapValues(map)", "The values.", "mapValues(map('a', 1)) -> [1]"),
        ScalarFunction::new(
            "mapContains",
            2..=2,
            |args| map_parts(args, "mapContains").map(|_| ColumnType::UInt8),
            map_contains,
        )
        .aliases(&["mapContainsKey"])
        .doc(
            "mapContains(map, key)",
            "Whether the map has the key.",
            "mapContains(map('a', 1), 'a') -> 1",
        ),
    ]
}

/// Functions that are another one with a small difference.
fn variants() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("notHas", 2..=2, asks("notHas", ColumnType::UInt8), |call| {
            let found = occurrences(call, |found| u64::from(found.next().is_none()))?;
            let found = found.as_primitive::<UInt64Type>();
            call.each_flag(|row| found.value(row) == 1)
        })
        .own_nulls()
        .doc("notHas(array, x)", "Whether x is not in the array.", "notHas([1, 2], 3) -> 1"),
        ScalarFunction::new(
            "indexOfAssumeSorted",
            2..=2,
            asks("indexOfAssumeSorted", ColumnType::UInt64),
            |call| occurrences(call, |found| found.next().map_or(0, u64_of)),
        )
        .own_nulls()
        .doc(
            "indexOfAssumeSorted(array, x)",
            "As indexOf, for an array that is in order.",
            "indexOfAssumeSorted([5, 6], 6) -> 2",
        ),
        ScalarFunction::new(
            "arrayElementOrNull",
            2..=2,
            |args| match element_of(args, "arrayElementOrNull")? {
                nested @ ColumnType::Tuple(_) => {
                    Err(FunctionError::illegal_type(&nested, "arrayElementOrNull"))
                }
                // There is no NULL of these: what is not there is empty.
                nested @ (ColumnType::Array(_) | ColumnType::Map(..)) => Ok(nested),
                plain => Ok(plain.nullable()),
            },
            access_or_null,
        )
        .doc(
            "arrayElementOrNull(array, n)",
            "The nth element, from 1 or from the end, or NULL if there is none.",
            "arrayElementOrNull([5, 6], 3) -> NULL",
        ),
    ]
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut out = maps();
    out.extend(variants());
    out.extend([
        ScalarFunction::new("has", 2..=2, has_type, has).own_nulls().doc(
            "has(array, x)",
            "Whether x is in the array.",
            "has([1, 2], 2) -> 1",
        ),
        ScalarFunction::new("hasAll", 2..=2, pair_type("hasAll"), |call| has_many(call, true)).doc(
            "hasAll(array, other)",
            "Whether all elements of the other array are in the first.",
            "hasAll([1, 2], [2]) -> 1",
        ),
        ScalarFunction::new("hasAny", 2..=2, pair_type("hasAny"), |call| has_many(call, false)).doc(
            "hasAny(array, other)",
            "Whether any element of the other array is in the first.",
            "hasAny([1, 2], [2, 3]) -> 1",
        ),
        ScalarFunction::new("indexOf", 2..=2, asks("indexOf", ColumnType::UInt64), |call| {
            occurrences(call, |found| found.next().map_or(0, u64_of))
        })
        .own_nulls()
        .doc(
            "indexOf(array, x)",
            "The first place of x, from 1; 0 if it is not there.",
            "indexOf([5, 6], 6) -> 2",
        ),
        ScalarFunction::new("countEqual", 2..=2, asks("countEqual", ColumnType::UInt64), |call| {
            occurrences(call, |found| u64_of(found.count()))
        })
        .own_nulls()
        .doc("countEqual(array, x)", "How often x is in the array.", "countEqual([1, 1], 1) -> 2"),
        ScalarFunction::new("arrayElement", 2..=2, access_type, access).doc(
            "arrayElement(array, n)",
            "The nth element, from 1 or from the end; of a map the value of a key.",
            "arrayElement([5, 6], -1) -> 6",
        ),
    ]);
    out
}
