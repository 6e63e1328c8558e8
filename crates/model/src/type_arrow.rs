//! `ColumnType` <-> Arrow field, total in both directions.
//!
//! Arrow cannot tell `Enum8` from `Int8`, `Date` from `Date32` or `FixedString` from `String`, so every field we make
//! carries our type's name as an Arrow extension (`gristmill.column_type`). A field without it, from a foreign file
//! or from an expression, maps to the nearest of our types. Invariant: `from_field(&to_field(n, t)) == t`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::column_type::{ColumnType, TupleElement};
use crate::type_name;

/// Arrow's key for the name of an extension type.
pub const EXTENSION_NAME_KEY: &str = "ARROW:extension:name";
/// Arrow's key for the parameters of an extension type; here the ClickHouse type name.
pub const EXTENSION_METADATA_KEY: &str = "ARROW:extension:metadata";
/// Our extension type.
pub const EXTENSION_NAME: &str = "gristmill.column_type";
/// Parquet's key for the field id, which carries our `ColumnId`.
pub const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// The Arrow layout of values of this type. Strings are views: they are gathered six times faster.
pub fn to_data_type(column_type: &ColumnType) -> DataType {
    match column_type {
        ColumnType::UInt8 => DataType::UInt8,
        ColumnType::UInt16 => DataType::UInt16,
        ColumnType::UInt32 => DataType::UInt32,
        ColumnType::UInt64 => DataType::UInt64,
        ColumnType::Int8 | ColumnType::Enum8(_) => DataType::Int8,
        ColumnType::Int16 | ColumnType::Enum16(_) => DataType::Int16,
        ColumnType::Int32 => DataType::Int32,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::Float32 => DataType::Float32,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::String | ColumnType::FixedString(_) => DataType::Utf8View,
        ColumnType::Decimal { precision, scale } => decimal(*precision, *scale),
        ColumnType::Date | ColumnType::Date32 => DataType::Date32,
        ColumnType::DateTime { time_zone } => DataType::Timestamp(TimeUnit::Second, time_zone.clone()),
        ColumnType::DateTime64 { precision, time_zone } => {
            DataType::Timestamp(unit_of_precision(*precision), time_zone.clone())
        }
        ColumnType::Uuid | ColumnType::Ipv6 => DataType::FixedSizeBinary(16),
        ColumnType::Ipv4 => DataType::UInt32,
        ColumnType::Int128 | ColumnType::UInt128 => DataType::FixedSizeBinary(16),
        ColumnType::Int256 | ColumnType::UInt256 => DataType::FixedSizeBinary(32),
        ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => to_data_type(inner),
        ColumnType::Array(inner) => DataType::List(Arc::new(to_field("item", inner))),
        ColumnType::Map(key, value) => map(key, value),
        ColumnType::Tuple(elements) => DataType::Struct(tuple_fields(elements)),
        ColumnType::AggregateFunction(_) => DataType::BinaryView,
        ColumnType::Nothing => DataType::Null,
    }
}

/// An Arrow field of this name and type, nullable as the type says, with the type's name attached.
pub fn to_field(name: &str, column_type: &ColumnType) -> Field {
    let metadata = HashMap::from([
        (EXTENSION_NAME_KEY.to_owned(), EXTENSION_NAME.to_owned()),
        (EXTENSION_METADATA_KEY.to_owned(), column_type.to_string()),
    ]);
    Field::new(name, to_data_type(column_type), column_type.is_nullable()).with_metadata(metadata)
}

/// The type of an Arrow field: the attached one if it still fits the layout, else the nearest of ours.
pub fn from_field(field: &Field) -> ColumnType {
    if let Some(attached) = attached_type(field)
        && to_data_type(&attached) == *field.data_type()
    {
        return match (attached.is_nullable(), field.is_nullable()) {
            (false, true) => attached.nullable(),
            _ => attached,
        };
    }
    let plain = from_data_type(field.data_type());
    let nests = matches!(plain, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_));
    if field.is_nullable() && !nests { plain.nullable() } else { plain }
}

/// The function by which values of equal key become one, if the type that is attached says so.
pub fn combined_by(field: &Field) -> Option<Arc<str>> {
    let metadata = field.metadata();
    metadata.get(EXTENSION_NAME_KEY).filter(|name| *name == EXTENSION_NAME)?;
    type_name::parse_declared(metadata.get(EXTENSION_METADATA_KEY)?).ok()?.1
}

fn attached_type(field: &Field) -> Option<ColumnType> {
    let metadata = field.metadata();
    if metadata.get(EXTENSION_NAME_KEY).is_none_or(|name| name != EXTENSION_NAME) {
        return None;
    }
    type_name::parse(metadata.get(EXTENSION_METADATA_KEY)?).ok()
}

/// The nearest of our types for a bare Arrow layout, not nullable itself.
pub fn from_data_type(data_type: &DataType) -> ColumnType {
    match data_type {
        DataType::Null => ColumnType::Nothing,
        DataType::Boolean => ColumnType::Bool,
        DataType::Int8 => ColumnType::Int8,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 | DataType::Duration(_) | DataType::Interval(_) => ColumnType::Int64,
        DataType::Time32(_) | DataType::Time64(_) => ColumnType::Int64,
        DataType::UInt8 => ColumnType::UInt8,
        DataType::UInt16 => ColumnType::UInt16,
        DataType::UInt32 => ColumnType::UInt32,
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Float16 | DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => ColumnType::String,
        DataType::FixedSizeBinary(bytes) => ColumnType::FixedString(u32::try_from(*bytes).unwrap_or(1)),
        DataType::Date32 | DataType::Date64 => ColumnType::Date32,
        DataType::Timestamp(TimeUnit::Second, time_zone) => {
            ColumnType::DateTime { time_zone: time_zone.clone() }
        }
        DataType::Timestamp(unit, time_zone) => {
            ColumnType::DateTime64 { precision: precision_of_unit(*unit), time_zone: time_zone.clone() }
        }
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            ColumnType::Decimal { precision: *precision, scale: u8::try_from(*scale).unwrap_or(0) }
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => ColumnType::Array(Box::new(from_field(item))),
        DataType::Map(entries, _) => from_map_entries(entries),
        DataType::Struct(fields) => ColumnType::Tuple(fields.iter().map(tuple_element).collect()),
        DataType::Dictionary(_, values) => ColumnType::LowCardinality(Box::new(from_data_type(values))),
        DataType::RunEndEncoded(_, values) => from_field(values),
        DataType::Union(..) => ColumnType::String,
    }
}

/// Arrow's time unit that holds ticks of 10^-precision seconds.
pub fn unit_of_precision(precision: u8) -> TimeUnit {
    match precision {
        0 => TimeUnit::Second,
        1..=3 => TimeUnit::Millisecond,
        4..=6 => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    }
}

fn precision_of_unit(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Precision from which a Decimal needs 256 bits.
const DECIMAL_128_PRECISION_MAX: u8 = 38;

fn decimal(precision: u8, scale: u8) -> DataType {
    let signed_scale = i8::try_from(scale).unwrap_or(i8::MAX);
    if precision <= DECIMAL_128_PRECISION_MAX {
        DataType::Decimal128(precision, signed_scale)
    } else {
        DataType::Decimal256(precision, signed_scale)
    }
}

fn map(key: &ColumnType, value: &ColumnType) -> DataType {
    let entries = Fields::from(vec![to_field("keys", key), to_field("values", value)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}

fn from_map_entries(entries: &FieldRef) -> ColumnType {
    match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => {
            let key = from_field(&fields[0]);
            // A map key is never NULL in our types, whatever a foreign schema claims.
            let key = if key.is_nullable() { key.value_type().clone() } else { key };
            ColumnType::Map(Box::new(key), Box::new(from_field(&fields[1])))
        }
        other => from_data_type(other),
    }
}

/// Unnamed elements get their position, from 1, as Arrow name.
fn tuple_fields(elements: &[TupleElement]) -> Fields {
    let field = |(i, element): (usize, &TupleElement)| {
        let position = (i + 1).to_string();
        to_field(element.name.as_deref().unwrap_or(&position), &element.column_type)
    };
    elements.iter().enumerate().map(field).collect()
}

fn tuple_element(field: &FieldRef) -> TupleElement {
    let unnamed = field.name().bytes().all(|b| b.is_ascii_digit());
    TupleElement { name: (!unnamed).then(|| field.name().as_str().into()), column_type: from_field(field) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::type_name::every_type::EVERY_TYPE;

    #[test]
    fn every_type_survives_arrow() {
        let more = [
            "DateTime('UTC')",
            "DateTime64(1)",
            "DateTime64(9)",
            "Nullable(Int256)",
            "Array(UInt256)",
            "Array(Nullable(IPv6))",
            "Enum8('a' = 1)",
            "Enum16('a' = 500)",
            "LowCardinality(Nullable(String))",
            "Tuple(a UInt8, b Array(String))",
        ];
        for name in EVERY_TYPE.into_iter().chain(more) {
            let column_type = type_name::parse(name).unwrap();
            assert_eq!(from_field(&to_field("c", &column_type)), column_type, "{name}");
        }
    }

    #[test]
    fn foreign_fields_map_to_the_nearest_type() {
        let nullable_text = Field::new("c", DataType::Utf8, true);
        assert_eq!(from_field(&nullable_text).to_string(), "Nullable(String)");
        let millis = Field::new("c", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false);
        assert_eq!(from_field(&millis).to_string(), "DateTime64(3, 'UTC')");
    }

    #[test]
    fn a_stale_attached_type_is_not_believed() {
        let field = to_field("c", &ColumnType::UInt8).with_data_type(DataType::Int64);
        assert_eq!(from_field(&field), ColumnType::Int64);
    }
}
