//! The last step of an aggregate function: DataFusion's result in ClickHouse's type, no NULL where it has none.
//!
//! Invariant: states and updates are the inner accumulator's; only `evaluate` differs.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, LargeStringArray, ListArray, Scalar,
};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{cast, is_not_null};
use arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use functions::allowance::{Reserved, reserve};
use functions::container::first_elements;
use functions::default_array;
use model::ColumnType;
use model::type_arrow::to_data_type;

use super::definition::Empty;
use crate::typing::{external, scalar_at};

/// Copies of less are not asked for.
const COPY_BYTES_MIN: usize = 1 << 20;

/// Of one text while it is a result: the accumulator's answer, and that as a value of its type.
const TEXT_COPIES: usize = 2;

/// How results are finished.
#[derive(Clone, Debug)]
pub(super) struct Finish {
    pub(super) result: ColumnType,
    pub(super) empty: Empty,
    /// The accumulator has NULL for few rows, too, where there is a number; its first state says how many they are.
    pub(super) needs_rows: bool,
    /// Most elements of a result that is an array.
    pub(super) elements_max: Option<usize>,
    /// Where the parameters of the function stand among its arguments; the inner accumulator takes none.
    pub(super) parameters: Range<usize>,
}

impl Finish {
    pub(super) fn array(&self, array: ArrayRef) -> Result<ArrayRef> {
        let data_type = to_data_type(&self.result);
        let array = match self.elements_max {
            Some(max) if matches!(array.data_type(), DataType::List(_)) => truncated(array.as_list(), max)?,
            _ => array,
        };
        if self.result.is_nullable() || array.null_count() == 0 {
            return laid_out(array, &data_type);
        }
        let array = match array.data_type() {
            // The elements keep their own layout; only missing lists become empty ones.
            DataType::List(_) => without_missing(array.as_list())?,
            _ => {
                let array = laid_out(array, &data_type)?;
                zip(&is_not_null(&array)?, &array, &Scalar::new(self.nothing()?))?
            }
        };
        laid_out(array, &data_type)
    }

    /// Asks for the copy that a result makes of what was collected, where it is not a few numbers.
    fn reserve(&self, collected_bytes: usize) -> Result<Option<Reserved>> {
        let copies = matches!(
            self.result.value_type(),
            ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::String | ColumnType::Tuple(_)
        );
        if !copies || collected_bytes < COPY_BYTES_MIN {
            return Ok(None);
        }
        reserve("an aggregate function", collected_bytes).map(Some).map_err(external)
    }

    /// The value over no rows.
    fn nothing(&self) -> Result<ArrayRef> {
        let is_float = matches!(self.result.value_type(), ColumnType::Float32 | ColumnType::Float64);
        let of_floats = matches!(self.empty, Empty::NaN | Empty::Infinity);
        let empty = if is_float || !of_floats { self.empty } else { Empty::Default };
        Ok(match empty {
            // That of a Date32 is its first day; over nothing it is day 0.
            Empty::Default if *self.result.value_type() == ColumnType::Date32 => {
                ScalarValue::Date32(Some(0)).to_array()?
            }
            Empty::Default => default_array(&self.result, 1),
            Empty::NaN => Arc::new(Float64Array::from(vec![f64::NAN])),
            Empty::Infinity => Arc::new(Float64Array::from(vec![f64::INFINITY])),
            Empty::Ones => {
                let ones = match self.result.value_type() {
                    ColumnType::UInt8 => ScalarValue::UInt8(Some(u8::MAX)),
                    ColumnType::UInt16 => ScalarValue::UInt16(Some(u16::MAX)),
                    ColumnType::UInt32 => ScalarValue::UInt32(Some(u32::MAX)),
                    ColumnType::UInt64 => ScalarValue::UInt64(Some(u64::MAX)),
                    _ => ScalarValue::Int64(Some(-1)).cast_to(&to_data_type(&self.result))?,
                };
                ones.to_array()?
            }
        })
    }

    /// Whether a NULL of the accumulator may be that of rows there are, which is no NULL of the result.
    fn asks_for_rows(&self) -> bool {
        self.needs_rows && self.result.is_nullable()
    }

    /// What few rows give instead of NULL.
    fn of_few(&self) -> f64 {
        if self.empty == Empty::Infinity { f64::INFINITY } else { f64::NAN }
    }

    fn scalar(&self, value: ScalarValue) -> Result<ScalarValue> {
        scalar_at(&self.array(array_of(value)?)?, 0)
    }

    /// The values without the parameters: arguments, then what the function is ordered by.
    fn inner<'a>(&self, values: &'a [ArrayRef]) -> Cow<'a, [ArrayRef]> {
        if self.parameters.is_empty() {
            return Cow::Borrowed(values);
        }
        let kept = values.iter().enumerate().filter(|(i, _)| !self.parameters.contains(i));
        Cow::Owned(kept.map(|(_, array)| Arc::clone(array)).collect())
    }
}

/// One row; what was collected is not copied for it, as `to_array` does.
fn array_of(value: ScalarValue) -> Result<ArrayRef> {
    match value {
        ScalarValue::List(list) => Ok(list as ArrayRef),
        ScalarValue::LargeUtf8(Some(text)) => {
            let ends = OffsetBuffer::from_lengths([text.len()]);
            Ok(Arc::new(LargeStringArray::new(ends, Buffer::from_vec(text.into_bytes()), None)))
        }
        other => other.to_array(),
    }
}

fn laid_out(array: ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    if array.data_type() == data_type { Ok(array) } else { Ok(cast(&array, data_type)?) }
}

fn field_of(list: &ListArray) -> Arc<arrow::datatypes::Field> {
    match list.data_type() {
        DataType::List(field) => Arc::clone(field),
        other => Arc::new(arrow::datatypes::Field::new_list_field(other.clone(), true)),
    }
}

fn without_missing(list: &ListArray) -> Result<ArrayRef> {
    lists(list, usize::MAX)
}

fn truncated(list: &ListArray, max: usize) -> Result<ArrayRef> {
    lists(list, max)
}

/// Every list cut to `max` elements, missing ones empty.
fn lists(list: &ListArray, max: usize) -> Result<ArrayRef> {
    let length = |row: usize| usize::try_from(list.value_length(row)).unwrap_or(0);
    let kept = |row: usize| if list.is_null(row) { 0 } else { length(row).min(max) };
    let lengths: Vec<usize> = (0..list.len()).map(kept).collect();
    let values = first_elements(list, max)?;
    Ok(Arc::new(ListArray::try_new(field_of(list), OffsetBuffer::from_lengths(lengths), values, None)?))
}

/// An accumulator whose result is finished.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) inner: Box<dyn Accumulator>,
    pub(super) finish: Finish,
    /// The declared layouts of the states, where they hold lists: the inner accumulator forgets what their fields say.
    pub(super) states: Vec<DataType>,
}

impl Finished {
    fn declared(&self, index: usize, state: ScalarValue) -> Result<ScalarValue> {
        match self.states.get(index) {
            Some(declared @ DataType::List(_)) => scalar_at(&laid_out(array_of(state)?, declared)?, 0),
            _ => Ok(state),
        }
    }
}

impl Accumulator for Finished {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&self.finish.inner(values))
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let copies = if self.finish.result.is_string() { TEXT_COPIES } else { 1 };
        let _copied = self.finish.reserve(self.inner.size().saturating_mul(copies))?;
        let value = self.inner.evaluate()?;
        if value.is_null() && self.finish.asks_for_rows() && has_rows(self.inner.state()?.first()) {
            return Ok(ScalarValue::Float64(Some(self.finish.of_few())));
        }
        self.finish.scalar(value)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let _copied = self.finish.reserve(self.inner.size())?;
        let states = self.inner.state()?;
        states.into_iter().enumerate().map(|(index, state)| self.declared(index, state)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&self.finish.inner(values))
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// Whether a state counts rows; that of different values is a list of them.
fn has_rows(state: Option<&ScalarValue>) -> bool {
    match state {
        Some(ScalarValue::UInt64(count)) => count.is_some_and(|count| count > 0),
        Some(ScalarValue::List(values)) => values.iter().flatten().any(|values| !values.is_empty()),
        _ => false,
    }
}

/// The same for all groups at once.
pub(super) struct FinishedGroups {
    pub(super) inner: Box<dyn GroupsAccumulator>,
    pub(super) finish: Finish,
    /// As those of [`Finished`].
    pub(super) states: Vec<DataType>,
    /// Which groups had rows, where that is asked for.
    pub(super) rows: Vec<bool>,
}

impl FinishedGroups {
    /// Notes the groups of the rows that `counts` takes for one.
    fn note(&mut self, group_indices: &[usize], groups: usize, counts: impl Fn(usize) -> bool) {
        self.rows.resize(groups.max(self.rows.len()), false);
        for (row, group) in group_indices.iter().enumerate() {
            self.rows[*group] |= counts(row);
        }
    }

    /// Which of the groups that are emitted had rows.
    fn emitted(&mut self, emit_to: EmitTo) -> Vec<bool> {
        if let EmitTo::First(groups) = emit_to {
            self.rows.resize(groups.max(self.rows.len()), false);
        }
        emit_to.take_needed(&mut self.rows)
    }

    /// The values of the groups that are emitted, with a number where rows were too few for one.
    fn of_rows(&mut self, values: ArrayRef, emit_to: EmitTo) -> Result<ArrayRef> {
        let had_rows = self.emitted(emit_to);
        let few = |row: usize| values.is_null(row) && had_rows.get(row).copied().unwrap_or(false);
        let few = BooleanArray::from((0..values.len()).map(few).collect::<Vec<bool>>());
        Ok(zip(&few, &Scalar::new(Float64Array::from(vec![self.finish.of_few()])), &values)?)
    }

    fn declared(&self, states: Vec<ArrayRef>) -> Result<Vec<ArrayRef>> {
        let column = |(index, state): (usize, ArrayRef)| match self.states.get(index) {
            Some(declared @ DataType::List(_)) => laid_out(state, declared),
            _ => Ok(state),
        };
        states.into_iter().enumerate().map(column).collect()
    }
}

impl GroupsAccumulator for FinishedGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        if self.finish.asks_for_rows() {
            let present: Vec<_> =
                self.finish.inner(values).iter().map(|values| values.logical_nulls()).collect();
            self.note(group_indices, total_num_groups, |row| {
                opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
                    && present.iter().flatten().all(|nulls| nulls.is_valid(row))
            });
        }
        self.inner.update_batch(&self.finish.inner(values), group_indices, opt_filter, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let _copied = match emit_to {
            EmitTo::All => self.finish.reserve(self.inner.size())?,
            EmitTo::First(_) => None,
        };
        let mut values = self.inner.evaluate(emit_to)?;
        if self.finish.asks_for_rows() {
            values = self.of_rows(values, emit_to)?;
        }
        self.finish.array(values)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        if self.finish.asks_for_rows() {
            self.emitted(emit_to);
        }
        let states = self.inner.state(emit_to)?;
        self.declared(states)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        let counts = values.first().and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
        if let Some(counts) = counts.filter(|_| self.finish.asks_for_rows()) {
            self.note(group_indices, total_num_groups, |row| counts.is_valid(row) && counts.value(row) > 0);
        }
        self.inner.merge_batch(values, group_indices, total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.declared(self.inner.convert_to_state(&self.finish.inner(values), opt_filter)?)
    }

    fn size(&self) -> usize {
        self.inner.size() + self.rows.capacity()
    }
}
