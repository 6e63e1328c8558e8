//! Whether two samples come from one distribution, by their order: the tests of Mann and Whitney, of Kolmogorov and Smirnov.
//!
//! Invariant: statistics and p-values are ClickHouse's, also where values are equal. Must not know: means.

use arrow::array::ArrayRef;
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Group, Parameters};
use model::{ColumnType, ErrorCode};

use super::distributions::normal_below;
use super::numbers::{bad, both_there, float_of, named_floats, only_numbers, tuple, two_samples};

/// Samples up to this many values have an exact p-value unless another is asked for.
const EXACT_VALUES_MAX: usize = 10_000;

/// Which difference is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Both,
    Less,
    Greater,
}

fn side(parameters: Parameters<'_>) -> Result<Side, FunctionError> {
    match text(&parameters, 0)? {
        None | Some("two-sided") => Ok(Side::Both),
        Some("less") => Ok(Side::Less),
        Some("greater") => Ok(Side::Greater),
        Some(other) => Err(bad(format!(
            "{other} of {} is none of 'two-sided', 'less' and 'greater'",
            parameters.function
        ))),
    }
}

fn text<'a>(parameters: &'a Parameters<'_>, index: usize) -> Result<Option<&'a str>, FunctionError> {
    parameters
        .text(index)
        .map_err(|error| FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, error.message))
}

/// Whether half a step is taken off, as the normal distribution is no ladder.
fn continuity(parameters: Parameters<'_>) -> Result<bool, FunctionError> {
    let given = parameters.count(1);
    let given =
        given.map_err(|error| FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, error.message))?;
    Ok(given != Some(0))
}

fn ranks_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    only_numbers(args, parameters, ErrorCode::NOT_IMPLEMENTED)?;
    side(parameters)?;
    continuity(parameters)?;
    Ok(named_floats(&["u_statistic", "p_value"]))
}

/// The sum of the ranks of the first sample, and how much equal values take off the variance.
fn ranks(samples: &[Vec<f64>; 2]) -> (f64, f64) {
    let of = |at: usize| samples[at].iter().map(move |value| (*value, at));
    let mut all: Vec<(f64, usize)> = of(0).chain(of(1)).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut ties, mut start) = (0.0, 0.0, 0);
    while start < all.len() {
        let same = all[start..].iter().take_while(|(value, _)| *value == all[start].0).count().max(1);
        let rank = float_of(2 * start + same + 1) / 2.0;
        let own = all[start..start + same].iter().filter(|(_, at)| *at == 0).count();
        sum += rank * float_of(own);
        let same_float = float_of(same);
        ties += same_float * same_float * same_float - same_float;
        start += same;
    }
    let count = float_of(all.len());
    (sum, 1.0 - ties / (count * count * count - count))
}

fn mann_whitney(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let samples = two_samples(group)?;
    both_there(&samples, group.parameters.function)?;
    let (sum, ties) = ranks(&samples);
    let (x, y) = (float_of(samples[0].len()), float_of(samples[1].len()));
    let first = x * y + x * (x + 1.0) / 2.0 - sum;
    let second = x * y - first;
    let side = side(group.parameters)?;
    let u = match side {
        Side::Both => first.max(second),
        Side::Less => first,
        Side::Greater => second,
    };
    let step = if continuity(group.parameters)? { 0.5 } else { 0.0 };
    let deviation = (ties * x * y * (x + y + 1.0) / 12.0).sqrt();
    let z = if deviation == 0.0 { 0.0 } else { (u - (x * y / 2.0 + step)) / deviation };
    let p = match side {
        Side::Both => 2.0 * normal_below(-z.abs()),
        _ => normal_below(-z),
    };
    tuple(group, &[second, p])
}

/// How a p-value is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Auto,
    Exact,
    Asymptotic,
}

fn method(parameters: Parameters<'_>) -> Result<Method, FunctionError> {
    match text(&parameters, 1)? {
        None | Some("auto") => Ok(Method::Auto),
        Some("exact") => Ok(Method::Exact),
        Some("asymp" | "asymptotic") => Ok(Method::Asymptotic),
        Some(other) => {
            Err(bad(format!("{other} of {} is none of 'auto', 'exact' and 'asymp'", parameters.function)))
        }
    }
}

fn distance_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    only_numbers(args, parameters, ErrorCode::NOT_IMPLEMENTED)?;
    side(parameters)?;
    method(parameters)?;
    Ok(named_floats(&["d_statistic", "p_value"]))
}

/// By how much the first sample's share of small values is above the second's at most, and below it.
fn distances(samples: &mut [Vec<f64>; 2]) -> (f64, f64) {
    samples.iter_mut().for_each(|sample| sample.sort_by(f64::total_cmp));
    let [x, y] = samples;
    let (mut above, mut below, mut i, mut j) = (0.0_f64, 0.0_f64, 0, 0);
    while i < x.len() && j < y.len() {
        let value = x[i].min(y[j]);
        // NaN is equal to nothing; it stands at the end.
        let (from_i, from_j) = (i, j);
        while i < x.len() && x[i] <= value {
            i += 1;
        }
        while j < y.len() && y[j] <= value {
            j += 1;
        }
        if (i, j) == (from_i, from_j) {
            break;
        }
        let difference = float_of(i) / float_of(x.len()) - float_of(j) / float_of(y.len());
        (above, below) = (above.max(difference), below.min(difference));
    }
    (above, below)
}

/// How likely so large a distance is, over all orders of the samples: the share of paths through a grid that leave a band.
fn exact(x: usize, y: usize, distance: f64, side: Side) -> f64 {
    let (x_float, y_float) = (float_of(x), float_of(y));
    let bound = (0.5 + (distance * x_float * y_float - 1e-7).floor()) / (x_float * y_float);
    let leaves = |i: usize, j: usize| {
        let difference = float_of(i) / x_float - float_of(j) / y_float;
        match side {
            Side::Both => difference.abs() > bound,
            Side::Greater => difference > bound,
            Side::Less => -difference > bound,
        }
    };
    let mut inside: Vec<f64> = (0..=y)
        .scan(1.0, |stays, j| {
            if leaves(0, j) {
                *stays = 0.0;
            }
            Some(*stays)
        })
        .collect();
    for i in 1..=x {
        let weight = float_of(i) / float_of(i + y);
        inside[0] = if leaves(i, 0) { 0.0 } else { weight * inside[0] };
        for j in 1..=y {
            inside[j] = if leaves(i, j) { 0.0 } else { weight * inside[j] + inside[j - 1] };
        }
    }
    1.0 - inside[y]
}

/// How likely so large a distance is of many values.
fn asymptotic(x: usize, y: usize, distance: f64, side: Side) -> f64 {
    let (large, small) = (float_of(x.max(y)), float_of(x.min(y)));
    let z = (large * small / (large + small)).sqrt() * distance;
    if side != Side::Both {
        let shift = 2.0 * z * (large + 2.0 * small) / (large * small * (large + small)).sqrt() / 3.0;
        return (-2.0 * z * z - shift).exp();
    }
    // Near 0 the terms of the second series are too many.
    if z < 1.0 {
        let term =
            |k: i32| (-f64::from(2 * k - 1).powi(2) * std::f64::consts::PI.powi(2) / (8.0 * z * z)).exp();
        let sum: f64 = (1..20).map(term).sum();
        return if z == 0.0 { 1.0 } else { 1.0 - (2.0 * std::f64::consts::PI).sqrt() / z * sum };
    }
    let term = |k: i32| if k % 2 == 1 { 2.0 } else { -2.0 } * (-2.0 * f64::from(k * k) * z * z).exp();
    (1..20).map(term).sum()
}

fn kolmogorov_smirnov(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let mut samples = two_samples(group)?;
    both_there(&samples, group.parameters.function)?;
    let (above, below) = distances(&mut samples);
    let side = side(group.parameters)?;
    let distance = match side {
        Side::Both => above.max(-below),
        Side::Greater => above,
        Side::Less => -below,
    };
    let (x, y) = (samples[0].len(), samples[1].len());
    let p = match method(group.parameters)? {
        Method::Auto if x.max(y) <= EXACT_VALUES_MAX => exact(x, y, distance, side),
        Method::Exact => exact(x, y, distance, side),
        _ => asymptotic(x, y, distance, side),
    };
    tuple(group, &[distance, p.clamp(0.0, 1.0)])
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new("mannWhitneyUTest", 2..=2, ranks_type, mann_whitney).parameters(0..=2).doc(
            "mannWhitneyUTest[(side[, continuity])](x, group)",
            "The test of Mann and Whitney of whether one sample has larger values: the statistic and the p-value.",
            "mannWhitneyUTest('greater')(price, is_new)",
        ),
        AggregateFunction::new("kolmogorovSmirnovTest", 2..=2, distance_type, kolmogorov_smirnov)
            .parameters(0..=2)
            .doc(
                "kolmogorovSmirnovTest[(side[, method])](x, group)",
                "The test of Kolmogorov and Smirnov of whether samples have one distribution: the distance and the p-value.",
                "kolmogorovSmirnovTest('two-sided', 'exact')(price, is_new)",
            ),
    ]
}
