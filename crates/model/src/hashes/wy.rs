//! wyhash of 64 bits (third final version, no seed), after Wang Yi's description (github.com/wangyi-fudan/wyhash).
//!
//! Must not know: types.

use crate::saturating::u64_of;

const SECRET: [u64; 4] =
    [0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3, 0x5899_65CC_7537_4CC3];

fn word(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Both halves of the product.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let low = product & u128::from(u64::MAX);
    u64::try_from(low ^ product >> 64).unwrap_or(0)
}

/// The hash of any bytes.
pub fn wy64(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let mut seed = SECRET[0];
    let (a, b) = match length {
        0 => (0, 0),
        1..=3 => {
            let byte = |at: usize| u64::from(bytes[at]);
            (byte(0) << 16 | byte(length >> 1) << 8 | byte(length - 1), 0)
        }
        4..=16 => {
            let step = length >> 3 << 2;
            let pair = |one: usize, other: usize| word(bytes, one, 4) << 32 | word(bytes, other, 4);
            (pair(0, step), pair(length - 4, length - 4 - step))
        }
        _ => {
            let mut rest = bytes;
            if rest.len() > 48 {
                let mut lanes = [seed; 3];
                while rest.len() > 48 {
                    for (lane, secret) in SECRET.iter().skip(1).enumerate() {
                        let at = lane * 16;
                        lanes[lane] = mix(word(rest, at, 8) ^ secret, word(rest, at + 8, 8) ^ lanes[lane]);
                    }
                    rest = &rest[48..];
                }
                seed = lanes[0] ^ lanes[1] ^ lanes[2];
            }
            while rest.len() > 16 {
                seed = mix(word(rest, 0, 8) ^ SECRET[1], word(rest, 8, 8) ^ seed);
                rest = &rest[16..];
            }
            (word(bytes, length - 16, 8), word(bytes, length - 8, 8))
        }
    };
    mix(SECRET[1] ^ u64_of(length), mix(a ^ SECRET[1], b ^ seed))
}

#[cfg(test)]
mod tests {
    use super::wy64;

    #[test]
    fn hashes_are_those_of_clickhouse() {
        let long = "abc".repeat(30);
        let known = [
            ("", 4_808_886_099_364_463_827),
            ("a", 7_852_112_099_385_141_351),
            ("ab", 1_669_612_202_336_433_880),
            ("abc", 13_006_551_795_127_091_151),
            ("abcd", 16_660_349_616_727_654_048),
            ("abcdefghi", 2_473_409_498_788_211_954),
            ("0123456789abcdef", 5_052_684_117_927_911_335),
            ("0123456789abcdefg", 8_503_841_754_556_775_514),
            (long.as_str(), 7_978_267_516_953_989_316),
        ];
        for (text, hash) in known {
            assert_eq!(wy64(text.as_bytes()), hash, "{text}");
        }
    }
}
