//! Where the frames of a compressed file end, found in the stored bytes without decompressing them.
//!
//! ```text
//! bgzf  member: 12 bytes | extra field with BC: length of the member | deflate | CRC | length decoded
//! zstd  frame:  magic | descriptor, window, content size | blocks: 3 bytes, content | checksum
//!       or:     magic of a skippable frame | length | content, which nobody reads (a seek table)
//! bz2, xz       no lengths in front, but streams start at a byte with bytes that hardly come by chance
//! ```
//!
//! Invariant: a border is a guess of where a decoder would be between two frames; whoever uses it decodes what stands
//! before it, and believes the guess only if that is whole frames. Must not know: decoders, files.

use model::saturating::{u64_of, usize_of};

/// Largest frame that is worth to be held until its end has come, decoded or stored; larger ones are decoded as they
/// come.
const FRAME_BYTES_MAX: u64 = 16 << 20;
/// The same where the end has to be searched: a file that is one stream is held so long for nothing.
const SEARCHED_BYTES_MAX: u64 = 4 << 20;
/// How much such a stream may become, in stored bytes; more is decoded as it comes.
const SEARCHED_RATIO_MAX: u64 = 16;
/// What a zstd block may hold.
const ZSTD_BLOCK_BYTES: u64 = 128 << 10;
/// What a member of bgzf may hold.
const BGZF_BYTES_MAX: u64 = 64 << 10;

/// Files whose frames are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// gzip with the lengths of its members in them.
    Bgzf,
    Zstd,
    Bzip2,
    Xz,
}

/// What the next bytes of a file say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// No frame ends in them.
    More,
    /// A frame ends before the byte `at` of them; it says that it becomes `decoded_max` bytes at most.
    Ends { at: usize, decoded_max: u64 },
    /// The file is not made of frames that are worth it, from the open one on.
    Whole,
}

/// What is read next, once so many bytes have been passed over.
#[derive(Clone, Copy, Debug)]
enum Field {
    BgzfHead,
    BgzfExtra { header: u64 },
    BgzfLength,
    ZstdMagic,
    ZstdSkippable,
    ZstdDescriptor,
    ZstdHeader { descriptor: u8 },
    ZstdBlock,
    End,
}

/// Follows a file from frame to frame.
#[derive(Debug)]
pub(crate) struct FrameScanner {
    framing: Framing,
    skip: u64,
    field: Field,
    wanted: usize,
    seen: Vec<u8>,
    /// Of the open frame, as far as is known.
    stored: u64,
    decoded: u64,
    /// The frame says so itself.
    content: Option<u64>,
    has_checksum: bool,
}

impl FrameScanner {
    pub(crate) fn new(framing: Framing) -> Self {
        let mut scanner = FrameScanner {
            framing,
            skip: 0,
            field: Field::End,
            wanted: 0,
            seen: Vec::new(),
            stored: 0,
            decoded: 0,
            content: None,
            has_checksum: false,
        };
        scanner.start();
        scanner
    }

    /// Whether the last frame of a file ends where the file does, and nothing else tells.
    pub(crate) fn is_searched(&self) -> bool {
        matches!(self.framing, Framing::Bzip2 | Framing::Xz)
    }

    /// Looks at the bytes behind those that were looked at, up to the end of the open frame.
    pub(crate) fn advance(&mut self, bytes: &[u8]) -> Step {
        if self.is_searched() {
            return self.search(bytes);
        }
        let mut at = 0;
        loop {
            let left = bytes.len() - at;
            let skipped = usize_of(self.skip).min(left);
            at += skipped;
            self.skip -= u64_of(skipped);
            let taken = match self.skip {
                0 => (self.wanted - self.seen.len()).min(bytes.len() - at),
                _ => 0,
            };
            self.seen.extend_from_slice(bytes.get(at..at + taken).unwrap_or_default());
            at += taken;
            if self.skip > 0 || self.seen.len() < self.wanted {
                return Step::More;
            }
            if let Field::End = self.field {
                let decoded_max = self.decoded;
                self.start();
                return Step::Ends { at, decoded_max };
            }
            let seen = std::mem::take(&mut self.seen);
            if self.read(&seen).is_none() || self.stored.max(self.decoded) > FRAME_BYTES_MAX {
                return Step::Whole;
            }
        }
    }

    fn start(&mut self) {
        (self.stored, self.decoded, self.content) = (0, 0, None);
        match self.framing {
            Framing::Bgzf => self.expect(0, Field::BgzfHead, 12),
            Framing::Zstd => self.expect(0, Field::ZstdMagic, 4),
            Framing::Bzip2 | Framing::Xz => {}
        }
    }

    /// Passes over `skip` bytes and reads a field of `wanted` behind them.
    fn expect(&mut self, skip: u64, field: Field, wanted: usize) {
        (self.skip, self.field, self.wanted) = (skip, field, wanted);
        self.seen.clear();
        self.stored = self.stored.saturating_add(skip).saturating_add(u64_of(wanted));
    }

    /// Reads the field that was expected; `None` if this is no frame that can be followed.
    fn read(&mut self, seen: &[u8]) -> Option<()> {
        match self.field {
            Field::BgzfHead => {
                // Deflate, with an extra field and no other: no bgzf writer stores names or comments.
                if seen.get(..4)? != [0x1f, 0x8b, 8, 4] {
                    return None;
                }
                let extra = u16::from_le_bytes(seen.get(10..12)?.try_into().ok()?);
                self.expect(0, Field::BgzfExtra { header: 12 + u64::from(extra) }, usize::from(extra));
            }
            Field::BgzfExtra { header } => {
                let body = member_bytes(seen)?.checked_sub(header + 4)?;
                self.expect(body, Field::BgzfLength, 4);
            }
            Field::BgzfLength => {
                self.decoded = u64::from(u32::from_le_bytes(seen.try_into().ok()?));
                self.expect(0, Field::End, 0);
                return (self.decoded <= BGZF_BYTES_MAX).then_some(());
            }
            Field::ZstdMagic => match u32::from_le_bytes(seen.try_into().ok()?) {
                0xfd2f_b528 => self.expect(0, Field::ZstdDescriptor, 1),
                0x184d_2a50..=0x184d_2a5f => self.expect(0, Field::ZstdSkippable, 4),
                _ => return None,
            },
            Field::ZstdSkippable => {
                let length = u32::from_le_bytes(seen.try_into().ok()?);
                self.expect(u64::from(length), Field::End, 0);
            }
            Field::ZstdDescriptor => {
                let descriptor = *seen.first()?;
                self.has_checksum = descriptor & 4 != 0;
                self.expect(0, Field::ZstdHeader { descriptor }, zstd_header_bytes(descriptor));
            }
            Field::ZstdHeader { descriptor } => {
                self.content = zstd_content(descriptor, seen);
                self.decoded = self.content.unwrap_or(0);
                self.expect(0, Field::ZstdBlock, 3);
            }
            Field::ZstdBlock => self.read_zstd_block(seen)?,
            Field::End => {}
        }
        Some(())
    }

    fn read_zstd_block(&mut self, seen: &[u8]) -> Option<()> {
        let [low, middle, high] = seen.try_into().ok()?;
        let header = u32::from_le_bytes([low, middle, high, 0]);
        let (is_last, size) = (header & 1 == 1, u64::from(header >> 3));
        let (stored, decoded) = match header >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, ZSTD_BLOCK_BYTES),
            _ => return None,
        };
        if self.content.is_none() {
            self.decoded = self.decoded.saturating_add(decoded);
        }
        match is_last {
            true if self.has_checksum => self.expect(stored + 4, Field::End, 0),
            true => self.expect(stored, Field::End, 0),
            false => self.expect(stored, Field::ZstdBlock, 3),
        }
        Some(())
    }

    /// A start whose bytes lie in two chunks is passed over: then two streams are taken for one.
    fn search(&mut self, bytes: &[u8]) -> Step {
        let find = |from: usize| {
            let rest = bytes.get(from..).unwrap_or_default();
            let found = match self.framing {
                // The first block's magic number; the header in front of it says the size of blocks.
                Framing::Bzip2 => memchr::memmem::find(rest, b"1AY&SY"),
                // What ends a stream, and the header of the next.
                _ => memchr::memmem::find(rest, b"YZ\xfd7zXZ\x00"),
            };
            found.map(|found| from + found)
        };
        let mut from = 0;
        while let Some(found) = find(from) {
            from = found + 1;
            let start = match self.framing {
                Framing::Bzip2 => match found.checked_sub(4).map(|start| (start, &bytes[start..found])) {
                    Some((start, [b'B', b'Z', b'h', b'1'..=b'9'])) => start,
                    _ => continue,
                },
                _ => found + 2,
            };
            // The open stream's own start.
            if self.stored == 0 && start == 0 {
                continue;
            }
            let decoded_max = searched_decoded_max(self.stored.saturating_add(u64_of(start)));
            self.stored = 0;
            return Step::Ends { at: start, decoded_max };
        }
        self.stored = self.stored.saturating_add(u64_of(bytes.len()));
        if self.stored > SEARCHED_BYTES_MAX { Step::Whole } else { Step::More }
    }
}

/// What so many stored bytes of a searched stream may become.
pub(crate) fn searched_decoded_max(stored: u64) -> u64 {
    stored.saturating_mul(SEARCHED_RATIO_MAX).max(1 << 20)
}

/// The length of a bgzf member by the subfield BC of its extra field.
fn member_bytes(mut extra: &[u8]) -> Option<u64> {
    loop {
        let (head, rest) = extra.split_at_checked(4)?;
        let length = u16::from_le_bytes(head.get(2..)?.try_into().ok()?);
        let (content, behind) = rest.split_at_checked(usize::from(length))?;
        if head.starts_with(b"BC") {
            return Some(u64::from(u16::from_le_bytes(content.try_into().ok()?)) + 1);
        }
        extra = behind;
    }
}

/// Bytes of a zstd frame's header behind its descriptor (RFC 8878, 3.1.1.1): window, dictionary, content size.
fn zstd_header_bytes(descriptor: u8) -> usize {
    let window = usize::from(descriptor & 0x20 == 0);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    window + dictionary + zstd_content_bytes(descriptor)
}

fn zstd_content_bytes(descriptor: u8) -> usize {
    match descriptor >> 6 {
        0 => usize::from(descriptor & 0x20 != 0),
        1 => 2,
        2 => 4,
        _ => 8,
    }
}

/// The content size at the end of a zstd frame's header.
fn zstd_content(descriptor: u8, header: &[u8]) -> Option<u64> {
    let length = zstd_content_bytes(descriptor);
    let field = header.get(header.len().checked_sub(length)?..)?;
    let mut bytes = [0_u8; 8];
    bytes.get_mut(..length)?.copy_from_slice(field);
    match length {
        0 => None,
        // Two bytes start where one byte ends.
        2 => Some(u64::from_le_bytes(bytes) + 256),
        _ => Some(u64::from_le_bytes(bytes)),
    }
}

/// Whether a file whose first bytes these are can be decompressed in several places; `None` if they do not tell.
pub fn outlook(framing: Framing, first: &[u8], file_bytes: u64) -> Option<bool> {
    match FrameScanner::new(framing).advance(first) {
        Step::More => None,
        Step::Ends { at, .. } => Some(u64_of(at) < file_bytes),
        Step::Whole => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where frames end, whatever the chunks; `None`: the scanner gave up behind the last border.
    fn borders(framing: Framing, file: &[u8], step: usize) -> (Vec<usize>, bool) {
        let (mut scanner, mut ends, mut passed) = (FrameScanner::new(framing), Vec::new(), 0);
        for chunk in file.chunks(step) {
            let mut rest = chunk;
            loop {
                match scanner.advance(rest) {
                    Step::More => break,
                    Step::Whole => return (ends, false),
                    Step::Ends { at, .. } => {
                        ends.push(passed + (chunk.len() - rest.len()) + at);
                        rest = &rest[at..];
                        if rest.is_empty() {
                            break;
                        }
                    }
                }
            }
            passed += chunk.len();
        }
        (ends, true)
    }

    fn member(extra: &[u8], length: u16, decoded: u32) -> Vec<u8> {
        let mut member = vec![0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255];
        let subfields = [extra, b"BC\x02\x00", &(length - 1).to_le_bytes()].concat();
        member.extend(u16::try_from(subfields.len()).unwrap().to_le_bytes());
        member.extend(subfields);
        member.resize(usize::from(length) - 4, 7);
        member.extend(decoded.to_le_bytes());
        member
    }

    #[test]
    fn members_of_bgzf_are_followed_by_their_lengths() {
        let good = [member(b"", 100, 5), member(b"XY\x01\x00z", 70, 0), member(b"", 60_000, 65_536)].concat();
        for step in [1, 3, 99, 100, 101, 1 << 20] {
            assert_eq!(borders(Framing::Bgzf, &good, step), (vec![100, 170, 60_170], true), "{step}");
        }
        let plain = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03rest of a member";
        assert_eq!(borders(Framing::Bgzf, plain, 5), (vec![], false));
        for bad in [
            member(b"", 100, 65_537),
            // A subfield that is longer than the field, and one of another kind alone.
            b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x09\0\0\0".to_vec(),
            b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0XX\x02\0\0\0".to_vec(),
            // A member that is shorter than its header.
            b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x05\0".to_vec(),
        ] {
            assert!(!borders(Framing::Bgzf, &[good.clone(), bad].concat(), 64).1);
        }
    }

    #[test]
    fn frames_of_zstd_are_followed_by_their_blocks() {
        // One segment of 5 bytes, a raw block; a window, no size, a checksum, two blocks; a skippable frame.
        let sized = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello".to_vec();
        let open = b"\x28\xb5\x2f\xfd\x04\x58\x12\x00\x00x\x0b\x00\x00y1234".to_vec();
        let skippable = b"\x5e\x2a\x4d\x18\x03\x00\x00\x00abc".to_vec();
        let file = [sized.clone(), open, skippable].concat();
        for step in [1, 2, 7, 1000] {
            let (ends, whole) = borders(Framing::Zstd, &file, step);
            assert_eq!((ends, whole), (vec![14, 14 + 18, file.len()], true), "{step}");
        }
        let mut scanner = FrameScanner::new(Framing::Zstd);
        assert_eq!(scanner.advance(&file), Step::Ends { at: 14, decoded_max: 5 });
        assert_eq!(scanner.advance(&file[14..]), Step::Ends { at: 18, decoded_max: 2 + 1 });
        for bad in [
            b"garbage".to_vec(),
            // A reserved kind of block, a content of 17 MiB, and a skippable frame of 2 GiB.
            b"\x28\xb5\x2f\xfd\x20\x05\x2f\x00\x00hello".to_vec(),
            b"\x28\xb5\x2f\xfd\xa0\x00\x00\x10\x01\x29\x00\x00hello".to_vec(),
            b"\x50\x2a\x4d\x18\x00\x00\x00\x80abc".to_vec(),
        ] {
            assert_eq!(borders(Framing::Zstd, &[sized.clone(), bad].concat(), 9), (vec![14], false));
        }
    }

    #[test]
    fn sizes_in_headers_of_zstd() {
        for (descriptor, header, content) in [
            (0x00, &b"\x58"[..], None),
            (0x20, b"\xff", Some(255)),
            (0x60, b"\x00\x01", Some(512)),
            (0xa3, b"\x01\x02\x03\x04\x00\x00\x01\x00", Some(65_536)),
            (0xc0, b"\x58\x07\x00\x00\x00\x00\x00\x00\x00", Some(7)),
        ] {
            assert_eq!(zstd_header_bytes(descriptor), header.len(), "{descriptor:x}");
            assert_eq!(zstd_content(descriptor, header), content, "{descriptor:x}");
        }
    }

    #[test]
    fn streams_without_lengths_are_searched() {
        let bz2 = [&b"BZh91AY&SYabc"[..], b"BZh01AY&SY", b"1AY&SY", b"BZh51AY&SYdef"].concat();
        assert_eq!(borders(Framing::Bzip2, &bz2, 1000), (vec![29], true));
        let xz = [&b"\xfd7zXZ\x00...YZ"[..], b"\xfd7zXZ\x00..\xfd7zXZ\x00..YZ", b"\xfd7zXZ\x00"].concat();
        assert_eq!(borders(Framing::Xz, &xz, 1000), (vec![11, 29], true));
        let long = vec![0; 5 << 20];
        assert_eq!(borders(Framing::Xz, &long, 1 << 20), (vec![], false));
        assert_eq!(outlook(Framing::Xz, &long, 1), Some(false));
    }

    #[test]
    fn the_first_bytes_of_a_file_say_whether_it_can_be_split() {
        let one = member(b"", 100, 5);
        assert_eq!(outlook(Framing::Bgzf, &[one.clone(), one.clone()].concat(), 200), Some(true));
        assert_eq!(outlook(Framing::Bgzf, &one, 100), Some(false));
        assert_eq!(outlook(Framing::Bgzf, &one[..50], 100), None);
        assert_eq!(outlook(Framing::Bgzf, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03..", 100), Some(false));
    }
}
