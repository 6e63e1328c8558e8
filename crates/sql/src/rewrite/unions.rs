//! ORDER BY and LIMIT behind a UNION, INTERSECT or EXCEPT: to ClickHouse they are the last SELECT's.

use sqlparser::ast::{LimitClause, OrderBy, Query, SetExpr, SetOperator, SetQuantifier};

use crate::error::{ErrorCode, Result, SqlError};
use crate::rewrite::Rewriter;

/// Gives the clauses behind a set operation to its last SELECT.
pub(crate) fn with_last(query: Query) -> Result<Query> {
    let has_clause = query.order_by.is_some() || query.limit_clause.is_some();
    if !has_clause || !matches!(query.body.as_ref(), SetExpr::SetOperation { .. }) {
        return Ok(query);
    }
    let Query { body, order_by, limit_clause, .. } = query.clone();
    let body = Box::new(of_last(*body, order_by, limit_clause)?);
    Ok(Query { body, order_by: None, limit_clause: None, ..query })
}

fn of_last(body: SetExpr, order: Option<OrderBy>, limit: Option<LimitClause>) -> Result<SetExpr> {
    match body {
        SetExpr::SetOperation { left, op, set_quantifier, right } => {
            let right = Box::new(of_last(*right, order, limit)?);
            Ok(SetExpr::SetOperation { left, op, set_quantifier, right })
        }
        SetExpr::Select(select) => {
            let mut last = crate::parser::parse_query("SELECT 1")?;
            last.body = Box::new(SetExpr::Select(select));
            (last.order_by, last.limit_clause) = (order, limit);
            Ok(SetExpr::Query(Box::new(last)))
        }
        _ => {
            let message = "syntax error: ORDER BY or LIMIT behind a SELECT in parentheses: to mean the whole UNION, \
                           put it in FROM (..)";
            Err(SqlError::new(ErrorCode::SyntaxError, message))
        }
    }
}

impl Rewriter {
    /// UNION without ALL or DISTINCT is what `union_default_mode` says; INTERSECT and EXCEPT are ALL.
    pub(crate) fn quantifier(&self, op: SetOperator, written: SetQuantifier) -> Result<SetQuantifier> {
        match (op, written) {
            (SetOperator::Union, SetQuantifier::None) => self.union_default.ok_or_else(|| {
                let message =
                    "expected ALL or DISTINCT after UNION, because setting union_default_mode is empty";
                SqlError::new(ErrorCode::ExpectedAllOrDistinct, message)
            }),
            // As bags, unless they say DISTINCT.
            (SetOperator::Intersect | SetOperator::Except, SetQuantifier::None) => Ok(SetQuantifier::All),
            _ => Ok(written),
        }
    }
}
