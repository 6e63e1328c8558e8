//! Cyclic checksums and the hashes of Java, Hive and URLs: a byte at a time.
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
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !crc32_from(bytes, u32::MAX)
}

pub(super) fn crc32_ieee(bytes: &[u8]) -> u32 {
    crc32_from(bytes, 0)
}

pub(super) fn crc64(bytes: &[u8]) -> u64 {
    let step = |crc: u64, byte: &u8| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xc96c_5795_d787_0f42 } else { crc >> 1 }
        })
    };
    bytes.iter().fold(0, step)
}

/// `String.hashCode` over bytes, which carry a sign as in ClickHouse.
pub(super) fn java(bytes: &[u8]) -> i32 {
    bytes
        .iter()
        .fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(i8::from_ne_bytes([*byte]))))
}

pub(super) fn hive(bytes: &[u8]) -> i32 {
    java(bytes) & i32::MAX
}

/// Lamping and Veach, "A fast, minimal memory, consistent hash algorithm" (2014).
pub(super) fn jump(mut key: u64, buckets: i64) -> i64 {
    let (mut bucket, mut next) = (-1_i64, 0_i64);
    while next < buckets {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let float = |n: i64| crate::columns::number::wrap::<i64, f64>(n);
        let divisor = float(i64::try_from((key >> 33) + 1).unwrap_or(i64::MAX));
        next = crate::columns::number::wrap::<f64, i64>(float(bucket + 1) * (float(1 << 31) / divisor));
    }
    bucket
}
