//! Views: a SELECT under a name, put in the place of the name wherever a query reads from it. So are, before that, functions
//! that statements made.
//!
//! Invariant: a view means what it meant when it was created: its tables are kept with their databases, its columns are
//! those it had then, whatever its tables have got since. What it reads is looked up anew each time, in the snapshot of
//! the statement. Must not know: how its SELECT is run.

use std::collections::BTreeSet;

use boundary::error::{Error, ErrorKind};
use catalog::TableState;
use datafusion::sql::sqlparser::ast;
use model::{ColumnDef, ErrorCode, TableDef, TableEngine, TableId};
use sql::{Measure, Query, Replace, SqlError, TableName, WrittenCall};

use crate::context::execution::Execution;
use crate::resolve::materialized::rows_of;
use crate::resolve::merged::{Merged, destination, merged_query};
use crate::resolve::outside::named_in_query;
use crate::resolve::query_functions::query_of_call;
use tables::dictionaries;
use tables::nested::declared::nested_name;
use tables::nested::named::with_nested;
use tables::system_rows::dotted;
use tables::virtual_columns::names_in;

/// The clause by which a view remembers that its columns were declared with types of their own.
pub(crate) const DECLARED: &str = "DECLARED COLUMNS";

/// Views in views in views.
const DEPTH_MAX: usize = 32;
/// Levels of the SELECTs of views in views, together.
const LEVELS_MAX: usize = 400;
/// Elements that views may add to a query, each view as often as it is named.
const ELEMENTS_MAX: usize = 200_000;

/// Where an expansion is, and what it has made.
#[derive(Default)]
pub(crate) struct Within {
    /// The views whose SELECT this is, outermost first, with how deep each is.
    views: Vec<(TableId, Measure)>,
    /// The deepest of the query and all that is made, together.
    made: Measure,
    /// The query asks for `_table` or `_database`.
    names_tables: bool,
}

impl Within {
    /// Inside of this view.
    pub(crate) fn view(id: TableId) -> Within {
        Within { views: vec![(id, Measure::default())], ..Within::default() }
    }

    fn enter(&mut self, id: TableId, measure: Measure) -> Result<(), Error> {
        self.views.push((id, measure));
        let around = self.views.iter().fold(Measure::default(), |sum, (_, measure)| sum.and(*measure));
        self.made.levels = self.made.levels.max(around.levels);
        self.made.terms = self.made.terms.max(around.terms);
        self.made.elements += measure.elements;
        if self.made.levels > LEVELS_MAX {
            let message = format!("views within views are nested deeper than {LEVELS_MAX} levels");
            return Err(Error::new(ErrorKind::Limit, ErrorCode::TOO_DEEP_RECURSION, message));
        }
        if self.made.elements > ELEMENTS_MAX {
            let message = format!(
                "AST is too big: the views of the query stand for more than {ELEMENTS_MAX} elements, because views \
                 read others several times; keep the rows of one of them in a table"
            );
            return Err(Error::new(ErrorKind::Limit, ErrorCode::TOO_BIG_AST, message));
        }
        Ok(())
    }
}

/// The query with SELECTs where it names views, and where it calls functions that are queries by themselves; and how deep
/// these make it.
pub(crate) fn expanded(execution: &Execution, query: &Query) -> Result<(Query, Measure), Error> {
    let called = match execution.has_functions() {
        true => planner::user_functions::with_functions(&query.ast, &|name| execution.lambda(name))?,
        false => None,
    };
    let (mut ast, made) = match called {
        Some((ast, measure)) => (Box::new(ast), measure),
        None => (query.ast.clone(), Measure::default()),
    };
    let names = names_in(&ast);
    let names_tables = names.contains("_table") || names.contains("_database");
    let mut within = Within { views: Vec::new(), made, names_tables };
    expand(execution, &mut ast, &mut within)?;
    by_their_parts(execution, &mut ast);
    if names_tables {
        sql::tables::stars::leave_out_of_stars(&mut ast);
    }
    Ok((Query { ast, ..query.clone() }, within.made))
}

/// Parts of Nested columns by their names.
fn by_their_parts(execution: &Execution, query: &mut ast::Query) {
    let (mut parts, mut whole) = (BTreeSet::from_iter(dotted::named_in(query)), BTreeSet::new());
    for table in named_in_query(execution, query) {
        for column in table.def.columns.iter().filter(|column| column.name.contains('.')) {
            parts.insert(column.name.to_string());
            let nested = nested_name(column).filter(|nested| table.def.column(nested).is_none());
            whole.extend(nested.map(str::to_owned));
        }
    }
    if !parts.is_empty() {
        with_nested(query, parts, &whole);
    }
}

pub(crate) fn expand(
    execution: &Execution,
    query: &mut ast::Query,
    within: &mut Within,
) -> Result<(), Error> {
    let mut expansion = Expansion { execution, within, failed: None };
    let done = sql::replace_tables(query, &mut expansion);
    match (expansion.failed, done) {
        (Some(error), _) => Err(error),
        (None, done) => Ok(done?),
    }
}

struct Expansion<'a> {
    execution: &'a Execution,
    within: &'a mut Within,
    /// What an error of the language cannot say.
    failed: Option<Error>,
}

impl Expansion<'_> {
    fn view(&mut self, state: &TableState) -> Result<ast::Query, Error> {
        let def = &state.def;
        let name = self.execution.snapshot.state().table_name(def.id);
        let views = &self.within.views;
        if views.iter().any(|(id, _)| *id == def.id) || views.len() >= DEPTH_MAX {
            let message =
                format!("view \"{name}\" reads from itself, or views are nested deeper than {DEPTH_MAX}");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::INFINITE_LOOP, message));
        }
        let (mut query, measure) = match def.engine {
            engine @ (TableEngine::Merge | TableEngine::Buffer | TableEngine::Distributed) => {
                if engine == TableEngine::Distributed {
                    // Unlike a Buffer it has no rows without its table.
                    self.execution.table(&destination(self.execution, engine, &def.engine_arguments)?)?;
                }
                let merged = Merged::of_table(self.execution, engine, &def.engine_arguments)?;
                let query = merged_query(self.execution, &merged, Some(def), self.within.names_tables)?;
                // Each table is an element.
                (query, Measure { levels: 2, terms: 0, elements: 1, nodes: 1 })
            }
            TableEngine::MaterializedView => {
                (rows_of(def)?, Measure { levels: 2, terms: 0, elements: 1, nodes: 1 })
            }
            TableEngine::Dictionary => {
                let database = self.execution.snapshot.database_by_id(def.database);
                dictionaries::select_of(def, database.as_ref().map_or("", |database| &database.name))?
            }
            _ => select_of(def)?,
        };
        self.within.enter(def.id, measure)?;
        let expanded = measure.run(|| expand(self.execution, &mut query, self.within));
        self.within.views.pop();
        expanded.map(|()| query).map_err(|error| error.in_context(&format!("while reading view \"{name}\"")))
    }

    /// `view(k = 2)`: the view's SELECT with values for its parameters.
    fn view_with_parameters(&mut self, call: &WrittenCall<'_>) -> sql::Result<Option<ast::Query>> {
        let (database, name) = match call.name.split_once('.') {
            Some((database, name)) => (Some(database), name),
            None => (None, call.name),
        };
        let state = match self.execution.table(&TableName::new(database, name)) {
            Ok(state) if state.def.engine == TableEngine::View => state,
            // Whoever plans says that there is no such function.
            Ok(_) | Err(_) => return Ok(None),
        };
        let values: Vec<(&str, &ast::Expr)> = call.arguments.iter().filter_map(parameter_value).collect();
        if values.len() != call.arguments.len() {
            let message = format!("view \"{name}\" takes its parameters as name = value");
            return Err(SqlError::bad_arguments(message));
        }
        let mut query = self.view(&state).map_err(|error| self.fail(error))?;
        sql::bind_parameters(&mut query, |name| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).clone())
        });
        Ok(Some(query))
    }

    fn fail(&mut self, error: Error) -> SqlError {
        let shown = SqlError::new(ErrorCode::BAD_ARGUMENTS, error.message.clone());
        self.failed = Some(error);
        shown
    }
}

impl Replace for Expansion<'_> {
    fn table(&mut self, name: &TableName) -> sql::Result<Option<ast::Query>> {
        match self.execution.table(name) {
            Ok(state) if state.def.engine.is_query() => {
                self.view(&state).map(Some).map_err(|error| self.fail(error))
            }
            // Whoever plans says what is missing.
            Ok(_) | Err(_) => Ok(None),
        }
    }

    fn hands_final_on(&mut self, name: &TableName) -> bool {
        let hands_on = [TableEngine::MaterializedView, TableEngine::Distributed];
        self.execution.table(name).is_ok_and(|state| hands_on.contains(&state.def.engine))
    }

    fn call(&mut self, call: &WrittenCall<'_>) -> sql::Result<Option<ast::Query>> {
        let Some(mut query) = query_of_call(self.execution, call, self.within.names_tables)
            .map_err(|error| self.fail(error))?
        else {
            return self.view_with_parameters(call);
        };
        // What it may hold is the statement's own text, and measured with it.
        let measure = Measure { levels: 1, terms: 0, elements: 1, nodes: 1 };
        self.within.enter(TableId::from_bytes([0; 16]), measure).map_err(|error| self.fail(error))?;
        let expanded = expand(self.execution, &mut query, self.within);
        self.within.views.pop();
        expanded.map(|()| Some(query)).map_err(|error| self.fail(error))
    }
}

/// `k = 2`.
fn parameter_value(argument: &ast::FunctionArg) -> Option<(&str, &ast::Expr)> {
    let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::BinaryOp { left, op, right })) =
        argument
    else {
        return None;
    };
    match (left.as_ref(), op) {
        (ast::Expr::Identifier(name), ast::BinaryOperator::Eq) => Some((&name.value, right)),
        _ => None,
    }
}

/// The columns of a view, from its SELECT.
pub(crate) fn select_of(def: &TableDef) -> Result<(ast::Query, Measure), Error> {
    let declared = def.kept.iter().any(|clause| clause.keyword.as_ref() == DECLARED);
    let column = |column: &ColumnDef| {
        let name = sql::escape::always_quote_name(&column.name);
        let text = sql::escape::quote_text(&column.column_type.to_string());
        if declared { format!("_CAST({name}, {text}) AS {name}") } else { name }
    };
    let mut columns: Vec<String> = def.columns.iter().map(column).collect();
    if columns.is_empty() {
        columns.push("*".to_owned());
    }
    let text = format!("SELECT {} FROM ({})", columns.join(", "), def.engine_arguments.text());
    let (mut query, measure) = sql::measured_query(&text)?;
    rewrite::under_settings(&mut query, &sql::view_settings(def)?)?;
    Ok((query, measure))
}

/// Refuses what needs rows of its own.
pub(crate) fn refuse_view(def: &TableDef, what: &str) -> Result<(), Error> {
    if !def.engine.is_query() {
        return Ok(());
    }
    let engine = def.engine.name();
    let message = format!("{what} is not supported by storage {engine}, which \"{}\" is", def.name);
    Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message))
}
