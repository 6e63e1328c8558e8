//! EXPLAIN SYNTAX: a statement as ClickHouse reads it.
//!
//! Must not know: what the statement's tables are.

use sqlparser::ast::Expr;

use crate::printer::formatted::{Layout, formatted_expression, formatted_query};
use crate::statement::{Explain, Insert, InsertTarget, Query};
use lexer::escape::quote_name;

/// The query as ClickHouse reads it, with operators as functions; `is_distinct` tells which settings say DISTINCT.
pub fn explained_syntax(
    explain: &Explain,
    query: &Query,
    target: Option<&Insert>,
    is_distinct: impl Fn(&str) -> bool,
) -> String {
    let on_one_line = explain.options.iter().any(|option| {
        option.name == "oneline" && option.value.text().is_some_and(|value| !["0", "false"].contains(&value))
    });
    let layout = Layout {
        on_one_line,
        as_functions: true,
        as_tree: target.is_none(),
        distinct: (is_distinct("intersect_default_mode"), is_distinct("except_default_mode")),
    };
    let select = formatted_query(query, layout);
    let Some(insert) = target else { return select };
    let place = match &insert.target {
        InsertTarget::Table(name) => name.to_string(),
        InsertTarget::Function(call) => {
            format!("FUNCTION {}", formatted_expression(&Expr::Function(call.as_ref().clone())))
        }
    };
    let columns: Vec<String> = insert.columns.iter().flatten().map(|name| quote_name(name)).collect();
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    format!("INSERT INTO {place}{columns} {select}")
}
