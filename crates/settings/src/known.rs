//! The settings of ClickHouse 26.9 by name, type and default, so that none of them is a wall.
//!
//! `known/session.tsv` and `known/table.tsv` have a line for each row of ClickHouse's `system.settings` and
//! `system.merge_tree_settings`: name, type, default, what becomes of it here, and the name it is another word for. Tabs
//! and line ends are escaped. What becomes of it is one of
//! * `row`: a row of our own tables says what it does;
//! * `silent`: it decides about speed, logs, caches, gates or features that are refused by their own names, so any value
//!   is accepted;
//! * `refused`: another value than the default would change an answer or what is an error, so it is an error;
//! * `obsolete`: it does nothing in ClickHouse either; `obsolete row` if a row of ours is about it all the same.
//!
//! Invariant: a setting that could change an answer is never `silent`. Must not know: sessions, and who obeys a setting.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{SettingDef, SettingEffect, SettingKind};

/// One setting of ClickHouse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownSetting {
    pub name: &'static str,
    /// ClickHouse's word for the type; `Enum` for all enums.
    pub type_name: &'static str,
    pub default: &'static str,
    pub is_obsolete: bool,
    /// The setting that this is another word for, or empty.
    pub alias_for: &'static str,
    /// What becomes of it, unless a row of ours says so.
    effect: Option<SettingEffect>,
}

static SESSION: LazyLock<BTreeMap<&'static str, KnownSetting>> =
    LazyLock::new(|| read(include_str!("known/session.tsv")));

static TABLE: LazyLock<BTreeMap<&'static str, KnownSetting>> =
    LazyLock::new(|| read(include_str!("known/table.tsv")));

/// Settings of a session in ClickHouse, by name.
pub fn known_session_settings() -> &'static BTreeMap<&'static str, KnownSetting> {
    &SESSION
}

/// Settings of its MergeTree tables, by name.
pub fn known_table_settings() -> &'static BTreeMap<&'static str, KnownSetting> {
    &TABLE
}

fn read(table: &'static str) -> BTreeMap<&'static str, KnownSetting> {
    table.lines().filter_map(setting).map(|setting| (setting.name, setting)).collect()
}

fn setting(line: &'static str) -> Option<KnownSetting> {
    let mut fields = line.split('\t');
    let (name, type_name, default, word) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let effect = match word {
        "row" | "obsolete row" => None,
        "refused" => Some(SettingEffect::Refused),
        _ => Some(SettingEffect::Silent),
    };
    Some(KnownSetting {
        name,
        type_name,
        default: unescaped(default),
        is_obsolete: word.starts_with("obsolete"),
        alias_for: fields.next().unwrap_or(""),
        effect,
    })
}

/// A default as a user would write it. The few that are escaped live as long as the process.
fn unescaped(text: &'static str) -> &'static str {
    if !text.contains('\\') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            (_, Some('t')) => plain.push('\t'),
            (_, Some('n')) => plain.push('\n'),
            (_, Some('r')) => plain.push('\r'),
            (_, Some(other)) => plain.push(other),
            (c, None) => plain.push(c),
        }
    }
    plain.leak()
}

impl KnownSetting {
    /// Its row, if it has none of ours.
    pub(super) fn def(&self) -> Option<SettingDef> {
        let effect = self.effect?;
        let doc = match effect {
            SettingEffect::Refused => "A setting of ClickHouse; another value than the default is refused.",
            _ if self.is_obsolete => "An obsolete setting of ClickHouse; it has no effect.",
            _ => "A setting of ClickHouse; it has no effect here.",
        };
        Some(SettingDef { name: self.name, kind: self.kind(), default: self.default, effect, doc })
    }

    /// How its values are read. Types with words of their own are texts: nobody here reads what they say.
    fn kind(&self) -> SettingKind {
        match self.type_name {
            "Bool" => SettingKind::Bool,
            "UInt64" | "NonZeroUInt64" | "UInt32" => SettingKind::UInt64,
            "Int64" | "Int32" => SettingKind::Int64,
            "Float" | "Double" => SettingKind::Float,
            "Seconds" => SettingKind::Seconds,
            "Milliseconds" => SettingKind::Milliseconds,
            "MaxThreads" => SettingKind::Threads,
            _ => SettingKind::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        for (text, known) in [
            (include_str!("known/session.tsv"), known_session_settings()),
            (include_str!("known/table.tsv"), known_table_settings()),
        ] {
            assert_eq!(text.lines().count(), known.len());
            let words = ["row", "obsolete row", "silent", "refused", "obsolete"];
            assert!(text.lines().all(|line| words.contains(&line.split('\t').nth(3).unwrap_or("none"))));
        }
    }

    #[test]
    fn another_word_means_a_setting_that_is_there() {
        let known = known_session_settings();
        let aliases: Vec<&KnownSetting> = known.values().filter(|row| !row.alias_for.is_empty()).collect();
        assert!(aliases.len() > 40);
        assert!(
            aliases.iter().all(|row| known.get(row.alias_for).is_some_and(|real| real.alias_for.is_empty()))
        );
    }

    #[test]
    fn a_row_of_ours_is_marked_so() {
        for (known, ours) in [
            (known_session_settings(), super::super::session_rows()),
            (known_table_settings(), super::super::table::TABLE.to_vec()),
        ] {
            let is_ours = |name: &str| ours.iter().any(|row| row.name == name);
            let wrong: Vec<&str> = known
                .values()
                .filter(|row| row.effect.is_none() != is_ours(row.name))
                .map(|row| row.name)
                .collect();
            assert_eq!(wrong, Vec::<&str>::new());
        }
    }

    #[test]
    fn defaults_are_written_without_escapes() {
        assert_eq!(known_session_settings()["format_template_rows_between_delimiter"].default, "\n");
        assert_eq!(unescaped("a\\\\b\\t\\n"), "a\\b\t\n");
    }
}
