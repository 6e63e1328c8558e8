//! The state machine over the log: what exists at a `Seq`.
//!
//! Every change of a database is one [`Transaction`] in one log; the state is what replaying the log gives, and a
//! [`Snapshot`] is that state at one `Seq`. Invariant: a transaction is durable before anyone sees it, and a reader
//! never waits for a writer's disk.
//! Must not know: SQL, the bytes of rows, the bytes of parts.

pub mod collections;
pub mod op;
pub mod loads;
pub mod exports;
pub mod functions;
pub mod op_format;
pub mod definition_format;
pub mod labels;
pub mod table_state;
pub mod blocks;
pub mod state;
pub mod admit;
mod group;
pub mod pins;
pub mod snapshot;
pub mod fact_format;
pub mod checkpoint;
mod checkpoint_home;
pub mod inspect;
pub mod finding;
pub mod catalog;

#[cfg(test)]
#[path = "../tests/generated/mod.rs"]
mod generated;

pub use admit::RefusedWhy;
pub use catalog::{
    Catalog, CatalogConfig, CatalogError, CommitOutcome, CommitReport, CommitTimes, Elsewhere, ReadRoot,
    RecordWriter, SentRows, SharedRoot, read_root, read_shared_root,
};
pub use collections::{Collection, CollectionValue, Collections};
pub use commitlog::{HELD_UNTIL_TOLD, ObjectLogConfig};
pub use exports::{ExportState, Exports};
pub use finding::Finding;
pub use functions::Functions;
pub use labels::{LabelState, SeenStatements};
pub use loads::{Loads, StagedLoad};
pub use op::{Op, Precondition, Transaction};
pub use snapshot::Snapshot;
pub use state::{DatabaseState, DetachedTable, DroppedTable, State, default_database_id, system_database_id};
pub use table_state::{GroupKey, InlineStatement, PartitionState, RemovedPart, TableState};
