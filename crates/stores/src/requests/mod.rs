//! Single requests: turns and rates in the lane to a bucket, attempts, and what an answer or an error says.
//!
//! Invariant: each request has its own budget of attempts and time. Must not know: how a client is made.

pub mod facts;
pub(crate) mod errors;
pub(crate) mod verdict;
pub(crate) mod lane;
pub(crate) mod attempts;
pub(crate) mod download;
