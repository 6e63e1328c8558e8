//! EXCHANGE TABLES: two tables take each other's names, by one transaction.
//!
//! Invariant: a table with an open load stays in its database.

use boundary::error::Error;
use catalog::Op;
use sql::TableName;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::define::rename::check_may_move;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    a: &TableName,
    b: &TableName,
) -> Result<(), Error> {
    let (first, second) = (execution.stored_table(a)?, execution.stored_table(b)?);
    check_may_move(&services.catalog, first.def.id, second.def.database)?;
    check_may_move(&services.catalog, second.def.id, first.def.database)?;
    let (first, second) = (first.def.id, second.def.id);
    commit_ops(services, execution, Vec::new(), vec![Op::ExchangeTables { first, second }]).await
}
