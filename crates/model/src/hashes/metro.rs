//! MetroHash64 (variant 1), after J. Andrew Rogers' source (github.com/jandrewrogers/MetroHash).

use crate::saturating::u64_of;

const K0: u64 = 0xC83A_91E1;
const K1: u64 = 0x8648_DBDB;
const K2: u64 = 0x7BDE_C03B;
const K3: u64 = 0x2F58_70A5;

fn word(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The hash of any bytes.
pub fn metro64(bytes: &[u8]) -> u64 {
    let mut hash = K2.wrapping_mul(K0).wrapping_add(u64_of(bytes.len()));
    let mut rest = bytes;
    if rest.len() >= 32 {
        let mut v = [hash; 4];
        while rest.len() >= 32 {
            for (lane, k) in [K0, K1, K2, K3].into_iter().enumerate() {
                v[lane] = v[lane].wrapping_add(word(rest, lane * 8, 8).wrapping_mul(k));
                v[lane] = v[lane].rotate_right(29).wrapping_add(v[(lane + 2) % 4]);
            }
            rest = &rest[32..];
        }
        let mix = |a: u64, b: u64, c: u64, k: u64, l: u64, r: u32| {
            a.wrapping_add(b).wrapping_mul(k).wrapping_add(c).rotate_right(r).wrapping_mul(l)
        };
        v[2] ^= mix(v[0], v[3], v[1], K0, K1, 33);
        v[3] ^= mix(v[1], v[2], v[0], K1, K0, 33);
        v[0] ^= mix(v[0], v[2], v[3], K0, K1, 33);
        v[1] ^= mix(v[1], v[3], v[2], K1, K0, 33);
        hash = hash.wrapping_add(v[0] ^ v[1]);
    }
    if rest.len() >= 16 {
        let mut a = hash.wrapping_add(word(rest, 0, 8).wrapping_mul(K0)).rotate_right(33).wrapping_mul(K1);
        let mut b = hash.wrapping_add(word(rest, 8, 8).wrapping_mul(K1)).rotate_right(33).wrapping_mul(K2);
        a ^= a.wrapping_mul(K0).rotate_right(35).wrapping_add(b);
        b ^= b.wrapping_mul(K3).rotate_right(35).wrapping_add(a);
        hash = hash.wrapping_add(b);
        rest = &rest[16..];
    }
    for (size, rotation) in [(8, 33), (4, 15), (2, 13), (1, 25)] {
        if rest.len() >= size {
            hash = hash.wrapping_add(word(rest, 0, size).wrapping_mul(K3));
            hash ^= hash.rotate_right(rotation).wrapping_mul(K1);
            rest = &rest[size..];
        }
    }
    hash ^= hash.rotate_right(33);
    hash = hash.wrapping_mul(K0);
    hash ^ hash.rotate_right(33)
}
