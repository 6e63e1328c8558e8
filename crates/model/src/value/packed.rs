//! Single values as MsgPack has them.
//!
//! Invariant: numbers and lengths take as few bytes as hold them. Must not know: arrays, types of columns.

use crate::saturating::u64_of;

/// NULL.
pub fn null(out: &mut Vec<u8>) {
    out.push(0xc0);
}

/// A number that is not below zero.
pub fn unsigned(number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    match number {
        0..0x80 => out.push(bytes[7]),
        0x80..0x100 => tagged(0xcc, &bytes[7..], out),
        0x100..0x1_0000 => tagged(0xcd, &bytes[6..], out),
        0x1_0000..0x1_0000_0000 => tagged(0xce, &bytes[4..], out),
        _ => tagged(0xcf, &bytes, out),
    }
}

/// Any whole number of 64 bits.
pub fn signed(number: i64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    match number {
        0.. => unsigned(number.unsigned_abs(), out),
        -32.. => out.push(bytes[7]),
        -0x80.. => tagged(0xd0, &bytes[7..], out),
        -0x8000.. => tagged(0xd1, &bytes[6..], out),
        -0x8000_0000.. => tagged(0xd2, &bytes[4..], out),
        _ => tagged(0xd3, &bytes, out),
    }
}

/// A number of 32 bits with a fraction.
pub fn float32(number: f32, out: &mut Vec<u8>) {
    tagged(0xca, &number.to_be_bytes(), out);
}

/// A number of 64 bits with a fraction.
pub fn float64(number: f64, out: &mut Vec<u8>) {
    tagged(0xcb, &number.to_be_bytes(), out);
}

/// Bytes, as texts are.
pub fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    length(bytes.len(), [0xc4, 0xc5, 0xc6], out);
    out.extend_from_slice(bytes);
}

/// Sixteen bytes that are a UUID: an extension of the type 2.
pub fn uuid(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0xd8, 2]);
    out.extend_from_slice(bytes);
}

/// What stands in front of the items of a list.
pub fn list(items: usize, out: &mut Vec<u8>) {
    few_or_length(0x90, items, [0xdc, 0xdd], out);
}

/// What stands in front of the keys and values of a map.
pub fn map(pairs: usize, out: &mut Vec<u8>) {
    few_or_length(0x80, pairs, [0xde, 0xdf], out);
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn few_or_length(few: u8, count: usize, [two, four]: [u8; 2], out: &mut Vec<u8>) {
    match u8::try_from(count) {
        Ok(count) if count < 16 => out.push(few | count),
        _ if count < 0x1_0000 => tagged(two, &u64_of(count).to_be_bytes()[6..], out),
        _ => tagged(four, &u64_of(count).to_be_bytes()[4..], out),
    }
}

fn length(count: usize, [one, two, four]: [u8; 3], out: &mut Vec<u8>) {
    let bytes = u64_of(count).to_be_bytes();
    match count {
        0..0x100 => tagged(one, &bytes[7..], out),
        0x100..0x1_0000 => tagged(two, &bytes[6..], out),
        _ => tagged(four, &bytes[4..], out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_few_bytes() {
        let shown = |number: i64| {
            let mut out = Vec::new();
            signed(number, &mut out);
            out
        };
        assert_eq!(shown(5), [5]);
        assert_eq!(shown(-5), [0xfb]);
        assert_eq!(shown(200), [0xcc, 200]);
        assert_eq!(shown(-100), [0xd0, 0x9c]);
        assert_eq!(shown(15_000), [0xcd, 0x3a, 0x98]);
        assert_eq!(shown(-70_000), [0xd2, 0xff, 0xfe, 0xee, 0x90]);
        assert_eq!(shown(-5_000_000_000), [0xd3, 0xff, 0xff, 0xff, 0xfe, 0xd5, 0xfa, 0x0e, 0]);
        let mut out = Vec::new();
        list(20, &mut out);
        bytes(b"a", &mut out);
        assert_eq!(out, [0xdc, 0, 20, 0xc4, 1, b'a']);
    }
}
