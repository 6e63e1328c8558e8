//! Finds bytes in text: eight at a time where they are near, as wide as the machine goes where they are not.
//!
//! Invariant: the result equals a byte-by-byte search. Must not know: any format.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The lowest set bit marks the first zero byte of `word`; bits above it may be wrong.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// The highest bit of each byte that is not `byte`; other bits mean nothing.
#[inline]
pub const fn differs(word: u64, byte: u8) -> u64 {
    let difference = word ^ (LOW * byte as u64);
    ((difference & !HIGH) + !HIGH) | difference
}

/// Calls `event` with the positions of some bytes, in order; it gives the position from which on they count again.
/// `others` says of eight bytes which are not wanted, as [`differs`] does; a zero byte must not be wanted.
#[inline]
pub fn each_marked(
    bytes: &[u8],
    mut counts_from: usize,
    others: impl Fn(u64) -> u64,
    mut event: impl FnMut(usize) -> usize,
) {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    let mut base = 0;
    for word in words.iter().chain(std::iter::once(&last)) {
        let mut marks = !others(u64::from_le_bytes(*word)) & HIGH;
        while marks != 0 {
            let at = base + usize::try_from(marks.trailing_zeros() / 8).unwrap_or(0);
            marks &= marks - 1;
            if at >= counts_from {
                counts_from = event(at);
            }
        }
        base += 8;
    }
}

/// Position of the first byte of `bytes` that is one of `needles`.
#[inline]
pub fn find_any<const N: usize>(bytes: &[u8], needles: [u8; N]) -> Option<usize> {
    let masks = needles.map(|needle| LOW * u64::from(needle));
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        if at == NEAR_BYTES
            && let Some(far) = find_far(&bytes[at..], &needles)
        {
            return far.map(|offset| at + offset);
        }
        let word = u64::from_le_bytes(*chunk);
        let found = masks.iter().fold(0, |found, mask| found | zero_bytes(word ^ mask));
        if found != 0 {
            return usize::try_from(found.trailing_zeros() / 8).ok().map(|offset| at + offset);
        }
        at += 8;
    }
    let tail = bytes[at..].iter().position(|byte| needles.contains(byte))?;
    Some(at + tail)
}

/// Cells are mostly shorter than this, and a wide search costs a call; texts of some hundred bytes pay for it.
const NEAR_BYTES: usize = 16;

/// A search for up to three bytes by wide registers; `None` for more.
#[inline(never)]
#[expect(clippy::option_option, reason = "not found is an answer, not searched is none")]
fn find_far(bytes: &[u8], needles: &[u8]) -> Option<Option<usize>> {
    match *needles {
        [a] => Some(memchr::memchr(a, bytes)),
        [a, b] => Some(memchr::memchr2(a, b, bytes)),
        [a, b, c] => Some(memchr::memchr3(a, b, c, bytes)),
        _ => None,
    }
}

/// Length of the run of digits, minus signs, points (and slashes, which lie between them) at the start.
#[inline]
pub fn number_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        // The lowest bit set marks the first byte below the minus sign or above the digit nine; those above may be wrong.
        let below = word.wrapping_sub(LOW * u64::from(b'-'));
        let above = word.wrapping_add(LOW * u64::from(0x7f - b'9'));
        let others = (below | above | word) & HIGH;
        if others != 0 {
            return usize::try_from(others.trailing_zeros() / 8).map_or(at, |offset| at + offset);
        }
        at += 8;
    }
    let is_other = |byte: &u8| !(b'-'..=b'9').contains(byte);
    let tail = bytes.get(at..).unwrap_or_default();
    at + tail.iter().position(is_other).unwrap_or(tail.len())
}

/// Whether the byte stands anywhere.
#[inline]
pub fn contains(bytes: &[u8], needle: u8) -> bool {
    find_any(bytes, [needle]).is_some()
}

/// Position of the first byte at or after `at` that is not JSON or SQL white space.
#[inline]
pub fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Where an item of a list ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemEnd {
    /// The item's text ends here (exclusive).
    At(usize),
    /// The text ends inside the item.
    Open,
}

/// End of the value that starts at `at`: a quoted string, a bracketed value, or text up to one of `, ) ] } :` or white
/// space. `quote` opens and closes strings; a backslash escapes; a doubled quote stays inside when `doubles` is set.
pub fn value_end(bytes: &[u8], at: usize, quote: u8, doubles: bool) -> ItemEnd {
    match bytes.get(at) {
        None => ItemEnd::Open,
        Some(b) if *b == quote => string_end(bytes, at, quote, doubles),
        Some(b'[' | b'{' | b'(') => nested_end(bytes, at, quote, doubles),
        Some(_) => bare_end(bytes, at, quote, doubles),
    }
}

/// Whether the byte behind `text`, which begins behind a whole escape, is the second of one: backslashes pair up from
/// the first of their run.
#[inline]
pub fn ends_escaped(text: &[u8]) -> bool {
    text.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// End of a string literal that starts at `at`, closing quote included.
#[inline]
pub fn string_end(bytes: &[u8], at: usize, quote: u8, doubles: bool) -> ItemEnd {
    let mut at = at + 1;
    if !doubles {
        return string_end_by_quote(bytes, at, quote);
    }
    loop {
        let Some(offset) = bytes.get(at..).and_then(|rest| find_any(rest, [quote, b'\\'])) else {
            return ItemEnd::Open;
        };
        at += offset;
        if bytes[at] == b'\\' || bytes.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return ItemEnd::At(at + 1);
        }
    }
}

/// As `string_end` behind the opening quote: only quotes are looked for, so escapes on the way cost nothing.
fn string_end_by_quote(bytes: &[u8], mut at: usize, quote: u8) -> ItemEnd {
    loop {
        let Some(rest) = bytes.get(at..) else { return ItemEnd::Open };
        let Some(offset) = find_any(rest, [quote]) else { return ItemEnd::Open };
        at += offset + 1;
        if !ends_escaped(&rest[..offset]) {
            return ItemEnd::At(at);
        }
    }
}

fn nested_end(bytes: &[u8], mut at: usize, quote: u8, doubles: bool) -> ItemEnd {
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return ItemEnd::At(at + 1);
                }
            }
            b if *b == quote => match string_end(bytes, at, quote, doubles) {
                ItemEnd::At(end) => {
                    at = end;
                    continue;
                }
                ItemEnd::Open => return ItemEnd::Open,
            },
            _ => {}
        }
        at += 1;
    }
    ItemEnd::Open
}

/// How deep brackets stand in brackets in one value.
pub fn depth_of(value: &[u8], quote: u8, doubles: bool) -> usize {
    let (mut at, mut depth, mut deepest) = (0, 0_usize, 0);
    while let Some(byte) = value.get(at) {
        match byte {
            b'[' | b'{' | b'(' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            b if *b == quote => {
                let ItemEnd::At(end) = string_end(value, at, quote, doubles) else { return deepest };
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Bare text may hold a call such as `toDate('x')`, whose brackets belong to it.
fn bare_end(bytes: &[u8], mut at: usize, quote: u8, doubles: bool) -> ItemEnd {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b',' | b')' | b']' | b'}' | b':' | b' ' | b'\t' | b'\n' | b'\r' => return ItemEnd::At(at),
            b'(' | b'[' | b'{' => match nested_end(bytes, at, quote, doubles) {
                ItemEnd::At(end) => at = end,
                ItemEnd::Open => return ItemEnd::Open,
            },
            _ => at += 1,
        }
    }
    ItemEnd::Open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_plain_search_finds() {
        let text =
            b"abcdefgh,ijklmnop\"qrstuvwxyz\n0123456789........................................\x80\xff\x00";
        for start in 0..text.len() {
            let far = text[start..].iter().position(|b| [0, 1, 2, 3].contains(b));
            assert_eq!(find_any(&text[start..], [0, 1, 2, 3]), far, "from {start}");
            for needles in [[b',', b'"', b'\n'], [b'9', 0x80, 0], [0xff, b'x', b'0']] {
                let plain = text[start..].iter().position(|b| needles.contains(b));
                assert_eq!(find_any(&text[start..], needles), plain, "from {start}");
            }
        }
    }

    #[test]
    fn numbers_end_where_a_plain_search_ends_them() {
        let is_part = |byte: u8| (b'-'..=b'9').contains(&byte);
        for length in 0..20 {
            for other in 0..=255_u8 {
                let mut text = b"-12345.67890/1234567"[..length].to_vec();
                text.push(other);
                text.extend_from_slice(b"\xff\xba0-}\x80,1234567");
                let plain = text.iter().position(|byte| !is_part(*byte)).unwrap();
                assert_eq!(number_length(&text), plain, "{text:?}");
                let short = &text[..length + usize::from(is_part(other))];
                assert_eq!(number_length(short), short.len(), "{short:?}");
            }
        }
    }

    #[test]
    fn values_end_where_they_should() {
        for (text, end) in [
            ("12,", ItemEnd::At(2)),
            ("12", ItemEnd::Open),
            ("'a''b\\'c',", ItemEnd::At(9)),
            ("['a]',[1]] ,", ItemEnd::At(10)),
            ("toDate('2020-01-01)') )", ItemEnd::At(21)),
            ("'a\\\\',", ItemEnd::At(5)),
            ("'open", ItemEnd::Open),
            ("[1,", ItemEnd::Open),
        ] {
            assert_eq!(value_end(text.as_bytes(), 0, b'\'', true), end, "{text}");
        }
        for (text, end) in [
            ("\"a\",", ItemEnd::At(3)),
            ("\"a\\\"b\" ", ItemEnd::At(6)),
            ("\"a\\\\\" ", ItemEnd::At(5)),
            ("\"a\\\\\\\"", ItemEnd::Open),
            ("\"", ItemEnd::Open),
        ] {
            assert_eq!(value_end(text.as_bytes(), 0, b'"', false), end, "{text}");
        }
    }
}
