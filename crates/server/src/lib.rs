//! The server: ClickHouse's HTTP interface over one database.
//!
//! `listener` accepts connections; of a request `http/routes.rs` chooses the answer, `http/statement.rs` takes it apart,
//! `http/answer.rs` runs it and sends what it answers. What other protocols would need as well is behind the `door`.
//!
//! Invariant: nothing of a body or a result is held beyond named limits. Must not know: how statements are run.

mod door;
mod http;
mod listener;

pub use door::config::{Limits, ServerConfig, TlsConfig, User};
pub use door::verifier::Verifier;
pub use listener::Server;
