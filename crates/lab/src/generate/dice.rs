//! The numbers behind generated data: a short, specified stream, so that one seed gives the same bytes for ever.
//!
//! Not `host::Random`: nothing here needs to be unguessable, and a data set must not change with a library's generator.
//! Invariant: the numbers are a function of (seed, stream) and of nothing else.

use model::mix64;

/// One addition, two multiplications, three shifts a number.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    /// Stream `stream` of `seed`: streams of one seed are independent, so files can be written side by side.
    pub(crate) fn new(seed: u64, stream: u64) -> Dice {
        let mut dice = Dice { state: seed ^ stream.wrapping_mul(mix64::STEP).rotate_left(17) };
        dice.next();
        dice.next();
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        mix64::next(&mut self.state)
    }

    /// A number below `limit` (the bias, at most `limit` in 2^32, is of no interest here).
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        scale_down(self.next(), limit)
    }

    /// True `per_mille` times in a thousand.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < per_mille
    }

    /// A number below `limit` that is small far more often than large: the product of three throws.
    /// Half of them are below an eighth of the limit; it stands for sizes, scores and popularity.
    pub(crate) fn skewed(&mut self, limit: u32) -> u32 {
        let a = self.below(limit.saturating_add(1));
        let b = scale_down(self.next(), a.saturating_add(1));
        scale_down(self.next(), b.saturating_add(1)).min(limit.saturating_sub(1))
    }
}

/// The upper half of `random` mapped onto `0..limit` without a division.
pub(super) fn scale_down(random: u64, limit: u32) -> u32 {
    let product = u64::from((random >> 32) as u32) * u64::from(limit);
    (product >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_function_of_seed_and_number() {
        let throws = |seed, stream| {
            let mut dice = Dice::new(seed, stream);
            (0..4).map(|_| dice.next()).collect::<Vec<_>>()
        };
        assert_eq!(throws(1, 2), throws(1, 2));
        assert_ne!(throws(1, 2), throws(1, 3));
        assert_ne!(throws(1, 2), throws(2, 2));
    }

    #[test]
    fn throws_stay_below_their_limit() {
        let mut dice = Dice::new(7, 0);
        let mut low = 0;
        for _ in 0..10_000 {
            assert!(dice.below(10) < 10);
            let skewed = dice.skewed(800);
            assert!(skewed < 800);
            low += u32::from(skewed < 100);
        }
        assert!(low > 5_000, "{low} of 10000 in the lowest eighth");
        assert_eq!(dice.below(1), 0);
        assert_eq!(dice.skewed(1), 0);
    }
}
