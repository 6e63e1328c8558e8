//! PREWHERE: a condition as WHERE is one, but of a table that is read with FINAL, which is asked before its rows replace each
//! other.
//!
//! Invariant: it is the leftmost table's, as in ClickHouse. Must not know: which tables can be read so.

use sql::Result;
use sql::dialect::call;
use sqlparser::ast::{Expr, Select, TableFactor};

use crate::Rewriter;
use planner::words::{PREWHERE, PREWHERE_IF_FINAL};

impl Rewriter {
    /// Takes the condition out of a SELECT.
    pub(crate) fn prewhere(&mut self, select: &mut Select) -> Result<Option<Expr>> {
        let Some(condition) = select.prewhere.take() else { return Ok(None) };
        let is_final = select.from.first().is_some_and(|table| is_final(&table.relation));
        let condition = self.condition(condition)?;
        Ok(Some(match (self.manner.prewhere_after_final, is_final) {
            (false, true) => call(PREWHERE, vec![condition]),
            (false, false) if self.manner.reads_final => call(PREWHERE_IF_FINAL, vec![condition]),
            _ => condition,
        }))
    }
}

fn is_final(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { with_hints, .. } => !with_hints.is_empty(),
        TableFactor::NestedJoin { table_with_joins, .. } => is_final(&table_with_joins.relation),
        _ => false,
    }
}
