//! Arguments of `s3(...)`, `gcs(...)`, `azureBlobStorage(...)`, `url(...)` and `file(...)`, as a statement spells them.
//!
//! Plain data. Invariant: nothing here prints a secret. Must not know: which argument means what, but for hiding it.

use std::fmt;

use crate::calls::showing::shown_address;
pub use crate::calls::showing::{SeenArgument, Showing, showing};
use crate::calls::signatures::{Family, Function, Slot, function};
use crate::credentials::{GivenCredentials, Secret};

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
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectArguments {
    pub family: Family,
    /// URL of `s3` and `url`, path of `file`, account URL or connection string of `azureBlobStorage`.
    pub url: String,
    /// Of `azureBlobStorage`.
    pub container: String,
    /// Of `azureBlobStorage`.
    pub blob_path: String,
    /// For Azure the id is the account's name.
    pub credentials: GivenCredentials,
    /// `None` is `auto`, here and below.
    pub format: Option<String>,
    pub structure: Option<String>,
    pub compression: Option<String>,
    /// Sent with every request; values may be tokens.
    pub headers: Vec<(String, Secret)>,
    pub partition_strategy: Option<String>,
    pub partition_columns_in_data_file: Option<bool>,
    pub storage_class: Option<String>,
    /// Of `url`, in capitals.
    pub method: Option<String>,
    /// The reading of the positions that was chosen: `(url, format, structure)`.
    pub reading: String,
    /// What the user should know about arguments that were accepted.
    pub notes: Vec<String>,
}

impl ArgumentValue {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            ArgumentValue::Text(text) | ArgumentValue::Number(text) | ArgumentValue::Word(text) => Some(text),
            ArgumentValue::Call { .. } => None,
        }
    }
}

impl Argument {
    fn shown(&self, family: Option<Family>, secret: bool) -> String {
        let value = match &self.value {
            _ if secret => "'[HIDDEN]'".to_owned(),
            ArgumentValue::Text(text) => {
                let text = family.map_or_else(|| text.clone(), |family| shown_address(family, text));
                format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
            }
            ArgumentValue::Number(text) | ArgumentValue::Word(text) => text.clone(),
            // Headers carry tokens.
            ArgumentValue::Call { name, arguments } => {
                let hidden = arguments.iter().map(|one| match &one.name {
                    Some(name) => format!("'{name}' = '[HIDDEN]'"),
                    None => "'[HIDDEN]'".to_owned(),
                });
                format!("{name}({})", hidden.collect::<Vec<_>>().join(", "))
            }
        };
        match &self.name {
            Some(name) => format!("{name} = {value}"),
            None => value,
        }
    }
}

impl SourceCall {
    /// The call as it may be shown: secrets are `[HIDDEN]`.
    pub fn masked(&self) -> String {
        let Some(Function { family, has_cluster }) = function(&self.function) else {
            return format!("{}([HIDDEN])", self.function);
        };
        let skipped = usize::from(has_cluster);
        let positional: Vec<&Argument> =
            self.arguments.iter().skip(skipped).filter(|argument| argument.name.is_none()).collect();
        let texts: Option<Vec<&str>> = positional.iter().map(|argument| argument.value.text()).collect();
        let without_calls: Vec<&str> =
            positional.iter().filter_map(|argument| argument.value.text()).collect();
        let slots = family.slots(&texts.unwrap_or(without_calls));
        let shown = self.arguments.iter().enumerate().map(|(i, argument)| {
            let slot = match &argument.name {
                Some(name) => family.named_slot(&name.to_ascii_lowercase()),
                None => i.checked_sub(skipped).and_then(|i| slots.as_ref()?.get(i).copied()),
            };
            // Of a call that no signature fits, nothing behind the address is known to be harmless.
            let is_unclear = slots.is_none() && argument.name.is_none() && i > skipped;
            argument.shown(Some(family), is_unclear || slot.is_some_and(Slot::is_secret))
        });
        format!("{}({})", self.function, shown.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Debug for SourceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

impl ObjectArguments {
    pub(crate) fn new(family: Family) -> Self {
        ObjectArguments {
            family,
            url: String::new(),
            container: String::new(),
            blob_path: String::new(),
            credentials: GivenCredentials::default(),
            format: None,
            structure: None,
            compression: None,
            headers: Vec::new(),
            partition_strategy: None,
            partition_columns_in_data_file: None,
            storage_class: None,
            method: None,
            reading: String::new(),
            notes: Vec::new(),
        }
    }

    /// The URL as it may be shown.
    pub fn shown_url(&self) -> String {
        shown_address(self.family, &self.url)
    }
}

impl fmt::Debug for ObjectArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectArguments")
            .field("url", &self.shown_url())
            .field("credentials", &self.credentials)
            .field("headers", &self.headers)
            .field("reading", &self.reading)
            .finish_non_exhaustive()
    }
}
