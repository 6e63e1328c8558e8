//! ClickHouse's HTTP interface: requests taken apart, statements run, their answers sent.
//!
//! A request comes in at `routes`; whoever it meets behind that stands above in this list. `docs/design/http.md` says what
//! there is of the interface.
//!
//! Invariant: nothing of a body or a result is held beyond named limits. Must not know: how connections are accepted.

pub(crate) mod parameters;
pub(crate) mod failure;
pub(crate) mod blocks;
pub(crate) mod encoding;
pub(crate) mod incoming;
pub(crate) mod arrival;
pub(crate) mod form;
pub(crate) mod guests;
pub(crate) mod body;
pub(crate) mod head;
pub(crate) mod answer;
pub(crate) mod statement;
pub(crate) mod routes;
