//! `arrayReduce`: an aggregate function over the elements of each array.
//!
//! Invariant: an aggregate leaves NULL elements out, and over no elements gives what it gives over no rows.

use std::collections::HashMap;
use std::sync::LazyLock;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::UInt64Type;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::{fold, reorder};
use crate::cast::CastMode;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::list::gather;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{constant_text, truths};

/// What is asked of the elements that are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Aggregate {
    /// A function of arrays that does the same.
    Function(&'static str),
    Count,
    /// Of different elements.
    Different,
    All,
    First,
    Last,
}

static FUNCTIONS: LazyLock<HashMap<&'static str, ScalarFunction>> = LazyLock::new(|| {
    let all = fold::functions().into_iter().chain(reorder::functions());
    all.map(|function| (function.name, function)).collect()
});

fn function(name: &str) -> Result<&'static ScalarFunction, FunctionError> {
    let missing = || FunctionError::new(ErrorCode::LOGICAL_ERROR, format!("there is no function {name}"));
    FUNCTIONS.get(name).ok_or_else(missing)
}

/// The aggregate of a constant name, and whether the last array says which elements count.
fn aggregate(name: Option<&str>) -> Result<(Aggregate, bool), FunctionError> {
    let Some(name) = name else {
        return Err(FunctionError::bad_argument("the first argument of arrayReduce must be a constant name"));
    };
    let (base, filtered) = name.strip_suffix("If").map_or((name, false), |base| (base, true));
    let found = match base {
        "sum" => Aggregate::Function("arraySum"),
        "min" => Aggregate::Function("arrayMin"),
        "max" => Aggregate::Function("arrayMax"),
        "avg" => Aggregate::Function("arrayAvg"),
        "groupUniqArray" => Aggregate::Function("arrayDistinct"),
        "count" => Aggregate::Count,
        "uniq" | "uniqExact" => Aggregate::Different,
        "groupArray" => Aggregate::All,
        "any" => Aggregate::First,
        "anyLast" => Aggregate::Last,
        _ => {
            let message = format!(
                "arrayReduce with {name} is not supported: it takes sum, min, max, avg, count, uniq, uniqExact, any, \
                 anyLast, groupArray, groupUniqArray, each also with -If"
            );
            return Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message));
        }
    };
    Ok((found, filtered))
}

fn result_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let (aggregate, filtered) = aggregate(constant_text(args, 0).as_deref())?;
    if args.len() != if filtered { 3 } else { 2 } {
        let message = format!(
            "arrayReduce takes a name and {} here",
            if filtered { "two arrays" } else { "one array" }
        );
        return Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
    }
    for array in &args[1..] {
        if !matches!(array.column_type, ColumnType::Array(_)) {
            return Err(FunctionError::illegal_type(&array.column_type, "arrayReduce"));
        }
    }
    let ColumnType::Array(element) = &args[1].column_type else { return Ok(ColumnType::Nothing) };
    match aggregate {
        Aggregate::Function(name) => function(name)?.result_type(&args[1..2]),
        Aggregate::Count | Aggregate::Different => Ok(ColumnType::UInt64),
        Aggregate::All => Ok(ColumnType::Array(Box::new(element.value_type().clone()))),
        Aggregate::First | Aggregate::Last => Ok((**element).clone()),
    }
}

/// The arrays without NULLs, and without what the second array says 0 of.
fn counted(call: &Call<'_>, filtered: bool) -> Result<Arg, FunctionError> {
    let lists = call.lists(1)?;
    let flags = if filtered { Some(call.lists(2)?) } else { None };
    let answers = match &flags {
        Some(flags) => Some(truths(flags.values(), &flags.element, &call.caster(CastMode::Strict))?),
        None => None,
    };
    let nulls = lists.values().logical_nulls();
    let array = gather(call, &lists.element, lists.values(), |row, out| {
        let own = lists.range(row);
        let conditions = flags.as_ref().map(|flags| flags.range(row));
        if conditions.as_ref().is_some_and(|conditions| conditions.len() != own.len()) {
            let message = "arrays passed to arrayReduce must have equal size";
            return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
        let counts = |at: &usize| {
            let is_there = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*at));
            let chosen = conditions.as_ref().zip(answers.as_ref()).is_none_or(|(conditions, answers)| {
                let place = conditions.start + at - own.start;
                answers.is_valid(place) && answers.value(place)
            });
            is_there && chosen
        };
        out.extend(own.clone().filter(counts).map(u64_of));
        Ok(())
    })?;
    Ok(Arg { array, is_constant: false, column_type: call.arg(1)?.column_type.clone() })
}

fn reduce(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let name = call.texts(0)?;
    let (aggregate, filtered) = aggregate(name.constant())?;
    let args = [counted(call, filtered)?];
    let call = Call::new(&args, call.rows, call.result_type, call.session);
    let lists = call.lists(0)?;
    match aggregate {
        Aggregate::Function(name) => function(name)?.evaluate(&call),
        Aggregate::Count => call.each::<UInt64Type>(|row| Ok(u64_of(lists.range(row).len()))),
        Aggregate::Different => {
            let counts =
                function("arrayUniq")?.evaluate(&Call { result_type: &ColumnType::UInt32, ..call })?;
            Ok(arrow::compute::cast(&counts, &arrow::datatypes::DataType::UInt64)?)
        }
        Aggregate::All => {
            let element = lists.element.value_type();
            gather(&call, element, lists.values(), |row, out| {
                out.extend(lists.range(row).map(u64_of));
                Ok(())
            })
        }
        Aggregate::First | Aggregate::Last => {
            super::contain::pick(&call, lists.values(), &lists.element, |row| {
                let mut own = lists.range(row);
                if aggregate == Aggregate::First { own.next() } else { own.next_back() }
            })
        }
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new("arrayReduce", 2..=3, result_type, reduce).own_nulls().doc(
        "arrayReduce('name', array[, conditions])",
        "What an aggregate function gives for the elements.",
        "arrayReduce('sum', [1, 2, 3]) -> 6",
    )]
}
