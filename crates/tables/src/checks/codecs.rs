//! Codecs that ClickHouse refuses for a column: wrong arguments, a type they are not made for, orders without sense.
//!
//! Must not know: tables.

use model::{ColumnType, ErrorCode};

use sql::lexer::codec_text::codecs_of;
use sql::lexer::error::{Result, SqlError};
use sql::settings::Settings;

/// Those behind which nothing else compresses.
const GENERIC: &[&str] = &["LZ4", "LZ4HC", "ZSTD", "Default"];
/// Those that change bytes and make no fewer of them.
const PREPARING: &[&str] = &["Delta", "GCD"];
const OF_FLOATS: &[&str] = &["Gorilla", "FPC", "ALP"];
const ENCRYPTING: &[&str] = &["AES_128_GCM_SIV", "AES_256_GCM_SIV"];

pub(super) fn check(codec: &str, column_type: &ColumnType, settings: &Settings) -> Result<()> {
    let codecs = codecs_of(codec);
    let values = values_in(column_type);
    for (name, parameters) in &codecs {
        check_arguments(name, &arguments_of(parameters))?;
        values.iter().try_for_each(|value| check_value(name, value))?;
        if name == "ALP" && !settings.get_bool("enable_alp_codec") {
            return Err(SqlError::bad_arguments(
                "codec ALP is in beta: the setting enable_alp_codec lets it be used",
            ));
        }
    }
    if settings.get_bool("allow_suspicious_codecs") {
        return Ok(());
    }
    let names: Vec<&str> = codecs.iter().map(|(name, _)| name.as_str()).collect();
    match senseless(&names, &values) {
        Some(why) => Err(SqlError::bad_arguments(format!("codecs {}: {why}", names.join(", ")))
            .with_hint("the setting allow_suspicious_codecs lets them be used all the same")),
        None => Ok(()),
    }
}

/// Why codecs in this order make no sense.
fn senseless(names: &[&str], values: &[&ColumnType]) -> Option<&'static str> {
    let is_float = |value: &&ColumnType| matches!(value, ColumnType::Float32 | ColumnType::Float64);
    if names.contains(&"NONE") {
        return (names.len() > 1).then_some("NONE stands alone");
    }
    if names.iter().all(|name| PREPARING.contains(name)) {
        return Some("nothing is compressed; add a codec such as LZ4 behind them");
    }
    let first_generic = names.iter().position(|name| GENERIC.contains(name));
    if first_generic.is_some_and(|at| names[at + 1..].iter().any(|name| !ENCRYPTING.contains(name))) {
        return Some("nothing can be done to values behind a codec that compresses any bytes");
    }
    let of_floats = names.iter().position(|name| OF_FLOATS.contains(name))?;
    if !values.iter().any(is_float) {
        return Some("a codec of floating-point numbers is not for other types");
    }
    let is_delta = |name: &&str| ["Delta", "DoubleDelta"].contains(name);
    names[..of_floats].iter().any(is_delta).then_some("a codec of floating-point numbers makes deltas itself")
}

/// What stands in the parentheses.
fn arguments_of(parameters: &str) -> Vec<&str> {
    let inner = parameters.trim().trim_start_matches('(').trim_end_matches(')').trim();
    if inner.is_empty() { vec![] } else { inner.split(',').map(str::trim).collect() }
}

fn check_arguments(name: &str, arguments: &[&str]) -> Result<()> {
    let refused = |code, message: &str| Err(SqlError::new(code, format!("codec {name} {message}")));
    let number = arguments.first().map(|first| first.parse::<i64>());
    match name {
        "NONE" | "LZ4" if !arguments.is_empty() => {
            refused(ErrorCode::DATA_TYPE_CANNOT_HAVE_ARGUMENTS, "takes no arguments")
        }
        "Default" if !arguments.is_empty() => refused(ErrorCode::BAD_ARGUMENTS, "takes no arguments"),
        "GCD" if !arguments.is_empty() => {
            refused(ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE, "takes no arguments")
        }
        "ZSTD" | "LZ4HC" => match number {
            Some(Err(_)) => refused(ErrorCode::BAD_GET, "takes a number"),
            Some(Ok(level)) if name == "ZSTD" && level > 22 => {
                refused(ErrorCode::ILLEGAL_CODEC_PARAMETER, "has no level above 22")
            }
            _ => Ok(()),
        },
        "Delta" | "DoubleDelta" | "Gorilla" if arguments.len() > 1 => {
            refused(ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE, "takes one argument")
        }
        "Delta" | "DoubleDelta" | "Gorilla" => match number {
            None | Some(Ok(1 | 2 | 4 | 8)) => Ok(()),
            _ => refused(ErrorCode::ILLEGAL_CODEC_PARAMETER, "takes 1, 2, 4 or 8 bytes"),
        },
        "FPC" => match number {
            None | Some(Ok(1..=28)) => Ok(()),
            _ => refused(ErrorCode::ILLEGAL_CODEC_PARAMETER, "takes a level from 1 to 28"),
        },
        "T64" => match arguments.first() {
            None | Some(&("'bit'" | "'byte'")) => Ok(()),
            Some(text) if text.starts_with('\'') => {
                refused(ErrorCode::ILLEGAL_CODEC_PARAMETER, "takes 'bit' or 'byte'")
            }
            Some(_) => refused(ErrorCode::BAD_GET, "takes 'bit' or 'byte'"),
        },
        _ => Ok(()),
    }
}

/// Whether a codec is made for values of this type.
fn check_value(name: &str, value: &ColumnType) -> Result<()> {
    let fits = match name {
        "Delta" | "Gorilla" => matches!(bytes_of(value), Some(1 | 2 | 4 | 8)),
        "DoubleDelta" => is_number(value) && matches!(bytes_of(value), Some(1 | 2 | 4 | 8)),
        "FPC" | "ALP" => matches!(value, ColumnType::Float32 | ColumnType::Float64),
        "GCD" => is_counted(value) || matches!(value, ColumnType::Decimal { .. }),
        "T64" => is_number(value) && !is_float(value) && matches!(bytes_of(value), Some(1 | 2 | 4 | 8)),
        _ => true,
    };
    if fits {
        return Ok(());
    }
    let code =
        if name == "T64" { ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE } else { ErrorCode::BAD_ARGUMENTS };
    Err(SqlError::new(code, format!("codec {name} is not for values of type {value}")))
}

fn is_float(value: &ColumnType) -> bool {
    matches!(value, ColumnType::Float32 | ColumnType::Float64)
}

/// Integers, days and times.
fn is_counted(value: &ColumnType) -> bool {
    use ColumnType::{Bool, Date, Date32, DateTime, DateTime64, Int128, Int256, UInt128, UInt256};
    let is_time = matches!(value, Bool | Date | Date32 | DateTime { .. } | DateTime64 { .. });
    value.is_integer() || is_time || matches!(value, Int128 | UInt128 | Int256 | UInt256)
}

fn is_number(value: &ColumnType) -> bool {
    use ColumnType::{Decimal, Enum8, Enum16, Ipv4};
    is_counted(value) || is_float(value) || matches!(value, Decimal { .. } | Enum8(_) | Enum16(_) | Ipv4)
}

/// Bytes of one value, where all have the same.
fn bytes_of(value: &ColumnType) -> Option<u32> {
    use ColumnType::{
        Bool, Date, Date32, DateTime, DateTime64, Decimal, Enum8, Enum16, FixedString, Float32, Float64,
        Int8, Int16, Int32, Int64, Int128, Int256, Ipv4, Ipv6, UInt8, UInt16, UInt32, UInt64, UInt128,
        UInt256, Uuid,
    };
    match value {
        Bool | UInt8 | Int8 | Enum8(_) => Some(1),
        UInt16 | Int16 | Date | Enum16(_) => Some(2),
        UInt32 | Int32 | Float32 | Date32 | DateTime { .. } | Ipv4 => Some(4),
        UInt64 | Int64 | Float64 | DateTime64 { .. } => Some(8),
        Int128 | UInt128 | Uuid | Ipv6 => Some(16),
        Int256 | UInt256 => Some(32),
        Decimal { precision: ..=9, .. } => Some(4),
        Decimal { precision: 10..=18, .. } => Some(8),
        Decimal { precision: 19..=38, .. } => Some(16),
        Decimal { .. } => Some(32),
        FixedString(bytes) => Some(*bytes),
        _ => None,
    }
}

/// The types of the values that a column holds in the end. Recursive: as deep as the type is.
fn values_in(column_type: &ColumnType) -> Vec<&ColumnType> {
    match column_type {
        ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) | ColumnType::Array(inner) => {
            values_in(inner)
        }
        ColumnType::Map(key, value) => values_in(key).into_iter().chain(values_in(value)).collect(),
        ColumnType::Tuple(elements) => {
            elements.iter().flat_map(|element| values_in(&element.column_type)).collect()
        }
        value => vec![value],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_without_sense_are_found() {
        let (number, float) = (ColumnType::Int32, ColumnType::Float64);
        for (names, value, is_senseless) in [
            (&["NONE"][..], &number, false),
            (&["NONE", "NONE"], &number, true),
            (&["Delta"], &number, true),
            (&["Delta", "LZ4"], &number, false),
            (&["DoubleDelta"], &number, false),
            (&["LZ4", "ZSTD"], &number, true),
            (&["LZ4", "AES_128_GCM_SIV"], &number, false),
            (&["Gorilla", "LZ4"], &number, true),
            (&["Gorilla", "Delta", "LZ4"], &float, false),
            (&["Delta", "Gorilla", "LZ4"], &float, true),
            (&["T64"], &number, false),
        ] {
            assert_eq!(senseless(names, &[value]).is_some(), is_senseless, "{names:?}");
        }
    }
}
