//! Work that nobody waits for, and work of the same kind that somebody asked for: merges, flushes, scrubbing, shutdown.
//!
//! Must not know: queries.

pub(crate) mod merging;
pub(crate) mod following;
pub(crate) mod shutdown;
pub(crate) mod optimize;
pub(crate) mod scrub;
mod abandoned;
pub(crate) mod refreshing;
pub(crate) mod loops;
