//! Aggregates whose state is their value, for all groups at once and for one.
//!
//! Invariant: NULLs, and rows that a filter does not let through, are passed over; a state is taken in as one more value.
//! Must not know: what the values of a group come to.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::nullif;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

/// What the values of one column come to in each group.
pub(super) trait PerGroup: Send + Sync + 'static {
    type Column: Array;

    /// Whether values can be taken back.
    const TAKES_BACK: bool = false;

    fn column(values: &[ArrayRef]) -> Result<&Self::Column>;

    fn resize(&mut self, groups: usize);

    fn add(&mut self, group: usize, column: &Self::Column, row: usize);

    /// Of the only group.
    fn take_back(&mut self, _column: &Self::Column, _row: usize) {}

    /// What these groups came to; they are forgotten.
    fn taken(&mut self, groups: EmitTo) -> Result<ArrayRef>;

    /// What the only group has come to.
    fn value(&self) -> Result<ArrayRef>;

    /// Bytes held.
    fn size(&self) -> usize;
}

/// The accumulator of one group.
pub(super) fn one_group(values: impl PerGroup) -> Box<dyn Accumulator> {
    Box::new(OneGroup(Groups(values)))
}

/// The same for all groups at once.
pub(super) fn groups(values: impl PerGroup) -> Box<dyn GroupsAccumulator> {
    Box::new(Groups(values))
}

/// Values as the states of groups of one row each.
pub(super) fn states_of(values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
    let Some(column) = values.first() else { return internal_err!("an aggregate was given no column") };
    let Some(filter) = opt_filter else { return Ok(vec![Arc::clone(column)]) };
    // What does not pass is the state of nothing.
    let fails = BooleanArray::from_iter(filter.iter().map(|passes| Some(passes != Some(true))));
    Ok(vec![nullif(column, &fails)?])
}

struct Groups<V>(V);

impl<V: PerGroup> GroupsAccumulator for Groups<V> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let column = V::column(values)?;
        self.0.resize(total_num_groups);
        for (row, group) in group_indices.iter().enumerate() {
            let passes = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if passes && column.is_valid(row) {
                self.0.add(*group, column, row);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.taken(emit_to)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        states_of(values, opt_filter)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// One group, which may be asked for its value again and again.
struct OneGroup<V>(Groups<V>);

impl<V> fmt::Debug for OneGroup<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneGroup").finish_non_exhaustive()
    }
}

impl<V: PerGroup> Accumulator for OneGroup<V> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        self.0.update_batch(values, &vec![0; rows], None, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if !V::TAKES_BACK {
            return internal_err!("an aggregate that takes no values back was asked to");
        }
        let column = V::column(values)?;
        for row in (0..column.len()).filter(|row| column.is_valid(*row)) {
            self.0.0.take_back(column, row);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        V::TAKES_BACK
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.0.value()?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
