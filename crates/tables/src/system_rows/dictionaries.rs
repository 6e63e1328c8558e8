//! `system.dictionaries`: the dictionaries that there are.
//!
//! None is kept in memory, so what is about that stays at its defaults. Must not know: which of them a user may see.

use boundary::error::Error;
use catalog::Snapshot;
use sql::statement::dictionary::{DictionaryAttribute, LayoutKind};

use super::rows::{Cell, Columns, RowBuilder};
use crate::dictionaries::{dictionary_of, shown_source};

pub const COLUMNS: &Columns = &[
    ("database", "String"),
    ("name", "String"),
    ("uuid", "UUID"),
    (
        "status",
        "Enum8('NOT_LOADED' = 0, 'LOADED' = 1, 'FAILED' = 2, 'LOADING' = 3, 'FAILED_AND_RELOADING' = 4, 'LOADED_AND_RELOADING' = 5, 'NOT_EXIST' = 6)",
    ),
    ("origin", "String"),
    ("type", "String"),
    ("key.names", "Array(String)"),
    ("key.types", "Array(String)"),
    ("attribute.names", "Array(String)"),
    ("attribute.types", "Array(String)"),
    ("bytes_allocated", "UInt64"),
    ("hierarchical_index_bytes_allocated", "UInt64"),
    ("query_count", "UInt64"),
    ("hit_rate", "Float64"),
    ("found_rate", "Float64"),
    ("element_count", "UInt64"),
    ("load_factor", "Float64"),
    ("source", "String"),
    ("lifetime_min", "UInt64"),
    ("lifetime_max", "UInt64"),
    ("loading_start_time", "DateTime"),
    ("last_successful_update_time", "DateTime"),
    ("error_count", "UInt64"),
    ("loading_duration", "Float32"),
    ("last_exception", "String"),
    ("comment", "String"),
];

/// # Errors
/// A definition that another version of the program wrote, and this one cannot read.
pub fn fill(snapshot: &Snapshot, rows: &mut RowBuilder) -> Result<(), Error> {
    for state in snapshot.all_tables() {
        let def = &state.def;
        let Some(dictionary) = dictionary_of(def)? else { continue };
        let database = snapshot.database_by_id(def.database);
        let database = database.map_or_else(String::new, |database| database.name.to_string());
        let keys = dictionary.keys();
        let key_names: Vec<String> = keys.iter().map(|(key, _)| key.name.clone()).collect();
        let key_types: Vec<String> = keys.iter().map(|(_, column_type)| column_type.to_string()).collect();
        let values: Vec<&DictionaryAttribute> = dictionary.values().collect();
        let names: Vec<String> = values.iter().map(|value| value.name.clone()).collect();
        let types: Vec<String> = values.iter().map(|value| value.column_type.to_string()).collect();
        let kind = LayoutKind::ALL.iter().find(|(kind, ..)| *kind == dictionary.layout.kind);
        let (least, most) = dictionary.lifetime.unwrap_or_default();
        rows.push_some([
            ("database", database.as_str().into()),
            ("name", def.name.to_string().into()),
            ("uuid", Cell::Uuid(*def.id.as_bytes())),
            ("origin", def.id.to_string().into()),
            ("type", kind.map_or("", |(_, _, shown)| *shown).into()),
            ("key.names", key_names.into()),
            ("key.types", key_types.into()),
            ("attribute.names", names.into()),
            ("attribute.types", types.into()),
            ("source", shown_source(&dictionary, &database).into()),
            ("lifetime_min", Cell::UInt(least)),
            ("lifetime_max", Cell::UInt(most)),
            ("comment", def.comment.to_string().into()),
        ])?;
    }
    Ok(())
}
