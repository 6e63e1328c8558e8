//! `sum` of integers of 128 and 256 bits, which wraps in their type.
//!
//! Invariant: NULLs are passed over; the sum of nothing is NULL, which the last step makes a zero. The state is the sum.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, FixedSizeBinaryArray};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, i256};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use functions::FunctionError;
use model::type_arrow::from_field;
use model::{ErrorCode, WideInteger};

use super::per_group::{PerGroup, groups, one_group};
use crate::typing::external;

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
    Ok(kind_of(function, args)?.map(|kind| one_group(Sums { kind, sums: vec![] })))
}

/// The same for all groups at once.
pub(super) fn groups_accumulator(
    function: &str,
    args: &AccumulatorArgs<'_>,
) -> Result<Option<Box<dyn GroupsAccumulator>>> {
    Ok(kind_of(function, args)?.map(|kind| groups(Sums { kind, sums: vec![] })))
}

/// The state of that accumulator, if it is the one for these arguments.
pub(super) fn state_fields(function: &str, args: &StateFieldsArgs<'_>) -> Option<Vec<FieldRef>> {
    let layout = args.input_fields.first()?.data_type();
    let is_wide = matches!(layout, DataType::FixedSizeBinary(_)) && function == "sum";
    is_wide.then(|| vec![Arc::new(Field::new(format!("{}[sum]", args.name), layout.clone(), true))])
}

/// The sum of each group and the rows in it, those taken back not counted.
struct Sums {
    kind: WideInteger,
    sums: Vec<(i256, usize)>,
}

impl Sums {
    fn array(&self, sums: &[(i256, usize)]) -> Result<ArrayRef> {
        let mut bytes = Vec::with_capacity(sums.len() * self.kind.bytes);
        sums.iter().for_each(|(sum, _)| self.kind.encode(*sum, &mut bytes));
        let nulls = NullBuffer::from_iter(sums.iter().map(|(_, rows)| *rows > 0));
        let width = i32::try_from(self.kind.bytes).unwrap_or(0);
        Ok(Arc::new(FixedSizeBinaryArray::try_new(width, Buffer::from(bytes), Some(nulls))?))
    }
}

impl PerGroup for Sums {
    type Column = FixedSizeBinaryArray;

    const TAKES_BACK: bool = true;

    fn column(values: &[ArrayRef]) -> Result<&FixedSizeBinaryArray> {
        match values.first().and_then(|array| array.as_fixed_size_binary_opt()) {
            Some(stored) => Ok(stored),
            None => internal_err!("sum of wide integers was given something else"),
        }
    }

    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, (i256::ZERO, 0));
    }

    fn add(&mut self, group: usize, stored: &FixedSizeBinaryArray, row: usize) {
        if let Some((sum, rows)) = self.sums.get_mut(group) {
            *sum = sum.wrapping_add(self.kind.decode(stored.value(row)));
            *rows += 1;
        }
    }

    fn take_back(&mut self, stored: &FixedSizeBinaryArray, row: usize) {
        if let Some((sum, rows)) = self.sums.first_mut() {
            *sum = sum.wrapping_sub(self.kind.decode(stored.value(row)));
            *rows = rows.saturating_sub(1);
        }
    }

    fn taken(&mut self, groups: EmitTo) -> Result<ArrayRef> {
        let sums = groups.take_needed(&mut self.sums);
        self.array(&sums)
    }

    fn value(&self) -> Result<ArrayRef> {
        self.array(&[self.sums.first().copied().unwrap_or((i256::ZERO, 0))])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<(i256, usize)>()
    }
}
