//! `uniq`: the number of different values, exact up to some 65,000 of them and a close guess beyond.
//!
//! Invariant: what comes out depends on the set of values alone, not on their order or on how they were cut; the hashes are the
//! same on every machine and in every version, because states are stored. Must not know: the exact count.

mod hashes;
mod sample;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, UInt8Array, UInt32Array, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, UInt8Type, UInt32Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use functions::FunctionError;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use self::hashes::hashes;
use self::sample::Sample;
use crate::typing::{external, type_of_field};

pub(super) const NAME: &str = "uniq";
pub(super) const ALIASES: &[&str] =
    &["uniqCombined", "uniqCombined64", "uniqHLL12", "uniqTheta", "approx_count_distinct"];

/// See the module.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Uniq {
    aliases: Vec<String>,
    signature: Signature,
}

impl Default for Uniq {
    fn default() -> Self {
        let mut aliases: Vec<String> = ALIASES.iter().map(|alias| (*alias).to_owned()).collect();
        aliases.extend(ALIASES.iter().map(|alias| alias.to_ascii_lowercase()));
        aliases.sort_unstable();
        aliases.dedup();
        Self { aliases, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Uniq {
    fn name(&self) -> &str {
        NAME
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(arg_types.to_vec())
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt64)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        if arg_fields.is_empty() {
            let message = "aggregate function uniq needs an argument";
            return Err(external(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)));
        }
        Ok(Arc::new(to_field(NAME, &ColumnType::UInt64)))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One { groups: Groups::new(args.expr_fields) }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = |what: &str| format!("{}[{what}]", args.name);
        Ok(vec![
            Arc::new(Field::new(name("thinned"), DataType::UInt8, false)),
            Arc::new(Field::new(name("hashes"), DataType::List(element()), false)),
        ])
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(args.expr_fields)))
    }

    fn default_value(&self, _data_type: &DataType) -> Result<ScalarValue> {
        Ok(ScalarValue::UInt64(Some(0)))
    }
}

fn element() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::UInt32, false))
}

/// A sample for each group.
#[derive(Debug)]
struct Groups {
    types: Vec<ColumnType>,
    samples: Vec<Sample>,
    bytes: usize,
}

impl Groups {
    fn new(fields: &[FieldRef]) -> Groups {
        let types = fields.iter().map(|field| type_of_field(field)).collect();
        Groups { types, samples: Vec::new(), bytes: 0 }
    }

    fn resize(&mut self, groups: usize) {
        if self.samples.len() < groups {
            self.samples.resize_with(groups, Sample::default);
        }
    }

    fn taken(&mut self, emit_to: EmitTo) -> Vec<Sample> {
        let taken = emit_to.take_needed(&mut self.samples);
        self.bytes = self.bytes.saturating_sub(taken.iter().map(Sample::bytes).sum());
        taken
    }

    fn change(&mut self, group: usize, change: impl FnOnce(&mut Sample)) {
        let sample = &mut self.samples[group];
        let before = sample.bytes();
        change(sample);
        self.bytes = self.bytes + sample.bytes() - before;
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let (hashes, nulls) = hashes(values, &self.types)?;
        for (row, group) in group_indices.iter().enumerate() {
            let passes = opt_filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if passes && nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                self.change(*group, |sample| sample.insert(hashes[row]));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let counts: UInt64Array = self.taken(emit_to).iter().map(|sample| Some(sample.count())).collect();
        Ok(Arc::new(counts))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        states(&self.taken(emit_to))
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let [thinned, lists] = values else { return internal_err!("a state of uniq has two columns") };
        let (thinned, lists) = (thinned.as_primitive::<UInt8Type>(), lists.as_list::<i32>());
        let hashes = lists.values().as_primitive::<UInt32Type>().values();
        for (row, group) in group_indices.iter().enumerate() {
            let range = usize::try_from(lists.value_offsets()[row]).unwrap_or(0);
            let own = &hashes[range..range + usize::try_from(lists.value_length(row)).unwrap_or(0)];
            self.change(*group, |sample| sample.merge(thinned.value(row), own));
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |column| column.len());
        let mut each = Groups { types: self.types.clone(), samples: Vec::new(), bytes: 0 };
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, opt_filter, rows)?;
        each.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.bytes + self.samples.capacity() * size_of::<Sample>()
    }
}

/// How often each sample was thinned, and its hashes.
fn states(samples: &[Sample]) -> Result<Vec<ArrayRef>> {
    let thinned: UInt8Array = samples.iter().map(|sample| Some(sample.thinned())).collect();
    let mut hashes = Vec::with_capacity(samples.iter().map(Sample::len).sum());
    for sample in samples {
        let start = hashes.len();
        hashes.extend(sample.hashes());
        // Equal sets are equal bytes.
        hashes[start..].sort_unstable();
    }
    let offsets = OffsetBuffer::from_lengths(samples.iter().map(Sample::len));
    let lists = ListArray::try_new(element(), offsets, Arc::new(UInt32Array::from(hashes)), None)?;
    Ok(vec![Arc::new(thinned), Arc::new(lists)])
}

/// One group.
#[derive(Debug)]
struct One {
    groups: Groups,
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |column| column.len());
        self.groups.update_batch(values, &vec![0; rows], None, 1)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::UInt64(Some(self.groups.samples.first().map_or(0, Sample::count))))
    }

    fn size(&self) -> usize {
        self.groups.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.groups.resize(1);
        let columns = states(&self.groups.samples)?;
        columns.iter().map(|column| ScalarValue::try_from_array(column, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |column| column.len());
        self.groups.merge_batch(states, &vec![0; rows], 1)
    }
}
