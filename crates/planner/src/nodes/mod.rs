//! Steps of a plan that ClickHouse has and DataFusion has not: ARRAY JOIN, LIMIT BY, WITH TIES, LIMIT from the end, WITH FILL, ASOF JOIN.
//!
//! Invariant: a node says what is to be done, never how; the engine plans how. A node's columns are its inputs', one
//! for one, so that projections and filters move through it. Must not know: SQL text, storage.

mod apart;
mod array_join;
mod asof;
mod cut;
mod ends;
mod fill;

use std::collections::BTreeSet;

use datafusion::common::{Column, DFSchema};
use datafusion::logical_expr::Expr;

pub use apart::{Apart, without_apart};
pub use array_join::{ArrayJoin, element_field};
pub use asof::Asof;
pub use cut::{Cut, CutKind};
pub use ends::{Count, Ends};
pub use fill::{Fill, FillKey, Interpolated};

/// What a node needs of its input when these of its columns are wanted: those, and what its expressions name.
fn needed(output: &[usize], expressions: &[Expr], input: &DFSchema) -> Vec<Vec<usize>> {
    let named = expressions.iter().flat_map(Expr::column_refs);
    let named = named.filter_map(|column: &Column| input.maybe_index_of_column(column));
    let all: BTreeSet<usize> = output.iter().copied().chain(named).collect();
    vec![all.into_iter().collect()]
}
