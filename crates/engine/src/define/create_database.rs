//! CREATE DATABASE.
//!
//! Invariant: names of databases made up from live state are taken.

use boundary::error::{Error, ErrorKind};
use catalog::Op;
use model::{DatabaseId, ErrorCode};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use tables::reserved::is_derived;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    name: &str,
    if_not_exists: bool,
) -> Result<(), Error> {
    if execution.snapshot.database(name).is_some() || is_derived(name) {
        if if_not_exists {
            return Ok(());
        }
        let message = format!("database \"{name}\" already exists");
        return Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::DATABASE_ALREADY_EXISTS, message));
    }
    let id = DatabaseId::from_random_bytes(host::random::uuid_bytes(services.host.random.as_ref()));
    commit_ops(services, execution, Vec::new(), vec![Op::CreateDatabase { id, name: name.into() }]).await
}
