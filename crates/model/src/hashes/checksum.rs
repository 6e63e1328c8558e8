//! Cyclic checksums, the hashes of Java and Hive, and the jump to a bucket.
//!
//! Invariant: the polynomials and start values are ClickHouse's: `CRC32` is zlib's, `CRC32IEEE` is
//! the same without its inversions, `CRC64` is ECMA-182 mirrored, also without.

fn crc32_from(bytes: &[u8], start: u32) -> u32 {
    bytes.iter().fold(start, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

/// The checksum of zlib.
pub fn crc32(bytes: &[u8]) -> u32 {
    !crc32_from(bytes, u32::MAX)
}

/// That of IEEE 802.3 without its inversions.
pub fn crc32_ieee(bytes: &[u8]) -> u32 {
    crc32_from(bytes, 0)
}

/// That of ECMA-182 without its inversions.
pub fn crc64(bytes: &[u8]) -> u64 {
    let step = |crc: u64, byte: &u8| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xc96c_5795_d787_0f42 } else { crc >> 1 }
        })
    };
    bytes.iter().fold(0, step)
}

/// `String.hashCode` over bytes, which carry a sign as in ClickHouse.
pub fn java(bytes: &[u8]) -> i32 {
    bytes
        .iter()
        .fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(i8::from_ne_bytes([*byte]))))
}

/// Hive's: [`java`] without its sign.
pub fn hive(bytes: &[u8]) -> i32 {
    java(bytes) & i32::MAX
}

/// As [`java`] over characters of two bytes, the lower one first; `None` where a byte is left.
pub fn java_utf16(bytes: &[u8]) -> Option<i32> {
    let (characters, rest) = bytes.as_chunks::<2>();
    let hash = characters.iter().map(|pair| i32::from(u16::from_le_bytes(*pair)));
    rest.is_empty().then(|| hash.fold(0_i32, |hash, character| hash.wrapping_mul(31).wrapping_add(character)))
}

/// Lamping and Veach, "A fast, minimal memory, consistent hash algorithm" (2014).
#[expect(clippy::cast_possible_truncation, reason = "a bucket, or beyond all of them")]
pub fn jump(mut key: u64, buckets: i64) -> i64 {
    let (mut bucket, mut next) = (-1_i64, 0_i64);
    while next < buckets {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let divisor = ((key >> 33) + 1) as f64;
        next = ((bucket + 1) as f64 * (2_147_483_648.0 / divisor)) as i64;
    }
    bucket
}
