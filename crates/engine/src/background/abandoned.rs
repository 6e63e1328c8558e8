//! Loads that nobody named, and whose statement is gone: they are given up.
//!
//! Invariant: one that a statement of this process works on stays; one of another server stays as long as that server was seen lately.
//! Must not know: what is loaded.

use boundary::error::Error;
use catalog::{Op, StagedLoad, Transaction};
use model::TxnId;

use crate::context::services::Services;

/// Gives up what is nobody's; blocks.
pub(crate) fn round(services: &Services) -> Result<bool, Error> {
    let Some(sharing) = &services.sharing else { return Ok(false) };
    if !sharing.member.is_informed() {
        return Ok(false);
    }
    let nodes = sharing.member.nodes();
    let is_left = |open: &StagedLoad| match open.label.hidden_of() {
        None => false,
        Some(server) if server == sharing.member.id().0 => {
            services.loads.attempted(open.id).running().is_none()
        }
        Some(server) => services.is_root_mine() && !nodes.iter().any(|node| node.id.0 == server),
    };
    let snapshot = services.catalog.snapshot();
    let left: Vec<_> = snapshot.loads().filter(|open| is_left(open)).cloned().collect();
    for open in &left {
        let id = TxnId::from_random_bytes(host::random::uuid_bytes(services.host.random.as_ref()));
        let ops = vec![Op::StageAbort { load: open.id }];
        // Whoever else gives it up has done so: its refusal is no error.
        services.catalog.commit(Transaction::new(id, snapshot.seq(), ops))?;
    }
    Ok(!left.is_empty())
}
