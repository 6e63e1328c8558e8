//! CREATE TABLE.
//!
//! Invariant: a statement is checked completely, its expressions compiled, before anything is committed.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::Op;
use model::{ErrorCode, TableDef};
use sql::CreateTable;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::define::definition::{definition, seen_by_all};
use crate::resolve::outside;
use tables::dictionaries::check_table;
use tables::reserved::is_derived;

/// Creates a table; answers its name if it was created now and a SELECT is to fill it.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    create: &CreateTable,
) -> Result<Option<Arc<TableDef>>, Error> {
    let (database_name, name) = execution.resolve(&create.name);
    if is_derived(database_name) {
        let message = format!("database \"{database_name}\" takes no tables");
        return Err(Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message));
    }
    let database =
        execution.snapshot.database(database_name).ok_or_else(|| Error::unknown_database(database_name))?.id;
    let existing = execution.snapshot.table(database, name);
    let detached = execution.snapshot.detached_table(database, name);
    if (existing.is_some() || detached.is_some()) && create.if_not_exists {
        return Ok(None);
    }
    if detached.is_some() {
        let message = format!("table \"{database_name}.{name}\" already exists (detached)");
        return Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS, message)
            .with_hint("ATTACH TABLE brings it back"));
    }
    if existing.is_some() && !create.or_replace {
        let message = format!("table \"{database_name}.{name}\" already exists");
        return Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::TABLE_ALREADY_EXISTS, message));
    }
    let def = Arc::new(seen_by_all(services, definition(services, execution, create, database).await?)?);
    if def.engine.is_external() {
        outside::check(&services.config, execution, &def)?;
    }
    check_table(&def, &|name| execution.stored_table(name))?;
    services.tables.check(&def)?;
    let mut ops = Vec::with_capacity(2);
    ops.extend(existing.map(|table| Op::DropTable { table: table.def.id }));
    ops.push(Op::CreateTable(def.as_ref().clone()));
    commit_ops(services, execution, Vec::new(), ops).await?;
    Ok(Some(def))
}
