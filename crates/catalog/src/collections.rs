//! Named collections: sets of arguments under one name, for table functions and engines.
//!
//! Invariant: a collection has at least one key, and its values never print: most of them are credentials. Must not
//! know: what the keys mean, who may use them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use imbl::OrdMap;

/// Collections of one database folder.
pub const COLLECTIONS_MAX: usize = 10_000;
/// Keys of one collection.
pub const COLLECTION_KEYS_MAX: usize = 1_000;

/// One value of a collection.
#[derive(Clone, PartialEq, Eq)]
pub struct CollectionValue {
    pub text: Arc<str>,
    /// Whether a call may give the key another value; `None`: the session's setting decides.
    pub overridable: Option<bool>,
}

/// Keys and values, by key.
pub type Collection = BTreeMap<Arc<str>, CollectionValue>;

impl fmt::Debug for CollectionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[HIDDEN] overridable={:?}", self.overridable)
    }
}

/// All collections that were made by statements, by name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Collections {
    by_name: OrdMap<Arc<str>, Arc<Collection>>,
}

impl Collections {
    pub fn get(&self, name: &str) -> Option<&Arc<Collection>> {
        self.by_name.get(name)
    }

    /// By name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Collection>)> {
        self.by_name.iter()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Adds or replaces a collection; also how a checkpoint puts one back.
    pub fn insert(&mut self, name: Arc<str>, collection: Collection) {
        self.by_name.insert(name, Arc::new(collection));
    }

    pub fn remove(&mut self, name: &str) -> Option<Arc<Collection>> {
        self.by_name.remove(name)
    }

    /// Sets some keys and takes others away; `None` if there is no such collection.
    pub fn alter(&mut self, name: &str, set: &Collection, delete: &[Arc<str>]) -> Option<()> {
        let changed = altered(self.by_name.get(name)?, set, delete);
        self.by_name.insert(name.into(), Arc::new(changed));
        Some(())
    }
}

/// The collection after ALTER: a key that is set again without a word about overriding keeps what was said before.
pub fn altered(old: &Collection, set: &Collection, delete: &[Arc<str>]) -> Collection {
    let mut next = old.clone();
    for (key, value) in set {
        let before = next.get(key).and_then(|known| known.overridable);
        let overridable = value.overridable.or(before);
        next.insert(Arc::clone(key), CollectionValue { text: Arc::clone(&value.text), overridable });
    }
    delete.iter().for_each(|key| drop(next.remove(key)));
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str, Option<bool>)]) -> Collection {
        let value = |text: &str, overridable| CollectionValue { text: text.into(), overridable };
        pairs.iter().map(|(key, text, flag)| (Arc::from(*key), value(text, *flag))).collect()
    }

    #[test]
    fn an_alteration_keeps_what_it_does_not_name() {
        let old = of(&[("a", "1", Some(false)), ("b", "2", None), ("c", "3", None)]);
        let set = of(&[("a", "4", None), ("b", "5", Some(true)), ("d", "6", None)]);
        let expected = of(&[("a", "4", Some(false)), ("b", "5", Some(true)), ("d", "6", None)]);
        assert_eq!(altered(&old, &set, &["c".into()]), expected);
    }

    #[test]
    fn values_do_not_print() {
        let mut all = Collections::default();
        all.insert("n".into(), of(&[("secret_access_key", "s3cr3t", None)]));
        let shown = format!("{all:?}");
        assert!(shown.contains("secret_access_key") && !shown.contains("s3cr3t"), "{shown}");
    }
}
