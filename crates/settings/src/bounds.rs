//! Values that are of a setting's type and that ClickHouse refuses all the same.
//!
//! Invariant: defaults are never asked. Must not know: who obeys a setting.

use model::ErrorCode;

use super::SettingDef;
use super::known::{known_session_settings, known_table_settings};
use super::value::SettingValue;
use lexer::error::{Result, SqlError};

/// The names of ClickHouse's newer analyzer, whose rules are the only ones since 26.9.
const ANALYZER: [&str; 2] = ["enable_analyzer", "allow_experimental_analyzer"];

/// Refuses the older analyzer, whose answers are others, and none of what there has to be some of.
pub(super) fn check(def: &SettingDef, value: &SettingValue) -> Result<()> {
    if *value != SettingValue::UInt(0) {
        return Ok(());
    }
    if ANALYZER.contains(&def.name) {
        let message =
            format!("setting \"{}\" cannot be 0: there are no rules of an older analyzer", def.name);
        return Err(SqlError::new(ErrorCode::SETTING_CONSTRAINT_VIOLATION, message)
            .with_hint("leave the setting out of the statement, the session and the profile"));
    }
    let known = known_session_settings().get(def.name).or_else(|| known_table_settings().get(def.name));
    match known {
        Some(known) if known.type_name == "NonZeroUInt64" => {
            let message = format!("setting \"{}\" has to be greater than 0", def.name);
            Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message))
        }
        _ => Ok(()),
    }
}
