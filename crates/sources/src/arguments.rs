//! Arguments of `s3(...)`, `s3Cluster(...)` and `file(...)`, as a statement spells them.
//!
//! Invariant: which position means what follows ClickHouse's table exactly; the reading chosen is kept in words so
//! that EXPLAIN can say it. Nothing here prints a secret. Must not know: what a URL means.

use std::fmt;

use crate::credentials::{AccessKey, GivenCredentials, Secret};
use crate::error::{Result, SourceError, code};
use crate::format;

/// A call of a table function, with constants for arguments.
#[derive(Clone, PartialEq)]
pub struct SourceCall {
    pub function: String,
    pub arguments: Vec<Argument>,
}

#[derive(Clone, PartialEq)]
pub struct Argument {
    /// Of `name = value`.
    pub name: Option<String>,
    pub value: ArgumentValue,
}

#[derive(Clone, PartialEq)]
pub enum ArgumentValue {
    Text(String),
    Number(String),
    /// A bare word: `NOSIGN`, `auto`, a format or the name of a collection.
    Word(String),
    /// `headers('k' = 'v')` and the like.
    Call {
        name: String,
        arguments: Vec<Argument>,
    },
}

/// The arguments sorted out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectArguments {
    /// URL of `s3`, path of `file`.
    pub url: String,
    pub credentials: GivenCredentials,
    /// `None` is `auto`, here and below.
    pub format: Option<String>,
    pub structure: Option<String>,
    pub compression: Option<String>,
    /// The reading of the positions that was chosen: `(url, format, structure)`.
    pub reading: String,
}

const S3_SIGNATURES: &str = "s3(url), s3(url, NOSIGN), s3(url, format), s3(url, format, structure), \
    s3(url, format, structure, compression), s3(url, access_key_id, secret_access_key), \
    s3(url, access_key_id, secret_access_key, session_token), \
    s3(url, access_key_id, secret_access_key[, session_token], format[, structure[, compression]]), \
    s3(url, NOSIGN, format[, structure[, compression]])";
const FILE_SIGNATURES: &str = "file(path[, format[, structure[, compression]]])";

/// Meaning of one position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Url,
    NoSign,
    KeyId,
    KeySecret,
    Token,
    Format,
    Structure,
    Compression,
}

impl Slot {
    fn name(self) -> &'static str {
        match self {
            Slot::Url => "url",
            Slot::NoSign => "NOSIGN",
            Slot::KeyId => "access_key_id",
            Slot::KeySecret => "secret_access_key",
            Slot::Token => "session_token",
            Slot::Format => "format",
            Slot::Structure => "structure",
            Slot::Compression => "compression_method",
        }
    }
}

impl ArgumentValue {
    fn text(&self) -> Option<&str> {
        match self {
            ArgumentValue::Text(text) | ArgumentValue::Number(text) | ArgumentValue::Word(text) => Some(text),
            ArgumentValue::Call { .. } => None,
        }
    }
}

impl Argument {
    fn shown(&self, secret: bool) -> String {
        let value = match &self.value {
            _ if secret => "'[HIDDEN]'".to_owned(),
            ArgumentValue::Text(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            ArgumentValue::Number(text) | ArgumentValue::Word(text) => text.clone(),
            // Headers carry tokens.
            ArgumentValue::Call { name, .. } => format!("{name}('[HIDDEN]')"),
        };
        match &self.name {
            Some(name) => format!("{name} = {value}"),
            None => value,
        }
    }
}

impl SourceCall {
    /// Sorts the arguments of `s3`, `s3Cluster` or `file`.
    pub fn object_arguments(&self) -> Result<ObjectArguments> {
        let mut arguments = self.arguments.as_slice();
        match self.function.to_ascii_lowercase().as_str() {
            "s3" => {}
            "s3cluster" => arguments = without_cluster(arguments)?,
            "file" => return object_arguments(&self.function, arguments, file_slots),
            "gcs" | "url" | "azureblobstorage" | "hdfs" | "iceberg" | "deltalake" | "urlcluster"
            | "filecluster" => {
                return Err(SourceError::unsupported(format!(
                    "table function \"{}\" is not supported yet; s3, s3Cluster and file are",
                    self.function
                )));
            }
            _ => {
                return Err(SourceError::bad_arguments(format!(
                    "unknown table function \"{}\"",
                    self.function
                )));
            }
        }
        object_arguments(&self.function, arguments, s3_slots)
    }

    /// The call as it may be shown: secrets are `[HIDDEN]`.
    pub fn masked(&self) -> String {
        let skipped = usize::from(self.function.eq_ignore_ascii_case("s3Cluster"));
        let positional: Vec<&Argument> =
            self.arguments.iter().skip(skipped).filter(|argument| argument.name.is_none()).collect();
        let texts: Option<Vec<&str>> = positional.iter().map(|argument| argument.value.text()).collect();
        let slots = texts.and_then(|texts| s3_slots(&texts)).unwrap_or_default();
        let secret = |i: usize, argument: &Argument| {
            let slot = i.checked_sub(skipped).and_then(|i| slots.get(i));
            let name = argument.name.as_deref().unwrap_or_default();
            matches!(slot, Some(Slot::KeySecret | Slot::Token))
                || ["secret_access_key", "session_token"].contains(&name)
        };
        let shown: Vec<String> = self
            .arguments
            .iter()
            .enumerate()
            .map(|(i, argument)| argument.shown(secret(i, argument)))
            .collect();
        format!("{}({})", self.function, shown.join(", "))
    }
}

/// Whether a log may show an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Showing {
    Shown,
    /// An access key, its secret or a session token.
    Credential,
    /// Nothing we know: a function that is not read yet, or a mistake.
    Unclear,
}

/// An argument as a log sees it: name, and text of a value that is one literal, word or number.
pub type SeenArgument<'a> = (Option<&'a str>, Option<&'a str>);

/// Which arguments of a table function may be shown; `None` for a function that takes no credentials. `is_whole` is
/// false when more arguments may follow.
pub fn showing(function: &str, arguments: &[SeenArgument<'_>], is_whole: bool) -> Option<Vec<Showing>> {
    let function = function.to_ascii_lowercase();
    // Leading positions that are never credentials.
    let leading = match function.as_str() {
        "s3" | "gcs" | "oss" | "url" => 1,
        "s3cluster" | "urlcluster" => 2,
        "azureblobstorage" => 0,
        _ => return None,
    };
    let skipped = usize::from(function == "s3cluster");
    let positional = arguments.iter().skip(skipped).filter(|(name, _)| name.is_none());
    let texts: Option<Vec<&str>> = positional.map(|(_, text)| *text).collect();
    let texts = texts.filter(|_| is_whole && function.starts_with("s3"));
    let slots = texts.and_then(|texts| s3_slots(&texts)).unwrap_or_default();
    let of_slot = |slot: &Slot| match slot {
        Slot::KeyId | Slot::KeySecret | Slot::Token => Showing::Credential,
        Slot::Url | Slot::NoSign | Slot::Format | Slot::Structure | Slot::Compression => Showing::Shown,
    };
    let of_position = |at: usize| match at.checked_sub(skipped).and_then(|at| slots.get(at)) {
        _ if at < leading && arguments.get(at).is_some_and(|(_, text)| text.is_some()) => Showing::Shown,
        // Only a guess by position: a key in the wrong place would be shown.
        None | Some(Slot::Format | Slot::Structure | Slot::Compression) => Showing::Unclear,
        Some(slot) => of_slot(slot),
    };
    let of_name = |name: &str| named_slot(name, "1").map_or(Showing::Unclear, |slot| of_slot(&slot));
    let shown =
        arguments.iter().enumerate().map(|(at, (name, _))| name.map_or_else(|| of_position(at), of_name));
    Some(shown.collect())
}

impl fmt::Debug for SourceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

fn without_cluster(arguments: &[Argument]) -> Result<&[Argument]> {
    let Some((cluster, rest)) = arguments.split_first() else {
        return Err(wrong_count("s3Cluster", 0));
    };
    match cluster.value.text() {
        Some("default") if cluster.name.is_none() => Ok(rest),
        other => Err(SourceError::bad_arguments(format!(
            "cluster \"{}\" does not exist; the only one is \"default\"",
            other.unwrap_or("?")
        ))),
    }
}

fn wrong_count(function: &str, count: usize) -> SourceError {
    let signatures = if function.eq_ignore_ascii_case("file") { FILE_SIGNATURES } else { S3_SIGNATURES };
    SourceError::bad_arguments(format!(
        "table function \"{function}\" cannot be called with {count} arguments"
    ))
    .with_code(code::NUMBER_OF_ARGUMENTS_DOESNT_MATCH)
    .with_hint(format!("it is one of {signatures}"))
}

fn object_arguments(
    function: &str,
    arguments: &[Argument],
    slots_of: fn(&[&str]) -> Option<Vec<Slot>>,
) -> Result<ObjectArguments> {
    let mut positional = Vec::new();
    let mut named: Vec<(&str, &str)> = Vec::new();
    for argument in arguments {
        let Some(text) = argument.value.text() else {
            let ArgumentValue::Call { name, .. } = &argument.value else { continue };
            return Err(SourceError::unsupported(format!(
                "\"{name}()\" in {function}() is not supported yet"
            )));
        };
        match &argument.name {
            Some(name) => named.push((name, text)),
            None if named.is_empty() => positional.push((text, &argument.value)),
            None => {
                return Err(SourceError::bad_arguments(format!(
                    "positional argument '{text}' of {function}() stands after a named one"
                )));
            }
        }
    }
    if matches!(positional.first(), Some((_, ArgumentValue::Word(_)))) {
        return Err(SourceError::unsupported(format!(
            "named collections in {function}() are not supported yet; give the URL as a string"
        )));
    }
    let texts: Vec<&str> = positional.iter().map(|(text, _)| *text).collect();
    let slots = match (texts.len(), named.iter().any(|(name, _)| *name == "url")) {
        (0, true) => Vec::new(),
        (count, _) => slots_of(&texts).ok_or_else(|| wrong_count(function, count))?,
    };
    let mut parsed = ObjectArguments {
        reading: format!("({})", slots.iter().map(|slot| slot.name()).collect::<Vec<_>>().join(", ")),
        ..ObjectArguments::default()
    };
    let mut key = KeyParts::default();
    for (slot, text) in slots.into_iter().zip(texts) {
        fill(slot, text, &mut parsed, &mut key);
    }
    for (name, text) in named {
        let slot = named_slot(name, text).ok_or_else(|| {
            SourceError::bad_arguments(format!("unknown or unsupported argument \"{name}\" of {function}()"))
        })?;
        fill(slot, text, &mut parsed, &mut key);
    }
    if let Some(given) = key.credentials()? {
        parsed.credentials = given;
    }
    Ok(parsed)
}

#[derive(Default)]
struct KeyParts {
    id: Option<String>,
    secret: Option<Secret>,
    token: Option<Secret>,
}

impl KeyParts {
    fn credentials(self) -> Result<Option<GivenCredentials>> {
        match (self.id, self.secret, self.token) {
            (None, None, None) => Ok(None),
            (Some(id), Some(secret), session_token) => {
                Ok(Some(GivenCredentials::Key(AccessKey { id, secret, session_token })))
            }
            _ => {
                Err(SourceError::bad_arguments("access_key_id and secret_access_key must be given together"))
            }
        }
    }
}

fn named_slot(name: &str, text: &str) -> Option<Slot> {
    Some(match name {
        "url" | "path" => Slot::Url,
        "access_key_id" => Slot::KeyId,
        "secret_access_key" => Slot::KeySecret,
        "session_token" => Slot::Token,
        "format" => Slot::Format,
        "structure" => Slot::Structure,
        "compression_method" | "compression" => Slot::Compression,
        "no_sign_request" if matches!(text, "1" | "true") => Slot::NoSign,
        _ => return None,
    })
}

fn fill(slot: Slot, text: &str, parsed: &mut ObjectArguments, key: &mut KeyParts) {
    let unless_auto = || (!text.eq_ignore_ascii_case("auto")).then(|| text.to_owned());
    match slot {
        Slot::Url => parsed.url = text.to_owned(),
        Slot::NoSign => parsed.credentials = GivenCredentials::NoSign,
        Slot::KeyId => key.id = Some(text.to_owned()),
        Slot::KeySecret => key.secret = Some(Secret::new(text)),
        Slot::Token => key.token = (!text.is_empty()).then(|| Secret::new(text)),
        Slot::Format => parsed.format = unless_auto(),
        Slot::Structure => parsed.structure = unless_auto(),
        Slot::Compression => parsed.compression = unless_auto(),
    }
}

/// ClickHouse's rule: the count, NOSIGN and the places of format names decide.
fn s3_slots(texts: &[&str]) -> Option<Vec<Slot>> {
    use Slot::{Compression, Format, KeyId, KeySecret, NoSign, Structure, Token, Url};
    let is_format = |i: usize| texts.get(i).is_some_and(|text| format::is_name_or_auto(text));
    let tail = [Format, Structure, Compression];
    let no_sign = texts.get(1).is_some_and(|text| text.eq_ignore_ascii_case("NOSIGN"));
    let (head, rest): (&[Slot], usize) = match (texts.len(), no_sign) {
        (1, _) => (&[Url], 0),
        (count @ 2..=5, true) => (&[Url, NoSign], count - 2),
        (2, _) => (&[Url], 1),
        (count @ (3 | 4), _) if is_format(1) => (&[Url], count - 1),
        (3, _) => (&[Url, KeyId, KeySecret], 0),
        (count @ 4..=6, _) if is_format(3) => (&[Url, KeyId, KeySecret], count - 3),
        (count @ 4..=7, _) => (&[Url, KeyId, KeySecret, Token], count - 4),
        _ => return None,
    };
    Some(head.iter().chain(tail.iter().take(rest)).copied().collect())
}

fn file_slots(texts: &[&str]) -> Option<Vec<Slot>> {
    let all = [Slot::Url, Slot::Format, Slot::Structure, Slot::Compression];
    (1..=all.len()).contains(&texts.len()).then(|| all[..texts.len()].to_vec())
}

#[cfg(test)]
mod tests;
