//! `ReplacingMergeTree(version)` as it is written.

use sqlparser::ast::Expr;

/// An engine of MergeTree's family, and what stands in its parentheses.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenMode {
    /// One of those that `grammar::engine` knows.
    pub engine: &'static str,
    pub arguments: Vec<Expr>,
}
