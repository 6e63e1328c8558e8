//! How servers of one root ask each other to work: a port, calls that only members may make, and the hand-out of units.
//!
//! Invariant: a call is from a server that `nodes/` names, holds the secret, and runs the same version of the calls; else it has no
//! effect. What a call asks for is done by whoever is given to [`listen`]. Must not know: tables, statements, the log.

mod error;
mod identity;
mod messages;
mod secret;
mod rows;
mod worker;
mod admission;
mod calls;
mod listener;
mod peers;

pub use calls::{COMMIT_PATH, WORK_PATH};
pub use error::PeerError;
pub use identity::{Identity, PeerConfig, TlsFiles};
pub use listener::{Listener, listen};
pub use messages::{
    CommitAnswer, CommitRequest, PieceOfPart, Read, ReadOrder, Report, RowsToCommit, SchemaVersion, Setting,
    UnitOfFiles, WorkFailed, WorkOrder,
};
pub use peers::{Peer, Peers, Worker};
pub use rows::{RowReceiver, RowSender, RowWriter};
pub use worker::{Coordinator, NobodyAsks, PeerWork};

/// Version of the calls. Servers with another one do not work together.
pub const CALLS_VERSION: u32 = 2;
