//! `avg` of decimals: their digits are added exactly and divided once.
//!
//! Invariant: NULLs are passed over; the mean of nothing is NULL, which the last step makes a nan. The state is the number of values
//! and the sum of their digits. Must not know: the precision of the values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal256Array, Float64Array, UInt64Array};
use arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef, UInt64Type, i256};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use model::saturating::u64_of;

/// The scale of the decimals that are averaged; `None` for another function or other arguments.
pub(super) fn scale_of(function: &str, fields: &[FieldRef]) -> Option<i8> {
    match fields.first()?.data_type() {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) if function == "avg" => Some(*scale),
        _ => None,
    }
}

/// The columns of the state.
pub(super) fn state_fields(name: &str, scale: i8) -> Vec<FieldRef> {
    vec![
        Arc::new(Field::new(format!("{name}[count]"), DataType::UInt64, false)),
        Arc::new(Field::new(format!("{name}[sum]"), DataType::Decimal256(76, scale), false)),
    ]
}

/// Of each group.
#[derive(Debug)]
pub(super) struct Averages {
    scale: i8,
    groups: Vec<(u64, i256)>,
}

impl Averages {
    pub(super) fn new(scale: i8) -> Averages {
        Averages { scale, groups: Vec::new() }
    }

    fn resize(&mut self, groups: usize) {
        if self.groups.len() < groups {
            self.groups.resize(groups, (0, i256::ZERO));
        }
    }

    fn means(&self, groups: &[(u64, i256)]) -> Float64Array {
        let divisor = 10_f64.powi(i32::from(self.scale));
        groups.iter().map(|(count, sum)| mean(*count, *sum, divisor)).collect()
    }

    fn states(&self, groups: &[(u64, i256)]) -> Result<Vec<ArrayRef>> {
        let counts: UInt64Array = groups.iter().map(|(count, _)| Some(*count)).collect();
        let sums: Decimal256Array = groups.iter().map(|(_, sum)| Some(*sum)).collect();
        Ok(vec![Arc::new(counts), Arc::new(sums.with_precision_and_scale(76, self.scale)?)])
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
fn mean(count: u64, sum: i256, divisor: f64) -> Option<f64> {
    let (low, high) = sum.to_parts();
    let digits = sum.to_i128().map_or_else(|| high as f64 * 2_f64.powi(128) + low as f64, |sum| sum as f64);
    (count > 0).then(|| digits / divisor / count as f64)
}

/// The digits of the values as 256 bits.
fn wide(values: &[ArrayRef], scale: i8) -> Result<ArrayRef> {
    match values.first() {
        Some(values) => Ok(arrow::compute::cast(values, &DataType::Decimal256(76, scale))?),
        None => internal_err!("avg was given no column"),
    }
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
        let values = wide(values, self.scale)?;
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
        Ok(Arc::new(self.means(&groups)))
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
        let mut each = Averages::new(self.scale);
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
    pub(super) fn new(scale: i8) -> Average {
        Average(Averages { scale, groups: vec![(0, i256::ZERO)] })
    }
}

impl Accumulator for Average {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |column| column.len());
        self.0.update_batch(values, &vec![0; rows], None, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = wide(values, self.0.scale)?;
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
        ScalarValue::try_from_array(&self.0.means(&self.0.groups), 0)
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
