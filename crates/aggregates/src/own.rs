//! The aggregate functions of `functions::aggregates` as DataFusion's: the rows of a group are collected, the kernel runs
//! once at the end.
//!
//! Invariant: a call's parameters are part of the function, not arguments: the rewrite writes them as one text in front,
//! [`bound`] takes it off again. Memory is what the rows of a group take, less where the function compacts them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility};
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Parameter};
use functions::allowance::reserve;
use model::type_arrow::{from_field, to_data_type, to_field};
use model::type_name::quoted_text;
use model::{ColumnType, ErrorCode};

use crate::spare::without_spare;
use crate::typing::{external, is_attached, literal_of, scalar_at, type_of_field};

/// Rows of a group collected before they are compacted for the first time.
const COMPACT_ROWS_MIN: usize = 65_536;

/// What a kernel makes of the rows of a group while it runs: they are put together, converted, and looked up in tables.
const COPIES: usize = 3;

/// Ends a parameter in the text that the rewrite writes; no literal has it.
pub const PARAMETER_END: char = '\u{1f}';

/// One function with its parameters.
#[derive(Clone, Debug)]
pub(super) struct Own {
    function: &'static AggregateFunction,
    parameters: Vec<Parameter>,
    /// With the parameters, so that two calls that differ in them are two columns.
    name: String,
    aliases: Vec<String>,
    signature: Signature,
}

impl Own {
    /// The function as it is registered, without parameters.
    pub(super) fn new(function: &'static AggregateFunction) -> Self {
        let mut aliases: Vec<String> = function.aliases.iter().map(|alias| (*alias).to_owned()).collect();
        aliases.push(function.name.to_owned());
        aliases.extend(aliases.clone().iter().map(|name| name.to_ascii_lowercase()));
        aliases.sort_unstable();
        aliases.dedup();
        aliases.retain(|alias| alias != function.name);
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { function, parameters: vec![], name: function.name.to_owned(), aliases, signature }
    }

    fn with(&self, parameters: Vec<Parameter>) -> Self {
        let shown: Vec<&str> = parameters.iter().map(|parameter| parameter.text.as_str()).collect();
        let name = match shown.is_empty() {
            true => self.function.name.to_owned(),
            false => format!("{}({})", self.function.name, shown.join(", ")),
        };
        Self { parameters, name, ..self.clone() }
    }
}

/// The function of a call with its parameters, which are taken off the arguments; `None` for other functions.
pub fn bound(udaf: &AggregateUDF, args: &mut Vec<Expr>) -> Option<Arc<AggregateUDF>> {
    let own = udaf.inner().downcast_ref::<Own>()?;
    let written = match args.first().and_then(literal_of) {
        Some(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text))) => text.clone(),
        _ => return None,
    };
    if !written.ends_with(PARAMETER_END) {
        return None;
    }
    args.remove(0);
    let parameters = written.split_terminator(PARAMETER_END).skip(1).filter_map(|part| {
        let mut chars = part.chars();
        let is_text = chars.next()? == '\'';
        Some(Parameter { text: chars.as_str().to_owned(), is_text })
    });
    Some(Arc::new(AggregateUDF::from(own.with(parameters.collect()))))
}

/// The function with these constants as its parameters, as they are written in a type; `None` for other functions.
pub(super) fn with_parameters(udaf: &AggregateUDF, written: &[Arc<str>]) -> Option<Arc<AggregateUDF>> {
    let own = udaf.inner().downcast_ref::<Own>()?;
    let parameter = |constant: &Arc<str>| match quoted_text(constant) {
        Some(text) => Parameter { text, is_text: true },
        None => Parameter { text: constant.to_string(), is_text: false },
    };
    Some(Arc::new(AggregateUDF::from(own.with(written.iter().map(parameter).collect()))))
}

impl PartialEq for Own {
    fn eq(&self, other: &Self) -> bool {
        self.function.name == other.function.name && self.parameters == other.parameters
    }
}

impl Eq for Own {}

impl Hash for Own {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

fn types_of(fields: &[FieldRef]) -> Vec<ColumnType> {
    fields.iter().map(|field| type_of_field(field)).collect()
}

/// As in [`types_of`], but for whole numbers of the statement's text, which are small.
fn type_of_number(field: &Field) -> ColumnType {
    let is_bare = *field.data_type() == DataType::Int64 && !is_attached(field);
    if is_bare { ColumnType::UInt8 } else { type_of_field(field) }
}

/// The field of the elements of a state.
fn element(column_type: &ColumnType) -> FieldRef {
    Arc::new(Field::new_list_field(to_data_type(column_type.value_type()), true))
}

impl AggregateUDFImpl for Own {
    fn name(&self) -> &str {
        &self.name
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
        let result_of = |types: &[ColumnType]| self.function.result_type(types, &self.parameters);
        // The plan asks before literals have their types, and again when they do.
        let guessed = || result_of(&arg_fields.iter().map(|field| type_of_number(field)).collect::<Vec<_>>());
        let result =
            result_of(&types_of(arg_fields)).or_else(|error| guessed().map_err(|_| external(error)))?;
        Ok(Arc::new(to_field(&self.name, &result)))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            let message = format!("DISTINCT in aggregate function {} is not supported", self.function.name);
            return Err(external(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message)));
        }
        Ok(Box::new(Rows {
            function: self.function,
            parameters: self.parameters.clone(),
            types: types_of(args.expr_fields),
            result: from_field(&args.return_field),
            batches: vec![],
            rows: 0,
            bytes: 0,
            compact_at: COMPACT_ROWS_MIN,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let state = |(index, field): (usize, &FieldRef)| {
            let list = DataType::List(element(&type_of_field(field)));
            Arc::new(Field::new(format!("{}[{index}]", args.name), list, true))
        };
        Ok(args.input_fields.iter().enumerate().map(state).collect())
    }
}

/// The rows of one group.
#[derive(Debug)]
struct Rows {
    function: &'static AggregateFunction,
    parameters: Vec<Parameter>,
    types: Vec<ColumnType>,
    result: ColumnType,
    batches: Vec<Vec<ArrayRef>>,
    rows: usize,
    bytes: usize,
    /// Rows at which they are compacted again.
    compact_at: usize,
}

/// The bytes of what an array shows.
pub(super) fn size_of_array(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

impl Rows {
    fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let columns = self.function.rows(columns, &self.types).map_err(external)?;
        let rows = columns.first().map_or(0, |column| column.len());
        if rows == 0 {
            return Ok(());
        }
        let columns: Vec<ArrayRef> = columns.iter().map(without_spare).collect();
        self.rows += rows;
        self.bytes += columns.iter().map(size_of_array).sum::<usize>();
        self.batches.push(columns);
        if self.function.compacts() && self.rows >= self.compact_at {
            let joined = self.columns()?;
            let fewer = self.function.compact(&joined, &self.types, &self.parameters).map_err(external)?;
            self.rows = fewer.first().map_or(0, |column| column.len());
            self.bytes = fewer.iter().map(size_of_array).sum();
            self.batches = vec![fewer];
            self.compact_at = COMPACT_ROWS_MIN.max(self.rows * 2);
        }
        Ok(())
    }

    /// All rows as one array for each argument.
    fn columns(&self) -> Result<Vec<ArrayRef>> {
        let _copied = reserve(self.function.name, self.bytes.saturating_mul(COPIES)).map_err(external)?;
        let column = |(index, column_type): (usize, &ColumnType)| {
            let parts: Vec<&dyn Array> = self.batches.iter().map(|batch| batch[index].as_ref()).collect();
            match parts.is_empty() {
                true => Ok(arrow::array::new_empty_array(&to_data_type(column_type.value_type()))),
                false => Ok(concat(&parts)?),
            }
        };
        self.types.iter().enumerate().map(column).collect()
    }
}

impl Accumulator for Rows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let columns = self.columns()?;
        let value = self
            .function
            .evaluate(&columns, &self.types, &self.parameters, &self.result)
            .map_err(external)?;
        scalar_at(&value, 0)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.bytes
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let list = |(column, column_type): (ArrayRef, &ColumnType)| {
            let offsets = OffsetBuffer::from_lengths([column.len()]);
            Ok(ScalarValue::List(Arc::new(ListArray::try_new(element(column_type), offsets, column, None)?)))
        };
        self.columns()?.into_iter().zip(&self.types).map(list).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |state| state.len());
        for row in 0..rows {
            let columns: Vec<ArrayRef> =
                states.iter().map(|state| state.as_list::<i32>().value(row)).collect();
            self.add(&columns)?;
        }
        Ok(())
    }
}
