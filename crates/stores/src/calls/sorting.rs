//! Arguments of a call sorted into [`ObjectArguments`], by position, by name and from named collections.
//!
//! Invariant: the reading chosen is kept in words so that EXPLAIN can say it; an argument that is not understood is an
//! error, and no error repeats a value that may be a secret. Must not know: what a URL means.

use std::collections::BTreeMap;
use std::fmt;

use model::ErrorCode;

use crate::calls::arguments::{Argument, ArgumentValue, ObjectArguments, SourceCall};
use crate::calls::collections::NamedCollections;
use crate::calls::signatures::{Family, Function, Slot, function};
use crate::credentials::{AccessKey, GivenCredentials, Secret};
use crate::error::{Result, SourceError, SourceErrorKind};

/// Storage classes an object can be read from at once.
const STORAGE_CLASSES: &[&str] = &[
    "STANDARD",
    "REDUCED_REDUNDANCY",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER_IR",
    "EXPRESS_ONEZONE",
];

impl SourceCall {
    /// Sorts the arguments; a bare word in the first place names one of the collections.
    ///
    /// # Errors
    /// Every argument that is not understood; a wrong count lists all signatures.
    pub fn object_arguments(&self, collections: &NamedCollections) -> Result<ObjectArguments> {
        let name = self.function.as_str();
        let Some(function) = function(name) else { return Err(unknown_function(name)) };
        let arguments = match function.has_cluster {
            true => without_cluster(name, function.family, &self.arguments)?,
            false => self.arguments.as_slice(),
        };
        Sorting::new(name, function).sort(arguments, collections)
    }

    /// Refuses an argument that gives another value to a key of the call's collection that is fixed there. By meaning,
    /// not by spelling: keys of a bucket must not be sent to another host because the address was called otherwise.
    ///
    /// # Errors
    /// The key and its collection.
    pub fn check_overrides(&self, collections: &NamedCollections) -> Result<()> {
        let Some(Function { family, has_cluster }) = function(&self.function) else { return Ok(()) };
        let arguments = self.arguments.get(usize::from(has_cluster)..).unwrap_or_default();
        let first = arguments.iter().find(|one| !matches!(one.value, ArgumentValue::Call { .. }));
        let Some(Argument { name: None, value: ArgumentValue::Word(collection) }) = first else {
            return Ok(());
        };
        let slot = |name: &str| family.named_slot(&name.to_ascii_lowercase());
        for given in arguments.iter().filter_map(|one| one.name.as_deref()) {
            let means = |key: &&str| {
                key.eq_ignore_ascii_case(given) || slot(key).is_some_and(|key| slot(given) == Some(key))
            };
            if let Some(key) = collections.fixed(collection).find(means) {
                let message =
                    format!("key \"{key}\" of named collection \"{collection}\" may not be overridden");
                let hint = format!(
                    "leave {given} out, or ALTER NAMED COLLECTION {collection} SET {key} = .. OVERRIDABLE"
                );
                return Err(SourceError::new(SourceErrorKind::Denied, message)
                    .with_code(ErrorCode::BAD_ARGUMENTS)
                    .with_hint(hint));
            }
        }
        Ok(())
    }
}

fn unknown_function(name: &str) -> SourceError {
    match name.to_ascii_lowercase().as_str() {
        "hdfs" | "hdfscluster" | "iceberg" | "deltalake" | "hudi" => SourceError::unsupported(format!(
            "table function \"{name}\" is not supported yet; s3, gcs, azureBlobStorage, url and file are"
        )),
        _ => SourceError::bad_arguments(format!("unknown table function \"{name}\""))
            .with_code(ErrorCode::UNKNOWN_FUNCTION),
    }
}

fn without_cluster<'a>(name: &str, family: Family, arguments: &'a [Argument]) -> Result<&'a [Argument]> {
    let Some((cluster, rest)) = arguments.split_first() else { return Err(wrong_count(name, family, 0)) };
    match cluster.value.text() {
        Some("default") if cluster.name.is_none() => Ok(rest),
        other => Err(SourceError::bad_arguments(format!(
            "cluster \"{}\" does not exist; the only one is \"default\"",
            other.unwrap_or("?")
        ))
        .with_code(ErrorCode::CLUSTER_DOESNT_EXIST)),
    }
}

fn wrong_count(name: &str, family: Family, count: usize) -> SourceError {
    SourceError::bad_arguments(format!("table function \"{name}\" cannot be called with {count} arguments"))
        .with_code(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH)
        .with_hint(format!("{name} takes one of {}", family.signatures()))
}

/// Arguments on their way into [`ObjectArguments`].
struct Sorting<'a> {
    name: &'a str,
    function: Function,
    sorted: ObjectArguments,
    file_name: Option<String>,
    id: Option<String>,
    secret: Option<Secret>,
    token: Option<Secret>,
}

impl<'a> Sorting<'a> {
    fn new(name: &'a str, function: Function) -> Self {
        let sorted = ObjectArguments::new(function.family);
        Sorting { name, function, sorted, file_name: None, id: None, secret: None, token: None }
    }

    fn wrong(&self, problem: impl fmt::Display) -> SourceError {
        SourceError::bad_arguments(format!("{}(): {problem}", self.name))
    }

    fn sort(mut self, arguments: &[Argument], collections: &NamedCollections) -> Result<ObjectArguments> {
        let family = self.function.family;
        let mut positional = Vec::new();
        let mut named: Vec<(&str, &str)> = Vec::new();
        for argument in arguments {
            match (&argument.value, argument.name.as_deref()) {
                (ArgumentValue::Call { name, arguments }, None) => self.call(name, arguments)?,
                (ArgumentValue::Call { name, .. }, Some(argument)) => {
                    return Err(self.wrong(format!("\"{argument}\" cannot be a call of {name}()")));
                }
                (value, Some(name)) => named.push((name, value.text().unwrap_or_default())),
                (value, None) if named.is_empty() => {
                    positional.push((value.text().unwrap_or_default(), value))
                }
                (..) => {
                    return Err(self.wrong("a positional argument stands after a named one"));
                }
            }
        }
        let collection = match positional.first() {
            // `file(rows.csv)`: a path without quotes.
            Some((word, ArgumentValue::Word(_)))
                if family == Family::File && word.contains('.') && collections.get(word).is_none() =>
            {
                None
            }
            Some((word, ArgumentValue::Word(_))) => Some(self.collection(word, collections)?),
            _ => None,
        };
        if let Some(values) = collection {
            if positional.len() > 1 {
                return Err(self.wrong("arguments behind a named collection are written name = value"));
            }
            for (name, text) in values {
                self.named(name, text)?;
            }
        } else if !positional.is_empty()
            || !named.iter().any(|(name, _)| family.named_slot(name) == Some(Slot::Url))
        {
            let texts: Vec<&str> = positional.iter().map(|(text, _)| *text).collect();
            let slots = family.slots(&texts).ok_or_else(|| wrong_count(self.name, family, texts.len()))?;
            self.sorted.reading =
                format!("({})", slots.iter().map(|slot| slot.name()).collect::<Vec<_>>().join(", "));
            for (slot, text) in slots.into_iter().zip(texts) {
                self.fill(slot, text)?;
            }
        }
        let mut names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0].eq_ignore_ascii_case(pair[1])) {
            return Err(self.wrong(format!("argument \"{}\" is given twice", twice[0])));
        }
        for (name, text) in named {
            self.named(name, text)?;
        }
        self.finish()
    }

    fn collection<'c>(
        &mut self,
        word: &str,
        collections: &'c NamedCollections,
    ) -> Result<&'c BTreeMap<String, String>> {
        let found = collections.get(word).ok_or_else(|| {
            self.wrong(format!("named collection \"{word}\" does not exist"))
                .with_code(ErrorCode::NAMED_COLLECTION_DOESNT_EXIST)
                .with_hint("a URL or a path is written in quotes; CREATE NAMED COLLECTION makes a collection")
        })?;
        self.sorted.reading = format!("(named collection {word})");
        Ok(found)
    }

    fn call(&mut self, call: &str, arguments: &[Argument]) -> Result<()> {
        let takes_headers = matches!(self.function.family, Family::S3 | Family::Url);
        match call.to_ascii_lowercase().as_str() {
            "headers" if takes_headers => {}
            "headers" => return Err(self.wrong("headers() can be given to s3, gcs and url only")),
            "extra_credentials" => {
                return Err(SourceError::unsupported(format!(
                    "extra_credentials() in {}() is not supported: roles are not assumed yet; give an access key with \
                     its session_token instead, as `aws sts assume-role` prints them",
                    self.name
                )));
            }
            _ => return Err(self.wrong(format!("\"{call}()\" is not known here; headers() is"))),
        }
        for argument in arguments {
            let (Some(name), Some(value)) = (&argument.name, argument.value.text()) else {
                return Err(self.wrong("headers() takes 'name' = 'value' pairs"));
            };
            let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(self.wrong(format!("\"{name}\" is no name of an HTTP header")));
            }
            if value.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f) {
                return Err(self.wrong(format!("the value of header \"{name}\" has a control character")));
            }
            if ["host", "range", "content-length", "transfer-encoding"]
                .contains(&name.to_ascii_lowercase().as_str())
            {
                return Err(self.wrong(format!("header \"{name}\" is set by us and cannot be given")));
            }
            self.sorted.headers.push((name.clone(), Secret::new(value)));
        }
        Ok(())
    }

    fn named(&mut self, name: &str, text: &str) -> Result<()> {
        let family = self.function.family;
        let slot = family.named_slot(&name.to_ascii_lowercase()).ok_or_else(|| {
            self.wrong(format!("unknown argument \"{name}\""))
                .with_hint(format!("known are {}", family.names()))
        })?;
        self.fill(slot, text)
    }

    fn flag(&self, name: &str, text: &str) -> Result<bool> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" => Ok(true),
            "0" | "false" => Ok(false),
            _ => Err(self.wrong(format!("\"{name}\" is 0 or 1"))),
        }
    }

    fn fill(&mut self, slot: Slot, text: &str) -> Result<()> {
        let unless_auto = || (!text.eq_ignore_ascii_case("auto")).then(|| text.to_owned());
        match slot {
            Slot::Url => self.sorted.url = text.to_owned(),
            Slot::FileName => self.file_name = Some(text.to_owned()),
            Slot::Container => self.sorted.container = text.to_owned(),
            Slot::BlobPath => self.sorted.blob_path = text.to_owned(),
            Slot::NoSign if text.eq_ignore_ascii_case("NOSIGN") || self.flag("no_sign_request", text)? => {
                self.sorted.credentials = GivenCredentials::NoSign;
            }
            Slot::NoSign => {}
            Slot::UseEnvironment => match (self.flag(slot.name(), text)?, self.function.has_cluster) {
                (true, true) => {
                    return Err(self.wrong("use_environment_credentials = 1 is not allowed for a cluster"));
                }
                (true, false) => {}
                (false, _) => self.sorted.credentials = GivenCredentials::NoSign,
            },
            Slot::KeyId | Slot::AccountName => self.id = Some(text.to_owned()),
            Slot::KeySecret | Slot::AccountKey => self.secret = Some(Secret::new(text)),
            Slot::Token => self.token = (!text.is_empty()).then(|| Secret::new(text)),
            Slot::ExpirationWindow => {
                text.parse::<u64>().map_err(|_| self.wrong(format!("\"{}\" is a number", slot.name())))?;
                self.sorted
                    .notes
                    .push(format!("{} has no effect: credentials here do not expire", slot.name()));
            }
            Slot::Format => self.sorted.format = unless_auto(),
            Slot::Structure => self.sorted.structure = unless_auto(),
            Slot::Compression => self.sorted.compression = unless_auto(),
            Slot::PartitionStrategy => self.sorted.partition_strategy = self.strategy(text)?,
            Slot::PartitionColumnsInFile => {
                self.sorted.partition_columns_in_data_file = Some(self.flag(slot.name(), text)?);
            }
            Slot::StorageClass => self.sorted.storage_class = Some(self.storage_class(text)?),
            Slot::Method => {
                let method = text.to_ascii_uppercase();
                if !["GET", "POST", "PUT"].contains(&method.as_str()) {
                    return Err(SourceError::bad_arguments(format!(
                        "{}() has no method \"{text}\": GET reads, POST and PUT write",
                        self.name
                    )));
                }
                self.sorted.method = Some(method);
            }
        }
        Ok(())
    }

    fn strategy(&self, text: &str) -> Result<Option<String>> {
        match text.to_ascii_lowercase().as_str() {
            known @ ("hive" | "wildcard") => Ok(Some(known.to_owned())),
            "auto" | "none" => Ok(None),
            _ => Err(self.wrong("\"partition_strategy\" is 'hive' or 'wildcard'")),
        }
    }

    fn storage_class(&self, text: &str) -> Result<String> {
        let class = text.to_ascii_uppercase();
        if STORAGE_CLASSES.contains(&class.as_str()) {
            return Ok(class);
        }
        let known = STORAGE_CLASSES.join(", ");
        let hint = format!("objects of archival classes cannot be read at once; known are {known}");
        Err(self.wrong(format!("storage class \"{text}\" is not supported")).with_hint(hint))
    }

    fn finish(mut self) -> Result<ObjectArguments> {
        if let Some(file_name) = &self.file_name {
            let url = self.sorted.url.trim_end_matches('/');
            self.sorted.url = format!("{url}/{}", file_name.trim_start_matches('/'));
        }
        if self.sorted.url.is_empty() {
            let missing = if self.function.family == Family::File { "path" } else { "url" };
            return Err(self.wrong(format!("no \"{missing}\" is given")));
        }
        let names = match self.function.family {
            Family::Azure => "account_name and account_key",
            _ => "access_key_id and secret_access_key",
        };
        match (self.id.take(), self.secret.take(), self.token.take()) {
            (None, None, None) => {}
            // Azure: an account named beside a URL with a signature.
            (Some(_), None, None) if self.function.family == Family::Azure => {}
            // An empty pair is how a collection says "nobody".
            (Some(id), Some(secret), None) if id.is_empty() && secret.reveal().is_empty() => {
                self.sorted.credentials = GivenCredentials::NoSign;
            }
            (Some(id), Some(secret), session_token) => {
                if self.sorted.credentials != GivenCredentials::NoSign {
                    self.sorted.credentials = GivenCredentials::Key(AccessKey { id, secret, session_token });
                }
            }
            _ => return Err(self.wrong(format!("{names} must be given together"))),
        }
        Ok(self.sorted)
    }
}

#[cfg(test)]
mod tests;
