//! Headers by hand; files of the library are in `verify/tests.rs`.

use super::*;

/// Fields 1 to 3, and what follows.
fn page(kind: u8, decoded: u8, stored: u8, rest: &[u8], content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x15, kind << 1, 0x15, decoded << 1, 0x15, stored << 1];
    bytes.extend_from_slice(rest);
    bytes.extend_from_slice(content);
    bytes
}

/// Field 5 behind field 3: values, PLAIN, RLE, RLE.
const DATA: [u8; 11] = [0x2c, 0x15, 8, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
/// Field 7 behind field 3: entries, PLAIN.
const DICTIONARY: [u8; 7] = [0x4c, 0x15, 4, 0x15, 0, 0, 0];

#[test]
fn pages_follow_each_other() {
    let mut chunk = page(2, 9, 2, &DICTIONARY, b"di");
    let first = chunk.len();
    chunk.extend(page(0, 7, 3, &DATA, b"abc"));
    let second = chunk.len();
    // Behind a checksum of -2 the fields count from 4.
    let mut with_sum = vec![0x15, 3];
    with_sum.push(0x1c);
    with_sum.extend_from_slice(&DATA[1..]);
    chunk.extend(page(0, 1, 1, &with_sum, b"x"));
    let pages = pages(&chunk, 8, true).unwrap();
    let shown: Vec<_> = pages
        .iter()
        .map(|page| {
            (page.is_dictionary, &chunk[page.content.clone()], page.decoded_bytes, page.values, page.crc)
        })
        .collect();
    assert_eq!(
        shown,
        [
            (true, &b"di"[..], 9, 2, None),
            (false, &b"abc"[..], 7, 4, None),
            (false, &b"x"[..], 1, 4, Some(u32::MAX - 1))
        ]
    );
    assert_eq!(pages[0].content.end, first);
    assert_eq!(pages[1].content.end, second);
}

#[test]
fn statistics_in_headers_are_passed_over() {
    // Field 5 of the data page: a struct of two texts, a number, a list, a map and a double.
    let texts = [0x18, 2, b'h', b'i', 0x18, 0];
    let number = [0x16, 0x80, 1];
    let list = [0x19, 0x21, 1, 2];
    let map = [0x1b, 1, 0x58, 4, 1, b'v'];
    let double = [0x17, 0, 0, 0, 0, 0, 0, 0, 0];
    let statistics = [&[0x1c][..], &texts, &number, &list, &map, &double, &[0]].concat();
    let mut rest = DATA[..9].to_vec();
    rest.extend_from_slice(&statistics);
    rest.extend_from_slice(&[0, 0]);
    let chunk = page(0, 3, 3, &rest, b"abc");
    let pages = pages(&chunk, 4, true).unwrap();
    assert_eq!(&chunk[pages[0].content.clone()], b"abc");
}

#[test]
fn what_cannot_be_copied_is_told_from_what_is_broken() {
    let levels_as_bits = [0x2c, 0x15, 8, 0x15, 0, 0x15, 8, 0x15, 6, 0, 0];
    let no_values = [0x2c, 0x15, 0, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];
    let mut dictionary_behind = page(0, 1, 1, &DATA, b"x");
    dictionary_behind.extend(page(2, 2, 2, &DICTIONARY, b"di"));
    let mut second_broken = page(0, 1, 1, &DATA, b"x");
    second_broken.extend([0x15, 0]);
    let unread = WalkError::Broken(0, "its header cannot be read");
    let other_count = WalkError::Broken(0, "its pages have not as many values as its row group has rows");
    let twice = page(0, 1, 1, &[0x2c, 0x15, 8, 0x05, 2, 8, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0], b"x");
    let as_both = page(0, 1, 1, &[&DATA[..10], &[0x2c, 0x15, 8, 0x15, 10, 0, 0]].concat(), b"x");
    let delta_texts = page(0, 1, 1, &[0x2c, 0x15, 8, 0x15, 14, 0x15, 6, 0x15, 6, 0, 0], b"x");
    for (chunk, expected) in [
        (page(3, 1, 1, &DATA, b"x"), WalkError::Version2),
        (page(1, 1, 1, &DATA, b"x"), WalkError::Layout),
        (page(0, 1, 1, &levels_as_bits, b"x"), WalkError::Layout),
        (page(0, 1, 1, &no_values, b"x"), WalkError::Layout),
        (twice, WalkError::Layout),
        (as_both, WalkError::Layout),
        (delta_texts, WalkError::Layout),
        (page(0, 1, 1, &DICTIONARY, b"x"), WalkError::Layout),
        (page(2, 2, 2, &DATA, b"di"), WalkError::Layout),
        (dictionary_behind, WalkError::Layout),
        (page(0, 1, 2, &DATA, b"x"), WalkError::Broken(0, "it is longer than its column chunk")),
        (page(9, 1, 1, &DATA, b"x"), WalkError::Broken(0, "its header does not say what it is")),
        (page(0, 1, 1, &[0], b"x"), WalkError::Broken(0, "its header does not say its values")),
        (page(2, 2, 2, &DICTIONARY, b"di"), other_count.clone()),
        (page(2, 1, 2, &DICTIONARY, b"di"), WalkError::Broken(0, "it has more entries than bytes")),
        (Vec::new(), other_count),
        (second_broken, WalkError::Broken(1, "its header cannot be read")),
        (vec![0xff; 40], unread.clone()),
        (vec![0x1c; 4000], unread),
    ] {
        assert_eq!(pages(&chunk, 4, true).unwrap_err(), expected, "{chunk:?}");
    }
    assert!(pages(&page(0, 1, 1, &levels_as_bits, b"x"), 4, false).is_ok(), "no levels are written");
}

#[test]
fn pages_are_not_counted_without_end() {
    let chunk = page(0, 1, 1, &DATA, b"x").repeat(200);
    assert_eq!(pages(&chunk, 800, true).unwrap_err(), WalkError::Layout);
    assert_eq!(pages(&chunk[..chunk.len() / 4], 200, true).map(|pages| pages.len()), Ok(50));
}
