//! Maps from maps: added, joined, updated, sorted, searched by pattern, completed.
//!
//! Invariant: a map is an array of entries, in which a key may stand twice; reading takes the first one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, UInt64Array};
use arrow::compute::{concat, take};
use arrow::datatypes::{Float64Type, Int64Type, UInt8Type};
use arrow::row::{RowConverter, Rows, SortField};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::cast::{CastMode, default_array};
use crate::columns::container::{map_of, offsets_of, range};
use crate::error::FunctionError;
use crate::kernel::alike::{self, alike};
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::list::{ElementOrder, number_equality, take_entries};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{integer_shape, is_float, supertype};
use crate::memory::row_bytes::row_bytes;

/// What an entry takes beside itself: its key as bytes, where that begins, and what it may become.
const KEY_BYTES: usize = 64;

/// What an entry of the row that is looked at takes in a tree or a table.
const ENTRY_BYTES: usize = 128;

/// What an entry of the result takes beside itself: two places, in a buffer that grows by doubling, and each in one of its own.
const PICKED_BYTES: usize = 64;

/// Most entries `mapPopulateSeries` makes in one row.
const SERIES_MAX: i128 = 1 << 24;

fn parts<'a>(
    args: &'a [ArgType],
    index: usize,
    name: &str,
) -> Result<(&'a ColumnType, &'a ColumnType), FunctionError> {
    match args.get(index).map(|arg| &arg.column_type) {
        Some(ColumnType::Map(key, value)) => Ok((key, value)),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument(format!("function {name} needs a map"))),
    }
}

fn sides<'a>(map: &'a ColumnType, name: &str) -> Result<(&'a ColumnType, &'a ColumnType), FunctionError> {
    match map {
        ColumnType::Map(key, value) => Ok((key, value)),
        other => Err(FunctionError::illegal_type(other, name)),
    }
}

/// The entries of all arguments in one type of map.
struct Entries {
    keys: ArrayRef,
    values: ArrayRef,
    /// Tells keys apart, in their order.
    rows: Rows,
    maps: Vec<(arrow::array::MapArray, bool, usize)>,
}

impl Entries {
    fn of(call: &Call<'_>, common: &ColumnType) -> Result<Self, FunctionError> {
        let (mut maps, mut end) = (vec![], 0);
        for (index, arg) in call.args.iter().enumerate() {
            let map = call.converted(index, common)?.as_map().clone();
            let own = end;
            end += map.keys().len();
            maps.push((map, arg.is_constant, own));
        }
        let bytes: usize = maps.iter().map(|(map, ..)| row_bytes(map.keys()) + row_bytes(map.values())).sum();
        let longest: usize = maps.iter().map(|(map, ..)| map.offsets().lengths().max().unwrap_or(0)).sum();
        let entries = end.saturating_mul(KEY_BYTES).saturating_add(longest.saturating_mul(ENTRY_BYTES));
        call.reserve(bytes.saturating_mul(2).saturating_add(entries))?;
        let keys: Vec<&dyn Array> = maps.iter().map(|(map, ..)| map.keys().as_ref()).collect();
        let values: Vec<&dyn Array> = maps.iter().map(|(map, ..)| map.values().as_ref()).collect();
        let (keys, values) = (concat(&keys)?, concat(&values)?);
        let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())])?;
        let rows = converter.convert_columns(std::slice::from_ref(&keys))?;
        Ok(Self { keys, values, rows, maps })
    }

    fn places(&self, map: usize, row: usize) -> std::ops::Range<usize> {
        let (map, is_constant, start) = &self.maps[map];
        let own = range(map.value_offsets(), if *is_constant { 0 } else { row });
        own.start + start..own.end + start
    }

    /// A map of the entries that are picked for each row: a place of a key and a place of a value.
    fn gathered(
        &self,
        call: &Call<'_>,
        mut pick: impl FnMut(usize, &mut Vec<(usize, usize)>),
    ) -> Result<ArrayRef, FunctionError> {
        let (key, value) = sides(call.result_type, "of maps")?;
        let (mut picked, mut lengths) = (vec![], Vec::with_capacity(call.rows));
        for row in 0..call.rows {
            let before = picked.len();
            pick(row, &mut picked);
            // Entries of a map that is a constant are there once, and are picked for each row.
            call.reserve((picked.len() - before).saturating_mul(PICKED_BYTES))?;
            call.allowance.check_elements(picked.len())?;
            lengths.push(picked.len() - before);
        }
        let keys: UInt64Array = picked.iter().map(|(key, _)| u64_of(*key)).collect::<Vec<_>>().into();
        let values: UInt64Array = picked.iter().map(|(_, value)| u64_of(*value)).collect::<Vec<_>>().into();
        let (keys, values) = (take(&self.keys, &keys, None)?, take(&self.values, &values, None)?);
        Ok(map_of(key, value, offsets_of(lengths), keys, values, None)?)
    }
}

fn common_map(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        for index in 0..args.len() {
            parts(args, index, name)?;
        }
        supertype(args.iter().map(|arg| &arg.column_type))
    }
}

fn sum_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let (mut keys, mut floats, mut signed) = (vec![], 0, 0);
        for index in 0..args.len() {
            let (key, value) = parts(args, index, name)?;
            keys.push(key);
            match integer_shape(value) {
                Some((_, is_signed)) => signed += usize::from(is_signed),
                None if is_float(value) => floats += 1,
                None if *value == ColumnType::Nothing => {}
                None => return Err(FunctionError::illegal_type(value, name)),
            }
        }
        if floats % args.len() > 0 || signed % args.len() > 0 {
            let message =
                format!("values of the maps of {name} should be all floats, all signed or all unsigned");
            return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        }
        let value = match (floats, signed) {
            (0, 0) => ColumnType::UInt64,
            (0, _) => ColumnType::Int64,
            _ => ColumnType::Float64,
        };
        Ok(ColumnType::Map(Box::new(supertype(keys)?), Box::new(value)))
    }
}

/// Values of equal keys added, or those of later maps subtracted; keys in order.
fn total(call: &Call<'_>, subtract: bool) -> Result<ArrayRef, FunctionError> {
    let (key, value) = sides(call.result_type, "mapAdd")?;
    let entries = Entries::of(call, call.result_type)?;
    let is_float = *value == ColumnType::Float64;
    let caster = call.caster(CastMode::Strict);
    let wanted = if is_float { ColumnType::Float64 } else { ColumnType::Int64 };
    let numbers = caster.column(&entries.values, value, &wanted)?;
    let whole = |at: usize| numbers.as_primitive_opt::<Int64Type>().map_or(0, |numbers| numbers.value(at));
    let float =
        |at: usize| numbers.as_primitive_opt::<Float64Type>().map_or(0.0, |numbers| numbers.value(at));
    let (mut places, mut lengths) = (vec![], Vec::with_capacity(call.rows));
    let (mut wholes, mut floats) = (vec![], vec![]);
    for row in 0..call.rows {
        let mut sums: BTreeMap<&[u8], (usize, i64, f64)> = BTreeMap::new();
        for map in 0..call.args.len() {
            let negative = subtract && map > 0;
            for at in entries.places(map, row) {
                let sum = sums.entry(entries.rows.row(at).data()).or_insert((at, 0, 0.0));
                let (n, x) = (whole(at), float(at));
                sum.1 = if negative { sum.1.wrapping_sub(n) } else { sum.1.wrapping_add(n) };
                sum.2 += if negative { -x } else { x };
            }
        }
        lengths.push(sums.len());
        for (at, n, x) in sums.into_values() {
            places.push(u64_of(at));
            wholes.push(n);
            floats.push(x);
        }
    }
    let sums: ArrayRef =
        if is_float { Arc::new(Float64Array::from(floats)) } else { Arc::new(Int64Array::from(wholes)) };
    let values = caster.column(&sums, &wanted, value)?;
    let keys = take(&entries.keys, &UInt64Array::from(places), None)?;
    Ok(map_of(key, value, offsets_of(lengths), keys, values, None)?)
}

/// `mapConcat`, without its documentation.
pub(super) fn joining() -> ScalarFunction {
    let rule = |args: &[ArgType]| {
        let is_list = |arg: &&ArgType| matches!(arg.column_type, ColumnType::Array(_));
        match args.iter().find(is_list) {
            Some(list) if args.iter().any(|arg| matches!(arg.column_type, ColumnType::Map(..))) => {
                let message = format!("there is no supertype of a map and {}", list.column_type);
                Err(FunctionError::new(ErrorCode::NO_COMMON_TYPE, message))
            }
            _ => common_map("mapConcat")(args),
        }
    };
    ScalarFunction::new("mapConcat", 1..=usize::MAX, rule, joined)
}

fn joined(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let entries = Entries::of(call, call.result_type)?;
    entries.gathered(call, |row, out| {
        for map in 0..call.args.len() {
            out.extend(entries.places(map, row).map(|at| (at, at)));
        }
    })
}

/// What the changes leave of the first map, and behind it the changes, all of them: a key may stand twice.
fn updated(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let entries = Entries::of(call, call.result_type)?;
    entries.gathered(call, |row, out| {
        let key = |at: usize| entries.rows.row(at).data();
        let changed: HashSet<&[u8]> = entries.places(1, row).map(key).collect();
        out.extend(entries.places(0, row).filter(|at| !changed.contains(key(*at))).map(|at| (at, at)));
        out.extend(entries.places(1, row).map(|at| (at, at)));
    })
}

fn contains_value(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let map = call.arg(0)?;
    let (_, value) = sides(&map.column_type, "mapContainsValue")?;
    let wanted = call.arg(1)?;
    let entries = map.array.as_map();
    let searched = (&wanted.array, &wanted.column_type);
    let (values, searched) = alike(&call.caster(CastMode::Strict), (entries.values(), value), searched)?;
    let equal = number_equality(&values, &searched)?;
    call.each_flag(|row| range(entries.value_offsets(), map.row(row)).any(|at| equal(at, wanted.row(row))))
}

/// Which keys, or values, of the map are like the pattern.
fn likeness(call: &Call<'_>, of_keys: bool) -> Result<Vec<bool>, FunctionError> {
    let map = call.arg(0)?;
    let (key, value) = sides(&map.column_type, "with a pattern")?;
    let entries = map.array.as_map();
    let (texts, column_type) = if of_keys { (entries.keys(), key) } else { (entries.values(), value) };
    let pattern = call.arg(1)?;
    let mut args =
        vec![Arg { array: Arc::clone(texts), is_constant: false, column_type: column_type.clone() }];
    if pattern.is_constant {
        args.push(pattern.clone());
    } else {
        let mut places = vec![0; texts.len()];
        for row in 0..call.rows {
            for at in range(entries.value_offsets(), map.row(row)) {
                places[at] = u64_of(row);
            }
        }
        let array = take(&pattern.array, &UInt64Array::from(places), None)?;
        args.push(Arg { array, ..pattern.clone() });
    }
    let like = crate::strings::functions().into_iter().find(|function| function.name == "like");
    let like =
        like.ok_or_else(|| FunctionError::new(ErrorCode::LOGICAL_ERROR, "there is no function like"))?;
    let flags = like.evaluate(&Call::new(&args, texts.len(), &ColumnType::UInt8, call.session))?;
    Ok(flags.as_primitive::<UInt8Type>().values().iter().map(|flag| *flag != 0).collect())
}

fn contains_like(call: &Call<'_>, of_keys: bool) -> Result<ArrayRef, FunctionError> {
    let (likeness, map) = (likeness(call, of_keys)?, call.arg(0)?);
    let entries = map.array.as_map();
    call.each_flag(|row| range(entries.value_offsets(), map.row(row)).any(|at| likeness[at]))
}

fn extract_like(call: &Call<'_>, of_keys: bool) -> Result<ArrayRef, FunctionError> {
    let likeness = likeness(call, of_keys)?;
    let (key, value) = sides(call.result_type, "with a pattern")?;
    let (offsets, keys, values) = take_entries(call, call.arg(0)?, |_, own, out| {
        out.extend(own.filter(|at| likeness[*at]).map(u64_of));
    })?;
    Ok(map_of(key, value, offsets, keys, values, None)?)
}

fn like_type(
    name: &'static str,
    of_keys: bool,
    shape: fn(&ColumnType) -> ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let (key, value) = parts(args, 0, name)?;
        for text in [if of_keys { key } else { value }, &args[1].column_type] {
            if !text.value_type().is_string() {
                return Err(FunctionError::illegal_type(text, name));
            }
        }
        Ok(shape(&args[0].column_type))
    }
}

/// Entries in the order of their keys.
fn sorted(call: &Call<'_>, map: usize, descending: bool) -> Result<ArrayRef, FunctionError> {
    let (key, value) = sides(call.result_type, "mapSort")?;
    let limits = if map == 1 { Some(call.ints(0)?) } else { None };
    let map = call.arg(map)?;
    let order = ElementOrder::new(map.array.as_map().keys())?;
    let (offsets, keys, values) = take_entries(call, map, |row, own, out| {
        let limit = limits.as_ref().map(|limits| usize::try_from(limits.get(row)).unwrap_or(0));
        out.extend(order.sorted(own, descending, limit).into_iter().map(u64_of));
    })?;
    Ok(map_of(key, value, offsets, keys, values, None)?)
}

fn series_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let (key, value) = parts(args, 0, "mapPopulateSeries")?;
    for number in std::iter::once(key).chain([value]).chain(args.get(1).map(|arg| &arg.column_type)) {
        if integer_shape(number).is_none() {
            return Err(FunctionError::illegal_type(number, "mapPopulateSeries"));
        }
    }
    Ok(args[0].column_type.clone())
}

/// The map with all keys from its least to its largest, or to a given one.
fn series(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (key, value) = sides(call.result_type, "mapPopulateSeries")?;
    let map = call.arg(0)?;
    let entries = map.array.as_map();
    let caster = call.caster(CastMode::Strict);
    let keys = caster.column(entries.keys(), key, &ColumnType::Int64)?;
    let keys = keys.as_primitive::<Int64Type>();
    let ends = if call.args.len() > 1 { Some(call.ints(1)?) } else { None };
    let all = concat(&[entries.values().as_ref(), default_array(value, 1).as_ref()])?;
    let (mut made, mut places, mut lengths) = (vec![], vec![], Vec::with_capacity(call.rows));
    for row in 0..call.rows {
        let own = range(entries.value_offsets(), map.row(row));
        let before = made.len();
        let known: HashMap<i64, usize> = own.clone().rev().map(|at| (keys.value(at), at)).collect();
        let least = known.keys().min().copied();
        let most = ends.as_ref().map(|ends| ends.get(row)).or_else(|| known.keys().max().copied());
        if let (Some(least), Some(most)) = (least, most) {
            if i128::from(most) - i128::from(least) >= SERIES_MAX {
                let message =
                    format!("mapPopulateSeries would make keys from {least} to {most}, which are too many");
                return Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message));
            }
            let more = usize::try_from(most.saturating_sub(least)).unwrap_or(0) + 1;
            call.reserve(more.saturating_mul(PICKED_BYTES))?;
            call.allowance.check_elements(made.len() + more)?;
            for next in least..=most {
                made.push(next);
                places.push(u64_of(*known.get(&next).unwrap_or(&entries.values().len())));
            }
        }
        lengths.push(made.len() - before);
    }
    let made: ArrayRef = Arc::new(Int64Array::from(made));
    let keys = caster.column(&made, &ColumnType::Int64, key)?;
    let values = take(&all, &UInt64Array::from(places), None)?;
    Ok(map_of(key, value, offsets_of(lengths), keys, values, None)?)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let many = 1..=usize::MAX;
    let mut all = vec![
        ScalarFunction::new("mapAdd", many.clone(), sum_type("mapAdd"), |call| total(call, false)).doc(
            "mapAdd(a, b, ...)",
            "The keys of all maps with the sums of their values.",
            "mapAdd(map('a', 1), map('a', 2, 'b', 3)) -> {'a':3,'b':3}",
        ),
        ScalarFunction::new("mapSubtract", many.clone(), sum_type("mapSubtract"), |call| total(call, true)).doc(
            "mapSubtract(a, b, ...)",
            "The keys of all maps with the values of the first one less those of the others.",
            "mapSubtract(map('a', 3), map('a', 2)) -> {'a':1}",
        ),
        joining().doc(
            "mapConcat(a, b, ...)",
            "The entries of all maps; a key may stand twice.",
            "mapConcat(map('a', 1), map('b', 2)) -> {'a':1,'b':2}",
        ),
        ScalarFunction::new("mapUpdate", 2..=2, common_map("mapUpdate"), updated).doc(
            "mapUpdate(a, b)",
            "The first map with the values and keys of the second.",
            "mapUpdate(map('a', 1), map('a', 2, 'b', 3)) -> {'a':2,'b':3}",
        ),
        ScalarFunction::new(
            "mapContainsValue",
            2..=2,
            |args| {
                let (_, value) = parts(args, 0, "mapContainsValue")?;
                alike::check(value, &args[1].column_type)?;
                Ok(ColumnType::UInt8)
            },
            contains_value,
        )
        .own_nulls()
        .doc(
            "mapContainsValue(map, x)",
            "Whether x is a value of the map.",
            "mapContainsValue(map('a', 1), 1) -> 1",
        ),
        ScalarFunction::new("mapPopulateSeries", 1..=2, series_type, series).doc(
            "mapPopulateSeries(map[, end])",
            "The map with all whole keys from its least one to its largest, or to end; the new ones with the default.",
            "mapPopulateSeries(map(1, 10, 3, 30)) -> {1:10,2:0,3:30}",
        ),
    ];
    all.extend(searching());
    all.extend(sorting());
    all
}

fn searching() -> Vec<ScalarFunction> {
    let flag = |_: &ColumnType| ColumnType::UInt8;
    let new = |name: &'static str, of_keys: bool| {
        ScalarFunction::new(name, 2..=2, like_type(name, of_keys, flag), move |call| {
            contains_like(call, of_keys)
        })
    };
    let extract = |name: &'static str, of_keys: bool| {
        ScalarFunction::new(name, 2..=2, like_type(name, of_keys, ColumnType::clone), move |call| {
            extract_like(call, of_keys)
        })
    };
    vec![
        new("mapContainsKeyLike", true).doc(
            "mapContainsKeyLike(map, pattern)",
            "Whether a key is LIKE the pattern.",
            "mapContainsKeyLike(map('abc', 1), 'a%') -> 1",
        ),
        new("mapContainsValueLike", false).doc(
            "mapContainsValueLike(map, pattern)",
            "Whether a value is LIKE the pattern.",
            "mapContainsValueLike(map('a', 'xyz'), '%y%') -> 1",
        ),
        extract("mapExtractKeyLike", true).doc(
            "mapExtractKeyLike(map, pattern)",
            "The entries whose key is LIKE the pattern.",
            "mapExtractKeyLike(map('abc', 1, 'b', 2), 'a%') -> {'abc':1}",
        ),
        extract("mapExtractValueLike", false).doc(
            "mapExtractValueLike(map, pattern)",
            "The entries whose value is LIKE the pattern.",
            "mapExtractValueLike(map('a', 'xyz', 'b', 'q'), 'x%') -> {'a':'xyz'}",
        ),
    ]
}

fn sorting() -> Vec<ScalarFunction> {
    let same = |name: &'static str, index: usize| {
        move |args: &[ArgType]| {
            parts(args, index, name)?;
            let is_odd = if index == 1 { !args[0].column_type.is_integer() } else { args.len() > 1 };
            if is_odd {
                return Err(FunctionError::illegal_type(&args[0].column_type, name));
            }
            Ok(args[index].column_type.clone())
        }
    };
    vec![
        ScalarFunction::new("mapSort", 1..=usize::MAX, same("mapSort", 0), |call| sorted(call, 0, false))
            .doc(
                "mapSort(map)",
                "The entries in the order of their keys.",
                "mapSort(map('b', 1, 'a', 2)) -> {'a':2,'b':1}",
            ),
        ScalarFunction::new("mapReverseSort", 1..=usize::MAX, same("mapReverseSort", 0), |call| {
            sorted(call, 0, true)
        })
        .doc(
            "mapReverseSort(map)",
            "The entries in the falling order of their keys.",
            "mapReverseSort(map('a', 1, 'b', 2)) -> {'b':2,'a':1}",
        ),
        ScalarFunction::new("mapPartialSort", 2..=2, same("mapPartialSort", 1), |call| {
            sorted(call, 1, false)
        })
        .doc(
            "mapPartialSort(limit, map)",
            "The map with its first limit places in the order of keys.",
            "mapPartialSort(1, map('b', 1, 'a', 2)) -> {'a':2,'b':1}",
        ),
        ScalarFunction::new("mapPartialReverseSort", 2..=2, same("mapPartialReverseSort", 1), |call| {
            sorted(call, 1, true)
        })
        .doc(
            "mapPartialReverseSort(limit, map)",
            "The map with its first limit places in the falling order of keys.",
            "mapPartialReverseSort(1, map('a', 1, 'b', 2)) -> {'b':2,'a':1}",
        ),
    ]
}
