//! Columns of a Parquet file in our types, and the Arrow layout to decode them into.
//!
//! Only Parquet's own types count; the Arrow schema some writers embed is ignored, as in ClickHouse.
//! Invariant: text that the file does not mark as UTF-8 is decoded as bytes and checked afterwards; the decoder
//! itself checks only marked columns. Must not know: SQL, stores.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use model::ColumnType;
use model::type_arrow::{from_field, to_field};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::{ColumnDescPtr, Type};
use stores::error::{Result, SourceError};

/// Name and type of every column, in the file's order.
pub(crate) fn columns(footer: &ParquetMetaData, path: &str) -> Result<Vec<(String, ColumnType)>> {
    let schema = arrow_schema(footer, path)?;
    let mut leaves = footer.file_metadata().schema_descr().columns().iter();
    let marked = schema.fields().iter().map(|field| marked_field(field, &mut leaves));
    Ok(marked.map(|field| (field.name().clone(), from_field(&field))).collect())
}

/// The field with our type where Arrow's layout does not tell it: UUIDs, however deep. The leaves of both schemas come in the
/// same order.
fn marked_field<'a>(field: &FieldRef, leaves: &mut impl Iterator<Item = &'a ColumnDescPtr>) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::List(item) => DataType::List(marked_field(item, leaves)),
        DataType::Map(entries, sorted) => DataType::Map(marked_field(entries, leaves), *sorted),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| marked_field(field, leaves)).collect::<Fields>())
        }
        _ => {
            let leaf = leaves.next().and_then(|leaf| leaf.logical_type_ref());
            if let DataType::Timestamp(unit, None) = field.data_type() {
                // Without a zone it would be shown in that of who asks.
                let of_utc = DataType::Timestamp(*unit, Some("UTC".into()));
                return Arc::new(field.as_ref().clone().with_data_type(of_utc));
            }
            let utc = || Some("UTC".into());
            let plain = match field.data_type() {
                _ if leaf == Some(&LogicalType::Uuid) => ColumnType::Uuid,
                // A time of day is that time of the first day, as in ClickHouse.
                DataType::Time32(TimeUnit::Millisecond) => {
                    ColumnType::DateTime64 { precision: 3, time_zone: utc() }
                }
                DataType::Time64(TimeUnit::Microsecond) => {
                    ColumnType::DateTime64 { precision: 6, time_zone: utc() }
                }
                DataType::Time64(TimeUnit::Nanosecond) => {
                    ColumnType::DateTime64 { precision: 9, time_zone: utc() }
                }
                _ => return Arc::clone(field),
            };
            let marked = if field.is_nullable() { plain.nullable() } else { plain };
            return Arc::new(to_field(field.name(), &marked));
        }
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
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
