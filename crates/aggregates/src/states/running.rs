//! `runningAccumulate`: what the states of the rows so far come to.
//!
//! Invariant: rows are those of one block, in the order in which they come; another key begins anew. Must not know: plans.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_empty_array};
use arrow::compute::concat;
use functions::{ArgType, Call, FunctionError, ScalarFunction, default_array};
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use super::finalize::{finalized, finalizing, laid_out, of_plan, recipe_of};
use super::groups::Ends;
use super::runs::Aggregation;
use crate::naming::Kind;

const NAME: &str = "runningAccumulate";

fn result(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    if args[0].column_type.state().is_none() {
        return Err(FunctionError::illegal_type(&args[0].column_type, NAME));
    }
    Ok(finalizing(&args[0].column_type)?.result())
}

/// Bytes of merged states that are kept until they are finished.
const PENDING_BYTES_MAX: usize = 4 << 20;

/// What the states of all rows up to each come to; of a row that is NULL those before it.
fn running(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let states = &call.args[0];
    let recipe = Arc::new(recipe_of(&states.column_type, NAME)?);
    let merging = Ends::new(recipe, Kind::MergeState).map(Aggregation::Stated).map_err(of_plan)?;
    let nothing = default_array(&states.column_type, 1);
    let mut done: Vec<ArrayRef> = Vec::new();
    let (mut sofar, mut pending, mut bytes) = (Arc::clone(&nothing), Vec::new(), 0);
    let finish = |pending: &mut Vec<ArrayRef>| {
        let rows = pending.len();
        let all = concat(&std::mem::take(pending).iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?;
        finalized(all, &states.column_type, rows)
    };
    let mut before: Option<ArrayRef> = None;
    for row in 0..call.rows {
        if bytes > PENDING_BYTES_MAX {
            // States of many values, each with all before it, are larger than what they come to.
            done.push(finish(&mut pending)?);
            bytes = 0;
        }
        if call.args.iter().any(|arg| arg.is_null(row)) {
            pending.push(Arc::clone(&sofar));
            continue;
        }
        let key = call.args.get(1).map(|key| key.array.slice(key.row(row), 1));
        let is_new = match (&key, &before) {
            (Some(key), Some(before)) => key != before,
            _ => false,
        };
        if is_new {
            sofar = Arc::clone(&nothing);
        }
        before = key;
        let two = concat(&[sofar.as_ref(), states.array.slice(row, 1).as_ref()])?;
        sofar = merging.over_runs(&[two], &[2]).map_err(of_plan)?;
        bytes += sofar.get_array_memory_size();
        pending.push(Arc::clone(&sofar));
    }
    if pending.is_empty() {
        return Ok(new_empty_array(&to_data_type(call.result_type)));
    }
    done.push(finish(&mut pending)?);
    Ok(concat(&done.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?)
}

fn accumulate(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    if call.args[0].is_constant {
        let message = format!("the states of function {NAME} are a constant, which does not accumulate");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message));
    }
    laid_out(running(call)?, &to_data_type(call.result_type))
}

pub(crate) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new(NAME, 1..=2, result, accumulate).volatile().doc(
        "runningAccumulate(state[, key])",
        "What the states of the rows so far come to, in the block; another key begins anew. A window function knows an order.",
        "runningAccumulate(sums)",
    )]
}
