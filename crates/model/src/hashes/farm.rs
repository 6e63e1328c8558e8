//! FarmHash of 64 bits, after Google's published source (github.com/google/farmhash): `na`, `xo` and `uo` variants.
//!
//! Invariant: `farm64` is `farmhash::Hash64` of a machine without special instructions, `fingerprint64` is
//! `farmhash::Fingerprint64`; their numbers never change. Texts of 0..=16, 17..=32, 33..=64 bytes and above go ways of
//! their own.

use crate::saturating::u64_of;

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

fn fetch(s: &[u8], at: usize) -> u64 {
    s[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn fetch32(s: &[u8], at: usize) -> u64 {
    s[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn length_of(s: &[u8]) -> u64 {
    u64_of(s.len())
}

fn shift_mix(value: u64) -> u64 {
    value ^ value >> 47
}

fn sum(terms: &[u64]) -> u64 {
    terms.iter().fold(0, |sum, term| sum.wrapping_add(*term))
}

fn of_two(u: u64, v: u64, mul: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(mul));
    shift_mix((v ^ a).wrapping_mul(mul)).wrapping_mul(mul)
}

fn up_to_16(s: &[u8]) -> u64 {
    let (n, length) = (s.len(), length_of(s));
    let mul = K2.wrapping_add(length * 2);
    match n {
        8.. => {
            let (a, b) = (fetch(s, 0).wrapping_add(K2), fetch(s, n - 8));
            let c = b.rotate_right(37).wrapping_mul(mul).wrapping_add(a);
            of_two(c, a.rotate_right(25).wrapping_add(b).wrapping_mul(mul), mul)
        }
        4.. => of_two(length.wrapping_add(fetch32(s, 0) << 3), fetch32(s, n - 4), mul),
        1.. => {
            let y = u64::from(s[0]) + (u64::from(s[n >> 1]) << 8);
            let z = length + (u64::from(s[n - 1]) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

fn up_to_32(s: &[u8]) -> u64 {
    let n = s.len();
    let mul = K2.wrapping_add(length_of(s) * 2);
    let (a, b) = (fetch(s, 0).wrapping_mul(K1), fetch(s, 8));
    let (c, d) = (fetch(s, n - 8).wrapping_mul(mul), fetch(s, n - 16).wrapping_mul(K2));
    let first = sum(&[a.wrapping_add(b).rotate_right(43), c.rotate_right(30), d]);
    of_two(first, sum(&[a, b.wrapping_add(K2).rotate_right(18), c]), mul)
}

fn up_to_64(s: &[u8]) -> u64 {
    let n = s.len();
    let mul = K2.wrapping_add(length_of(s) * 2);
    let (a, b) = (fetch(s, 0).wrapping_mul(K2), fetch(s, 8));
    let (c, d) = (fetch(s, n - 8).wrapping_mul(mul), fetch(s, n - 16).wrapping_mul(K2));
    let y = sum(&[a.wrapping_add(b).rotate_right(43), c.rotate_right(30), d]);
    let z = of_two(y, sum(&[a, b.wrapping_add(K2).rotate_right(18), c]), mul);
    let (e, f) = (fetch(s, 16).wrapping_mul(mul), fetch(s, 24));
    let g = y.wrapping_add(fetch(s, n - 32)).wrapping_mul(mul);
    let h = z.wrapping_add(fetch(s, n - 24)).wrapping_mul(mul);
    let first = sum(&[e.wrapping_add(f).rotate_right(43), g.rotate_right(30), h]);
    of_two(first, sum(&[e, f.wrapping_add(a).rotate_right(18), g]), mul)
}

/// Two words of 32 bytes.
fn weak(s: &[u8], a: u64, b: u64) -> [u64; 2] {
    let z = fetch(s, 24);
    let first = a.wrapping_add(fetch(s, 0));
    let second = sum(&[b, first, z]).rotate_right(21);
    let last = sum(&[first, fetch(s, 8), fetch(s, 16)]);
    [last.wrapping_add(z), sum(&[second, last.rotate_right(44), first])]
}

/// Where the last whole or broken block of 64 bytes starts, and the last 64 bytes.
fn blocks(s: &[u8]) -> (usize, usize) {
    ((s.len() - 1) / 64 * 64, s.len() - 64)
}

/// The fingerprint of any bytes.
pub fn fingerprint64(s: &[u8]) -> u64 {
    match s.len() {
        0..=16 => return up_to_16(s),
        17..=32 => return up_to_32(s),
        33..=64 => return up_to_64(s),
        _ => {}
    }
    let mut x = 81_u64.wrapping_mul(K2).wrapping_add(fetch(s, 0));
    let mut y = 81_u64.wrapping_mul(K1).wrapping_add(113);
    let mut z = shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let (mut v, mut w) = ([0_u64; 2], [0_u64; 2]);
    let (end, last) = blocks(s);
    for at in (0..end).step_by(64) {
        let block = &s[at..];
        x = sum(&[x, y, v[0], fetch(block, 8)]).rotate_right(37).wrapping_mul(K1) ^ w[1];
        y = sum(&[y, v[1], fetch(block, 48)]).rotate_right(42).wrapping_mul(K1);
        y = sum(&[y, v[0], fetch(block, 40)]);
        z = z.wrapping_add(w[0]).rotate_right(33).wrapping_mul(K1);
        v = weak(block, v[1].wrapping_mul(K1), x.wrapping_add(w[0]));
        w = weak(&block[32..], z.wrapping_add(w[1]), y.wrapping_add(fetch(block, 16)));
        (x, z) = (z, x);
    }
    let mul = K1.wrapping_add((z & 0xFF) << 1);
    let block = &s[last..];
    w[0] = w[0].wrapping_add((length_of(s) - 1) & 63);
    v[0] = v[0].wrapping_add(w[0]);
    w[0] = w[0].wrapping_add(v[0]);
    x = sum(&[x, y, v[0], fetch(block, 8)]).rotate_right(37).wrapping_mul(mul) ^ w[1].wrapping_mul(9);
    y = sum(&[y, v[1], fetch(block, 48)]).rotate_right(42).wrapping_mul(mul);
    y = sum(&[y, v[0].wrapping_mul(9), fetch(block, 40)]);
    z = z.wrapping_add(w[0]).rotate_right(33).wrapping_mul(mul);
    v = weak(block, v[1].wrapping_mul(mul), x.wrapping_add(w[0]));
    w = weak(&block[32..], z.wrapping_add(w[1]), y.wrapping_add(fetch(block, 16)));
    (x, z) = (z, x);
    let first = sum(&[of_two(v[0], w[0], mul), shift_mix(y).wrapping_mul(K0), z]);
    of_two(first, of_two(v[1], w[1], mul).wrapping_add(x), mul)
}

fn of_32(s: &[u8], mul: u64, seeds: [u64; 2]) -> u64 {
    let (a, b) = (fetch(s, 0).wrapping_mul(K1), fetch(s, 8));
    let (c, d) = (fetch(s, 24).wrapping_mul(mul), fetch(s, 16).wrapping_mul(K2));
    let u = sum(&[a.wrapping_add(b).rotate_right(43), c.rotate_right(30), d, seeds[0]]);
    let v = sum(&[a, b.wrapping_add(K2).rotate_right(18), c, seeds[1]]);
    let a = shift_mix((u ^ v).wrapping_mul(mul));
    shift_mix((v ^ a).wrapping_mul(mul))
}

/// The hash of any bytes.
pub fn farm64(s: &[u8]) -> u64 {
    let n = s.len();
    let mul = |less: u64, lengths: u64| K2.wrapping_sub(less).wrapping_add(lengths * length_of(s));
    match n {
        33..=64 => {
            let first = of_32(s, mul(30, 0), [0; 2]);
            let second = of_32(&s[n - 32..], mul(30, 2), [0; 2]);
            second.wrapping_mul(mul(30, 2)).wrapping_add(first).wrapping_mul(mul(30, 2))
        }
        65..=96 => {
            let first = of_32(s, mul(114, 0), [0; 2]);
            let second = of_32(&s[32..], mul(114, 2), [0; 2]);
            let third = of_32(&s[n - 32..], mul(114, 2), [first, second]);
            sum(&[third.wrapping_mul(9), first >> 17, second >> 21]).wrapping_mul(mul(114, 2))
        }
        0..=256 => fingerprint64(s),
        _ => long(s),
    }
}

fn turned(x: u64, y: u64, mul: u64, by: u32) -> u64 {
    let a = shift_mix((x ^ y).wrapping_mul(mul));
    (y ^ a).wrapping_mul(mul).rotate_right(by).wrapping_mul(mul)
}

/// More than 256 bytes.
fn long(s: &[u8]) -> u64 {
    let (mut x, mut y) = (81_u64, 113_u64);
    let mut z = shift_mix(y.wrapping_mul(K2)).wrapping_mul(K2);
    let (mut v, mut w) = ([81_u64, 0], [0_u64; 2]);
    let mut u = x.wrapping_sub(z);
    x = x.wrapping_mul(K2);
    let mul = K2.wrapping_add(u & 0x82);
    let (end, last) = blocks(s);
    for at in (0..end).step_by(64) {
        let a: [u64; 8] = std::array::from_fn(|word| fetch(s, at + word * 8));
        x = sum(&[x, a[0], a[1]]).rotate_right(26).wrapping_mul(9);
        y = y.wrapping_add(a[2]).rotate_right(29);
        z = z.wrapping_add(a[3]).wrapping_mul(mul);
        v[0] = v[0].wrapping_add(a[4]).rotate_right(33);
        v[1] = sum(&[v[1], a[5], a[1]]).rotate_right(30);
        w[0] = (w[0].wrapping_add(a[6]) ^ x).wrapping_mul(9);
        w[1] = w[1].wrapping_add(a[7]);
        z = z.rotate_right(32).wrapping_add(w[1]);
        w[1] = w[1].wrapping_add(z);
        z = z.wrapping_mul(9);
        (u, y) = (y, u);
        z = sum(&[z, a[0], a[6]]);
        v = [v[0].wrapping_add(a[2]), v[1].wrapping_add(a[3])];
        w = [w[0].wrapping_add(a[4]), sum(&[w[1], a[5], a[6]])];
        x = x.wrapping_add(a[1]);
        y = sum(&[y, a[7], v[0]]);
        v[0] = v[0].wrapping_add(x).wrapping_sub(y);
        v[1] = v[1].wrapping_add(w[0]);
        w[0] = w[0].wrapping_add(v[1]);
        w[1] = w[1].wrapping_add(x).wrapping_sub(y);
        x = x.wrapping_add(w[1]);
        w[1] = w[1].rotate_right(34);
        (u, z) = (z, u);
    }
    let block = &s[last..];
    u = u.wrapping_mul(9);
    v = [v[0].rotate_right(20), v[1].rotate_right(28)];
    w[0] = w[0].wrapping_add((length_of(s) - 1) & 63);
    u = u.wrapping_add(y);
    y = y.wrapping_add(u);
    x = sum(&[y.wrapping_sub(x), v[0], fetch(block, 8)]).rotate_right(37).wrapping_mul(mul)
        ^ w[1].wrapping_mul(9);
    y = (y ^ v[1] ^ fetch(block, 48)).rotate_right(42).wrapping_mul(mul);
    y = sum(&[y, v[0], fetch(block, 40)]);
    z = z.wrapping_add(w[0]).rotate_right(33).wrapping_mul(mul);
    v = weak(block, v[1].wrapping_mul(mul), x.wrapping_add(w[0]));
    w = weak(&block[32..], z.wrapping_add(w[1]), y.wrapping_add(fetch(block, 16)));
    let first = of_two(v[0].wrapping_add(x), w[0] ^ y, mul).wrapping_add(z).wrapping_sub(u);
    let second = turned(v[1].wrapping_add(y), w[1].wrapping_add(z), K2, 30) ^ x;
    turned(first, second, K2, 31)
}

/// Two hashes as one.
pub fn fingerprint_of_two(low: u64, high: u64) -> u64 {
    const MUL: u64 = 0x9ddf_ea08_eb38_2d69;
    let a = shift_mix((low ^ high).wrapping_mul(MUL));
    let mut b = (high ^ a).wrapping_mul(MUL);
    b = (b ^ b >> 44).wrapping_mul(MUL);
    (b ^ b >> 41).wrapping_mul(MUL)
}
