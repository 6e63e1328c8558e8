//! One value of a setting, read by the setting's type.

use std::fmt;

use model::ErrorCode;
use model::calendar::zone::Zone;

use super::known::known_session_settings;
use super::{SettingDef, SettingKind};
use crate::change::SettingText;
use lexer::error::{Result, SqlError};

#[derive(Clone, PartialEq, Debug)]
pub enum SettingValue {
    UInt(u64),
    Int(i64),
    Float(f64),
    Text(String),
}

impl SettingValue {
    /// Reads a value as the setting's type demands.
    pub(super) fn read(def: &SettingDef, value: &SettingText) -> Result<Self> {
        let text = value.text().unwrap_or(def.default);
        let read = match def.kind {
            SettingKind::Bool => bool_of(text).map(|b| Self::UInt(u64::from(b))),
            SettingKind::UInt64 | SettingKind::Bytes => bytes_of(text).map(Self::UInt),
            SettingKind::Threads if text.eq_ignore_ascii_case("auto") => Some(Self::UInt(0)),
            SettingKind::Threads => bytes_of(text).map(Self::UInt),
            SettingKind::Milliseconds => text.parse().ok().map(Self::UInt),
            SettingKind::Int64 => text.parse().ok().map(Self::Int),
            SettingKind::Seconds => seconds_of(text).map(Self::Float),
            SettingKind::Float => text.parse().ok().map(Self::Float),
            SettingKind::Text => Some(Self::Text(text.to_owned())),
            SettingKind::Char => (text.len() == 1).then(|| Self::Text(text.to_owned())),
            SettingKind::Choice(words) => words
                .iter()
                .find(|word| word.eq_ignore_ascii_case(text))
                .map(|word| Self::Text((*word).to_owned())),
        };
        if def.name == "session_timezone" && Zone::named(text).is_none() {
            return Err(SqlError::new(ErrorCode::BAD_ARGUMENTS, format!("invalid time zone: {text}")));
        }
        read.ok_or_else(|| wrong(def, text))
    }

    pub(super) fn default_of(def: &SettingDef) -> Self {
        let default = SettingText::Quoted(def.default.to_owned());
        Self::read(def, &default).unwrap_or(Self::Text(String::new()))
    }

    pub fn as_u64(&self) -> u64 {
        match self {
            Self::UInt(n) => *n,
            Self::Int(n) => u64::try_from(*n).unwrap_or(0),
            Self::Float(n) => format!("{:.0}", n.max(0.0).floor()).parse().unwrap_or(u64::MAX),
            Self::Text(_) => 0,
        }
    }

    pub fn as_f64(&self) -> f64 {
        match self {
            Self::Float(n) => *n,
            other => other.to_string().parse().unwrap_or(0.0),
        }
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UInt(n) => write!(f, "{n}"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Float(n) => write!(f, "{n}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

fn bool_of(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

/// `1024`, `'1Gi'`, `'10M'`: decimal suffixes count in thousands, those with i in 1024. `1e6` is a whole number, too.
fn bytes_of(text: &str) -> Option<u64> {
    if text.contains(['e', 'E']) {
        let number: f64 = text.parse().ok().filter(|number: &f64| *number >= 0.0 && number.fract() == 0.0)?;
        return format!("{number:.0}").parse().ok();
    }
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let base: u64 = if suffix.to_ascii_lowercase().contains('i') { 1024 } else { 1000 };
    let power = match suffix.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(base.checked_pow(power)?)
}

/// `30`, `'30s'`, `'500ms'`, `'2m'`, `'1h'`: seconds unless a unit says otherwise.
fn seconds_of(text: &str) -> Option<f64> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let with_unit = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(*unit)?.trim_end().parse().ok()?;
        Some(number * seconds)
    });
    with_unit.or_else(|| text.parse().ok())
}

/// Some kinds of words have a code of their own.
fn code_of_words(name: &str) -> ErrorCode {
    match known_session_settings().get(name).map(|known| known.type_name) {
        Some("OverflowMode" | "OverflowModeGroupBy") => ErrorCode::UNKNOWN_OVERFLOW_MODE,
        Some("TotalsMode") => ErrorCode::UNKNOWN_TOTALS_MODE,
        Some("JoinStrictness") => ErrorCode::UNKNOWN_JOIN,
        _ => ErrorCode::BAD_ARGUMENTS,
    }
}

fn wrong(def: &SettingDef, text: &str) -> SqlError {
    let (code, wanted) = match def.kind {
        SettingKind::Bool => (ErrorCode::CANNOT_PARSE_TEXT, "0, 1, true or false".to_owned()),
        SettingKind::UInt64 => (ErrorCode::CANNOT_PARSE_TEXT, "a whole number".to_owned()),
        SettingKind::Int64 => (ErrorCode::CANNOT_PARSE_TEXT, "a whole number".to_owned()),
        SettingKind::Bytes => {
            (ErrorCode::CANNOT_PARSE_TEXT, "a count of bytes such as 1048576 or '1Mi'".to_owned())
        }
        SettingKind::Threads => (ErrorCode::CANNOT_PARSE_TEXT, "a count of threads or 'auto'".to_owned()),
        SettingKind::Milliseconds => (ErrorCode::CANNOT_PARSE_TEXT, "a count of milliseconds".to_owned()),
        SettingKind::Seconds => (ErrorCode::CANNOT_PARSE_TEXT, "a count of seconds".to_owned()),
        SettingKind::Float => (ErrorCode::CANNOT_PARSE_TEXT, "a number".to_owned()),
        SettingKind::Text => (ErrorCode::BAD_ARGUMENTS, "a text".to_owned()),
        SettingKind::Char => (ErrorCode::BAD_ARGUMENTS, "exactly one character".to_owned()),
        SettingKind::Choice(words) => {
            let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            (code_of_words(def.name), quoted.join(" or "))
        }
    };
    SqlError::new(code, format!("setting \"{}\" takes {wanted}, not '{text}'", def.name))
}
