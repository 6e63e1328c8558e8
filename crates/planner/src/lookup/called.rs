//! Which functions a query names.
//!
//! Invariant: every name under which the planner asks for a function that is written as a call is among them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, ObjectNamePart, Query, visit_expressions};

/// Names of the functions called in a query that is ready to be planned, as the planner spells them.
pub fn named_functions(query: &Query) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // It never breaks off.
    let _ = visit_expressions(query, |expr| {
        if let Expr::Function(function) = expr
            && let Some(name) = function.name.0.last().and_then(ObjectNamePart::as_ident)
        {
            names.insert(spelt(name));
        }
        ControlFlow::<()>::Continue(())
    });
    names
}

/// The planner knows functions without quotes by their lower case.
fn spelt(name: &Ident) -> String {
    if name.quote_style.is_some() { name.value.clone() } else { name.value.to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_wherever_they_stand() {
        let text = "WITH (SELECT \"aB\"(1)) AS x, c AS (SELECT D(y -> E(y), 1)) SELECT f(x) OVER (ORDER BY g(1)), \
                    CASE WHEN h(1) THEN 1 END FROM c JOIN t ON i(t.a) = 1 WHERE j(1) IN (SELECT k(1)) GROUP BY l(1) \
                    HAVING m(n(1)) > 1 ORDER BY o(1) LIMIT p(1)";
        let query = sql::parse_query(text).unwrap();
        let names: Vec<String> = named_functions(&query).into_iter().collect();
        assert_eq!(names.join(" "), "aB d e f g h i j k l m n o p");
    }
}
