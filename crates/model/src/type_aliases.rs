//! Names that standard SQL and other databases have for types, as ClickHouse understands them.
//!
//! Invariant: no name of our own is here; case does not matter. Must not know: arguments, how a type's text is read.

use crate::column_type::ColumnType;

/// SQL standard names, in any case, with the type ClickHouse gives them.
const ALIASES: &[(&str, ColumnType)] = &[
    ("tinyint", ColumnType::Int8),
    ("int1", ColumnType::Int8),
    ("byte", ColumnType::Int8),
    ("smallint", ColumnType::Int16),
    ("mediumint", ColumnType::Int32),
    ("int", ColumnType::Int32),
    ("integer", ColumnType::Int32),
    ("bigint", ColumnType::Int64),
    ("signed", ColumnType::Int64),
    ("unsigned", ColumnType::UInt64),
    ("bit", ColumnType::UInt64),
    ("set", ColumnType::UInt64),
    ("year", ColumnType::UInt16),
    ("float", ColumnType::Float32),
    ("real", ColumnType::Float32),
    ("single", ColumnType::Float32),
    ("double", ColumnType::Float64),
    ("text", ColumnType::String),
    ("tinytext", ColumnType::String),
    ("mediumtext", ColumnType::String),
    ("longtext", ColumnType::String),
    ("varchar", ColumnType::String),
    ("varchar2", ColumnType::String),
    ("nvarchar", ColumnType::String),
    ("char", ColumnType::String),
    ("character", ColumnType::String),
    ("nchar", ColumnType::String),
    ("national", ColumnType::String),
    ("clob", ColumnType::String),
    ("blob", ColumnType::String),
    ("tinyblob", ColumnType::String),
    ("mediumblob", ColumnType::String),
    ("longblob", ColumnType::String),
    ("bytea", ColumnType::String),
    ("varbinary", ColumnType::String),
    ("boolean", ColumnType::Bool),
    ("bool", ColumnType::Bool),
    ("date", ColumnType::Date),
    ("inet4", ColumnType::Ipv4),
    ("inet6", ColumnType::Ipv6),
];

/// What may stand behind an alias, as SQL spells types in several words.
pub(crate) const TEXT_TAILS: [&str; 8] = [
    "char large object",
    "character large object",
    "char varying",
    "character varying",
    "large object",
    "varying",
    "char",
    "character",
];

/// The type an alias of one word stands for.
pub(crate) fn plain(name: &str) -> Option<ColumnType> {
    ALIASES
        .iter()
        .find(|(alias, _)| alias.eq_ignore_ascii_case(name))
        .map(|(_, column_type)| column_type.clone())
}
