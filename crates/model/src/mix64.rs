//! SplitMix64: numbers that look random and follow from a seed, for generated data, simulations and jitter.
//!
//! Invariant: the numbers of a seed never change; data sets and failures are found again by them. Guy Steele, Doug Lea and
//! Christine Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014), with the constants of Sebastiano
//! Vigna's `splitmix64.c` (public domain). No secret may hang on them: what must be unguessable is `host::Random`'s.
//! Must not know: what the numbers are for.

/// What a state moves by: 2^64 divided by the golden ratio, so that consecutive states are far apart.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number of which every bit hangs on every bit of `number`; different ones of different numbers.
#[inline]
pub const fn mix64(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The next number of the stream with this state, which begins as the seed.
#[inline]
pub const fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(STEP);
    mix64(*state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_public_generator() {
        let mut state = 1_234_567;
        let numbers = [(); 3].map(|()| next(&mut state));
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
