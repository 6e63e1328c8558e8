//! `(a, b) IN (SELECT x, y ..)` as EXISTS of a row whose columns are equal, which the planner makes a join.
//!
//! Invariant: the columns of the set get names that no query can write, so that what is compared means the row outside.

use model::ErrorCode;
use sql::reader::head::ident;
use sql::{Result, SqlError};
use sqlparser::ast::{BinaryOperator, Expr, Query, SelectItem, SetExpr, TableFactor};

use crate::rewrite::Rewriter;
use crate::rewrite::lower::{nested, not, operation};

impl Rewriter {
    pub(crate) fn tuple_in(&mut self, parts: Vec<Expr>, mut set: Query, negated: bool) -> Result<Expr> {
        name_columns(&mut set.body, parts.len())?;
        let set = self.query(set, false)?;
        let mut condition: Option<Expr> = None;
        for (at, part) in parts.into_iter().enumerate() {
            let column = Expr::Identifier(ident(&column_name(at)));
            let equal = operation(column, BinaryOperator::Eq, nested(self.value(part)?));
            condition = Some(match condition {
                Some(other) => operation(other, BinaryOperator::And, equal),
                None => equal,
            });
        }
        // The planner knows EXISTS in conditions only.
        let in_condition = self.scope().in_where;
        let found = if in_condition { "1" } else { "count() > 0" };
        let mut rows = sql::parse_query(&format!("SELECT {found} FROM (SELECT 1) AS `_set`"))?;
        if let SetExpr::Select(select) = rows.body.as_mut() {
            select.selection = condition;
            if let Some(TableFactor::Derived { subquery, .. }) =
                select.from.first_mut().map(|from| &mut from.relation)
            {
                **subquery = set;
            }
        }
        if !in_condition {
            let exists = Expr::Subquery(Box::new(rows));
            return Ok(if negated { not(exists) } else { exists });
        }
        Ok(Expr::Exists { subquery: Box::new(rows), negated })
    }
}

fn column_name(at: usize) -> String {
    format!("\u{1}in{at}")
}

/// Gives the columns of a set their names; an alias of theirs still names what it named.
fn name_columns(body: &mut SetExpr, width: usize) -> Result<()> {
    match body {
        SetExpr::Select(select) => {
            if select.projection.len() != width {
                let message = format!(
                    "the tuple left of IN has {width} elements, the subquery {} columns",
                    select.projection.len()
                );
                return Err(SqlError::new(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, message));
            }
            for (at, item) in select.projection.iter_mut().enumerate() {
                let expr = match item {
                    SelectItem::UnnamedExpr(expr) => expr.clone(),
                    SelectItem::ExprWithAlias { expr, alias } => {
                        Expr::Named { expr: Box::new(expr.clone()), name: alias.clone() }
                    }
                    _ => return Err(SqlError::not_implemented("IN of a tuple and a subquery with *")),
                };
                *item = SelectItem::ExprWithAlias { expr, alias: ident(&column_name(at)) };
            }
            Ok(())
        }
        SetExpr::SetOperation { left, right, .. } => {
            name_columns(left, width)?;
            name_columns(right, width)
        }
        SetExpr::Query(query) => name_columns(&mut query.body, width),
        _ => Err(SqlError::not_implemented(
            "IN of a tuple and a table: write a subquery with its columns; this",
        )),
    }
}
