//! Distributions that tests of hypotheses ask: the normal one, Student's and Fisher's.
//!
//! Invariant: values are right to about 14 digits; ClickHouse's may differ in the last ones. Must not know: tests.

use std::f64::consts::SQRT_2;

/// Steps after which a fraction is as near as it gets.
const STEPS_MAX: i32 = 10_000;
/// What stands for 0 where it would be divided by.
const TINY: f64 = 1e-300;

/// How much of the normal distribution lies below.
pub(super) fn normal_below(x: f64) -> f64 {
    libm::erfc(-x / SQRT_2) / 2.0
}

/// Below what so much of the normal distribution lies.
pub(super) fn normal_quantile(share: f64) -> f64 {
    root(normal_below, share)
}

/// How much of Student's distribution lies below `-|t|`.
pub(super) fn student_tail(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)) / 2.0
}

/// Below what so much of Student's distribution lies, of shares up to a half.
pub(super) fn student_quantile(share: f64, freedom: f64) -> f64 {
    root(|t| if t <= 0.0 { student_tail(t, freedom) } else { 1.0 - student_tail(t, freedom) }, share)
}

/// How much of Fisher's distribution lies above.
pub(super) fn fisher_above(f: f64, above: f64, below: f64) -> f64 {
    incomplete_beta(below / 2.0, above / 2.0, below / (below + above * f))
}

/// Where a growing function has a value: the interval is halved until there is no number inside of it.
fn root(function: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (-1.0, 1.0);
    while function(low) > value && low > f64::MIN / 4.0 {
        low *= 2.0;
    }
    while function(high) < value && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if function(middle) < value { low = middle } else { high = middle }
    }
}

/// The regularized incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x.is_nan() || a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction comes near fast below the mean; above it stands what is missing from 1.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = (a * x.ln() + b * (-x).ln_1p() - log_beta).exp() / a;
    front * fraction(a, b, x)
}

/// The continued fraction of the incomplete beta function, from the front (Lentz).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..STEPS_MAX {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        let change = d * c;
        value *= change;
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected.abs() * 1e-13, "{found} is not {expected}");
    }

    #[test]
    fn distributions_have_known_values() {
        near(normal_below(-1.959_963_984_540_054), 0.025);
        near(normal_quantile(0.025), -1.959_963_984_540_054);
        // One degree of freedom is Cauchy's distribution.
        near(student_tail(1.0, 1.0), 0.25);
        near(2.0 * student_tail(-1.921_537_845_661_045_7, 4.0), 0.127_046_392_985_285_86);
        near(student_quantile(0.25, 1.0), -1.0);
        // Of two above, Fisher's is a power.
        near(fisher_above(3.0, 2.0, 6.0), 0.125);
    }
}
