//! Combinators that change what an aggregate is given: `sumArray`, `sumForEach`, `sumArgMin`, `sumArgMax`, `sumResample`,
//! `avgMap`.
//!
//! Invariant: the rows that reach the aggregate have its own argument types; its accumulators know of no combinator. The
//! rewrite writes the combinator and the aggregate as a text in front of the arguments, [`bound`] takes it off.

mod best;
mod positions;
mod keyed;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use functions::FunctionError;
use model::saturating::place_of;
use model::type_arrow::to_field;
use model::{ColumnType, ErrorCode};

use self::best::Best;
use self::keyed::Keyed;
use self::positions::{Positions, Spread};
use super::factory::Factory;
use super::{named, own};
use crate::typing::{external, literal_of, type_of_field};

/// The name under which the rewrite calls all of them.
pub const COMBINED: &str = "_combined";

/// Most intervals of `-Resample`; each is an accumulator in every group.
const INTERVALS_MAX: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Combinator {
    /// Each element of the arrays is a row.
    Array,
    /// An aggregate for each position of the arrays.
    ForEach,
    /// The rows with the smallest, or greatest, last argument.
    Best { greatest: bool },
    /// An aggregate for each key of the maps.
    Map,
    /// An aggregate for each interval that the last argument is in: start, end, length.
    Resample(i64, i64, i64),
}

/// An aggregate under a combinator. Registered without one, for the planner to find.
#[derive(Clone, Debug)]
pub(super) struct Combined {
    name: String,
    inner: Option<(Arc<AggregateUDF>, Combinator)>,
    /// Constants behind the arguments, which are the inner aggregate's parameters.
    parameters: usize,
    signature: Signature,
}

impl Default for Combined {
    fn default() -> Self {
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { name: COMBINED.to_owned(), inner: None, parameters: 0, signature }
    }
}

/// The function of a call, whose first argument says which one it is; `None` for other functions.
pub fn bound(udaf: &AggregateUDF, args: &mut Vec<Expr>) -> Result<Option<Arc<AggregateUDF>>> {
    if udaf.name() != COMBINED {
        return Ok(None);
    }
    let written = match args.first().and_then(literal_of) {
        Some(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text))) => text.clone(),
        _ => return internal_err!("{COMBINED} without the name of its function"),
    };
    args.remove(0);
    let parts: Vec<&str> = written.split(own::PARAMETER_END).collect();
    let [name, combinator, inner, parameters, bounds @ ..] = parts.as_slice() else {
        return internal_err!("{COMBINED} of {written}");
    };
    let mut inner = named(inner)?;
    if let Some(with_parameters) = own::bound(&inner, args) {
        inner = with_parameters;
    }
    // With all that two calls may differ in, so that they are two columns.
    let said: Vec<&str> =
        bounds.iter().copied().chain(inner.name().split_once('(').map(|(_, rest)| rest)).collect();
    let name = if said.is_empty() { (*name).to_owned() } else { format!("{name}({})", said.join(", ")) };
    over(&name, combinator, inner, parameters.parse().unwrap_or(0), bounds).map(Some)
}

/// `inner` under a combinator by its name: `bounds` are the constants in front of which those of `-Resample` stand last.
pub(super) fn over(
    name: &str,
    combinator: &str,
    inner: Arc<AggregateUDF>,
    parameters: usize,
    bounds: &[&str],
) -> Result<Arc<AggregateUDF>> {
    let combinator = match (combinator, bounds) {
        ("Array", _) => Combinator::Array,
        ("ForEach", _) => Combinator::ForEach,
        ("Map", _) => Combinator::Map,
        ("ArgMin", _) => Combinator::Best { greatest: false },
        ("ArgMax", _) => Combinator::Best { greatest: true },
        (_, [.., start, end, step]) => resample(start, end, step)?,
        _ => return Err(bad_arguments("-Resample takes three whole numbers: start, end, step")),
    };
    let inner = Some((inner, combinator));
    let combined = Combined { name: name.to_owned(), inner, parameters, ..Combined::default() };
    Ok(Arc::new(AggregateUDF::from(combined)))
}

/// `inner` over the rows with the smallest, or greatest, last argument.
pub fn by_best(name: &str, inner: Arc<AggregateUDF>, greatest: bool) -> Arc<AggregateUDF> {
    let inner = Some((inner, Combinator::Best { greatest }));
    Arc::new(AggregateUDF::from(Combined { name: name.to_owned(), inner, ..Combined::default() }))
}

fn resample(start: &str, end: &str, step: &str) -> Result<Combinator> {
    let (Ok(start), Ok(end), Ok(step)) = (start.parse::<i64>(), end.parse::<i64>(), step.parse::<i64>())
    else {
        return Err(bad_arguments("-Resample takes three whole numbers: start, end, step"));
    };
    if step <= 0 {
        return Err(out_of_bound("-Resample takes a step above zero"));
    }
    match intervals(start, end, step) {
        ..=INTERVALS_MAX => Ok(Combinator::Resample(start, end, step)),
        _ => Err(out_of_bound("-Resample of more than a million intervals")),
    }
}

/// How many intervals `-Resample` makes; none where the end is not behind the start.
fn intervals(start: i64, end: i64, step: i64) -> usize {
    let length = if end > start { end.abs_diff(start) } else { 0 };
    usize::try_from(length.div_ceil(step.unsigned_abs().max(1))).unwrap_or(usize::MAX)
}

/// The types of whole numbers that say in which interval of `-Resample` a row is.
fn is_key(column_type: &ColumnType) -> bool {
    use ColumnType::{Bool, Date, DateTime, Enum8, Enum16};
    column_type.is_integer() || matches!(column_type, Bool | Date | DateTime { .. } | Enum8(_) | Enum16(_))
}

fn out_of_bound(message: &str) -> datafusion::common::DataFusionError {
    external(FunctionError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))
}

fn bad_arguments(message: &str) -> datafusion::common::DataFusionError {
    external(FunctionError::new(ErrorCode::BAD_ARGUMENTS, message))
}

impl PartialEq for Combined {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.inner == other.inner
    }
}

impl Eq for Combined {}

impl Hash for Combined {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Combined {
    fn inner(&self) -> Result<(&Arc<AggregateUDF>, Combinator)> {
        match &self.inner {
            Some((inner, combinator)) => Ok((inner, *combinator)),
            None => internal_err!("{} without its function", self.name),
        }
    }

    /// Of the arguments those that are neither parameters nor the combinator's own.
    fn data<'a, T>(&self, args: &'a [T], combinator: Combinator) -> Result<(&'a [T], Option<&'a T>)> {
        let own = matches!(combinator, Combinator::Best { .. } | Combinator::Resample(..));
        let count = args.len().saturating_sub(self.parameters);
        let data = &args[..count];
        match (own, data.split_last()) {
            (true, Some((last, rest))) => Ok((rest, Some(last))),
            (false, Some(_)) => Ok((data, None)),
            (_, None) => {
                let message = format!("aggregate function {} needs an argument", self.name);
                Err(external(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message)))
            }
        }
    }

    /// The fields the inner aggregate sees.
    fn inner_fields(&self, fields: &[FieldRef]) -> Result<Vec<FieldRef>> {
        let (inner, combinator) = self.inner()?;
        let (data, key) = self.data(fields, combinator)?;
        if let (Combinator::Resample(..), Some(key)) = (combinator, key) {
            let key = type_of_field(key);
            if !is_key(key.value_type()) {
                let message = format!(
                    "illegal type {key} of the last argument of {}: -Resample takes an integer of 64 bits or \
                     fewer, a Date or a DateTime",
                    self.name
                );
                return Err(external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)));
            }
        }
        let mut seen = Vec::with_capacity(fields.len());
        for field in data {
            seen.push(match (combinator, type_of_field(field)) {
                (Combinator::Array | Combinator::ForEach, ColumnType::Array(element)) => {
                    Arc::new(to_field("element", &element))
                }
                (Combinator::Array | Combinator::ForEach, other) => {
                    let message = format!(
                        "illegal type {other} of argument for aggregate function {}: an array is needed",
                        self.name
                    );
                    return Err(external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)));
                }
                (Combinator::Map, ColumnType::Map(_, value)) if data.len() == 1 => {
                    Arc::new(to_field("value", &value))
                }
                (Combinator::Map, ColumnType::Map(..)) => {
                    let message = format!("aggregate function {} takes one map", self.name);
                    return Err(external(FunctionError::new(
                        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                        message,
                    )));
                }
                (Combinator::Map, other) => {
                    let message = format!(
                        "illegal type {other} of argument for aggregate function {}: a map is needed",
                        self.name
                    );
                    return Err(external(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)));
                }
                // Rows with a NULL are in no interval, so that intervals without rows are as those of plain values.
                (Combinator::Resample(..), ColumnType::Nullable(plain)) => {
                    Arc::new(to_field(field.name(), &plain))
                }
                _ => Arc::clone(field),
            });
        }
        seen.extend(fields[fields.len() - self.parameters..].iter().cloned());
        let layouts: Vec<DataType> = seen.iter().map(|field| field.data_type().clone()).collect();
        let wanted = inner.inner().coerce_types(&layouts)?;
        let coerced =
            seen.into_iter().zip(wanted).map(|(field, wanted)| match *field.data_type() == wanted {
                true => field,
                false => Arc::new(Field::new(field.name(), wanted, field.is_nullable())),
            });
        Ok(coerced.collect())
    }

    fn factory(
        &self,
        fields: &[FieldRef],
        exprs: &[Arc<dyn PhysicalExpr>],
        ignore_nulls: bool,
    ) -> Result<Factory> {
        let (inner, _) = self.inner()?;
        let fields = self.inner_fields(fields)?;
        let own = fields.len() - self.parameters;
        let columns = fields.iter().take(own).enumerate();
        let mut seen: Vec<Arc<dyn PhysicalExpr>> = columns
            .map(|(at, field)| Arc::new(Column::new(field.name(), at)) as Arc<dyn PhysicalExpr>)
            .collect();
        seen.extend(exprs.iter().skip(exprs.len() - self.parameters.min(exprs.len())).cloned());
        Ok(Factory {
            inner: Arc::clone(inner),
            schema: Schema::new(fields.clone()),
            return_field: inner.return_field(&fields)?,
            fields,
            exprs: seen,
            name: self.name.clone(),
            ignore_nulls,
            is_distinct: false,
        })
    }
}

impl AggregateUDFImpl for Combined {
    fn name(&self) -> &str {
        &self.name
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
        let (inner, combinator) = self.inner()?;
        let result = type_of_field(inner.return_field(&self.inner_fields(arg_fields)?)?.as_ref());
        let result = match combinator {
            Combinator::ForEach | Combinator::Resample(..) => ColumnType::Array(Box::new(result)),
            Combinator::Map => match arg_fields.first().map(|field| type_of_field(field)) {
                Some(ColumnType::Map(key, _)) => {
                    ColumnType::Map(Box::new(key.value_type().clone()), Box::new(result))
                }
                _ => result,
            },
            _ => result,
        };
        Ok(Arc::new(to_field(&self.name, &result)))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            let message = format!("DISTINCT in aggregate function {} is not supported", self.name);
            return Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)));
        }
        let (_, combinator) = self.inner()?;
        let constants: Vec<Option<&Literal>> =
            args.exprs.iter().map(|expr| expr.downcast_ref::<Literal>()).collect();
        if constants.iter().rev().take(self.parameters).any(Option::is_none) {
            return Err(bad_arguments(&format!("parameters of {} have to be constants", self.name)));
        }
        let factory = self.factory(args.expr_fields, args.exprs, args.ignore_nulls)?;
        let result = Arc::clone(&args.return_field);
        Ok(match combinator {
            Combinator::Array => {
                Box::new(Elements { inner: factory.make()?, factory, parameters: self.parameters })
            }
            Combinator::ForEach => {
                Box::new(Positions::new(factory, self.parameters, Spread::Elements, result)?)
            }
            Combinator::Map => {
                let Some(map) = args.expr_fields.first() else {
                    return internal_err!("{} of nothing", self.name);
                };
                let key = keyed::key_of(map.data_type())?;
                Box::new(Keyed::try_new(factory, self.parameters, key, result)?)
            }
            Combinator::Resample(start, end, step) => {
                let spread = Spread::Intervals { start, end, step };
                Box::new(Positions::new(factory, self.parameters, spread, result)?)
            }
            Combinator::Best { greatest } => {
                let (_, by) = self.data(args.expr_fields, combinator)?;
                let Some(by) = by else { return internal_err!("{} by nothing", self.name) };
                Box::new(Best::try_new(factory, self.parameters, greatest, by.data_type().clone())?)
            }
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let (_, combinator) = self.inner()?;
        let inner = self.factory(args.input_fields, &[], false)?.state_fields()?;
        Ok(match combinator {
            Combinator::Array => inner,
            Combinator::Map => {
                let Some(map) = args.input_fields.first() else {
                    return internal_err!("{} of nothing", self.name);
                };
                keyed::state_fields(args.name, &keyed::key_of(map.data_type())?, &inner)
            }
            Combinator::ForEach | Combinator::Resample(..) => {
                let list = |field: &FieldRef| {
                    let element = Arc::new(Field::new_list_field(field.data_type().clone(), true));
                    Arc::new(Field::new(field.name(), DataType::List(element), true))
                };
                inner.iter().map(list).collect()
            }
            Combinator::Best { .. } => {
                let (_, by) = self.data(args.input_fields, combinator)?;
                let Some(by) = by else { return internal_err!("{} by nothing", self.name) };
                let by = Arc::new(Field::new(format!("{}[by]", args.name), by.data_type().clone(), true));
                std::iter::once(by).chain(inner).collect()
            }
        })
    }
}

/// The elements of arrays, row after row, and the row of each; parameters are repeated by row.
fn elements(columns: &[ArrayRef], parameters: usize) -> Result<(Vec<ArrayRef>, Vec<usize>, Vec<usize>)> {
    let lists = &columns[..columns.len() - parameters];
    let (mut rows, mut places) = (vec![], vec![]);
    let Some(first) = lists.first() else { return internal_err!("an aggregate of no arrays") };
    let length = |list: &ArrayRef, row: usize| {
        if list.is_null(row) { 0 } else { list.as_list::<i32>().value(row).len() }
    };
    for row in 0..first.len() {
        let count = length(first, row);
        if lists.iter().any(|list| length(list, row) != count) {
            let message = "arrays of one call of an aggregate have different sizes";
            return Err(external(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message)));
        }
        rows.extend(std::iter::repeat_n(row, count));
        places.extend(0..count);
    }
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    let origins: UInt32Array = rows.iter().map(|row| Some(number(*row))).collect();
    let mut flat = Vec::with_capacity(columns.len());
    for list in lists {
        let list = list.as_list::<i32>();
        let start = |row: usize| place_of(list.value_offsets()[row]);
        let picks = rows.iter().zip(&places).map(|(row, place)| Some(number(start(*row) + place)));
        flat.push(take(list.values(), &picks.collect::<UInt32Array>(), None)?);
    }
    for parameter in &columns[columns.len() - parameters..] {
        flat.push(take(parameter, &origins, None)?);
    }
    Ok((flat, rows, places))
}

/// `-Array`.
#[derive(Debug)]
struct Elements {
    inner: Box<dyn Accumulator>,
    factory: Factory,
    parameters: usize,
}

impl Accumulator for Elements {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (columns, ..) = elements(values, self.parameters)?;
        self.inner.update_batch(&self.factory.laid_out(columns)?)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }
}
