//! MurmurHash 2 and 3, after Austin Appleby's public-domain sources (github.com/aappleby/smhasher).
//!
//! Invariant: the seeds are ClickHouse's.

use crate::saturating::u64_of;

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

fn word32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The length as the 32 bits that the algorithms mix in.
fn length32(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len() & 0xFFFF_FFFF).unwrap_or(0)
}

fn length64(bytes: &[u8]) -> u64 {
    u64_of(bytes.len())
}

/// MurmurHash2.
pub fn murmur2_32(bytes: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut h = seed ^ length32(bytes);
    let chunks = bytes.chunks_exact(4);
    let rest = chunks.remainder();
    for chunk in chunks {
        let mut k = word32(chunk).wrapping_mul(M);
        k ^= k >> 24;
        h = h.wrapping_mul(M) ^ k.wrapping_mul(M);
    }
    if !rest.is_empty() {
        h = (h ^ word32(rest)).wrapping_mul(M);
    }
    h ^= h >> 13;
    h = h.wrapping_mul(M);
    h ^ h >> 15
}

/// MurmurHash64A.
pub fn murmur2_64(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut h = seed ^ length64(bytes).wrapping_mul(M);
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        let mut k = word(chunk).wrapping_mul(M);
        k ^= k >> 47;
        h = (h ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        h = (h ^ word(rest)).wrapping_mul(M);
    }
    h ^= h >> 47;
    h = h.wrapping_mul(M);
    h ^ h >> 47
}

/// The one of GCC's standard library, which is MurmurHash64A with its own seed.
pub fn gcc_murmur(bytes: &[u8]) -> u64 {
    murmur2_64(bytes, 0xc70f_6907)
}

/// The one of Kafka's default partitioner, which takes the sign off.
pub fn kafka_murmur(bytes: &[u8]) -> u32 {
    murmur2_32(bytes, 0x9747_b28c) & 0x7FFF_FFFF
}

/// MurmurHash3_x86_32.
pub fn murmur3_32(bytes: &[u8]) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let scrambled = |k: u32| k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut h = 0_u32;
    let chunks = bytes.chunks_exact(4);
    let rest = chunks.remainder();
    for chunk in chunks {
        h = (h ^ scrambled(word32(chunk))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    h ^= scrambled(word32(rest));
    h ^= length32(bytes);
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

fn mixed(mut k: u64) -> u64 {
    k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ k >> 33
}

/// MurmurHash3_x64_128: its two words.
pub fn murmur3_128(bytes: &[u8]) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let first = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut a, mut b) = (0_u64, 0_u64);
    let chunks = bytes.chunks_exact(16);
    let rest = chunks.remainder();
    for chunk in chunks {
        a = (a ^ first(word(&chunk[..8]))).rotate_left(27).wrapping_add(b);
        a = a.wrapping_mul(5).wrapping_add(0x52dc_e729);
        b = (b ^ second(word(&chunk[8..]))).rotate_left(31).wrapping_add(a);
        b = b.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    b ^= second(word(high));
    a ^= first(word(low));
    a ^= length64(bytes);
    b ^= length64(bytes);
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    a = mixed(a);
    b = mixed(b);
    a = a.wrapping_add(b);
    (a, b.wrapping_add(a))
}
