//! `quantileTiming`: milliseconds up to 30 seconds; of many, those above a second are rounded to 16.
//!
//! Invariant: a result is at most [`LONGEST`], whatever was given; negative times are 0. The state is the list of times.

use super::digest::narrowed;

/// Longer times count as this one.
const LONGEST: u16 = 30_000;
/// Times below are exact, whatever their number.
const EXACT_BELOW: u16 = 1024;
const ROUNDED_TO: u16 = 16;
/// So many times and more are rounded.
const MANY: usize = 5672;

/// Above this and below nothing a value is no time: the largest Int64, as ClickHouse has it.
const TIME_MAX: f64 = 9_223_372_036_854_775_807.0;

/// A time as it is kept; `None` of what is no time.
pub(super) fn kept(time: f64) -> Option<f64> {
    (0.0..=TIME_MAX).contains(&time).then(|| time.trunc().min(f64::from(LONGEST)))
}

/// The time at a level among those that are [`kept`] and in order.
pub(super) fn at(sorted: &[f64], level: f64) -> f32 {
    let Some(last) = sorted.len().checked_sub(1) else { return f32::NAN };
    let count = u32::try_from(sorted.len()).map_or(f64::from(u32::MAX), f64::from);
    if sorted.len() < MANY {
        return narrowed(sorted[super::index_of((level * count).floor(), last)]);
    }
    let place = super::index_of(((level * count).ceil() - 1.0).max(0.0), last);
    let time = sorted[place];
    if time < f64::from(EXACT_BELOW) || time >= f64::from(LONGEST) {
        return narrowed(time);
    }
    let bucket = ((time - f64::from(EXACT_BELOW)) / f64::from(ROUNDED_TO)).floor();
    narrowed(bucket * f64::from(ROUNDED_TO) + f64::from(EXACT_BELOW) + moved(bucket))
}

/// A number of the bucket's own around 0, so that results are not all multiples of 16.
fn moved(bucket: f64) -> f64 {
    let bucket = u64::try_from(super::index_of(bucket, usize::from(LONGEST))).unwrap_or(0);
    let mixed = functions::mix_32(bucket) % u32::from(ROUNDED_TO);
    f64::from(mixed) - f64::from(ROUNDED_TO / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_and_end_at_thirty_seconds() {
        assert_eq!([-0.5, 1.9, 1e9, f64::INFINITY].map(kept), [None, Some(1.0), Some(30_000.0), None]);
        assert!(at(&[], 0.5).is_nan());
        assert_eq!(at(&[1.0, 2.0, 30_000.0], 0.5), 2.0);
        let many: Vec<f64> = (0..40_000).filter_map(|time| kept(f64::from(time))).collect();
        assert_eq!((at(&many, 0.01), at(&many, 0.99)), (399.0, 30_000.0));
        assert!((at(&many, 0.1) - 3999.0).abs() < 24.0);
        assert_eq!(at(&many, 0.0), 0.0);
    }
}
