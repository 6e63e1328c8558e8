//! Functions over single states, and over the elements of arrays: `finalizeAggregation`, `initializeAggregation`, `arrayReduce`,
//! `arrayReduceInRanges`.
//!
//! Invariant: each row is a group of its own. Must not know: plans.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, UInt64Array};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, UInt8Type};
use datafusion::common::DataFusionError;
use functions::allowance::reserve;
use functions::container::{list_of, offsets_of};
use functions::{Arg, ArgType, Call, FunctionError, ScalarFunction, row_bytes};
use model::saturating::{place_of, u64_of, usize_of};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode, StateType};

use super::groups::Ends;
use super::recipe::Recipe;
use super::runs::Aggregation;
use crate::kernels::bitmap::{bits, bytes_of};
use crate::naming::{self, Kind};

static FUNCTIONS: LazyLock<Vec<ScalarFunction>> = LazyLock::new(|| {
    let result = |name: &'static str, element: fn(&str, &ColumnType) -> Result<ColumnType, FunctionError>| {
        move |args: &[ArgType]| {
            let types = args.iter().skip(1).map(|arg| element(name, &arg.column_type));
            let types = types.collect::<Result<Vec<_>, _>>()?;
            let written = args.first().and_then(|arg| arg.constant.as_ref());
            Ok(aggregation(name, written, &types)?.aggregation.result())
        }
    };
    vec![
        ScalarFunction::new("finalizeAggregation", 1..=1, finalized_type, finalize).own_nulls().doc(
            "finalizeAggregation(state)",
            "What the aggregate function gives whose state this is.",
            "finalizeAggregation(initializeAggregation('sumState', 5))",
        ),
        ScalarFunction::new(INITIALIZE, 2..=64, result(INITIALIZE, itself), initialize).own_nulls().doc(
            "initializeAggregation('aggregate', x, ...)",
            "The aggregate function over this row alone; with -State its state.",
            "initializeAggregation('sum', 5)",
        ),
        ScalarFunction::new(REDUCE, 2..=64, result(REDUCE, element_of), reduce).own_nulls().doc(
            "arrayReduce('aggregate', array, ...)",
            "The aggregate function over the elements of arrays.",
            "arrayReduce('max', [1, 3, 2])",
        ),
        ScalarFunction::new(RANGES, 3..=64, ranges_type, reduce_in_ranges).own_nulls().doc(
            "arrayReduceInRanges('aggregate', [(index, length), ...], array, ...)",
            "The aggregate function over each of these ranges of arrays; from 1, or from the end where negative.",
            "arrayReduceInRanges('sum', [(1, 2), (-2, 2)], [1, 2, 4])",
        ),
    ]
});

const INITIALIZE: &str = "initializeAggregation";
const REDUCE: &str = "arrayReduce";
const RANGES: &str = "arrayReduceInRanges";

/// Elements of ranges that are gathered before they are aggregated: a million ranges of one array may have a thousand times its
/// elements.
const PIECE_ELEMENTS: usize = 1 << 20;

/// What an element takes beside itself while runs are aggregated: its place and its group.
const PLACE_BYTES: usize = 16;

/// All of them.
pub fn functions() -> &'static [ScalarFunction] {
    &FUNCTIONS
}

pub(super) fn of_plan(error: DataFusionError) -> FunctionError {
    if let DataFusionError::External(inner) = &error
        && let Some(own) = inner.downcast_ref::<FunctionError>()
    {
        return own.clone();
    }
    FunctionError::new(ErrorCode::BAD_ARGUMENTS, error.to_string())
}

fn itself(_: &str, column_type: &ColumnType) -> Result<ColumnType, FunctionError> {
    Ok(column_type.clone())
}

fn element_of(name: &str, column_type: &ColumnType) -> Result<ColumnType, FunctionError> {
    match column_type {
        // Of elements without a type: there are none, or they are NULL.
        ColumnType::Array(element) if *element.value_type() == ColumnType::Nothing => {
            Ok(ColumnType::UInt8.nullable())
        }
        ColumnType::Array(element) => Ok(element.as_ref().clone()),
        other => Err(FunctionError::illegal_type(other, name)),
    }
}

/// What a name means.
struct Named {
    aggregation: Aggregation,
    /// The last argument says which rows it is given: `-If` outside of states, which know no condition.
    is_filtered: bool,
}

impl Named {
    /// One value for each run; runs have these lengths and are together as long as the columns.
    fn over_runs(&self, columns: &[ArrayRef], lengths: &[usize]) -> Result<ArrayRef, FunctionError> {
        if !self.is_filtered {
            return self.aggregation.over_runs(columns, lengths).map_err(of_plan);
        }
        let Some((condition, columns)) = columns.split_last() else {
            return self.aggregation.over_runs(columns, lengths).map_err(of_plan);
        };
        let condition = cast(condition, &DataType::UInt8)?;
        let condition = condition.as_primitive::<UInt8Type>();
        let passes = |row: usize| condition.is_valid(row) && condition.value(row) != 0;
        let (mut rows, mut own, mut start) = (Vec::new(), Vec::with_capacity(lengths.len()), 0);
        for length in lengths {
            let before = rows.len();
            rows.extend((start..start + length).filter(|row| passes(*row)).map(u64_of));
            own.push(rows.len() - before);
            start += length;
        }
        let rows = UInt64Array::from(rows);
        let columns =
            columns.iter().map(|column| take(column, &rows, None)).collect::<Result<Vec<_>, _>>()?;
        self.aggregation.over_runs(&columns, &own).map_err(of_plan)
    }
}

/// The aggregation of a constant name over arguments of these types.
fn aggregation(
    function: &str,
    written: Option<&ArrayRef>,
    types: &[ColumnType],
) -> Result<Named, FunctionError> {
    let text = written.and_then(|constant| cast(constant, &DataType::Utf8View).ok());
    let Some(text) = text.as_ref().and_then(|text| text.as_string_view_opt()?.iter().next()?) else {
        let message = format!("the first argument of {function} must be a constant name");
        return Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
    };
    let parsed = model::type_name::parse(&format!("AggregateFunction({text})")).ok();
    let Some(named) = parsed.as_ref().and_then(ColumnType::state) else {
        let message = format!("{text} is no aggregate function");
        return Err(FunctionError::new(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, message));
    };
    let found = naming::aggregate(&named.function);
    let is_filtered = found.as_ref().is_some_and(|found| found.filtered && found.stateful.is_some());
    let types = if is_filtered { unconditional(types, text)? } else { types };
    let (kind, inner) = match found.and_then(|aggregate| aggregate.stateful) {
        Some((kind, inner)) => (Some(kind), inner.into()),
        None => {
            (None, naming::canonical(&named.function).map_or_else(|| Arc::clone(&named.function), Arc::from))
        }
    };
    let state = match (kind, types) {
        (Some(Kind::Merge | Kind::MergeState), [column_type]) => match column_type.state() {
            Some(state) if state.function == inner => state.as_ref().clone(),
            _ => return Err(FunctionError::illegal_type(column_type, text)),
        },
        _ => StateType { function: inner, parameters: named.parameters.clone(), arguments: types.to_vec() },
    };
    let recipe = Arc::new(Recipe::new(&state).map_err(of_plan)?);
    let aggregation = match kind {
        Some(kind) => Ends::new(recipe, kind).map(Aggregation::Stated).map_err(of_plan)?,
        None => Aggregation::Plain(recipe),
    };
    Ok(Named { aggregation, is_filtered })
}

/// The arguments without the condition behind them.
fn unconditional<'a>(types: &'a [ColumnType], function: &str) -> Result<&'a [ColumnType], FunctionError> {
    match types {
        [own @ .., condition] => match condition.value_type() {
            ColumnType::UInt8 | ColumnType::Bool => Ok(own),
            _ => Err(FunctionError::illegal_type(condition, function)),
        },
        [] => {
            let message = format!("{function} needs a condition");
            Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
        }
    }
}

/// A row for each of the call.
fn expanded(arg: &Arg, rows: usize) -> Result<ArrayRef, FunctionError> {
    if !arg.is_constant {
        return Ok(Arc::clone(&arg.array));
    }
    Ok(take(&arg.array, &UInt32Array::from_value(0, rows), None)?)
}

pub(super) fn laid_out(array: ArrayRef, layout: &DataType) -> Result<ArrayRef, FunctionError> {
    if array.data_type() == layout { Ok(array) } else { Ok(cast(&array, layout)?) }
}

fn finalized_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    Ok(finalizing(&args[0].column_type)?.result())
}

pub(super) fn finalizing(column_type: &ColumnType) -> Result<Aggregation, FunctionError> {
    let recipe = Arc::new(recipe_of(column_type, "finalizeAggregation")?);
    Ends::new(recipe, Kind::Merge).map(Aggregation::Stated).map_err(of_plan)
}

/// The recipe of states of a type.
pub(super) fn recipe_of(column_type: &ColumnType, function: &str) -> Result<Recipe, FunctionError> {
    match column_type.state() {
        Some(state) => Recipe::new(state).map_err(of_plan),
        None => Err(FunctionError::illegal_type(column_type, function)),
    }
}

/// What each state comes to.
pub(super) fn finalized(
    states: ArrayRef,
    column_type: &ColumnType,
    rows: usize,
) -> Result<ArrayRef, FunctionError> {
    finalizing(column_type)?.over_runs(&[states], &vec![1; rows]).map_err(of_plan)
}

fn finalize(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let states = expanded(&call.args[0], call.rows)?;
    let found = finalized(states, &call.args[0].column_type, call.rows)?;
    laid_out(found, &to_data_type(call.result_type))
}

fn initialize(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let types: Vec<ColumnType> = call.args.iter().skip(1).map(|arg| arg.column_type.clone()).collect();
    let aggregation = aggregation(INITIALIZE, Some(&call.args[0].array), &types)?;
    let columns =
        call.args.iter().skip(1).map(|arg| expanded(arg, call.rows)).collect::<Result<Vec<_>, _>>()?;
    let found = aggregation.over_runs(&columns, &vec![1; call.rows])?;
    laid_out(found, &to_data_type(call.result_type))
}

/// The elements of the arrays of some arguments, and how many each row has.
struct Elements {
    columns: Vec<ArrayRef>,
    types: Vec<ColumnType>,
    lengths: Vec<usize>,
}

fn elements(call: &Call<'_>, function: &str, first: usize) -> Result<Elements, FunctionError> {
    let (mut columns, mut types, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for arg in call.args.iter().skip(first) {
        let element = element_of(function, &arg.column_type)?;
        let array = laid_out(expanded(arg, call.rows)?, &to_data_type(&arg.column_type))?;
        let list = array.as_list::<i32>();
        let own: Vec<usize> = list.offsets().lengths().collect();
        let start = list.offsets().first().map_or(0, |first| place_of(*first));
        let values = list.values().slice(start, own.iter().sum());
        columns.push(laid_out(values, &to_data_type(&element))?);
        types.push(element);
        if !lengths.is_empty() && lengths != own {
            let message = format!("arrays passed to {function} must have equal sizes");
            return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
        lengths = own;
    }
    Ok(Elements { columns, types, lengths })
}

fn reduce(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let Elements { columns, types, lengths } = elements(call, REDUCE, 1)?;
    let aggregation = aggregation(REDUCE, Some(&call.args[0].array), &types)?;
    let bytes = columns.iter().map(row_bytes).sum::<usize>().saturating_mul(2);
    let _room =
        reserve(REDUCE, lengths.iter().sum::<usize>().saturating_mul(PLACE_BYTES).saturating_add(bytes))?;
    let found = aggregation.over_runs(&columns, &lengths)?;
    laid_out(found, &to_data_type(call.result_type))
}

fn ranges_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let wrong = || FunctionError::illegal_type(&args[1].column_type, RANGES);
    let ColumnType::Array(range) = &args[1].column_type else { return Err(wrong()) };
    let ColumnType::Tuple(range) = range.as_ref() else { return Err(wrong()) };
    let is_length = |length: &ColumnType| {
        matches!(length, ColumnType::UInt8 | ColumnType::UInt16 | ColumnType::UInt32 | ColumnType::UInt64)
    };
    match range.as_slice() {
        [index, length] if bytes_of(&index.column_type).is_some() && is_length(&length.column_type) => {}
        _ => return Err(wrong()),
    }
    let types = args.iter().skip(2).map(|arg| element_of(RANGES, &arg.column_type));
    let types = types.collect::<Result<Vec<_>, _>>()?;
    let result = aggregation(RANGES, args[0].constant.as_ref(), &types)?.aggregation.result();
    Ok(ColumnType::Array(Box::new(result)))
}

/// The places of a range in an array: from 1, or from behind the end.
fn range_of(index: i64, length: u64, elements: usize) -> Range<usize> {
    let start = match index {
        1.. => i128::from(index) - 1,
        _ => i128::from(u64_of(elements)) + i128::from(index),
    };
    // What would begin before the array is nothing.
    let Ok(start) = usize::try_from(start) else { return 0..0 };
    let start = start.min(elements);
    start..start.saturating_add(usize_of(length)).min(elements)
}

/// Ranges that may overlap, so many of their elements aggregated at a time.
struct Pieces {
    aggregation: Named,
    columns: Vec<ArrayRef>,
    places: Vec<u64>,
    runs: Vec<usize>,
    found: Vec<ArrayRef>,
}

impl Pieces {
    fn add(&mut self, range: Range<usize>) -> Result<(), FunctionError> {
        if !self.runs.is_empty() && self.places.len() + range.len() > PIECE_ELEMENTS {
            self.aggregate()?;
        }
        self.runs.push(range.len());
        self.places.extend(range.map(u64_of));
        Ok(())
    }

    fn aggregate(&mut self) -> Result<(), FunctionError> {
        let (places, runs) =
            (UInt64Array::from(std::mem::take(&mut self.places)), std::mem::take(&mut self.runs));
        let own = self.columns.iter().map(|column| row_bytes(column) / column.len().max(1)).sum::<usize>();
        let _room = reserve(RANGES, places.len().saturating_mul(own + PLACE_BYTES))?;
        let taken = self.columns.iter().map(|column| take(column, &places, None));
        let taken = taken.collect::<Result<Vec<_>, _>>()?;
        self.found.push(self.aggregation.over_runs(&taken, &runs)?);
        Ok(())
    }

    fn finish(mut self) -> Result<ArrayRef, FunctionError> {
        if !self.runs.is_empty() || self.found.is_empty() {
            self.aggregate()?;
        }
        let found: Vec<&dyn Array> = self.found.iter().map(AsRef::as_ref).collect();
        Ok(concat(&found)?)
    }
}

fn reduce_in_ranges(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let Elements { columns, types, lengths } = elements(call, RANGES, 2)?;
    let aggregation = aggregation(RANGES, Some(&call.args[0].array), &types)?;
    let ranges = laid_out(expanded(&call.args[1], call.rows)?, &to_data_type(&call.args[1].column_type))?;
    let ranges = ranges.as_list::<i32>();
    let bounds = ranges.values().as_struct();
    let illegal = || FunctionError::illegal_type(&call.args[1].column_type, RANGES);
    let (indices, sizes) =
        (bits(bounds.column(0)).ok_or_else(illegal)?, bits(bounds.column(1)).ok_or_else(illegal)?);
    let mut pieces = Pieces { aggregation, columns, places: Vec::new(), runs: Vec::new(), found: Vec::new() };
    let (mut counts, mut start) = (Vec::new(), 0);
    for (row, length) in lengths.iter().enumerate() {
        let own = place_of(ranges.value_offsets()[row])..place_of(ranges.value_offsets()[row + 1]);
        counts.push(own.len());
        for at in own {
            let range = range_of(indices[at].cast_signed(), sizes[at], *length);
            pieces.add(start + range.start..start + range.end)?;
        }
        start += length;
    }
    let found = pieces.finish()?;
    let ColumnType::Array(element) = call.result_type else { return Err(illegal()) };
    let found = laid_out(found, &to_data_type(element))?;
    Ok(list_of(element, offsets_of(counts), found, None)?)
}
