//! A reader pushed bytes in whatever chunks they come.
//!
//! Invariant: the reader is given every byte once and in order; only what a row still lacks is copied and kept.

use arrow::array::RecordBatch;
use bytes::{Bytes, BytesMut};

use crate::error::FormatError;
use crate::rows::reject::RejectedRow;
use crate::rows::split::{Header, RowReader};

/// Bytes of a chunk that complete the row before them, at first: more than most rows have.
const JOINED_BYTES_MIN: usize = 4 << 10;

/// A reader, and the bytes that it was given and has not used.
pub struct Feed {
    reader: Box<dyn RowReader>,
    rest: BytesMut,
    consumed: u64,
}

impl Feed {
    pub fn new(reader: Box<dyn RowReader>) -> Self {
        Self { reader, rest: BytesMut::new(), consumed: 0 }
    }

    /// What the header says, if there is one.
    pub fn header(&self) -> Header<'_> {
        self.reader.header()
    }

    /// Rows that were skipped.
    pub fn rejected(&self) -> u64 {
        self.reader.rejected()
    }

    /// Skipped rows not taken yet.
    pub fn take_rejected(&mut self) -> Vec<RejectedRow> {
        self.reader.take_rejected()
    }

    /// Bytes that became rows, or stand for none.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Bytes of an unfinished row.
    pub fn held(&self) -> usize {
        self.rest.len()
    }

    /// Lets go what is not used, for whoever has these bytes himself.
    pub fn forget_rest(&mut self) {
        self.rest = BytesMut::new();
    }

    fn read(&mut self, bytes: &[u8], end: bool, out: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        let consumed = self.reader.read(bytes, end, out)?.min(bytes.len());
        self.consumed += consumed as u64;
        Ok(consumed)
    }

    /// Reads what there is with `chunk` behind it; `end` says that nothing follows. A row that began in the chunk before
    /// gets what it needs of this one; the rest is read where it lies.
    ///
    /// # Errors
    /// What the reader says.
    pub fn take(
        &mut self,
        mut chunk: &[u8],
        end: bool,
        out: &mut Vec<RecordBatch>,
    ) -> Result<(), FormatError> {
        let mut step = JOINED_BYTES_MIN;
        while !self.rest.is_empty() && !chunk.is_empty() {
            let (joined, behind) = chunk.split_at(step.min(chunk.len()));
            let held = self.rest.len();
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(joined);
            let consumed = self.read(&rest, false, out)?;
            match consumed.checked_sub(held) {
                Some(of_chunk) => chunk = chunk.get(of_chunk..).unwrap_or_default(),
                None => {
                    let _ = rest.split_to(consumed);
                    self.rest = rest;
                    chunk = behind;
                    step = step.saturating_mul(2);
                }
            }
        }
        if self.rest.is_empty() {
            let consumed = self.read(chunk, end, out)?;
            self.rest.extend_from_slice(chunk.get(consumed..).unwrap_or_default());
        } else if end {
            let rest = std::mem::take(&mut self.rest);
            self.read(&rest, true, out)?;
        }
        Ok(())
    }

    /// [`Feed::take`] of bytes that lie in several parts. If `joins`, they are put together first: columns of a block
    /// are longer than a part, and each of them would be.
    ///
    /// # Errors
    /// What the reader says.
    pub fn take_all(
        &mut self,
        parts: Vec<Bytes>,
        joins: bool,
        end: bool,
        out: &mut Vec<RecordBatch>,
    ) -> Result<(), FormatError> {
        if parts.len() < 2 || joins {
            return self.take(&joined(parts), end, out);
        }
        let last = parts.len() - 1;
        parts.iter().enumerate().try_for_each(|(at, part)| self.take(part, end && at == last, out))
    }
}

/// The parts end to end; copied if there are several.
pub fn joined(mut parts: Vec<Bytes>) -> Bytes {
    if parts.len() < 2 {
        return parts.pop().unwrap_or_default();
    }
    let mut joined = Vec::with_capacity(parts.iter().map(Bytes::len).sum());
    parts.iter().for_each(|part| joined.extend_from_slice(part));
    joined.into()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Takes lines, and says what it was given.
    #[derive(Default)]
    struct Lines {
        taken: Arc<Mutex<Vec<u8>>>,
        calls: Arc<Mutex<Vec<bool>>>,
    }

    impl RowReader for Lines {
        fn read(&mut self, bytes: &[u8], end: bool, _: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
            let ends = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let consumed = if end { bytes.len() } else { ends };
            self.taken.lock().unwrap().extend_from_slice(&bytes[..consumed]);
            self.calls.lock().unwrap().push(end);
            Ok(consumed)
        }
    }

    #[test]
    fn every_byte_is_read_once() {
        let long = vec![b'x'; 5 * JOINED_BYTES_MIN];
        let body = [b"a\nbc\n\n".as_slice(), &long, b"\n", &long, &long, b"\nd\ne"].concat();
        for length in [1, 2, 3, 100, 4096, 5000, 16_384, 50_000, body.len()] {
            for joins in [false, true] {
                let lines = Lines::default();
                let (taken, calls) = (Arc::clone(&lines.taken), Arc::clone(&lines.calls));
                let mut feed = Feed::new(Box::new(lines));
                let mut parts: Vec<Bytes> = body.chunks(length).map(Bytes::copy_from_slice).collect();
                let last = parts.split_off(parts.len() / 2);
                feed.take_all(parts, joins, false, &mut Vec::new()).unwrap();
                feed.take_all(last, joins, true, &mut Vec::new()).unwrap();
                assert!(*taken.lock().unwrap() == body, "{length}");
                assert_eq!((feed.consumed(), feed.held()), (body.len() as u64, 0));
                // The end is said once, and last.
                let calls = calls.lock().unwrap();
                assert_eq!(calls.iter().position(|end| *end), Some(calls.len() - 1), "{length}");
            }
        }
    }
}
