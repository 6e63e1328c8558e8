//! Named collections as a statement finds them: those of the configuration and those in the catalog.
//!
//! Invariant: a statement sees the collections of its snapshot; one of the configuration hides its namesake. Must not
//! know: what keys mean to a source.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::Collection;
use sources::collections::NamedCollections;
use sql::{CallValue, TableFunctionCall};

use crate::context::StatementContext;
use crate::error::{Error, ErrorKind};

/// Who made a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It stands in the configuration file and cannot be changed by a statement.
    Configuration,
    Statement,
}

/// Every collection, by name.
pub(crate) fn all(context: &StatementContext) -> Vec<(&str, &Collection, Origin)> {
    let stored = context.snapshot.state().collections().iter();
    let stored = stored.map(|(name, entries)| (name.as_ref(), (entries.as_ref(), Origin::Statement)));
    let configured = context.database.config.named_collections.iter();
    let configured = configured.map(|(name, entries)| (name.as_str(), (entries, Origin::Configuration)));
    let by_name: BTreeMap<&str, (&Collection, Origin)> = stored.chain(configured).collect();
    by_name.into_iter().map(|(name, (entries, origin))| (name, entries, origin)).collect()
}

/// The collection of a name.
pub(crate) fn find<'a>(context: &'a StatementContext, name: &str) -> Option<(&'a Collection, Origin)> {
    let configured = context.database.config.named_collections.get(name);
    let stored = || context.snapshot.state().collections().get(name).map(AsRef::as_ref);
    let found = configured.map(|entries| (entries, Origin::Configuration));
    found.or_else(|| stored().map(|entries| (entries, Origin::Statement)))
}

/// All of them as sources take them.
pub(crate) fn for_sources(context: &StatementContext) -> Arc<NamedCollections> {
    let values = |entries: &Collection| {
        entries.iter().map(|(key, value)| (key.to_string(), value.text.to_string())).collect()
    };
    let all = all(context).into_iter().map(|(name, entries, _)| (name.to_owned(), values(entries)));
    Arc::new(NamedCollections(all.collect()))
}

/// The collection a call begins with, if it begins with one.
pub(crate) fn named_in(arguments: &[sql::CallArgument]) -> Option<&str> {
    match arguments.first() {
        Some(sql::CallArgument { name: None, value: CallValue::Word(word) }) => Some(word),
        _ => None,
    }
}

/// Refuses to give a key another value that may not have one.
pub(crate) fn check_overrides(context: &StatementContext, call: &TableFunctionCall) -> Result<(), Error> {
    let of_cluster = usize::from(call.name.to_ascii_lowercase().ends_with("cluster"));
    let arguments = call.arguments.get(of_cluster..).unwrap_or_default();
    let Some(collection) = named_in(arguments) else { return Ok(()) };
    let Some((entries, _)) = find(context, collection) else { return Ok(()) };
    let by_default = context.settings.get_bool("allow_named_collection_override_by_default");
    for key in arguments.iter().filter_map(|argument| argument.name.as_deref()) {
        let given = entries.get(key);
        if given.is_some_and(|value| !value.overridable.unwrap_or(by_default)) {
            let message = format!("key \"{key}\" of named collection \"{collection}\" may not be overridden");
            return Err(Error::new(ErrorKind::Denied, 36, message).with_hint(format!(
                "leave it out, or ALTER NAMED COLLECTION {collection} SET {key} = .. OVERRIDABLE"
            )));
        }
    }
    Ok(())
}
