//! TRUNCATE, of a table or of all tables of a database.
//!
//! Invariant: only what has rows of its own is emptied.

use boundary::error::{Error, ErrorKind};
use catalog::Op;
use model::{ErrorCode, TableEngine, TableId};
use sql::TableName;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::resolve::materialized::own_table_of;
use crate::resolve::views::refuse_view;
use tables::reserved::is_derived;
use tables::temporary::is_temporary;

pub(crate) async fn table(
    services: &Services,
    execution: &Execution,
    name: &TableName,
    if_exists: bool,
) -> Result<(), Error> {
    let table = match execution.table(name) {
        Ok(table) if table.def.engine.is_external() => {
            let engine = table.def.engine.name();
            let message = format!(
                "Truncate is not supported by storage {engine}: the rows of table \"{name}\" are outside"
            );
            return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message)
                .with_hint("remove or overwrite its files; DROP TABLE forgets the table and leaves them"));
        }
        Ok(table) if is_temporary(&table.def) => {
            execution.temporary.rows.clear(table.def.id);
            return Ok(());
        }
        Ok(table) => match own_table_of(execution, &table.def) {
            Some(own) => own,
            None => {
                refuse_view(&table.def, "Truncate")?;
                table.def.id
            }
        },
        Err(error) if if_exists && error.kind == ErrorKind::UnknownObject => return Ok(()),
        Err(error) => return Err(error),
    };
    commit_ops(services, execution, Vec::new(), vec![Op::TruncateTable { table }]).await?;
    services.memory_tables.clear(table);
    Ok(())
}

/// Empties all tables of a database that have rows of their own, or drops all there are.
pub(crate) async fn database(
    services: &Services,
    execution: &Execution,
    name: &str,
    if_exists: bool,
    drops: bool,
) -> Result<(), Error> {
    if is_derived(name) {
        let message = format!("the tables of database \"{name}\" stay as they are");
        return Err(Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message));
    }
    let Some(database) = execution.snapshot.database(name) else {
        return if if_exists { Ok(()) } else { Err(Error::unknown_database(name)) };
    };
    let keeps = |engine: TableEngine| {
        engine.keeps_parts() || matches!(engine, TableEngine::Memory | TableEngine::Null)
    };
    let tables: Vec<TableId> = execution
        .snapshot
        .tables(database.id)
        .filter(|table| drops || keeps(table.def.engine))
        .map(|table| table.def.id)
        .collect();
    let op = |table: &TableId| match drops {
        true => Op::DropTable { table: *table },
        false => Op::TruncateTable { table: *table },
    };
    if !tables.is_empty() {
        commit_ops(services, execution, Vec::new(), tables.iter().map(op).collect()).await?;
    }
    tables.into_iter().for_each(|table| services.memory_tables.clear(table));
    Ok(())
}
