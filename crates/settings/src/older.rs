//! `compatibility`: the defaults that settings had in an older version of ClickHouse.
//!
//! `known/changes.tsv` has a line for each change of a default that means something here, the newest first: the version it came
//! with, the setting, and the default before. Invariant: what is obeyed gets the older default; what is not obeyed keeps its own
//! and is named. Must not know: which settings were given.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use model::ErrorCode;

use super::{SettingEffect, SettingTable, SettingValue};
use crate::change::SettingText;
use lexer::error::{Result, SqlError};

/// One change of a default.
struct Change {
    version: Vec<u32>,
    name: &'static str,
    before: &'static str,
}

static CHANGES: LazyLock<Vec<Change>> =
    LazyLock::new(|| include_str!("known/changes.tsv").lines().filter_map(change).collect());

fn change(line: &'static str) -> Option<Change> {
    let mut fields = line.split('\t');
    Some(Change { version: version(fields.next()?)?, name: fields.next()?, before: fields.next()? })
}

/// `24.3`, `24.3.1.5`: numbers that count from the left.
fn version(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|number| number.parse().ok()).collect()
}

/// The defaults of a version that are others now, and settings whose older default is not obeyed.
pub(super) fn defaults_of(
    asked: &str,
    table: &SettingTable,
) -> Result<(BTreeMap<&'static str, SettingValue>, Vec<&'static str>)> {
    if asked.is_empty() {
        return Ok((BTreeMap::new(), vec![]));
    }
    let Some(asked_version) = version(asked) else {
        let message = format!("setting \"compatibility\" takes a version such as '24.3', not '{asked}'");
        return Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, message));
    };
    // An older change comes later, and what it changed is what counts.
    let since = CHANGES.iter().filter(|change| change.version > asked_version);
    let before: BTreeMap<&str, &str> = since.map(|change| (change.name, change.before)).collect();
    let (mut older, mut kept) = (BTreeMap::new(), vec![]);
    for (name, text) in before {
        let Some(def) = table.get(name) else { continue };
        let value = SettingValue::read(def, &SettingText::Quoted(text.to_owned()))?;
        match def.effect {
            _ if value == SettingValue::default_of(def) => {}
            SettingEffect::Refused => kept.push(def.name),
            _ => drop(older.insert(def.name, value)),
        }
    }
    Ok((older, kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_settings;

    #[test]
    fn every_change_is_read_and_is_of_a_setting() {
        assert_eq!(include_str!("known/changes.tsv").lines().count(), CHANGES.len());
        assert!(CHANGES.iter().all(|change| session_settings().get(change.name).is_some()));
        assert!(CHANGES.is_sorted_by(|newer, older| newer.version >= older.version));
        // The oldest of all asks for every one of them.
        assert!(defaults_of("1.1", session_settings()).is_ok());
    }

    #[test]
    fn a_version_has_the_defaults_it_had() {
        let value = |asked: &str, name: &str| {
            let (older, _) = defaults_of(asked, session_settings()).unwrap();
            older.get(name).map(ToString::to_string)
        };
        assert_eq!(value("22.6", "enable_positional_arguments").as_deref(), Some("0"));
        assert_eq!(value("22.7", "enable_positional_arguments"), None);
        assert_eq!(value("23.2", "output_format_parquet_compression_method").as_deref(), Some("snappy"));
        assert_eq!(value("23.3.1", "output_format_parquet_compression_method").as_deref(), Some("lz4"));
        let (_, kept) = defaults_of("24.11", session_settings()).unwrap();
        assert!(kept.contains(&"least_greatest_legacy_null_behavior"));
        assert_eq!(defaults_of("a.a", session_settings()).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }
}
