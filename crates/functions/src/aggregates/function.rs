//! An aggregate function as a kernel over the rows of one group.
//!
//! Invariant: a kernel sees the columns of all rows of a group, without rows where an argument is NULL, and gives one
//! value; so it does not matter in which pieces the rows came. Must not know: who collects them.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::filter;
use model::saturating::u64_of;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

use crate::cast::default_array;
use crate::error::FunctionError;
use crate::kernel::call::{Arg, Call, SessionValues};
use crate::kernel::registry::FunctionDoc;

/// A constant in the first parentheses of `f(10)(x)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    pub text: String,
    /// Written in quotes.
    pub is_text: bool,
}

impl Parameter {
    fn number(&self) -> Option<f64> {
        if self.is_text { None } else { self.text.parse().ok() }
    }
}

/// The parameters of a call.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    pub(super) all: &'a [Parameter],
    /// Whose they are.
    pub function: &'a str,
}

impl Parameters<'_> {
    fn wrong(&self, index: usize, wanted: &str) -> FunctionError {
        let message =
            format!("parameter {} of aggregate function {} must be {wanted}", index + 1, self.function);
        FunctionError::new(ErrorCode::BAD_ARGUMENTS, message)
    }

    /// All of them as they are written, and whether in quotes.
    pub fn written(&self) -> impl Iterator<Item = (&str, bool)> {
        self.all.iter().map(|parameter| (parameter.text.as_str(), parameter.is_text))
    }

    /// Whether the parameter is written without a point.
    pub fn is_whole(&self, index: usize) -> bool {
        self.all
            .get(index)
            .is_some_and(|parameter| !parameter.is_text && parameter.text.parse::<i128>().is_ok())
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// There is another value.
    pub fn count(&self, index: usize) -> Result<Option<usize>, FunctionError> {
        let Some(parameter) = self.all.get(index) else { return Ok(None) };
        let count = if parameter.is_text { None } else { parameter.text.parse().ok() };
        count.map(Some).ok_or_else(|| self.wrong(index, "a whole number"))
    }

    /// A number.
    ///
    /// # Errors
    /// There is another value.
    pub fn float(&self, index: usize) -> Result<Option<f64>, FunctionError> {
        let Some(parameter) = self.all.get(index) else { return Ok(None) };
        parameter.number().map(Some).ok_or_else(|| self.wrong(index, "a number"))
    }

    /// A text.
    ///
    /// # Errors
    /// There is another value.
    pub fn text(&self, index: usize) -> Result<Option<&str>, FunctionError> {
        let Some(parameter) = self.all.get(index) else { return Ok(None) };
        parameter.is_text.then_some(Some(parameter.text.as_str())).ok_or_else(|| self.wrong(index, "a text"))
    }
}

/// The rows of one group.
#[derive(Debug)]
pub struct Group<'a> {
    /// The arguments without rows where one is NULL, and the type of the result.
    pub call: Call<'a>,
    pub parameters: Parameters<'a>,
}

pub(super) type Rule =
    Arc<dyn Fn(&[ColumnType], Parameters<'_>) -> Result<ColumnType, FunctionError> + Send + Sync>;
pub(super) type Kernel = Arc<dyn Fn(&Group<'_>) -> Result<ArrayRef, FunctionError> + Send + Sync>;
/// Fewer rows that give the same value.
pub(super) type Compaction = fn(&Group<'_>) -> Result<Vec<ArrayRef>, FunctionError>;

/// One aggregate function.
#[derive(Clone)]
pub struct AggregateFunction {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub case_insensitive: bool,
    pub doc: FunctionDoc,
    arguments: RangeInclusive<usize>,
    parameters: RangeInclusive<usize>,
    /// The result is not Nullable where an argument is.
    never_null: bool,
    rule: Rule,
    kernel: Kernel,
    compaction: Option<Compaction>,
}

impl std::fmt::Debug for AggregateFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AggregateFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl AggregateFunction {
    /// A function of so many arguments: its type rule, and the kernel over the rows of a group.
    pub fn new(
        name: &'static str,
        arguments: RangeInclusive<usize>,
        rule: impl Fn(&[ColumnType], Parameters<'_>) -> Result<ColumnType, FunctionError> + Send + Sync + 'static,
        kernel: impl Fn(&Group<'_>) -> Result<ArrayRef, FunctionError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            case_insensitive: false,
            doc: FunctionDoc { signature: "", description: "", example: "" },
            arguments,
            parameters: 0..=0,
            never_null: false,
            rule: Arc::new(rule),
            kernel: Arc::new(kernel),
            compaction: None,
        }
    }

    /// What the reference says of it.
    pub fn doc(self, signature: &'static str, description: &'static str, example: &'static str) -> Self {
        Self { doc: FunctionDoc { signature, description, example }, ..self }
    }

    /// Other names.
    pub fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// How many parameters it takes; none unless said.
    pub fn parameters(self, parameters: RangeInclusive<usize>) -> Self {
        Self { parameters, ..self }
    }

    /// The result is not Nullable where an argument is.
    pub fn never_null(self) -> Self {
        Self { never_null: true, ..self }
    }

    /// How rows become fewer that give the same value.
    pub fn compacted(self, compaction: Compaction) -> Self {
        Self { compaction: Some(compaction), ..self }
    }

    /// The type of the result, or why these arguments and parameters do not fit.
    pub fn result_type(
        &self,
        types: &[ColumnType],
        parameters: &[Parameter],
    ) -> Result<ColumnType, FunctionError> {
        let check = |allowed: &RangeInclusive<usize>, count: usize, what: &str| {
            if allowed.contains(&count) {
                return Ok(());
            }
            let message = format!("aggregate function {} does not take {count} {what}", self.name);
            Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
        };
        check(&self.arguments, types.len(), "arguments")?;
        check(&self.parameters, parameters.len(), "parameters")?;
        let plain: Vec<ColumnType> = types.iter().map(|t| t.value_type().clone()).collect();
        let result = (self.rule)(&plain, Parameters { all: parameters, function: self.name })?;
        let nests = matches!(result, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
        let nullable = types.iter().any(ColumnType::is_nullable) && !nests && !self.never_null;
        Ok(if nullable { result.nullable() } else { result })
    }

    /// The rows that count: those without a NULL, in the layout of plain types.
    pub fn rows(&self, columns: &[ArrayRef], types: &[ColumnType]) -> Result<Vec<ArrayRef>, FunctionError> {
        let mut nulls = None;
        for column in columns {
            nulls = arrow::buffer::NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref());
        }
        let mut rows = Vec::with_capacity(columns.len());
        for (column, column_type) in columns.iter().zip(types) {
            let wanted = to_data_type(column_type.value_type());
            let column = match column.data_type() == &wanted {
                true => Arc::clone(column),
                false => arrow::compute::cast(column, &wanted)?,
            };
            rows.push(match nulls.as_ref().filter(|nulls| nulls.null_count() > 0) {
                Some(nulls) => {
                    filter(&column, &arrow::array::BooleanArray::new(nulls.inner().clone(), None))?
                }
                None => column,
            });
        }
        Ok(rows)
    }

    /// Whether [`Self::compact`] makes fewer rows.
    pub fn compacts(&self) -> bool {
        self.compaction.is_some()
    }

    /// Fewer rows that give the same value.
    pub fn compact(
        &self,
        columns: &[ArrayRef],
        types: &[ColumnType],
        parameters: &[Parameter],
    ) -> Result<Vec<ArrayRef>, FunctionError> {
        match self.compaction {
            Some(compaction) => self.with_group(columns, types, parameters, &ColumnType::Nothing, compaction),
            None => Ok(columns.to_vec()),
        }
    }

    /// The value of a group, as one row of the result's type.
    pub fn evaluate(
        &self,
        columns: &[ArrayRef],
        types: &[ColumnType],
        parameters: &[Parameter],
        result: &ColumnType,
    ) -> Result<ArrayRef, FunctionError> {
        if result.is_nullable() && columns.first().is_none_or(|column| column.is_empty()) {
            return Ok(default_array(result, 1));
        }
        let made =
            self.with_group(columns, types, parameters, result.value_type(), |group| (self.kernel)(group))?;
        let wanted = to_data_type(result);
        Ok(if made.data_type() == &wanted { made } else { arrow::compute::cast(&made, &wanted)? })
    }

    fn with_group<R>(
        &self,
        columns: &[ArrayRef],
        types: &[ColumnType],
        parameters: &[Parameter],
        result: &ColumnType,
        run: impl FnOnce(&Group<'_>) -> Result<R, FunctionError>,
    ) -> Result<R, FunctionError> {
        let arg = |(array, column_type): (&ArrayRef, &ColumnType)| Arg {
            array: Arc::clone(array),
            is_constant: false,
            column_type: column_type.value_type().clone(),
        };
        let args: Vec<Arg> = columns.iter().zip(types).map(arg).collect();
        let session = SessionValues::default();
        let rows = columns.first().map_or(0, |column| column.len());
        let call = Call::new(&args, rows, result, &session);
        run(&Group { call, parameters: Parameters { all: parameters, function: self.name } })
    }
}

/// A list of the rows at these places, as one value.
pub(super) fn list_at(
    element: &ColumnType,
    values: &ArrayRef,
    places: &[usize],
) -> Result<ArrayRef, FunctionError> {
    let indices: Vec<u64> = places.iter().map(|place| u64_of(*place)).collect();
    let taken = arrow::compute::take(values, &arrow::array::UInt64Array::from(indices), None)?;
    Ok(crate::columns::container::list_of(
        element,
        crate::columns::container::offsets_of([places.len()]),
        taken,
        None,
    )?)
}

/// The wrong type of an argument.
pub fn illegal(column_type: &ColumnType, function: &str) -> FunctionError {
    let message = format!("illegal type {column_type} of argument for aggregate function {function}");
    FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message)
}

/// An array of a type.
pub fn array_of(element: ColumnType) -> ColumnType {
    ColumnType::Array(Box::new(element))
}
