//! An aggregate over rows in the order of keys: `deltaSum(x) FROM (SELECT .. ORDER BY k)`; and over different rows, each where
//! it came first: `groupArray(DISTINCT x)`.
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

use super::collected::different::Different;
use super::combined::Combined;
use super::factory::Factory;
use super::own::{Own, size_of_array};
use super::spare::without_spare;
use super::states::Stated;
use super::wrapped::Wrapped;
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

/// Those that count different values of one argument themselves, in whatever order.
const KNOWING_DIFFERENT: [&str; 9] =
    ["avg", "count", "groupBitAnd", "groupBitOr", "groupBitXor", "groupUniqArray", "max", "min", "sum"];

/// What the names of quantiles have that keep a digest of all rows.
const DIGEST: &str = "TDigest";

/// What stands behind the name of one that is over different rows.
const OF_DIFFERENT: &str = "Distinct";

/// Who asks for the memory.
const ASKED_FOR: &str = "an aggregate of rows in order";

/// The rows, their keys, and what sorting makes of them.
const COPIES: usize = 3;

/// See the module: `inner` over rows in the order of the last arguments, one for each of `options`.
#[derive(Clone, Debug)]
struct Arranged {
    inner: Arc<AggregateUDF>,
    options: Vec<SortOptions>,
    /// Of rows with equal arguments only the first counts.
    of_different: bool,
    /// Tells the two kinds apart, which may stand in one plan.
    name: String,
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

/// Whether the aggregate has to be [`arranged_of_different`] rows for DISTINCT: its own accumulator knows none, or the result
/// shows in which order they came first, which a plan that groups by them forgets.
pub fn is_blind_to_different(udaf: &AggregateUDF) -> bool {
    let inner = udaf.inner();
    let is_known = inner.is::<Wrapped>() && KNOWING_DIFFERENT.contains(&udaf.name());
    let counts_rows = inner.is::<Own>() || inner.is::<Combined>() || udaf.name().contains(DIGEST);
    inner.is::<Wrapped>() && !is_known || counts_rows
}

/// The aggregate that takes keys behind the arguments of `inner`, and sees its rows in their order.
pub fn arranged(inner: Arc<AggregateUDF>, options: Vec<SortOptions>) -> Arc<AggregateUDF> {
    made(inner, options, false)
}

/// The same, which sees the first of rows with equal arguments and no other; without keys the first that came.
pub fn arranged_of_different(inner: Arc<AggregateUDF>, options: Vec<SortOptions>) -> Arc<AggregateUDF> {
    made(inner, options, true)
}

fn made(inner: Arc<AggregateUDF>, options: Vec<SortOptions>, of_different: bool) -> Arc<AggregateUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    let name = format!("{}{}", inner.name(), if of_different { OF_DIFFERENT } else { "" });
    Arc::new(AggregateUDF::from(Arranged { inner, options, of_different, name, signature }))
}

impl Arranged {
    /// What is the aggregate's own of arguments or their fields, and what are keys.
    fn parted<'a, T>(&self, all: &'a [T]) -> (&'a [T], &'a [T]) {
        all.split_at(all.len().saturating_sub(self.options.len()))
    }
}

impl PartialEq for Arranged {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner && self.options == other.options && self.of_different == other.of_different
    }
}

impl Eq for Arranged {}

impl Hash for Arranged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
        self.options.hash(state);
        self.of_different.hash(state);
    }
}

impl AggregateUDFImpl for Arranged {
    fn name(&self) -> &str {
        &self.name
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
        let layouts: Vec<DataType> = args.expr_fields.iter().map(|field| field.data_type().clone()).collect();
        let different = match self.of_different {
            true => Some(Different::try_new(self.parted(&layouts).0)?),
            false => None,
        };
        let options = self.options.clone();
        Ok(Box::new(Rows { factory, options, layouts, different, batches: vec![], bytes: 0 }))
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
    /// Which rows are the first of their kind, where only those count.
    different: Option<Different>,
    batches: Vec<Vec<ArrayRef>>,
    bytes: usize,
}

impl Rows {
    fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        // With keys the first is known only when all are sorted.
        let first;
        let columns = match &mut self.different {
            Some(different) if self.options.is_empty() => {
                first = first_ones(different, columns)?;
                first.as_slice()
            }
            _ => columns,
        };
        if columns.first().is_none_or(|column| column.is_empty()) {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = columns.iter().map(without_spare).collect();
        self.bytes += columns.iter().map(size_of_array).sum::<usize>();
        self.batches.push(columns);
        Ok(())
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

/// The rows that are equal to none before them.
fn first_ones(different: &mut Different, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let places = different.places(columns)?;
    Ok(columns.iter().map(|column| take(column, &places, None)).collect::<Result<Vec<_>, _>>()?)
}

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut inner = self.factory.make()?;
        if self.batches.is_empty() {
            return inner.evaluate();
        }
        let _copies = reserve(ASKED_FOR, self.bytes.saturating_mul(COPIES)).map_err(external)?;
        let mut own = self.columns()?;
        let keys = own.split_off(own.len() - self.options.len());
        if !keys.is_empty() {
            let order = self.order(&keys)?;
            own = own.iter().map(|column| take(column, &order, None)).collect::<Result<Vec<_>, _>>()?;
            if self.different.is_some() {
                let layouts = self.layouts.get(..own.len()).unwrap_or(&self.layouts);
                own = first_ones(&mut Different::try_new(layouts)?, &own)?;
            }
        }
        inner.update_batch(&self.factory.laid_out(own)?)?;
        inner.evaluate()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes + self.different.as_ref().map_or(0, Different::size)
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
            self.add(&columns)?;
        }
        Ok(())
    }
}
