//! `quantile` and its kin.
//!
//! Invariant: `quantile` is exact up to [`SAMPLE_MAX`] values of a group, as in ClickHouse; beyond that it keeps a uniform
//! sample of that size, so memory is bounded. `quantileTDigest` keeps a sketch, the `Exact` ones all values.

mod digest;
mod exact;
mod sketch;
mod steps;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, Signature, Volatility};
use datafusion::physical_expr::expressions::Literal;
use functions::{FunctionError, RandomStream, default_array};
use model::saturating::usize_of;
use model::type_arrow::{from_field, to_data_type, to_field};
use model::{ColumnType, ErrorCode};

use crate::kernels::timing;
use crate::typing::{external, scalar_at, type_of_field};

/// Values of a group kept by `quantile`; ClickHouse's reservoir has the same size.
const SAMPLE_MAX: usize = 8192;

/// How the value at a level is found among the sorted ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Pick {
    /// Between the two nearest, by distance.
    Interpolate,
    /// The value at `level * count`.
    Exact,
    /// As `Exact`; of two middle ones the lower.
    ExactLow,
    /// As `Exact`; of two middle ones the higher.
    ExactHigh,
    /// Between the two nearest of all values.
    Inclusive,
    /// As `Inclusive`, with room for one value more at each end.
    Exclusive,
    /// By a sketch; the result is a Float32.
    Digest,
    /// Of milliseconds up to 30 seconds; the result is a Float32.
    Timing,
}

/// Name, aliases, way of picking, and whether it takes several levels.
pub(super) static TABLE: &[(&str, &[&str], Pick, bool)] = &[
    ("quantile", &["median"], Pick::Interpolate, false),
    ("quantiles", &[], Pick::Interpolate, true),
    ("quantileTDigest", &["medianTDigest"], Pick::Digest, false),
    ("quantilesTDigest", &[], Pick::Digest, true),
    ("quantileTiming", &["medianTiming"], Pick::Timing, false),
    ("quantilesTiming", &[], Pick::Timing, true),
    ("quantileExact", &["medianExact"], Pick::Exact, false),
    ("quantilesExact", &[], Pick::Exact, true),
    ("quantileExactLow", &["medianExactLow"], Pick::ExactLow, false),
    ("quantilesExactLow", &[], Pick::ExactLow, true),
    ("quantileExactHigh", &["medianExactHigh"], Pick::ExactHigh, false),
    ("quantilesExactHigh", &[], Pick::ExactHigh, true),
    ("quantileExactExclusive", &[], Pick::Exclusive, false),
    ("quantilesExactExclusive", &[], Pick::Exclusive, true),
    ("quantileExactInclusive", &[], Pick::Inclusive, false),
    ("quantilesExactInclusive", &[], Pick::Inclusive, true),
];

/// One of the functions.
#[derive(Clone, Debug)]
pub(super) struct Quantile {
    pub(super) name: &'static str,
    pub(super) pick: Pick,
    /// `quantiles`: an array of one value for each level.
    pub(super) several: bool,
    aliases: Vec<String>,
    signature: Signature,
}

impl Quantile {
    pub(super) fn new(name: &'static str, aliases: &[&str], pick: Pick, several: bool) -> Self {
        let mut all: Vec<String> = aliases.iter().map(|alias| (*alias).to_owned()).collect();
        all.push(name.to_ascii_lowercase());
        all.extend(aliases.iter().map(|alias| alias.to_ascii_lowercase()));
        all.sort_unstable();
        all.dedup();
        all.retain(|alias| alias != name);
        Self { name, pick, several, aliases: all, signature: Signature::user_defined(Volatility::Immutable) }
    }

    /// Whether a result is one of the values.
    pub(super) fn keeps_type(&self) -> bool {
        matches!(self.pick, Pick::Exact | Pick::ExactLow | Pick::ExactHigh)
    }

    /// The type of one value.
    fn element(&self, argument: &ColumnType) -> ColumnType {
        let plain = argument.value_type();
        let element = match self.pick {
            _ if self.keeps_type() => plain.clone(),
            Pick::Timing => ColumnType::Float32,
            Pick::Interpolate | Pick::Digest if is_temporal(plain) => plain.clone(),
            Pick::Digest => ColumnType::Float32,
            Pick::Interpolate if matches!(plain, ColumnType::Decimal { .. }) => plain.clone(),
            _ => ColumnType::Float64,
        };
        if argument.is_nullable() && !self.several { element.nullable() } else { element }
    }

    fn levels(&self, args: &AccumulatorArgs<'_>) -> Result<Vec<f64>> {
        let mut levels = Vec::new();
        for expr in args.exprs.iter().skip(1) {
            let refused = |code: ErrorCode| {
                let message = format!("aggregate function {} takes constant levels from 0 to 1", self.name);
                external(FunctionError::new(code, message))
            };
            let Some(literal) = expr.downcast_ref::<Literal>() else {
                return Err(refused(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH));
            };
            match literal.value().cast_to(&DataType::Float64) {
                Ok(ScalarValue::Float64(Some(level))) if (0.0..=1.0).contains(&level) => levels.push(level),
                Ok(_) => return Err(refused(ErrorCode::PARAMETER_OUT_OF_BOUND)),
                Err(_) => return Err(refused(ErrorCode::CANNOT_CONVERT_TYPE)),
            }
        }
        if levels.is_empty() {
            levels.push(0.5);
        }
        Ok(levels)
    }
}

fn is_temporal(column_type: &ColumnType) -> bool {
    use ColumnType::{Date, Date32, DateTime, DateTime64};
    matches!(column_type, Date | Date32 | DateTime { .. } | DateTime64 { .. })
}

impl PartialEq for Quantile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Quantile {}

impl Hash for Quantile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl AggregateUDFImpl for Quantile {
    fn name(&self) -> &str {
        self.name
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
        internal_err!("the type of {} depends on more than layouts", self.name)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let argument = arg_fields.first().map_or(ColumnType::String, |field| type_of_field(field));
        let plain = argument.value_type();
        let fits = plain.is_number() || is_temporal(plain) || *plain == ColumnType::Bool;
        if !fits && argument != ColumnType::Nothing {
            let message = format!("illegal type {argument} of argument for aggregate function {}", self.name);
            return Err(external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)));
        }
        let element = self.element(&argument);
        let result = if self.several { ColumnType::Array(Box::new(element)) } else { element };
        Ok(Arc::new(to_field(self.name, &result)))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let element = match from_field(&args.return_field) {
            ColumnType::Array(element) => *element,
            other => other,
        };
        if args.is_distinct && self.pick == Pick::Digest {
            let message = format!("DISTINCT in aggregate function {} is not supported", self.name);
            return Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)));
        }
        let is_distinct = args.is_distinct;
        let results = Results { levels: self.levels(&args)?, several: self.several, element, is_distinct };
        if let (true, Some(field)) = (self.keeps_type(), args.expr_fields.first()) {
            return Ok(Box::new(exact::Values::new(field.data_type(), self.pick, results)));
        }
        if self.pick == Pick::Digest {
            return Ok(Box::new(sketch::Sketch::new(results)));
        }
        if let (Pick::Interpolate, Some(field)) = (self.pick, args.expr_fields.first())
            && let Some(steps) = steps::Steps::new(field.data_type(), &results)
        {
            return Ok(Box::new(steps));
        }
        Ok(Box::new(Sample {
            values: Vec::new(),
            has_nan: false,
            seen: 0,
            sample_max: match self.pick {
                Pick::Interpolate if !is_distinct => SAMPLE_MAX,
                _ => usize::MAX,
            },
            random: RandomStream::new(0),
            pick: self.pick,
            results,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let list = |what: &str, element: &DataType| {
            let element = Arc::new(Field::new_list_field(element.clone(), true));
            Arc::new(Field::new(format!("{}[{what}]", args.name), DataType::List(element), true))
        };
        if let (true, Some(field)) = (self.keeps_type(), args.input_fields.first()) {
            return Ok(vec![list("values", field.data_type())]);
        }
        if self.pick == Pick::Digest {
            return Ok(vec![list("means", &DataType::Float32), list("counts", &DataType::Float32)]);
        }
        let seen = Field::new(format!("{}[seen]", args.name), DataType::UInt64, true);
        Ok(vec![list("values", &DataType::Float64), Arc::new(seen)])
    }
}

/// What is asked of the values of a group.
#[derive(Clone, Debug)]
struct Results {
    levels: Vec<f64>,
    /// An array of one value for each level.
    several: bool,
    /// The type of one value.
    element: ColumnType,
    /// Whether equal values are one.
    is_distinct: bool,
}

impl Results {
    /// One value for each level as the result.
    fn scalar(&self, values: ArrayRef) -> Result<ScalarValue> {
        let data_type = to_data_type(&self.element);
        let values = if *values.data_type() == data_type { values } else { cast(&values, &data_type)? };
        if !self.several {
            return scalar_at(&values, 0);
        }
        let field = Arc::new(to_field("item", &self.element));
        let offsets = OffsetBuffer::from_lengths([values.len()]);
        Ok(ScalarValue::List(Arc::new(ListArray::try_new(field, offsets, values, None)?)))
    }

    /// The same of numbers; of no rows where `is_empty` says so.
    fn of_floats(&self, values: Vec<f64>, is_empty: bool) -> Result<ScalarValue> {
        let is_float = matches!(to_data_type(&self.element), DataType::Float32 | DataType::Float64);
        self.scalar(match is_empty && (!is_float || self.element.is_nullable()) {
            true => default_array(&self.element, values.len()),
            false => from_floats(values, &self.element)?,
        })
    }
}

/// Values of one group, as Float64.
#[derive(Debug)]
struct Sample {
    values: Vec<f64>,
    /// Whether there was a NaN, which a group of nothing else gives.
    has_nan: bool,
    /// Values offered, kept or not.
    seen: u64,
    sample_max: usize,
    random: RandomStream,
    pick: Pick,
    results: Results,
}

impl Sample {
    fn offer(&mut self, value: f64) {
        self.seen += 1;
        if self.values.len() < self.sample_max {
            self.values.push(value);
            return;
        }
        // Every value offered so far is kept with the same probability.
        let place = usize_of(self.random.next_u64() % self.seen);
        if let Some(kept) = self.values.get_mut(place) {
            *kept = value;
        }
    }

    fn at(&self, sorted: &[f64], level: f64) -> f64 {
        let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
        let count = u32::try_from(sorted.len()).map_or(f64::from(u32::MAX), f64::from);
        match self.pick {
            Pick::Timing => f64::from(timing::at(sorted, level)),
            Pick::Interpolate => {
                let position = level * (count - 1.0);
                let below = index_of(position, last);
                if below == last {
                    return sorted[last];
                }
                let part = position - position.floor();
                sorted[below] * (position.floor() + 1.0 - position) + sorted[below + 1] * part
            }
            Pick::Inclusive | Pick::Exclusive => {
                let position = match self.pick {
                    Pick::Inclusive => level * (count - 1.0) + 1.0,
                    _ => level * (count + 1.0),
                };
                if position < 1.0 || position >= count {
                    return sorted[if position < 1.0 { 0 } else { last }];
                }
                // The difference of equal infinities is no number, as in ClickHouse.
                let above = index_of(position, last);
                let part = position - position.floor();
                sorted[above - 1] + part * (sorted[above] - sorted[above - 1])
            }
            // They keep their values as they are.
            Pick::Exact | Pick::ExactLow | Pick::ExactHigh | Pick::Digest => f64::NAN,
        }
    }
}

/// The whole part of a position, at most `last`.
fn index_of(position: f64, last: usize) -> usize {
    let whole = ScalarValue::Float64(Some(position.floor())).cast_to(&DataType::UInt64);
    match whole {
        Ok(ScalarValue::UInt64(Some(whole))) => usize::try_from(whole).unwrap_or(last).min(last),
        _ => last,
    }
}

/// Numbers, dates and times as Float64: days, ticks.
fn as_floats(array: &ArrayRef) -> Result<ArrayRef> {
    let plain = match array.data_type() {
        DataType::Date32 => cast(array, &DataType::Int32)?,
        DataType::Timestamp(..) => cast(array, &DataType::Int64)?,
        _ => Arc::clone(array),
    };
    Ok(cast(&plain, &DataType::Float64)?)
}

fn from_floats(values: Vec<f64>, column_type: &ColumnType) -> Result<ArrayRef> {
    let data_type = to_data_type(column_type);
    let floats: ArrayRef = Arc::new(Float64Array::from(values));
    Ok(match &data_type {
        DataType::Date32 => cast(&cast(&floats, &DataType::Int32)?, &data_type)?,
        DataType::Timestamp(..) => cast(&cast(&floats, &DataType::Int64)?, &data_type)?,
        _ => cast(&floats, &data_type)?,
    })
}

impl Accumulator for Sample {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(first) = values.first() else { return Ok(()) };
        let floats = as_floats(first)?;
        for value in floats.as_primitive::<Float64Type>().iter().flatten() {
            if value.is_nan() {
                self.has_nan = true;
                continue;
            }
            let value = if self.pick == Pick::Timing { timing::kept(value) } else { Some(value) };
            value.into_iter().for_each(|value| self.offer(value));
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.values.sort_unstable_by(f64::total_cmp);
        if self.results.is_distinct {
            self.values.dedup();
        }
        let levels = self.results.levels.iter();
        let picked: Vec<f64> = levels.map(|level| self.at(&self.values, *level)).collect();
        self.results.of_floats(picked, self.values.is_empty() && !self.has_nan)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut values = std::mem::take(&mut self.values);
        if values.is_empty() && self.has_nan {
            values.push(f64::NAN);
        }
        let values: ArrayRef = Arc::new(Float64Array::from(values));
        let field = Arc::new(Field::new_list_field(DataType::Float64, true));
        let list = ListArray::try_new(field, OffsetBuffer::from_lengths([values.len()]), values, None)?;
        Ok(vec![ScalarValue::List(Arc::new(list)), ScalarValue::UInt64(Some(self.seen))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [values, seen] = states else { return internal_err!("a sample has two states") };
        let seen: &UInt64Array = seen.as_primitive::<UInt64Type>();
        for (row, list) in values.as_list::<i32>().iter().enumerate() {
            let Some(list) = list else { continue };
            let before = self.seen;
            for value in list.as_primitive::<Float64Type>().values() {
                match value.is_nan() {
                    true => self.has_nan = true,
                    false => self.offer(*value),
                }
            }
            self.seen = before + seen.value(row);
        }
        Ok(())
    }
}
