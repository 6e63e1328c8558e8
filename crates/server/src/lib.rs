//! The server: ClickHouse's HTTP interface over one database.
//!
//! A request travels downward through this list: `listener` accepts it, `routes` chooses, `statement` takes it apart,
//! `answer` runs it and sends what it answers. `docs/design/http.md` says what of ClickHouse's interface there is.
//!
//! Invariant: nothing of a body or a result is held beyond named limits. Must not know: how statements are run.

mod verifier;
mod config;
mod host_names;
mod lobby;
mod parameters;
mod failure;
mod blocks;
mod encoding;
mod incoming;
mod arrival;
mod form;
mod users;
mod sessions;
mod guests;
mod gate;
mod turns;
mod metrics;
mod wire;
mod body;
mod spool;
mod door;
mod head;
mod answer;
mod statement;
mod routes;
mod tls;
mod listener;

pub use config::{Limits, ServerConfig, TlsConfig, User};
pub use listener::Server;
pub use verifier::Verifier;
