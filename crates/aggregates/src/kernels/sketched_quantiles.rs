//! `quantileDD` and its kin: values are counted in buckets, each wider than the one before by the same factor.
//!
//! The sketch of Masson, Rim and Lee ("DDSketch", 2019), with the buckets that ClickHouse has, so that its answers are the same.
//! Invariant: of a value only its bucket counts, and all values of a bucket give the same result. Must not know: exact quantiles.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, UInt64Array};
use functions::aggregates::{AggregateFunction, Group, Parameters, array_of, illegal};
use functions::container::{list_of, offsets_of};
use functions::{CastMode, FunctionError, cast_column, default_array};
use model::{ColumnType, ErrorCode};

use super::rounded_quantiles::{levels, values};

/// A finer accuracy would need too many buckets; ClickHouse's limit.
const ACCURACY_MIN: f64 = 1e-6;
/// From the first bucket to the last one of a sign; ClickHouse's limit.
const BUCKETS_MAX: i64 = 65_536;

/// How wide the buckets are.
struct Scale {
    accuracy: f64,
    factor: f64,
    /// Buckets from 1 to e.
    per_e: f64,
}

impl Scale {
    fn new(accuracy: f64) -> Scale {
        let factor = (1.0 + accuracy) / (1.0 - accuracy);
        Scale { accuracy, factor, per_e: 1.0 / factor.ln() }
    }

    fn bucket(&self, size: f64) -> i64 {
        whole(size.ln() * self.per_e)
    }

    fn value(&self, bucket: i64) -> f64 {
        (bucket as f64 / self.per_e).exp() * (1.0 + self.accuracy)
    }

    /// What is not larger counts as 0.
    fn smallest(&self) -> f64 {
        f64::MIN_POSITIVE * self.factor
    }

    fn largest(&self) -> f64 {
        f64::MAX / self.factor
    }
}

#[expect(clippy::cast_possible_truncation, reason = "what is cut off is meant")]
fn whole(value: f64) -> i64 {
    value as i64
}

/// Values by their buckets.
struct Sketch {
    scale: Scale,
    negative: BTreeMap<i64, u64>,
    zeros: u64,
    positive: BTreeMap<i64, u64>,
}

impl Sketch {
    fn of(values: &[f64], scale: Scale) -> Result<Sketch, FunctionError> {
        let mut sketch = Sketch { scale, negative: BTreeMap::new(), zeros: 0, positive: BTreeMap::new() };
        let (smallest, largest) = (sketch.scale.smallest(), sketch.scale.largest());
        for value in values.iter().filter(|value| !value.is_nan()) {
            let size = value.abs();
            if size > largest {
                let message = format!("value {value} is out of range: {smallest:e} to {largest:e}");
                return Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
            }
            if size <= smallest {
                sketch.zeros += 1;
                continue;
            }
            let bucket = sketch.scale.bucket(size);
            let store = if *value > 0.0 { &mut sketch.positive } else { &mut sketch.negative };
            *store.entry(bucket).or_insert(0) += 1;
        }
        for store in [&sketch.negative, &sketch.positive] {
            let (Some((first, _)), Some((last, _))) = (store.first_key_value(), store.last_key_value())
            else {
                continue;
            };
            let buckets = last - first + 1;
            if buckets > BUCKETS_MAX {
                let message =
                    format!("the values are in a range of {buckets} buckets: at most {BUCKETS_MAX}");
                return Err(FunctionError::new(ErrorCode::INCORRECT_DATA, message));
            }
        }
        Ok(sketch)
    }

    fn count(&self) -> u64 {
        rows(&self.negative) + self.zeros + rows(&self.positive)
    }

    fn at(&self, level: f64) -> f64 {
        let Some(last) = self.count().checked_sub(1) else { return f64::NAN };
        let rank = level * last as f64;
        let negative = rows(&self.negative) as f64;
        let not_positive = negative + self.zeros as f64;
        if rank < negative {
            // The largest is the first of them.
            let rank = negative - rank - 1.0;
            return -self.value_at(&self.negative, |sum| sum >= rank + 1.0);
        }
        if rank < not_positive {
            return 0.0;
        }
        self.value_at(&self.positive, |sum| sum > rank - not_positive)
    }

    fn value_at(&self, store: &BTreeMap<i64, u64>, is_reached: impl Fn(f64) -> bool) -> f64 {
        let mut sum = 0.0;
        let reached = store.iter().find(|(_, count)| {
            sum += **count as f64;
            is_reached(sum)
        });
        reached.or_else(|| store.iter().next_back()).map_or(f64::NAN, |(bucket, _)| self.scale.value(*bucket))
    }
}

fn rows(store: &BTreeMap<i64, u64>) -> u64 {
    store.values().sum()
}

fn accuracy(parameters: Parameters<'_>) -> Result<f64, FunctionError> {
    let of = parameters.function;
    let Ok(Some(accuracy)) = parameters.float(0) else { return Err(no_accuracy(of)) };
    if parameters.is_whole(0) {
        return Err(no_accuracy(of));
    }
    if !(ACCURACY_MIN..1.0).contains(&accuracy) {
        let message = format!(
            "the relative accuracy of aggregate function {of} is {accuracy}: from {ACCURACY_MIN} to 1"
        );
        return Err(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(accuracy)
}

fn no_accuracy(function: &str) -> FunctionError {
    let message =
        format!("the first parameter of aggregate function {function} is its accuracy, such as 0.01");
    FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
}

/// Those behind the accuracy.
fn asked(parameters: Parameters<'_>) -> Result<Vec<f64>, FunctionError> {
    let mut levels = levels(parameters)?;
    levels.remove(0);
    if levels.is_empty() {
        levels.push(0.5);
    }
    Ok(levels)
}

fn element(argument: &ColumnType, function: &str) -> Result<ColumnType, FunctionError> {
    use ColumnType::{
        Bool, Date, DateTime, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
    };
    match argument {
        Date | DateTime { .. } => Ok(argument.clone()),
        Bool | UInt8 | UInt16 | UInt32 | UInt64 | Int8 | Int16 | Int32 | Int64 | Float32 | Float64 => {
            Ok(Float64)
        }
        other => Err(illegal(other, function)),
    }
}

fn found(group: &Group<'_>, element: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let sketch = Sketch::of(&values(group)?, Scale::new(accuracy(group.parameters)?))?;
    let levels = asked(group.parameters)?;
    let bits = match element {
        ColumnType::Date => 16,
        ColumnType::DateTime { .. } => 32,
        _ => {
            let picked = levels.iter().map(|level| sketch.at(*level));
            return Ok(Arc::new(Float64Array::from_iter_values(picked)));
        }
    };
    if sketch.count() == 0 {
        return Ok(default_array(element, levels.len()));
    }
    // The value of a bucket may lie beyond the type: it begins anew there, as in ClickHouse.
    let tick = |level: &f64| u64::try_from(whole(sketch.at(*level)).rem_euclid(1 << bits)).unwrap_or(0);
    let ticks: ArrayRef = Arc::new(UInt64Array::from_iter_values(levels.iter().map(tick)));
    Ok(cast_column(&ticks, &ColumnType::UInt64, element, CastMode::Strict)?)
}

fn function(name: &'static str, several: bool) -> AggregateFunction {
    let rule = move |args: &[ColumnType], parameters: Parameters<'_>| {
        accuracy(parameters)?;
        asked(parameters)?;
        let element = element(&args[0], parameters.function)?;
        Ok(if several { array_of(element) } else { element })
    };
    AggregateFunction::new(name, 1..=1, rule, |group| match group.call.result_type {
        ColumnType::Array(element) => {
            let made = found(group, element)?;
            Ok(list_of(element, offsets_of([made.len()]), made, None)?)
        }
        element => found(group, element),
    })
    .parameters(if several { 2..=usize::MAX } else { 1..=2 })
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        function("quantileDD", false).aliases(&["medianDD"]).doc(
            "quantileDD(relative_accuracy[, level])(x)",
            "The value at a level, of values counted in buckets of a relative accuracy.",
            "quantileDD(0.01, 0.9)(price)",
        ),
        function("quantilesDD", true).doc(
            "quantilesDD(relative_accuracy, level, ...)(x)",
            "The values at levels, of values counted in buckets of a relative accuracy.",
            "quantilesDD(0.01, 0.5, 0.9)(price)",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_their_buckets() {
        let sketch = Sketch::of(&[-2.0, 0.0, f64::NAN, 3.0, 100.0], Scale::new(0.01)).unwrap();
        let near = |level: f64, value: f64| (sketch.at(level) - value).abs() <= value.abs() * 0.03;
        assert!(near(0.0, -2.0) && near(0.34, 0.0) && near(0.67, 3.0) && near(1.0, 100.0));
        assert!(Sketch::of(&[], Scale::new(0.5)).unwrap().at(0.5).is_nan());
        assert!(Sketch::of(&[f64::INFINITY], Scale::new(0.5)).is_err());
        assert!(Sketch::of(&[1e-300, 1e300], Scale::new(0.001)).is_err());
    }
}
