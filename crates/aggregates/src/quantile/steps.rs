//! `quantile` of decimals and of times: the values as whole numbers of their smallest steps.
//!
//! Invariant: a value is kept exactly, and what lies between two of them is cut towards 0, as in ClickHouse. The state has the layout
//! of that of floats: a value is written as some floats that together are it. A state that has one float for each value, with its
//! fraction, is understood, too.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal256Array, Float64Array, Int64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, Float64Type, TimeUnit, UInt64Type, i256};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;
use functions::{RandomStream, default_array};
use model::saturating::usize_of;

use super::{Results, SAMPLE_MAX, index_of};
use crate::typing::units_of_step;

/// Values of one group.
#[derive(Debug)]
pub(super) struct Steps {
    layout: DataType,
    /// Units of the layout in a step of the type.
    step: i64,
    values: Vec<i256>,
    /// Values offered, kept or not.
    seen: u64,
    sample_max: usize,
    random: RandomStream,
    results: Results,
}

impl Steps {
    /// `None` for values that are no decimals and no times.
    pub(super) fn new(layout: &DataType, results: &Results) -> Option<Self> {
        let has_steps = matches!(
            layout,
            DataType::Date32 | DataType::Timestamp(..) | DataType::Decimal128(..) | DataType::Decimal256(..)
        );
        has_steps.then(|| Self {
            layout: layout.clone(),
            step: units_of_step(layout, &results.element),
            values: Vec::new(),
            seen: 0,
            sample_max: if results.is_distinct { usize::MAX } else { SAMPLE_MAX },
            random: RandomStream::new(0),
            results: results.clone(),
        })
    }

    fn scale(&self) -> i8 {
        match self.layout {
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => scale,
            _ => 0,
        }
    }

    /// Floats of 53 bits that hold any value.
    fn parts(&self) -> usize {
        match self.layout {
            DataType::Date32 | DataType::Timestamp(TimeUnit::Second, _) => 1,
            DataType::Timestamp(..) => 2,
            DataType::Decimal128(..) => 3,
            _ => 5,
        }
    }

    fn step(&self) -> i256 {
        i256::from_i128(i128::from(self.step))
    }

    fn offer(&mut self, value: i256) {
        self.seen += 1;
        if self.values.len() < self.sample_max {
            self.values.push(value);
            return;
        }
        // Every value offered so far is kept with the same probability.
        let place = usize_of(self.random.next_u64() % self.seen);
        if let Some(kept) = self.values.get_mut(place) {
            *kept = value;
        }
    }

    fn at(&self, level: f64) -> i256 {
        let Some(last) = self.values.len().checked_sub(1) else { return i256::ZERO };
        let position =
            level * (u32::try_from(self.values.len()).map_or(f64::from(u32::MAX), f64::from) - 1.0);
        let below = index_of(position, last);
        match self.values.get(below + 1) {
            Some(above) => between(self.values[below], *above, position - position.floor()),
            None => self.values[last],
        }
    }

    fn array(&self, values: Vec<i256>) -> Result<ArrayRef> {
        if self.step == 1 && matches!(self.layout, DataType::Decimal128(..) | DataType::Decimal256(..)) {
            let decimals = Decimal256Array::from_iter_values(values);
            return Ok(Arc::new(decimals.with_precision_and_scale(76, self.scale())?));
        }
        let units = values.into_iter().map(|value| value.wrapping_mul(self.step()).to_i128());
        let units: Int64Array =
            units.map(|units| units.and_then(|units| i64::try_from(units).ok())).collect();
        let units: ArrayRef = Arc::new(units);
        Ok(match self.layout {
            DataType::Date32 => cast(&cast(&units, &DataType::Int32)?, &self.layout)?,
            _ => cast(&units, &self.layout)?,
        })
    }

    /// The value of a float with a fraction.
    fn of_float(&self, value: f64) -> i256 {
        let steps = match self.layout {
            DataType::Decimal128(..) | DataType::Decimal256(..) => {
                value * 10_f64.powi(i32::from(self.scale()))
            }
            _ => value,
        };
        whole(steps.round()).wrapping_div(self.step())
    }
}

/// Low and the part of its distance to high that is asked for, exactly, cut towards 0.
fn between(low: i256, high: i256, part: f64) -> i256 {
    // A float from 0 to below 1 is this many units of a power of two.
    let bits = part.to_bits();
    let units = i256::from_i128(i128::from(bits & ((1 << 52) - 1) | 1 << 52));
    let Ok(shift) = u8::try_from(1075 - (bits >> 52 & 0x7FF)) else { return low };
    let distance = high.wrapping_sub(low);
    let Some(product) = distance.checked_mul(units) else {
        return low.wrapping_add((distance >> shift).wrapping_mul(units));
    };
    let whole = product >> shift;
    let value = low.wrapping_add(whole);
    let has_rest = (whole << shift) != product;
    if value.is_negative() && has_rest { value.wrapping_add(i256::ONE) } else { value }
}

/// So many floats that together are a number.
fn parts(mut value: i256, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |_| {
        let part = nearest(value);
        value = value.wrapping_sub(whole(part));
        part
    })
}

/// A float without a fraction as a number.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(part: f64) -> i256 {
    match part.abs() < 1e38 {
        true => i256::from_i128(part as i128),
        false => i256::from_f64(part).unwrap_or(i256::ZERO),
    }
}

/// A float near a number: exact up to 2^53, and at most a 2^53rd off beyond.
#[expect(clippy::cast_precision_loss, reason = "the rest is another part")]
fn nearest(value: i256) -> f64 {
    match value.to_i128() {
        Some(small) => small as f64,
        None => {
            let (low, high) = value.to_parts();
            high as f64 * 2_f64.powi(128) + low as f64
        }
    }
}

impl Accumulator for Steps {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return Ok(()) };
        let whole = match values.data_type() {
            DataType::Date32 => cast(values, &DataType::Int32)?,
            DataType::Timestamp(..) => cast(values, &DataType::Int64)?,
            _ => Arc::clone(values),
        };
        let wide = cast(&whole, &DataType::Decimal256(76, self.scale()))?;
        let step = self.step();
        for value in wide.as_primitive::<Decimal256Type>().iter().flatten() {
            self.offer(value.wrapping_div(step));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.values.is_empty() {
            return self.results.scalar(default_array(&self.results.element, self.results.levels.len()));
        }
        self.values.sort_unstable();
        if self.results.is_distinct {
            self.values.dedup();
        }
        let picked = self.results.levels.iter().map(|level| self.at(*level)).collect();
        self.results.scalar(self.array(picked)?)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<i256>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let count = self.parts();
        let floats = std::mem::take(&mut self.values).into_iter().flat_map(|value| parts(value, count));
        let values: ArrayRef = Arc::new(Float64Array::from_iter_values(floats));
        let field = Arc::new(Field::new_list_field(DataType::Float64, true));
        let list = ListArray::try_new(field, OffsetBuffer::from_lengths([values.len()]), values, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list)), ScalarValue::UInt64(Some(self.seen))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, seen] = states else { return internal_err!("a sample has two states") };
        let (seen, count) = (seen.as_primitive::<UInt64Type>(), self.parts());
        for (row, list) in values.as_list::<i32>().iter().enumerate() {
            let Some(list) = list else { continue };
            let floats = list.as_primitive::<Float64Type>().values();
            let (before, more) = (self.seen, seen.value(row));
            if floats.len() == usize_of(more).min(self.sample_max).saturating_mul(count) {
                for parts in floats.chunks_exact(count) {
                    let numbers = parts.iter().map(|part| whole(*part));
                    self.offer(numbers.fold(i256::ZERO, i256::wrapping_add));
                }
            } else {
                for value in floats {
                    self.offer(self.of_float(*value));
                }
            }
            self.seen = before.saturating_add(more);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: i128) -> i256 {
        i256::from_i128(value)
    }

    #[test]
    fn what_lies_between_is_cut_towards_zero() {
        let check = |low, high, part, expected| {
            assert_eq!(between(number(low), number(high), part), number(expected), "{low} {high} {part}");
        };
        check(1_577_836_800_123_456_789, 1_577_836_800_123_456_792, 0.5, 1_577_836_800_123_456_790);
        check(1_577_836_800_123_456_789, 1_577_836_800_123_456_792, 0.75, 1_577_836_800_123_456_791);
        check(-128, -123, 0.5, -125);
        check(-128, -123, 0.3, -126);
        check(-128, -123, 0.8, -123);
        check(7, 7, 0.5, 7);
        check(5, 9, 0.0, 5);
    }

    #[test]
    fn parts_are_the_number_together() {
        for value in [0, 1, -1, i128::MAX, i128::MIN, 1_577_836_800_123_456_789] {
            for value in [number(value), number(value).wrapping_mul(number(1_000_000_007))] {
                let sum = parts(value, 5).map(whole).fold(i256::ZERO, i256::wrapping_add);
                assert_eq!(sum, value);
            }
        }
    }
}
