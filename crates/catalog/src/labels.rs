//! Labels and tokens: how a repeated statement is recognised.
//!
//! One store serves both: labels are kept per database by their text, tokens per table by their hash. Invariant: a
//! key lives until its scope gets another one after [`LABEL_AGE_MAX_MS`], has [`LABELS_MAX`] newer ones, or is
//! dropped; tokens go with a TRUNCATE and a dropped partition, too. Age is counted between records, never against a
//! clock, so that replay forgets the same keys.

use imbl::OrdMap;
use model::{DatabaseId, Label, Seq, TableDef, TableId};

/// Three days, StarRocks' default.
pub const LABEL_AGE_MAX_MS: u64 = 3 * 24 * 3600 * 1000;

/// Newest labels kept per database, and newest tokens per table.
pub const LABELS_MAX: usize = 1_000_000;

/// What is kept of the statement that used a label or a token first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabelState {
    pub seq: Seq,
    pub fingerprint: u128,
    /// Milliseconds since the epoch.
    pub committed_ms: u64,
    /// Rows it wrote.
    pub rows: u64,
}

/// The labels of all databases.
pub type Labels = SeenStatements<DatabaseId, Label>;

/// The tokens of all tables.
pub type Tokens = SeenStatements<TableId, u128>;

/// Statements by the name they gave themselves, unique within a scope.
#[derive(Clone, PartialEq, Debug)]
pub struct SeenStatements<Scope: Ord, Key: Ord> {
    scopes: OrdMap<Scope, SeenInScope<Key>>,
}

#[derive(Clone, PartialEq, Debug)]
struct SeenInScope<Key: Ord> {
    by_key: OrdMap<Key, LabelState>,
    /// Oldest first.
    by_age: OrdMap<(Seq, Key), ()>,
}

impl<Scope: Ord, Key: Ord> Default for SeenStatements<Scope, Key> {
    fn default() -> Self {
        SeenStatements { scopes: OrdMap::new() }
    }
}

impl<Key: Ord> Default for SeenInScope<Key> {
    fn default() -> Self {
        SeenInScope { by_key: OrdMap::new(), by_age: OrdMap::new() }
    }
}

impl<Scope: Ord + Copy, Key: Ord + Clone> SeenStatements<Scope, Key> {
    pub fn get(&self, scope: Scope, key: &Key) -> Option<&LabelState> {
        self.scopes.get(&scope)?.by_key.get(key)
    }

    /// By scope, then by key.
    pub fn iter(&self) -> impl Iterator<Item = (Scope, &Key, &LabelState)> {
        self.scopes
            .iter()
            .flat_map(|(scope, seen)| seen.by_key.iter().map(move |(key, state)| (*scope, key, state)))
    }

    /// How many keys of the scope are newer than this one, counted as far as `most`; 0 for one that is not there.
    pub fn newer(&self, scope: Scope, key: &Key, most: usize) -> usize {
        let Some(seen) = self.scopes.get(&scope) else { return 0 };
        let Some(state) = seen.by_key.get(key) else { return 0 };
        seen.by_age.range((state.seq, key.clone())..).skip(1).take(most).count()
    }

    /// Adds a key as it stands, without forgetting others; one that is there is as old as this one from now on.
    pub fn restore(&mut self, scope: Scope, key: Key, state: LabelState) {
        let seen = self.scopes.entry(scope).or_default();
        if let Some(before) = seen.by_key.get(&key) {
            seen.by_age.remove(&(before.seq, key.clone()));
        }
        seen.by_age.insert((state.seq, key.clone()), ());
        seen.by_key.insert(key, state);
    }

    /// Adds a key and forgets those of its scope that are too old or too many.
    pub fn insert(&mut self, scope: Scope, key: Key, state: LabelState) {
        self.restore(scope, key, state);
        if let Some(seen) = self.scopes.get_mut(&scope) {
            seen.forget_old(state.committed_ms, LABELS_MAX);
        }
    }

    pub fn has_scope(&self, scope: Scope) -> bool {
        self.scopes.contains_key(&scope)
    }

    pub fn drop_scope(&mut self, scope: Scope) {
        self.scopes.remove(&scope);
    }
}

impl Tokens {
    /// The statement of a token, if it is among as many of the newest ones as the table's setting says; without the setting
    /// among all.
    pub fn remembered(&self, def: &TableDef, token: u128) -> Option<&LabelState> {
        let window = def.setting::<usize>("non_replicated_deduplication_window").filter(|window| *window > 0);
        let is_within = |window| self.newer(def.id, &token, window) < window;
        self.get(def.id, &token).filter(|_| window.is_none_or(is_within))
    }
}

impl<Key: Ord + Clone> SeenInScope<Key> {
    fn forget_old(&mut self, now_ms: u64, keys_max: usize) {
        while let Some(((seq, key), ())) = self.by_age.get_min().cloned() {
            let committed_ms = self.by_key.get(&key).map_or(0, |state| state.committed_ms);
            let too_old = now_ms.saturating_sub(committed_ms) > LABEL_AGE_MAX_MS;
            if !too_old && self.by_key.len() <= keys_max {
                return;
            }
            self.by_key.remove(&key);
            self.by_age.remove(&(seq, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> Label {
        Label::new(text).unwrap()
    }

    fn at(seq: u64, committed_ms: u64) -> LabelState {
        LabelState { seq: Seq(seq), fingerprint: 7, committed_ms, rows: 9 }
    }

    #[test]
    fn old_labels_are_forgotten_by_the_next_one_of_their_database() {
        let (one, two) = (DatabaseId::from_bytes([1; 16]), DatabaseId::from_bytes([2; 16]));
        let mut labels = Labels::default();
        labels.insert(one, label("a"), at(1, 1000));
        labels.insert(two, label("a"), at(2, 1000));
        labels.insert(one, label("b"), at(3, 1000 + LABEL_AGE_MAX_MS));
        assert!(labels.get(one, &label("a")).is_some(), "exactly three days old");
        labels.insert(one, label("c"), at(4, 1001 + LABEL_AGE_MAX_MS));
        assert_eq!(labels.get(one, &label("a")), None);
        assert_eq!(labels.get(one, &label("b")), Some(&at(3, 1000 + LABEL_AGE_MAX_MS)));
        assert!(labels.get(two, &label("a")).is_some(), "another database");
        assert_eq!(labels.iter().count(), 3);
    }

    #[test]
    fn tokens_go_with_their_table() {
        let (one, two) = (TableId::from_bytes([1; 16]), TableId::from_bytes([2; 16]));
        let mut tokens = Tokens::default();
        tokens.insert(one, 5, at(1, 10));
        tokens.insert(two, 5, at(2, 10));
        tokens.drop_scope(one);
        assert_eq!(tokens.get(one, &5), None);
        assert_eq!(tokens.get(two, &5), Some(&at(2, 10)));
    }

    #[test]
    fn newer_keys_are_counted_from_the_last_time_a_key_was_used() {
        let table = TableId::from_bytes([1; 16]);
        let mut tokens = Tokens::default();
        (1..=4).for_each(|seq| tokens.insert(table, seq.into(), at(seq, 10)));
        assert_eq!([1, 3, 4].map(|token| tokens.newer(table, &token, 9)), [3, 1, 0]);
        assert_eq!((tokens.newer(table, &1, 2), tokens.newer(table, &7, 9)), (2, 0));
        tokens.insert(table, 1, at(5, 10));
        assert_eq!([1, 3, 4].map(|token| tokens.newer(table, &token, 9)), [0, 2, 1]);
    }

    #[test]
    fn only_the_newest_are_kept() {
        let mut labels = SeenInScope::default();
        for seq in 1..=5 {
            let name = label(&format!("l{seq}"));
            labels.by_age.insert((Seq(seq), name.clone()), ());
            labels.by_key.insert(name, at(seq, 10));
            labels.forget_old(10, 3);
        }
        let kept: Vec<&str> = labels.by_key.keys().map(Label::as_str).collect();
        assert_eq!(kept, ["l3", "l4", "l5"]);
        assert_eq!(labels.by_age.len(), 3);
    }
}
