//! CODEC of a column: read into one spelling, and shown with the parameters that ClickHouse fills in.
//!
//! Invariant: what is kept names only codecs that there are, without the word CODEC and its parentheses. Must not know:
//! what a codec does; encodings are chosen from the data.

use model::{ColumnType, ErrorCode};

use crate::error::{Result, SqlError};

/// ClickHouse's names, and what stands in parentheses behind them when nothing was written.
const CODECS: &[(&str, Filled)] = &[
    ("NONE", Filled::Nothing),
    ("LZ4", Filled::Nothing),
    ("LZ4HC", Filled::Level(0)),
    ("ZSTD", Filled::Level(1)),
    ("Delta", Filled::Width),
    ("DoubleDelta", Filled::Nothing),
    ("Gorilla", Filled::Width),
    ("FPC", Filled::Nothing),
    ("GCD", Filled::Nothing),
    ("ALP", Filled::Nothing),
    ("T64", Filled::Nothing),
    ("AES_128_GCM_SIV", Filled::Nothing),
    ("AES_256_GCM_SIV", Filled::Nothing),
    ("Default", Filled::Nothing),
];

#[derive(Clone, Copy)]
enum Filled {
    Nothing,
    Level(u8),
    /// Bytes of a value of the column.
    Width,
}

/// `Delta, ZSTD(3)` in the spelling in which it is kept.
///
/// # Errors
/// Names of no codec.
pub fn kept_codec(written: &str) -> Result<String> {
    let each = codecs_of(written).into_iter().map(|(name, parameters)| {
        let (known, _) = known(&name).ok_or_else(|| {
            let names: Vec<&str> = CODECS.iter().map(|(name, _)| *name).collect();
            let message = format!("unknown codec {name}; there are {}", names.join(", "));
            SqlError::new(ErrorCode::UNKNOWN_CODEC, message)
        })?;
        Ok(format!("{known}{parameters}"))
    });
    Ok(each.collect::<Result<Vec<_>>>()?.join(", "))
}

/// The codecs of a column as ClickHouse shows them: `Delta(8), ZSTD(1)`.
pub fn shown_codec(kept: &str, column_type: &ColumnType) -> String {
    let shown = codecs_of(kept).into_iter().map(|(name, parameters)| match known(&name) {
        Some((known, Filled::Level(level))) if parameters.is_empty() => format!("{known}({level})"),
        Some((known, Filled::Width)) if parameters.is_empty() => match width(column_type) {
            Some(bytes) => format!("{known}({bytes})"),
            None => known.to_owned(),
        },
        Some((known, _)) => format!("{known}{parameters}"),
        None => format!("{name}{parameters}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn known(name: &str) -> Option<(&'static str, Filled)> {
    CODECS.iter().find(|(known, _)| *known == name).copied()
}

/// Names with what stands in parentheses behind them. Definitions of older versions have CODEC(..) around them.
pub fn codecs_of(text: &str) -> Vec<(String, String)> {
    let text = text.trim();
    let inner = match text.get(..5).filter(|word| word.eq_ignore_ascii_case("codec")) {
        Some(_) => text[5..].trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(text),
        None => text,
    };
    let (mut found, mut depth, mut start) = (vec![], 0_usize, 0);
    for (at, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let one = inner[start..at].trim();
                let (name, parameters) = one.split_at(one.find('(').unwrap_or(one.len()));
                found.push((name.trim().to_owned(), parameters.to_owned()));
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// Bytes of a value, where all have the same.
fn width(column_type: &ColumnType) -> Option<u32> {
    use ColumnType::{
        Bool, Date, Date32, DateTime, DateTime64, Enum8, Enum16, Float32, Float64, Int8, Int16, Int32, Int64,
        Ipv4, UInt8, UInt16, UInt32, UInt64,
    };
    match column_type.value_type() {
        Bool | UInt8 | Int8 | Enum8(_) => Some(1),
        UInt16 | Int16 | Date | Enum16(_) => Some(2),
        UInt32 | Int32 | Float32 | Date32 | DateTime { .. } | Ipv4 => Some(4),
        UInt64 | Int64 | Float64 | DateTime64 { .. } => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_shown_with_what_clickhouse_fills_in() {
        let shown = |written: &str, of: ColumnType| shown_codec(&kept_codec(written).unwrap(), &of);
        assert_eq!(shown("Delta, ZSTD", ColumnType::UInt64), "Delta(8), ZSTD(1)");
        assert_eq!(shown("CODEC(Gorilla(4), LZ4HC(9))", ColumnType::Float64), "Gorilla(4), LZ4HC(9)");
        assert_eq!(shown("Delta", ColumnType::String), "Delta");
        assert_eq!(shown("Default", ColumnType::UInt8), "Default");
        assert!(kept_codec("zstd").is_err());
        assert!(kept_codec("Snappy").unwrap_err().message.contains("unknown codec Snappy"));
    }
}
