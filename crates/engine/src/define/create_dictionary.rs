//! CREATE DICTIONARY and DROP DICTIONARY, each a transaction.

use boundary::error::Error;
use catalog::Op;
use model::TableId;
use sql::TableName;
use sql::statement::dictionary::CreateDictionary;
use tables::dictionaries::{created, dropped};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    create: &CreateDictionary,
) -> Result<(), Error> {
    let id = TableId::from_random_bytes(host::random::uuid_bytes(services.host.random.as_ref()));
    let ops = created(&execution.snapshot, &execution.current_database, create, id)?;
    done(services, execution, ops).await
}

pub(crate) async fn drop(
    services: &Services,
    execution: &Execution,
    names: &[TableName],
    if_exists: bool,
) -> Result<(), Error> {
    let ops = dropped(&|name| execution.stored_table(name), names, if_exists)?;
    done(services, execution, ops).await
}

async fn done(services: &Services, execution: &Execution, ops: Vec<Op>) -> Result<(), Error> {
    if ops.is_empty() { Ok(()) } else { commit_ops(services, execution, Vec::new(), ops).await }
}
