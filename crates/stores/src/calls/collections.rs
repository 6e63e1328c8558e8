//! Named collections as reading sees them: sets of arguments under one name, `s3(my_bucket, filename = 'a.csv')`.
//!
//! Plain data of one moment. Invariant: values may be secrets, so `Debug` shows names and keys and never a value.
//! Must not know: how collections are created, stored or granted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Every collection a statement may name.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct NamedCollections {
    /// Name, then key, then value.
    values: BTreeMap<String, BTreeMap<String, String>>,
    /// Keys whose value a call may not replace, by name.
    fixed: BTreeMap<String, BTreeSet<String>>,
}

impl NamedCollections {
    /// Collections of which every key may be overridden: name, then key, then value.
    pub fn new(values: BTreeMap<String, BTreeMap<String, String>>) -> Self {
        NamedCollections { values, fixed: BTreeMap::new() }
    }

    /// The same, but for these keys of these collections, which a call has to take as they are.
    pub fn with_fixed(self, fixed: BTreeMap<String, BTreeSet<String>>) -> Self {
        NamedCollections { fixed, ..self }
    }

    /// Keys of a collection that may not be overridden.
    pub(crate) fn fixed(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fixed.get(name).into_iter().flatten().map(String::as_str)
    }

    /// The arguments kept under a name; names are matched exactly, as ClickHouse does.
    pub fn get(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.values.get(name)
    }

    /// Names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }
}

impl fmt::Debug for NamedCollections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.values.iter().map(|(name, values)| (name, values.keys().collect::<Vec<_>>()));
        f.debug_map().entries(shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_do_not_print() {
        let values = BTreeMap::from([("secret_access_key".to_owned(), "s3cr3t".to_owned())]);
        let all = NamedCollections::new(BTreeMap::from([("mine".to_owned(), values)]));
        assert_eq!(format!("{all:?}"), r#"{"mine": ["secret_access_key"]}"#);
        assert!(all.get("mine").is_some() && all.get("Mine").is_none());
        assert_eq!(all.names().collect::<Vec<_>>(), ["mine"]);
    }
}
