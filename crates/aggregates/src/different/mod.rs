//! `count(DISTINCT x)` of whole numbers over all rows: how many are different, exactly.
//!
//! DataFusion groups by x and counts the groups, which looks at each row in two tables that no cache holds. Invariant: the
//! function is called `count`, has its type and its answers, and is only used with DISTINCT. Must not know: when it is used.

mod keys;

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use functions::allowance::reserve;
use model::ColumnType;
use model::type_arrow::to_field;

use self::keys::Keys;
use crate::typing::external;

static DIFFERENT: LazyLock<Arc<AggregateUDF>> =
    LazyLock::new(|| Arc::new(AggregateUDF::from(Different::default())));

/// See the module.
pub fn different() -> Arc<AggregateUDF> {
    Arc::clone(&DIFFERENT)
}

/// Whether values of a layout can be told apart by 64 bits.
pub fn is_counted(layout: &DataType) -> bool {
    layout.is_integer() || matches!(layout, DataType::Date32 | DataType::Timestamp(..))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Different {
    signature: Signature,
}

impl Default for Different {
    fn default() -> Different {
        Different { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for Different {
    fn name(&self) -> &str {
        "count"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::UInt64)
    }

    fn return_field(&self, _arg_fields: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(to_field(self.name(), &ColumnType::UInt64)))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[different]", args.name), DataType::List(element()), false))])
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Counted(Keys::new())))
    }

    fn default_value(&self, _data_type: &DataType) -> Result<ScalarValue> {
        Ok(ScalarValue::UInt64(Some(0)))
    }
}

fn element() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::UInt64, false))
}

struct Counted(Keys);

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Counted({} bytes)", self.0.bytes())
    }
}

impl Accumulator for Counted {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else { return Ok(()) };
        if *values.data_type() == DataType::UInt64 {
            values.as_primitive::<UInt64Type>().iter().flatten().for_each(|key| self.0.insert(key));
            return Ok(());
        }
        let whole = cast(values, &DataType::Int64)?;
        let whole = whole.as_primitive::<Int64Type>();
        match whole.null_count() {
            0 => whole.values().iter().for_each(|key| self.0.insert(key.cast_unsigned())),
            _ => whole.iter().flatten().for_each(|key| self.0.insert(key.cast_unsigned())),
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(states) = states.first() else { return Ok(()) };
        for keys in states.as_list::<i32>().iter().flatten() {
            keys.as_primitive::<UInt64Type>().values().iter().for_each(|key| self.0.insert(*key));
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let _copied = reserve("count(DISTINCT)", self.0.count() * size_of::<u64>()).map_err(external)?;
        let keys = UInt64Array::from_iter_values(self.0.all());
        let offsets = OffsetBuffer::from_lengths([keys.len()]);
        let list = ListArray::try_new(element(), offsets, Arc::new(keys), None)?;
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::UInt64(Some(u64::try_from(self.0.count()).unwrap_or(u64::MAX))))
    }

    fn size(&self) -> usize {
        size_of::<Counted>() + self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Date32Array, Int8Array};

    use super::*;

    fn counted(batches: &[ArrayRef]) -> ScalarValue {
        let mut all = Counted(Keys::new());
        for batch in batches {
            let mut one = Counted(Keys::new());
            one.update_batch(&[Arc::clone(batch)]).unwrap();
            let state: Vec<ArrayRef> =
                one.state().unwrap().iter().map(|state| state.to_array().unwrap()).collect();
            all.merge_batch(&state).unwrap();
        }
        all.evaluate().unwrap()
    }

    #[test]
    fn counts_each_value_once_and_no_null() {
        let small: ArrayRef = Arc::new(Int8Array::from(vec![Some(-1), None, Some(0), Some(-1), Some(127)]));
        let other: ArrayRef = Arc::new(Int8Array::from(vec![Some(-1), Some(1)]));
        assert_eq!(counted(&[Arc::clone(&small), other]), ScalarValue::UInt64(Some(4)));
        let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 0, u64::MAX, 1]));
        assert_eq!(counted(&[Arc::clone(&large), large]), ScalarValue::UInt64(Some(3)));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![1, 1, -1]));
        assert_eq!(counted(&[days]), ScalarValue::UInt64(Some(2)));
        assert_eq!(counted(&[]), ScalarValue::UInt64(Some(0)));
    }
}
