//! What CREATE DICTIONARY and DROP DICTIONARY change.
//!
//! Invariant: a source is asked when the dictionary is, never here. Must not know: how a change is committed.

use boundary::error::{Error, ErrorKind};
use catalog::{Op, Snapshot};
use model::{ErrorCode, TableEngine, TableId};
use sql::TableName;
use sql::statement::dictionary::{CreateDictionary, Dictionary};

use super::calls::KnownDictionary;
use super::definition::{Find, dictionary_def, dictionary_of};
use crate::reserved::is_derived;

/// What CREATE DICTIONARY does: nothing, if it is there and may be. `id` is that of a new one.
///
/// # Errors
/// It cannot be created.
pub fn created(
    snapshot: &Snapshot,
    current_database: &str,
    create: &CreateDictionary,
    id: TableId,
) -> Result<Vec<Op>, Error> {
    let (database_name, name) =
        (create.name.database.as_deref().unwrap_or(current_database), create.name.table.as_str());
    if is_derived(database_name) {
        let message = format!("database \"{database_name}\" takes no dictionaries");
        return Err(Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message));
    }
    let database = snapshot.database(database_name).ok_or_else(|| Error::unknown_database(database_name))?.id;
    let existing = snapshot.table(database, name);
    let mut ops = Vec::with_capacity(2);
    if let Some(existing) = &existing {
        let is_dictionary = existing.def.engine == TableEngine::Dictionary;
        if create.if_not_exists {
            return Ok(Vec::new());
        }
        if !create.or_replace || !is_dictionary {
            let (what, code) = match is_dictionary {
                true => ("dictionary", ErrorCode::DICTIONARY_ALREADY_EXISTS),
                false => ("table", ErrorCode::TABLE_ALREADY_EXISTS),
            };
            let message = format!("{what} \"{database_name}.{name}\" already exists");
            return Err(Error::new(ErrorKind::AlreadyExists, code, message));
        }
        ops.push(Op::DropTable { table: existing.def.id });
    }
    ops.push(Op::CreateTable(dictionary_def(id, (database, current_database), create)?));
    Ok(ops)
}

/// What DROP DICTIONARY does.
///
/// # Errors
/// What is named is none.
pub fn dropped(find: Find<'_>, names: &[TableName], if_exists: bool) -> Result<Vec<Op>, Error> {
    let mut ops = Vec::with_capacity(names.len());
    for name in names {
        match find(name) {
            Ok(table) if table.def.engine == TableEngine::Dictionary => {
                ops.push(Op::DropTable { table: table.def.id });
            }
            Ok(_) => {
                let message = format!("table \"{name}\" is not a Dictionary");
                return Err(Error::new(ErrorKind::BadInput, ErrorCode::INCORRECT_QUERY, message)
                    .with_hint("DROP TABLE drops it"));
            }
            Err(error) if if_exists && error.kind == ErrorKind::UnknownObject => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ops)
}

/// The dictionary that a call names.
///
/// # Errors
/// There is none of this name.
pub fn named(name: &str, current_database: &str, find: Find<'_>) -> Result<KnownDictionary, Error> {
    let (database, table) = name.split_once('.').unwrap_or((current_database, name));
    let found = find(&TableName::new(Some(database), table)).ok();
    let dictionary: Option<Dictionary> = found.map(|state| dictionary_of(&state.def)).transpose()?.flatten();
    let Some(dictionary) = dictionary else {
        let message = format!("dictionary ({name}) not found");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::BAD_ARGUMENTS, message));
    };
    Ok(KnownDictionary {
        full_name: format!("{database}.{table}"),
        database: database.to_owned(),
        dictionary,
    })
}
