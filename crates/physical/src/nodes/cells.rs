//! Values that are compared and stepped through one by one, out of Arrow arrays and back into them.
//!
//! Invariant: a cell counts in the units of its column. What does not fit the column of a filled key is ClickHouse's
//! error 475.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, Result};
use functions::FunctionError;
use model::type_arrow::to_data_type;
use model::{ColumnType, ErrorCode};

/// One value, in the units of its column: days, ticks, hundredths of a Decimal(_, 2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Cell {
    /// Also NaN, which is no value to compare with.
    Null,
    Whole(i128),
    Float(f64),
}

pub(crate) fn invalid(message: impl Into<String>) -> DataFusionError {
    DataFusionError::External(Box::new(FunctionError::new(ErrorCode::INVALID_WITH_FILL_EXPRESSION, message)))
}

pub(crate) fn incompatible(column_type: &ColumnType) -> DataFusionError {
    invalid(format!("a key of type {column_type} cannot be filled WITH FILL with these values"))
}

/// The values of a key.
pub(crate) fn cells_of(array: &ArrayRef, column_type: &ColumnType) -> Result<Vec<Cell>> {
    let each = |is_there: &dyn Fn(usize) -> Option<Cell>| {
        let value =
            |row: usize| if array.is_null(row) { Cell::Null } else { is_there(row).unwrap_or(Cell::Null) };
        (0..array.len()).map(value).collect::<Vec<Cell>>()
    };
    Ok(match array.data_type() {
        DataType::UInt64 => {
            let numbers = array.as_primitive::<UInt64Type>();
            each(&|row| Some(Cell::Whole(i128::from(numbers.value(row)))))
        }
        DataType::Float32 | DataType::Float64 => {
            let floats = cast(array, &DataType::Float64)?;
            let floats = floats.as_primitive::<Float64Type>();
            each(&|row| Some(floats.value(row)).filter(|value| !value.is_nan()).map(Cell::Float))
        }
        DataType::Decimal128(..) => {
            let numbers = array.as_primitive::<Decimal128Type>();
            each(&|row| Some(Cell::Whole(numbers.value(row))))
        }
        DataType::Boolean => return Err(incompatible(column_type)),
        other if other.is_integer() || matches!(other, DataType::Date32 | DataType::Timestamp(..)) => {
            let numbers = cast(array, &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            each(&|row| Some(Cell::Whole(i128::from(numbers.value(row)))))
        }
        _ => return Err(incompatible(column_type)),
    })
}

/// A column of these values; where one is NULL the type's default.
pub(crate) fn array_of(cells: impl Iterator<Item = Cell>, column_type: &ColumnType) -> Result<ArrayRef> {
    let data_type = to_data_type(column_type);
    let nullable = column_type.is_nullable();
    let whole = |cell: Cell| match cell {
        Cell::Whole(value) => Some(value),
        _ if nullable => None,
        _ => Some(0),
    };
    let does_not_fit = || invalid(format!("a value of WITH FILL does not fit into {column_type}"));
    let array: ArrayRef = match &data_type {
        DataType::UInt64 => {
            let numbers = cells.map(whole).map(|value| value.map(u64::try_from).transpose());
            Arc::new(numbers.collect::<Result<UInt64Array, _>>().map_err(|_| does_not_fit())?)
        }
        DataType::Float32 | DataType::Float64 => {
            Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
                Cell::Float(value) => Some(value),
                _ if nullable => None,
                _ => Some(0.0),
            })))
        }
        DataType::Decimal128(precision, scale) => {
            let numbers = Decimal128Array::from_iter(cells.map(whole));
            Arc::new(numbers.with_precision_and_scale(*precision, *scale)?)
        }
        _ => {
            let numbers = cells.map(whole).map(|value| value.map(i64::try_from).transpose());
            Arc::new(numbers.collect::<Result<Int64Array, _>>().map_err(|_| does_not_fit())?)
        }
    };
    let options = arrow::compute::CastOptions { safe: false, ..Default::default() };
    let to = |array: &ArrayRef, wanted: &DataType| {
        arrow::compute::cast_with_options(array, wanted, &options).map_err(|_| does_not_fit())
    };
    match &data_type {
        DataType::Date32 => to(&to(&array, &DataType::Int32)?, &data_type),
        wanted => to(&array, wanted),
    }
}
