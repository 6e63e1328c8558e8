//! `quantileTDigest`: a sketch of the values of a group, finer toward both ends.
//!
//! The merging t-digest (Dunning and Ertl, "Computing extremely accurate quantiles using t-digests", 2019), with the size
//! function and the limits that ClickHouse uses, so that its answers are the same where its threads see the same rows.
//! Invariant: at most [`CENTROIDS_MAX`] + [`WAITING_MAX`] centroids are kept. Must not know: result types.

/// How much of the rows a centroid in the middle may stand for, times four.
const EPSILON: f64 = 0.01;
const CENTROIDS_MAX: usize = 2048;
/// Values that may wait to be merged.
const WAITING_MAX: usize = 2048;

/// Some values near each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Centroid {
    mean: f32,
    count: f32,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Digest {
    centroids: Vec<Centroid>,
    count: f64,
    waiting: usize,
}

impl Digest {
    /// Adds a value as often as `count` says; NaN is passed over.
    pub(super) fn add(&mut self, mean: f32, count: f32) {
        if count == 0.0 || mean.is_nan() {
            return;
        }
        self.centroids.push(Centroid { mean, count });
        self.count += f64::from(count);
        self.waiting += 1;
        if self.waiting > WAITING_MAX {
            self.merge_near();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.centroids.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.centroids.capacity() * size_of::<Centroid>()
    }

    /// Means and counts, in order of the means.
    pub(super) fn parts(&mut self) -> (Vec<f32>, Vec<f32>) {
        self.merge_near();
        self.centroids.iter().map(|centroid| (centroid.mean, centroid.count)).unzip()
    }

    /// Merges neighbours as long as their share of the rows is small for where they stand.
    fn merge_near(&mut self) {
        if self.waiting == 0 && self.centroids.len() <= CENTROIDS_MAX {
            return;
        }
        self.waiting = 0;
        self.centroids.sort_by(|left, right| left.mean.total_cmp(&right.mean));
        let mut waiting = std::mem::take(&mut self.centroids).into_iter();
        let Some(mut left) = waiting.next() else { return };
        let mut before = 0.0;
        for right in waiting {
            let half = |count: f32| f64::from(count) * 0.5;
            let left_level = (before + half(left.count)) / self.count;
            let right_level = (before + f64::from(left.count) + half(right.count)) / self.count;
            let spread = (left_level * (1.0 - left_level)).min(right_level * (1.0 - right_level));
            let room = self.count * EPSILON * 4.0 * spread;
            let fits = f64::from(left.count + right.count) <= room && can_merge(left.mean, right.mean);
            if fits {
                left.count += right.count;
                // Equal infinities have no difference.
                if left.mean != right.mean {
                    left.mean += right.count * (right.mean - left.mean) / left.count;
                }
            } else {
                before += f64::from(left.count);
                self.centroids.push(std::mem::replace(&mut left, right));
            }
        }
        self.count = before + f64::from(left.count);
        self.centroids.push(left);
        self.merge_many();
    }

    /// What infinities keep apart is merged by number once there is too much of it.
    fn merge_many(&mut self) {
        if self.centroids.len() <= CENTROIDS_MAX {
            return;
        }
        let together = self.centroids.len().div_ceil(CENTROIDS_MAX);
        let merged = self.centroids.chunks(together).map(|near| {
            let mut all = near[0];
            for other in &near[1..] {
                all.count += other.count;
                if all.mean != other.mean {
                    all.mean += other.count * (other.mean - all.mean) / all.count;
                }
            }
            all
        });
        self.centroids = merged.collect();
    }

    /// The value at a level from 0 to 1; NaN of nothing.
    pub(super) fn at(&mut self, level: f64) -> f32 {
        self.merge_near();
        let Some(first) = self.centroids.first() else { return f32::NAN };
        if self.centroids.len() == 1 {
            return first.mean;
        }
        let wanted = level * self.count;
        let (mut before, mut sum) = ((0.0, *first), 0.0);
        for centroid in &self.centroids {
            let place = sum + f64::from(centroid.count) * 0.5;
            if place >= wanted {
                let (place_before, previous) = before;
                // A single value has no width.
                let left = place_before + if previous.count == 1.0 { 0.5 } else { 0.0 };
                let right = place - if centroid.count == 1.0 { 0.5 } else { 0.0 };
                return match wanted {
                    low if low <= left => previous.mean,
                    high if high >= right => centroid.mean,
                    between => mixed((between - left) / (right - left), previous.mean, centroid.mean),
                };
            }
            sum += f64::from(centroid.count);
            before = (place, *centroid);
        }
        before.1.mean
    }
}

fn can_merge(left: f32, right: f32) -> bool {
    left == right || (left.is_finite() && right.is_finite())
}

/// Symmetric, so that infinities of both signs give NaN and one alone stays.
fn mixed(part: f64, left: f32, right: f32) -> f32 {
    narrowed((1.0 - part) * f64::from(left) + part * f64::from(right))
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest Float32 is meant")]
pub(super) fn narrowed(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f32>) -> Digest {
        let mut digest = Digest::default();
        values.into_iter().for_each(|value| digest.add(value, 1.0));
        digest
    }

    #[test]
    fn few_values_are_exact() {
        let mut digest = of((0_u8..10).map(f32::from));
        assert_eq!([0.0, 0.5, 1.0].map(|level| digest.at(level)), [0.0, 4.0, 9.0]);
        assert!(Digest::default().at(0.5).is_nan());
        assert!(of([f32::NAN]).is_empty());
    }

    #[test]
    fn many_values_are_near_and_few() {
        let mut digest = of((0_u16..50_000).map(f32::from));
        for (level, wanted) in [(0.01, 500.0), (0.5, 25_000.0), (0.99, 49_500.0), (1.0, 49_999.0)] {
            assert!((digest.at(level) - wanted).abs() < 60.0, "{level}: {}", digest.at(level));
        }
        assert!(digest.parts().0.len() < 1000);
    }

    #[test]
    fn sketches_add_up_and_infinities_stay_at_the_ends() {
        let mut whole = Digest::default();
        for part in [of([f32::INFINITY, 1.0, 2.0]), of([f32::NEG_INFINITY, 3.0])] {
            let (means, counts) = part.clone().parts();
            means.into_iter().zip(counts).for_each(|(mean, count)| whole.add(mean, count));
        }
        assert_eq!([0.0, 0.5, 1.0].map(|level| whole.at(level)), [f32::NEG_INFINITY, 2.0, f32::INFINITY]);
    }
}
