//! Which function a name means: scalar, aggregate or window, under the name the planner knows it by.
//!
//! Invariant: a name that is not found here never reaches DataFusion, whose own functions differ in meaning.

use functions::ScalarFunction;
use model::ErrorCode;
use sql::SqlError;
use sql::settings::edit_distance;
use sqlparser::ast::{Expr, FunctionArg};

use crate::lookup::documentation::documented_functions;
use crate::scalar::{dict_names, format_query, join_get};
use aggregates::naming::{Aggregate, find, parameters_in_front};
use aggregates::scalars;

/// Combinators that only aggregates have and that are not carried out everywhere.
const REFUSED_COMBINATORS: &[&str] = &[
    "Array",
    "Map",
    "MergeState",
    "SimpleState",
    "State",
    "Merge",
    "ForEach",
    "Resample",
    "ArgMin",
    "ArgMax",
];

/// Aggregates of ClickHouse that may not be done.
const KNOWN_AGGREGATES: &[&str] = &[
    "quantileTiming",
    "quantileExactLow",
    "quantileExactHigh",
    "quantileExactWeighted",
    "quantileTDigest",
    "quantilesExact",
    "quantilesTiming",
    "quantileGK",
];

/// Window functions that are not aggregates: ClickHouse's name, the planner's name.
const WINDOWS: &[(&str, &str)] = &[
    ("row_number", "row_number"),
    ("rank", "rank"),
    ("dense_rank", "dense_rank"),
    ("denseRank", "dense_rank"),
    ("percent_rank", "percent_rank"),
    ("percentRank", "percent_rank"),
    ("cume_dist", "cume_dist"),
    ("ntile", "ntile"),
    ("lag", "lag"),
    ("lead", "lead"),
    ("nth_value", "nth_value"),
];

/// `f(0.5)(x)`: those for which constants may follow the arguments.
pub fn takes_parameters(aggregate: &str) -> bool {
    ["quantile", "median", "groupArray", "groupUniqArray", "groupConcat"]
        .iter()
        .any(|start| aggregate.starts_with(start))
        || parameters_in_front(aggregate)
}

/// Parameters of an aggregate that takes none here: the precision that `uniqCombined` has without any.
///
/// # Errors
/// Another one is not supported, or is none of ClickHouse's.
pub fn usual_parameters(
    written: &str,
    aggregate: &Aggregate,
    parameters: &[FunctionArg],
) -> Result<Vec<Expr>, SqlError> {
    let is_combined =
        written.to_ascii_lowercase().starts_with("uniqcombined") && aggregate.stateful.is_none();
    match parameters {
        [precision] if is_combined && precision.to_string() == "17" => Ok(vec![]),
        [precision] if is_combined => {
            let is_known = precision.to_string().parse::<u8>().is_ok_and(|bits| (12..=20).contains(&bits));
            let message = format!("parameter {precision} of aggregate function {written}");
            Err(match is_known {
                true => SqlError::not_implemented(message).with_hint("17, the usual one, is"),
                false => {
                    SqlError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, format!("{message} is not in 12 to 20"))
                }
            })
        }
        _ => Err(SqlError::not_implemented(format!("parameters of aggregate function {written}"))),
    }
}

pub fn window(name: &str) -> Option<&'static str> {
    WINDOWS.iter().find(|known| known.0 == name || known.1.eq_ignore_ascii_case(name)).map(|known| known.1)
}

/// Functions that are this crate's own: what they do needs its parts.
pub(crate) fn planned_functions() -> impl Iterator<Item = &'static ScalarFunction> {
    let own = format_query::functions().iter().chain(join_get::functions()).chain(dict_names::functions());
    own.chain(scalars::functions())
}

/// The name of the scalar function that this name, alias or spelling means.
pub fn scalar(name: &str) -> Option<&'static str> {
    let known = functions::lookup(name).or_else(|| planned_functions().find(|known| known.name == name));
    known.map(|function| function.name)
}

/// The name by which DataFusion's planner is given a call. It reads the arguments of `map` twice, to see whether they are two
/// arrays: a map of maps took twice as long with each level. Of the other name it reads them once, and makes the same call.
pub fn planned(known: &'static str) -> &'static str {
    if known == "map" { "make_map" } else { known }
}

/// Why a name is not a function here: known and not done, or unknown with the nearest one.
pub fn unknown(name: &str) -> SqlError {
    if functions::lambda_function(name).is_some() {
        let message = format!("function {name} needs a lambda as its first argument");
        return SqlError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message);
    }
    let plain = name.trim_end_matches("If").trim_end_matches("Distinct");
    let known_aggregate = |name: &str| find(name).is_some() || KNOWN_AGGREGATES.contains(&name);
    let combined = REFUSED_COMBINATORS.iter().any(|suffix| {
        let base = plain.strip_suffix(suffix).unwrap_or("");
        known_aggregate(base) || known_aggregate(base.trim_end_matches("If"))
    });
    if name.starts_with("regionTo") || ["regionIn", "regionHierarchy"].contains(&name) {
        let message = format!("function {name}: embedded dictionaries were not loaded, there are none");
        return SqlError::new(ErrorCode::DICTIONARIES_WAS_NOT_LOADED, message);
    }
    if name.starts_with("dictGet") || name == "dictIsIn" {
        return SqlError::not_implemented(format!("function {name} of dictionaries"));
    }
    if KNOWN_AGGREGATES.contains(&plain) || combined {
        return SqlError::not_implemented(format!("aggregate function {name}"));
    }
    let names = documented_functions();
    let nearest =
        names.iter().map(|known| known.name.as_str()).min_by_key(|known| edit_distance(known, name));
    let hint = match nearest {
        Some(nearest) if edit_distance(nearest, name) <= name.len() / 3 => {
            format!(": maybe you meant {nearest}")
        }
        _ => String::new(),
    };
    SqlError::new(ErrorCode::UNKNOWN_FUNCTION, format!("unknown function {name}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_say_what_is_nearest_or_not_done() {
        assert_eq!(unknown("countMergeMap").code, ErrorCode::UNKNOWN_FUNCTION);
        assert_eq!(unknown("quantileGK").message, "aggregate function quantileGK is not supported");
        assert_eq!(unknown("argMx").message, "unknown function argMx: maybe you meant argMax");
        assert_eq!(unknown("foobarbazqux").message, "unknown function foobarbazqux");
    }
}
