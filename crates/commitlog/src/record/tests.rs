//! A frame is accepted only as what was written.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn envelope(seq: u64) -> Envelope {
    let (uuid, previous_hash) = ([7; 16], [9; 16]);
    Envelope { stream: 3, seq, epoch: 2, commit_time_ms: 1_700_000_000_000, uuid, previous_hash }
}

fn framed(seq: u64, transactions: &[Vec<u8>], salt: u32) -> (Record, Bytes) {
    let transactions: Vec<Bytes> = transactions.iter().map(|t| Bytes::copy_from_slice(t)).collect();
    let mut frame = Vec::new();
    encode(&envelope(seq), &transactions, salt, &mut frame).expect("fits");
    assert_eq!(u64::try_from(frame.len()).expect("fits"), frame_bytes(&transactions));
    (Record { envelope: envelope(seq), transactions }, frame.into())
}

/// Puts the checksums right after a deliberate change.
fn resealed(frame: &Bytes, change: impl Fn(&mut Vec<u8>)) -> Bytes {
    let mut bytes = frame.to_vec();
    change(&mut bytes);
    let header = crc32c::crc32c_append(0, &bytes[..80]);
    bytes[80..84].copy_from_slice(&header.to_le_bytes());
    let end = bytes.len() - 4;
    let whole = crc32c::crc32c_append(0, &bytes[..end]);
    bytes[end..].copy_from_slice(&whole.to_le_bytes());
    bytes.into()
}

proptest! {
    #[test]
    fn what_is_written_is_read(seq: u64, salt: u32, transactions in vec(vec(any::<u8>(), 0..200), 0..8)) {
        let (record, frame) = framed(seq, &transactions, salt);
        prop_assert_eq!(decode(&frame, salt), Ok(record));
        let head = decode_head(&frame[..HEADER_BYTES], salt).expect("a header");
        prop_assert_eq!(usize::try_from(head.frame_bytes).expect("fits"), frame.len());
    }

    #[test]
    fn changed_bytes_are_never_another_record(
        transactions in vec(vec(any::<u8>(), 0..60), 0..4),
        changes in vec((any::<prop::sample::Index>(), 1..=u8::MAX), 1..12),
    ) {
        let (record, frame) = framed(5, &transactions, 1);
        let mut bytes = frame.to_vec();
        for (at, mask) in changes {
            let at = at.index(bytes.len());
            bytes[at] ^= mask;
        }
        let unchanged = bytes[..] == frame[..];
        match decode(&bytes.into(), 1) {
            Ok(read) => prop_assert!(unchanged && read == record),
            Err(_) => prop_assert!(!unchanged),
        }
    }

    #[test]
    fn cut_lengthened_or_shifted_bytes_are_no_record(
        transactions in vec(vec(any::<u8>(), 0..60), 1..4),
        cut: prop::sample::Index,
        more in vec(any::<u8>(), 1..50),
    ) {
        let (_, frame) = framed(5, &transactions, 1);
        prop_assert!(decode(&frame.slice(..cut.index(frame.len())), 1).is_err());
        prop_assert!(decode(&frame.slice(1 + cut.index(frame.len() - 1)..), 1).is_err());
        let longer: Vec<u8> = frame.iter().chain(&more).copied().collect();
        prop_assert_eq!(decode(&longer.into(), 1), Err(BadFrame::Lengths));
        let zeroed: Vec<u8> = frame.iter().enumerate().map(|(i, b)| if i < 40 { *b } else { 0 }).collect();
        prop_assert!(decode(&zeroed.into(), 1).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_no_record_and_no_panic(bytes in vec(any::<u8>(), 0..300), salt: u32) {
        prop_assert!(decode(&Bytes::from(bytes), salt).is_err());
    }
}

#[test]
fn a_frame_of_another_file_is_no_frame_here() {
    let (_, frame) = framed(5, &[b"x".to_vec()], 1);
    assert_eq!(decode(&frame, 2), Err(BadFrame::HeaderChecksum));
}

#[test]
fn a_newer_record_is_recognised_and_not_called_damaged() {
    let (_, frame) = framed(5, &[b"x".to_vec()], 0);
    let newer = resealed(&frame, |bytes| bytes[4..8].copy_from_slice(&[9, 0, 2, 0]));
    assert_eq!(decode(&newer, 0), Err(BadFrame::TooNew(2)));
    let readable = resealed(&frame, |bytes| bytes[4..8].copy_from_slice(&[9, 0, 1, 0]));
    assert!(decode(&readable, 0).is_ok(), "a later version which this program may read");
}

#[test]
fn lengths_that_do_not_add_up_are_refused_though_the_checksums_match() {
    let (_, frame) = framed(5, &[b"abc".to_vec(), b"d".to_vec()], 0);
    let count = |n: u8| resealed(&frame, move |bytes| bytes[12] = n);
    let length = |n: u8| resealed(&frame, move |bytes| bytes[84] = n);
    for bad in [count(1), count(3), count(200), length(2), length(4), length(255)] {
        assert_eq!(decode(&bad, 0), Err(BadFrame::Lengths));
    }
    let short = resealed(&frame, |bytes| bytes[8] = 10);
    assert_eq!(decode(&short, 0), Err(BadFrame::Lengths));
}

/// The bytes of version 1, for ever: a change here is a change of the format and needs a new version.
#[test]
fn the_frame_of_version_1_is_as_drawn() {
    let (_, frame) = framed(258, &[b"ab".to_vec(), Vec::new()], 0);
    let hex: Vec<String> =
        frame.chunks(16).map(|row| row.iter().map(|b| format!("{b:02x}")).collect()).collect();
    insta::assert_snapshot!(hex.join("\n"), @r"
    47525243010001006200000002000000
    03000000000000000201000000000000
    02000000000000000068e5cf8b010000
    07070707070707070707070707070707
    09090909090909090909090909090909
    eb98687f020000006162000000009490
    30dd
    ");
}
