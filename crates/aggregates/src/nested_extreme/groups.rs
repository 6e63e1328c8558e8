//! `min` and `max` of arrays, maps and tuples for all groups at once.
//!
//! Values that win are kept by blocks, a row for each group that got another one; a block that is mostly beaten is written
//! anew. Invariant: a block holds nothing but its rows, not what the batch held that they came from, so that memory grows with
//! the groups. Must not know: how two values compare.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::DynComparator;
use arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array, new_null_array};
use arrow::compute::{cast, interleave, take};
use arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

use super::{Order, order_of};
use crate::per_group::states_of;
use crate::spare::without_spare;

/// The accumulator of all groups; `None` where another one is right.
pub(crate) fn accumulator(function: &str, data_type: &DataType) -> Option<Box<dyn GroupsAccumulator>> {
    let order = order_of(function, data_type)?;
    Some(Box::new(Extremes::new(order, data_type.clone())))
}

/// Rows of values that were beaten, for which nothing is written anew.
const BEATEN_MAX: usize = 8192;

/// See the module.
struct Extremes {
    order: Order,
    data_type: DataType,
    blocks: Vec<ArrayRef>,
    /// The block and the row of each group's best value.
    places: Vec<Option<(usize, usize)>>,
    /// Rows of all blocks.
    rows: usize,
}

impl Extremes {
    fn new(order: Order, data_type: DataType) -> Self {
        Self { order, data_type, blocks: vec![], places: vec![], rows: 0 }
    }

    /// Of each group that has one the best row of these values, in the order of the groups' first rows.
    fn winners(
        &self,
        values: &ArrayRef,
        groups: &[usize],
        passes: &dyn Fn(usize) -> bool,
        compare: &DynComparator,
    ) -> Vec<(usize, usize)> {
        let mut place: HashMap<usize, usize> = HashMap::new();
        let mut best: Vec<(usize, usize)> = Vec::new();
        for (row, group) in groups.iter().enumerate().filter(|(row, _)| values.is_valid(*row) && passes(*row))
        {
            let at = *place.entry(*group).or_insert(best.len());
            match best.get_mut(at) {
                None => best.push((*group, row)),
                Some((_, known)) if compare(row, *known) == self.order.wanted() => *known = row,
                Some(_) => {}
            }
        }
        best
    }

    fn offer(&mut self, values: &ArrayRef, groups: &[usize], passes: &dyn Fn(usize) -> bool) -> Result<()> {
        let same = *values.data_type() == self.data_type;
        let values = if same { Arc::clone(values) } else { cast(values, &self.data_type)? };
        let compared = self.order.comparable(&values)?;
        let within = self.order.comparator(&compared, &compared)?;
        let mut with_blocks: HashMap<usize, DynComparator> = HashMap::new();
        let (mut taken, mut owners) = (Vec::new(), Vec::new());
        for (group, row) in self.winners(&values, groups, passes, &within) {
            if let Some((block, known)) = self.places[group] {
                let compare = match with_blocks.entry(block) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        let held = self.order.comparable(&self.blocks[block])?;
                        new.insert(self.order.comparator(&compared, &held)?)
                    }
                };
                if compare(row, known) != self.order.wanted() {
                    continue;
                }
            }
            taken.push(row as u64);
            owners.push(group);
        }
        if owners.is_empty() {
            return Ok(());
        }
        for (row, group) in owners.iter().enumerate() {
            self.places[*group] = Some((self.blocks.len(), row));
        }
        self.rows += owners.len();
        self.blocks.push(without_spare(&take(&values, &UInt64Array::from(taken), None)?));
        let held = self.places.iter().flatten().count();
        if self.rows > 2 * held + BEATEN_MAX { self.written_anew() } else { Ok(()) }
    }

    /// Puts the best values into one block.
    fn written_anew(&mut self) -> Result<()> {
        let held: Vec<(usize, usize)> = self.places.iter().flatten().copied().collect();
        self.rows = held.len();
        self.blocks = match held.is_empty() {
            true => vec![],
            false => vec![without_spare(&self.picked(&self.blocks, &held)?)],
        };
        for (row, place) in self.places.iter_mut().flatten().enumerate() {
            *place = (0, row);
        }
        Ok(())
    }

    fn picked(&self, blocks: &[ArrayRef], places: &[(usize, usize)]) -> Result<ArrayRef> {
        let blocks: Vec<&dyn Array> = blocks.iter().map(AsRef::as_ref).collect();
        Ok(interleave(&blocks, places)?)
    }
}

impl GroupsAccumulator for Extremes {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let Some(values) = values.first() else { return internal_err!("an aggregate was given no column") };
        self.places.resize(total_num_groups, None);
        let passes = |row: usize| opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
        self.offer(values, group_indices, &passes)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let places = emit_to.take_needed(&mut self.places);
        // Behind the blocks stands the value of groups that have none.
        let mut blocks = self.blocks.clone();
        blocks.push(new_null_array(&self.data_type, 1));
        let nothing = (self.blocks.len(), 0);
        let picks: Vec<(usize, usize)> = places.into_iter().map(|place| place.unwrap_or(nothing)).collect();
        let told = self.picked(&blocks, &picks)?;
        self.written_anew()?;
        Ok(told)
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
        let blocks: usize = self.blocks.iter().map(|block| block.get_array_memory_size()).sum();
        size_of_val(self) + blocks + self.places.capacity() * size_of::<Option<(usize, usize)>>()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int32Array, StringViewArray, StructArray};
    use arrow::datatypes::{Field, Fields};

    use super::*;

    fn pairs(rows: &[(i32, &str)]) -> ArrayRef {
        let fields = Fields::from(vec![
            Field::new("1", DataType::Int32, false),
            Field::new("2", DataType::Utf8View, false),
        ]);
        let numbers = Int32Array::from_iter_values(rows.iter().map(|(number, _)| *number));
        let texts = StringViewArray::from_iter_values(rows.iter().map(|(_, text)| *text));
        Arc::new(StructArray::new(fields, vec![Arc::new(numbers), Arc::new(texts)], None))
    }

    #[test]
    fn the_best_of_each_group_survives_batches_and_rewriting() {
        let order = Order::of("min").unwrap();
        let mut best = Extremes::new(order, pairs(&[]).data_type().clone());
        let long = "a text that is longer than twelve bytes";
        // Every batch beats the one before, so that blocks are written anew.
        for batch in 0..40_i32 {
            let rows: Vec<(i32, &str)> = (0..1000).map(|row| (40 - batch + row % 2, long)).collect();
            let groups: Vec<usize> = (0..1000).collect();
            best.update_batch(&[pairs(&rows)], &groups, None, 1001).unwrap();
        }
        assert!(best.rows <= 2 * 1000 + BEATEN_MAX + 1000 && best.blocks.len() < 20);
        let first = best.evaluate(EmitTo::First(2)).unwrap();
        assert_eq!(&first, &pairs(&[(1, long), (2, long)]));
        let rest = best.evaluate(EmitTo::All).unwrap();
        assert_eq!((rest.len(), rest.null_count()), (999, 1));
        assert_eq!(rest.slice(0, 1).as_struct().column(0).as_ref(), &Int32Array::from(vec![1]) as &dyn Array);
    }

    #[test]
    fn a_block_holds_its_own_rows_alone() {
        let mut best = Extremes::new(Order::of("max").unwrap(), pairs(&[]).data_type().clone());
        let long = "x".repeat(100_000);
        let rows: Vec<(i32, &str)> =
            (0..100).map(|row| (row, if row == 99 { "short" } else { &long })).collect();
        best.update_batch(&[pairs(&rows)], &[0; 100], None, 1).unwrap();
        assert!(best.size() < 10_000, "{}", best.size());
    }
}
