//! Our types of Arrow fields, literals and expressions.
//!
//! Invariant: a Boolean that carries none of our types came from a predicate (`a = b`, `NOT c`), which in ClickHouse
//! is a UInt8; a literal that carries none is text of the statement and has the narrowest type that holds it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, Expr, ExprSchemable};
use functions::{Arg, ArgType, CastMode, CastSettings, FunctionError, SessionValues};
use model::type_arrow::{EXTENSION_NAME_KEY, from_field, to_data_type, to_field};
use model::{ColumnType, ErrorCode};

/// A function's error as DataFusion carries it; the engine finds it again inside.
pub fn external(error: impl Into<FunctionError>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}

/// The other way: a function's error that DataFusion carried, or one of its own.
pub(crate) fn internal(error: DataFusionError) -> FunctionError {
    if let DataFusionError::External(inner) = &error
        && let Some(own) = inner.downcast_ref::<FunctionError>()
    {
        return own.clone();
    }
    FunctionError::new(ErrorCode::LOGICAL_ERROR, error.to_string())
}

/// Whether the field says which of our types it has; a literal that nobody looked at yet does not.
pub fn is_attached(field: &Field) -> bool {
    field.metadata().contains_key(EXTENSION_NAME_KEY)
}

/// The type of a column or of a computed value.
pub fn type_of_field(field: &Field) -> ColumnType {
    if *field.data_type() == DataType::Boolean && !is_attached(field) {
        return if field.is_nullable() { ColumnType::UInt8.nullable() } else { ColumnType::UInt8 };
    }
    from_field(field)
}

/// The type of a literal.
pub fn type_of_literal(value: &ScalarValue, field: &Field) -> ColumnType {
    if is_attached(field) {
        return from_field(field);
    }
    match value {
        ScalarValue::Int64(Some(number)) => signed(*number),
        ScalarValue::UInt64(Some(number)) => unsigned(*number),
        _ => type_of_field(field),
    }
}

fn signed(number: i64) -> ColumnType {
    match u64::try_from(number) {
        Ok(number) => unsigned(number),
        Err(_) if i8::try_from(number).is_ok() => ColumnType::Int8,
        Err(_) if i16::try_from(number).is_ok() => ColumnType::Int16,
        Err(_) if i32::try_from(number).is_ok() => ColumnType::Int32,
        Err(_) => ColumnType::Int64,
    }
}

fn unsigned(number: u64) -> ColumnType {
    match number {
        0..=0xFF => ColumnType::UInt8,
        0x100..=0xFFFF => ColumnType::UInt16,
        0x1_0000..=0xFFFF_FFFF => ColumnType::UInt32,
        _ => ColumnType::UInt64,
    }
}

/// The type of an expression over `schema`.
pub fn type_of(expr: &Expr, schema: &DFSchema) -> Result<ColumnType> {
    let field = expr.to_field(schema)?.1;
    Ok(match literal_of(expr) {
        Some(value) => type_of_literal(value, &field),
        None => type_of_field(&field),
    })
}

/// The value of a literal, also behind an alias.
pub fn literal_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        Expr::Alias(alias) => literal_of(&alias.expr),
        _ => None,
    }
}

/// Whether this is a predicate of DataFusion's own: a Boolean that is nobody's column of type Bool.
pub fn is_predicate(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let field = expr.to_field(schema)?.1;
    Ok(*field.data_type() == DataType::Boolean && !is_attached(&field))
}

/// One row of a literal, in the layout of its type.
pub fn literal_array(value: &ScalarValue, column_type: &ColumnType) -> Result<ArrayRef> {
    laid_out(value.to_array()?, column_type)
}

fn laid_out(array: ArrayRef, column_type: &ColumnType) -> Result<ArrayRef> {
    let data_type = to_data_type(column_type);
    if *array.data_type() == data_type { Ok(array) } else { Ok(cast(&array, &data_type)?) }
}

/// How many units of its layout the smallest step of a type is: of a time, whose layout counts thousandths of it or none.
pub fn units_of_step(layout: &DataType, column_type: &ColumnType) -> i64 {
    let digits: u32 = match layout {
        DataType::Timestamp(TimeUnit::Millisecond, _) => 3,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 6,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => 9,
        _ => 0,
    };
    match column_type.value_type() {
        ColumnType::DateTime64 { precision, .. } => 10_i64.pow(digits.saturating_sub(u32::from(*precision))),
        _ => 1,
    }
}

/// Whether these are bytes of a UUID, an address or a wide integer whose type DataFusion forgot, as CASE does: no column
/// and no function of ours has bytes without a type.
pub fn lost_its_type(field: &Field) -> bool {
    matches!(field.data_type(), DataType::FixedSizeBinary(_)) && !is_attached(field)
}

/// What a function's type rule sees of an argument.
pub fn argument_type(field: &Field, constant: Option<&ScalarValue>) -> Result<ArgType> {
    let Some(value) = constant else {
        return Ok(ArgType { column_type: type_of_field(field), constant: None });
    };
    let column_type = type_of_literal(value, field);
    if lost_its_type(field) {
        return Ok(ArgType { column_type, constant: None });
    }
    let constant = Some(literal_array(value, &column_type)?);
    Ok(ArgType { column_type, constant })
}

/// What a function's kernel sees of an argument.
pub fn argument(value: &ColumnarValue, field: &Field) -> Result<Arg> {
    match value {
        ColumnarValue::Scalar(scalar) => {
            let column_type = type_of_literal(scalar, field);
            Ok(Arg { array: literal_array(scalar, &column_type)?, is_constant: true, column_type })
        }
        ColumnarValue::Array(array) => {
            let column_type = type_of_field(field);
            Ok(Arg { array: laid_out(Arc::clone(array), &column_type)?, is_constant: false, column_type })
        }
    }
}

/// The first row of an array as a literal of this type, which it carries unless it can be seen from the value.
pub fn literal(array: &ArrayRef, column_type: &ColumnType) -> Result<Expr> {
    let value = scalar_at(array, 0)?;
    let bare = Field::new("", value.data_type(), value.is_null());
    if type_of_literal(&value, &bare) == *column_type {
        return Ok(Expr::Literal(value, None));
    }
    let metadata = FieldMetadata::from(to_field("", column_type).metadata());
    Ok(Expr::Literal(value, Some(metadata)))
}

/// One row as a scalar. Nested ones keep the types that their inner fields carry.
pub fn scalar_at(array: &ArrayRef, row: usize) -> Result<ScalarValue> {
    let one = array.slice(row, 1);
    Ok(match array.data_type() {
        DataType::List(_) => ScalarValue::List(Arc::new(one.as_list().clone())),
        DataType::Map(..) => ScalarValue::Map(Arc::new(one.as_map().clone())),
        DataType::Struct(_) => ScalarValue::Struct(Arc::new(one.as_struct().clone())),
        _ => ScalarValue::try_from_array(array, row)?,
    })
}

/// A literal's value as another type.
pub fn convert(
    value: &ScalarValue,
    from: &ColumnType,
    to: &ColumnType,
    mode: CastMode,
    session: &SessionValues,
) -> Result<ArrayRef> {
    let settings = CastSettings::new(session.time_zone, session.now_ns);
    functions::cast_column_with(&literal_array(value, from)?, from, to, mode, &settings).map_err(external)
}
