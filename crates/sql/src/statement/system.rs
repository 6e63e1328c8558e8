//! What SYSTEM is told.

use super::TableName;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SystemCommand {
    /// `None`: of all tables.
    StopMerges(Option<TableName>),
    /// TTL MERGES: deletes what is too old, as background work.
    StopTtlMerges(Option<TableName>),
    StartTtlMerges(Option<TableName>),
    StartMerges(Option<TableName>),
    /// Of a view that is refreshed: what its runs are told.
    View(TableName, ViewCommand),
    /// All of them.
    StopViews,
    StartViews,
    /// `Some("S3")` for one kind of storage.
    DropSchemaCache(Option<String>),
    /// What is kept of parts without their compression.
    DropUncompressedCache,
    FlushLogs,
    /// Of a cache or of background work that there is none of: nothing happens.
    Nothing,
    /// As `Nothing`, but the table has to be there.
    OfTable(TableName),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewCommand {
    /// A run now, in the background.
    Refresh,
    /// The end of the run there is.
    Wait,
    Stop,
    Start,
    Cancel,
}
