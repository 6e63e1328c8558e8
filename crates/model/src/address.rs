//! Addresses of the internet protocol: text to bits and back, as ClickHouse reads and prints them.
//!
//! Invariant: what `V4` and `V6` print, `parse_v4` and `parse_v6` read back to the same address. An IPv4 address where
//! an IPv6 one is asked for is the mapped one, `::ffff:a.b.c.d`.

use std::fmt;
use std::net::Ipv6Addr;

/// Bytes of an IPv6 address.
pub const V6_BYTES: usize = 16;

/// What stands before the four bytes of an IPv4 address in an IPv6 one.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// Four numbers of at most three digits each.
pub fn parse_v4(text: &[u8]) -> Option<u32> {
    let mut bits = 0_u32;
    let mut groups = 0;
    for group in text.split(|byte| *byte == b'.') {
        if group.is_empty() || group.len() > 3 {
            return None;
        }
        let mut number = 0_u32;
        for digit in group {
            number = number * 10 + u32::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        }
        if number > 255 || groups == 4 {
            return None;
        }
        bits = bits << 8 | number;
        groups += 1;
    }
    (groups == 4).then_some(bits)
}

/// Eight groups of four hexadecimal digits, `::` for groups of zero, the last two also as an IPv4 address.
pub fn parse_v6(text: &[u8]) -> Option<[u8; V6_BYTES]> {
    if text.contains(&b':') {
        let address: Ipv6Addr = std::str::from_utf8(text).ok()?.parse().ok()?;
        return Some(address.octets());
    }
    parse_v4(text).map(mapped)
}

/// An IPv4 address as an IPv6 one.
pub fn mapped(bits: u32) -> [u8; V6_BYTES] {
    let mut octets = [0; V6_BYTES];
    octets[..12].copy_from_slice(&MAPPED);
    octets[12..].copy_from_slice(&bits.to_be_bytes());
    octets
}

/// The IPv4 address that an IPv6 one stands for, if it does.
pub fn unmapped(octets: &[u8]) -> Option<u32> {
    let last = octets.strip_prefix(&MAPPED)?;
    Some(u32::from_be_bytes(last.try_into().ok()?))
}

/// Prints `a.b.c.d`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct V4(pub u32);

impl fmt::Display for V4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0.to_be_bytes();
        write!(f, "{a}.{b}.{c}.{d}")
    }
}

/// Prints the shortest form: the longest run of zero groups is `::`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct V6<'a>(pub &'a [u8]);

impl fmt::Display for V6<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(octets) = <[u8; V6_BYTES]>::try_from(self.0) else { return Err(fmt::Error) };
        // Addresses of twelve zero bytes that are no `::x` end in an IPv4 address.
        if octets[..12] == [0; 12] && octets[12..14] != [0, 0] {
            let [.., a, b, c, d] = octets;
            return write!(f, "::{a}.{b}.{c}.{d}");
        }
        write!(f, "{}", Ipv6Addr::from(octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v4_reads_and_prints() {
        for (text, bits) in [("0.0.0.0", 0), ("1.2.3.4", 0x0102_0304), ("255.255.255.255", u32::MAX)] {
            assert_eq!(parse_v4(text.as_bytes()), Some(bits), "{text}");
            assert_eq!(V4(bits).to_string(), text);
        }
        assert_eq!(parse_v4(b"01.002.3.4"), Some(0x0102_0304));
        for wrong in
            ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.", "1..3.4", "1.2.3.0004", " 1.2.3.4", "1.2.3.x"]
        {
            assert_eq!(parse_v4(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn v6_reads_and_prints() {
        for text in [
            "::",
            "::1",
            "1::",
            "2001:db8::8a2e:370:7334",
            "::ffff:1.2.3.4",
            "::1.2.3.4",
            "1:0:0:2::3",
            "::1:2:3:4:5:6",
            "1:0:2:3:4:5:6:7",
            "64:ff9b::102:304",
            "::ffff:0:102:304",
        ] {
            let octets = parse_v6(text.as_bytes());
            assert_eq!(octets.map(|octets| V6(&octets).to_string()).as_deref(), Some(text));
        }
        for (text, shown) in
            [("2001:DB8::1", "2001:db8::1"), ("1.2.3.4", "::ffff:1.2.3.4"), ("::ffff:0:0", "::ffff:0.0.0.0")]
        {
            let octets = parse_v6(text.as_bytes());
            assert_eq!(octets.map(|octets| V6(&octets).to_string()).as_deref(), Some(shown));
        }
        for wrong in ["", ":", "1:2", "::1%eth0", "12345::", "x::", "::1 "] {
            assert_eq!(parse_v6(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(unmapped(&mapped(7)), Some(7));
        assert_eq!(unmapped(&[0; 16]), None);
    }
}
