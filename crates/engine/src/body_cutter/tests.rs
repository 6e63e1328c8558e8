//! Pieces are the body, whole and in order, and end where records do, however the body arrives.

use bytes::Bytes;
use formats::{FormatKind, FormatSettings, RecordBoundaries};

use super::*;

fn cutter(kind: FormatKind, chunks: &[&[u8]], seen: usize, consumed: u64) -> Cutter {
    let boundaries = RecordBoundaries::with_blocks(kind, &FormatSettings::default()).unwrap();
    let mut chunks: Vec<Bytes> = chunks.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
    let later = chunks.split_off(seen);
    Cutter::new(chunks, futures::stream::iter(later.into_iter().map(Ok)).boxed(), boundaries, consumed)
}

/// Position and bytes of every piece; the last may be empty, as nobody knows before that a body has ended.
async fn pieces(mut cutter: Cutter, bytes_aimed: usize) -> Vec<(u64, Vec<u8>)> {
    let mut pieces = Vec::new();
    loop {
        let (piece, is_last) = match cutter.next(bytes_aimed).await.unwrap() {
            Cut::Records(piece) => (piece, false),
            Cut::Last(piece) => (piece, true),
            Cut::Endless => {
                let (position, rest) = cutter.rest();
                let rest: Vec<Bytes> = rest.map(Result::unwrap).collect().await;
                pieces.push((position, rest.concat()));
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

#[tokio::test]
async fn pieces_are_the_body_wherever_it_is_cut() {
    let body = b"1,\"a\nb\"\r\n2,\"\"\"\n\"\r\n3,c\r\n4,\"d";
    for first in 0..body.len() {
        for second in first..body.len() {
            let chunks = [&body[..first], &body[first..second], &body[second..]];
            for seen in 0..=3 {
                let found = pieces(cutter(FormatKind::Csv, &chunks, seen, 0), 1).await;
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

#[tokio::test]
async fn bytes_that_somebody_read_are_scanned_and_not_given_again() {
    // The quote that somebody else began to read is known; the mark in front of it belongs to no record.
    let chunks: [&[u8]; 3] = [b"\xef", b"\xbb\xbf\"a\n", b"\",1\n2,3\n"];
    let found = pieces(cutter(FormatKind::Csv, &chunks, 2, 5), 1).await;
    assert_eq!(found, [(5, b"\n\",1\n2,3\n".to_vec()), (14, vec![])]);
    // Small steps of a body whose pieces are large.
    let chunks: [&[u8]; 4] = [b"1\n", b"2\n", b"3\n", b"4\n"];
    let found = pieces(cutter(FormatKind::Csv, &chunks, 0, 0), 5).await;
    assert_eq!(found, [(0, b"1\n2\n3\n".to_vec()), (6, b"4\n".to_vec())]);
}

#[tokio::test]
async fn what_has_no_ends_is_left_whole() {
    let array: [&[u8]; 2] = [b"[{\"a\":1},\n", b"{\"a\":2}]\n"];
    let found = pieces(cutter(FormatKind::JsonEachRow, &array, 1, 9), 1).await;
    assert_eq!(found, [(9, b"\n{\"a\":2}]\n".to_vec())]);
    let line = vec![b'x'; OPEN_BYTES_MAX / 2];
    let found = pieces(cutter(FormatKind::Csv, &[b"1\n", &line, &line, &line], 0, 0), 1).await;
    let lengths: Vec<usize> = found.iter().map(|(_, piece)| piece.len()).collect();
    assert_eq!(lengths, [2, 3 * line.len()]);
}
