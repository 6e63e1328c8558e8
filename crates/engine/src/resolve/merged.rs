//! Rows of all tables whose names match: engine Merge, the function merge, and engine Buffer, whose rows are those of one.
//!
//! Invariant: which tables these are is looked up in the snapshot of the statement; a table of engine Merge is never one of
//! its own. Types that differ become one by the rules of UNION ALL.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::TableState;
use datafusion::sql::sqlparser::ast;
use model::{ColumnType, EngineArguments, ErrorCode, TableDef, TableEngine};
use regex::Regex;
use sql::escape::{always_quote_name, quote_text};
use sql::tables::stars::LEFT_OUT;
use sql::{CallArgument, CallValue, TableName};

use crate::context::execution::Execution;

/// What a Merge says.
pub(crate) struct Merged {
    database: Databases,
    pattern: String,
}

enum Databases {
    One(String),
    /// REGEXP('..').
    Matching(String),
}

impl Merged {
    /// The arguments of engine or function; of the function the database may be left out.
    pub(crate) fn of(execution: &Execution, arguments: &[CallArgument]) -> Result<Merged, Error> {
        let here = || Databases::One(execution.current_database.clone());
        let text = |argument: &CallArgument| match &argument.value {
            CallValue::Text(text) => Some(text.clone()),
            _ => None,
        };
        let (database, pattern) = match arguments {
            [pattern] => (Some(here()), text(pattern)),
            [database, pattern] => {
                let database = match &database.value {
                    CallValue::Text(name) | CallValue::Word(name) => Some(Databases::One(name.clone())),
                    CallValue::Call { name, arguments } => match (name.as_str(), arguments.as_slice()) {
                        ("currentDatabase" | "database", []) => Some(here()),
                        ("REGEXP", [pattern]) => text(pattern).map(Databases::Matching),
                        _ => None,
                    },
                    CallValue::Number(_) => None,
                };
                (database, text(pattern))
            }
            _ => (None, None),
        };
        match (database, pattern) {
            (Some(database), Some(pattern)) => Ok(Merged { database, pattern }),
            _ => {
                let message = "Merge takes a database and a regular expression of tables' names";
                Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message))
            }
        }
    }

    /// What a table of engine Merge or Buffer was defined with.
    pub(crate) fn of_table(
        execution: &Execution,
        engine: TableEngine,
        arguments: &EngineArguments,
    ) -> Result<Merged, Error> {
        if engine.names_another() {
            let name = destination(execution, engine, arguments)?;
            let database = Databases::One(name.database.unwrap_or_default());
            return Ok(Merged { database, pattern: format!("^{}$", regex::escape(&name.table)) });
        }
        Merged::of(execution, &sql::arguments_of_text("Merge", arguments.text())?.0)
    }

    /// The arguments as they are kept: the database by its name.
    pub(crate) fn arguments(&self) -> EngineArguments {
        let database = match &self.database {
            Databases::One(name) => quote_text(name),
            Databases::Matching(pattern) => format!("REGEXP({})", quote_text(pattern)),
        };
        EngineArguments::new(&format!("{database}, {}", quote_text(&self.pattern)))
    }
}

/// Where the rows of a Buffer or a Distributed are.
pub(crate) fn destination(
    execution: &Execution,
    engine: TableEngine,
    arguments: &EngineArguments,
) -> Result<TableName, Error> {
    if engine == TableEngine::Distributed {
        return distributed(execution, arguments);
    }
    let (arguments, _) = sql::arguments_of_text("Buffer", arguments.text())?;
    let word = |argument: &CallArgument| match &argument.value {
        CallValue::Text(name) | CallValue::Word(name) => Some(name.clone()),
        CallValue::Call { name, arguments } if arguments.is_empty() => ["currentDatabase", "database"]
            .contains(&name.as_str())
            .then(|| execution.current_database.clone()),
        _ => None,
    };
    match arguments.as_slice() {
        [database, table, ..] if word(database).is_some_and(|name| !name.is_empty()) => {
            let table = word(table).unwrap_or_default();
            Ok(TableName { database: word(database), table })
        }
        _ => Err(Error::unsupported("a Buffer without a table behind it")),
    }
}

/// The table at the end of the names from here.
///
/// # Errors
/// It is not there, or the names go round.
pub(crate) fn behind(execution: &Execution, table: &Arc<TableState>) -> Result<Arc<TableState>, Error> {
    let (mut table, mut passed) = (Arc::clone(table), Vec::new());
    while table.def.engine.names_another() {
        passed.push(table.def.id);
        table = execution.stored_table(&destination(
            execution,
            table.def.engine,
            &table.def.engine_arguments,
        )?)?;
        if passed.contains(&table.def.id) {
            let message = format!("table \"{}\" is a name of itself, through others", table.def.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::INFINITE_LOOP, message)
                .with_hint("drop one of them and let it name a table with rows"));
        }
    }
    Ok(table)
}

/// The table behind a Distributed.
fn distributed(execution: &Execution, arguments: &EngineArguments) -> Result<TableName, Error> {
    let word = |argument: &ast::Expr| match argument {
        ast::Expr::Identifier(name) => Some(name.value.clone()),
        ast::Expr::Function(call) => ["currentDatabase", "database"]
            .contains(&sql::dialect::name_of(call).as_str())
            .then(|| execution.current_database.clone()),
        other => sql::dialect::text_of(other).map(str::to_owned),
    };
    let call = sql::parse_expression(&format!("tuple({})", arguments.text()))?;
    let arguments = match &call {
        ast::Expr::Function(call) => sql::dialect::plain_args(call),
        _ => Vec::new(),
    };
    match arguments.iter().map(word).collect::<Vec<_>>().as_slice() {
        [_, Some(database), Some(table), ..] => {
            let here = database.is_empty().then(|| execution.current_database.clone());
            Ok(TableName { database: Some(here.unwrap_or_else(|| database.clone())), table: table.clone() })
        }
        _ => {
            let message = "table engine Distributed needs names of a cluster, a database and a table";
            Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message))
        }
    }
}

/// The arguments of a Merge or a Buffer as they are kept: the database by its name.
pub(crate) fn kept_arguments(
    execution: &Execution,
    engine: TableEngine,
    arguments: &EngineArguments,
) -> Result<EngineArguments, Error> {
    if engine == TableEngine::Merge {
        return Ok(Merged::of_table(execution, engine, arguments)?.arguments());
    }
    let name = destination(execution, engine, arguments)?;
    if engine == TableEngine::Distributed {
        let (cluster, rest) = arguments.text().split_once(',').unwrap_or_default();
        let key = rest.splitn(3, ',').nth(2).map_or_else(String::new, |key| format!(",{key}"));
        let (database, table) =
            (quote_text(name.database.as_deref().unwrap_or_default()), quote_text(&name.table));
        return Ok(EngineArguments::new(&format!("{cluster}, {database}, {table}{key}")));
    }
    let mut rest = arguments.text().splitn(3, ',').skip(2);
    let (database, table) =
        (quote_text(name.database.as_deref().unwrap_or_default()), quote_text(&name.table));
    Ok(EngineArguments::new(&format!("{database}, {table},{}", rest.next().unwrap_or_default())))
}

fn compiled(pattern: &str) -> Result<Regex, Error> {
    let wrong = |e: regex::Error| {
        Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_COMPILE_REGEXP, format!("Merge: {e}"))
    };
    Regex::new(pattern).map_err(wrong)
}

/// The tables, each with the name of its database.
fn tables<'a>(
    execution: &'a Execution,
    merged: &Merged,
    own: Option<&TableDef>,
) -> Result<Vec<(&'a str, &'a TableState)>, Error> {
    let names = compiled(&merged.pattern)?;
    let databases = match &merged.database {
        Databases::One(name) if execution.snapshot.database(name).is_none() => {
            return Err(Error::unknown_database(name));
        }
        Databases::One(name) => compiled(&format!("^{}$", regex::escape(name)))?,
        Databases::Matching(pattern) => compiled(pattern)?,
    };
    let mut found: Vec<(&str, &TableState)> = Vec::new();
    for database in execution.snapshot.databases().filter(|database| databases.is_match(&database.name)) {
        let tables = execution.snapshot.tables(database.id);
        let matching = tables
            .filter(|table| names.is_match(&table.def.name) && own.is_none_or(|own| own.id != table.def.id));
        found.extend(matching.map(|table| (database.name.as_ref(), table.as_ref())));
    }
    Ok(found)
}

/// The query that gives the rows: with the columns of `own`, or with all that any table has. With `names_tables` each row
/// says in `_table` and `_database` where it is from, which no `*` shows.
pub(crate) fn merged_query(
    execution: &Execution,
    merged: &Merged,
    own: Option<&TableDef>,
    names_tables: bool,
) -> Result<ast::Query, Error> {
    let tables = tables(execution, merged, own)?;
    let mut columns: Vec<(&str, &ColumnType)> = Vec::new();
    let declared = own.into_iter().flat_map(TableDef::stored_columns);
    let of_tables = tables.iter().filter(|_| own.is_none()).flat_map(|(_, table)| table.def.stored_columns());
    for column in declared.chain(of_tables) {
        if !columns.iter().any(|(name, _)| *name == column.name.as_ref()) {
            columns.push((&column.name, &column.column_type));
        }
    }
    if columns.is_empty() {
        let message = format!("no table matches '{}'", merged.pattern);
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, message));
    }
    let cell = |def: Option<&TableDef>, (column, wanted): &(&str, &ColumnType)| {
        let (name, wanted_name) = (always_quote_name(column), quote_text(&wanted.to_string()));
        match def.and_then(|def| def.column(column)) {
            Some(found) if own.is_none() || found.column_type == **wanted => name,
            Some(_) => format!("_CAST({name}, {wanted_name}) AS {name}"),
            None => format!("defaultValueOfTypeName({wanted_name}) AS {name}"),
        }
    };
    let select = |database: &str, table: &str, def: Option<&TableDef>, from: &str| {
        let mut cells: Vec<String> = columns.iter().map(|column| cell(def, column)).collect();
        if names_tables {
            let (table, database) = (quote_text(table), quote_text(database));
            cells.push(format!("1 AS `{LEFT_OUT}`, {table} AS `_table`, {database} AS `_database`"));
        }
        format!("SELECT {} FROM {from}", cells.join(", "))
    };
    let selects: Vec<String> = tables
        .iter()
        .map(|(database, table)| {
            let from = format!("{}.{}", always_quote_name(database), always_quote_name(&table.def.name));
            select(database, &table.def.name, Some(&table.def), &from)
        })
        .collect();
    let text = match selects.is_empty() {
        // A table without any tables has no rows.
        true => format!("{} WHERE 0", select("", "", None, "(SELECT 1)")),
        false => selects.join(" UNION ALL "),
    };
    Ok(sql::parse_query(&text)?)
}
