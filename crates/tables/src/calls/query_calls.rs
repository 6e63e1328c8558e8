//! Table functions that are queries by themselves and need no table: `view(SELECT ..)`, `values(..)`, `dictionary(..)`.
//!
//! Invariant: what a call means is decided from its text alone. Must not know: which tables there are.

use boundary::error::{Error, ErrorKind};
use datafusion::sql::sqlparser::ast;
use model::{ColumnType, ErrorCode};
use sql::WrittenCall;
use sql::dialect::text_of;

/// The query that a call is, if it is one.
///
/// # Errors
/// Its arguments are wrong.
pub fn query_of_call(call: &WrittenCall<'_>) -> Result<Option<ast::Query>, Error> {
    match call.name.to_ascii_lowercase().as_str() {
        "view" => view(call).map(Some),
        "values" => values(call).map(Some),
        "dictionary" => dictionary(call).map(Some),
        _ => Ok(None),
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
}

fn expression_of(argument: &ast::FunctionArg) -> Option<&ast::Expr> {
    match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    }
}

/// `dictionary('d')`: the rows of a dictionary.
fn dictionary(call: &WrittenCall<'_>) -> Result<ast::Query, Error> {
    let name = match call.arguments {
        [argument] => expression_of(argument).and_then(|name| match name {
            ast::Expr::Identifier(name) => Some(name.value.clone()),
            ast::Expr::CompoundIdentifier(names) => {
                Some(names.iter().map(|name| name.value.as_str()).collect::<Vec<_>>().join("."))
            }
            other => text_of(other).map(str::to_owned),
        }),
        _ => None,
    };
    let name = name.ok_or_else(|| bad("table function dictionary takes the name of a dictionary"))?;
    let names: Vec<String> = name.splitn(2, '.').map(self::name).collect();
    Ok(sql::parse_query(&format!("SELECT * FROM {}", names.join(".")))?)
}

fn view(call: &WrittenCall<'_>) -> Result<ast::Query, Error> {
    match call.arguments {
        [argument] => match expression_of(argument) {
            Some(ast::Expr::Subquery(query)) => Ok(query.as_ref().clone()),
            _ => Err(bad("table function view takes a SELECT")),
        },
        _ => Err(bad("table function view takes a SELECT")),
    }
}

/// `values('a UInt8, b String', (1, 'x'), ..)`, or rows alone, whose types decide.
fn values(call: &WrittenCall<'_>) -> Result<ast::Query, Error> {
    let arguments: Option<Vec<&ast::Expr>> = call.arguments.iter().map(expression_of).collect();
    let arguments = arguments.ok_or_else(|| bad("the arguments of table function values cannot be read"))?;
    let structure = arguments.first().and_then(|first| text_of(first)).filter(|_| arguments.len() > 1);
    let columns = structure.map(sources::schema::structure::parse).transpose();
    // A first text that is no structure is a value.
    let columns = columns.ok().flatten();
    let rows = if columns.is_some() { &arguments[1..] } else { &arguments[..] };
    if rows.is_empty() {
        return Err(Error::new(
            ErrorKind::BadInput,
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "table function values takes at least one row",
        ));
    }
    let width = columns.as_ref().map_or_else(|| cells(rows[0]).len(), Vec::len);
    let mut table = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        let cells = if width == 1 && !matches!(row, ast::Expr::Tuple(_)) { vec![*row] } else { cells(row) };
        if cells.len() != width {
            let message = format!(
                "row {} of table function values has {} values where {width} belong",
                number + 1,
                cells.len()
            );
            return Err(bad(message));
        }
        table.push(cells);
    }
    let column = |at: usize, cell: String| match &columns {
        Some(columns) => {
            format!("_CAST({cell}, {}) AS {}", quoted_type(&columns[at].1), name(&columns[at].0))
        }
        None => format!("{cell} AS c{}", at + 1),
    };
    if let Some(rows) = sql::constant_rows(&table) {
        let columns = (0..width).map(|at| column(at, sql::constant_column(at + 1)));
        let columns: Vec<String> = columns.collect();
        return Ok(sql::parse_query(&format!("SELECT {} FROM {rows}", columns.join(", ")))?);
    }
    let line = |cells: &Vec<&ast::Expr>| {
        let cells = cells.iter().enumerate().map(|(at, cell)| column(at, sql::printed(*cell)));
        format!("SELECT {}", cells.collect::<Vec<String>>().join(", "))
    };
    let lines: Vec<String> = table.iter().map(line).collect();
    Ok(sql::parse_query(&lines.join(" UNION ALL "))?)
}

fn cells(row: &ast::Expr) -> Vec<&ast::Expr> {
    match row {
        ast::Expr::Tuple(cells) => cells.iter().collect(),
        ast::Expr::Nested(cell) => vec![cell.as_ref()],
        other => vec![other],
    }
}

fn name(name: &str) -> String {
    sql::escape::always_quote_name(name)
}

fn quoted_type(column_type: &ColumnType) -> String {
    sql::escape::quote_text(&column_type.to_string())
}
