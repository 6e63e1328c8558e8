//! The key of a table as its clause says it: which expressions it has, and what of its text does not follow from them.
//!
//! Invariant: `a`, `(a)`, `((a))` and `tuple(a)` are one key. Must not know: columns.

use sqlparser::ast::Expr;

use crate::dialect::{name_of, plain_args};

/// The clauses that have a key.
pub const PARTITION_BY: &str = "PARTITION BY";
pub const ORDER_BY: &str = "ORDER BY";
pub const PRIMARY_KEY: &str = "PRIMARY KEY";

/// The expressions of a key that was read as one.
pub(crate) fn key_of(key: Expr) -> Vec<Expr> {
    match key {
        Expr::Tuple(parts) => parts.into_iter().map(bare).collect(),
        Expr::Nested(part) => key_of(*part),
        Expr::Function(call) if is_tuple(&name_of(&call)) => {
            plain_args(&call).into_iter().map(bare).collect()
        }
        other => vec![other],
    }
}

/// An expression without the parentheses around it.
pub(crate) fn bare(expression: Expr) -> Expr {
    match expression {
        Expr::Nested(inner) => bare(*inner),
        other => other,
    }
}

/// What is to be remembered of a key's text: nothing, if that follows from its expressions.
pub(crate) fn written(clause: &'static str, key: &Expr) -> Option<(&'static str, Expr)> {
    let is_partition = clause == PARTITION_BY;
    let says_more = match key {
        Expr::Nested(_) => true,
        Expr::Tuple(parts) if parts.is_empty() => is_partition,
        Expr::Tuple(parts) => parts.iter().any(|part| matches!(part, Expr::Nested(_))),
        Expr::Function(call) if is_tuple(&name_of(call)) => is_partition || !plain_args(call).is_empty(),
        _ => false,
    };
    says_more.then(|| (clause, plain(key.clone())))
}

fn is_tuple(function: &str) -> bool {
    function.eq_ignore_ascii_case("tuple")
}

/// One pair of parentheses is as good as several.
fn plain(key: Expr) -> Expr {
    match key {
        Expr::Nested(inner) => match *inner {
            again @ Expr::Nested(_) => plain(again),
            other => Expr::Nested(Box::new(other)),
        },
        Expr::Tuple(parts) => Expr::Tuple(parts.into_iter().map(plain).collect()),
        other => other,
    }
}
