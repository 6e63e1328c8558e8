//! CityHash 1.0.2 of 64 bits, the version ClickHouse's `cityHash64` has.
//!
//! Invariant: the numbers never change; later versions of CityHash give others.

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
pub(crate) fn combine(low: u64, high: u64) -> u64 {
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

/// The hash of any bytes.
pub(crate) fn city_hash(s: &[u8]) -> u64 {
    let n = s.len();
    let length = u64::try_from(n).unwrap_or(u64::MAX);
    match n {
        0..=16 => return up_to_16(s, length),
        17..=32 => return up_to_32(s, length),
        33..=64 => return up_to_64(s, length),
        _ => {}
    }
    let mut x = fetch64(s, 0);
    let mut y = fetch64(s, n - 16) ^ K1;
    let mut z = fetch64(s, n - 56) ^ K0;
    let mut v = weak(s, n - 64, length, y);
    let mut w = weak(s, n - 32, length.wrapping_mul(K1), K0);
    z = z.wrapping_add(shift_mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    for at in (0..(n - 1) / 64 * 64).step_by(64) {
        x = x
            .wrapping_add(y)
            .wrapping_add(v.0)
            .wrapping_add(fetch64(s, at + 16))
            .rotate_right(37)
            .wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(fetch64(s, at + 48)).rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak(s, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak(s, at + 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    combine(
        combine(v.0, w.0).wrapping_add(shift_mix(y).wrapping_mul(K1)).wrapping_add(z),
        combine(v.1, w.1).wrapping_add(x),
    )
}
