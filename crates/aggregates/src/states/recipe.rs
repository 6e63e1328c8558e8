//! An aggregate function by its name, parameters and the types of its arguments: what a state's type says, made to run.
//!
//! Invariant: whoever makes a recipe of one type gets accumulators whose states can be merged. Must not know: plans.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StructArray};
use arrow::compute::{and, cast, filter, is_not_null, prep_null_mask_filter};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, AggregateUDF, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use functions::{CastMode, FunctionError, cast_column, default_array};
use model::type_arrow::{to_data_type, to_field};
use model::type_name::quoted_text;
use model::{ColumnType, ErrorCode, StateType, TupleElement};

use super::counted::Counted;
use crate::factory::Factory;
use crate::naming::{self, Aggregate, OverNothing};
use crate::row_bytes::{is_counted_as_bytes, row_bytes};
use crate::typing::{external, type_of_field};
use crate::{check_arguments, combined, named, own, takes_floats};

/// Functions whose accumulators of one group and of all have different states in DataFusion: only the first are used, so that
/// states are of one kind.
const TWO_LAYOUTS: &[&str] = &["corr"];

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    state: StateType,
    factory: Factory,
    /// The types as they are given, without the condition.
    given: Vec<ColumnType>,
    /// The types that the function is given.
    taken: Vec<ColumnType>,
    /// `-If`: the last column says which rows count.
    is_filtered: bool,
    /// What is counted are bytes: those of a tuple of the arguments where all are there, or of the one.
    as_bytes: Option<ColumnType>,
    over_nothing: OverNothing,
    result: ColumnType,
}

impl Recipe {
    /// # Errors
    /// There is no such function, or it does not take these types.
    pub(crate) fn new(state: &StateType) -> Result<Recipe> {
        let name = state.function.as_ref();
        let aggregate = naming::aggregate(name).ok_or_else(|| unknown(name))?;
        if aggregate.stateful.is_some() || aggregate.name == "avgWeighted" {
            let message = format!("states of aggregate function {name} are not supported");
            return Err(failed(ErrorCode::NOT_IMPLEMENTED, message));
        }
        let mut given: Vec<ColumnType> = state.arguments.iter().map(plain).collect();
        if aggregate.filtered && given.pop().is_none() {
            let message = format!("aggregate function {name} needs a condition");
            return Err(failed(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
        if given.is_empty() && aggregate.name == "count" {
            given.push(ColumnType::UInt8);
        }
        let as_bytes = counted_as_bytes(&aggregate, &given);
        let (udaf, behind) = function(&aggregate, name, &state.parameters)?;
        let taken = taken(&aggregate, &udaf, &given, as_bytes.is_some())?;
        let factory = factory(&udaf, name, &taken, &behind, aggregate.distinct)?;
        let plain_result = type_of_field(&factory.return_field);
        let is_concat = aggregate.name == "groupConcat" && aggregate.combinator.is_none();
        let over_nothing = match aggregate.over_nothing {
            // DataFusion's has no text over nothing, ClickHouse's an empty one.
            OverNothing::Own if is_concat && !given.iter().any(ColumnType::is_nullable) => {
                OverNothing::Default
            }
            other => other,
        };
        let result = match over_nothing {
            OverNothing::Default if is_concat => plain_result.value_type().clone(),
            OverNothing::Null if !matches!(plain_result, ColumnType::Array(_) | ColumnType::Map(..)) => {
                plain_result.nullable()
            }
            _ => plain_result,
        };
        let is_filtered = aggregate.filtered;
        let state = state.clone();
        Ok(Recipe { state, factory, given, taken, is_filtered, as_bytes, over_nothing, result })
    }

    /// The type of its states.
    pub(super) fn state(&self) -> &StateType {
        &self.state
    }

    /// The type of what the function gives.
    pub(crate) fn result(&self) -> &ColumnType {
        &self.result
    }

    pub(super) fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        let inner = self.factory.make()?;
        Ok(match self.over_nothing {
            OverNothing::Own => inner,
            _ => Box::new(Counted::new(inner, self.result.clone(), self.taken.len())),
        })
    }

    /// For all groups at once; `None` where there is only one for each.
    pub(super) fn groups(&self) -> Result<Option<Box<dyn GroupsAccumulator>>> {
        let is_other = TWO_LAYOUTS.contains(&self.factory.inner.name());
        if self.over_nothing == OverNothing::Own && !is_other { self.factory.make_groups() } else { Ok(None) }
    }

    /// The columns of a state.
    pub(super) fn state_fields(&self) -> Result<Vec<FieldRef>> {
        let mut fields = self.factory.state_fields()?;
        if self.over_nothing != OverNothing::Own {
            fields.push(Arc::new(Field::new("rows", DataType::UInt64, false)));
        }
        Ok(fields)
    }

    pub(super) fn layouts(&self) -> Result<Vec<DataType>> {
        Ok(self.state_fields()?.iter().map(|field| field.data_type().clone()).collect())
    }

    /// Columns of the arguments as the accumulators take them, and which rows count.
    pub(super) fn prepared(&self, columns: &[ArrayRef]) -> Result<(Vec<ArrayRef>, Option<BooleanArray>)> {
        let rows = columns.first().map_or(0, |column| column.len());
        let (columns, mut counts) = match columns.split_last() {
            Some((condition, rest)) if self.is_filtered => (rest, Some(truth(condition)?)),
            _ => (columns, None),
        };
        let mut columns = columns.to_vec();
        if columns.is_empty()
            && let [counted] = self.given.as_slice()
        {
            // `countIf(condition)` is given nothing to count but rows.
            columns.push(default_array(counted, rows));
        }
        if let Some(tuple) = &self.as_bytes {
            for column in &columns {
                let is_there = is_not_null(column)?;
                counts = Some(match counts {
                    Some(counts) => and(&counts, &is_there)?,
                    None => is_there,
                });
            }
            let counted = match columns.as_slice() {
                [one] => Arc::clone(one),
                _ => packed(columns, tuple)?,
            };
            columns = vec![row_bytes(&counted)?];
        } else {
            for ((column, from), to) in columns.iter_mut().zip(&self.given).zip(&self.taken) {
                if from != to {
                    *column = cast_column(column, from, to, CastMode::Strict).map_err(external)?;
                }
            }
        }
        let mut laid_out = self.factory.laid_out(columns)?;
        // Parameters are columns, too, of which nobody reads the rows.
        for field in self.factory.fields.iter().skip(laid_out.len()) {
            laid_out.push(arrow::array::new_null_array(field.data_type(), rows));
        }
        Ok((laid_out, counts))
    }
}

fn failed(code: ErrorCode, message: String) -> DataFusionError {
    external(FunctionError::new(code, message))
}

fn unknown(name: &str) -> DataFusionError {
    failed(ErrorCode::UNKNOWN_AGGREGATE_FUNCTION, format!("unknown aggregate function {name}"))
}

fn plain(column_type: &ColumnType) -> ColumnType {
    match column_type {
        ColumnType::LowCardinality(inner) => inner.as_ref().clone(),
        other => other.clone(),
    }
}

/// The function, and the constants that it looks for behind its arguments.
fn function(
    aggregate: &Aggregate,
    name: &str,
    written: &[Arc<str>],
) -> Result<(Arc<AggregateUDF>, Vec<ScalarValue>)> {
    let base = match aggregate.name.as_str() {
        best @ ("argMin" | "argMax") => {
            return Ok((combined::by_best(best, named("any")?, best == "argMax"), Vec::new()));
        }
        other => named(other)?,
    };
    // Those of -Resample stand last, and are its own.
    let own = if aggregate.combinator == Some("Resample") {
        written.len().saturating_sub(3)
    } else {
        written.len()
    };
    let (written, bounds) = written.split_at(own);
    let constants = written.iter().map(|constant| constant_of(constant)).collect::<Result<Vec<_>>>()?;
    let (base, mut behind) = match own::with_parameters(&base, written) {
        Some(own) => (own, Vec::new()),
        None => (base, constants),
    };
    if aggregate.name == "groupConcat" && behind.is_empty() {
        behind.push(ScalarValue::Utf8View(Some(String::new())));
    }
    match aggregate.combinator {
        None => Ok((base, behind)),
        Some(combinator) => {
            let bounds: Vec<&str> = bounds.iter().map(AsRef::as_ref).collect();
            Ok((combined::over(name, combinator, base, behind.len(), &bounds)?, behind))
        }
    }
}

/// `0.5`, `3` and `'a'` as values.
fn constant_of(written: &str) -> Result<ScalarValue> {
    if let Some(text) = quoted_text(written) {
        return Ok(ScalarValue::Utf8View(Some(text)));
    }
    if let Ok(number) = written.parse::<i64>() {
        return Ok(ScalarValue::Int64(Some(number)));
    }
    match written.parse::<f64>() {
        Ok(number) => Ok(ScalarValue::Float64(Some(number))),
        Err(_) => {
            let message = format!("parameter {written} of an aggregate function is not a constant");
            Err(failed(ErrorCode::BAD_ARGUMENTS, message))
        }
    }
}

/// The type of what different values are counted of, where it is not a single plain value.
fn counted_as_bytes(aggregate: &Aggregate, given: &[ColumnType]) -> Option<ColumnType> {
    if aggregate.combinator.is_some() || !(aggregate.name == "uniqExact" || is_count_of_different(aggregate))
    {
        return None;
    }
    match given {
        [one] => is_counted_as_bytes(&to_data_type(one)).then(|| one.clone()),
        several => {
            let element = |column_type: &ColumnType| TupleElement {
                name: None,
                column_type: column_type.value_type().clone(),
            };
            Some(ColumnType::Tuple(several.iter().map(element).collect()))
        }
    }
}

fn is_count_of_different(aggregate: &Aggregate) -> bool {
    aggregate.name == "count" && aggregate.distinct
}

/// The types that the function is given instead of those there are.
fn taken(
    aggregate: &Aggregate,
    udaf: &AggregateUDF,
    given: &[ColumnType],
    as_bytes: bool,
) -> Result<Vec<ColumnType>> {
    if let Some(bare) = given.iter().find(|column_type| **column_type == ColumnType::Nothing) {
        let message = format!("illegal type {bare} of argument for a state of {}", aggregate.name);
        return Err(failed(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    if as_bytes {
        return Ok(vec![ColumnType::String.nullable()]);
    }
    check_arguments(udaf, given)?;
    let floats = takes_floats(udaf);
    let as_text = |column_type: &ColumnType| aggregate.name == "groupConcat" && !column_type.is_string();
    let taken = given.iter().map(|column_type| {
        let value = match column_type {
            wide if floats && wide.is_wide_integer() => ColumnType::Float64,
            other if as_text(other) => ColumnType::String,
            other => return other.clone(),
        };
        if column_type.is_nullable() { value.nullable() } else { value }
    });
    let mut taken: Vec<ColumnType> = taken.collect();
    // Where no row has a key there is no value, which is NULL.
    if let ("argMin" | "argMax", [value, by]) = (aggregate.name.as_str(), taken.as_mut_slice())
        && by.is_nullable()
        && !matches!(value, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_))
    {
        *value = value.clone().nullable();
    }
    Ok(taken)
}

fn factory(
    udaf: &Arc<AggregateUDF>,
    name: &str,
    taken: &[ColumnType],
    behind: &[ScalarValue],
    is_distinct: bool,
) -> Result<Factory> {
    let mut fields: Vec<FieldRef> =
        (1..).zip(taken).map(|(at, taken)| Arc::new(to_field(&format!("x{at}"), taken))).collect();
    fields.extend(behind.iter().map(|value| Arc::new(Field::new("parameter", value.data_type(), true))));
    let layouts: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
    let wanted = udaf.inner().coerce_types(&layouts)?;
    let fields: Vec<FieldRef> = fields
        .into_iter()
        .zip(wanted)
        .map(|(field, wanted)| match *field.data_type() == wanted {
            true => field,
            false => Arc::new(Field::new(field.name(), wanted, field.is_nullable())),
        })
        .collect();
    let mut exprs: Vec<Arc<dyn PhysicalExpr>> = Vec::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate().take(taken.len()) {
        exprs.push(Arc::new(Column::new(field.name(), at)));
    }
    exprs.extend(behind.iter().map(|value| Arc::new(Literal::new(value.clone())) as Arc<dyn PhysicalExpr>));
    Ok(Factory {
        inner: Arc::clone(udaf),
        schema: Schema::new(fields.clone()),
        return_field: udaf.return_field(&fields)?,
        fields,
        exprs,
        name: name.to_owned(),
        ignore_nulls: false,
        is_distinct,
    })
}

/// The rows of which a condition is neither 0 nor NULL.
fn truth(condition: &ArrayRef) -> Result<BooleanArray> {
    let flags = match condition.data_type() {
        DataType::Boolean => Arc::clone(condition),
        _ => cast(condition, &DataType::Boolean)?,
    };
    Ok(certain(flags.as_boolean()))
}

/// A filter for which NULL does not pass.
pub(super) fn certain(filter: &BooleanArray) -> BooleanArray {
    if filter.null_count() > 0 { prep_null_mask_filter(filter) } else { filter.clone() }
}

/// Columns as one of tuples, where all are there.
fn packed(columns: Vec<ArrayRef>, tuple: &ColumnType) -> Result<ArrayRef> {
    let DataType::Struct(fields) = to_data_type(tuple) else { return Ok(Arc::clone(&columns[0])) };
    let rows = columns.first().map_or(0, |column| column.len());
    let laid_out = columns.into_iter().zip(&fields).map(|(column, field)| {
        let column =
            if column.data_type() == field.data_type() { column } else { cast(&column, field.data_type())? };
        // Rows that lack one are left out by the filter: what stands there does not matter.
        let data = column.to_data().into_builder().nulls(None).build()?;
        Ok(arrow::array::make_array(data))
    });
    let laid_out = laid_out.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(fields, laid_out, None, rows)?))
}

/// The rows that count of all columns.
pub(super) fn counting(columns: Vec<ArrayRef>, counts: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
    let Some(counts) = counts else { return Ok(columns) };
    Ok(columns.iter().map(|column| filter(column, counts)).collect::<Result<Vec<_>, _>>()?)
}
