//! One open database: everything that outlives a session.
//!
//! Invariant: the parts are built once, in `open`, and closed once, in the right order: statements, background work,
//! log, temporary folder. Must not know: what of it a statement needs, which asks `Services` for it.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::found_at_open::OpenNotice;
use boundary::ledgers::errors::Whose;
use host::MemoryBudget;
use model::{ErrorCode, Seq};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::context::services::Services;

/// See the module. Made by [`Database::open`].
pub struct Database {
    pub(crate) services: Arc<Services>,
    pub(crate) background: Mutex<Vec<JoinHandle<()>>>,
    /// What was found when it was opened.
    pub(crate) notices: Vec<OpenNotice>,
}

impl Database {
    /// What statements and caches may have together; a door grants itself a share for what it holds of them.
    pub fn memory(&self) -> &MemoryBudget {
        &self.services.host.memory
    }

    /// The newest record of the log that is known here.
    pub fn seq(&self) -> Seq {
        self.services.catalog.seq()
    }

    /// Tells other servers of a shared root where this one listens.
    pub fn listens_at(&self, addresses: &[std::net::SocketAddr]) {
        if let Some(sharing) = &self.services.sharing {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            *sharing.addresses.lock() = addresses.join(",");
        }
    }

    /// Counts an error in `system.errors` that ends no statement: of background work, of opening, of a file that was put aside.
    pub fn note(&self, code: ErrorCode, message: impl Into<String>) {
        let error = Error::new(ErrorKind::Internal, code, message);
        self.services.note_error(&error, &Whose::default());
    }

    /// Counts an error that a door answers with itself. Those of statements that began are counted already.
    pub fn note_answered(&self, error: &Error, query_id: &str, user: &str) {
        self.services.note_error(error, &Whose { query_id, user });
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.services.root().display())
    }
}
