//! What every protocol asks through: users, sessions, the gate, counters, limits, bytes of connections. `Door` is one of each,
//! shared by all requests of one server.
//!
//! Invariant: made once, at the start; nothing in `Door` itself blocks. Must not know: how a protocol words its requests and
//! answers; `host_names` alone reads them off HTTP's headers, against web pages.

pub(crate) mod verifier;
pub(crate) mod config;
pub(crate) mod host_names;
pub(crate) mod lobby;
pub(crate) mod users;
pub(crate) mod sessions;
pub(crate) mod gate;
pub(crate) mod turns;
pub(crate) mod metrics;
pub(crate) mod wire;
pub(crate) mod spool;
pub(crate) mod tls;

use std::sync::Arc;

use engine::Database;
use host::{Host, MemoryBudget, Runtimes};

use crate::door::config::ServerConfig;
use crate::door::gate::Gate;
use crate::door::host_names::HostNames;
use crate::door::lobby::Lobby;
use crate::door::metrics::Metrics;
use crate::door::sessions::Sessions;
use crate::door::users::Users;

/// What a budget of texts is called.
pub(crate) const TEXTS_SCOPE: &str = "texts of statements";
/// Texts may take one part in so many of the memory: they must not take it from the statements that run.
const TEXTS_SHARE: u64 = 4;
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
    pub(crate) gate: Arc<Gate>,
    pub(crate) connections: Arc<Lobby>,
    pub(crate) bodies: Arc<Lobby>,
    /// For texts and forms, while they come and while their statements run.
    pub(crate) texts: MemoryBudget,
    pub(crate) host_names: HostNames,
    pub(crate) metrics: Metrics,
}

impl Door {
    pub(crate) fn new(
        database: Arc<Database>,
        host: Host,
        runtimes: Runtimes,
        config: ServerConfig,
    ) -> Arc<Door> {
        let memory = database.memory();
        Arc::new(Door {
            users: Users::new(&config.users, &host, &runtimes),
            sessions: Sessions::new(Arc::clone(&host.clock), config.limits.sessions),
            gate: Arc::new(Gate::new(&config.limits, Arc::clone(&host.clock))),
            connections: Lobby::new(&host.clock),
            bodies: Lobby::new(&host.clock),
            texts: memory.child_named(TEXTS_SCOPE, memory.limit() / TEXTS_SHARE),
            host_names: HostNames::new(&host::process::host_name(), &config.host_names),
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
