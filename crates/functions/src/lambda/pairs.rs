//! Lambdas over the keys and values of maps.
//!
//! Invariant: entries keep their order, and a map that a lambda makes has what it gave, also the same key twice.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use model::ColumnType;
use model::saturating::u64_of;

use super::choose::{answers, chosen_type};
use super::without_dictionary;
use super::{LambdaFunction, Over, scalar_form};
use crate::columns::container::map_of;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::take_entries;
use crate::kernel::registry::{FunctionDoc, ScalarFunction};

fn applied_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let results = args.first().map_or(&ColumnType::Nothing, |arg| &arg.column_type);
    if let ColumnType::Array(result) = results
        && let ColumnType::Tuple(parts) = &**result
        && let [key, value] = parts.as_slice()
    {
        let [key, value] = [key, value].map(|part| Box::new(without_dictionary(&part.column_type)));
        return Ok(ColumnType::Map(key, value));
    }
    let message = format!("the lambda of mapApply must give a tuple of a key and a value, found {results}");
    Err(FunctionError::bad_argument(message))
}

fn apply(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Map(key, value) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "mapApply"));
    };
    let results = call.lists(0)?;
    let pairs = results.values().as_struct();
    let [keys, values] = pairs.columns() else {
        return Err(FunctionError::bad_argument("the lambda of mapApply must give pairs"));
    };
    let offsets = results.array.offsets().clone();
    Ok(map_of(key, value, offsets, Arc::clone(keys), Arc::clone(values), None)?)
}

fn filter(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Map(key, value) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "mapFilter"));
    };
    let answers = answers(call)?;
    let (offsets, keys, values) = take_entries(call, call.arg(1)?, |_, own, out| {
        out.extend(own.filter(|at| answers.is_valid(*at) && answers.value(*at)).map(u64_of));
    })?;
    Ok(map_of(key, value, offsets, keys, values, None)?)
}

pub(super) fn functions() -> Vec<LambdaFunction> {
    let quantified = |of: &'static str, name: &'static str, doc: FunctionDoc| {
        let kernel = scalar_form(of, doc).map(|kernel| kernel.named(name));
        kernel.map(|kernel| LambdaFunction::of_results(Over::Entries, kernel))
    };
    let mut all: Vec<LambdaFunction> = [
        quantified(
            "arrayExists",
            "mapExists",
            FunctionDoc {
                signature: "mapExists(f, map)",
                description: "Whether the function is not 0 for any key and value.",
                example: "mapExists((k, v) -> v > 1, map('a', 1)) -> 0",
            },
        ),
        quantified(
            "arrayAll",
            "mapAll",
            FunctionDoc {
                signature: "mapAll(f, map)",
                description: "Whether the function is not 0 for all keys and values.",
                example: "mapAll((k, v) -> v > 0, map('a', 1)) -> 1",
            },
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.push(LambdaFunction::of_results(
        Over::Entries,
        ScalarFunction::new("mapApply", 1..=1, applied_type, apply).doc(
            "mapApply(f, map)",
            "A map of the pairs that the function gives for each key and value.",
            "mapApply((k, v) -> (k, v + 1), map('a', 1)) -> {'a':2}",
        ),
    ));
    all.push(LambdaFunction::beside(
        Over::Entries,
        ScalarFunction::new("mapFilter", 2..=2, chosen_type("mapFilter", |map| map), filter).doc(
            "mapFilter(f, map)",
            "The entries for which the function is not 0.",
            "mapFilter((k, v) -> v > 1, map('a', 1, 'b', 2)) -> {'b':2}",
        ),
    ));
    all
}
