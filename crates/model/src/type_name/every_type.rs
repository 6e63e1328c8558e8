//! One type of every kind, for tests that hold for all types.
//!
//! Invariant: a kind of type that is added stands here too. Types of the same kind that a test treats apart it adds itself.

/// Names that [`crate::type_name::parse`] knows. Enums have a name for 0: the default of every number is one of theirs.
pub const EVERY_TYPE: [&str; 29] = [
    "UInt8",
    "UInt64",
    "Int32",
    "Float32",
    "Bool",
    "String",
    "FixedString(3)",
    "Decimal(9, 2)",
    "Decimal(60, 5)",
    "Date",
    "Date32",
    "DateTime",
    "DateTime64(3, 'UTC')",
    "UUID",
    "Int128",
    "UInt128",
    "Int256",
    "UInt256",
    "IPv4",
    "IPv6",
    "Enum8('a' = 0)",
    "Enum16('b' = 0)",
    "Array(Nullable(UInt8))",
    "Map(String, UInt64)",
    "Tuple(UInt8, String)",
    "AggregateFunction(sum, UInt64)",
    "LowCardinality(String)",
    "Nullable(Date)",
    "Nothing",
];
