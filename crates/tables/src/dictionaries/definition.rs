//! The definition of a dictionary: what is kept of its statement, and what stands where its name does.
//!
//! Invariant: the text that is kept says everything; columns are made of it. Must not know: whether its source is there.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::secrets::text::masked;
use catalog::TableState;
use datafusion::sql::sqlparser::ast;
use model::{ColumnDef, ColumnType, DatabaseId, EngineArguments, ErrorCode, TableDef, TableEngine, TableId};
use sql::dialect::{name_of, plain_args, text_of};
use sql::escape::{always_quote_name, quote_text};
use sql::statement::dictionary::{CreateDictionary, Dictionary, DictionaryAttribute};
use sql::{Measure, TableName};

use super::selects::select_text;

/// A statement's tables by their names.
pub type Find<'a> = &'a dyn Fn(&TableName) -> Result<Arc<TableState>, Error>;

/// What the catalog is to remember; `current_database` is that of the statement.
///
/// # Errors
/// Its source holds credentials, which whoever sees the dictionary would see.
pub(super) fn dictionary_def(
    id: TableId,
    (database, current_database): (DatabaseId, &str),
    create: &CreateDictionary,
) -> Result<TableDef, Error> {
    let dictionary = create.dictionary.clone().in_database(current_database);
    if dictionary.source_texts().any(|text| masked(text) != text) {
        let message = format!("the source of dictionary {} holds credentials", create.name);
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
            .with_hint("name a collection in its query"));
    }
    let keys = dictionary.keys();
    let typed = |attribute: &DictionaryAttribute| {
        let key = keys.iter().find(|(key, _)| key.name == attribute.name);
        let is_bound = |(from, to, _): &(&DictionaryAttribute, &DictionaryAttribute, ColumnType)| {
            [&from.name, &to.name].contains(&&attribute.name)
        };
        match (key, dictionary.range_of().filter(is_bound)) {
            (Some((_, column_type)), _) => column_type.clone(),
            (None, Some((_, _, column_type))) => column_type,
            (None, None) => attribute.column_type.clone(),
        }
    };
    let columns = (1..).zip(&dictionary.attributes);
    let columns = columns.map(|(id, attribute)| ColumnDef::plain(id, &attribute.name, typed(attribute)));
    let columns = columns.collect();
    Ok(TableDef {
        database,
        engine_arguments: EngineArguments::new(&sql::dictionary_text(&dictionary)),
        comment: create.comment.as_str().into(),
        ..TableDef::plain(id, create.name.table.as_str(), TableEngine::Dictionary, columns)
    })
}

/// The name of the dictionary whose rows a table of CREATE TABLE .. ENGINE = Dictionary('db.name') has, if it is one. What is
/// kept of a dictionary begins with a parenthesis.
fn behind(def: &TableDef) -> Option<String> {
    let text = Some(def.engine_arguments.text()).filter(|text| text.starts_with('\''));
    let name = text.filter(|_| def.engine == TableEngine::Dictionary).map(sql::parse_expression)?.ok()?;
    text_of(&name).map(str::to_owned)
}

/// The argument of ENGINE = Dictionary(..) as it is kept: the name of a dictionary.
///
/// # Errors
/// It is no constant.
pub fn kept_name(written: &EngineArguments, current_database: &str) -> Result<EngineArguments, Error> {
    match constant(&sql::parse_expression(written.text())?, current_database) {
        Some(name) => Ok(EngineArguments::new(&quote_text(&name))),
        None => Err(no_name()),
    }
}

fn no_name() -> Error {
    let message = "table engine Dictionary needs the name of a dictionary";
    Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message)
}

/// The text that an expression is before any row is read.
fn constant(expression: &ast::Expr, current_database: &str) -> Option<String> {
    let ast::Expr::Function(function) = expression else { return text_of(expression).map(str::to_owned) };
    match (name_of(function).as_str(), plain_args(function).as_slice()) {
        ("currentDatabase" | "database", []) => Some(current_database.to_owned()),
        ("concat", parts) => parts.iter().map(|part| constant(part, current_database)).collect(),
        _ => None,
    }
}

/// Refuses a table over a dictionary that is not there, or has other columns.
///
/// # Errors
/// ClickHouse's.
pub fn check_table(def: &TableDef, find: Find<'_>) -> Result<(), Error> {
    let Some(name) = behind(def) else {
        return if def.engine == TableEngine::Dictionary { Err(no_name()) } else { Ok(()) };
    };
    let (database, table) = name.split_once('.').unwrap_or(("", name.as_str()));
    let found = find(&TableName::new(Some(database), table)).ok();
    let Some(found) = found.filter(|found| matches!(dictionary_of(&found.def), Ok(Some(_)))) else {
        let message = format!("dictionary ({name}) not found");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
    };
    let has = |column: &ColumnDef| {
        found.def.column(&column.name).is_some_and(|known| known.column_type == column.column_type)
    };
    match def.columns.iter().find(|column| !has(column)) {
        None => Ok(()),
        Some(ColumnDef { name: column, column_type, .. }) => {
            let message = format!("not found column {column} {column_type} in dictionary {name}");
            Err(Error::new(ErrorKind::BadInput, ErrorCode::THERE_IS_NO_COLUMN, message))
        }
    }
}

/// What a definition says, if it is one of a dictionary.
///
/// # Errors
/// Another version of the program wrote what this one cannot read.
pub fn dictionary_of(def: &TableDef) -> Result<Option<Dictionary>, Error> {
    match def.engine {
        TableEngine::Dictionary if behind(def).is_some() => Ok(None),
        TableEngine::Dictionary => Ok(Some(sql::dictionary_of_text(def.engine_arguments.text())?)),
        _ => Ok(None),
    }
}

/// The SELECT that stands where its name does; `database` is the name of its database.
///
/// # Errors
/// As [`dictionary_of`]; or the query of its source is none.
pub fn select_of(def: &TableDef, database: &str) -> Result<(ast::Query, Measure), Error> {
    if let Some(name) = behind(def) {
        let columns: Vec<String> = def.columns.iter().map(|column| always_quote_name(&column.name)).collect();
        let names: Vec<String> = name.splitn(2, '.').map(always_quote_name).collect();
        let text = format!("SELECT {} FROM {}", columns.join(", "), names.join("."));
        return Ok(sql::measured_query(&text)?);
    }
    let Some(dictionary) = dictionary_of(def)? else {
        return Err(Error::internal(format!("table \"{}\" is no dictionary", def.name)));
    };
    Ok(sql::measured_query(&select_text(&dictionary, database)?)?)
}

/// Refuses to take a dictionary for a table that is dropped.
///
/// # Errors
/// It is one.
pub fn refuse_as_table(def: &TableDef) -> Result<(), Error> {
    if def.engine != TableEngine::Dictionary || behind(def).is_some() {
        return Ok(());
    }
    let message = format!("cannot drop dictionary {} as a table", def.name);
    let code = ErrorCode::CANNOT_DETACH_DICTIONARY_AS_TABLE;
    Err(Error::new(ErrorKind::BadInput, code, message).with_hint("use DROP DICTIONARY"))
}
