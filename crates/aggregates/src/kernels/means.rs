//! Whether means differ: the tests of Student and Welch, the z-test, and the analysis of variance.
//!
//! Invariant: what cannot be said is nan, as in ClickHouse. Sums are those of ClickHouse, so that results are its.

use arrow::array::ArrayRef;
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Group, Parameters};
use model::saturating::usize_of;
use model::{ColumnType, ErrorCode};

use super::bitmap::bits;
use super::distributions::{fisher_above, normal_below, normal_quantile, student_quantile, student_tail};
use super::numbers::{bad, float_of, floats, named_floats, only_numbers, tuple, two_samples};

/// Most groups of an analysis of variance.
const GROUPS_MAX: u64 = 1_048_576;

/// A number that has a point, as ClickHouse wants it.
fn float_parameter(parameters: Parameters<'_>, index: usize) -> Result<Option<f64>, FunctionError> {
    let wrong = || {
        let message = format!(
            "parameter {} of aggregate function {} must be a Float64",
            index + 1,
            parameters.function
        );
        FunctionError::new(ErrorCode::BAD_GET, message)
    };
    if parameters.is_whole(index) {
        return Err(wrong());
    }
    parameters.float(index).map_err(|_| wrong())
}

/// How sure an interval is to be.
fn confidence(parameters: Parameters<'_>, index: usize) -> Result<Option<f64>, FunctionError> {
    match float_parameter(parameters, index)? {
        Some(level) if !(level > 0.0 && level < 1.0) => {
            Err(bad(format!("the confidence level of {} must be between 0 and 1", parameters.function)))
        }
        other => Ok(other),
    }
}

fn test_type(statistic: &str, has_interval: bool) -> ColumnType {
    let interval = ["confidence_interval_low", "confidence_interval_high"];
    let names = [statistic, "p_value"].into_iter().chain(interval);
    named_floats(&names.take(if has_interval { 4 } else { 2 }).collect::<Vec<_>>())
}

fn student_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    only_numbers(args, parameters, ErrorCode::BAD_ARGUMENTS)?;
    Ok(test_type("t_statistic", confidence(parameters, 0)?.is_some()))
}

/// Count, mean and the sum of squared distances from it.
struct Sample {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Sample {
        let count = float_of(values.len());
        let (sum, squares) =
            values.iter().fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
        let mean = sum / count;
        Sample { count, mean, squares: squares + count * mean * mean - 2.0 * mean * sum }
    }
}

/// A difference of means, its deviation and the degrees of freedom; `None` where there are too few values.
struct Difference {
    mean: f64,
    /// The middle of the interval.
    middle: f64,
    deviation: f64,
    freedom: f64,
}

fn student(x: &Sample, y: &Sample) -> Option<Difference> {
    let freedom = x.count + y.count - 2.0;
    let variance = (x.squares + y.squares) / freedom;
    let deviation = (variance * (1.0 / x.count + 1.0 / y.count)).sqrt();
    let there = x.count > 0.0 && y.count > 0.0 && freedom > 0.0;
    there.then_some(Difference { mean: x.mean - y.mean, middle: x.mean - y.mean, deviation, freedom })
}

fn welch(x: &Sample, y: &Sample) -> Option<Difference> {
    let (of_x, of_y) = (x.squares / (x.count - 1.0) / x.count, y.squares / (y.count - 1.0) / y.count);
    let both = of_x + of_y;
    let freedom = both * both / (of_x * of_x / (x.count - 1.0) + of_y * of_y / (y.count - 1.0));
    let there = x.count > 1.0 && y.count > 1.0;
    there.then_some(Difference {
        mean: x.mean - y.mean,
        middle: x.mean - y.mean,
        deviation: both.sqrt(),
        freedom,
    })
}

fn tested(group: &Group<'_>, found: Option<Difference>) -> Result<ArrayRef, FunctionError> {
    let level = confidence(group.parameters, 0)?;
    let found = found.filter(|found| (found.mean / found.deviation).is_finite());
    let Some(found) = found else {
        let count = if level.is_some() { 4 } else { 2 };
        return tuple(group, &vec![f64::NAN; count]);
    };
    let t = found.mean / found.deviation;
    let mut values = vec![t, (2.0 * student_tail(t, found.freedom)).min(1.0)];
    if let Some(level) = level {
        let half = -student_quantile((1.0 - level) / 2.0, found.freedom) * found.deviation;
        values.extend([found.middle - half, found.middle + half]);
    }
    tuple(group, &values)
}

fn two_means(
    group: &Group<'_>,
    way: fn(&Sample, &Sample) -> Option<Difference>,
) -> Result<ArrayRef, FunctionError> {
    let [x, y] = two_samples(group)?;
    tested(group, way(&Sample::of(&x), &Sample::of(&y)))
}

/// Of a sample and a mean, which the first row says.
fn one_mean(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let (values, means) = (floats(group, 0)?, floats(group, 1)?);
    let sample = Sample::of(&values);
    let expected = means.first().copied().unwrap_or(f64::NAN);
    let variance = sample.squares / (sample.count - 1.0);
    let found = Difference {
        mean: sample.mean - expected,
        middle: sample.mean,
        deviation: (variance / sample.count).sqrt(),
        freedom: sample.count - 1.0,
    };
    tested(group, (sample.count > 1.0).then_some(found))
}

fn z_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    only_numbers(args, parameters, ErrorCode::BAD_ARGUMENTS)?;
    for index in 0..2 {
        if float_parameter(parameters, index)?.is_some_and(|variance| variance < 0.0) {
            return Err(bad(format!("the variances of {} must not be negative", parameters.function)));
        }
    }
    confidence(parameters, 2)?;
    Ok(test_type("z_statistic", true))
}

fn z_test(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let [x, y] = two_samples(group)?;
    let (x, y) = (Sample::of(&x), Sample::of(&y));
    let parameter = |index| float_parameter(group.parameters, index).map(|value| value.unwrap_or(f64::NAN));
    let deviation = (parameter(0)? / x.count + parameter(1)? / y.count).sqrt();
    let (difference, level) = (x.mean - y.mean, parameter(2)?);
    let half = -normal_quantile((1.0 - level) / 2.0) * deviation;
    let z = difference / deviation;
    let (z, p) = if z.is_finite() { (z, 2.0 * normal_below(-z.abs())) } else { (f64::NAN, 0.0) };
    tuple(group, &[z, p, difference - half, difference + half])
}

fn variance_type(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    only_numbers(args, parameters, ErrorCode::BAD_ARGUMENTS)?;
    let unsigned = [ColumnType::UInt8, ColumnType::UInt16, ColumnType::UInt32, ColumnType::UInt64];
    match args.last() {
        Some(which) if unsigned.contains(which) => Ok(test_type("f_statistic", false)),
        _ => Err(bad(format!(
            "the second argument of {} must be an integer without a sign",
            parameters.function
        ))),
    }
}

/// The group of each row.
fn places(group: &Group<'_>) -> Result<Vec<usize>, FunctionError> {
    let Some(which) = bits(&group.call.args[1].array) else {
        return Err(bad("groups are integers without a sign"));
    };
    match which.iter().find(|group| **group >= GROUPS_MAX) {
        Some(large) => {
            Err(bad(format!("group {large} is too large for analysis of variance: at most {GROUPS_MAX}")))
        }
        None => Ok(which.into_iter().map(usize_of).collect()),
    }
}

fn variance(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let values = floats(group, 0)?;
    let mut groups: Vec<Vec<f64>> = Vec::new();
    for (value, place) in values.iter().zip(places(group)?) {
        groups.resize_with(groups.len().max(place + 1), Vec::new);
        groups[place].push(*value);
    }
    if groups.len() == values.len() {
        return Err(bad("there is only one observation in each group"));
    }
    if groups.len() < 2 {
        return Err(bad("there should be more than one group to calculate f-statistics"));
    }
    if let Some(empty) = groups.iter().position(Vec::is_empty) {
        return Err(bad(format!("there are no observations for group {empty}")));
    }
    let (count, kinds) = (float_of(values.len()), float_of(groups.len()));
    let mean = values.iter().sum::<f64>() / count;
    let samples: Vec<Sample> = groups.iter().map(|group| Sample::of(group)).collect();
    let between: f64 = samples.iter().map(|sample| (sample.mean - mean).powi(2) * sample.count).sum();
    let within: f64 = samples.iter().map(|sample| sample.squares).sum();
    let f = (between * (count - kinds)) / (within * (kinds - 1.0));
    if !f.is_finite() {
        return tuple(group, &[f64::NAN, f64::NAN]);
    }
    tuple(group, &[f, fisher_above(f, kinds - 1.0, count - kinds).min(1.0)])
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let t_test = |name: &'static str, way: fn(&Sample, &Sample) -> Option<Difference>| {
        AggregateFunction::new(name, 2..=2, student_type, move |group| two_means(group, way))
            .parameters(0..=1)
    };
    vec![
        t_test("studentTTest", student).doc(
            "studentTTest[(confidence)](x, group)",
            "Student's test of whether two samples have one mean: the statistic, the p-value, and the bounds of the difference.",
            "studentTTest(price, is_new)",
        ),
        t_test("welchTTest", welch).doc(
            "welchTTest[(confidence)](x, group)",
            "As studentTTest, of samples whose variances may differ.",
            "welchTTest(price, is_new)",
        ),
        AggregateFunction::new("studentTTestOneSample", 2..=2, student_type, one_mean).parameters(0..=1).doc(
            "studentTTestOneSample[(confidence)](x, mean)",
            "Student's test of whether a sample has a mean: the statistic, the p-value, and the bounds of its mean.",
            "studentTTestOneSample(price, 10)",
        ),
        AggregateFunction::new("meanZTest", 2..=2, z_type, z_test).parameters(3..=3).doc(
            "meanZTest(variance_x, variance_y, confidence)(x, group)",
            "The z-test of whether two samples of known variances have one mean.",
            "meanZTest(0.7, 0.45, 0.95)(price, is_new)",
        ),
        AggregateFunction::new("analysisOfVariance", 2..=2, variance_type, variance).doc(
            "analysisOfVariance(x, group)",
            "Whether the means of groups, numbered from 0, differ: the statistic and the p-value.",
            "analysisOfVariance(price, region)",
        ),
    ]
}
