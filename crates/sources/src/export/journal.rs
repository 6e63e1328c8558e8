//! What a statement that writes objects needs of whoever remembers it.
//!
//! Invariant: a key belongs to one statement at a time, and what was begun under it is known before a byte of it is
//! sent. Must not know: where that is written down.

use futures::future::BoxFuture;
use model::export::{ExportObject, ExportStore};
use stores::error::Result;

/// Remembers what was begun, so that it can be undone without this process.
pub trait ExportJournal: Send + Sync {
    /// Durable when it returns. May block.
    ///
    /// # Errors
    /// Nothing may be written then.
    fn opened(&self, objects: &[ExportObject]) -> Result<()>;

    /// Keeps a key for this statement until it is over; asked before what is there is looked at. With `waits` a key that
    /// another statement has is waited for, as long as that cannot be for ever.
    ///
    /// # Errors
    /// The key is not this statement's: another writes it, this one has it already, or it waits to be completed.
    fn reserve<'a>(&'a self, place: &'a ExportStore, key: &'a str, waits: bool) -> BoxFuture<'a, Result<()>>;
}
