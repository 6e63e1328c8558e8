//! The SETTINGS of a table: names and values as text, in the order in which they were written.
//!
//! Invariant: a name is there once, where it was first written. Must not know: which settings there are.

use std::sync::Arc;

/// Name to value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableSettings(Vec<(Arc<str>, Arc<str>)>);

impl TableSettings {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Arc<str>> {
        self.0.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    /// In the place of the one with that name, or behind all.
    pub fn insert(&mut self, name: Arc<str>, value: Arc<str>) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| **known != *name);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl Extend<(Arc<str>, Arc<str>)> for TableSettings {
    fn extend<I: IntoIterator<Item = (Arc<str>, Arc<str>)>>(&mut self, settings: I) {
        settings.into_iter().for_each(|(name, value)| self.insert(name, value));
    }
}

impl FromIterator<(Arc<str>, Arc<str>)> for TableSettings {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<str>)>>(settings: I) -> Self {
        let mut made = Self::new();
        made.extend(settings);
        made
    }
}

impl IntoIterator for TableSettings {
    type Item = (Arc<str>, Arc<str>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_place() {
        let mut settings = TableSettings::new();
        settings.insert("b".into(), "1".into());
        settings.insert("a".into(), "2".into());
        settings.insert("b".into(), "3".into());
        let shown = |settings: &TableSettings| {
            settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&settings), "b=3 a=2");
        settings.remove("b");
        settings.extend([("c".into(), "4".into())]);
        assert_eq!(shown(&settings), "a=2 c=4");
        assert_eq!(settings.get("c").map(AsRef::as_ref), Some("4"));
    }
}
