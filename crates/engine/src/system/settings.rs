//! `system.settings` and `system.merge_tree_settings`.

use sql::settings::SettingEffect;

use super::SystemTable;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("value", "String"),
        ("changed", "UInt8"),
        ("description", "String"),
        ("type", "String"),
        ("default", "String"),
        ("is_obeyed", "UInt8"),
    ],
    fill: |context, rows| {
        for (def, value) in context.settings.iter() {
            rows.push([
                def.name.into(),
                value.to_string().into(),
                context.settings.is_changed(def.name).into(),
                def.doc.into(),
                def.kind.type_name().into(),
                def.default.into(),
                (def.effect == SettingEffect::Obeyed).into(),
            ])?;
        }
        Ok(())
    },
};

pub(super) const MERGE_TREE_TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("value", "String"),
        ("description", "String"),
        ("type", "String"),
        ("is_obeyed", "UInt8"),
    ],
    fill: |_, rows| {
        for def in sql::settings::table_settings().iter() {
            rows.push([
                def.name.into(),
                def.default.into(),
                def.doc.into(),
                def.kind.type_name().into(),
                (def.effect == SettingEffect::Obeyed).into(),
            ])?;
        }
        Ok(())
    },
};
