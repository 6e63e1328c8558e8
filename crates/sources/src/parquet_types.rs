//! Columns of a Parquet file in our types, and the Arrow layout to decode them into.
//!
//! Only Parquet's own types count; the Arrow schema some writers embed is ignored, as in ClickHouse.
//! Invariant: text that the file does not mark as UTF-8 is decoded as bytes and checked afterwards; the decoder
//! itself checks only marked columns. Must not know: SQL, stores.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use model::ColumnType;
use model::type_arrow::from_field;
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::Type;

use crate::error::{Result, SourceError};

/// Name and type of every column, in the file's order.
pub(crate) fn columns(footer: &ParquetMetaData, path: &str) -> Result<Vec<(String, ColumnType)>> {
    let schema = arrow_schema(footer, path)?;
    let roots = footer.file_metadata().schema_descr().root_schema().get_fields();
    Ok(schema
        .fields()
        .iter()
        .zip(roots)
        .map(|(field, root)| (field.name().clone(), column_type(field, root)))
        .collect())
}

fn column_type(field: &Field, root: &Type) -> ColumnType {
    let plain = match root.get_basic_info().logical_type_ref() {
        Some(LogicalType::Uuid) => ColumnType::Uuid,
        _ => return from_field(field),
    };
    if field.is_nullable() { plain.nullable() } else { plain }
}

/// The layout the decoder is asked for: views for text, bytes where the file does not promise UTF-8.
pub(crate) fn decoded_schema(footer: &ParquetMetaData, path: &str) -> Result<SchemaRef> {
    let schema = arrow_schema(footer, path)?;
    let roots = footer.file_metadata().schema_descr().root_schema().get_fields();
    let fields: Vec<FieldRef> = schema
        .fields()
        .iter()
        .zip(roots)
        .map(|(field, root)| decoded_field(field, marked_text(root)))
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// Columns whose text the decoder does not check although it calls it text: JSON.
pub(crate) fn unchecked_text(footer: &ParquetMetaData) -> Vec<String> {
    let roots = footer.file_metadata().schema_descr().root_schema().get_fields();
    let json = |root: &&Arc<Type>| root.get_basic_info().converted_type() == ConvertedType::JSON;
    roots.iter().filter(json).map(|root| root.name().to_owned()).collect()
}

fn marked_text(root: &Type) -> bool {
    matches!(root.get_basic_info().converted_type(), ConvertedType::UTF8 | ConvertedType::JSON)
}

fn arrow_schema(footer: &ParquetMetaData, path: &str) -> Result<Schema> {
    parquet_to_arrow_schema(footer.file_metadata().schema_descr(), None).map_err(|error| {
        SourceError::unsupported(format!("a column type of \"{path}\" is not supported: {error}"))
    })
}

fn decoded_field(field: &FieldRef, marked: bool) -> FieldRef {
    let data_type = decoded_type(field.data_type(), marked);
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Inside lists, maps and tuples the Arrow layout itself tells marked text (`Utf8`) from bytes.
fn decoded_type(data_type: &DataType, marked: bool) -> DataType {
    let nested = |field: &FieldRef| decoded_field(field, true);
    match data_type {
        DataType::Utf8 if marked => DataType::Utf8View,
        DataType::Utf8 | DataType::Binary => DataType::BinaryView,
        DataType::List(item) => DataType::List(nested(item)),
        DataType::Map(entries, sorted) => DataType::Map(nested(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(nested).collect::<Fields>()),
        other => other.clone(),
    }
}
