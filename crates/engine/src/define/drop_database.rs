//! DROP DATABASE, with all that is in it.
//!
//! Must not know: tables, which go with their database.

use boundary::error::Error;
use catalog::Op;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    name: &str,
    if_exists: bool,
) -> Result<(), Error> {
    match execution.snapshot.database(name) {
        Some(database) => {
            commit_ops(services, execution, Vec::new(), vec![Op::DropDatabase { id: database.id }]).await
        }
        None if if_exists => Ok(()),
        None => Err(Error::unknown_database(name)),
    }
}
