//! CREATE TEMPORARY TABLE.
//!
//! Invariant: nothing is committed; what fails leaves no table behind. Must not know: the log.

use std::sync::Arc;

use boundary::error::Error;
use model::{TableDef, TableEngine};
use sql::CreateTable;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::definition::definition;
use tables::temporary::{already_exists, no_database};

/// Creates a table; answers its definition if it was created now.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    create: &CreateTable,
) -> Result<Option<Arc<TableDef>>, Error> {
    let name = &create.name.table;
    if execution.temporary.table(name).is_some() {
        if create.if_not_exists {
            return Ok(None);
        }
        if !create.or_replace {
            return Err(already_exists(name));
        }
    }
    let mut def = definition(services, execution, create, no_database()).await?;
    if def.engine == TableEngine::SharedMemory {
        // As a table that all servers see, and seen by this session alone.
        def.engine = TableEngine::Memory;
    }
    let def = Arc::new(def);
    services.tables.check(&def)?;
    execution.temporary.create(&def, create.or_replace)?;
    Ok(Some(def))
}
