//! A reader gets every byte once and in order, whatever the chunks.

use formats::FormatError;

use super::*;

/// Takes lines, and says what it was given.
#[derive(Default)]
struct Lines {
    taken: Arc<parking_lot::Mutex<Vec<u8>>>,
    calls: Arc<parking_lot::Mutex<Vec<bool>>>,
}

impl RowReader for Lines {
    fn read(&mut self, bytes: &[u8], end: bool, _: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        let ends = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let consumed = if end { bytes.len() } else { ends };
        self.taken.lock().extend_from_slice(&bytes[..consumed]);
        self.calls.lock().push(end);
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
            assert!(*taken.lock() == body, "{length}");
            assert_eq!(feed.consumed(), body.len() as u64);
            // The end is said once, and last.
            let calls = calls.lock();
            assert_eq!(calls.iter().position(|end| *end), Some(calls.len() - 1), "{length}");
        }
    }
}
