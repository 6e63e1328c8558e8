//! How an object is cut into parts.
//!
//! Pure. Invariant: parts grow, so that the largest object S3 knows fits into the parts it allows. Must not know:
//! requests, memory.

use model::saturating::u64_of;

/// S3 refuses smaller parts, but for the last one of an object.
pub const PART_BYTES_MIN: u64 = 5 << 20;

/// S3 refuses larger parts.
pub const PART_BYTES_MAX: u64 = 5 << 30;

/// S3 refuses more parts of one object.
pub const PARTS_MAX: usize = 10_000;

/// ClickHouse's settings of the same names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartSizes {
    /// Bytes up to which an object is one request.
    pub single_bytes_max: u64,
    /// Bytes of the first parts.
    pub part_bytes_min: u64,
    pub part_bytes_max: u64,
    /// Parts are this many times larger after every so many parts.
    pub multiply_factor: u64,
    pub multiply_parts: u64,
}

impl Default for PartSizes {
    fn default() -> Self {
        PartSizes {
            single_bytes_max: 32 << 20,
            part_bytes_min: 16 << 20,
            part_bytes_max: PART_BYTES_MAX,
            multiply_factor: 2,
            multiply_parts: 500,
        }
    }
}

impl PartSizes {
    /// Bytes of part number `index`, counted from 0.
    pub fn bytes_of(&self, index: usize) -> u64 {
        let index = u64_of(index);
        let steps = index.checked_div(self.multiply_parts).unwrap_or(0);
        let factor = self.multiply_factor.max(1).saturating_pow(u32::try_from(steps).unwrap_or(u32::MAX));
        let largest = self.part_bytes_max.clamp(PART_BYTES_MIN, PART_BYTES_MAX);
        self.part_bytes_min.max(PART_BYTES_MIN).saturating_mul(factor).min(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_grow_in_steps() {
        let mib = 1 << 20;
        for (index, bytes) in [(0, 16 * mib), (499, 16 * mib), (500, 32 * mib), (1000, 64 * mib)] {
            assert_eq!(PartSizes::default().bytes_of(index), bytes, "part {index}");
        }
        assert_eq!(PartSizes::default().bytes_of(9_999), PART_BYTES_MAX);
    }

    #[test]
    fn settings_cannot_ask_for_what_s3_refuses() {
        let tiny =
            PartSizes { part_bytes_min: 1, multiply_factor: 0, multiply_parts: 0, ..PartSizes::default() };
        assert_eq!((tiny.bytes_of(0), tiny.bytes_of(5_000)), (PART_BYTES_MIN, PART_BYTES_MIN));
        let huge = PartSizes { part_bytes_min: u64::MAX, ..PartSizes::default() };
        assert_eq!(huge.bytes_of(0), PART_BYTES_MAX);
        let capped = PartSizes { part_bytes_max: 20 << 20, ..PartSizes::default() };
        assert_eq!(capped.bytes_of(600), 20 << 20);
    }

    #[test]
    fn the_largest_object_of_s3_fits() {
        let all: u64 = (0..PARTS_MAX).map(|index| PartSizes::default().bytes_of(index)).sum();
        assert!(all > 5 << 40, "{all}");
    }
}
