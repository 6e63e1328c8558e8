//! RENAME, of tables or of a database.
//!
//! Invariant: all pairs of a statement are renamed by one transaction; a table with an open load stays in its database.

use std::collections::HashMap;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::{Catalog, Op};
use model::{DatabaseId, ErrorCode, TableId};
use sql::{RenamedTable, TableName};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;

pub(crate) async fn tables(
    services: &Services,
    execution: &Execution,
    pairs: &[RenamedTable],
) -> Result<(), Error> {
    let mut ops = Vec::with_capacity(pairs.len());
    // Names as the pairs before left them: `a TO tmp, b TO a, tmp TO b`.
    let mut renamed: HashMap<(String, String), Option<TableId>> = HashMap::new();
    let place = |name: &TableName| {
        let (database, table) = execution.resolve(name);
        (database.to_owned(), table.to_owned())
    };
    for RenamedTable { from, to, if_exists } in pairs {
        let found = match renamed.get(&place(from)) {
            Some(Some(table)) => Ok(*table),
            Some(None) => {
                let (database, table) = execution.resolve(from);
                Err(Error::unknown_table(database, table))
            }
            None => execution.stored_table(from).map(|table| table.def.id),
        };
        let table = match found {
            Ok(table) => table,
            Err(error) if *if_exists && error.code == ErrorCode::UNKNOWN_TABLE => continue,
            Err(error) => return Err(error),
        };
        let (database, name) = execution.resolve(to);
        let database =
            execution.snapshot.database(database).ok_or_else(|| Error::unknown_database(database))?.id;
        check_may_move(&services.catalog, table, database)?;
        ops.push(Op::RenameTable { table, database, name: name.into() });
        renamed.insert(place(from), None);
        renamed.insert(place(to), Some(table));
    }
    commit_ops(services, execution, Vec::new(), ops).await
}

pub(crate) async fn database(
    services: &Services,
    execution: &Execution,
    from: &str,
    to: &str,
) -> Result<(), Error> {
    let id = execution.snapshot.database(from).ok_or_else(|| Error::unknown_database(from))?.id;
    commit_ops(services, execution, Vec::new(), vec![Op::RenameDatabase { id, name: to.into() }]).await
}

/// The label of an open load belongs to the database it was opened in: in another one its statement would load the rows
/// once more.
pub(crate) fn check_may_move(
    catalog: &Arc<Catalog>,
    table: TableId,
    database: DatabaseId,
) -> Result<(), Error> {
    let newest = catalog.snapshot();
    let Some(open) = newest.loads().find(|load| load.table == table && load.database != database) else {
        return Ok(());
    };
    let (label, table) = (open.label.as_str(), newest.state().table_name(table));
    let message =
        format!("table \"{table}\" has the open load \"{label}\" and stays in its database until it is over");
    Err(Error::new(ErrorKind::Conflict, ErrorCode::BAD_ARGUMENTS, message)
        .with_hint(format!("finish it with RESUME LOAD '{label}', or give it up with CANCEL LOAD '{label}'")))
}
