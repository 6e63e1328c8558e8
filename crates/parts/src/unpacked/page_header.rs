//! The beginning of a page's header: what kind of page follows, and how large it is with and without compression.
//!
//! The header is a Thrift struct in the compact protocol; its first three fields are all that is needed here, and every
//! writer begins with them (Parquet format, `PageHeader`: 1 type, 2 uncompressed_page_size, 3 compressed_page_size).
//! Pure. Invariant: a header is understood entirely or not at all; one rewritten by [`PageHeader::for_unpacked`] is the
//! header of the same page without compression.

/// A field of type i32 whose id is one more than that of the field in front of it.
const NEXT_FIELD_I32: u8 = 0x15;
/// Page types: DATA_PAGE and DICTIONARY_PAGE. Only these are compressed as a whole.
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
/// Bytes of a 32-bit number at most.
const VARINT_BYTES_MAX: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageHeader {
    /// Bytes of the page behind its header, as stored.
    pub packed: u32,
    /// The same bytes without compression.
    pub unpacked: u32,
    /// Where the field with the stored size begins, and where the next one does.
    packed_field: (usize, usize),
}

impl PageHeader {
    /// `None` if these are not the first bytes of the header of a page that is compressed as a whole.
    pub(super) fn parse(bytes: &[u8]) -> Option<PageHeader> {
        let mut at = 0;
        let kind = next_i32(bytes, &mut at)?;
        let unpacked = u32::try_from(next_i32(bytes, &mut at)?).ok()?;
        let packed_at = at;
        let packed = u32::try_from(next_i32(bytes, &mut at)?).ok()?;
        matches!(kind, DATA_PAGE | DICTIONARY_PAGE).then_some(PageHeader {
            packed,
            unpacked,
            packed_field: (packed_at, at),
        })
    }

    /// Bytes of the header of a page that takes `stored` bytes; `None` if they are too few for it and its content.
    pub(super) fn header_bytes(&self, stored: usize) -> Option<usize> {
        let header = stored.checked_sub(usize::try_from(self.packed).ok()?)?;
        // A damaged size may end the header within the fields that were just read.
        (header >= self.packed_field.1).then_some(header)
    }

    /// Bytes of [`PageHeader::for_unpacked`] for a header of [`PageHeader::header_bytes`].
    pub(super) fn unpacked_header_bytes(&self, header: usize) -> usize {
        let (begin, end) = self.packed_field;
        header - (end - begin) + 1 + varint(zigzag(self.unpacked)).1
    }

    /// The header with the stored size replaced by that without compression.
    pub(super) fn for_unpacked(&self, header: &[u8], out: &mut Vec<u8>) {
        let (begin, end) = self.packed_field;
        out.extend_from_slice(&header[..begin]);
        out.push(NEXT_FIELD_I32);
        let (bytes, count) = varint(zigzag(self.unpacked));
        out.extend_from_slice(&bytes[..count]);
        out.extend_from_slice(&header[end..]);
    }
}

/// Reads the field behind `at`, which must be an i32 with the next id.
fn next_i32(bytes: &[u8], at: &mut usize) -> Option<i32> {
    if *bytes.get(*at)? != NEXT_FIELD_I32 {
        return None;
    }
    *at += 1;
    let mut value: u64 = 0;
    for place in 0..VARINT_BYTES_MAX {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).ok()?;
            // Zigzag: 0, -1, 1, -2, ..
            let half = i32::try_from(value >> 1).ok()?;
            return Some(if value & 1 == 0 { half } else { -half - 1 });
        }
    }
    None
}

fn zigzag(value: u32) -> u64 {
    u64::from(value) << 1
}

fn varint(mut value: u64) -> ([u8; VARINT_BYTES_MAX], usize) {
    let mut bytes = [0; VARINT_BYTES_MAX];
    for (count, byte) in bytes.iter_mut().enumerate() {
        let low = u8::try_from(value & 0x7f).unwrap_or_default();
        value >>= 7;
        if value == 0 {
            *byte = low;
            return (bytes, count + 1);
        }
        *byte = low | 0x80;
    }
    (bytes, VARINT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of three fields and an end, as a writer makes it.
    fn header(kind: u32, unpacked: u32, packed: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in [kind, unpacked, packed] {
            bytes.push(NEXT_FIELD_I32);
            let (number, count) = varint(zigzag(field));
            bytes.extend_from_slice(&number[..count]);
        }
        bytes.extend_from_slice(b"rest");
        bytes
    }

    #[test]
    fn sizes_are_read_and_replaced() {
        for (unpacked, packed) in [(0, 0), (63, 64), (524_288, 170_001), (64, 8192), (0x7fff_ffff, 1)] {
            let bytes = header(0, unpacked, packed);
            let parsed = PageHeader::parse(&bytes).unwrap();
            assert_eq!((parsed.unpacked, parsed.packed), (unpacked, packed));
            let mut rewritten = Vec::new();
            parsed.for_unpacked(&bytes, &mut rewritten);
            assert_eq!(rewritten, header(0, unpacked, unpacked));
            assert_eq!(parsed.unpacked_header_bytes(bytes.len()), rewritten.len());
        }
    }

    #[test]
    fn a_size_that_leaves_no_room_for_the_header_is_found() {
        let bytes = header(0, 500, 100);
        let parsed = PageHeader::parse(&bytes).unwrap();
        assert_eq!(parsed.header_bytes(bytes.len() + 100), Some(bytes.len()));
        for stored in [0, 99, 100, 103] {
            assert_eq!(parsed.header_bytes(stored), None, "{stored}");
        }
    }

    #[test]
    fn what_is_no_such_header_is_not_understood() {
        assert!(PageHeader::parse(&header(2, 5, 5)).is_some(), "a dictionary");
        assert!(
            PageHeader::parse(&header(3, 5, 5)).is_none(),
            "a page of version 2 keeps its levels as they are"
        );
        assert!(PageHeader::parse(&header(0, 5, 5)[..5]).is_none(), "cut");
        assert!(PageHeader::parse(&[0x15, 0x00, 0x15, 0x01, 0x15, 0x02]).is_none(), "a negative size");
        assert!(PageHeader::parse(&[0x15, 0x00, 0x25, 0x02, 0x15, 0x02]).is_none(), "another field");
        assert!(
            PageHeader::parse(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).is_none(),
            "no end of a number"
        );
        assert!(PageHeader::parse(&[]).is_none());
    }
}
