//! Bytes cut into pieces of whole records, as they arrive.
//!
//! Invariant: every byte pushed is in one piece, and the pieces come in order. A piece is made of parts of the chunks
//! themselves: nothing is copied. Beside the pieces given out no more is held than one that is open. Must not know: where
//! the bytes come from, readers.

use std::collections::VecDeque;

use bytes::Bytes;
use model::saturating::{u64_of, usize_of};

use crate::pieces::boundary::RecordBoundaries;

/// Bytes that are scanned at once at least.
const STEP_BYTES_MIN: usize = 64 << 10;
/// Without a record's end in this many bytes the rest is not cut.
const OPEN_BYTES_MAX: usize = 32 << 20;
/// A byte order mark, which is part of no record.
const MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// Whole records.
#[derive(Debug)]
pub struct Piece {
    /// End to end; none is empty.
    pub parts: Vec<Bytes>,
    /// Where it starts among all bytes.
    pub position: u64,
}

impl Piece {
    /// Length of all parts.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }
}

/// Where the next piece ends.
#[derive(Debug)]
pub enum Cut {
    /// Behind a record.
    Records(Piece),
    /// Behind bytes that are still to be pushed.
    Ahead,
    /// Nobody knows: what is left is for one reader.
    Endless,
}

/// See the module.
pub struct Cutter {
    boundaries: RecordBoundaries,
    /// Bytes of [`MARK`] seen so far; `None`: the first record has begun.
    mark: Option<usize>,
    unscanned: VecDeque<Bytes>,
    open: VecDeque<Bytes>,
    open_bytes: usize,
    /// Behind the last record in `open`.
    end: Option<usize>,
    position: u64,
}

impl Cutter {
    /// Of bytes that begin with `seen`, of which somebody else has read the first `consumed`.
    pub fn new(boundaries: RecordBoundaries, seen: Vec<Bytes>, consumed: u64) -> Cutter {
        let mark = boundaries.may_follow_mark().then_some(0);
        let (unscanned, open) = (VecDeque::new(), VecDeque::new());
        let mut cutter =
            Cutter { boundaries, mark, unscanned, open, open_bytes: 0, end: None, position: consumed };
        let mut before = usize_of(consumed);
        for mut chunk in seen {
            let read = chunk.split_to(before.min(chunk.len()));
            before -= read.len();
            cutter.scan(&read);
            cutter.push(chunk);
        }
        cutter
    }

    /// Of bytes behind the first `consumed`, which end with a record.
    pub fn behind(boundaries: RecordBoundaries, consumed: u64) -> Cutter {
        let mut cutter = Cutter::new(boundaries, Vec::new(), consumed);
        cutter.mark = cutter.mark.filter(|_| consumed == 0);
        cutter
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.unscanned.push_back(chunk);
        }
    }

    /// The next piece, of about `bytes_aimed`, out of what was pushed.
    pub fn next(&mut self, bytes_aimed: usize) -> Cut {
        loop {
            let is_lost = self.is_lost();
            if let Some(end) = self.end.filter(|_| is_lost || self.open_bytes >= bytes_aimed) {
                return Cut::Records(self.split(end));
            }
            if is_lost || self.end.is_none() && self.open_bytes >= OPEN_BYTES_MAX {
                return Cut::Endless;
            }
            let Some(mut chunk) = self.unscanned.pop_front() else { return Cut::Ahead };
            let wanted = bytes_aimed.saturating_sub(self.open_bytes).max(STEP_BYTES_MIN);
            let step = chunk.split_to(wanted.min(chunk.len()));
            if !chunk.is_empty() {
                self.unscanned.push_front(chunk);
            }
            self.end = self.scan(&step).map(|end| self.open_bytes + end).or(self.end);
            self.open_bytes += step.len();
            self.open.push_back(step);
        }
    }

    /// What is left when nothing is pushed any more; nothing may be in it. Only behind [`Cut::Ahead`].
    pub fn last(&mut self) -> Piece {
        self.split(self.open_bytes)
    }

    /// Whether no end of a record will be found any more.
    pub fn is_lost(&self) -> bool {
        self.boundaries.are_lost()
    }

    /// Where the next piece begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Everything that was pushed and is in no piece.
    pub fn into_rest(self) -> impl Iterator<Item = Bytes> {
        self.open.into_iter().chain(self.unscanned)
    }

    /// The end of the last record that ends in the next bytes.
    fn scan(&mut self, step: &[u8]) -> Option<usize> {
        let Some(seen) = self.mark else { return self.boundaries.advance(step) };
        let expected = &MARK[seen..];
        let same = step.iter().zip(expected).take_while(|(byte, mark)| byte == mark).count();
        let is_cut = same == step.len() && same < expected.len();
        self.mark = is_cut.then_some(seen + same);
        match is_cut {
            true => None,
            false if same == expected.len() => self.boundaries.advance(&step[same..]).map(|end| same + end),
            // What began as a mark is not one.
            false => {
                self.boundaries.advance(&MARK[..seen]);
                self.boundaries.advance(step)
            }
        }
    }

    /// The first bytes of what is open.
    fn split(&mut self, end: usize) -> Piece {
        let (position, mut left, mut parts) = (self.position, end, Vec::with_capacity(self.open.len()));
        while let Some(mut part) = self.open.pop_front() {
            let taken = part.split_to(left.min(part.len()));
            left -= taken.len();
            if !taken.is_empty() {
                parts.push(taken);
            }
            if !part.is_empty() {
                self.open.push_front(part);
                break;
            }
        }
        self.open_bytes -= end;
        self.end = None;
        self.position = position.saturating_add(u64_of(end));
        Piece { parts, position }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::FormatSettings;
    use model::format_kind::FormatKind;

    fn cutter(kind: FormatKind, seen: &[&[u8]], consumed: u64) -> Cutter {
        let boundaries = RecordBoundaries::with_blocks(kind, &FormatSettings::default()).unwrap();
        let seen = seen.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
        Cutter::new(boundaries, seen, consumed)
    }

    /// Position and bytes of every piece; the last may be empty, as nobody knows before that the bytes have ended.
    fn pieces(mut cutter: Cutter, later: &[&[u8]], bytes_aimed: usize) -> Vec<(u64, Vec<u8>)> {
        let (mut pieces, mut later) = (Vec::new(), later.iter());
        loop {
            let (piece, is_last) = match (cutter.next(bytes_aimed), later.len()) {
                (Cut::Records(piece), _) => (piece, false),
                (Cut::Ahead, 0) => (cutter.last(), true),
                (Cut::Ahead, _) => {
                    cutter.push(Bytes::copy_from_slice(later.next().unwrap()));
                    continue;
                }
                (Cut::Endless, _) => {
                    let position = cutter.position();
                    let rest: Vec<Bytes> = cutter.into_rest().collect();
                    let later: Vec<u8> = later.copied().flatten().copied().collect();
                    pieces.push((position, [rest.concat(), later].concat()));
                    return pieces;
                }
            };
            assert!(piece.parts.iter().all(|part| !part.is_empty()), "parts hold bytes");
            pieces.push((piece.position, piece.parts.concat()));
            if is_last {
                return pieces;
            }
        }
    }

    #[test]
    fn pieces_are_the_bytes_wherever_they_are_cut() {
        let body = b"1,\"a\nb\"\r\n2,\"\"\"\n\"\r\n3,c\r\n4,\"d";
        for first in 0..body.len() {
            for second in first..body.len() {
                let chunks = [&body[..first], &body[first..second], &body[second..]];
                for seen in 0..=3 {
                    let (seen, later) = chunks.split_at(seen);
                    let found = pieces(cutter(FormatKind::Csv, seen, 0), later, 1);
                    let mut position = 0;
                    for (at, piece) in &found {
                        assert_eq!(*at, position as u64, "{first} {second}");
                        position += piece.len();
                        let is_last = position == body.len();
                        assert!(is_last || [9, 18, 23].contains(&position), "{first} {second}: {position}");
                    }
                    assert_eq!(position, body.len(), "{first} {second}");
                }
            }
        }
    }

    #[test]
    fn bytes_that_somebody_read_are_scanned_and_not_given_again() {
        // The quote that somebody else began to read is known; the mark in front of it belongs to no record.
        let found = pieces(cutter(FormatKind::Csv, &[b"\xef", b"\xbb\xbf\"a\n"], 5), &[b"\",1\n2,3\n"], 1);
        assert_eq!(found, [(5, b"\n\",1\n2,3\n".to_vec()), (14, vec![])]);
        // Small steps of what is cut into large pieces.
        let found = pieces(cutter(FormatKind::Csv, &[], 0), &[b"1\n", b"2\n", b"3\n", b"4\n"], 5);
        assert_eq!(found, [(0, b"1\n2\n3\n".to_vec()), (6, b"4\n".to_vec())]);
    }

    #[test]
    fn a_mark_is_known_however_it_is_cut() {
        // A quote behind the mark opens a cell; behind two bytes of one it does not.
        for (text, end) in [(b"\xef\xbb\xbf\"\n\"\n2", 7), (b"\xef\xbb\xaf\"\n\"\n2", 5)] {
            for chunk in 1..=text.len() {
                let chunks: Vec<&[u8]> = text.chunks(chunk).collect();
                let found = pieces(cutter(FormatKind::Csv, &[], 0), &chunks, 1);
                assert_eq!(found[0].1, text[..end], "in steps of {chunk}");
            }
        }
    }

    #[test]
    fn what_has_no_ends_is_left_whole() {
        let found = pieces(cutter(FormatKind::JsonEachRow, &[b"[{\"a\":1},\n"], 9), &[b"{\"a\":2}]\n"], 1);
        assert_eq!(found, [(9, b"\n{\"a\":2}]\n".to_vec())]);
        let line = vec![b'x'; OPEN_BYTES_MAX / 2];
        let found = pieces(cutter(FormatKind::Csv, &[], 0), &[b"1\n", &line, &line, &line], 1);
        let lengths: Vec<usize> = found.iter().map(|(_, piece)| piece.len()).collect();
        assert_eq!(lengths, [2, 3 * line.len()]);
    }
}
