//! Room for the copies that are made of rows on their way out of a statement: into a table, or to who asked.
//!
//! Batches are small, but for single rows that are large: nobody can cut those. Invariant: asked before the copies are made;
//! the room is not kept, for the copies count themselves. Must not know: who copies.

use arrow::array::RecordBatch;
use functions::row_bytes;
use host::meter;

use crate::error::Error;

/// Copies of fewer bytes are not asked for.
const LARGE_BYTES: usize = 16 << 20;

/// Asks whether a batch can be copied so many times.
///
/// # Errors
/// The statement may not have so much memory: 241.
pub fn room_for(batch: &RecordBatch, copies: usize, consumer: &'static str) -> Result<(), Error> {
    let bytes = batch.columns().iter().map(row_bytes).fold(0, usize::saturating_add);
    if bytes > LARGE_BYTES {
        drop(meter::reserve(consumer, bytes.saturating_mul(copies))?);
    }
    Ok(())
}
