//! DROP VIEW.
//!
//! Invariant: what is no view is not dropped, whatever its name.

use boundary::error::{Error, ErrorKind};
use model::{ErrorCode, TableEngine};
use sql::TableName;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::drop_table;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    names: &[TableName],
    if_exists: bool,
) -> Result<(), Error> {
    // A temporary table of the name is another matter.
    let stored = |name: &TableName| TableName::new(Some(execution.resolve(name).0), &name.table);
    let names: Vec<TableName> = names.iter().map(stored).collect();
    for name in &names {
        if let Ok(table) = execution.stored_table(name)
            && !matches!(table.def.engine, TableEngine::View | TableEngine::MaterializedView)
        {
            let message = format!("table \"{name}\" is not a View");
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::INCORRECT_QUERY, message)
                .with_hint("DROP TABLE drops it"));
        }
    }
    drop_table::run(services, execution, &names, if_exists).await
}
