//! Types that ClickHouse lets no column have, or only where a setting says so.
//!
//! Must not know: tables, defaults.

use model::calendar::zone::Zone;
use model::{ColumnType, ErrorCode};

use sql::lexer::error::{Result, SqlError};
use sql::settings::Settings;

/// Longer texts of fixed length are taken for a mistake.
const FIXED_STRING_BYTES_MAX: u32 = 256;

/// Recursive: as deep as the type is.
pub(super) fn check(column: &str, column_type: &ColumnType, settings: &Settings) -> Result<()> {
    match column_type {
        ColumnType::Nullable(inner) | ColumnType::Array(inner) if holds_nothing(inner) => {
            let message = format!("type {column_type} of column {column} cannot be used in tables");
            Err(SqlError::new(ErrorCode::DATA_TYPE_CANNOT_BE_USED_IN_TABLES, message))
        }
        ColumnType::Nullable(inner) | ColumnType::Array(inner) => check(column, inner, settings),
        ColumnType::LowCardinality(inner) => {
            check_dictionary(column, column_type, inner, settings)?;
            check(column, inner, settings)
        }
        ColumnType::Map(key, value) => {
            check(column, key, settings)?;
            check(column, value, settings)
        }
        ColumnType::Tuple(elements) => {
            let names: Vec<&str> = elements.iter().filter_map(|element| element.name.as_deref()).collect();
            check_names(column, &names, elements.len())?;
            elements.iter().try_for_each(|element| check(column, &element.column_type, settings))
        }
        ColumnType::FixedString(bytes) if *bytes > FIXED_STRING_BYTES_MAX => {
            if settings.get_bool("allow_suspicious_fixed_string_types") {
                return Ok(());
            }
            let message =
                format!("column {column} of type {column_type}: more than 256 bytes are suspicious");
            Err(SqlError::new(ErrorCode::ILLEGAL_COLUMN, message)
                .with_hint("the setting allow_suspicious_fixed_string_types lets it be used"))
        }
        ColumnType::DateTime { time_zone: Some(zone) }
        | ColumnType::DateTime64 { time_zone: Some(zone), .. } => match Zone::named(zone) {
            Some(_) => Ok(()),
            None => Err(SqlError::bad_arguments(format!("column {column}: unknown time zone {zone}"))),
        },
        _ => Ok(()),
    }
}

fn holds_nothing(inner: &ColumnType) -> bool {
    match inner {
        ColumnType::Nothing => true,
        ColumnType::Nullable(inner) | ColumnType::Array(inner) => holds_nothing(inner),
        _ => false,
    }
}

fn check_dictionary(column: &str, whole: &ColumnType, inner: &ColumnType, settings: &Settings) -> Result<()> {
    use ColumnType::{
        Bool, Date, Date32, DateTime, DateTime64, Decimal, Enum8, Enum16, Float32, Float64, Int128, Int256,
        Ipv4, Ipv6, LowCardinality, UInt128, UInt256,
    };
    let value = match inner {
        ColumnType::Nullable(value) => value.as_ref(),
        value => value,
    };
    let is_number = value.is_integer()
        || matches!(value, Bool | Float32 | Float64 | Int128 | Int256 | UInt128 | UInt256)
        || matches!(value, Date | Date32 | DateTime { .. } | Ipv4 | Ipv6);
    if matches!(value, Decimal { .. } | DateTime64 { .. } | Enum8(_) | Enum16(_) | LowCardinality(_)) {
        let message =
            format!("column {column}: LowCardinality is for numbers, texts, days and times, not {value}");
        return Err(SqlError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    if !is_number || settings.get_bool("allow_suspicious_low_cardinality_types") {
        return Ok(());
    }
    let message =
        format!("column {column} of type {whole}: a dictionary of numbers is slower than the numbers");
    Err(SqlError::new(ErrorCode::SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY, message)
        .with_hint("the setting allow_suspicious_low_cardinality_types lets it be used"))
}

/// Elements have distinct names, or none.
fn check_names(column: &str, names: &[&str], elements: usize) -> Result<()> {
    if !names.is_empty() && names.len() != elements {
        let message = format!("column {column}: some elements of a tuple have a name, others have none");
        return Err(SqlError::bad_arguments(message));
    }
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        Some((_, name)) => {
            let message = format!("column {column}: element {name} of a tuple is given twice");
            Err(SqlError::new(ErrorCode::DUPLICATE_COLUMN, message))
        }
        None => Ok(()),
    }
}
