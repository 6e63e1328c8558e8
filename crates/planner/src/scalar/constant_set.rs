//! `x IN (long list of constants)`: the list is read into one set, which a function of its own looks into.
//!
//! Invariant: what is in the set is what `coercion::in_list` would compare with, value by value; only types
//! and numbers of values decide who does it. The planner sees one call, however many values there are, and the bounds of
//! whole numbers beside it, so that statistics still prune.

use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StringViewArray, UInt64Array};
use arrow::compute::{cast, filter, is_not_null, max, min};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type, UInt64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use model::ColumnType;
use sql::lexer::constants::{Constant, rows};

use super::call_name::call_name;
use aggregates::typing::{self, literal_array, type_of, type_of_literal};

/// The call that holds a list, as text, until its set is made.
pub const CONSTANTS: &str = "_constants";

/// The list that an element of IN is.
pub(crate) fn list_of(item: &Expr) -> Option<&str> {
    match item {
        Expr::ScalarFunction(call) if call.func.name() == CONSTANTS => match call.args.as_slice() {
            [Expr::Literal(list, _)] => list.try_as_str().flatten(),
            _ => None,
        },
        Expr::Alias(alias) => list_of(&alias.expr),
        _ => None,
    }
}

/// The rows of a list as expressions: literals, of which `tuple` makes tuples.
pub(crate) fn expressions(list: &str, tuple: impl Fn(Vec<Expr>) -> Result<Expr>) -> Result<Vec<Expr>> {
    let (mut rows, mut row, mut out) = (rows(list), Vec::new(), Vec::new());
    while rows.next_into(&mut row) {
        let mut cells = row.iter().map(literal).collect::<Result<Vec<Expr>>>()?;
        match cells.pop() {
            Some(one) if cells.is_empty() => out.push(one),
            Some(last) => {
                cells.push(last);
                out.push(tuple(cells)?);
            }
            None => {}
        }
    }
    Ok(out)
}

/// As the rules make the literals of a text.
fn literal(constant: &Constant<'_>) -> Result<Expr> {
    let value = match constant {
        Constant::Number(number) => match i64::try_from(*number) {
            Ok(number) => ScalarValue::Int64(Some(number)),
            Err(_) => ScalarValue::UInt64(u64::try_from(*number).ok()),
        },
        Constant::Text(text) => ScalarValue::Utf8View(Some((*text).to_owned())),
    };
    let column_type = type_of_literal(&value, &Field::new("", value.data_type(), false));
    typing::literal(&literal_array(&value, &column_type)?, &column_type)
}

/// The test of these expressions, one for each cell of a row; `None` where their types need more care than a set has.
pub(crate) fn test(exprs: &[Expr], list: &str, schema: &DFSchema) -> Result<Option<Expr>> {
    let mut types = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let field = expr.to_field(schema)?.1;
        let column_type = type_of(expr, schema)?;
        let is_integer = column_type.value_type().is_integer() && !column_type.value_type().is_wide_integer();
        let is_plain = is_integer || *column_type.value_type() == ColumnType::String;
        // A tuple with a NULL in it is neither in a set nor not.
        if !is_plain || (exprs.len() > 1 && field.is_nullable()) {
            return Ok(None);
        }
        types.push(field.data_type().clone());
    }
    let Some(columns) = columns_of(list, &types)? else { return Ok(None) };
    let bounds = match (exprs, columns.as_slice()) {
        ([column @ Expr::Column(_)], [values]) => bounds_of(column, values)?,
        _ => None,
    };
    let set = ConstantSet::new(&types, &columns)?;
    let call = ScalarFunction::new_udf(Arc::new(ScalarUDF::from(set)), exprs.to_vec());
    let test = Expr::ScalarFunction(call);
    Ok(Some(match bounds {
        Some(bounds) => bounds.and(test),
        None => test,
    }))
}

/// The cells of the rows that these types can hold. `None`: a kind of constant that does not belong to its type.
fn columns_of(list: &str, types: &[DataType]) -> Result<Option<Vec<ArrayRef>>> {
    let (mut rows, mut row) = (rows(list), Vec::new());
    let mut cells: Vec<Vec<Constant<'_>>> = types.iter().map(|_| Vec::new()).collect();
    while rows.next_into(&mut row) {
        if row.len() != types.len() {
            return Ok(None);
        }
        cells.iter_mut().zip(&row).for_each(|(column, cell)| column.push(*cell));
    }
    let mut columns = Vec::with_capacity(types.len());
    for (cells, data_type) in cells.iter().zip(types) {
        let Some(column) = column_of(cells, data_type)? else { return Ok(None) };
        columns.push(column);
    }
    // What a type cannot hold became NULL, and equals nothing.
    let mut held: Option<BooleanArray> = None;
    for column in &columns {
        let fits = is_not_null(column)?;
        held = Some(match held {
            Some(held) => arrow::compute::and(&held, &fits)?,
            None => fits,
        });
    }
    let Some(held) = held else { return Ok(None) };
    Ok(Some(columns.iter().map(|column| filter(column, &held)).collect::<Result<_, _>>()?))
}

fn column_of(cells: &[Constant<'_>], data_type: &DataType) -> Result<Option<ArrayRef>> {
    let array: ArrayRef = if data_type.is_integer() {
        let numbers = cells.iter().map(|cell| match cell {
            Constant::Number(number) => Some(*number),
            Constant::Text(_) => None,
        });
        if cells.iter().any(|cell| matches!(cell, Constant::Text(_))) {
            return Ok(None);
        }
        // Numbers out of range become NULL, here or below.
        match data_type {
            DataType::UInt64 => {
                let fitting = numbers.map(|number| number.and_then(|number| u64::try_from(number).ok()));
                Arc::new(fitting.collect::<UInt64Array>())
            }
            _ => {
                let fitting = numbers.map(|number| number.and_then(|number| i64::try_from(number).ok()));
                Arc::new(fitting.collect::<Int64Array>())
            }
        }
    } else if matches!(data_type, DataType::Utf8View | DataType::Utf8) {
        let texts = cells.iter().map(|cell| match cell {
            Constant::Text(text) => Some(*text),
            Constant::Number(_) => None,
        });
        if cells.iter().any(|cell| matches!(cell, Constant::Number(_))) {
            return Ok(None);
        }
        Arc::new(texts.collect::<StringViewArray>())
    } else {
        return Ok(None);
    };
    Ok(Some(cast(&array, data_type)?))
}

fn bounds_of(column: &Expr, values: &ArrayRef) -> Result<Option<Expr>> {
    if !values.data_type().is_integer() || values.is_empty() {
        return Ok(None);
    }
    let (low, high) = match values.as_primitive_opt::<UInt64Type>() {
        Some(numbers) => (ScalarValue::UInt64(min(numbers)), ScalarValue::UInt64(max(numbers))),
        None => {
            let numbers = cast(values, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            let bound = |number: Option<i64>| ScalarValue::Int64(number).cast_to(values.data_type());
            (bound(min(numbers))?, bound(max(numbers))?)
        }
    };
    let side = |value| Expr::Literal(value, None);
    Ok(Some(column.clone().gt_eq(side(low)).and(column.clone().lt_eq(side(high)))))
}

/// A set of rows of constants.
struct ConstantSet {
    signature: Signature,
    converter: RowConverter,
    rows: Arc<HashSet<Box<[u8]>>>,
}

impl ConstantSet {
    fn new(types: &[DataType], columns: &[ArrayRef]) -> Result<Self> {
        let converter = RowConverter::new(types.iter().cloned().map(SortField::new).collect())?;
        let encoded = converter.convert_columns(columns)?;
        let rows = encoded.iter().map(|row| Box::from(row.data())).collect();
        let signature = Signature::any(types.len(), Volatility::Immutable);
        Ok(Self { signature, converter, rows: Arc::new(rows) })
    }
}

impl fmt::Debug for ConstantSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConstantSet({} rows)", self.rows.len())
    }
}

impl PartialEq for ConstantSet {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows)
    }
}

impl Eq for ConstantSet {}

impl Hash for ConstantSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.rows).hash(state);
    }
}

impl ScalarUDFImpl for ConstantSet {
    fn name(&self) -> &str {
        "in"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new("in", DataType::Boolean, nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays = args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let encoded = self.converter.convert_columns(&arrays)?;
        let nulls = arrays.first().and_then(|array| array.logical_nulls());
        let found = encoded.iter().map(|row| self.rows.contains(row.data()));
        let found = BooleanArray::new(found.collect::<Vec<bool>>().into(), nulls);
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(Arc::new(found)),
        })
    }
}

/// [`CONSTANTS`]: planned, never run.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Constants {
    signature: Signature,
}

impl Default for Constants {
    fn default() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Constants {
    fn name(&self) -> &str {
        CONSTANTS
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        call_name(CONSTANTS, args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("a list of constants has no value of its own")
    }
}
