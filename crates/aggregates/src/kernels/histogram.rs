//! `histogram`: where values lie, in bins that are as wide as it fits them.
//!
//! Invariant: the algorithm and its order are those of ClickHouse (Ben-Haim and Tom-Tov's), so that bins are the same for values
//! that come in the same order. At most twice as many points are kept as there are bins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Group, Parameters, array_of, illegal};
use functions::container::{list_of, offsets_of, tuple_of, unnamed};
use model::{ColumnType, ErrorCode};

use super::numbers::{bad, floats};

/// Most bins, as in ClickHouse.
const BINS_MAX: usize = 250;

#[derive(Clone, Copy, Debug)]
struct Point {
    mean: f64,
    weight: f64,
}

impl Point {
    fn with(self, other: Point) -> Point {
        let weight = other.weight + self.weight;
        Point { mean: self.mean + other.weight * (other.mean - self.mean) / weight, weight }
    }
}

struct Points {
    bins: usize,
    points: Vec<Point>,
    ends: (f64, f64),
}

impl Points {
    fn add(&mut self, value: f64) {
        self.ends = (self.ends.0.min(value), self.ends.1.max(value));
        self.points.push(Point { mean: value, weight: 1.0 });
        if self.points.len() >= self.bins * 2 {
            self.compress();
        }
    }

    /// Makes one of the two points that are nearest to each other until there are as few as bins.
    fn compress(&mut self) {
        self.points.sort_unstable_by(|a, b| a.mean.total_cmp(&b.mean));
        let count = self.points.len();
        // What each point that is still there stands next to; a point behind the last stands for none.
        let mut next: Vec<usize> = (1..=count).collect();
        let mut before: Vec<Option<usize>> = (0..count).map(|at| at.checked_sub(1)).collect();
        let mut is_there = vec![true; count];
        // Distances are not below zero, and of such floats the bits are in order.
        let distance =
            |points: &[Point], at: usize, next: usize| (points[next].mean - points[at].mean).to_bits();
        let mut nearest: BinaryHeap<Reverse<(u64, usize)>> =
            (1..count).map(|at| Reverse((distance(&self.points, at - 1, at), at - 1))).collect();
        let mut left = count;
        while left > self.bins
            && let Some(Reverse((near, at))) = nearest.pop()
        {
            let other = next[at];
            if !is_there[at] || other >= count || distance(&self.points, at, other) != near {
                continue;
            }
            self.points[at] = self.points[at].with(self.points[other]);
            (is_there[other], next[at]) = (false, next[other]);
            if let Some(behind) = before.get_mut(next[at]) {
                *behind = Some(at);
                nearest.push(Reverse((distance(&self.points, at, next[at]), at)));
            }
            if let Some(front) = before[at] {
                nearest.push(Reverse((distance(&self.points, front, at), front)));
            }
            left -= 1;
        }
        let mut is_there = is_there.into_iter();
        self.points.retain(|_| is_there.next().unwrap_or(false));
    }

    /// Lower end, upper end and height of each bin: it ends in the middle between two points, and what lies between them is
    /// more the nearer it is to the heavier one.
    fn bins(mut self) -> [Vec<f64>; 3] {
        self.compress();
        // Where there are fewer points than bins, equal values are still points of their own.
        self.points.dedup_by(|next, point| {
            let same = next.mean == point.mean;
            if same {
                point.weight += next.weight;
            }
            same
        });
        let (points, last) = (&self.points, self.points.len().saturating_sub(1));
        let [mut lower, mut upper, mut heights] = [const { Vec::new() }; 3];
        let middle = |at: usize| (points[at].mean + points[at + 1].mean) / 2.0;
        let half = |own: usize, other: usize| (points[own].weight * 3.0 + points[other].weight) / 8.0;
        for (at, point) in points.iter().enumerate() {
            let whole = point.weight / 2.0;
            lower.push(if at == 0 { self.ends.0 } else { middle(at - 1) });
            upper.push(if at == last { self.ends.1 } else { middle(at) });
            let below = if at == 0 { whole } else { half(at, at - 1) };
            heights.push(below + if at == last { whole } else { half(at, at + 1) });
        }
        [lower, upper, heights]
    }
}

fn bins_of(parameters: Parameters<'_>) -> Result<usize, FunctionError> {
    match parameters.count(0)?.unwrap_or(0) {
        0 => Err(bad(format!("{} takes a number of bins above 0", parameters.function))),
        bins @ 1..=BINS_MAX => Ok(bins),
        bins => {
            let message = format!("{} makes up to {BINS_MAX} bins, {bins} asked for", parameters.function);
            Err(FunctionError::new(ErrorCode::PARAMETER_OUT_OF_BOUND, message))
        }
    }
}

fn bin() -> ColumnType {
    unnamed([ColumnType::Float64, ColumnType::Float64, ColumnType::Float64])
}

fn rule(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    bins_of(parameters)?;
    match args.first() {
        Some(value)
            if value.is_integer()
                || matches!(value, ColumnType::Float32 | ColumnType::Float64 | ColumnType::Bool) =>
        {
            Ok(array_of(bin()))
        }
        Some(other) => Err(illegal(other, parameters.function)),
        None => Err(bad("a value is needed")),
    }
}

fn histogram(group: &Group<'_>) -> Result<ArrayRef, FunctionError> {
    let values = floats(group, 0)?;
    let bins = bins_of(group.parameters)?;
    let mut points = Points { bins, points: Vec::new(), ends: (f64::INFINITY, f64::NEG_INFINITY) };
    for value in values {
        if !value.is_finite() {
            let message = format!("{} takes neither inf nor nan", group.parameters.function);
            return Err(FunctionError::new(ErrorCode::INCORRECT_DATA, message));
        }
        points.add(value);
    }
    let columns = points.bins();
    let rows = columns[0].len();
    let columns = columns.map(|column| Arc::new(Float64Array::from(column)) as ArrayRef);
    let ColumnType::Tuple(elements) = bin() else {
        return Err(illegal(&bin(), group.parameters.function));
    };
    let tuples = tuple_of(&elements, columns.to_vec(), None, rows)?;
    Ok(list_of(&bin(), offsets_of([rows]), tuples, None)?)
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    vec![AggregateFunction::new("histogram", 1..=1, rule, histogram).parameters(1..=1).doc(
        "histogram(bins)(x)",
        "Bins that fit the values, as their lower end, upper end and height.",
        "histogram(5)(price)",
    )]
}
