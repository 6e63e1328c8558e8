//! One table: rows in, parts merged, rows out.
//!
//! Invariant: whatever is written becomes visible by a transaction of the catalog and by nothing else; files that no
//! transaction names are garbage. Must not know: SQL, DataFusion; keys arrive as [`model::RowExpr`].

pub mod error;
pub mod table;
pub mod pressure;
pub mod origin;
pub mod survivors;
pub mod inline;
pub mod write;
pub mod memtable;
pub mod flush;
pub mod merge;
pub mod masks;
pub mod bring_in;
pub mod scan;
pub mod lost;
pub mod collect;
pub mod frozen;
pub mod sweep;
pub mod folder_check;
pub mod root_check;

pub use error::TableError;
pub use table::Table;
