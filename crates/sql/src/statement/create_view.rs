//! What CREATE VIEW and CREATE MATERIALIZED VIEW say.

use super::{ColumnSpec, CreateTable, Query, Refresh, TableName};

#[derive(Clone, PartialEq, Debug)]
pub struct CreateView {
    pub name: TableName,
    pub if_not_exists: bool,
    pub or_replace: bool,
    /// Empty: those of the SELECT.
    pub columns: Vec<ColumnSpec>,
    pub query: Query,
    pub comment: String,
    pub materialized: Option<Materialized>,
    /// Its SELECT is run by the clock, and sees no INSERTs.
    pub refresh: Option<Refresh>,
    /// EMPTY: the first run is not at once.
    pub is_empty: bool,
}

/// Where the rows of a materialized view go.
#[derive(Clone, PartialEq, Debug)]
pub enum Materialized {
    /// TO: a table that is there.
    To(TableName),
    /// A table of the view's own, whose engine and keys the statement gives. `populate`: with the rows that are there.
    Own { table: Box<CreateTable>, populate: bool },
}
