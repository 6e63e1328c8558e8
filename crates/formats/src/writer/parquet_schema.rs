//! The schema of a Parquet file, with what Arrow's does not tell: which bytes are a UUID.
//!
//! Invariant: leaves stand in the order of the columns, each where its type has it. Must not know: rows.

use std::sync::Arc;

use ::parquet::arrow::ArrowSchemaConverter;
use ::parquet::basic::{LogicalType, Type as PhysicalType};
use ::parquet::errors::Result;
use ::parquet::schema::types::{SchemaDescriptor, Type};
use arrow::datatypes::Schema;
use model::ColumnType;

/// `None` where Arrow's schema tells everything.
pub(super) fn described(schema: &Schema, types: &[ColumnType]) -> Result<Option<SchemaDescriptor>> {
    let mut leaves = Vec::new();
    types.iter().for_each(|column_type| add_leaves(column_type, &mut leaves));
    if !leaves.contains(&true) {
        return Ok(None);
    }
    let plain = ArrowSchemaConverter::new().with_coerce_types(true).convert(schema)?;
    let root = marked(plain.root_schema(), &mut leaves.into_iter())?;
    Ok(Some(SchemaDescriptor::new(Arc::new(root))))
}

/// Of each leaf, whether it is a UUID.
fn add_leaves(column_type: &ColumnType, leaves: &mut Vec<bool>) {
    match column_type.value_type() {
        ColumnType::Array(item) => add_leaves(item, leaves),
        ColumnType::Map(key, value) => {
            add_leaves(key, leaves);
            add_leaves(value, leaves);
        }
        ColumnType::Tuple(elements) => {
            elements.iter().for_each(|element| add_leaves(&element.column_type, leaves));
        }
        plain => leaves.push(*plain == ColumnType::Uuid),
    }
}

fn marked(given: &Type, leaves: &mut impl Iterator<Item = bool>) -> Result<Type> {
    let basic = given.get_basic_info();
    if given.is_primitive() {
        return match leaves.next() {
            Some(true) => Type::primitive_type_builder(given.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
                .with_length(16)
                .with_repetition(basic.repetition())
                .with_logical_type(Some(LogicalType::Uuid))
                .build(),
            _ => Ok(given.clone()),
        };
    }
    let mut fields = Vec::with_capacity(given.get_fields().len());
    for field in given.get_fields() {
        fields.push(Arc::new(marked(field, leaves)?));
    }
    let group = Type::group_type_builder(given.name())
        .with_converted_type(basic.converted_type())
        .with_logical_type(basic.logical_type_ref().cloned())
        .with_fields(fields);
    match basic.has_repetition() {
        true => group.with_repetition(basic.repetition()).build(),
        false => group.build(),
    }
}
