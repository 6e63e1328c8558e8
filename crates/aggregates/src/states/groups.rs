//! Accumulators whose rows are states, or whose results are: of one group, and of all at once.
//!
//! Invariant: their own states are those of the function itself, so that what was aggregated in part anywhere is put together
//! as without them. An empty state, and that of a row which a filter leaves out, is that of nothing.

use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::compute::{and, cast, interleave, take};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use functions::default_array;
use model::ColumnType;

use super::recipe::{Recipe, certain, counting};
use crate::bytes::{decode, encode};
use crate::naming::Kind;
use crate::typing::scalar_at;

/// What comes in and goes out.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) recipe: Arc<Recipe>,
    pub(super) kind: Kind,
    /// The layouts of the function's states.
    pub(super) layouts: Vec<DataType>,
    nothing: OnceLock<Arc<Nothing>>,
}

/// The state of no rows.
#[derive(Debug)]
struct Nothing {
    /// As the accumulator of one group writes it.
    bytes: Vec<u8>,
    of_one: Vec<ArrayRef>,
    /// For accumulators of groups, to which it may be another one: of avg over Nullable, no number of rows instead of 0.
    of_groups: Vec<ArrayRef>,
}

impl Nothing {
    fn of(recipe: &Recipe, layouts: &[DataType]) -> Result<Nothing> {
        let laid_out = |(state, layout): (&ArrayRef, &DataType)| Ok(cast(state, layout)?);
        let state = recipe.accumulator()?.state()?;
        let state = state.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?;
        let bytes = encode(&state)?.value(0).to_vec();
        let of_one = state.iter().zip(layouts).map(laid_out).collect::<Result<Vec<_>>>()?;
        let Some(mut groups) = recipe.groups()? else {
            return Ok(Nothing { bytes, of_groups: of_one.clone(), of_one });
        };
        let mut row: Vec<ArrayRef> =
            recipe.state().arguments.iter().map(|argument| default_array(argument, 1)).collect();
        if row.is_empty() {
            row.push(default_array(&ColumnType::UInt8, 1));
        }
        let (columns, _) = recipe.prepared(&row)?;
        groups.update_batch(&columns, &[0], Some(&BooleanArray::from(vec![false])), 1)?;
        let of_groups = groups.state(EmitTo::All)?;
        let of_groups = of_groups.iter().zip(layouts).map(laid_out).collect::<Result<Vec<_>>>()?;
        Ok(Nothing { bytes, of_one, of_groups })
    }
}

/// Who takes states in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taker {
    One,
    Groups,
}

impl Ends {
    pub(super) fn new(recipe: Arc<Recipe>, kind: Kind) -> Result<Ends> {
        let layouts = recipe.layouts()?;
        Ok(Ends { recipe, kind, layouts, nothing: OnceLock::new() })
    }

    /// The states of a column; of a row without one, or that does not pass, that of nothing: accumulators of groups want a row
    /// for each group.
    pub(super) fn states(
        &self,
        column: &ArrayRef,
        passes: Option<&BooleanArray>,
        taker: Taker,
    ) -> Result<Vec<ArrayRef>> {
        let nothing = self.nothing()?;
        let Some(states) = column.as_binary_view_opt() else {
            return internal_err!("states are bytes, not {}", column.data_type());
        };
        let passes = |row: usize| passes.is_none_or(|passes| passes.value(row));
        let says = |bytes: &[u8]| !bytes.is_empty() && bytes != nothing.bytes;
        let is_there = |row: usize| passes(row) && states.is_valid(row) && says(states.value(row));
        let there: Vec<u32> = (0..states.len()).filter(|row| is_there(*row)).map(position).collect();
        if there.len() == states.len() {
            return decode(states, &self.layouts);
        }
        let some = take(states, &UInt32Array::from(there), None)?;
        let decoded = decode(some.as_binary_view(), &self.layouts)?;
        let nothing = match taker {
            Taker::One => &nothing.of_one,
            Taker::Groups => &nothing.of_groups,
        };
        let mut next = 0;
        let places = (0..states.len()).map(|row| match is_there(row) {
            true => {
                next += 1;
                (0, next - 1)
            }
            false => (1, 0),
        });
        let places: Vec<(usize, usize)> = places.collect();
        let with_nothing = |(column, nothing): (&ArrayRef, &ArrayRef)| {
            Ok(interleave(&[column.as_ref(), nothing.as_ref()], &places)?)
        };
        decoded.iter().zip(nothing).map(with_nothing).collect()
    }

    fn nothing(&self) -> Result<Arc<Nothing>> {
        if let Some(known) = self.nothing.get() {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(Nothing::of(&self.recipe, &self.layouts)?);
        Ok(Arc::clone(self.nothing.get_or_init(|| found)))
    }
}

fn position(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

/// Of one group.
#[derive(Debug)]
pub(super) struct One {
    pub(super) inner: Box<dyn Accumulator>,
    pub(super) ends: Ends,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if self.ends.kind == Kind::State {
            let (columns, counts) = self.ends.recipe.prepared(values)?;
            return self.inner.update_batch(&counting(columns, counts.as_ref())?);
        }
        let Some(column) = values.first() else { return Ok(()) };
        self.inner.merge_batch(&self.ends.states(column, None, Taker::One)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if self.ends.kind == Kind::Merge {
            return self.inner.evaluate();
        }
        let states = self.inner.state()?.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?;
        let state: ArrayRef = Arc::new(encode(&states)?);
        scalar_at(&state, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }
}

/// Of all groups.
pub(super) struct All {
    pub(super) inner: Box<dyn GroupsAccumulator>,
    pub(super) ends: Ends,
}

impl All {
    fn merge_states(
        &mut self,
        column: &ArrayRef,
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let passes = opt_filter.map(certain);
        let states = self.ends.states(column, passes.as_ref(), Taker::Groups)?;
        self.inner.merge_batch(&states, group_indices, total_num_groups)
    }
}

impl GroupsAccumulator for All {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        if self.ends.kind != Kind::State {
            let Some(column) = values.first() else { return Ok(()) };
            return self.merge_states(column, group_indices, opt_filter, total_num_groups);
        }
        let (columns, counts) = self.ends.recipe.prepared(values)?;
        let passes = match (opt_filter, counts) {
            (Some(passes), Some(counts)) => Some(and(&certain(passes), &counts)?),
            (passes, counts) => counts.or_else(|| passes.cloned()),
        };
        self.inner.update_batch(&columns, group_indices, passes.as_ref(), total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        if self.ends.kind == Kind::Merge {
            return self.inner.evaluate(emit_to);
        }
        Ok(Arc::new(encode(&self.inner.state(emit_to)?)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.inner.merge_batch(values, group_indices, total_num_groups)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        if self.ends.kind == Kind::State {
            let (columns, counts) = self.ends.recipe.prepared(values)?;
            let passes = match (opt_filter, counts) {
                (Some(passes), Some(counts)) => Some(and(&certain(passes), &counts)?),
                (passes, counts) => counts.or_else(|| passes.cloned()),
            };
            return self.inner.convert_to_state(&columns, passes.as_ref());
        }
        // A state of each row: those of rows that add nothing are made by a group that nothing was added to.
        let mut each = All { inner: self.fresh()?, ends: self.ends.clone() };
        let rows = values.first().map_or(0, |column| column.len());
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, opt_filter, rows)?;
        each.inner.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

impl All {
    fn fresh(&self) -> Result<Box<dyn GroupsAccumulator>> {
        match self.ends.recipe.groups()? {
            Some(groups) => Ok(groups),
            None => internal_err!("a function has no accumulator for groups any more"),
        }
    }
}
