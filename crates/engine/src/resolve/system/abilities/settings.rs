//! `system.settings` and `system.merge_tree_settings`.

use std::collections::BTreeMap;

use sql::{
    KnownSetting, SettingDef, SettingEffect, known_session_settings, known_table_settings, table_settings,
};

use super::SystemTable;
use ::tables::system_rows::rows::{Cell, Columns};

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
    ("effect", "Enum8('obeyed' = 0, 'none' = 1, 'refused' = 2)"),
];

fn is_obeyed(def: &SettingDef) -> Cell {
    (def.effect == SettingEffect::Obeyed).into()
}

fn effect(def: &SettingDef) -> Cell {
    Cell::Int(match def.effect {
        SettingEffect::Obeyed => 0,
        SettingEffect::NoEffect | SettingEffect::Silent => 1,
        SettingEffect::Refused => 2,
    })
}

/// What ClickHouse says of a setting that is ClickHouse's: type, alias_for, is_obsolete, tier.
fn of_clickhouse(def: &SettingDef, known: &BTreeMap<&'static str, KnownSetting>) -> [Cell; 4] {
    let known = known.get(def.name);
    let is_obsolete = known.is_some_and(|known| known.is_obsolete);
    [
        known.map_or(def.kind.type_name(), |known| known.type_name).into(),
        known.map_or("", |known| known.alias_for).into(),
        is_obsolete.into(),
        Cell::Int(if is_obsolete { 4 } else { 0 }),
    ]
}

pub(super) const TABLE: SystemTable = SystemTable {
    columns: COLUMNS,
    fill: |_, execution, rows| {
        let shown = execution.settings.iter().filter(|(def, _)| !HIDDEN.contains(&def.name));
        for (def, value) in shown {
            let [type_name, alias_for, is_obsolete, tier] = of_clickhouse(def, known_session_settings());
            rows.push_some([
                ("name", def.name.into()),
                ("value", value.to_string().into()),
                ("changed", execution.settings.is_changed(def.name).into()),
                ("description", def.doc.into()),
                ("readonly", execution.settings.is_locked(def.name).into()),
                ("type", type_name),
                ("default", def.default.into()),
                ("alias_for", alias_for),
                ("is_obsolete", is_obsolete),
                ("tier", tier),
                ("is_obeyed", is_obeyed(def)),
                ("effect", effect(def)),
            ])?;
        }
        Ok(())
    },
};

pub(super) const MERGE_TREE_TABLE: SystemTable = SystemTable {
    columns: COLUMNS,
    fill: |_, _, rows| {
        for def in table_settings().iter() {
            let [type_name, alias_for, is_obsolete, tier] = of_clickhouse(def, known_table_settings());
            rows.push_some([
                ("name", def.name.into()),
                ("value", def.default.into()),
                ("description", def.doc.into()),
                ("type", type_name),
                ("default", def.default.into()),
                ("alias_for", alias_for),
                ("is_obsolete", is_obsolete),
                ("tier", tier),
                ("is_obeyed", is_obeyed(def)),
                ("effect", effect(def)),
            ])?;
        }
        Ok(())
    },
};
