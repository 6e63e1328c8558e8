//! `sparkbar`: a small chart of bars as text.
//!
//! Invariant: sums of one place stop at the end of their type, and so does a bar whose sum would pass it; bars of several
//! places are their mean, without those that are not above 0. Must not know: what is drawn.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::UInt64Type;
use functions::aggregates::{AggregateFunction, Group, Parameters, illegal};
use functions::{CastMode, FunctionError, cast_column};
use model::saturating::usize_of;
use model::{ColumnType, ErrorCode};

use super::bitmap::{bits, bytes_of, largest};
use super::numbers::{bad, floats};

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const WIDTH_MAX: usize = 1024;

/// Integers keep their type: they are divided as such.
#[derive(Clone, Copy, PartialEq)]
enum Height {
    Whole(i128),
    Float(f64),
}

impl Height {
    fn float(self) -> f64 {
        match self {
            Height::Whole(number) => number as f64,
            Height::Float(number) => number,
        }
    }

    /// The sum, and whether it passed the end of the type.
    fn plus(self, other: Height, end: i128) -> (Height, bool) {
        match (self, other) {
            (Height::Whole(a), Height::Whole(b)) if a + b > end => (Height::Whole(end), true),
            (Height::Whole(a), Height::Whole(b)) => (Height::Whole(a + b), false),
            (a, b) => (Height::Float(a.float() + b.float()), false),
        }
    }

    fn over(self, count: u32) -> Height {
        match self {
            Height::Whole(number) => Height::Whole(number / i128::from(count.max(1))),
            Height::Float(number) => Height::Float(number / f64::from(count.max(1))),
        }
    }
}

fn is_place(column_type: &ColumnType) -> bool {
    matches!(
        column_type,
        ColumnType::UInt8
            | ColumnType::UInt16
            | ColumnType::UInt32
            | ColumnType::UInt64
            | ColumnType::Date
            | ColumnType::DateTime { .. }
    )
}

fn is_signed(column_type: &ColumnType) -> bool {
    matches!(column_type, ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32 | ColumnType::Int64)
}

/// The width, and the first and the last place where they are said.
fn asked(
    args: &[ColumnType],
    parameters: Parameters<'_>,
) -> Result<(usize, Option<(u64, u64)>), FunctionError> {
    let written: Vec<(&str, bool)> = parameters.written().collect();
    if written.len() != 1 && written.len() != 3 {
        let message = format!("aggregate function {} takes 1 or 3 parameters", parameters.function);
        return Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
    }
    if !parameters.is_whole(0) {
        let message = format!("the width of {} must be an integer", parameters.function);
        return Err(FunctionError::new(ErrorCode::BAD_GET, message));
    }
    let width = parameters.count(0).ok().flatten().filter(|width| (2..=WIDTH_MAX).contains(width));
    let width = width
        .ok_or_else(|| bad(format!("the width of {} must be from 2 to {WIDTH_MAX}", parameters.function)))?;
    if written.len() == 1 {
        return Ok((width, None));
    }
    let place = |index: usize| {
        let (text, is_text) = written[index];
        let number = text.parse::<u64>().ok().filter(|_| !is_text && bytes_of(&args[0]).is_some());
        number.ok_or_else(|| {
            let message =
                format!("the ends of {} must be of the type of its first argument", parameters.function);
            FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
        })
    };
    let (first, last) = (place(1)?, place(2)?);
    if first >= last {
        return Err(bad(format!("the first place of {} must be below the last one", parameters.function)));
    }
    let mask = largest(&args[0]);
    Ok((width, Some((first & mask, last & mask))))
}

fn rule(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    let is_number = |value: &ColumnType| {
        bytes_of(value).is_some() || matches!(value, ColumnType::Float32 | ColumnType::Float64)
    };
    if let Some(other) = args.iter().take(1).find(|arg| !is_place(arg)) {
        return Err(illegal(other, parameters.function));
    }
    if let Some(other) = args.iter().skip(1).find(|arg| !is_number(arg)) {
        return Err(illegal(other, parameters.function));
    }
    asked(args, parameters)?;
    Ok(ColumnType::String)
}

fn heights(group: &Group<'_>) -> Result<(Vec<Height>, i128), FunctionError> {
    let arg = &group.call.args[1];
    let Some(bits) = bits(&arg.array) else {
        return Ok((floats(group, 1)?.into_iter().map(Height::Float).collect(), 0));
    };
    let largest = largest(&arg.column_type);
    match is_signed(&arg.column_type) {
        true => {
            let heights = bits.into_iter().map(|bits| Height::Whole(i128::from(bits.cast_signed())));
            Ok((heights.collect(), i128::from(largest >> 1)))
        }
        false => {
            let heights = bits.into_iter().map(|bits| Height::Whole(i128::from(bits)));
            Ok((heights.collect(), i128::from(largest)))
        }
    }
}

/// The height of each bar.
fn bars(points: &BTreeMap<u64, Height>, (first, last): (u64, u64), width: usize, end: i128) -> Vec<f64> {
    let mut bars = vec![(Height::Whole(0), 0_u32); width];
    for (place, height) in points.range(first..=last) {
        if height.float().is_nan() || height.float() <= 0.0 {
            continue;
        }
        let share = (place - first) as f64 / ((last - first) as f64 + 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a bar among a thousand")]
        let bar = usize_of((share * width as f64) as u64).min(width - 1);
        let (sum, is_full) = bars[bar].0.plus(*height, end);
        bars[bar] = (sum, if is_full { 1 } else { bars[bar].1 + 1 });
    }
    bars.into_iter().map(|(sum, count)| sum.over(count).float()).collect()
}

fn draw(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let types: Vec<ColumnType> = group.call.args.iter().map(|arg| arg.column_type.clone()).collect();
    let (width, ends) = asked(&types, group.parameters)?;
    let places = cast_column(&group.call.args[0].array, &types[0], &ColumnType::UInt64, CastMode::Strict)?;
    let (heights, end) = heights(group)?;
    let mut points: BTreeMap<u64, Height> = BTreeMap::new();
    let places = places.as_primitive::<UInt64Type>().values();
    for (place, height) in places.iter().zip(heights) {
        // What has no height is no part of a bar, but of the chart's width.
        if height.float() > 0.0 && ends.is_none_or(|(first, last)| (first..=last).contains(place)) {
            points.entry(*place).and_modify(|sum| *sum = sum.plus(height, end).0).or_insert(height);
        }
    }
    let data = places.iter().min().copied().zip(places.iter().max().copied());
    let Some(ends) = ends.or(data).filter(|_| !points.is_empty()) else { return Ok(text("")) };
    if ends.0 >= ends.1 {
        return Ok(text("█"));
    }
    let bars = bars(&points, ends, width, end);
    let highest = bars.iter().copied().fold(0.0, f64::max);
    if highest == 0.0 {
        return Ok(text(""));
    }
    let bar = |height: f64| {
        let level = height * 7.0 / highest + 1.0;
        if height <= 0.0 || level.is_nan() {
            return BARS[0];
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 1 to 8")]
        let place = usize_of(level as u64).min(8);
        BARS[place]
    };
    Ok(text(&bars.into_iter().map(bar).collect::<String>()))
}

fn text(text: &str) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values([text]))
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::new("sparkbar", 2..=2, rule, draw)
            .parameters(0..=usize::MAX)
            .aliases(&["sparkBar"])
            .doc(
                "sparkbar(width[, first, last])(x, y)",
                "A chart of so many bars as text, of the means of y in the order of x.",
                "sparkbar(9)(day, price)",
            ),
    ]
}
