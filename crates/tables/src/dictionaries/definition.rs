//! The definition of a dictionary: what is kept of its statement, and what stands where its name does.
//!
//! Invariant: the text that is kept says everything; columns are made of it. Must not know: whether its source is there.

use boundary::error::{Error, ErrorKind};
use boundary::secrets::text::masked;
use datafusion::sql::sqlparser::ast;
use model::{ColumnDef, ColumnType, DatabaseId, EngineArguments, ErrorCode, TableDef, TableEngine, TableId};
use sql::Measure;
use sql::statement::dictionary::{CreateDictionary, Dictionary, DictionaryAttribute};

use super::selects::select_text;

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

/// What a definition says, if it is one of a dictionary.
///
/// # Errors
/// Another version of the program wrote what this one cannot read.
pub fn dictionary_of(def: &TableDef) -> Result<Option<Dictionary>, Error> {
    match def.engine {
        TableEngine::Dictionary => Ok(Some(sql::dictionary_of_text(def.engine_arguments.text())?)),
        _ => Ok(None),
    }
}

/// The SELECT that stands where its name does; `database` is the name of its database.
///
/// # Errors
/// As [`dictionary_of`]; or the query of its source is none.
pub fn select_of(def: &TableDef, database: &str) -> Result<(ast::Query, Measure), Error> {
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
    if def.engine != TableEngine::Dictionary {
        return Ok(());
    }
    let message = format!("cannot drop dictionary {} as a table", def.name);
    let code = ErrorCode::CANNOT_DETACH_DICTIONARY_AS_TABLE;
    Err(Error::new(ErrorKind::BadInput, code, message).with_hint("use DROP DICTIONARY"))
}
