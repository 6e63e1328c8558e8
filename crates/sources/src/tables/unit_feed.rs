//! Where the streams of a scan of files get their units, if several servers share them.
//!
//! Invariant: who reads which unit is the feed's business; every unit it gives is read whole. Must not know: where a feed gets them.

use std::fmt::Debug;
use std::pin::Pin;

use stores::error::Result;

use crate::tables::split::SourceUnit;

/// The next unit, when it is there.
pub type NextSourceUnit<'a> = Pin<Box<dyn Future<Output = Result<Option<SourceUnit>>> + Send + 'a>>;

/// Where the streams of one scan get their units.
pub trait UnitFeed: Send + Sync + Debug {
    /// The next unit; `None` when there are no more.
    fn next(&self) -> NextSourceUnit<'_>;
}
