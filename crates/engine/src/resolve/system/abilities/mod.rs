//! System tables of what this build can do: formats, functions, types, settings. One file a table or a family of them.
//!
//! Invariant: the rows are constants of the program, beside the values that settings have in this session.

use super::SystemTable;
use ::tables::system_rows::abilities::{build_options, data_types, formats, table_engines};

mod functions;
mod settings;
mod table_functions;
mod time_zones;

/// Columns and content of `system.<name>`, if it is one of these.
pub(super) fn definition(name: &str) -> Option<SystemTable> {
    Some(match name {
        "build_options" => {
            SystemTable { columns: build_options::COLUMNS, fill: |_, _, rows| build_options::fill(rows) }
        }
        "data_type_families" => {
            SystemTable { columns: data_types::COLUMNS, fill: |_, _, rows| data_types::fill(rows) }
        }
        "formats" => SystemTable { columns: formats::COLUMNS, fill: |_, _, rows| formats::fill(rows) },
        "functions" => functions::TABLE,
        "merge_tree_settings" => settings::MERGE_TREE_TABLE,
        "settings" => settings::TABLE,
        "table_engines" => {
            SystemTable { columns: table_engines::COLUMNS, fill: |_, _, rows| table_engines::fill(rows) }
        }
        "table_functions" => table_functions::TABLE,
        "time_zones" => time_zones::TABLE,
        _ => return None,
    })
}
