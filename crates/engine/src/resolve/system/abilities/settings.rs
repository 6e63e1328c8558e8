//! `system.settings` and `system.merge_tree_settings`.

use sql::settings::{SettingDef, SettingEffect};

use super::SystemTable;
use crate::resolve::system::rows::{Cell, Columns};

/// Settings that the table does not show: clients that see them use them, and answers are not written that way.
const HIDDEN: &[&str] = &["send_progress_in_http_headers"];

const COLUMNS: &Columns = &[
    ("name", "String"),
    ("value", "String"),
    ("changed", "UInt8"),
    ("description", "String"),
    ("min", "Nullable(String)"),
    ("max", "Nullable(String)"),
    ("disallowed_values", "Array(String)"),
    ("readonly", "UInt8"),
    ("type", "String"),
    ("default", "String"),
    ("alias_for", "String"),
    ("is_obsolete", "UInt8"),
    (
        "tier",
        "Enum8('Production' = 0, 'Obsolete' = 4, 'Experimental' = 8, 'Beta' = 12, 'PrivatePreview' = 16)",
    ),
    ("is_obeyed", "UInt8"),
];

fn is_obeyed(def: &SettingDef) -> Cell {
    (def.effect == SettingEffect::Obeyed).into()
}

pub(super) const TABLE: SystemTable = SystemTable {
    columns: COLUMNS,
    fill: |_, execution, rows| {
        let shown = execution.settings.iter().filter(|(def, _)| !HIDDEN.contains(&def.name));
        for (def, value) in shown {
            rows.push_some([
                ("name", def.name.into()),
                ("value", value.to_string().into()),
                ("changed", execution.settings.is_changed(def.name).into()),
                ("description", def.doc.into()),
                ("readonly", execution.settings.is_locked(def.name).into()),
                ("type", def.kind.type_name().into()),
                ("default", def.default.into()),
                ("is_obeyed", is_obeyed(def)),
            ])?;
        }
        Ok(())
    },
};

pub(super) const MERGE_TREE_TABLE: SystemTable = SystemTable {
    columns: COLUMNS,
    fill: |_, _, rows| {
        for def in sql::settings::table_settings().iter() {
            rows.push_some([
                ("name", def.name.into()),
                ("value", def.default.into()),
                ("description", def.doc.into()),
                ("type", def.kind.type_name().into()),
                ("default", def.default.into()),
                ("is_obeyed", is_obeyed(def)),
            ])?;
        }
        Ok(())
    },
};
