//! An aggregate over rows in the order of keys: `deltaSum(x) FROM (SELECT .. ORDER BY k)`.
//!
//! The rows of a group are collected with their keys, sorted once at the end and given to the aggregate. Invariant: rows of equal
//! keys keep the order in which they came; what the aggregate is told of its arguments is what it would be told without
//! keys. Must not know: where the keys come from.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, UInt64Array, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, concat, take};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use functions::allowance::reserve;
use model::saturating::u64_of;

use super::combined::Combined;
use super::factory::Factory;
use super::own::{Own, size_of_array};
use super::spare::without_spare;
use super::states::Stated;
use crate::typing::external;

/// Aggregates whose result shows the order of rows and which keep no keys in their states. Those of DataFusion that do are not
/// among them, but are where they stand under a combinator.
const SHOWING_ORDER: [&str; 7] = [
    "anyHeavy",
    "deltaSum",
    "deltaSumTimestamp",
    "groupArrayInsertAt",
    "groupArrayLast",
    "groupArrayMovingAvg",
    "groupArrayMovingSum",
];

/// Those that keep keys themselves where no combinator stands behind them.
const KEEPING_KEYS: [&str; 5] = ["any", "first_value", "groupArray", "groupConcat", "last_value"];

/// Who asks for the memory.
const ASKED_FOR: &str = "an aggregate of rows in order";

/// The rows, their keys, and what sorting makes of them.
const COPIES: usize = 3;

/// See the module: `inner` over rows in the order of the last arguments, one for each of `options`.
#[derive(Clone, Debug)]
struct Arranged {
    inner: Arc<AggregateUDF>,
    options: Vec<SortOptions>,
    signature: Signature,
}

/// Whether rows in another order may give another result, and the aggregate has to be [`arranged`] for it.
pub fn shows_order(udaf: &AggregateUDF) -> bool {
    let inner = udaf.inner();
    let is_one = |name: &str| SHOWING_ORDER.iter().chain(&KEEPING_KEYS).any(|one| name.starts_with(one));
    if inner.is::<Own>() {
        let name = udaf.name();
        return SHOWING_ORDER.contains(&name.split_once('(').map_or(name, |(name, _)| name));
    }
    (inner.is::<Combined>() || inner.is::<Stated>()) && is_one(udaf.name())
}

/// The aggregate that takes keys behind the arguments of `inner`, and sees its rows in their order.
pub fn arranged(inner: Arc<AggregateUDF>, options: Vec<SortOptions>) -> Arc<AggregateUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(AggregateUDF::from(Arranged { inner, options, signature }))
}

impl Arranged {
    /// What is the aggregate's own of arguments or their fields, and what are keys.
    fn parted<'a, T>(&self, all: &'a [T]) -> (&'a [T], &'a [T]) {
        all.split_at(all.len().saturating_sub(self.options.len()))
    }
}

impl PartialEq for Arranged {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner && self.options == other.options
    }
}

impl Eq for Arranged {}

impl Hash for Arranged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
        self.options.hash(state);
    }
}

impl AggregateUDFImpl for Arranged {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let (own, keys) = self.parted(arg_types);
        let mut types = self.inner.inner().coerce_types(own)?;
        types.extend_from_slice(keys);
        Ok(types)
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on more than layouts", self.name())
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(self.parted(arg_fields).0)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let (fields, _) = self.parted(args.expr_fields);
        let factory = Factory {
            inner: Arc::clone(&self.inner),
            fields: fields.to_vec(),
            schema: Schema::new(fields.to_vec()),
            exprs: self.parted(args.exprs).0.to_vec(),
            return_field: Arc::clone(&args.return_field),
            name: args.name.to_owned(),
            ignore_nulls: args.ignore_nulls,
            is_distinct: args.is_distinct,
        };
        let layouts = args.expr_fields.iter().map(|field| field.data_type().clone()).collect();
        Ok(Box::new(Rows { factory, options: self.options.clone(), layouts, batches: vec![], bytes: 0 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let state = |(at, field): (usize, &FieldRef)| {
            let list = DataType::List(element(field.data_type()));
            Arc::new(Field::new(format!("{}[{at}]", args.name), list, true))
        };
        Ok(args.input_fields.iter().enumerate().map(state).collect())
    }
}

fn element(layout: &DataType) -> FieldRef {
    Arc::new(Field::new_list_field(layout.clone(), true))
}

/// The rows of one group.
#[derive(Debug)]
struct Rows {
    factory: Factory,
    options: Vec<SortOptions>,
    /// Of arguments and keys.
    layouts: Vec<DataType>,
    batches: Vec<Vec<ArrayRef>>,
    bytes: usize,
}

impl Rows {
    fn add(&mut self, columns: &[ArrayRef]) {
        if columns.first().is_none_or(|column| column.is_empty()) {
            return;
        }
        let columns: Vec<ArrayRef> = columns.iter().map(without_spare).collect();
        self.bytes += columns.iter().map(size_of_array).sum::<usize>();
        self.batches.push(columns);
    }

    /// All rows as one array for each argument and key.
    fn columns(&self) -> Result<Vec<ArrayRef>> {
        let column = |(at, layout): (usize, &DataType)| {
            let parts: Vec<&dyn Array> = self.batches.iter().map(|batch| batch[at].as_ref()).collect();
            Ok(if parts.is_empty() { new_empty_array(layout) } else { concat(&parts)? })
        };
        self.layouts.iter().enumerate().map(column).collect()
    }

    /// The places of the rows in the order of the keys.
    fn order(&self, keys: &[ArrayRef]) -> Result<UInt64Array> {
        let sorts = keys.iter().zip(&self.options);
        let sorts =
            sorts.map(|(key, options)| SortField::new_with_options(key.data_type().clone(), *options));
        let rows = RowConverter::new(sorts.collect())?.convert_columns(keys)?;
        let mut places: Vec<usize> = (0..rows.num_rows()).collect();
        places.sort_by(|one, other| rows.row(*one).cmp(&rows.row(*other)));
        Ok(places.into_iter().map(u64_of).collect::<Vec<u64>>().into())
    }
}

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut inner = self.factory.make()?;
        if self.batches.is_empty() {
            return inner.evaluate();
        }
        let _copies = reserve(ASKED_FOR, self.bytes.saturating_mul(COPIES)).map_err(external)?;
        let mut own = self.columns()?;
        let keys = own.split_off(own.len() - self.options.len());
        let order = self.order(&keys)?;
        let sorted = own.iter().map(|column| take(column, &order, None)).collect::<Result<Vec<_>, _>>()?;
        inner.update_batch(&self.factory.laid_out(sorted)?)?;
        inner.evaluate()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let _copies = reserve(ASKED_FOR, self.bytes).map_err(external)?;
        let list = |column: ArrayRef| {
            let offsets = OffsetBuffer::from_lengths([column.len()]);
            let list = ListArray::try_new(element(column.data_type()), offsets, column, None)?;
            Ok(ScalarValue::List(Arc::new(list)))
        };
        self.columns()?.into_iter().map(list).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for row in 0..states.first().map_or(0, |state| state.len()) {
            let columns: Vec<ArrayRef> =
                states.iter().map(|state| state.as_list::<i32>().value(row)).collect();
            self.add(&columns);
        }
        Ok(())
    }
}
