//! Functions that statements made: a lambda under a name.
//!
//! Invariant: a name is one function. Must not know: what a lambda says, who calls it.

use std::sync::Arc;

use imbl::OrdMap;

/// Functions of one database folder.
pub const FUNCTIONS_MAX: usize = 10_000;

/// By name: the text of a lambda, `(x, y) -> x + y`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Functions {
    by_name: OrdMap<Arc<str>, Arc<str>>,
}

impl Functions {
    pub fn get(&self, name: &str) -> Option<&Arc<str>> {
        self.by_name.get(name)
    }

    /// By name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<str>)> {
        self.by_name.iter()
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Adds or replaces a function; also how a checkpoint puts one back.
    pub fn insert(&mut self, name: Arc<str>, lambda: Arc<str>) {
        self.by_name.insert(name, lambda);
    }

    /// `None` if there is no such function.
    pub fn remove(&mut self, name: &str) -> Option<()> {
        self.by_name.remove(name).map(drop)
    }
}
