//! How far arrays are from each other: `arrayLevenshteinDistance` and its kin.
//!
//! Invariant: elements are compared as values of the type both arrays have; NULL is like NULL, NaN like nothing.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Float64Type, UInt32Type};
use arrow::row::{RowConverter, SortField};
use model::likeness::{levenshtein, weighted_levenshtein};
use model::{ColumnType, ErrorCode};

use super::resize::element_of;
use crate::columns::container::range;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{is_float, supertype};

/// Most pairs of elements of one row that are compared: those of two texts of the largest length.
const PAIRS_MAX: usize = 1 << 32;
/// What an element takes beside its bytes: its mark, and its place among those that are known.
const MARK_BYTES: usize = 96;

/// A number that is equal to another where the elements are: that of a float is the float.
pub(super) type Mark = Option<f64>;

/// What one argument has in each row.
pub(super) struct Column<T> {
    values: Vec<T>,
    offsets: Vec<i32>,
    is_constant: bool,
}

impl<T> Column<T> {
    pub(super) fn row(&self, row: usize) -> &[T] {
        &self.values[range(&self.offsets, if self.is_constant { 0 } else { row })]
    }
}

/// The numbers of an argument that is an array of some.
pub(super) fn floats(call: &Call<'_>, index: usize) -> Result<Column<Mark>, FunctionError> {
    let array = call.converted(index, &ColumnType::Array(Box::new(ColumnType::Float64.nullable())))?;
    let lists = array.as_list::<i32>();
    call.reserve(lists.values().len().saturating_mul(size_of::<Mark>()))?;
    Ok(Column {
        values: lists.values().as_primitive::<Float64Type>().iter().collect(),
        offsets: lists.value_offsets().to_vec(),
        is_constant: call.arg(index)?.is_constant,
    })
}

/// The marks of both arrays.
fn marked(call: &Call<'_>, name: &str) -> Result<[Column<Mark>; 2], FunctionError> {
    let types = call.types();
    let common = supertype([element_of(&types, 0, name)?, element_of(&types, 1, name)?])?;
    if is_float(common.value_type()) {
        return Ok([floats(call, 0)?, floats(call, 1)?]);
    }
    let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
    let to = ColumnType::Array(Box::new(common));
    let mut mark = |index: usize| -> Result<Column<Mark>, FunctionError> {
        let array: ArrayRef = call.converted(index, &to)?;
        let lists = array.as_list::<i32>();
        let values = lists.values();
        call.reserve(values.get_array_memory_size().saturating_add(values.len().saturating_mul(MARK_BYTES)))?;
        let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
        let rows = converter.convert_columns(std::slice::from_ref(values))?;
        let one = |at: usize| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            Some(f64::from(*known.entry(rows.row(at).data().to_vec()).or_insert(next)))
        };
        Ok(Column {
            values: (0..values.len()).map(one).collect(),
            offsets: lists.value_offsets().to_vec(),
            is_constant: call.arg(index)?.is_constant,
        })
    };
    Ok([mark(0)?, mark(1)?])
}

fn check(name: &str, a: usize, b: usize) -> Result<(), FunctionError> {
    if a.saturating_mul(b) <= PAIRS_MAX {
        return Ok(());
    }
    let message = format!("{name} of arrays of {a} and {b} elements: at most {PAIRS_MAX} pairs are compared");
    Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message))
}

/// Arrays, and behind them where `weighted` one of numbers for each.
fn rule(
    name: &'static str,
    weighted: bool,
    result: ColumnType,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        supertype([element_of(args, 0, name)?, element_of(args, 1, name)?])?;
        if weighted {
            let (ours, theirs) = (element_of(args, 2, name)?, element_of(args, 3, name)?);
            let is_number = ours.is_integer() || ours.is_wide_integer() || is_float(ours);
            if !is_number || ours.is_nullable() || ours != theirs {
                return Err(FunctionError::illegal_type(if is_number { theirs } else { ours }, name));
            }
        }
        Ok(result.clone())
    }
}

fn weighted(name: &'static str, of: fn(f64, f64) -> f64) -> ScalarFunction {
    ScalarFunction::new(name, 4..=4, rule(name, true, ColumnType::Float64), move |call| {
        let [ours, theirs] = marked(call, name)?;
        let (our_weights, their_weights) = (floats(call, 2)?, floats(call, 3)?);
        call.each::<Float64Type>(|row| {
            let (a, b) = (ours.row(row), theirs.row(row));
            let plain =
                |weights: &[Mark]| weights.iter().map(|weight| weight.unwrap_or(0.0)).collect::<Vec<_>>();
            let (of_a, of_b) = (plain(our_weights.row(row)), plain(their_weights.row(row)));
            if a.len() != of_a.len() || b.len() != of_b.len() {
                let message = format!("{name} takes arrays with a weight for each element");
                return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
            }
            check(name, a.len(), b.len())?;
            let all = of_a.iter().sum::<f64>() + of_b.iter().sum::<f64>();
            Ok(of(weighted_levenshtein(a, b, &of_a, &of_b), all))
        })
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let name = "arrayLevenshteinDistance";
    vec![
        ScalarFunction::new(name, 2..=2, rule(name, false, ColumnType::UInt32), move |call| {
            let [ours, theirs] = marked(call, name)?;
            call.each::<UInt32Type>(|row| {
                let (a, b) = (ours.row(row), theirs.row(row));
                check(name, a.len(), b.len())?;
                Ok(u32::try_from(levenshtein(a, b)).unwrap_or(u32::MAX))
            })
        })
        .doc(
            "arrayLevenshteinDistance(a, b)",
            "Least insertions, removals and exchanges of elements.",
            "arrayLevenshteinDistance([1, 2, 3], [1, 3]) -> 1",
        ),
        weighted("arrayLevenshteinDistanceWeighted", |distance, _| distance).doc(
            "arrayLevenshteinDistanceWeighted(a, b, a_weights, b_weights)",
            "Least sum of the weights of elements that are inserted or removed.",
            "arrayLevenshteinDistanceWeighted([1, 2], [1], [1, 2], [1]) -> 2",
        ),
        weighted("arraySimilarity", |distance, all| if all == 0.0 { 1.0 } else { 1.0 - distance / all }).doc(
            "arraySimilarity(a, b, a_weights, b_weights)",
            "1 less the weighted distance over all weights.",
            "arraySimilarity([1, 2], [1], [1, 2], [1]) -> 0.5",
        ),
    ]
}
