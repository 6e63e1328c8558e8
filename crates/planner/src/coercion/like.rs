//! LIKE of what is no text, and with patterns that DataFusion reads otherwise.
//!
//! Invariant: a pattern means what it means in ClickHouse, zero bytes at its end and bare backslashes, too. Must not know:
//! comparisons.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::Like;
use functions::FunctionError;
use model::{ColumnType, ErrorCode};

use super::comparison::{as_predicate, cast_to};
use crate::scalar::adapter::call;
use aggregates::typing::{external, literal_of, type_of};

/// Bytes of a pattern of which DataFusion may make a regular expression: one of 10 KB takes seconds, and then more than is allowed.
const PATTERN_BYTES_MAX: usize = 1024;

/// Whether a backslash of a LIKE pattern stands before what needs no escape: there it is itself.
fn has_backslash_of_its_own(pattern: &str) -> bool {
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c == '\\' && !matches!(rest.next(), Some('%' | '_' | '\\')) {
            return true;
        }
    }
    false
}

/// LIKE over names of an enum is over their text; over numbers it is an error.
pub(crate) fn like(like: Like, schema: &DFSchema) -> Result<Expr> {
    let pattern = literal_of(&like.pattern).and_then(|value| value.try_as_str().flatten());
    let escapes = pattern.map_or(0, |text| text.len() - text.trim_end_matches('\\').len());
    if escapes % 2 == 1 {
        let message = "the LIKE pattern ends with an escape of nothing";
        return Err(external(FunctionError::new(ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE, message)));
    }
    // DataFusion's LIKE does not see the zero bytes at its end, and a backslash of a pattern is always an escape there.
    let is_fixed = matches!(type_of(&like.expr, schema)?.value_type(), ColumnType::FixedString(_));
    let is_ours = |pattern: &str| pattern.len() > PATTERN_BYTES_MAX || has_backslash_of_its_own(pattern);
    if is_fixed || pattern.is_none_or(is_ours) {
        let name = match (like.case_insensitive, like.negated) {
            (false, false) => "like",
            (false, true) => "notLike",
            (true, false) => "ilike",
            (true, true) => "notILike",
        };
        return as_predicate(call(name, vec![*like.expr, *like.pattern])?, schema);
    }
    let text = |expr: Box<Expr>| -> Result<Box<Expr>> {
        let column_type = type_of(&expr, schema)?;
        if column_type.is_string() || column_type == ColumnType::Nothing {
            return Ok(expr);
        }
        if column_type.enum_values().is_some() {
            return Ok(Box::new(cast_to(*expr, &ColumnType::String)?));
        }
        let message = format!("illegal type {column_type} of argument of function like");
        Err(external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)))
    };
    Ok(Expr::Like(Like { expr: text(like.expr)?, pattern: text(like.pattern)?, ..like }))
}
