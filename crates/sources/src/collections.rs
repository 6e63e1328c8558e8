//! Named collections as reading sees them: sets of arguments under one name, `s3(my_bucket, filename = 'a.csv')`.
//!
//! Plain data of one moment. Invariant: values may be secrets, so `Debug` shows names and keys and never a value.
//! Must not know: how collections are created, stored or granted.

use std::collections::BTreeMap;
use std::fmt;

/// Every collection a statement may name: name, then key, then value.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct NamedCollections(pub BTreeMap<String, BTreeMap<String, String>>);

impl NamedCollections {
    /// The arguments kept under a name; names are matched exactly, as ClickHouse does.
    pub fn get(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        self.0.get(name)
    }

    /// Names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Debug for NamedCollections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(name, values)| (name, values.keys().collect::<Vec<_>>()));
        f.debug_map().entries(shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_do_not_print() {
        let values = BTreeMap::from([("secret_access_key".to_owned(), "s3cr3t".to_owned())]);
        let all = NamedCollections(BTreeMap::from([("mine".to_owned(), values)]));
        assert_eq!(format!("{all:?}"), r#"{"mine": ["secret_access_key"]}"#);
        assert!(all.get("mine").is_some() && all.get("Mine").is_none());
        assert_eq!(all.names().collect::<Vec<_>>(), ["mine"]);
    }
}
