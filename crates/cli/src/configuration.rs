//! Configuration files: TOML. `gristmill local --config FILE` takes one table for each named collection, `gristmill server`
//! that and what `serve_file` reads.
//!
//! ```toml
//! [named_collections.posts]
//! url = "https://bucket.s3.eu-west-1.amazonaws.com/posts/"
//! access_key_id = "AKIA.."
//! secret_access_key = { value = "..", overridable = false }
//! ```
//! Invariant: what is not understood is an error that names file and key and never a value: values are credentials.
//! Must not know: what the keys of a collection mean.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::{Collection, CollectionValue};
use toml_edit::{DocumentMut, Item, Value};

use crate::failure::Failure;

/// What a configuration file may say.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub named_collections: BTreeMap<String, Collection>,
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Configuration, Failure> {
    read_with(path, parse)
}

/// Reads a file of another kind.
pub(crate) fn read_with<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("configuration file \"{shown}\" cannot be read: {error}")))?;
    parse(&text).map_err(|problem| Failure::new(format!("configuration file \"{shown}\": {problem}")))
}

/// The text as a document.
pub(crate) fn document(text: &str) -> Result<DocumentMut, String> {
    // The parser's own message quotes the line, which may hold a secret.
    text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not TOML")
    })
}

fn parse(text: &str) -> Result<Configuration, String> {
    let mut configuration = Configuration::default();
    for (key, item) in document(text)?.iter() {
        if key != "named_collections" {
            return Err(format!("\"{key}\" is not known; there is named_collections"));
        }
        configuration.named_collections = named_collections(item)?;
    }
    Ok(configuration)
}

/// The tables below `named_collections`.
pub(crate) fn named_collections(item: &Item) -> Result<BTreeMap<String, Collection>, String> {
    let tables = item.as_table_like().ok_or("\"named_collections\" is not a table")?;
    tables.iter().map(|(name, item)| Ok((name.to_owned(), collection(name, item)?))).collect()
}

fn collection(name: &str, item: &Item) -> Result<Collection, String> {
    let entries = item.as_table_like().filter(|entries| !entries.is_empty());
    let entries = entries.ok_or_else(|| format!("named collection \"{name}\" is not a table with keys"))?;
    let wrong =
        |key: &str| format!("key \"{key}\" of named collection \"{name}\" is not a text, number or flag");
    let mut collection = Collection::new();
    for (key, item) in entries.iter() {
        let (value, overridable) = match item.as_table_like() {
            Some(parts) => {
                if let Some((part, _)) =
                    parts.iter().find(|(part, _)| !["value", "overridable"].contains(part))
                {
                    return Err(format!(
                        "\"{part}\" of key \"{key}\" of named collection \"{name}\" is not known; there are value \
                         and overridable"
                    ));
                }
                let overridable = match parts.get("overridable") {
                    Some(item) => Some(item.as_bool().ok_or_else(|| wrong(key))?),
                    None => None,
                };
                (parts.get("value").and_then(Item::as_value), overridable)
            }
            None => (item.as_value(), None),
        };
        let text = value.and_then(text_of).ok_or_else(|| wrong(key))?;
        collection.insert(key.into(), CollectionValue { text, overridable });
    }
    Ok(collection)
}

/// The value as an argument has it.
fn text_of(value: &Value) -> Option<Arc<str>> {
    Some(match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => number.value().to_string().into(),
        Value::Float(number) => number.value().to_string().into(),
        Value::Boolean(flag) => if *flag.value() { "1" } else { "0" }.into(),
        Value::Datetime(_) | Value::Array(_) | Value::InlineTable(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_are_tables() {
        let read = parse(
            "[named_collections.a]\nurl = 'http://h/b/'\nno_sign_request = true\nn = 3\n\
             [named_collections.\"b c\"]\nkey = { value = 's', overridable = false }\n",
        )
        .unwrap();
        let value = |text: &str, overridable| CollectionValue { text: text.into(), overridable };
        let a = [("url", "http://h/b/"), ("no_sign_request", "1"), ("n", "3")];
        let a: Collection = a.into_iter().map(|(key, text)| (key.into(), value(text, None))).collect();
        let b: Collection = [("key".into(), value("s", Some(false)))].into();
        assert_eq!(read.named_collections, [("a".to_owned(), a), ("b c".to_owned(), b)].into());
    }

    #[test]
    fn problems_name_keys_and_never_values() {
        for (text, problem) in [
            ("a = 1", "\"a\" is not known; there is named_collections"),
            ("[named_collections.n]\nk = 's3cr3t", "line 2 is not TOML"),
            ("[named_collections]\nn = 's3cr3t'", "named collection \"n\" is not a table with keys"),
            ("[named_collections.n]", "named collection \"n\" is not a table with keys"),
            (
                "[named_collections.n]\nk = ['s3cr3t']",
                "key \"k\" of named collection \"n\" is not a text, number or flag",
            ),
            (
                "[named_collections.n]\nk = { value = 's3cr3t', secret = true }",
                "\"secret\" of key \"k\" of named collection \"n\" is not known; there are value and overridable",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), problem, "{text}");
        }
    }
}
