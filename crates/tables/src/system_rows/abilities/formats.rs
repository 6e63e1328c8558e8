//! `system.formats`.

use formats::FormatKind;

use boundary::error::Error;

use super::super::rows::{Columns, RowBuilder};

/// What HTTP calls an answer in this format.
fn content_type(kind: FormatKind) -> &'static str {
    let name = kind.name();
    match name {
        _ if !kind.is_output() => "",
        "JSONEachRow" | "JSONStringsEachRow" | "JSONLines" => "application/x-ndjson; charset=UTF-8",
        _ if name.starts_with("JSON") => "application/json; charset=UTF-8",
        _ if name.starts_with("TabSeparated") || name.starts_with("TSV") || name == "TSKV" => {
            "text/tab-separated-values; charset=UTF-8"
        }
        "CSVWithNames" | "CSVWithNamesAndTypes" => "text/csv; charset=UTF-8; header=present",
        "CSV" => "text/csv; charset=UTF-8; header=absent",
        _ if is_binary(kind) => "application/octet-stream",
        _ => "text/plain; charset=UTF-8",
    }
}

fn is_binary(kind: FormatKind) -> bool {
    !kind.is_text() && kind.name() != "RawBLOB"
}

pub const COLUMNS: &Columns = &[
    ("name", "String"),
    ("is_input", "UInt8"),
    ("is_output", "UInt8"),
    ("supports_parallel_parsing", "UInt8"),
    ("supports_parallel_formatting", "UInt8"),
    ("is_tty_friendly", "UInt8"),
    ("content_type", "String"),
    ("supports_random_access", "UInt8"),
    ("has_schema_inference", "UInt8"),
    ("has_external_schema", "UInt8"),
    ("prefers_large_blocks", "UInt8"),
    ("supports_append", "UInt8"),
    ("supports_subsets_of_columns", "UInt8"),
    ("description", "String"),
    ("examples", "String"),
    ("introduced_in", "String"),
    ("related", "Array(String)"),
];

pub fn fill(rows: &mut RowBuilder) -> Result<(), Error> {
    for kind in FormatKind::list() {
        rows.push_some([
            ("name", kind.name().into()),
            ("is_input", kind.is_input().into()),
            ("is_output", kind.is_output().into()),
            ("is_tty_friendly", (!is_binary(kind)).into()),
            ("content_type", content_type(kind).into()),
            ("has_schema_inference", kind.is_input().into()),
        ])?;
    }
    Ok(())
}
