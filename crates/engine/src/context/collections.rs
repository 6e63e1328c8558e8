//! Named collections as a statement finds them: those of the configuration and those in the catalog.
//!
//! Invariant: a statement sees the collections of its snapshot; one of the configuration hides its namesake. Must not
//! know: what keys mean to a source.

use std::collections::BTreeMap;
use std::sync::Arc;

use boundary::config::Config;
use catalog::{Collection, Snapshot};
use sql::{CallValue, Settings};
use stores::calls::collections::NamedCollections;

/// Who made a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// It stands in the configuration file and cannot be changed by a statement.
    Configuration,
    Statement,
}

/// Every collection, by name.
pub(crate) fn all<'a>(config: &'a Config, snapshot: &'a Snapshot) -> Vec<(&'a str, &'a Collection, Origin)> {
    let stored = snapshot.state().collections().iter();
    let stored = stored.map(|(name, entries)| (name.as_ref(), (entries.as_ref(), Origin::Statement)));
    let configured = config.named_collections.iter();
    let configured = configured.map(|(name, entries)| (name.as_str(), (entries, Origin::Configuration)));
    let by_name: BTreeMap<&str, (&Collection, Origin)> = stored.chain(configured).collect();
    by_name.into_iter().map(|(name, (entries, origin))| (name, entries, origin)).collect()
}

/// The collection of a name.
pub(crate) fn find<'a>(
    config: &'a Config,
    snapshot: &'a Snapshot,
    name: &str,
) -> Option<(&'a Collection, Origin)> {
    let configured = config.named_collections.get(name);
    let stored = || snapshot.state().collections().get(name).map(AsRef::as_ref);
    let found = configured.map(|entries| (entries, Origin::Configuration));
    found.or_else(|| stored().map(|entries| (entries, Origin::Statement)))
}

/// All of them as sources take them.
pub(crate) fn for_sources(
    config: &Config,
    snapshot: &Snapshot,
    settings: &Settings,
) -> Arc<NamedCollections> {
    let values = |entries: &Collection| {
        entries.iter().map(|(key, value)| (key.to_string(), value.text.to_string())).collect()
    };
    let by_default = settings.get_bool("allow_named_collection_override_by_default");
    let fixed = |entries: &Collection| {
        let fixed = entries.iter().filter(|(_, value)| !value.overridable.unwrap_or(by_default));
        fixed.map(|(key, _)| key.to_string()).collect()
    };
    let all = all(config, snapshot);
    let fixed = all.iter().map(|(name, entries, _)| ((*name).to_owned(), fixed(entries))).collect();
    let all = all.iter().map(|(name, entries, _)| ((*name).to_owned(), values(entries))).collect();
    Arc::new(NamedCollections::new(all).with_fixed(fixed))
}

/// The collection that arguments begin with; calls such as `headers(..)` may stand before it.
pub(crate) fn named_in(arguments: &[sql::CallArgument]) -> Option<&str> {
    match arguments.iter().find(|argument| !matches!(argument.value, CallValue::Call { .. })) {
        Some(sql::CallArgument { name: None, value: CallValue::Word(word) }) => Some(word),
        _ => None,
    }
}
