//! Whether a TTL can be carried out: what it asks of a row, before the definition is durable.
//!
//! Invariant: when a row is too old depends on the row alone, so that it is the same at every look. Must not know: when
//! anybody looks, and what happens to the row.

use std::ops::ControlFlow;

use boundary::error::{Error, ErrorKind};
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::ast::{Query, Visit, Visitor};
use model::{ColumnType, ErrorCode, TableDef};
use sql::definition::ttl::{TtlRule, has_ttl, ttl_rules};

use crate::row_expr::compile;

/// # Errors
/// A rule is no time, is the same for all rows, or asks for what is not stored.
pub fn check_ttl(state: &SessionState, def: &TableDef) -> Result<(), Error> {
    if !has_ttl(def) {
        return Ok(());
    }
    if !def.engine.keeps_parts() {
        let message = format!("Engine {} doesn't support TTL clause", def.engine.name());
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("tables of the MergeTree family have it"));
    }
    ttl_rules(def)?.iter().try_for_each(|rule| check_rule(state, def, rule))
}

fn check_rule(state: &SessionState, def: &TableDef, rule: &TtlRule) -> Result<(), Error> {
    let shown = sql::display_expression(&rule.expression, def);
    let refused = |code, message: String| Err(Error::new(ErrorKind::BadInput, code, message));
    if asks_others(&rule.expression)? {
        return refused(
            ErrorCode::BAD_ARGUMENTS,
            format!("TTL expression {shown} cannot contain subqueries"),
        );
    }
    if let Some(condition) = &rule.condition
        && !asks_others(condition)?
    {
        compile(state, def, condition).map_err(|error| error.in_context("in WHERE of TTL"))?;
    }
    if rule.expression.contains("arrayJoin(") {
        let message = format!("TTL expression {shown} cannot contain arrayJoin: it makes other rows");
        return refused(ErrorCode::BAD_TTL_EXPRESSION, message);
    }
    let (time, asked) = compile(state, def, &rule.expression).map_err(|error| error.in_context("in TTL"))?;
    if time.columns().is_empty() {
        let message = format!("TTL expression {shown} does not depend on any of the columns of the table");
        return refused(ErrorCode::BAD_ARGUMENTS, message);
    }
    if let Some(function) = asked {
        let message = format!(
            "TTL expression cannot contain non-deterministic functions, but contains function {function}"
        );
        return refused(ErrorCode::BAD_ARGUMENTS, message);
    }
    use ColumnType::{Date, Date32, DateTime, DateTime64};
    if !matches!(time.column_type(), Date | Date32 | DateTime { .. } | DateTime64 { .. }) {
        let message = format!(
            "TTL expression {shown} should have type Date, Date32, DateTime or DateTime64, but has {}",
            time.column_type()
        );
        return refused(ErrorCode::BAD_TTL_EXPRESSION, message);
    }
    let is_stored = |id| def.column_by_id(id).is_some_and(|column| column.is_stored());
    if let Some(id) = time.columns().iter().find(|id| !is_stored(**id)) {
        let name = def.column_by_id(*id).map_or("", |column| &column.name);
        let message = format!("TTL expression {shown} names column {name}, which is not stored");
        return refused(ErrorCode::UNKNOWN_IDENTIFIER, message);
    }
    Ok(())
}

/// Whether an expression has a subquery.
fn asks_others(text: &str) -> Result<bool, Error> {
    Ok(sql::parse_expression(text)?.visit(&mut Subqueries).is_break())
}

struct Subqueries;

impl Visitor for Subqueries {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}
