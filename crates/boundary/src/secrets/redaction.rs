//! Credentials taken out of what people and logs see: messages, plans, texts with URLs.
//!
//! A statement's text tells where its credentials stand; whatever is answered about it is searched for them, so that no
//! message has to know. Invariant: what leaves through [`Secrets::scrub`] holds no text that [`masked`] would hide, but
//! for texts too short to be a credential. Must not know: where the text goes.

use model::{MergeMode, TableDef, TableEngine};

use stores::calls::urls::{HIDDEN_PART, masked_urls};

use crate::error::Error;
use crate::secrets::text::{hidden_texts, masked};

/// Shorter texts are words and numbers that a message may hold by chance.
const SECRET_CHARACTERS_MIN: usize = 4;

/// Bytes of a statement that are searched: data of an INSERT may follow, and holds no arguments.
const SEARCHED_BYTES_MAX: usize = 1 << 20;

/// Keys of a named collection whose values are no credentials; every other key may be one.
const SHOWN_KEYS: [&str; 20] = [
    "url",
    "filename",
    "path",
    "format",
    "structure",
    "compression",
    "compression_method",
    "container",
    "container_name",
    "blob_path",
    "blobpath",
    "account_name",
    "storage_account_url",
    "region",
    "method",
    "no_sign_request",
    "use_environment_credentials",
    "expiration_window_seconds",
    "partition_strategy",
    "partition_columns_in_data_file",
];

/// The credentials of one statement.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Longest first, so that none is replaced in part.
    texts: Vec<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.texts.len())
    }
}

impl Secrets {
    /// Those that stand in a statement.
    pub fn of(statement: &str) -> Secrets {
        let mut end = statement.len().min(SEARCHED_BYTES_MAX);
        while !statement.is_char_boundary(end) {
            end -= 1;
        }
        Secrets::default().with(hidden_texts(&statement[..end]))
    }

    /// Both.
    pub fn and(self, other: &Secrets) -> Secrets {
        self.with(other.texts.iter().cloned())
    }

    /// With those of a named collection.
    pub fn with_collection(self, entries: &catalog::Collection) -> Secrets {
        let secret = entries.iter().filter(|(key, _)| !SHOWN_KEYS.contains(&key.as_ref()));
        self.with(secret.map(|(_, value)| value.text.to_string()))
    }

    fn with(mut self, texts: impl IntoIterator<Item = String>) -> Secrets {
        let long = |text: &String| text.chars().count() >= SECRET_CHARACTERS_MIN;
        self.texts.extend(texts.into_iter().filter(long));
        self.texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.texts.dedup();
        self
    }

    /// The text without them.
    pub fn scrub(&self, text: &str) -> String {
        let shown = self.texts.iter().fold(text.to_owned(), |shown, secret| match shown.contains(secret) {
            true => shown.replace(secret, HIDDEN_PART),
            false => shown,
        });
        masked_urls(&shown)
    }

    pub fn scrub_error(&self, error: Error) -> Error {
        let hint = error.hint.as_deref().map(|hint| self.scrub(hint));
        Error { message: self.scrub(&error.message), hint, ..error }
    }
}

/// The engine with its arguments as people may see it.
pub fn shown_engine(def: &TableDef) -> String {
    let name = def.engine_name();
    if def.is_in_old_syntax() {
        return format!("{name}{}", sql::display_expression(def.engine_arguments.text(), def));
    }
    if !def.mode.is_plain() {
        return format!("{name}{}", mode_arguments(def));
    }
    if matches!(def.engine, TableEngine::View | TableEngine::MaterializedView) {
        let select = def.engine_arguments.text();
        return match def.kept_text(sql::VIEW_SETTINGS) {
            Some(settings) => masked(&format!("{select} SETTINGS {settings}")),
            None => masked(select),
        };
    }
    let is_shown_whole = def.engine.is_external() || def.engine.is_query() || def.engine == TableEngine::Join;
    match is_shown_whole {
        true => masked(&format!("{name}({})", def.engine_arguments.text())),
        false => name.to_owned(),
    }
}

/// The columns of a mode in parentheses, those that are added as one tuple.
fn mode_arguments(def: &TableDef) -> String {
    let columns = def.mode.columns();
    let names = columns.iter().filter_map(|id| def.column_by_id(*id));
    let names: Vec<String> = names.map(|column| sql::escape::quote_name(&column.name)).collect();
    match (&def.mode, names.as_slice()) {
        (_, []) => String::new(),
        (MergeMode::Summing { .. } | MergeMode::Coalescing { .. }, [_, _, ..]) => {
            format!("(({}))", names.join(", "))
        }
        _ => format!("({})", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_said_of_a_statement_loses_its_credentials() {
        let secrets = Secrets::of(r"SELECT * FROM s3('http://h/b', 'AKIA', 'it\'s secret', 'CSV')");
        assert_eq!(
            secrets.scrub("at 'it's secret' or it\\'s secret of AKIA: CSV"),
            "at '[HIDDEN]' or [HIDDEN] of [HIDDEN]: CSV"
        );
        let value = |text: &str| catalog::CollectionValue { text: text.into(), overridable: None };
        let entries = [("url".into(), value("http://host")), ("session_token".into(), value("tokentok"))];
        let secrets = Secrets::default().with_collection(&entries.into());
        assert_eq!(secrets.scrub("http://host said tokentok"), "http://host said [HIDDEN]");
    }
}
