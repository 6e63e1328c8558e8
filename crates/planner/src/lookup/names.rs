//! Which function a name means: scalar, aggregate or window, under the name the planner knows it by.
//!
//! Invariant: a name that is not found here never reaches DataFusion, whose own functions differ in meaning.

use std::collections::HashMap;
use std::sync::LazyLock;

use model::ErrorCode;
use sql::SqlError;
use sql::settings::edit_distance;

use crate::lookup::documentation::documented_functions;
use crate::scalar::format_query;

/// Every aggregate by its names; names found in any case also in lower case, marked by a leading space.
static AGGREGATES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for function in documented_functions().into_iter().filter(|function| function.is_aggregate) {
        let planned = if function.alias_to.is_empty() { function.name.clone() } else { function.alias_to };
        if function.case_insensitive {
            by_name.insert(any_case(&function.name), planned.clone());
        }
        by_name.insert(function.name, planned);
    }
    by_name
});

fn any_case(name: &str) -> String {
    format!(" {}", name.to_ascii_lowercase())
}

/// Combinators that only aggregates have and that are not carried out.
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

/// Combinators that change what an aggregate is given; one of them may stand behind it, in front of all others.
const COMBINATORS: &[&str] = &["Array", "ForEach", "ArgMin", "ArgMax", "Resample"];

/// Aggregates that the planner replaces by others, which take no combinator of [`COMBINATORS`].
const REPLACED: &[&str] = &["argMin", "argMax", "avgWeighted"];

/// Aggregates of ClickHouse that may not be done.
const KNOWN_AGGREGATES: &[&str] = &[
    "uniqUpTo",
    "quantileTiming",
    "quantileDeterministic",
    "quantileExactLow",
    "quantileExactHigh",
    "quantileExactWeighted",
    "quantileTDigest",
    "quantilesExact",
    "quantilesTiming",
    "quantileBFloat16",
    "quantileDD",
    "quantileGK",
    "maxIntersections",
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

/// An aggregate as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Aggregate {
    /// The planner's name.
    pub(crate) name: String,
    /// `-If`: the last argument is a condition.
    pub(crate) filtered: bool,
    /// `-Distinct`.
    pub(crate) distinct: bool,
    /// `-OrNull`, `-OrDefault`.
    pub(crate) over_nothing: OverNothing,
    /// `-Array` and its kind.
    pub(crate) combinator: Option<&'static str>,
}

/// What an aggregate gives when there was nothing to aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum OverNothing {
    /// What it always does.
    #[default]
    Own,
    Null,
    Default,
}

fn find(name: &str) -> Option<&'static String> {
    AGGREGATES.get(name).or_else(|| AGGREGATES.get(&any_case(name)))
}

/// The aggregate of a name, with or without combinators.
pub(crate) fn aggregate(name: &str) -> Option<Aggregate> {
    let (mut rest, mut filtered, mut distinct) = (name, false, false);
    let mut over_nothing = OverNothing::Own;
    loop {
        if let Some(found) = find(rest) {
            let name = found.clone();
            return Some(Aggregate { name, filtered, distinct, over_nothing, combinator: None });
        }
        let plain = over_nothing == OverNothing::Own;
        if plain
            && !distinct
            && let Some((name, combinator)) = combined(rest)
        {
            return Some(Aggregate { name, filtered, distinct, over_nothing, combinator: Some(combinator) });
        }
        if let Some(base) = rest.strip_suffix("OrNull").filter(|_| plain) {
            (rest, over_nothing) = (base, OverNothing::Null);
            continue;
        }
        if let Some(base) = rest.strip_suffix("OrDefault").filter(|_| plain) {
            (rest, over_nothing) = (base, OverNothing::Default);
            continue;
        }
        if let Some(base) = rest.strip_suffix("If").filter(|_| !filtered) {
            (rest, filtered) = (base, true);
        } else if let Some(base) = rest.strip_suffix("Distinct").filter(|_| !distinct) {
            (rest, distinct) = (base, true);
        } else {
            return None;
        }
    }
}

/// An aggregate and the one combinator behind it.
fn combined(name: &str) -> Option<(String, &'static str)> {
    let ending = |suffix: &&&'static str| name.strip_suffix(**suffix).and_then(find).is_some();
    let suffix = COMBINATORS.iter().find(ending)?;
    let found = find(name.strip_suffix(*suffix)?)?;
    // The approximate count reads texts only; the exact one counts the same, and better.
    let found = if found == "uniq" { "uniqExact" } else { found.as_str() };
    (!REPLACED.contains(&found)).then(|| (found.to_owned(), *suffix))
}

/// Whether an aggregate's parameters travel in front of its arguments, as one text.
pub(crate) fn parameters_in_front(aggregate: &str) -> bool {
    functions::aggregates::all().iter().any(|function| function.name == aggregate)
}

/// `f(0.5)(x)`: those for which constants may follow the arguments.
pub(crate) fn takes_parameters(aggregate: &str) -> bool {
    ["quantile", "median", "groupArray", "groupUniqArray", "groupConcat"]
        .iter()
        .any(|start| aggregate.starts_with(start))
        || parameters_in_front(aggregate)
}

pub(crate) fn window(name: &str) -> Option<&'static str> {
    WINDOWS.iter().find(|known| known.0 == name || known.1.eq_ignore_ascii_case(name)).map(|known| known.1)
}

/// The name of the scalar function that this name, alias or spelling means.
pub(crate) fn scalar(name: &str) -> Option<&'static str> {
    let known =
        functions::lookup(name).or_else(|| format_query::functions().iter().find(|known| known.name == name));
    known.map(|function| function.name)
}

/// Why a name is not a function here: known and not done, or unknown with the nearest one.
pub(crate) fn unknown(name: &str) -> SqlError {
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
    if name.starts_with("dictGet") || name == "dictHas" {
        return SqlError::not_implemented(format!("function {name}: there are no dictionaries, and it"));
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
    fn combinators_are_taken_off() {
        let check = |name: &str, planned: &str, filtered: bool, distinct: bool| {
            let over_nothing = OverNothing::Own;
            let name_of = planned.to_owned();
            let expected = Aggregate { name: name_of, filtered, distinct, over_nothing, combinator: None };
            assert_eq!(aggregate(name), Some(expected), "{name}");
        };
        check("COUNT", "count", false, false);
        check("countIf", "count", true, false);
        check("uniqExactIf", "uniqExact", true, false);
        check("sumDistinctIf", "sum", true, true);
        check("anyLastIf", "anyLast", true, false);
        assert_eq!(aggregate("ARGMAX"), None);
        let combined = |name| aggregate(name).map(|found| (found.name, found.combinator, found.filtered));
        assert_eq!(combined("sumArrayIf"), Some(("sum".to_owned(), Some("Array"), true)));
        assert_eq!(combined("uniqForEach"), Some(("uniqExact".to_owned(), Some("ForEach"), false)));
        assert_eq!(combined("groupArray"), Some(("groupArray".to_owned(), None, false)));
        assert_eq!(combined("sumIfArray"), None);
        assert_eq!(combined("argMinArray"), None);
        let over_nothing = |name| aggregate(name).map(|found| (found.filtered, found.over_nothing));
        assert_eq!(over_nothing("sumOrNull"), Some((false, OverNothing::Null)));
        assert_eq!(over_nothing("avgOrDefaultIf"), Some((true, OverNothing::Default)));
        assert_eq!(over_nothing("avgIfOrDefault"), Some((true, OverNothing::Default)));
    }

    #[test]
    fn unknown_names_say_what_is_nearest_or_not_done() {
        assert_eq!(unknown("countMerge").code, ErrorCode::NOT_IMPLEMENTED);
        assert_eq!(unknown("uniqUpTo").message, "aggregate function uniqUpTo is not supported");
        assert_eq!(unknown("argMx").message, "unknown function argMx: maybe you meant argMax");
        assert_eq!(unknown("foobarbazqux").message, "unknown function foobarbazqux");
    }
}
