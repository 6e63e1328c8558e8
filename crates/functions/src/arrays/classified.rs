//! How well scores tell labels apart.
//!
//! Invariant: equal scores are one step, in whichever order their labels stand. Must not know: what scores are made by.

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Float64Type;
use model::ColumnType;

use crate::cast::CastMode;
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::Lists;
use crate::kernel::registry::ScalarFunction;

const NAME: &str = "arrayROCAUC";

fn rule(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let plain = |t: &ColumnType| t.is_number() && !t.is_nullable() || *t == ColumnType::Bool;
    for (arg, takes_enum) in args.iter().take(2).zip([false, true]) {
        let ColumnType::Array(element) = &arg.column_type else {
            return Err(FunctionError::illegal_type(&arg.column_type, NAME));
        };
        let is_enum = matches!(**element, ColumnType::Enum8(_) | ColumnType::Enum16(_));
        if !(plain(element) || takes_enum && is_enum) {
            return Err(FunctionError::illegal_type(element, NAME));
        }
    }
    match args.get(2).filter(|scale| !matches!(scale.column_type, ColumnType::Bool | ColumnType::UInt8)) {
        Some(scale) => Err(FunctionError::illegal_type(&scale.column_type, NAME)),
        None => Ok(ColumnType::Float64),
    }
}

fn floats(call: &Call<'_>, lists: &Lists) -> Result<Float64Array, FunctionError> {
    let caster = call.caster(CastMode::Strict);
    let (values, element) = (lists.values(), &lists.element);
    // The numbers of an enum, not its names.
    let number = match element {
        ColumnType::Enum8(_) => Some(ColumnType::Int8),
        ColumnType::Enum16(_) => Some(ColumnType::Int16),
        _ => None,
    };
    let made = match number {
        Some(number) => {
            let numbers = caster.column(values, element, &number)?;
            caster.column(&numbers, &number, &ColumnType::Float64)?
        }
        None => caster.column(values, element, &ColumnType::Float64)?,
    };
    Ok(made.as_primitive::<Float64Type>().clone())
}

/// The area below the curve of true positives over false ones, by trapezoids.
fn area(mut scored: Vec<(f64, bool)>, scale: bool) -> f64 {
    if scored.iter().any(|(score, _)| score.is_nan()) {
        return f64::NAN;
    }
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let (mut area, mut hits, mut misses) = (0.0, 0.0, 0.0);
    for step in scored.chunk_by(|a, b| a.0 == b.0) {
        let (before_hits, before_misses) = (hits, misses);
        for (_, label) in step {
            if *label { hits += 1.0 } else { misses += 1.0 }
        }
        area += (misses - before_misses) * (hits + before_hits) / 2.0;
    }
    if scale { area / (hits * misses) } else { area }
}

fn curve(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let (score_lists, label_lists) = (call.lists(0)?, call.lists(1)?);
    let (scores, labels) = (floats(call, &score_lists)?, floats(call, &label_lists)?);
    let scale = if call.args.len() > 2 { Some(call.ints(2)?) } else { None };
    call.each::<Float64Type>(|row| {
        let (own, of_labels) = (score_lists.range(row), label_lists.range(row));
        if own.len() != of_labels.len() {
            return Err(FunctionError::bad_argument(format!(
                "the two arrays of {NAME} must have equal sizes"
            )));
        }
        let scored =
            own.zip(of_labels).map(|(score, label)| (scores.value(score), labels.value(label) > 0.0));
        let is_scaled = scale.as_ref().is_none_or(|scale| scale.get(row) != 0);
        Ok(area(scored.collect(), is_scaled))
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![ScalarFunction::new(NAME, 2..=3, rule, curve).aliases(&["arrayAUC"]).doc(
        "arrayROCAUC(scores, labels[, scale])",
        "The area below the curve of a classifier that gave these scores to these labels.",
        "arrayROCAUC([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]) -> 0.75",
    )]
}
