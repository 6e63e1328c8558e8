//! Escapes of strings, undone: what `print` writes, and what others do.
//!
//! Invariant: everything is appended to a byte vector; an unknown escape is text, but for JSON. Must not know: where strings
//! stand.

use memchr::{memchr, memchr2};

/// The text is no inside of a JSON string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadEscape;

/// Text in which this quote is doubled, with one for two.
pub fn fold_doubled(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr(quote, rest) {
        out.extend_from_slice(&rest[..=at]);
        let skip = if rest.get(at + 1) == Some(&quote) { 2 } else { 1 };
        rest = &rest[at + skip..];
    }
    out.extend_from_slice(rest);
}

/// Undoes backslash escapes; a doubled `quote` becomes one. An unknown escape keeps its backslash, as in ClickHouse.
pub fn unescape(text: &[u8], quote: Option<u8>, out: &mut Vec<u8>) {
    let mut rest = text;
    // One byte to look for is found faster than two that are the same.
    let next = |rest: &[u8]| match quote {
        Some(quote) => memchr2(b'\\', quote, rest),
        None => memchr(b'\\', rest),
    };
    while let Some(at) = next(rest) {
        out.extend_from_slice(&rest[..at]);
        if rest[at] != b'\\' {
            out.push(rest[at]);
            let skip = if rest.get(at + 1) == Some(&rest[at]) { 2 } else { 1 };
            rest = &rest[at + skip..];
            continue;
        }
        let Some(escaped) = rest.get(at + 1).copied() else {
            out.push(b'\\');
            return;
        };
        let mut used = 2;
        match escaped {
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'e' => out.push(0x1b),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0' => out.push(0),
            // Where it is not all of a cell, or where NULL is written in another way.
            b'N' => {}
            b'x' => match hex(rest.get(at + 2..at + 4)) {
                Some(byte) => {
                    out.push(byte);
                    used = 4;
                }
                None => out.extend_from_slice(b"\\x"),
            },
            b'\\' | b'\'' | b'"' | b'`' | b'/' | b'=' => out.push(escaped),
            control if control < 0x20 => out.push(control),
            other => out.extend_from_slice(&[b'\\', other]),
        }
        rest = &rest[at + used..];
    }
    out.extend_from_slice(rest);
}

fn hex(digits: Option<&[u8]>) -> Option<u8> {
    let text = std::str::from_utf8(digits?).ok()?;
    u8::from_str_radix(text, 16).ok()
}

fn hex4(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    let valid = digits.iter().all(u8::is_ascii_hexdigit);
    valid.then(|| std::str::from_utf8(digits).ok().and_then(|d| u32::from_str_radix(d, 16).ok())).flatten()
}

/// Undoes the escapes of a JSON string's inside.
pub fn unescape_json(text: &[u8], out: &mut Vec<u8>) -> Result<(), BadEscape> {
    let mut at = 0;
    while let Some(offset) = memchr(b'\\', &text[at..]) {
        out.extend_from_slice(&text[at..at + offset]);
        at += offset + 2;
        match text.get(at - 1).ok_or(BadEscape)? {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let (character, used) = unicode_escape(text, at).ok_or(BadEscape)?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                at += used;
            }
            other => out.push(*other),
        }
    }
    out.extend_from_slice(&text[at..]);
    Ok(())
}

/// The character of `XXXX` or of `XXXX\uXXXX` at `at`, and the bytes it takes.
fn unicode_escape(text: &[u8], at: usize) -> Option<(char, usize)> {
    let first = hex4(text, at)?;
    if (0xd800..0xdc00).contains(&first) {
        if text.get(at + 4..at + 6) != Some(b"\\u") {
            return None;
        }
        let second = hex4(text, at + 6)?;
        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        return Some((char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + low)?, 10));
    }
    Some((char::from_u32(first)?, 4))
}
