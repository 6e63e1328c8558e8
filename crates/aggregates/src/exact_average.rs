//! `avg` of decimals and of times: their digits, days or ticks are added exactly and divided once.
//!
//! Invariant: NULLs are passed over; the mean of nothing is NULL, which the last step makes what the type has. The state is the number
//! of values and their sum. Must not know: the precision of decimals.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal256Array, Float64Array, Int64Array, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef, UInt64Type, i256};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use model::ColumnType;
use model::saturating::u64_of;

use crate::typing::units_of_step;

/// What is averaged.
#[derive(Clone, Debug)]
pub(super) enum Averaged {
    /// Decimals of a scale; the mean is a float.
    Decimals(i8),
    /// Days, or ticks of which so many are the smallest step of the type; the mean is the nearest step, of two the even one.
    Moments { layout: DataType, step: i64 },
}

impl Averaged {
    /// `None` for another function or other arguments.
    pub(super) fn of(function: &str, fields: &[FieldRef]) -> Option<Averaged> {
        match fields.first()?.data_type() {
            _ if function != "avg" => None,
            DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
                Some(Averaged::Decimals(*scale))
            }
            layout @ (DataType::Date32 | DataType::Timestamp(..)) => {
                Some(Averaged::Moments { layout: layout.clone(), step: 1 })
            }
            _ => None,
        }
    }

    /// With the step of the type of the result.
    pub(super) fn in_steps_of(self, result: &ColumnType) -> Averaged {
        match self {
            Averaged::Moments { layout, .. } => {
                let step = units_of_step(&layout, result);
                Averaged::Moments { layout, step }
            }
            averaged => averaged,
        }
    }

    /// That of the sums.
    fn scale(&self) -> i8 {
        match self {
            Averaged::Decimals(scale) => *scale,
            Averaged::Moments { .. } => 0,
        }
    }

    /// The values as 256 bits.
    fn wide(&self, values: &[ArrayRef]) -> Result<ArrayRef> {
        let Some(values) = values.first() else { return internal_err!("avg was given no column") };
        let whole = match self {
            Averaged::Decimals(_) => Arc::clone(values),
            Averaged::Moments { layout: DataType::Date32, .. } => cast(values, &DataType::Int32)?,
            Averaged::Moments { .. } => cast(values, &DataType::Int64)?,
        };
        Ok(cast(&whole, &DataType::Decimal256(76, self.scale()))?)
    }

    fn means(&self, groups: &[(u64, i256)]) -> Result<ArrayRef> {
        match self {
            Averaged::Decimals(scale) => {
                let divisor = 10_f64.powi(i32::from(*scale));
                let means: Float64Array =
                    groups.iter().map(|(count, sum)| mean(*count, *sum, divisor)).collect();
                Ok(Arc::new(means))
            }
            Averaged::Moments { layout, step } => {
                let means: Int64Array =
                    groups.iter().map(|(count, sum)| nearest(*count, *sum, *step)).collect();
                let means: ArrayRef = Arc::new(means);
                Ok(match layout {
                    DataType::Date32 => cast(&cast(&means, &DataType::Int32)?, layout)?,
                    _ => cast(&means, layout)?,
                })
            }
        }
    }
}

/// The columns of the state.
pub(super) fn state_fields(name: &str, averaged: &Averaged) -> Vec<FieldRef> {
    vec![
        Arc::new(Field::new(format!("{name}[count]"), DataType::UInt64, false)),
        Arc::new(Field::new(format!("{name}[sum]"), DataType::Decimal256(76, averaged.scale()), false)),
    ]
}

/// Of each group.
#[derive(Debug)]
pub(super) struct Averages {
    averaged: Averaged,
    groups: Vec<(u64, i256)>,
}

impl Averages {
    pub(super) fn new(averaged: Averaged) -> Averages {
        Averages { averaged, groups: Vec::new() }
    }

    fn resize(&mut self, groups: usize) {
        if self.groups.len() < groups {
            self.groups.resize(groups, (0, i256::ZERO));
        }
    }

    fn states(&self, groups: &[(u64, i256)]) -> Result<Vec<ArrayRef>> {
        let counts: UInt64Array = groups.iter().map(|(count, _)| Some(*count)).collect();
        let sums: Decimal256Array = groups.iter().map(|(_, sum)| Some(*sum)).collect();
        Ok(vec![Arc::new(counts), Arc::new(sums.with_precision_and_scale(76, self.averaged.scale())?)])
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
fn mean(count: u64, sum: i256, divisor: f64) -> Option<f64> {
    let (low, high) = sum.to_parts();
    let digits = sum.to_i128().map_or_else(|| high as f64 * 2_f64.powi(128) + low as f64, |sum| sum as f64);
    (count > 0).then(|| digits / divisor / count as f64)
}

/// The multiple of a step that is nearest to the mean, of two the even one; NULL of nothing.
fn nearest(count: u64, sum: i256, step: i64) -> Option<i64> {
    let divisor = i256::from_i128(i128::from(count) * i128::from(step));
    let mut steps = sum.checked_div(divisor)?;
    let mut rest = sum.wrapping_sub(steps.wrapping_mul(divisor));
    if rest.is_negative() {
        (steps, rest) = (steps.wrapping_sub(i256::ONE), rest.wrapping_add(divisor));
    }
    let steps = steps.to_i128()?;
    let twice = rest.wrapping_add(rest);
    let up = twice > divisor || twice == divisor && steps & 1 == 1;
    i64::try_from((steps + i128::from(up)).checked_mul(i128::from(step))?).ok()
}

impl GroupsAccumulator for Averages {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let values = self.averaged.wide(values)?;
        let values = values.as_primitive::<Decimal256Type>();
        for (row, group) in group_indices.iter().enumerate() {
            let passes = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if passes && values.is_valid(row) {
                let (count, sum) = &mut self.groups[*group];
                (*count, *sum) = (*count + 1, sum.wrapping_add(values.value(row)));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let groups = emit_to.take_needed(&mut self.groups);
        self.averaged.means(&groups)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = emit_to.take_needed(&mut self.groups);
        self.states(&groups)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let [counts, sums] = values else { return internal_err!("a state of avg has two columns") };
        let (counts, sums) = (counts.as_primitive::<UInt64Type>(), sums.as_primitive::<Decimal256Type>());
        for (row, group) in group_indices.iter().enumerate() {
            let (count, sum) = &mut self.groups[*group];
            (*count, *sum) = (count.wrapping_add(counts.value(row)), sum.wrapping_add(sums.value(row)));
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |column| column.len());
        let mut each = Averages::new(self.averaged.clone());
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, opt_filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<(u64, i256)>()
    }
}

/// Of one group.
#[derive(Debug)]
pub(super) struct Average(Averages);

impl Average {
    pub(super) fn new(averaged: Averaged) -> Average {
        Average(Averages { averaged, groups: vec![(0, i256::ZERO)] })
    }
}

impl Accumulator for Average {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |column| column.len());
        self.0.update_batch(values, &vec![0; rows], None, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = self.0.averaged.wide(values)?;
        let values = values.as_primitive::<Decimal256Type>();
        let (count, sum) = &mut self.0.groups[0];
        *count = count.saturating_sub(u64_of(values.len() - values.null_count()));
        values.iter().flatten().for_each(|value| *sum = sum.wrapping_sub(value));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.averaged.means(&self.0.groups)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let states = self.0.states(&self.0.groups)?;
        states.iter().map(|state| ScalarValue::try_from_array(state, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |column| column.len());
        self.0.merge_batch(states, &vec![0; rows], 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_steps_that_are_as_near_the_even_one() {
        let mean = |values: &[i64], step| {
            let sum: i64 = values.iter().sum();
            nearest(u64_of(values.len()), i256::from_i128(i128::from(sum)), step)
        };
        assert_eq!(mean(&[], 1), None);
        assert_eq!(mean(&[0, 5], 1), Some(2));
        assert_eq!(mean(&[0, 7], 1), Some(4));
        assert_eq!(mean(&[-3, 0], 1), Some(-2));
        assert_eq!(mean(&[-1, 0], 1), Some(0));
        assert_eq!(mean(&[1, 2, 2], 1), Some(2));
        assert_eq!(mean(&[100, 400], 100), Some(200));
    }
}
