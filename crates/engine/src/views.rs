//! Views: a SELECT under a name, put in the place of the name wherever a query reads from it.
//!
//! Invariant: a view means what it meant when it was created: its tables are kept with their databases, its columns are
//! those it had then, whatever its tables have got since. What it reads is looked up anew each time, in the snapshot of
//! the statement. Must not know: how its SELECT is run.

use catalog::TableState;
use datafusion::sql::sqlparser::ast;
use model::{ColumnDef, TableDef, TableEngine, TableId};
use sql::{ErrorCode, Query, Replace, SqlError, TableName, WrittenCall};

use crate::context::StatementContext;
use crate::error::{Error, ErrorKind};
use crate::query_functions::query_of_call;

/// The clause by which a view remembers that its columns were declared with types of their own.
pub(crate) const DECLARED: &str = "DECLARED COLUMNS";

/// Views in views in views.
const DEPTH_MAX: usize = 32;

/// The query with SELECTs where it names views, and where it calls functions that are queries by themselves.
pub(crate) fn expanded(context: &StatementContext, query: &Query) -> Result<Query, Error> {
    let mut ast = query.ast.clone();
    expand(context, &mut ast, &mut Vec::new())?;
    Ok(Query { ast, ..query.clone() })
}

/// `within` are the views whose SELECT this is, outermost first.
pub(crate) fn expand(
    context: &StatementContext,
    query: &mut ast::Query,
    within: &mut Vec<TableId>,
) -> Result<(), Error> {
    let mut expansion = Expansion { context, within, failed: None };
    let done = sql::replace_tables(query, &mut expansion);
    match (expansion.failed, done) {
        (Some(error), _) => Err(error),
        (None, done) => Ok(done?),
    }
}

struct Expansion<'a> {
    context: &'a StatementContext,
    within: &'a mut Vec<TableId>,
    /// What an error of the language cannot say.
    failed: Option<Error>,
}

impl Expansion<'_> {
    fn view(&mut self, state: &TableState) -> Result<ast::Query, Error> {
        let def = &state.def;
        let name = self.context.snapshot.state().table_name(def.id);
        if self.within.contains(&def.id) || self.within.len() >= DEPTH_MAX {
            let message =
                format!("view \"{name}\" reads from itself, or views are nested deeper than {DEPTH_MAX}");
            return Err(Error::new(ErrorKind::BadInput, 269, message));
        }
        let mut query = select_of(def)?;
        self.within.push(def.id);
        let expanded = expand(self.context, &mut query, self.within);
        self.within.pop();
        expanded.map(|()| query).map_err(|error| error.in_context(&format!("while reading view \"{name}\"")))
    }

    fn fail(&mut self, error: Error) -> SqlError {
        let shown = SqlError::new(ErrorCode::BadArguments, error.message.clone());
        self.failed = Some(error);
        shown
    }
}

impl Replace for Expansion<'_> {
    fn table(&mut self, name: &TableName) -> sql::Result<Option<ast::Query>> {
        match self.context.table(name) {
            Ok(state) if state.def.engine == TableEngine::View => {
                self.view(&state).map(Some).map_err(|error| self.fail(error))
            }
            // Whoever plans says what is missing.
            Ok(_) | Err(_) => Ok(None),
        }
    }

    fn call(&mut self, call: &WrittenCall<'_>) -> sql::Result<Option<ast::Query>> {
        let Some(mut query) = query_of_call(self.context, call).map_err(|error| self.fail(error))? else {
            return Ok(None);
        };
        self.within.push(TableId::from_bytes([0; 16]));
        let expanded = expand(self.context, &mut query, self.within);
        self.within.pop();
        expanded.map(|()| Some(query)).map_err(|error| self.fail(error))
    }
}

/// The columns of a view, from its SELECT.
fn select_of(def: &TableDef) -> Result<ast::Query, Error> {
    let declared = def.kept.iter().any(|clause| clause.keyword.as_ref() == DECLARED);
    let column = |column: &ColumnDef| {
        let name = sql::escape::always_quote_name(&column.name);
        let text = sql::escape::quote_text(&column.column_type.to_string());
        if declared { format!("CAST({name}, {text}) AS {name}") } else { name }
    };
    let columns: Vec<String> = def.columns.iter().map(column).collect();
    let text = format!("SELECT {} FROM ({})", columns.join(", "), def.engine_arguments.text());
    Ok(sql::parse_query(&text)?)
}

/// Refuses what needs rows of its own.
pub(crate) fn refuse_view(def: &TableDef, what: &str) -> Result<(), Error> {
    if def.engine != TableEngine::View {
        return Ok(());
    }
    let message = format!("{what} is not supported by storage View, which \"{}\" is", def.name);
    Err(Error::new(ErrorKind::Unsupported, 48, message))
}
