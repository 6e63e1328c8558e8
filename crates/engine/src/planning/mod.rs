//! Ends for plans that nobody waits for.
//!
//! Must not know: what is planned.

pub(crate) mod stops;
