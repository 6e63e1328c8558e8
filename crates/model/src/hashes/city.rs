//! CityHash 1.0.2 of 64 bits, the version ClickHouse's `cityHash64` has, and of 128, the checksum of its compressed blocks.
//!
//! Invariant: the numbers never change; later versions of CityHash give others.

use crate::saturating::u64_of;

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
const K3: u64 = 0xc949_d7c7_509e_6557;

fn fetch64(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn fetch32(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

/// Two hashes as one.
pub fn combine(low: u64, high: u64) -> u64 {
    const MUL: u64 = 0x9ddf_ea08_eb38_2d69;
    let a = shift_mix((low ^ high).wrapping_mul(MUL));
    shift_mix((high ^ a).wrapping_mul(MUL)).wrapping_mul(MUL)
}

fn up_to_16(s: &[u8], length: u64) -> u64 {
    let n = s.len();
    match n {
        9.. => {
            let (a, b) = (fetch64(s, 0), fetch64(s, n - 8));
            combine(a, b.wrapping_add(length).rotate_right(u32::try_from(n).unwrap_or(0))) ^ b
        }
        4..=8 => combine(length.wrapping_add(fetch32(s, 0) << 3), fetch32(s, n - 4)),
        1..=3 => {
            let y = u64::from(s[0]).wrapping_add(u64::from(s[n >> 1]) << 8);
            let z = length.wrapping_add(u64::from(s[n - 1]) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K3)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

fn up_to_32(s: &[u8], length: u64) -> u64 {
    let n = s.len();
    let a = fetch64(s, 0).wrapping_mul(K1);
    let b = fetch64(s, 8);
    let c = fetch64(s, n - 8).wrapping_mul(K2);
    let d = fetch64(s, n - 16).wrapping_mul(K0);
    combine(
        a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
        a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(length),
    )
}

/// The two halves of the hash of 17 to 64 bytes.
fn half(first: u64, second: u64, z: u64, rest: [u64; 2]) -> (u64, u64) {
    let mut a = first.wrapping_add(second);
    let b = a.wrapping_add(z).rotate_right(52);
    let mut c = a.rotate_right(37);
    a = a.wrapping_add(rest[0]);
    c = c.wrapping_add(a.rotate_right(7));
    a = a.wrapping_add(rest[1]);
    (a.wrapping_add(z), b.wrapping_add(a.rotate_right(31)).wrapping_add(c))
}

fn up_to_64(s: &[u8], length: u64) -> u64 {
    let n = s.len();
    let scaled = length.wrapping_add(fetch64(s, n - 16)).wrapping_mul(K0);
    let v = half(fetch64(s, 0), scaled, fetch64(s, 24), [fetch64(s, 8), fetch64(s, 16)]);
    let w =
        half(fetch64(s, 16), fetch64(s, n - 32), fetch64(s, n - 8), [fetch64(s, n - 24), fetch64(s, n - 16)]);
    let r = shift_mix(
        v.0.wrapping_add(w.1).wrapping_mul(K2).wrapping_add(w.0.wrapping_add(v.1).wrapping_mul(K0)),
    );
    shift_mix(r.wrapping_mul(K0).wrapping_add(v.1)).wrapping_mul(K2)
}

/// 32 bytes from `at` mixed with two seeds.
fn weak(s: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let z = fetch64(s, at + 24);
    let a = a.wrapping_add(fetch64(s, at));
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let sum = a.wrapping_add(fetch64(s, at + 8)).wrapping_add(fetch64(s, at + 16));
    (sum.wrapping_add(z), b.wrapping_add(sum.rotate_right(44)).wrapping_add(a))
}

/// Two rounds of this are a step of the hash of long inputs; both lengths share it.
struct Round {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl Round {
    fn step(&mut self, s: &[u8], at: usize) {
        let Round { x, y, z, v, w } = self;
        *x = x
            .wrapping_add(*y)
            .wrapping_add(v.0)
            .wrapping_add(fetch64(s, at + 16))
            .rotate_right(37)
            .wrapping_mul(K1);
        *y = y.wrapping_add(v.1).wrapping_add(fetch64(s, at + 48)).rotate_right(42).wrapping_mul(K1);
        *x ^= w.1;
        *y ^= v.0;
        *z = (*z ^ w.0).rotate_right(33);
        *v = weak(s, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        *w = weak(s, at + 32, z.wrapping_add(w.1), *y);
        std::mem::swap(z, x);
    }
}

/// The hash of any bytes.
pub fn city_hash(s: &[u8]) -> u64 {
    let n = s.len();
    let length = u64_of(n);
    match n {
        0..=16 => return up_to_16(s, length),
        17..=32 => return up_to_32(s, length),
        33..=64 => return up_to_64(s, length),
        _ => {}
    }
    let y = fetch64(s, n - 16) ^ K1;
    let v = weak(s, n - 64, length, y);
    let w = weak(s, n - 32, length.wrapping_mul(K1), K0);
    let z = (fetch64(s, n - 56) ^ K0).wrapping_add(shift_mix(v.1).wrapping_mul(K1));
    let x = z.wrapping_add(fetch64(s, 0)).rotate_right(39).wrapping_mul(K1);
    let mut round = Round { x, y: y.rotate_right(33).wrapping_mul(K1), z, v, w };
    for at in (0..(n - 1) / 64 * 64).step_by(64) {
        round.step(s, at);
    }
    let Round { x, y, z, v, w } = round;
    combine(
        combine(v.0, w.0).wrapping_add(shift_mix(y).wrapping_mul(K1)).wrapping_add(z),
        combine(v.1, w.1).wrapping_add(x),
    )
}

fn length_of(s: &[u8]) -> u64 {
    u64_of(s.len())
}

/// Up to 127 bytes.
fn murmur(s: &[u8], seed: (u64, u64)) -> (u64, u64) {
    let (n, length) = (s.len(), length_of(s));
    let (mut a, mut b, mut c, mut d) = (seed.0, seed.1, 0_u64, 0_u64);
    if n <= 16 {
        a = shift_mix(a.wrapping_mul(K1)).wrapping_mul(K1);
        c = b.wrapping_mul(K1).wrapping_add(up_to_16(s, length)).wrapping_add(c);
        d = shift_mix(a.wrapping_add(if n >= 8 { fetch64(s, 0) } else { c })).wrapping_add(d);
    } else {
        c = combine(fetch64(s, n - 8).wrapping_add(K1), a).wrapping_add(c);
        d = combine(b.wrapping_add(length), c.wrapping_add(fetch64(s, n - 16))).wrapping_add(d);
        a = a.wrapping_add(d);
        for at in (0..n - 16).step_by(16) {
            a ^= shift_mix(fetch64(s, at).wrapping_mul(K1)).wrapping_mul(K1);
            a = a.wrapping_mul(K1);
            b ^= a;
            c ^= shift_mix(fetch64(s, at + 8).wrapping_mul(K1)).wrapping_mul(K1);
            c = c.wrapping_mul(K1);
            d ^= c;
        }
    }
    a = combine(a, c);
    b = combine(d, b);
    (a ^ b, combine(b, a))
}

fn seeded_128(s: &[u8], seed: (u64, u64)) -> (u64, u64) {
    if s.len() < 128 {
        return murmur(s, seed);
    }
    let (x, y, z) = (seed.0, seed.1, length_of(s).wrapping_mul(K1));
    let first = (y ^ K1).rotate_right(49).wrapping_mul(K1).wrapping_add(fetch64(s, 0));
    let v = (first, first.rotate_right(42).wrapping_mul(K1).wrapping_add(fetch64(s, 8)));
    let w = (
        y.wrapping_add(z).rotate_right(35).wrapping_mul(K1).wrapping_add(x),
        x.wrapping_add(fetch64(s, 88)).rotate_right(53).wrapping_mul(K1),
    );
    let mut round = Round { x, y, z, v, w };
    let whole = s.len() / 128 * 128;
    for at in (0..whole).step_by(64) {
        round.step(s, at);
    }
    let Round { mut x, mut y, z, mut v, mut w } = round;
    y = y.wrapping_add(w.0.rotate_right(37).wrapping_mul(K0)).wrapping_add(z);
    x = x.wrapping_add(v.0.wrapping_add(z).rotate_right(49).wrapping_mul(K0));
    let mut done = 0;
    while done < s.len() - whole {
        done += 32;
        let at = s.len() - done;
        y = y.wrapping_sub(x).rotate_right(42).wrapping_mul(K0).wrapping_add(v.1);
        w.0 = w.0.wrapping_add(fetch64(s, at + 16));
        x = x.rotate_right(49).wrapping_mul(K0).wrapping_add(w.0);
        w.0 = w.0.wrapping_add(v.0);
        v = weak(s, at, v.0, v.1);
    }
    x = combine(x, v.0);
    y = combine(y, w.0);
    (combine(x.wrapping_add(v.1), w.1).wrapping_add(y), combine(x.wrapping_add(w.1), y.wrapping_add(v.1)))
}

/// The hash of any bytes, 128 bits: low half, high half.
pub fn city_hash_128(s: &[u8]) -> (u64, u64) {
    let n = s.len();
    match n {
        16.. => seeded_128(&s[16..], (fetch64(s, 0) ^ K3, fetch64(s, 8))),
        8..=15 => {
            let seed = (fetch64(s, 0) ^ length_of(s).wrapping_mul(K0), fetch64(s, n - 8) ^ K1);
            seeded_128(&[], seed)
        }
        _ => seeded_128(s, (K0, K1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checksums that ClickHouse 26.9 wrote ahead of uncompressed blocks of the bytes 1, 2, 3 ..: rows, low, high.
    const CHECKSUMS: &[(u32, u64, u64)] = &[
        (1, 0x44de_969a_62d2_7470, 0x2e46_b944_7ae4_9a3b),
        (3, 0x6c3f_4d19_c82d_c513, 0xc303_40c5_c130_e125),
        (7, 0xc487_3978_8649_ff55, 0x55a5_4edd_f9b7_721e),
        (20, 0x51ba_3922_f20b_f7d9, 0xc08a_8f3d_a309_5c7a),
        (50, 0x7a3a_09ae_ca7a_d515, 0xc7fa_9d46_d7d9_ea6b),
        (118, 0x9dbf_8cf9_d86f_9578, 0x123b_b00b_c7d9_c3d6),
        (119, 0x0ad6_c2fa_1feb_9d77, 0x3316_c986_9ee1_c5ab),
        (120, 0x49ab_e626_faf4_3474, 0xfee2_ebba_a3d8_7004),
        (150, 0x56aa_d86f_0f1b_2dbf, 0xb720_60f0_6c74_3662),
        (247, 0xe086_2e43_a586_caec, 0x4c99_f641_3a6b_9743),
        (300, 0x42b4_d8f7_8120_2b64, 0xe131_6c68_0d64_b9b7),
        (591, 0x78a9_83e1_b3ce_9d6d, 0xb289_a61a_ab71_c9c1),
    ];

    #[test]
    fn checksums_are_those_of_clickhouse() {
        for (rows, low, high) in CHECKSUMS {
            let mut block = vec![0x02];
            block.extend((rows + 9).to_le_bytes());
            block.extend(rows.to_le_bytes());
            block.extend((1..=*rows).map(|row| u8::try_from(row % 256).unwrap()));
            assert_eq!(city_hash_128(&block), (*low, *high), "{rows} rows");
        }
    }
}
