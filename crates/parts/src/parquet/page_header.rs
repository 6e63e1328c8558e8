//! A page's header: what kind of page follows, and how large it is with and without compression.
//!
//! The header is a Thrift struct in the compact protocol. To read one, its first three fields are all that is needed, and
//! every writer begins with them (Parquet format, `PageHeader`: 1 type, 2 uncompressed_page_size, 3 compressed_page_size).
//! A fourth may follow: 4 crc, the CRC-32 of the page as it is stored behind its header.
//! Pure. Invariant: a header is understood entirely or not at all; one rewritten by [`PageHeader::for_unpacked`] is the
//! header of the same page without compression.

/// A field of type i32 whose id is one more than that of the field in front of it.
const NEXT_FIELD_I32: u8 = 0x15;
/// Page types: DATA_PAGE and DICTIONARY_PAGE. Only these are compressed as a whole.
const DATA_PAGE: u32 = 0;
const DICTIONARY_PAGE: u32 = 2;
/// The field `data_page_header`, a struct, the id after the sum; its first field has the id 1.
const DATA_PAGE_HEADER: u8 = 0x1c;
/// The field `dictionary_page_header`, a struct, two ids further.
const DICTIONARY_PAGE_HEADER: u8 = 0x3c;
/// What a field's first byte is larger by for each id between it and the field in front of it.
const ID_STEP: u8 = 0x10;
/// Ends a struct.
const STOP: u8 = 0;
/// Bytes of a 32-bit number at most.
const VARINT_BYTES_MAX: usize = 5;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageHeader {
    /// Bytes of the page behind its header, as stored.
    pub packed: u32,
    /// The same bytes without compression.
    pub unpacked: u32,
    /// Where the field with the stored size begins, and where the next one does.
    packed_field: (usize, usize),
    /// Where the field behind the sum begins, if there is a sum.
    behind_sum: Option<usize>,
}

/// What a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageKind {
    Data,
    Dictionary,
}

/// A header without a sum as one with it; `None` if it is not understood.
pub(crate) fn with_sum(header: &[u8], sum: u32) -> Option<(PageKind, Vec<u8>)> {
    let mut at = 0;
    let kind = u32::try_from(next_i32(header, &mut at)?).ok()?;
    next_i32(header, &mut at)?;
    next_i32(header, &mut at)?;
    let (next, behind) = header[at..].split_first()?;
    // Two ids or more: there is room for the sum's id in between.
    let next = next.checked_sub(ID_STEP).filter(|next| *next >= ID_STEP)?;
    let mut summed = Vec::with_capacity(header.len() + 1 + VARINT_BYTES_MAX);
    summed.extend_from_slice(&header[..at]);
    put_sum(sum, &mut summed);
    summed.push(next);
    summed.extend_from_slice(behind);
    Some((if kind == DICTIONARY_PAGE { PageKind::Dictionary } else { PageKind::Data }, summed))
}

impl PageHeader {
    /// `None` if these are not the first bytes of the header of a page that is compressed as a whole.
    pub(crate) fn parse(bytes: &[u8]) -> Option<PageHeader> {
        let mut at = 0;
        let kind = u32::try_from(next_i32(bytes, &mut at)?).ok()?;
        let unpacked = u32::try_from(next_i32(bytes, &mut at)?).ok()?;
        let packed_at = at;
        let packed = u32::try_from(next_i32(bytes, &mut at)?).ok()?;
        let packed_field = (packed_at, at);
        let behind_sum = match bytes.get(at) {
            Some(&NEXT_FIELD_I32) => {
                next_i32(bytes, &mut at)?;
                (bytes.get(at)?.checked_add(ID_STEP)? >= 2 * ID_STEP).then_some(Some(at))?
            }
            _ => None,
        };
        let is_whole = matches!(kind, DATA_PAGE | DICTIONARY_PAGE);
        is_whole.then_some(PageHeader { packed, unpacked, packed_field, behind_sum })
    }

    /// Bytes of the header of a page that takes `stored` bytes; `None` if they are too few for it and its content.
    pub(crate) fn header_bytes(&self, stored: usize) -> Option<usize> {
        let header = stored.checked_sub(usize::try_from(self.packed).ok()?)?;
        // A damaged size may end the header within the fields that were just read.
        (header >= self.behind_sum.map_or(self.packed_field.1, |at| at + 1)).then_some(header)
    }

    /// Bytes of [`PageHeader::for_unpacked`] for a header of [`PageHeader::header_bytes`].
    pub(crate) fn unpacked_header_bytes(&self, header: usize) -> usize {
        let (begin, end) = self.packed_field;
        let sum = self.behind_sum.map_or(0, |at| at - end);
        header - (end - begin) - sum + 1 + varint_bytes(zigzag(self.unpacked))
    }

    /// The header with the stored size replaced by that without compression, and without the sum of what is stored.
    pub(crate) fn for_unpacked(&self, header: &[u8], out: &mut Vec<u8>) {
        let (begin, end) = self.packed_field;
        out.extend_from_slice(&header[..begin]);
        out.push(NEXT_FIELD_I32);
        put_varint(zigzag(self.unpacked), out);
        match self.behind_sum.and_then(|at| Some((header.get(at)?.checked_add(ID_STEP)?, &header[at + 1..])))
        {
            Some((next, behind)) => {
                out.push(next);
                out.extend_from_slice(behind);
            }
            None => out.extend_from_slice(&header[end..]),
        }
    }
}

/// A page of texts: DATA_PAGE with values in PLAIN and levels in RLE. `sum` is the CRC-32 of the packed page.
pub(crate) fn data_page_header(unpacked: u32, packed: u32, sum: u32, rows: u32) -> Vec<u8> {
    const PLAIN: u32 = 0;
    page_header(PageKind::Data, (unpacked, packed), sum, (rows, PLAIN))
}

/// A page whose levels, if it has any, are in RLE, without statistics. Sizes are those without and with compression, `sum` is the
/// CRC-32 of the packed page; then come its values and the number of their encoding.
pub(crate) fn page_header(
    kind: PageKind,
    (unpacked, packed): (u32, u32),
    sum: u32,
    (values, encoding): (u32, u32),
) -> Vec<u8> {
    const RLE: u32 = 3;
    let mut header = Vec::with_capacity(32);
    let number = if kind == PageKind::Dictionary { DICTIONARY_PAGE } else { DATA_PAGE };
    put_fields(&[number, unpacked, packed], &mut header);
    put_sum(sum, &mut header);
    match kind {
        PageKind::Data => {
            header.push(DATA_PAGE_HEADER);
            put_fields(&[values, encoding, RLE, RLE], &mut header);
        }
        PageKind::Dictionary => {
            header.push(DICTIONARY_PAGE_HEADER);
            put_fields(&[values, encoding], &mut header);
        }
    }
    header.extend_from_slice(&[STOP, STOP]);
    header
}

fn put_fields(fields: &[u32], out: &mut Vec<u8>) {
    for field in fields {
        out.push(NEXT_FIELD_I32);
        put_varint(zigzag(*field), out);
    }
}

/// The field `crc`, which the format has as a signed number.
fn put_sum(sum: u32, out: &mut Vec<u8>) {
    let signed = sum.cast_signed();
    out.push(NEXT_FIELD_I32);
    put_varint(u64::from((signed << 1 ^ signed >> 31).cast_unsigned()), out);
}

/// Appends a number, seven bits in a byte, the lowest first.
pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    out.push(low_bits(value));
}

fn low_bits(value: u64) -> u8 {
    u8::try_from(value & 0x7f).unwrap_or_default()
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

fn varint_bytes(value: u64) -> usize {
    let bits = (u64::BITS - value.leading_zeros()) as usize;
    bits.div_ceil(7).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of three fields and an end, as a writer makes it.
    fn header(kind: u32, unpacked: u32, packed: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_fields(&[kind, unpacked, packed], &mut bytes);
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
    fn a_written_header_is_read() {
        // Thrift's compact protocol by hand: 1 type 0, 2 size 600, 3 size 300, 4 crc -2, 5 { 1 values 3, 2 PLAIN, 3 RLE,
        // 4 RLE }.
        let expected =
            b"\x15\x00\x15\xb0\x09\x15\xd8\x04\x15\x03\x1c\x15\x06\x15\x00\x15\x06\x15\x06\x00\x00";
        assert_eq!(data_page_header(600, 300, 0xffff_fffe, 3), expected);
        let parsed = PageHeader::parse(expected).unwrap();
        assert_eq!((parsed.unpacked, parsed.packed), (600, 300));
    }

    #[test]
    fn a_copied_page_has_the_header_that_the_library_writes() {
        // A dictionary as below, with its sum: 1 type 2, 2 and 3 sizes, 4 crc -2, 7 { 1 values 3, 2 PLAIN }.
        let dictionary = b"\x15\x04\x15\xb0\x09\x15\xd8\x04\x15\x03\x3c\x15\x06\x15\x00\x00\x00";
        let header = page_header(PageKind::Dictionary, (600, 300), 0xffff_fffe, (3, 0));
        assert_eq!(header, dictionary);
        let data = page_header(PageKind::Data, (600, 300), 7, (3, 8));
        assert!(data.windows(2).any(|field| field == b"\x15\x10"), "the encoding is 8");
        assert!(PageHeader::parse(&header).is_some() && PageHeader::parse(&data).is_some());
    }

    #[test]
    fn a_sum_is_put_in_and_left_out_again() {
        // As above without the sum; and a dictionary: 1 type 2, 2 and 3 sizes, 7 { 1 values 3, 2 PLAIN }.
        let data = b"\x15\x00\x15\xb0\x09\x15\xd8\x04\x2c\x15\x06\x15\x00\x15\x06\x15\x06\x00\x00";
        let dictionary = b"\x15\x04\x15\xb0\x09\x15\xd8\x04\x4c\x15\x06\x15\x00\x00\x00";
        for (header, kind) in [(&data[..], PageKind::Data), (&dictionary[..], PageKind::Dictionary)] {
            for sum in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let (found, summed) = with_sum(header, sum).unwrap();
                assert_eq!(found, kind);
                assert_eq!(with_sum(&summed, sum), None, "it has one");
                let plain = PageHeader::parse(header).unwrap();
                let parsed = PageHeader::parse(&summed).unwrap();
                let (mut expected, mut unpacked) = (Vec::new(), Vec::new());
                plain.for_unpacked(header, &mut expected);
                parsed.for_unpacked(&summed, &mut unpacked);
                assert_eq!(unpacked, expected);
                assert_eq!(parsed.unpacked_header_bytes(summed.len()), unpacked.len());
                assert_eq!(parsed.header_bytes(summed.len() + 300), Some(summed.len()));
            }
        }
        assert_eq!(with_sum(&data[..8], 5), None);
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
