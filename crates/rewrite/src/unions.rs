//! UNION, INTERSECT and EXCEPT: chains of them as shallow trees, and ORDER BY and LIMIT behind them, which to ClickHouse
//! are the last SELECT's.

use model::ErrorCode;
use sql::{Result, SqlError};
use sqlparser::ast::{LimitClause, OrderBy, Query, SetExpr, SetOperator, SetQuantifier};

use crate::Rewriter;
use planner::chains::grouped;

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
            let mut last = sql::parse_query("SELECT 1")?;
            last.body = Box::new(SetExpr::Select(select));
            (last.order_by, last.limit_clause) = (order, limit);
            Ok(SetExpr::Query(Box::new(last)))
        }
        _ => {
            let message = "syntax error: ORDER BY or LIMIT behind a SELECT in parentheses: to mean the whole UNION, \
                           put it in FROM (..)";
            Err(SqlError::new(ErrorCode::SYNTAX_ERROR, message))
        }
    }
}

impl Rewriter {
    /// A chain of UNION and its kin leans to the left, one level for each SELECT: it is walked, not descended.
    pub(crate) fn set_operations(&mut self, chain: SetExpr, outermost: bool) -> Result<SetExpr> {
        let (mut behind, mut first) = (Vec::new(), chain);
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            behind.push((op, set_quantifier, *right));
            first = *left;
        }
        let mut made = self.body(first, None, outermost)?.0;
        while let Some((op, set_quantifier, right)) = behind.pop() {
            let kind = (op, self.quantifier(op, set_quantifier)?);
            let mut parts = vec![made, self.body(right, None, outermost)?.0];
            while let Some((op, quantifier, _)) = behind.last()
                && (*op, self.quantifier(*op, *quantifier)?) == kind
                && let Some((_, _, right)) = behind.pop()
            {
                parts.push(self.body(right, None, outermost)?.0);
            }
            made = set_chain(parts, kind)?;
        }
        Ok(made)
    }

    /// UNION without ALL or DISTINCT is what `union_default_mode` says; INTERSECT and EXCEPT are ALL unless their settings
    /// say DISTINCT.
    pub(crate) fn quantifier(&self, op: SetOperator, written: SetQuantifier) -> Result<SetQuantifier> {
        match (op, written) {
            (SetOperator::Union, SetQuantifier::None) => self.union_default.ok_or_else(|| untold("UNION")),
            (SetOperator::Intersect, SetQuantifier::None) if self.manner.intersect_is_told => {
                Err(untold("INTERSECT"))
            }
            (SetOperator::Except, SetQuantifier::None) if self.manner.except_is_told => Err(untold("EXCEPT")),
            (SetOperator::Intersect, SetQuantifier::None) if self.manner.intersect_distinct => {
                Ok(SetQuantifier::Distinct)
            }
            (SetOperator::Except, SetQuantifier::None) if self.manner.except_distinct => {
                Ok(SetQuantifier::Distinct)
            }
            // As bags, unless they say DISTINCT.
            (SetOperator::Intersect | SetOperator::Except, SetQuantifier::None) => Ok(SetQuantifier::All),
            _ => Ok(written),
        }
    }
}

/// A set operation that says neither ALL nor DISTINCT where it has to.
fn untold(operation: &str) -> SqlError {
    let setting = format!("{}_default_mode", operation.to_ascii_lowercase());
    let message = format!("expected ALL or DISTINCT after {operation}, because setting {setting} is empty");
    SqlError::new(ErrorCode::EXPECTED_ALL_OR_DISTINCT, message)
}

/// One set operation over several queries. Each step costs planning what is below it, so what is not asked for is left out:
/// rows that are taken out one after the other are taken out at once, and only the last UNION DISTINCT looks for equals.
fn set_chain(mut parts: Vec<SetExpr>, (op, set_quantifier): (SetOperator, SetQuantifier)) -> Result<SetExpr> {
    const NOTHING: &str = "a set operation of nothing";
    let joined_by = |op, set_quantifier| {
        move |left, right| {
            let (left, right) = (Box::new(left), Box::new(right));
            SetExpr::SetOperation { left, op, set_quantifier, right }
        }
    };
    let all = joined_by(SetOperator::Union, SetQuantifier::All);
    let kept = match op {
        SetOperator::Except | SetOperator::Minus => 1,
        SetOperator::Union if set_quantifier != SetQuantifier::All => parts.len() / 2,
        _ => {
            let joined = joined_by(op, set_quantifier);
            return grouped(parts, &joined).ok_or_else(|| SqlError::bad_arguments(NOTHING));
        }
    };
    let right = parts.split_off(kept.min(parts.len()));
    match (grouped(parts, &all), grouped(right, &all)) {
        (Some(left), Some(right)) => Ok(joined_by(op, set_quantifier)(left, right)),
        _ => Err(SqlError::bad_arguments(NOTHING)),
    }
}
