//! `sum` of integers of 128 and 256 bits, which wraps in their type.
//!
//! Invariant: NULLs are passed over; the sum of nothing is NULL, which the last step makes a zero. The state is the sum.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Field, FieldRef, i256};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use functions::FunctionError;
use model::type_arrow::from_field;
use model::{ErrorCode, WideInteger};

use crate::types::typing::external;

/// The type of the sums, if the function is the one of here.
///
/// # Errors
/// DISTINCT beside other aggregates: alone it is two steps of grouping, and does not come here.
fn kind_of(function: &str, args: &AccumulatorArgs<'_>) -> Result<Option<WideInteger>> {
    let kind = WideInteger::of(&from_field(&args.return_field)).filter(|_| function == "sum");
    if kind.is_some() && args.is_distinct {
        let message = "sum(DISTINCT x) of wide integers beside other aggregates is not supported";
        return Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)));
    }
    Ok(kind)
}

/// The accumulator of one group; `None` where it is DataFusion's.
pub(super) fn accumulator(
    function: &str,
    args: &AccumulatorArgs<'_>,
) -> Result<Option<Box<dyn Accumulator>>> {
    let one = |kind| Box::new(OneGroup(Sums { kind, sums: vec![] })) as Box<dyn Accumulator>;
    Ok(kind_of(function, args)?.map(one))
}

/// The same for all groups at once.
pub(super) fn groups_accumulator(
    function: &str,
    args: &AccumulatorArgs<'_>,
) -> Result<Option<Box<dyn GroupsAccumulator>>> {
    let groups = |kind| Box::new(Sums { kind, sums: vec![] }) as Box<dyn GroupsAccumulator>;
    Ok(kind_of(function, args)?.map(groups))
}

/// The state of that accumulator, if it is the one for these arguments.
pub(super) fn state_fields(function: &str, args: &StateFieldsArgs<'_>) -> Option<Vec<FieldRef>> {
    let layout = args.input_fields.first()?.data_type();
    let is_wide = matches!(layout, DataType::FixedSizeBinary(_)) && function == "sum";
    is_wide.then(|| vec![Arc::new(Field::new(format!("{}[sum]", args.name), layout.clone(), true))])
}

/// The sum of each group and the rows in it, those taken back not counted.
#[derive(Debug)]
struct Sums {
    kind: WideInteger,
    sums: Vec<(i256, usize)>,
}

impl Sums {
    fn stored(values: &[ArrayRef]) -> Result<&FixedSizeBinaryArray> {
        match values.first().and_then(|array| array.as_fixed_size_binary_opt()) {
            Some(stored) => Ok(stored),
            None => internal_err!("sum of wide integers was given something else"),
        }
    }

    fn add(&mut self, group: usize, stored: &[u8]) {
        if let Some((sum, rows)) = self.sums.get_mut(group) {
            *sum = sum.wrapping_add(self.kind.decode(stored));
            *rows += 1;
        }
    }

    fn array(&self, sums: &[(i256, usize)]) -> Result<ArrayRef> {
        let mut bytes = Vec::with_capacity(sums.len() * self.kind.bytes);
        sums.iter().for_each(|(sum, _)| self.kind.encode(*sum, &mut bytes));
        let nulls = NullBuffer::from_iter(sums.iter().map(|(_, rows)| *rows > 0));
        let width = i32::try_from(self.kind.bytes).unwrap_or(0);
        Ok(Arc::new(FixedSizeBinaryArray::try_new(width, Buffer::from(bytes), Some(nulls))?))
    }
}

impl GroupsAccumulator for Sums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let stored = Self::stored(values)?;
        self.sums.resize(total_num_groups, (i256::ZERO, 0));
        for (row, group) in group_indices.iter().enumerate() {
            let passes = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if passes && stored.is_valid(row) {
                self.add(*group, stored.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        self.array(&sums)
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
        let stored = Self::stored(values)?;
        let Some(filter) = opt_filter else { return Ok(vec![Arc::new(stored.clone())]) };
        // What does not pass is a sum of nothing.
        let fails = BooleanArray::from_iter(filter.iter().map(|passes| Some(passes != Some(true))));
        Ok(vec![nullif(stored, &fails)?])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<(i256, usize)>()
    }
}

/// One group, which may be asked for its sum again and again, and give rows back.
#[derive(Debug)]
struct OneGroup(Sums);

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        self.0.update_batch(values, &vec![0; rows], None, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let stored = Sums::stored(values)?;
        for value in stored.iter().flatten() {
            if let Some((sum, rows)) = self.0.sums.first_mut() {
                *sum = sum.wrapping_sub(self.0.kind.decode(value));
                *rows = rows.saturating_sub(1);
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.0.sums.first().copied().unwrap_or((i256::ZERO, 0));
        ScalarValue::try_from_array(&self.0.array(&[sum])?, 0)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}
