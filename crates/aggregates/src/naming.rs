//! Which aggregate a name means, and what its combinators ask for.
//!
//! Invariant: combinators are taken off from behind; what is left is the name of one aggregate. Must not know: arguments.

use std::collections::HashMap;
use std::sync::LazyLock;

use model::type_name::state_names::{self, is_in_any_case};

/// Every aggregate by its names; names found in any case also in lower case, marked by a leading space.
static AGGREGATES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for function in super::documentation() {
        for name in std::iter::once(&function.name).chain(&function.aliases) {
            if function.any_case || is_in_any_case(name) {
                by_name.insert(any_case(name), function.name.to_owned());
            }
            by_name.insert((*name).to_owned(), function.name.to_owned());
        }
    }
    by_name
});

fn any_case(name: &str) -> String {
    format!(" {}", name.to_ascii_lowercase())
}

/// Combinators that change what an aggregate is given; one of them may stand behind it, in front of all others.
const COMBINATORS: &[&str] = &["Array", "ForEach", "ArgMin", "ArgMax", "Resample", "Map"];

/// Aggregates that the planner replaces by others, which take no combinator of [`COMBINATORS`].
const REPLACED: &[&str] = &["argMin", "argMax", "avgWeighted"];

/// What is done with states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// From arguments to a state.
    State,
    /// From states to the result.
    Merge,
    /// From states to a state.
    MergeState,
}

impl Kind {
    /// As it stands behind a function's name.
    pub const ALL: [(&'static str, Kind); 3] =
        [("MergeState", Kind::MergeState), ("State", Kind::State), ("Merge", Kind::Merge)];
}

/// An aggregate as written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Aggregate {
    /// The planner's name.
    pub name: String,
    /// `-If`: the last argument is a condition.
    pub filtered: bool,
    /// `-Distinct`.
    pub distinct: bool,
    /// `-OrNull`, `-OrDefault`.
    pub over_nothing: OverNothing,
    /// That stands behind `-If`, and so rows that the condition leaves out are rows.
    pub is_outside_if: bool,
    /// `-Array` and its kind.
    pub combinator: Option<&'static str>,
    /// `-State` and its kin, and the function whose states these are: the rest is said of what stands outside of them.
    pub stateful: Option<(Kind, String)>,
}

/// What an aggregate gives when there was nothing to aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OverNothing {
    /// What it always does.
    #[default]
    Own,
    Null,
    Default,
}

pub fn find(name: &str) -> Option<&'static String> {
    AGGREGATES.get(name).or_else(|| AGGREGATES.get(&any_case(name)))
}

/// The aggregate of a name, with or without combinators.
pub fn aggregate(name: &str) -> Option<Aggregate> {
    let (mut rest, mut filtered, mut distinct) = (name, false, false);
    let (mut over_nothing, mut is_outside_if) = (OverNothing::Own, false);
    loop {
        if let Some(found) = find(rest) {
            let name = found.clone();
            let found =
                Aggregate { name, filtered, distinct, over_nothing, is_outside_if, ..Aggregate::default() };
            return Some(found);
        }
        let plain = over_nothing == OverNothing::Own;
        if plain
            && !distinct
            && let Some((name, combinator)) = combined(rest)
        {
            let combinator = Some(combinator);
            return Some(Aggregate { name, filtered, distinct, combinator, ..Aggregate::default() });
        }
        if let Some(found) = stateful(rest).filter(|_| !distinct) {
            return Some(outside(found, filtered, over_nothing));
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
            (rest, filtered, is_outside_if) = (base, true, over_nothing != OverNothing::Own);
        } else if let Some(base) = rest.strip_suffix("Distinct").filter(|_| !distinct) {
            (rest, distinct) = (base, true);
        } else {
            return None;
        }
    }
}

/// The aggregate whose states a name ends in, and what is done with them.
fn stateful(name: &str) -> Option<(Aggregate, Kind, String)> {
    Kind::ALL.iter().find_map(|(suffix, kind)| {
        let base = name.strip_suffix(suffix)?;
        let found = aggregate(base).filter(|found| found.stateful.is_none())?;
        Some((found, *kind, canonical(base)?))
    })
}

/// An aggregate of states with what stands outside of it: over no rows `-StateOrNull` is the state of `-OrNull`.
fn outside(
    (found, kind, function): (Aggregate, Kind, String),
    filtered: bool,
    over_nothing: OverNothing,
) -> Aggregate {
    let (function, over_nothing) = match (kind, over_nothing) {
        (Kind::Merge, over_nothing) => (function, over_nothing),
        (_, OverNothing::Own) => (function, OverNothing::Own),
        (_, OverNothing::Null) => (format!("{function}OrNull"), OverNothing::Own),
        (_, OverNothing::Default) => (format!("{function}OrDefault"), OverNothing::Own),
    };
    let stateful = Some((kind, function));
    Aggregate { name: found.name, filtered, over_nothing, stateful, ..Aggregate::default() }
}

/// A function's name as types have it: that of ClickHouse for an alias or another spelling, with its combinators.
pub fn canonical(name: &str) -> Option<String> {
    aggregate(name)?;
    Some(state_names::canonical(name).into_owned())
}

/// The aggregate of a name that ends in `-SimpleState`, which gives what the aggregate gives.
pub fn simple(name: &str) -> Option<&str> {
    name.strip_suffix("SimpleState")
        .filter(|base| aggregate(base).is_some_and(|found| found.stateful.is_none()))
}

/// An aggregate and the one combinator behind it.
fn combined(name: &str) -> Option<(String, &'static str)> {
    let ending = |suffix: &&&'static str| name.strip_suffix(**suffix).and_then(find).is_some();
    let suffix = COMBINATORS.iter().find(ending)?;
    let found = find(name.strip_suffix(*suffix)?)?;
    (!REPLACED.contains(&found.as_str())).then(|| (found.clone(), *suffix))
}

/// Whether an aggregate's parameters travel in front of its arguments, as one text.
pub fn parameters_in_front(aggregate: &str) -> bool {
    crate::kernels::all().iter().any(|function| function.name == aggregate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinators_are_taken_off() {
        let check = |name: &str, planned: &str, filtered: bool, distinct: bool| {
            let over_nothing = OverNothing::Own;
            let name_of = planned.to_owned();
            let expected =
                Aggregate { name: name_of, filtered, distinct, over_nothing, ..Aggregate::default() };
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
        assert_eq!(combined("uniqForEach"), Some(("uniq".to_owned(), Some("ForEach"), false)));
        assert_eq!(combined("groupArray"), Some(("groupArray".to_owned(), None, false)));
        assert_eq!(combined("sumIfArray"), None);
        assert_eq!(combined("argMinArray"), None);
        let over_nothing = |name| aggregate(name).map(|found| (found.filtered, found.over_nothing));
        assert_eq!(over_nothing("sumOrNull"), Some((false, OverNothing::Null)));
        assert_eq!(over_nothing("avgOrDefaultIf"), Some((true, OverNothing::Default)));
        assert_eq!(over_nothing("avgIfOrDefault"), Some((true, OverNothing::Default)));
    }
}
