//! A column of generated texts.
//!
//! Invariant: a text is written where it will stay; nothing is copied. Knows nothing of what the texts say.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::error::ArrowError;

/// Strings behind one another: bodies are written where they will stay.
#[derive(Default)]
pub(super) struct TextColumn {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl TextColumn {
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(i32::try_from(self.bytes.len()).unwrap_or(i32::MAX));
    }

    pub(super) fn finish(self) -> Result<ArrayRef, ArrowError> {
        let offsets: Vec<i32> = std::iter::once(0).chain(self.ends).collect();
        let values = Buffer::from_vec(self.bytes);
        Ok(Arc::new(StringArray::try_new(OffsetBuffer::new(offsets.into()), values, None)?))
    }
}
