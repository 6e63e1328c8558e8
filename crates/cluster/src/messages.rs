//! What is said over the port, as Protocol Buffers.
//!
//! Both ends have the same [`CALLS_VERSION`](crate::CALLS_VERSION), so fields may change with it. Invariant: a statement is never
//! shown by `Debug`: it carries credentials. Must not know: who says it.

use std::fmt;

/// A setting of a statement, as text.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Setting {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A load to help with, or a query.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[prost(skip_debug)]
pub struct WorkOrder {
    /// The 16 bytes of its id.
    #[prost(bytes = "vec", tag = "1")]
    pub load: Vec<u8>,
    /// As it was given, with its credentials.
    #[prost(string, tag = "2")]
    pub statement: String,
    #[prost(string, tag = "3")]
    pub user: String,
    #[prost(string, tag = "4")]
    pub query_id: String,
    #[prost(message, repeated, tag = "5")]
    pub settings: Vec<Setting>,
    /// The load is open at this seq; a query is planned on what it says.
    #[prost(uint64, tag = "6")]
    pub seq: u64,
    /// Servers that work on it, the one that asks among them.
    #[prost(uint32, tag = "7")]
    pub servers: u32,
    #[prost(string, tag = "8")]
    pub database: String,
    /// When the statement began, milliseconds since 1970 UTC.
    #[prost(uint64, tag = "9")]
    pub now_ms: u64,
    /// Of a query: what is to be read of it. Then there is no load.
    #[prost(message, optional, tag = "10")]
    pub read: Option<ReadOrder>,
}

/// A share of a query's rows.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ReadOrder {
    /// What the piece of the plan is; whoever finds another one reads nothing.
    #[prost(uint64, tag = "1")]
    pub digest: u64,
    #[prost(message, repeated, tag = "2")]
    pub pieces: Vec<PieceOfPart>,
    /// Units of files, which are leased by their places in this list.
    #[prost(message, repeated, tag = "3")]
    pub units: Vec<UnitOfFiles>,
}

/// Bytes of a part.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PieceOfPart {
    #[prost(uint32, tag = "1")]
    pub leaf: u32,
    /// The 16 bytes of its id.
    #[prost(bytes = "vec", tag = "2")]
    pub part: Vec<u8>,
    #[prost(uint64, tag = "3")]
    pub begin: u64,
    #[prost(uint64, tag = "4")]
    pub end: u64,
}

/// A file of a listing, or row groups of it.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct UnitOfFiles {
    /// Its place in the listing.
    #[prost(uint64, tag = "1")]
    pub file: u64,
    #[prost(bool, tag = "2")]
    pub is_whole: bool,
    #[prost(uint64, repeated, tag = "3")]
    pub row_groups: Vec<u64>,
    #[prost(uint64, tag = "4")]
    pub bytes: u64,
    #[prost(uint64, optional, tag = "5")]
    pub rows: Option<u64>,
}

impl fmt::Debug for WorkOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkOrder({}, seq {})", self.query_id, self.seq)
    }
}

/// From the coordinator.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct ToWorker {
    #[prost(oneof = "Order", tags = "1, 2")]
    pub order: Option<Order>,
}

#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub(crate) enum Order {
    /// The first message, once.
    #[prost(message, tag = "1")]
    Begin(WorkOrder),
    /// The answer to one [`Report::Ask`].
    #[prost(message, tag = "2")]
    Units(Units),
}

/// Units that are leased; none if none is free.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Units {
    #[prost(uint32, repeated, tag = "1")]
    pub units: Vec<u32>,
}

/// From a worker.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct FromWorker {
    #[prost(oneof = "Report", tags = "1, 2, 3, 4, 5, 6")]
    pub report: Option<Report>,
}

/// What a worker says.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum Report {
    /// It wants a unit: at once, or (true) as soon as one is free, having staged all it had.
    #[prost(bool, tag = "1")]
    Ask(bool),
    /// It lives, and has done so much.
    #[prost(message, tag = "2")]
    Alive(Read),
    /// These it could not stage: others had staged what was read with them.
    #[prost(message, tag = "3")]
    Back(GivenBack),
    /// It has ended, with nothing unstaged.
    #[prost(bool, tag = "4")]
    Done(bool),
    #[prost(message, tag = "5")]
    Failed(WorkFailed),
    /// Of a query: the next bytes of a stream of Arrow's.
    #[prost(bytes = "bytes", tag = "6")]
    Rows(bytes::Bytes),
}

/// What a worker has read of a load.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Read {
    #[prost(uint64, tag = "1")]
    pub rows: u64,
    #[prost(uint64, tag = "2")]
    pub bytes: u64,
    /// What its sinks have taken of that.
    #[prost(uint64, tag = "3")]
    pub written_rows: u64,
    #[prost(uint64, tag = "4")]
    pub written_bytes: u64,
}

/// Units that are free again.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GivenBack {
    #[prost(uint32, repeated, tag = "1")]
    pub units: Vec<u32>,
}

/// Why a worker stopped.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct WorkFailed {
    /// The error is about the rows of the source: whoever reads them hears it.
    #[prost(bool, tag = "1")]
    pub is_about_rows: bool,
    #[prost(uint32, tag = "2")]
    pub code: u32,
    #[prost(string, tag = "3")]
    pub message: String,
    #[prost(string, optional, tag = "4")]
    pub hint: Option<String>,
}

/// Rows to commit together with one's own; the fields are those of the catalog.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CommitRequest {
    /// Whoever asks knows the log up to it.
    #[prost(uint64, tag = "1")]
    pub seq: u64,
    #[prost(message, repeated, tag = "2")]
    pub rows: Vec<RowsToCommit>,
}

/// One transaction of [`CommitRequest`].
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct RowsToCommit {
    #[prost(bytes = "bytes", tag = "1")]
    pub transaction: bytes::Bytes,
    #[prost(uint64, tag = "2")]
    pub read_seq: u64,
    #[prost(uint64, tag = "3")]
    pub since: u64,
    #[prost(message, repeated, tag = "4")]
    pub schemas: Vec<SchemaVersion>,
    #[prost(bool, tag = "5")]
    pub keeps_definitions: bool,
}

/// A table, by the 16 bytes of its id, and a version of its columns.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct SchemaVersion {
    #[prost(bytes = "vec", tag = "1")]
    pub table: Vec<u8>,
    #[prost(uint32, tag = "2")]
    pub version: u32,
}

/// What the log has by now; which of the rows are in it stands there.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct CommitAnswer {
    #[prost(uint64, tag = "1")]
    pub seq: u64,
    /// Frames of the records after the request's seq, as far as they are at hand.
    #[prost(bytes = "bytes", repeated, tag = "2")]
    pub frames: Vec<bytes::Bytes>,
}
