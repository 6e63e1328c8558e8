//! The way out: which hosts may be talked to, the client that talks to no others, and how long it bears silence.
//!
//! Invariant: no request leaves in any other way. Must not know: buckets, what is asked, when it is asked again.

pub mod hosts;
pub mod connector;
pub(crate) mod pace;
pub(crate) mod wire;
