//! Settings: every name, type, default and meaning, in tables; and the values a session or a table has.
//!
//! Invariant: a value in [`Settings`] was checked against its type; an unknown name is an error that names the
//! nearest one. Must not know: who obeys a setting.

pub mod change;
mod foreign;
mod formats;
mod insert;
mod known;
mod query;
mod sources;
mod table;
mod value;
mod bounds;
mod older;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lexer::error::{Result, SqlError};

pub use change::{SettingChange, SettingText};
pub use known::{KnownSetting, known_session_settings, known_table_settings};
pub use value::SettingValue;

/// What values a setting takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingKind {
    Bool,
    UInt64,
    Int64,
    /// A count of bytes; `'1Gi'`, `'10M'` are understood.
    Bytes,
    /// A count of threads; `'auto'` and 0 leave it to us.
    Threads,
    Seconds,
    Milliseconds,
    Float,
    Text,
    /// One byte of text.
    Char,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// Whether setting it changes anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingEffect {
    Obeyed,
    /// Accepted because people have it in their statements; setting it to something else than its default warns.
    NoEffect,
    /// Accepted without a word: it decides about speed, logs or caches, or what it allows is refused by its own name.
    Silent,
    /// Another value than the default is an error: ignoring it could make an answer wrong.
    Refused,
}

/// One row of the table of settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SettingDef {
    pub name: &'static str,
    pub kind: SettingKind,
    /// As text, in the form a user would write it.
    pub default: &'static str,
    pub effect: SettingEffect,
    pub doc: &'static str,
}

/// Writes a table of settings: name, kind, default, effect, meaning.
macro_rules! settings {
    ($table:ident: $($name:ident $kind:expr, $default:literal, $effect:ident, $doc:literal;)*) => {
        pub(super) const $table: &[crate::SettingDef] = &[$(crate::SettingDef {
            name: stringify!($name),
            kind: $kind,
            default: $default,
            effect: crate::SettingEffect::$effect,
            doc: $doc,
        }),*];
    };
}
use model::ErrorCode;
use settings;

impl SettingKind {
    /// ClickHouse's name of the type.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Bool => "Bool",
            Self::UInt64 | Self::Bytes => "UInt64",
            Self::Int64 => "Int64",
            Self::Threads => "MaxThreads",
            Self::Seconds => "Seconds",
            Self::Milliseconds => "Milliseconds",
            Self::Float => "Float",
            Self::Text => "String",
            Self::Char => "Char",
            Self::Choice(_) => "Enum",
        }
    }
}

/// One family of settings, by name.
#[derive(Debug)]
pub struct SettingTable {
    rows: BTreeMap<&'static str, SettingRow>,
    /// "setting" or "table setting", for errors.
    noun: &'static str,
}

/// A row with its default as a value: a setting is asked for by every statement, most of them many times.
#[derive(Debug)]
struct SettingRow {
    def: &'static SettingDef,
    default: SettingValue,
    /// The name under which its value is kept: another one where this is another word for that.
    real: &'static str,
}

static SESSION: LazyLock<SettingTable> =
    LazyLock::new(|| SettingTable::new("setting", session_rows(), known_session_settings()));

fn session_rows() -> Vec<SettingDef> {
    [query::QUERY, insert::INSERT, sources::SOURCES, formats::FORMATS, foreign::FOREIGN].concat()
}

static TABLE: LazyLock<SettingTable> =
    LazyLock::new(|| SettingTable::new("table setting", table::TABLE.to_vec(), known_table_settings()));

/// Families of settings that decide which rows a reader makes of a file.
const DECIDING_FAMILIES: &[&str] = &["input_format_", "format_", "schema_inference_"];

/// Settings of no such family that do, or that change what a literal means.
const DECIDING: &[&str] = &[
    "session_timezone",
    "date_time_input_format",
    "bool_true_representation",
    "bool_false_representation",
    "insert_null_as_default",
    "s3_skip_empty_files",
    "s3_ignore_file_doesnt_exist",
];

/// Settings of these families that decide about speed alone.
const NOT_DECIDING: &[&str] = &[
    "input_format_parquet_filter_push_down",
    "input_format_parquet_bloom_filter_push_down",
    "schema_inference_use_cache_for_s3",
    "schema_inference_use_cache_for_file",
];

impl SettingDef {
    /// Whether the same INSERT puts in other rows under another value.
    pub fn decides_rows(&self) -> bool {
        let in_family = DECIDING_FAMILIES.iter().any(|family| self.name.starts_with(family));
        self.effect == SettingEffect::Obeyed
            && (in_family || DECIDING.contains(&self.name))
            && !NOT_DECIDING.contains(&self.name)
    }
}

/// Settings of a session and of a query.
pub fn session_settings() -> &'static SettingTable {
    &SESSION
}

/// Settings in the SETTINGS clause of CREATE TABLE.
pub fn table_settings() -> &'static SettingTable {
    &TABLE
}

/// Values of refused settings that ask for what is done anyway.
const HARMLESS: &[(&str, &str)] = &[
    ("max_table_size_to_drop", "0"),
    ("max_partition_size_to_drop", "0"),
    // Ways to the same answers.
    ("allow_simdjson", "0"),
    ("short_circuit_function_evaluation", "force_enable"),
];

/// Names that ClickHouse takes for settings of tables and does not list.
const OLDER_NAMES: &[(&str, &str)] = &[
    ("allow_experimental_block_number_column", "enable_block_number_column"),
    ("allow_experimental_block_offset_column", "enable_block_offset_column"),
];

impl SettingTable {
    fn new(
        noun: &'static str,
        mut rows: Vec<SettingDef>,
        known: &BTreeMap<&'static str, KnownSetting>,
    ) -> Self {
        rows.extend(known.values().filter_map(KnownSetting::def));
        let rows: &'static [SettingDef] = Vec::leak(rows);
        let row = |def: &'static SettingDef| {
            // A row of ours is obeyed under its own name.
            let other =
                known.get(def.name).filter(|known| known.def().is_some() && !known.alias_for.is_empty());
            let real = other.map_or(def.name, |known| known.alias_for);
            (def.name, SettingRow { def, default: SettingValue::default_of(def), real })
        };
        Self { rows: rows.iter().map(row).collect(), noun }
    }

    /// All rows, by name.
    pub fn iter(&self) -> impl Iterator<Item = &'static SettingDef> + '_ {
        self.rows.values().map(|row| row.def)
    }

    /// The row of a name, without looking for the nearest one; of another word for a setting that setting's.
    pub fn get(&self, name: &str) -> Option<&'static SettingDef> {
        let row = self.rows.get(name)?;
        Some(if row.real == row.def.name { row } else { self.rows.get(row.real)? }.def)
    }

    /// The row of a name, or an error that names the nearest one.
    pub fn find(&self, name: &str) -> Result<&'static SettingDef> {
        let older = OLDER_NAMES.iter().find(|(older, _)| *older == name).map(|(_, now)| *now);
        if let Some(def) = self.get(name).or_else(|| self.get(older?)) {
            return Ok(def);
        }
        let noun = self.noun;
        let nearest = self.rows.keys().min_by_key(|known| edit_distance(known, name)).copied();
        let hint = match nearest {
            Some(nearest) if edit_distance(nearest, name) <= name.len().div_ceil(2) => {
                format!(": maybe you meant \"{nearest}\"")
            }
            _ => String::new(),
        };
        Err(SqlError::new(ErrorCode::UNKNOWN_SETTING, format!("unknown {noun} \"{name}\"{hint}")))
    }
}

/// The values that differ from their defaults, over one table of settings.
#[derive(Clone, Debug)]
pub struct Settings {
    table: &'static SettingTable,
    changed: BTreeMap<&'static str, SettingValue>,
    /// Other defaults, of the version that `compatibility` names.
    older: BTreeMap<&'static str, SettingValue>,
}

impl Default for Settings {
    fn default() -> Self {
        Self::session()
    }
}

impl Settings {
    /// Nothing changed, over the settings of a session.
    pub fn session() -> Self {
        Self { table: session_settings(), changed: BTreeMap::new(), older: BTreeMap::new() }
    }

    /// Nothing changed, over the settings of a table.
    pub fn of_table() -> Self {
        Self { table: table_settings(), changed: BTreeMap::new(), older: BTreeMap::new() }
    }

    /// Applies one change. Answers with a warning when the setting has no effect.
    ///
    /// # Errors
    /// UNKNOWN_SETTING; a value that is not of the setting's type is TYPE_MISMATCH or CANNOT_PARSE_TEXT; a value that
    /// would have to change answers and does not is NOT_IMPLEMENTED.
    pub fn apply(&mut self, change: &SettingChange) -> Result<Option<String>> {
        let def = self.table.find(&change.name)?;
        if change.value == SettingText::Default {
            self.changed.remove(def.name);
            if change.names_a_version() {
                self.older.clear();
            }
            return Ok(None);
        }
        let value = SettingValue::read(def, &change.value)?;
        bounds::check(def, &value)?;
        let is_default = self.table.rows.get(def.name).is_some_and(|row| row.default == value);
        let is_harmless =
            HARMLESS.iter().any(|(name, harmless)| *name == def.name && value.to_string() == *harmless);
        if def.effect == SettingEffect::Refused && !is_default && !is_harmless {
            let what =
                format!("{} \"{}\" with another value than '{}'", self.table.noun, def.name, def.default);
            return Err(SqlError::not_implemented(what));
        }
        if change.names_a_version() {
            let version = value.to_string();
            let (older, kept) = older::defaults_of(&version, self.table)?;
            self.older = older;
            self.changed.insert(def.name, value);
            let kept = (!kept.is_empty()).then(|| kept.join(", "));
            return Ok(kept.map(|kept| format!("compatibility {version} does not change {kept}")));
        }
        let without_effect = def.effect == SettingEffect::NoEffect && !is_default;
        self.changed.insert(def.name, value);
        let warning = || format!("{} \"{}\" is accepted and has no effect", self.table.noun, def.name);
        Ok(without_effect.then(warning))
    }

    /// Applies the changes of one clause in order and collects the warnings.
    ///
    /// # Errors
    /// As [`Settings::apply`]; READONLY when `readonly` was set before and forbids a change. Nothing has changed then.
    pub fn apply_all(&mut self, changes: &[SettingChange]) -> Result<Vec<String>> {
        if changes.is_empty() {
            return Ok(vec![]);
        }
        let (mut changed, mut warnings) = (self.clone(), vec![]);
        for change in changes {
            warnings.extend(changed.apply(change)?);
        }
        for change in changes.iter().filter(|change| self.is_locked(&change.name)) {
            if self.get(&change.name) != changed.get(&change.name) {
                let message =
                    format!("{} \"{}\" cannot be changed: readonly is set", self.table.noun, change.name);
                return Err(SqlError::new(ErrorCode::READONLY, message));
            }
        }
        *self = changed;
        Ok(warnings)
    }

    /// Whether `readonly` forbids statements to change a setting: 1 any of them, 2 only itself.
    pub fn is_locked(&self, name: &str) -> bool {
        match self.changed.get("readonly").map_or(0, SettingValue::as_u64) {
            0 => false,
            1 => true,
            _ => name == "readonly",
        }
    }

    /// Sets a value from text, as a URL or a configuration gives it.
    pub fn set(&mut self, name: &str, text: &str) -> Result<Option<String>> {
        self.apply(&SettingChange { name: name.to_owned(), value: SettingText::Quoted(text.to_owned()) })
    }

    /// The current value. A name that is in no table is a mistake in our code and reads as an empty text.
    pub fn get(&self, name: &str) -> SettingValue {
        self.value(name).cloned().unwrap_or(SettingValue::Text(String::new()))
    }

    fn value(&self, name: &str) -> Option<&SettingValue> {
        if let Some(value) = self.changed.get(name) {
            return Some(value);
        }
        let row = self.table.rows.get(name);
        debug_assert!(row.is_some(), "no setting {name}");
        row.map(|row| {
            let given = self.changed.get(row.real).or_else(|| self.older.get(row.real));
            given.unwrap_or(&row.default)
        })
    }

    /// Counts, bytes, threads, milliseconds, and seconds of whole numbers; booleans as 0 and 1.
    pub fn get_u64(&self, name: &str) -> u64 {
        self.value(name).map_or(0, SettingValue::as_u64)
    }

    pub fn get_bool(&self, name: &str) -> bool {
        self.get_u64(name) != 0
    }

    pub fn get_f64(&self, name: &str) -> f64 {
        self.value(name).map_or(0.0, SettingValue::as_f64)
    }

    pub fn get_text(&self, name: &str) -> String {
        self.value(name).map(ToString::to_string).unwrap_or_default()
    }

    /// `session_timezone`, or UTC: results do not depend on where the process runs.
    pub fn time_zone(&self) -> String {
        let given = self.get_text("session_timezone");
        if given.is_empty() { "UTC".to_owned() } else { given }
    }

    /// True when a value was given, even if it is the default.
    pub fn is_changed(&self, name: &str) -> bool {
        self.changed.contains_key(self.table.get(name).map_or(name, |def| def.name))
    }

    /// The values that were given, by name.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, &SettingValue)> {
        self.changed.iter().map(|(name, value)| (*name, value))
    }

    /// Those of them that decide which rows an INSERT puts in, where they are not as by default.
    pub fn deciding_rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let differs = |name: &str, value: &SettingValue| {
            let def = self.table.get(name).filter(|def| def.decides_rows());
            def.is_some_and(|def| *value != SettingValue::default_of(def))
        };
        let older = self.older.iter().filter(|(name, _)| !self.changed.contains_key(*name));
        let all = self.changed().chain(older.map(|(name, value)| (*name, value)));
        let deciding = all.filter(move |(name, value)| differs(name, value));
        deciding.map(|(name, value)| (name, value.to_string()))
    }

    /// These settings, but the ones that decide rows are as [`Settings::deciding_rows`] gave them.
    ///
    /// # Errors
    /// As [`Settings::apply`], of a setting another version knew.
    pub fn deciding_as<'a>(&self, kept: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Settings> {
        let mut settings = self.clone();
        let decides = |name: &str| self.table.get(name).is_some_and(SettingDef::decides_rows);
        settings.changed.retain(|name, _| !decides(name));
        settings.older.retain(|name, _| !decides(name));
        kept.into_iter().try_for_each(|(name, value)| settings.set(name, value).map(drop))?;
        Ok(settings)
    }

    /// Every setting with its current value, for `system.settings`.
    pub fn iter(&self) -> impl Iterator<Item = (&'static SettingDef, SettingValue)> + '_ {
        self.table.iter().map(|def| (def, self.get(def.name)))
    }
}

/// Levenshtein's distance, without regard to case.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<u8> = b.bytes().map(|c| c.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a_byte) in a.bytes().map(|c| c.to_ascii_lowercase()).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b_byte) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(a_byte != *b_byte);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: SettingText) -> std::result::Result<String, String> {
        let mut settings = Settings::session();
        let change = SettingChange { name: name.to_owned(), value };
        match settings.apply(&change) {
            Ok(_) => Ok(settings.get(name).to_string()),
            Err(e) => Err(format!("{} {}", e.code.number(), e.message)),
        }
    }

    #[test]
    fn a_name_means_one_setting() {
        for rows in [session_rows(), table::TABLE.to_vec()] {
            let mut names: Vec<&str> = rows.iter().map(|setting| setting.name).collect();
            names.sort_unstable();
            let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{twice:?}");
        }
    }

    #[test]
    fn values_are_read_by_type() {
        let quoted = |name: &str, text: &str| set(name, SettingText::Quoted(text.to_owned()));
        let bare = |name: &str, text: &str| set(name, SettingText::Bare(text.to_owned()));
        assert_eq!(quoted("max_memory_usage", "1Gi").unwrap(), "1073741824");
        assert_eq!(quoted("max_memory_usage", "10M").unwrap(), "10000000");
        assert_eq!(bare("max_memory_usage", "4e6").unwrap(), "4000000");
        assert!(bare("max_memory_usage", "1.5e0").is_err());
        assert_eq!(quoted("big_query_profile_threshold", "500ms").unwrap(), "0.5");
        assert_eq!(quoted("big_query_profile_threshold", "2m").unwrap(), "120");
        assert_eq!(bare("max_execution_time", "1.5").unwrap(), "1.5");
        assert_eq!(bare("max_threads", "8").unwrap(), "8");
        assert_eq!(quoted("max_threads", "auto").unwrap(), "0");
        assert_eq!(bare("optimize_on_insert", "false").unwrap(), "0");
        assert_eq!(quoted("remote_filesystem_read_method", "read").unwrap(), "read");
        let e = quoted("max_threads", "many").unwrap_err();
        assert_eq!(e, "6 setting \"max_threads\" takes a count of threads or 'auto', not 'many'");
        let e = quoted("remote_filesystem_read_method", "x").unwrap_err();
        assert_eq!(e, "36 setting \"remote_filesystem_read_method\" takes 'read' or 'threadpool', not 'x'");
    }

    #[test]
    fn an_unknown_setting_names_the_nearest() {
        let e = set("max_thread", SettingText::Bare("1".into())).unwrap_err();
        assert_eq!(e, "115 unknown setting \"max_thread\": maybe you meant \"max_threads\"");
        let e = Settings::of_table().set("index_granularty", "1").unwrap_err();
        assert_eq!(
            e.message,
            "unknown table setting \"index_granularty\": maybe you meant \"index_granularity\""
        );
    }

    #[test]
    fn every_default_is_a_value_of_its_type_and_every_row_is_documented() {
        for table in [session_settings(), table_settings()] {
            for def in table.iter() {
                SettingValue::read(def, &SettingText::Quoted(def.default.to_owned()))
                    .unwrap_or_else(|e| panic!("{}: {e}", def.name));
                assert!(def.doc.ends_with('.') && def.doc.len() > 10, "{}", def.name);
            }
        }
    }

    #[test]
    fn a_setting_without_effect_warns_only_when_it_differs() {
        let mut settings = Settings::session();
        assert_eq!(settings.set("log_queries", "1").unwrap(), None);
        assert!(settings.set("async_insert", "0").unwrap().unwrap().contains("no effect"));
    }

    #[test]
    fn a_setting_that_would_change_answers_is_refused_unless_it_is_the_default() {
        let mut settings = Settings::session();
        assert_eq!(settings.set("cast_keep_nullable", "0").unwrap(), None);
        let e = settings.set("cast_keep_nullable", "1").unwrap_err();
        assert_eq!((e.code.number(), settings.get_text("cast_keep_nullable")), (48, "0".into()));
    }

    #[test]
    fn settings_of_clickhouse_are_known_and_another_word_means_the_same_setting() {
        let mut settings = Settings::session();
        assert_eq!(settings.set("compile_aggregate_expressions", "0").unwrap(), None);
        assert_eq!(settings.set("optimize_read_in_window_order", "0").unwrap(), None);
        assert_eq!(settings.get_text("query_plan_reuse_storage_ordering_for_window_functions"), "0");
        assert_eq!(settings.get_text("optimize_read_in_window_order"), "0");
        assert!(settings.is_changed("optimize_read_in_window_order"));
        assert_eq!(settings.set("cast_keep_nullable", "0").unwrap(), None);
        let e = settings.set("cast_keep_nullable", "1").unwrap_err();
        assert_eq!(
            (e.code.number(), e.message.as_str()),
            (48, "setting \"cast_keep_nullable\" with another value than '0' is not supported")
        );
        assert_eq!(
            Settings::of_table().set("vertical_merge_algorithm_min_rows_to_activate", "1").unwrap(),
            None
        );
    }

    #[test]
    fn settings_that_decide_rows_are_kept_and_put_back() {
        let mut then = Settings::session();
        for (name, value) in [
            ("session_timezone", "Asia/Tokyo"),
            ("format_csv_delimiter", ";"),
            ("input_format_null_as_default", "1"),
            ("schema_inference_use_cache_for_s3", "0"),
            ("max_threads", "3"),
        ] {
            then.set(name, value).unwrap();
        }
        let kept: Vec<(&str, String)> = then.deciding_rows().collect();
        let expected = [("format_csv_delimiter", ";"), ("session_timezone", "Asia/Tokyo")];
        assert_eq!(kept, expected.map(|(name, value)| (name, value.to_owned())));
        let mut now = Settings::session();
        now.set("input_format_csv_skip_first_lines", "2").unwrap();
        now.set("max_threads", "5").unwrap();
        let resumed = now.deciding_as(kept.iter().map(|(name, value)| (*name, value.as_str()))).unwrap();
        assert_eq!(resumed.deciding_rows().collect::<Vec<_>>(), kept);
        assert_eq!(resumed.get_u64("max_threads"), 5);
    }

    #[test]
    fn readonly_locks_settings() {
        let change = |name: &str, value: &str| SettingChange {
            name: name.to_owned(),
            value: SettingText::Bare(value.to_owned()),
        };
        let mut settings = Settings::session();
        settings.apply_all(&[change("readonly", "2"), change("max_threads", "3")]).unwrap();
        settings.apply_all(&[change("max_threads", "4")]).unwrap();
        let e = settings.apply_all(&[change("max_threads", "5"), change("readonly", "0")]).unwrap_err();
        assert_eq!((e.code.number(), settings.get_u64("max_threads")), (164, 4));
        let mut settings = Settings::session();
        settings.apply_all(&[change("readonly", "1")]).unwrap();
        settings.apply_all(&[change("readonly", "1"), change("max_threads", "0")]).unwrap();
        assert_eq!(settings.apply_all(&[change("max_threads", "5")]).unwrap_err().code.number(), 164);
    }
}
