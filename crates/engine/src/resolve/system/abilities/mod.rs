//! System tables of what this build can do: formats, functions, types, settings. One file a table or a family of them.
//!
//! Invariant: the rows are constants of the program, beside the values that settings have in this session.

use super::SystemTable;

mod build_options;
mod data_types;
mod formats;
mod functions;
mod settings;
mod table_engines;
mod table_functions;
mod time_zones;

/// Columns and content of `system.<name>`, if it is one of these.
pub(super) fn definition(name: &str) -> Option<SystemTable> {
    Some(match name {
        "build_options" => build_options::TABLE,
        "data_type_families" => data_types::TABLE,
        "formats" => formats::TABLE,
        "functions" => functions::TABLE,
        "merge_tree_settings" => settings::MERGE_TREE_TABLE,
        "settings" => settings::TABLE,
        "table_engines" => table_engines::TABLE,
        "table_functions" => table_functions::TABLE,
        "time_zones" => time_zones::TABLE,
        _ => return None,
    })
}
