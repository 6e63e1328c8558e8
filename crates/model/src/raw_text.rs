//! Bytes that are no UTF-8, carried inside text.
//!
//! Our strings are UTF-8, ClickHouse's are bytes: a digest, `unhex('ff')`, a cut through a character. Each byte that is
//! not part of a valid character becomes one character of the last plane for private use (U+10FE80..=U+10FEFF, byte
//! 0x80..=0xFF). Invariant: `bytes(text(b)) == b` for every `b`; text without such bytes is itself.

use std::borrow::Cow;

use arrow::array::{BinaryViewArray, StringViewArray};

/// What is added to a byte to make its character.
const BASE: u32 = 0x10_FE00;
/// First byte of every character of that plane in UTF-8; ordinary text has none.
const LEAD: u8 = 0xF4;

fn carried(c: char) -> Option<u8> {
    u32::from(c).checked_sub(BASE).and_then(|byte| u8::try_from(byte).ok()).filter(|byte| *byte >= 0x80)
}

fn push_raw(bytes: &[u8], out: &mut String) {
    out.extend(bytes.iter().filter_map(|byte| char::from_u32(BASE + u32::from(*byte))));
}

/// Appends bytes as text.
pub fn push(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        if may_carry_any(chunk.valid().as_bytes()) {
            // Text that has one of these characters itself keeps it byte by byte.
            for c in chunk.valid().chars() {
                match carried(c) {
                    Some(_) => push_raw(c.encode_utf8(&mut [0; 4]).as_bytes(), out),
                    None => out.push(c),
                }
            }
        } else {
            out.push_str(chunk.valid());
        }
        push_raw(chunk.invalid(), out);
    }
}

/// Appends the bytes of a FixedString as text, which is kept without the zero bytes at its end.
pub fn push_fixed(bytes: &[u8], out: &mut String) {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    push(&bytes[..used], out);
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    push(bytes, &mut out);
    out
}

/// Bytes as text, copied only where some are carried.
pub fn carry(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        // Almost all text is ASCII, which is told faster than a single byte is found.
        Ok(text) if bytes.is_ascii() || !may_carry_any(bytes) => Cow::Borrowed(text),
        _ => Cow::Owned(text(bytes)),
    }
}

/// Columns of bytes as columns of text.
pub fn carry_all(bytes: &BinaryViewArray) -> StringViewArray {
    match bytes.clone().to_string_view() {
        Ok(text) => text,
        Err(_) => bytes.iter().map(|value| value.map(carry)).collect(),
    }
}

/// The bytes that a column of text carries.
pub fn bytes_of_all(text: &StringViewArray) -> BinaryViewArray {
    text.iter().map(|value| value.map(bytes)).collect()
}

/// The start of the bytes, up to where some would have to be carried, as the text it is.
pub fn plain_start(bytes: &[u8]) -> &str {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            bytes.get(..error.valid_up_to()).and_then(|start| std::str::from_utf8(start).ok()).unwrap_or("")
        }
    };
    if text.is_ascii() || !may_carry_any(text.as_bytes()) {
        return text;
    }
    let lead = text.bytes().position(|byte| byte == LEAD);
    lead.and_then(|lead| text.get(..lead)).unwrap_or(text)
}

/// Whether some of the text may stand for bytes that are no UTF-8: then it does not compare with others as its bytes do.
pub fn may_carry(text: &str) -> bool {
    may_carry_any(text.as_bytes())
}

/// [`may_carry`] of text in UTF-8, or of a buffer of texts. Asked of almost every text, so it is told as fast as a byte
/// is found.
pub fn may_carry_any(bytes: &[u8]) -> bool {
    memchr::memchr(LEAD, bytes).is_some()
}

/// The bytes that text carries.
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    if !may_carry_any(text.as_bytes()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        match carried(c) {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_come_back() {
        for case in [
            &b"plain"[..],
            b"",
            "é €".as_bytes(),
            b"\xff\x00\xfe",
            b"a\xe2\x82",
            b"\xf4\x8f\xb8\x80",
            "\u{10FE80}\u{10FEFF}\u{1F600}".as_bytes(),
        ] {
            assert_eq!(bytes(&text(case)).as_ref(), case);
            assert_eq!(carry(case), text(case));
        }
        for (bytes, start) in [
            (&b"plain"[..], "plain"),
            (b"", ""),
            ("é €".as_bytes(), "é €"),
            (b"ab\xffcd", "ab"),
            (b"a\xe2\x82", "a"),
            ("é\u{10FE80}a".as_bytes(), "é"),
            ("é\u{10FE80}\u{10FE80}".as_bytes(), "é"),
        ] {
            assert_eq!(plain_start(bytes), start);
        }
        let mut fixed = String::new();
        push_fixed(b"a\0\xff\0\0", &mut fixed);
        assert_eq!(bytes(&fixed).as_ref(), b"a\0\xff");
        let every: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes(&text(&every)).as_ref(), every);
        assert_eq!(text("añ".as_bytes()), "añ");
    }
}
