//! Steps that pass some rows of a stream by what came before them: LIMIT n BY keys, LIMIT n WITH TIES.
//!
//! Invariant: rows keep their order, and which ones pass depends on nothing else.

use std::cmp::Ordering;
use std::fmt;

use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

use super::needed;

/// Which rows pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Debug)]
pub enum CutKind {
    /// Of every value of the keys, the rows behind the first `skip`, at most `fetch` of them.
    By,
    /// As LIMIT, and all rows behind whose keys are those of the last one.
    Ties,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cut {
    pub kind: CutKind,
    pub keys: Vec<Expr>,
    pub skip: u64,
    pub fetch: u64,
    input: LogicalPlan,
}

impl Cut {
    pub fn new(kind: CutKind, keys: Vec<Expr>, (skip, fetch): (u64, u64), input: LogicalPlan) -> Cut {
        Cut { kind, keys, skip, fetch, input }
    }
}

impl PartialOrd for Cut {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = (self.kind, &self.keys).partial_cmp(&(other.kind, &other.keys));
        order.filter(|order| order.is_ne() || self == other)
    }
}

impl UserDefinedLogicalNodeCore for Cut {
    fn name(&self) -> &str {
        "Cut"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        self.keys.clone()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let keys = self.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self.kind {
            CutKind::By => write!(f, "LimitBy: skip={}, fetch={}, keys=[{keys}]", self.skip, self.fetch),
            CutKind::Ties => {
                write!(f, "LimitWithTies: skip={}, fetch={}, keys=[{keys}]", self.skip, self.fetch)
            }
        }
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Some(input) = inputs.pop() else { return internal_err!("a cut has no input") };
        Ok(Cut { keys: exprs, input, ..self.clone() })
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(needed(output_columns, &self.keys, self.input.schema()))
    }
}
