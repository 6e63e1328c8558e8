//! Conversions between lengths, counts of bytes and spans of time, whose only loss is far out of reach.
//!
//! Invariant: a number that fits is itself, one that does not becomes the largest there is; on the machines we build for,
//! with words of 64 bits, all lengths fit, and 64 bits of nanoseconds are 584 years. Not for numbers that somebody sends:
//! where one may really be too large, that is an error of its own, and `try_from` says so.
//! Must not know: what is counted.

use std::time::Duration;

/// A length as the number that files, wires and budgets count in.
#[inline]
pub fn u64_of(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A number of bytes or rows as a length in memory.
#[inline]
pub fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Where an offset of an Arrow list points to; the first of them is not below 0, and none is below the one before it.
#[inline]
pub fn place_of(offset: i32) -> usize {
    debug_assert!(offset >= 0, "an offset is a place");
    usize::try_from(offset).unwrap_or(0)
}

/// Whole milliseconds.
pub fn millis_of(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whole microseconds.
pub fn micros_of(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Nanoseconds.
pub fn nanos_of(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_the_largest() {
        assert_eq!((u64_of(7), usize_of(7), place_of(7)), (7, 7, 7));
        let time = Duration::from_micros(1_500);
        assert_eq!((millis_of(time), micros_of(time), nanos_of(time)), (1, 1_500, 1_500_000));
        assert_eq!(nanos_of(Duration::MAX), u64::MAX);
    }
}
