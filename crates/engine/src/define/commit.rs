//! The transaction of a DDL statement.
//!
//! Invariant: it is decided against the snapshot of its statement. Must not know: what is in it.

use std::sync::Arc;

use boundary::error::Error;
use catalog::{Op, Precondition};

use crate::context::execution::Execution;
use crate::context::services::Services;
use sinks::commit::commit;

/// Commits ops of one DDL statement on a blocking thread.
pub(crate) async fn commit_ops(
    services: &Services,
    execution: &Execution,
    mut preconditions: Vec<Precondition>,
    ops: Vec<Op>,
) -> Result<(), Error> {
    preconditions.extend(execution.kept());
    let (catalog, host) = (Arc::clone(&services.catalog), services.host.clone());
    let read_seq = execution.snapshot.seq();
    let profile = Arc::clone(&execution.profile);
    let work = move || commit(&catalog, &host, read_seq, preconditions, ops, Some(&profile));
    let joined = services.runtimes.spawn_blocking("commit", work).await;
    joined.map_err(Error::ended_early)?.map(|_| ())
}
