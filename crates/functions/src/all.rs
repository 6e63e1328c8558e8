//! The table of all functions, and finding one by name.
//!
//! Invariant: names and aliases are unique, also without regard to case among those found in any case.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::kernel::registry::ScalarFunction;

static ALL: LazyLock<Vec<ScalarFunction>> = LazyLock::new(|| {
    let mut functions: Vec<ScalarFunction> = [
        crate::arithmetic::numbers::functions(),
        crate::conversion::convert::functions(),
        crate::truth::compare::functions(),
        crate::truth::logic::functions(),
        crate::truth::conditional::functions(),
        crate::arithmetic::or_null::functions(),
        crate::arithmetic::analysis::functions(),
        crate::arithmetic::decimal_digits::functions(),
        crate::arithmetic::curves::functions(),
        crate::arithmetic::colors::functions(),
        crate::arithmetic::bits::functions(),
        crate::arithmetic::bit_turns::functions(),
        crate::arithmetic::math::functions(),
        crate::strings::functions(),
        crate::json::functions(),
        crate::arrays::functions(),
        crate::dates::functions(),
        crate::hash::functions(),
        crate::geo::functions(),
        crate::conversion::value::functions(),
        crate::conversion::reinterpret::functions(),
        crate::arithmetic::integers::functions(),
        crate::arithmetic::bins::functions(),
        crate::truth::checks::functions(),
        crate::session::random::functions(),
        crate::session::answers::functions(),
        crate::session::blocks::functions(),
        crate::session::running::functions(),
        crate::session::structure::functions(),
    ]
    .into_iter()
    .flatten()
    .collect();
    functions.sort_by_key(|function| function.name);
    functions
});

static BY_NAME: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
    let mut by_name = HashMap::new();
    for (index, function) in ALL.iter().enumerate() {
        for name in std::iter::once(&function.name).chain(function.aliases) {
            by_name.insert((*name).to_owned(), index);
            if function.case_insensitive {
                by_name.entry(name.to_ascii_lowercase()).or_insert(index);
            }
        }
    }
    by_name
});

/// Every function, ordered by name.
pub fn all() -> &'static [ScalarFunction] {
    &ALL
}

/// The function of this name or alias; in any case where the function allows it.
pub fn lookup(name: &str) -> Option<&'static ScalarFunction> {
    if let Some(index) = BY_NAME.get(name) {
        return ALL.get(*index);
    }
    let function = ALL.get(*BY_NAME.get(&name.to_ascii_lowercase())?)?;
    function.case_insensitive.then_some(function)
}
