//! `system.data_type_families`: the types a column can have, and their other names.

use boundary::error::Error;

use super::super::rows::{Columns, RowBuilder};

/// (name, found in any case, name it stands for).
const FAMILIES: &[(&str, bool, &str)] = &[
    ("AggregateFunction", false, ""),
    ("SimpleAggregateFunction", false, ""),
    ("Array", false, ""),
    ("BIGINT", true, "Int64"),
    ("BLOB", true, "String"),
    ("BOOLEAN", true, "Bool"),
    ("Bool", true, ""),
    ("CHAR", true, "String"),
    ("DEC", true, "Decimal"),
    ("DOUBLE", true, "Float64"),
    ("Date", true, ""),
    ("Date32", false, ""),
    ("DateTime", true, ""),
    ("DateTime64", true, ""),
    ("Decimal", true, ""),
    ("Decimal128", false, ""),
    ("Decimal256", false, ""),
    ("Decimal32", false, ""),
    ("Decimal64", false, ""),
    ("Enum", false, ""),
    ("Enum16", false, ""),
    ("Enum8", false, ""),
    ("FLOAT", true, "Float32"),
    ("FixedString", false, ""),
    ("Float32", false, ""),
    ("Float64", false, ""),
    ("INET4", true, "IPv4"),
    ("INET6", true, "IPv6"),
    ("INT", true, "Int32"),
    ("INTEGER", true, "Int32"),
    ("IPv4", false, ""),
    ("IPv6", false, ""),
    ("Int128", false, ""),
    ("Int16", false, ""),
    ("Int256", false, ""),
    ("Int32", false, ""),
    ("Int64", false, ""),
    ("Int8", false, ""),
    ("LowCardinality", false, ""),
    ("Map", false, ""),
    ("NUMERIC", true, "Decimal"),
    ("Nothing", false, ""),
    ("Nullable", false, ""),
    ("REAL", true, "Float32"),
    ("SMALLINT", true, "Int16"),
    ("String", false, ""),
    ("TEXT", true, "String"),
    ("TIMESTAMP", true, "DateTime"),
    ("TINYINT", true, "Int8"),
    ("Tuple", false, ""),
    ("UInt128", false, ""),
    ("UInt16", false, ""),
    ("UInt256", false, ""),
    ("UInt32", false, ""),
    ("UInt64", false, ""),
    ("UInt8", false, ""),
    ("UUID", false, ""),
    ("VARCHAR", true, "String"),
];

pub const COLUMNS: &Columns = &[("name", "String"), ("case_insensitive", "UInt8"), ("alias_to", "String")];

pub fn fill(rows: &mut RowBuilder) -> Result<(), Error> {
    for (name, any_case, alias_to) in FAMILIES {
        rows.push([(*name).into(), (*any_case).into(), (*alias_to).into()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_can_be_written() {
        let parse = |name: &str| {
            let arguments = match name {
                "Array" | "LowCardinality" | "Nullable" => "(UInt8)",
                "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" | "FixedString" => "(2)",
                "Enum" | "Enum8" | "Enum16" => "('a' = 1)",
                "Map" => "(String, UInt8)",
                "Tuple" => "(UInt8)",
                "AggregateFunction" | "SimpleAggregateFunction" => "(max, UInt8)",
                _ => "",
            };
            model::type_name::parse(&format!("{name}{arguments}"))
        };
        for (name, any_case, alias_to) in FAMILIES {
            let family = parse(name).unwrap_or_else(|e| panic!("{name}: {e}"));
            if !alias_to.is_empty() {
                assert_eq!(Ok(&family), parse(alias_to).as_ref(), "{name}");
            }
            let other_case = parse(&name.to_lowercase());
            assert_eq!(other_case.is_ok(), *any_case || *name == name.to_lowercase(), "{name}");
        }
    }
}
