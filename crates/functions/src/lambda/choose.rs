//! Lambdas that say yes or no of elements, and those whose results are folded.
//!
//! Invariant: a result counts as yes when it is neither 0 nor NULL.

use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array};
use arrow::compute::{concat, take};
use arrow::datatypes::UInt32Type;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::{LambdaFunction, Over, scalar_form};
use crate::cast::{CastMode, default_array};
use crate::columns::container::{list_of, offsets_of};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::gather;
use crate::kernel::registry::{FunctionDoc, ScalarFunction, can_be_nullable};
use crate::kernel::rows::{expanded, truths};

/// The type of the first array, given that the lambda answers yes or no: 256 is neither 0 nor 1, and a comparison that was
/// forgotten is found before it chooses wrongly.
pub(super) fn chosen_type(
    name: &'static str,
    shape: impl Fn(ColumnType) -> ColumnType + Send + Sync + 'static,
) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync + 'static {
    move |args| {
        if let Some(ColumnType::Array(answer)) = args.first().map(|arg| &arg.column_type)
            && !matches!(answer.value_type(), ColumnType::UInt8 | ColumnType::Bool | ColumnType::Nothing)
        {
            let message = format!(
                "expression for function {name} must return UInt8 or Nullable(UInt8), found {answer}"
            );
            return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
        }
        match args.get(1).map(|arg| &arg.column_type) {
            Some(found) => Ok(shape(found.clone())),
            None => Err(FunctionError::bad_argument(format!("function {name} needs an array"))),
        }
    }
}

fn element_of(array: ColumnType) -> ColumnType {
    match array {
        ColumnType::Array(element) => *element,
        other => other,
    }
}

/// What the lambda said of each element.
pub(super) fn answers(call: &Call<'_>) -> Result<BooleanArray, FunctionError> {
    let results = call.lists(0)?;
    truths(results.values(), &results.element, &call.caster(CastMode::Strict))
}

fn is_yes(answers: &BooleanArray, at: usize) -> bool {
    answers.is_valid(at) && answers.value(at)
}

fn filter(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (answers, lists) = (answers(call)?, call.lists(1)?);
    gather(call, &lists.element, lists.values(), |row, out| {
        out.extend(lists.range(row).filter(|at| is_yes(&answers, *at)).map(u64_of));
        Ok(())
    })
}

/// The first or the last element that was chosen.
fn one(call: &Call<'_>, first: bool) -> Result<ArrayRef, FunctionError> {
    let (answers, lists) = (answers(call)?, call.lists(1)?);
    let none = default_array(call.result_type, 1);
    let values = arrow::compute::cast(lists.values(), none.data_type())?;
    let all = concat(&[values.as_ref(), none.as_ref()])?;
    let missing = values.len();
    let places: Vec<u64> = (0..call.rows)
        .map(|row| {
            let mut own = lists.range(row);
            let chosen = |at: &usize| is_yes(&answers, *at);
            u64_of(if first { own.find(chosen) } else { own.rfind(chosen) }.unwrap_or(missing))
        })
        .collect();
    Ok(take(&all, &UInt64Array::from(places), None)?)
}

/// The place of it, from 1.
fn place(call: &Call<'_>, first: bool) -> Result<ArrayRef, FunctionError> {
    let (answers, lists) = (answers(call)?, call.lists(1)?);
    call.each::<UInt32Type>(|row| {
        let own = lists.range(row);
        let start = own.start;
        let mut own = own;
        let chosen = |at: &usize| is_yes(&answers, *at);
        let found = if first { own.find(chosen) } else { own.rfind(chosen) };
        Ok(found.map_or(0, |at| u32::try_from(at - start + 1).unwrap_or(u32::MAX)))
    })
}

/// Elements that were not chosen take the value of their neighbour in front, or behind.
fn fill(call: &Call<'_>, reverse: bool) -> Result<ArrayRef, FunctionError> {
    let (answers, lists) = (answers(call)?, call.lists(1)?);
    gather(call, &lists.element, lists.values(), |row, out| {
        let own = lists.range(row);
        let before = out.len();
        let mut last = None;
        let mut next = |at: usize| {
            let from = last.filter(|_| !is_yes(&answers, at)).unwrap_or(at);
            last = Some(from);
            u64_of(from)
        };
        if reverse {
            out.extend(own.rev().map(&mut next));
            out[before..].reverse();
        } else {
            out.extend(own.map(&mut next));
        }
        Ok(())
    })
}

/// The array in pieces that begin with a chosen element, or end with one.
fn split(call: &Call<'_>, after: bool) -> Result<ArrayRef, FunctionError> {
    let (answers, lists) = (answers(call)?, call.lists(1)?);
    let ColumnType::Array(piece) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arraySplit"));
    };
    let (mut sizes, mut counts, mut places) = (vec![], Vec::with_capacity(call.rows), vec![]);
    for row in 0..call.rows {
        let own = lists.range(row);
        let before = sizes.len();
        let mut size = 0;
        for at in own.clone() {
            let cut = if after { at > own.start && is_yes(&answers, at - 1) } else { is_yes(&answers, at) };
            if cut && size > 0 {
                sizes.push(size);
                size = 0;
            }
            size += 1;
            places.push(u64_of(at));
        }
        if size > 0 {
            sizes.push(size);
        }
        counts.push(sizes.len() - before);
    }
    let values = take(lists.values(), &UInt64Array::from(places), None)?;
    let pieces = list_of(&lists.element, offsets_of(sizes), values, None)?;
    Ok(list_of(piece, offsets_of(counts), pieces, None)?)
}

const fn doc(signature: &'static str, description: &'static str, example: &'static str) -> FunctionDoc {
    FunctionDoc { signature, description, example }
}

/// Functions of arrays that also take a lambda: they are then of its results.
const OF_RESULTS: &[(&str, FunctionDoc)] = &[
    ("arraySum", doc("arraySum(f, a, ...)", "The sum of the results.", "arraySum(x -> x * 2, [1, 2]) -> 6")),
    (
        "arrayAvg",
        doc("arrayAvg(f, a, ...)", "The average of the results.", "arrayAvg(x -> x * 2, [1, 2]) -> 3"),
    ),
    ("arrayMin", doc("arrayMin(f, a, ...)", "The smallest result.", "arrayMin(x -> -x, [1, 2]) -> -2")),
    ("arrayMax", doc("arrayMax(f, a, ...)", "The largest result.", "arrayMax(x -> -x, [1, 2]) -> -1")),
    (
        "arrayProduct",
        doc(
            "arrayProduct(f, a, ...)",
            "The product of the results.",
            "arrayProduct(x -> x + 1, [1, 2]) -> 6",
        ),
    ),
    (
        "arrayCount",
        doc("arrayCount(f, a, ...)", "How many results are not 0.", "arrayCount(x -> x > 1, [1, 2]) -> 1"),
    ),
    (
        "arrayExists",
        doc("arrayExists(f, a, ...)", "Whether any result is not 0.", "arrayExists(x -> x > 1, [1, 2]) -> 1"),
    ),
    ("arrayAll", doc("arrayAll(f, a, ...)", "Whether no result is 0.", "arrayAll(x -> x > 1, [1, 2]) -> 0")),
    (
        "arrayCumSum",
        doc(
            "arrayCumSum(f, a, ...)",
            "The running sums of the results.",
            "arrayCumSum(x -> x * 2, [1, 2]) -> [2,6]",
        ),
    ),
    (
        "arrayCumSumNonNegative",
        doc(
            "arrayCumSumNonNegative(f, a, ...)",
            "The running sums of the results, never below 0.",
            "arrayCumSumNonNegative(x -> -x, [1, -5, 3]) -> [0,5,2]",
        ),
    ),
    (
        "arrayDifference",
        doc(
            "arrayDifference(f, a, ...)",
            "The differences of neighbouring results.",
            "arrayDifference(x -> x * 2, [1, 5]) -> [0,8]",
        ),
    ),
];

pub(super) fn functions() -> Vec<LambdaFunction> {
    let same = |args: &[ArgType]| match args.first() {
        Some(arg) => Ok(arg.column_type.clone()),
        None => Err(FunctionError::bad_argument("function arrayMap needs a lambda")),
    };
    let results = |kernel| LambdaFunction::of_results(Over::Elements, kernel);
    let mut all: Vec<LambdaFunction> =
        OF_RESULTS.iter().filter_map(|(name, doc)| scalar_form(name, *doc)).map(results).collect();
    all.push(results(
        ScalarFunction::new("arrayMap", 1..=1, same, |call| expanded(call.arg(0)?, call.rows)).doc(
            "arrayMap(f, a, ...)",
            "What the function gives for the elements at each place.",
            "arrayMap(x -> x * 2, [1, 2]) -> [2,4]",
        ),
    ));
    let fold = ScalarFunction::new("arrayFold", 1..=1, same, |call| expanded(call.arg(0)?, call.rows)).doc(
        "arrayFold(f, a, ..., start)",
        "The function called with what has been folded so far and the next elements, beginning with start.",
        "arrayFold((sum, x) -> sum + x, [1, 2], 0::UInt64) -> 3",
    );
    all.push(LambdaFunction::of_results(Over::Fold, fold));
    all.extend(
        choosing()
            .into_iter()
            .chain(reshaping())
            .map(|kernel| LambdaFunction::beside(Over::Elements, kernel)),
    );
    all
}

fn choosing() -> Vec<ScalarFunction> {
    let many = 2..=usize::MAX;
    let element = |name| chosen_type(name, element_of);
    let or_null = |name: &'static str| {
        let chosen = chosen_type(name, element_of);
        move |args: &[ArgType]| match chosen(args)? {
            nested if !can_be_nullable(&nested) => Err(FunctionError::illegal_type(&nested, name)),
            plain => Ok(plain.nullable()),
        }
    };
    let array = |name| chosen_type(name, |array| array);
    let number = |name| chosen_type(name, |_| ColumnType::UInt32);
    vec![
        ScalarFunction::new("arrayFilter", many.clone(), array("arrayFilter"), filter).doc(
            "arrayFilter(f, a, ...)",
            "The elements of the first array for which the function is not 0.",
            "arrayFilter(x -> x > 1, [1, 2, 3]) -> [2,3]",
        ),
        ScalarFunction::new("arrayFirst", many.clone(), element("arrayFirst"), |call| one(call, true)).doc(
            "arrayFirst(f, a, ...)",
            "The first element for which the function is not 0, or the default.",
            "arrayFirst(x -> x > 1, [1, 2, 3]) -> 2",
        ),
        ScalarFunction::new("arrayFirstOrNull", many.clone(), or_null("arrayFirstOrNull"), |call| {
            one(call, true)
        })
        .doc(
            "arrayFirstOrNull(f, a, ...)",
            "The first element for which the function is not 0, or NULL.",
            "arrayFirstOrNull(x -> x > 5, [1, 2]) -> NULL",
        ),
        ScalarFunction::new("arrayLast", many.clone(), element("arrayLast"), |call| one(call, false)).doc(
            "arrayLast(f, a, ...)",
            "The last element for which the function is not 0, or the default.",
            "arrayLast(x -> x > 1, [1, 2, 3]) -> 3",
        ),
        ScalarFunction::new("arrayLastOrNull", many.clone(), or_null("arrayLastOrNull"), |call| {
            one(call, false)
        })
        .doc(
            "arrayLastOrNull(f, a, ...)",
            "The last element for which the function is not 0, or NULL.",
            "arrayLastOrNull(x -> x > 5, [1, 2]) -> NULL",
        ),
        ScalarFunction::new("arrayFirstIndex", many.clone(), number("arrayFirstIndex"), |call| {
            place(call, true)
        })
        .doc(
            "arrayFirstIndex(f, a, ...)",
            "The place of the first element for which the function is not 0, or 0.",
            "arrayFirstIndex(x -> x > 1, [1, 2, 3]) -> 2",
        ),
        ScalarFunction::new("arrayLastIndex", many.clone(), number("arrayLastIndex"), |call| {
            place(call, false)
        })
        .doc(
            "arrayLastIndex(f, a, ...)",
            "The place of the last element for which the function is not 0, or 0.",
            "arrayLastIndex(x -> x > 1, [1, 2, 3]) -> 3",
        ),
    ]
}

fn reshaping() -> Vec<ScalarFunction> {
    let many = 2..=usize::MAX;
    let array = |name| chosen_type(name, |array| array);
    let pieces = |name| chosen_type(name, |array| ColumnType::Array(Box::new(array)));
    vec![
        ScalarFunction::new("arrayFill", many.clone(), array("arrayFill"), |call| fill(call, false)).doc(
            "arrayFill(f, a, ...)",
            "Elements for which the function is 0 replaced by the one in front of them.",
            "arrayFill(x -> x > 2, [1, 3, 1, 5]) -> [1,3,3,5]",
        ),
        ScalarFunction::new("arrayReverseFill", many.clone(), array("arrayReverseFill"), |call| {
            fill(call, true)
        })
        .doc(
            "arrayReverseFill(f, a, ...)",
            "Elements for which the function is 0 replaced by the one behind them.",
            "arrayReverseFill(x -> x > 2, [1, 3, 1, 5]) -> [3,3,5,5]",
        ),
        ScalarFunction::new("arraySplit", many.clone(), pieces("arraySplit"), |call| split(call, false)).doc(
            "arraySplit(f, a, ...)",
            "The array cut in front of each element for which the function is not 0.",
            "arraySplit(x -> x > 2, [1, 3, 1]) -> [[1],[3,1]]",
        ),
        ScalarFunction::new("arrayReverseSplit", many, pieces("arrayReverseSplit"), |call| split(call, true))
            .doc(
                "arrayReverseSplit(f, a, ...)",
                "The array cut behind each element for which the function is not 0.",
                "arrayReverseSplit(x -> x > 2, [1, 3, 1]) -> [[1,3],[1]]",
            ),
    ]
}
