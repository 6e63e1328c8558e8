//! Integers of 128 and 256 bits: how a value lies in a column, on the wire and in text.
//!
//! A column has them as bytes of fixed width, the highest byte first and the sign bit of signed types turned over, so
//! that byte order is the order of the numbers: Arrow, DataFusion and the bounds of Parquet sort, group, join and prune
//! them without knowing what they are. On the wire they are two's complement, the lowest byte first.
//!
//! Invariant: `decode(encode(v)) == v` for every value of the type; bytes of one type compare as its numbers. In memory a
//! value is an `i256`; those of UInt256 from 2^255 on are negative ones there (the same bits).

use std::cmp::Ordering;
use std::fmt;

use arrow::datatypes::i256;

use crate::column_type::ColumnType;

/// Bytes of the widest integer.
const BYTES_MAX: usize = 32;
/// Ten to the number of digits that fit a word.
const CHUNK: u64 = 10_000_000_000_000_000_000;
const CHUNK_DIGITS: usize = 19;

/// One of the four types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WideInteger {
    /// 16 or 32.
    pub bytes: usize,
    pub signed: bool,
}

impl WideInteger {
    /// What the values of this type are; `None` for all other types.
    pub fn of(column_type: &ColumnType) -> Option<Self> {
        let (bytes, signed) = match column_type.value_type() {
            ColumnType::Int128 => (16, true),
            ColumnType::UInt128 => (16, false),
            ColumnType::Int256 => (32, true),
            ColumnType::UInt256 => (32, false),
            _ => return None,
        };
        Some(Self { bytes, signed })
    }

    /// Appends a value as a column has it; bits beyond the width are cut.
    pub fn encode(self, value: i256, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&value.to_be_bytes()[BYTES_MAX - self.bytes..]);
        self.turn_sign(&mut out[start..]);
    }

    /// The value of the bytes of a column.
    pub fn decode(self, stored: &[u8]) -> i256 {
        let first = stored.first().copied().unwrap_or(0);
        let negative = self.signed && first < 0x80;
        let mut wide = [if negative { 0xff } else { 0 }; BYTES_MAX];
        let used = stored.len().min(self.bytes);
        wide[BYTES_MAX - used..].copy_from_slice(&stored[..used]);
        self.turn_sign(&mut wide[BYTES_MAX - used..]);
        i256::from_be_bytes(wide)
    }

    /// Whole values between the wire and a column, either way: the bytes of each turn around.
    pub fn turn(self, values: &[u8], from_wire: bool) -> Vec<u8> {
        let mut turned = values.to_vec();
        for value in turned.chunks_exact_mut(self.bytes) {
            if !from_wire {
                self.turn_sign(value);
            }
            value.reverse();
            if from_wire {
                self.turn_sign(value);
            }
        }
        turned
    }

    fn turn_sign(self, stored: &mut [u8]) {
        if let (true, Some(first)) = (self.signed, stored.first_mut()) {
            *first ^= 0x80;
        }
    }

    /// The value cut to the width, as arithmetic wraps.
    pub fn wrap(self, value: i256) -> i256 {
        let mut stored = Vec::with_capacity(self.bytes);
        self.encode(value, &mut stored);
        self.decode(&stored)
    }

    /// Whether the number fits; `value` is unsigned with all its bits if `unsigned`.
    pub fn fits(self, value: i256, unsigned: bool) -> bool {
        let kept = self.wrap(value) == value;
        match (self.signed, unsigned) {
            // Only UInt256 has no sign bit to spare.
            (true, true) => kept && !value.is_negative(),
            (false, false) => kept && !value.is_negative(),
            _ => kept,
        }
    }

    /// The smallest and the largest value.
    pub fn limits(self) -> (i256, i256) {
        let ends = [vec![0; self.bytes], vec![0xff; self.bytes]];
        (self.decode(&ends[0]), self.decode(&ends[1]))
    }

    /// Reads digits with an optional sign: the value as far as it fits the width, and whether it did.
    pub fn parse(self, text: &[u8]) -> Option<(i256, bool)> {
        let (negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        if digits.is_empty() {
            return None;
        }
        let mut limbs = [0_u64; 4];
        let mut overflowed = false;
        for digit in digits {
            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
            let mut carry = u128::from(digit);
            for limb in &mut limbs {
                let next = u128::from(*limb) * 10 + carry;
                *limb = low(next);
                carry = next >> 64;
            }
            overflowed |= carry > 0;
        }
        let magnitude = of_limbs(limbs);
        let value = if negative { magnitude.wrapping_neg() } else { magnitude };
        let zero = magnitude == i256::ZERO;
        let fits = match negative {
            true => zero || self.signed && value.is_negative() && self.wrap(value) == value,
            false => self.fits(value, true),
        };
        Some((self.wrap(value), fits && !overflowed))
    }

    /// The order of two numbers that may be of different types.
    pub fn order(self, value: i256, other: WideInteger, other_value: i256) -> Ordering {
        let beyond = |kind: WideInteger, value: i256| !kind.signed && value.is_negative();
        let sides = (beyond(self, value), beyond(other, other_value));
        sides.0.cmp(&sides.1).then(value.cmp(&other_value))
    }

    /// Prints the value.
    pub fn shown(self, value: i256) -> impl fmt::Display {
        Shown { value, unsigned: !self.signed }
    }
}

/// The low word of a product.
fn low(wide: u128) -> u64 {
    u64::try_from(wide & u128::from(u64::MAX)).unwrap_or(0)
}

/// Words, the lowest first, as one number.
fn of_limbs(limbs: [u64; 4]) -> i256 {
    let mut bytes = [0; BYTES_MAX];
    for (place, limb) in bytes.chunks_exact_mut(8).zip(limbs) {
        place.copy_from_slice(&limb.to_le_bytes());
    }
    i256::from_le_bytes(bytes)
}

fn limbs_of(value: i256) -> [u64; 4] {
    let bytes = value.to_le_bytes();
    let mut limbs = [0; 4];
    for (limb, word) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *limb = u64::from_le_bytes(*word);
    }
    limbs
}

struct Shown {
    value: i256,
    unsigned: bool,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let negative = self.value.is_negative() && !self.unsigned;
        if let Some(small) = self.value.to_i128().filter(|_| negative || !self.value.is_negative()) {
            return write!(f, "{small}");
        }
        let magnitude = if negative { self.value.wrapping_neg() } else { self.value };
        let mut limbs = limbs_of(magnitude);
        let mut chunks = [0_u64; 5];
        let mut used = 0;
        while limbs.iter().any(|limb| *limb != 0) && used < chunks.len() {
            let mut rest = 0_u128;
            for limb in limbs.iter_mut().rev() {
                let part = rest << 64 | u128::from(*limb);
                *limb = low(part / u128::from(CHUNK));
                rest = part % u128::from(CHUNK);
            }
            chunks[used] = low(rest);
            used += 1;
        }
        if negative {
            f.write_str("-")?;
        }
        for (at, chunk) in chunks[..used].iter().enumerate().rev() {
            match at + 1 == used {
                true => write!(f, "{chunk}")?,
                false => write!(f, "{chunk:0width$}", width = CHUNK_DIGITS)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [WideInteger; 4] = [
        WideInteger { bytes: 16, signed: true },
        WideInteger { bytes: 16, signed: false },
        WideInteger { bytes: 32, signed: true },
        WideInteger { bytes: 32, signed: false },
    ];
    const ENDS: [(&str, &str); 4] = [
        ("-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"),
        ("0", "340282366920938463463374607431768211455"),
        (
            "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
            "57896044618658097711785492504343953926634992332820282019728792003956564819967",
        ),
        ("0", "115792089237316195423570985008687907853269984665640564039457584007913129639935"),
    ];

    #[test]
    fn text_and_bytes_survive_and_keep_their_order() {
        for (kind, (least, most)) in KINDS.into_iter().zip(ENDS) {
            let texts = [
                least,
                "-1",
                "0",
                "1",
                "18446744073709551616",
                "10000000000000000000000000000000000000",
                most,
            ];
            let mut before: Option<Vec<u8>> = None;
            for text in texts.into_iter().filter(|text| kind.signed || !text.starts_with('-')) {
                let (value, fits) = kind.parse(text.as_bytes()).unwrap();
                assert!(fits, "{text} in {kind:?}");
                assert_eq!(kind.shown(value).to_string(), text);
                let mut stored = Vec::new();
                kind.encode(value, &mut stored);
                assert_eq!((stored.len(), kind.decode(&stored)), (kind.bytes, value));
                let wire = kind.turn(&stored, false);
                assert_eq!(wire, value.to_le_bytes()[..kind.bytes]);
                assert_eq!(kind.turn(&wire, true), stored);
                assert!(before.is_none_or(|before| before <= stored), "{text}");
                before = Some(stored);
            }
            let (first, last) = kind.limits();
            assert_eq!(
                (kind.shown(first).to_string(), kind.shown(last).to_string()),
                (least.into(), most.into())
            );
        }
    }

    #[test]
    fn what_does_not_fit_wraps_and_says_so() {
        for (kind, text, wrapped) in [
            (KINDS[0], "170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"),
            (KINDS[1], "-1", "340282366920938463463374607431768211455"),
            (KINDS[1], "340282366920938463463374607431768211456", "0"),
            (KINDS[2], ENDS[3].1, "-1"),
            (KINDS[3], "115792089237316195423570985008687907853269984665640564039457584007913129639937", "1"),
        ] {
            let (value, fits) = kind.parse(text.as_bytes()).unwrap();
            assert_eq!((kind.shown(value).to_string().as_str(), fits), (wrapped, false), "{text}");
        }
        assert_eq!(KINDS[3].parse(b"-0"), Some((i256::ZERO, true)));
        for wrong in ["", "-", "+", "1.5", "x", "1 "] {
            assert_eq!(KINDS[0].parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_of_different_types_compare_by_value() {
        let minus_one = i256::MINUS_ONE;
        assert_eq!(KINDS[2].order(minus_one, KINDS[3], minus_one), Ordering::Less);
        assert_eq!(KINDS[3].order(minus_one, KINDS[2], i256::ONE), Ordering::Greater);
        assert_eq!(KINDS[0].order(i256::ONE, KINDS[3], i256::ONE), Ordering::Equal);
    }
}
