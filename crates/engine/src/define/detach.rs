//! DETACH and ATTACH of a table or a view.
//!
//! Invariant: a detached table keeps its rows and its name, and no statement finds it but those that say so. Rows of a
//! Memory table are in no part: they go, as in ClickHouse.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::Op;
use model::{ErrorCode, TableEngine};
use sql::TableName;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;

pub(crate) async fn detach(
    services: &Services,
    execution: &Execution,
    name: &TableName,
    if_exists: bool,
    (is_view, is_permanent): (bool, bool),
) -> Result<(), Error> {
    if execution.temporary_table(name).is_some() {
        let message = format!("temporary table \"{name}\" cannot be detached");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::SYNTAX_ERROR, message));
    }
    let table = match execution.stored_table(name) {
        Ok(table) => Arc::clone(&table.def),
        Err(error) if if_exists && error.code == ErrorCode::UNKNOWN_TABLE => return Ok(()),
        Err(error) => return Err(error),
    };
    if is_view && !matches!(table.engine, TableEngine::View | TableEngine::MaterializedView) {
        let message = format!("table \"{name}\" is not a View");
        return Err(Error::new(ErrorKind::BadInput, ErrorCode::INCORRECT_QUERY, message));
    }
    commit_ops(services, execution, Vec::new(), vec![Op::DetachTable { table: table.id, is_permanent }])
        .await?;
    services.memory_tables.clear(table.id);
    Ok(())
}

pub(crate) async fn attach(
    services: &Services,
    execution: &Execution,
    name: &TableName,
    if_not_exists: bool,
) -> Result<(), Error> {
    let (database, table) = execution.resolve(name);
    let found = execution.snapshot.database(database).ok_or_else(|| Error::unknown_database(database))?.id;
    if execution.snapshot.table(found, table).is_some() {
        let message = format!("table \"{database}.{table}\" already exists");
        return match if_not_exists {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS, message)),
        };
    }
    let Some(detached) = execution.snapshot.detached_table(found, table) else {
        let message = format!("table \"{database}.{table}\" was not detached");
        return Err(Error::new(ErrorKind::UnknownObject, ErrorCode::CANNOT_GET_CREATE_TABLE_QUERY, message));
    };
    commit_ops(services, execution, Vec::new(), vec![Op::AttachTable { table: detached.def.id }]).await
}
