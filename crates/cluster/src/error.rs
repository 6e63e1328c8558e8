//! Why a peer did not help.
//!
//! Invariant: it names the peer, and no secret. Must not know: what becomes of the work.

/// Why a call of another server failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    #[error("server {peer} cannot be reached: {why}")]
    Unreachable { peer: String, why: String },
    /// It answered, and did not want.
    #[error("server {peer} refused: {why}")]
    Refused { peer: String, why: String },
    #[error("server {peer} has said nothing for {seconds} s")]
    Silent { peer: String, seconds: u64 },
    /// The connection ended before the work did.
    #[error("server {peer} is gone: {why}")]
    Gone { peer: String, why: String },
    /// What was configured for the port is of no use.
    #[error("{0}")]
    Configuration(String),
}
