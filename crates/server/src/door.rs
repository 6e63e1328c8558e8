//! What all requests of one server share.
//!
//! Invariant: made once, at the start; nothing here blocks.

use std::sync::Arc;

use engine::Database;
use host::{Host, Runtimes};

use crate::config::ServerConfig;
use crate::gate::Gate;
use crate::metrics::Metrics;
use crate::sessions::Sessions;
use crate::users::Users;

/// Letters of an exception tag and digits of an id.
const TAG_LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// See the module.
pub(crate) struct Door {
    pub(crate) database: Arc<Database>,
    pub(crate) host: Host,
    pub(crate) runtimes: Runtimes,
    pub(crate) config: ServerConfig,
    pub(crate) users: Users,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) gate: Gate,
    pub(crate) metrics: Metrics,
}

impl Door {
    pub(crate) fn new(
        database: Arc<Database>,
        host: Host,
        runtimes: Runtimes,
        config: ServerConfig,
    ) -> Arc<Door> {
        Arc::new(Door {
            users: Users::new(&config.users, &host, &runtimes),
            sessions: Sessions::new(Arc::clone(&host.clock), config.limits.sessions),
            gate: Gate::new(&config.limits),
            metrics: Metrics::default(),
            database,
            host,
            runtimes,
            config,
        })
    }

    /// A new id of a statement or a session, in the form of a UUID.
    pub(crate) fn new_id(&self) -> String {
        let bytes = host::random::uuid_bytes(self.host.random.as_ref());
        let mut id = String::with_capacity(36);
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                id.push('-');
            }
            for digit in [byte >> 4, byte & 15] {
                id.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
            }
        }
        id
    }

    /// Sixteen letters that no result contains by chance.
    pub(crate) fn new_tag(&self) -> String {
        let mut bytes = [0; 16];
        self.host.random.fill(&mut bytes);
        bytes.iter().map(|byte| char::from(TAG_LETTERS[usize::from(byte % 32)])).collect()
    }
}
