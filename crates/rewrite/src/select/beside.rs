//! Items that are called as a column that HAVING or QUALIFY asks: `SELECT max(x) AS x .. HAVING x > 1` asks `max(x) > 1`.
//!
//! The planner would take the column for the item again, and have an aggregate of an aggregate. Invariant: the result shows the names
//! that the query gives.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sql::printer::label::unique;
use sql::reader::head::ident;
use sqlparser::ast::{Expr, Select, SelectItem, visit_expressions};

use crate::Rewriter;
use crate::order::Column;

use super::is_called;

impl Rewriter {
    /// Gives such items another name in the plan. No alias stands in the conditions any more.
    pub(super) fn beside_conditions(
        &mut self,
        select: &mut Select,
        columns: &mut [Option<Column>],
        outermost: bool,
    ) {
        let any_star = columns.iter().any(Option::is_none);
        if any_star && !outermost {
            return;
        }
        let mut named = BTreeSet::new();
        for condition in select.having.iter().chain(&select.qualify) {
            let _ = visit_expressions(condition, |expr| {
                if let Expr::Identifier(name) = expr {
                    named.insert(name.value.clone());
                }
                ControlFlow::<()>::Continue(())
            });
        }
        for (position, column) in columns.iter_mut().enumerate() {
            let Some(column) = column else { continue };
            if !named.contains(&column.output) || is_called(&column.lowered, &column.output) {
                continue;
            }
            let output = unique(&column.output, position);
            for item in &mut select.projection {
                if let SelectItem::ExprWithAlias { alias, .. } = item
                    && alias.value == column.output
                {
                    *alias = ident(&output);
                }
            }
            column.output = output;
            self.scope().is_renamed |= !outermost;
        }
    }
}
