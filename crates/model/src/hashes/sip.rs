//! SipHash-2-4 of 64 and 128 bits, after Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
//!
//! Invariant: the 128 bits are ClickHouse's own, whose two words are `v0 ^ v1` and `v2 ^ v3` of the short variant.

use crate::saturating::u64_of;

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The state after all bytes, before it is made a number.
fn state(bytes: &[u8], key: (u64, u64), last: u64) -> [u64; 4] {
    let mut state = [
        0x736f_6d65_7073_6575 ^ key.0,
        0x646f_7261_6e64_6f6d ^ key.1 ^ last,
        0x6c79_6765_6e65_7261 ^ key.0,
        0x7465_6462_7974_6573 ^ key.1,
    ];
    let mut absorb = |word: u64| {
        state[3] ^= word;
        round(&mut state);
        round(&mut state);
        state[0] ^= word;
    };
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder();
    chunks.for_each(|chunk| absorb(word(chunk)));
    absorb(word(rest) | u64_of(bytes.len()) << 56);
    state
}

fn finished(mut state: [u64; 4], mark: u64) -> [u64; 4] {
    state[2] ^= mark;
    (0..4).for_each(|_| round(&mut state));
    state
}

/// The hash of any bytes.
pub fn sip64(bytes: &[u8], key: (u64, u64)) -> u64 {
    let [a, b, c, d] = finished(state(bytes, key, 0), 0xFF);
    a ^ b ^ c ^ d
}

/// ClickHouse's 128 bits.
pub fn sip128(bytes: &[u8], key: (u64, u64)) -> [u8; 16] {
    let [a, b, c, d] = finished(state(bytes, key, 0), 0xFF);
    joined(a ^ b, c ^ d)
}

/// The 128 bits of the reference implementation.
pub fn sip128_reference(bytes: &[u8], key: (u64, u64)) -> [u8; 16] {
    let mut state = finished(state(bytes, key, 0xEE), 0xEE);
    let low = state.iter().fold(0, |all, word| all ^ word);
    state[1] ^= 0xDD;
    (0..4).for_each(|_| round(&mut state));
    joined(low, state.iter().fold(0, |all, word| all ^ word))
}

fn joined(low: u64, high: u64) -> [u8; 16] {
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}
