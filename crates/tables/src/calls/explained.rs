//! EXPLAIN as a table: `viewExplain('EXPLAIN ..', 'options', (SELECT ..))`, which is what the reader makes of EXPLAIN in the
//! place of a query.
//!
//! Invariant: what it says stands in the query before that is planned, each line a row of the column `explain`; the outermost
//! is put first, so that what is inside of an explained query is explained as it is written. Must not know: who explains.

use std::ops::ControlFlow;

use boundary::error::{Error, ErrorKind};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, Query, SelectItem, SetExpr, TableFactor, Visit, VisitMut,
    Visitor, VisitorMut,
};
use model::ErrorCode;
use sql::Explain;
use sql::dialect::{call, text, text_of};
use sql::reader::explained::VIEW_EXPLAIN;

/// What a query that it reads is to explain; `None`: it reads from no EXPLAIN.
///
/// # Errors
/// The arguments are others than that of an EXPLAIN.
pub fn first(query: &Query) -> Result<Option<Explain>, Error> {
    match Visit::visit(query, &mut First) {
        ControlFlow::Continue(()) => Ok(None),
        ControlFlow::Break(explain) => explain.map(Some),
    }
}

/// Puts these lines in the place of that EXPLAIN.
pub fn put(query: &mut Query, lines: &[String]) {
    let _ = VisitMut::visit(query, &mut Put { lines });
}

/// Of a table factor that is such a call its arguments.
fn arguments(factor: &TableFactor) -> Option<&[FunctionArg]> {
    match factor {
        TableFactor::Table { name, args: Some(args), .. }
            if name.to_string().replace('`', "").eq_ignore_ascii_case(VIEW_EXPLAIN) =>
        {
            Some(&args.args)
        }
        _ => None,
    }
}

struct First;

impl Visitor for First {
    type Break = Result<Explain, Error>;

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        arguments(factor).map_or(ControlFlow::Continue(()), |given| ControlFlow::Break(explain_of(given)))
    }
}

fn explain_of(given: &[FunctionArg]) -> Result<Explain, Error> {
    let expression = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    let given: Vec<Expr> = given.iter().filter_map(expression).collect();
    if let [words, options, query] = given.as_slice()
        && let (Some(words), Some(options)) = (text_of(words), text_of(options))
        && let Some(query) = query_of(query)
    {
        return Ok(sql::explain_of_query(words, options, query.clone())?);
    }
    let message =
        "table function viewExplain takes 'EXPLAIN ..', options as a text and a SELECT in parentheses";
    Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message))
}

fn query_of(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Subquery(query) => Some(query),
        Expr::Nested(inner) => query_of(inner),
        _ => None,
    }
}

struct Put<'a> {
    lines: &'a [String],
}

impl VisitorMut for Put<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if arguments(factor).is_none() {
            return ControlFlow::Continue(());
        }
        let alias = match factor {
            TableFactor::Table { alias, .. } => alias.take(),
            _ => None,
        };
        if let Ok(rows) = rows_of(self.lines) {
            *factor = TableFactor::Derived { lateral: false, subquery: Box::new(rows), alias, sample: None };
        }
        ControlFlow::Break(())
    }
}

/// `SELECT arrayJoin([..]) AS explain`.
fn rows_of(lines: &[String]) -> sql::Result<Query> {
    let array = match lines {
        [] => call("emptyArrayString", vec![]),
        lines => call("array", lines.iter().map(text).collect()),
    };
    let mut rows = sql::parse_query("SELECT 1")?;
    if let SetExpr::Select(select) = rows.body.as_mut() {
        let expr = call("arrayJoin", vec![array]);
        select.projection = vec![SelectItem::ExprWithAlias { expr, alias: Ident::new("explain") }];
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_where_the_outermost_explain_stood() {
        let text = "SELECT * FROM (EXPLAIN SYNTAX oneline = 1 SELECT 1 FROM (EXPLAIN SELECT 2)) AS e";
        let mut query = sql::parse_query(text).unwrap();
        let explain = first(&query).unwrap().unwrap();
        assert_eq!(explain.kind, sql::ExplainKind::Syntax);
        assert_eq!(explain.options.len(), 1);
        assert!(first(&explain.statement.query().unwrap().ast).unwrap().is_some());
        put(&mut query, &["a".to_owned(), "b".to_owned()]);
        assert!(first(&query).unwrap().is_none());
        let shown = "SELECT * FROM (SELECT * FROM (SELECT `arrayJoin`(`array`('a', 'b')) AS explain)) AS e";
        assert_eq!(query.to_string(), shown);
    }

    #[test]
    fn a_column_may_be_called_explain() {
        for text in ["SELECT (explain) FROM t", "SELECT (explain = 1) FROM t", "SELECT f(explain, 2) FROM t"]
        {
            assert!(first(&sql::parse_query(text).unwrap()).unwrap().is_none(), "{text}");
        }
    }
}
