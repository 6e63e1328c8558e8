//! Labels of loads: how a repeated statement is recognised.
//!
//! Invariant: a label lives [`LABEL_AGE_MAX_MS`] or until its database has [`LABELS_MAX`] newer ones. Age is counted
//! between records, never against a clock, so that replay forgets the same labels.

use imbl::OrdMap;
use model::{DatabaseId, Label, Seq};

/// Three days, StarRocks' default.
pub const LABEL_AGE_MAX_MS: u64 = 3 * 24 * 3600 * 1000;

/// Newest labels kept per database.
pub const LABELS_MAX: usize = 1_000_000;

/// What is kept of one label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LabelState {
    pub seq: Seq,
    pub fingerprint: u128,
    /// Milliseconds since the epoch.
    pub committed_ms: u64,
}

/// The labels of all databases.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Labels {
    databases: OrdMap<DatabaseId, DatabaseLabels>,
}

#[derive(Clone, PartialEq, Debug, Default)]
struct DatabaseLabels {
    by_name: OrdMap<Label, LabelState>,
    /// Oldest first.
    by_age: OrdMap<(Seq, Label), ()>,
}

impl Labels {
    pub fn get(&self, database: DatabaseId, label: &Label) -> Option<&LabelState> {
        self.databases.get(&database)?.by_name.get(label)
    }

    /// By database, then by label.
    pub fn iter(&self) -> impl Iterator<Item = (DatabaseId, &Label, &LabelState)> {
        self.databases
            .iter()
            .flat_map(|(id, labels)| labels.by_name.iter().map(move |(label, state)| (*id, label, state)))
    }

    /// Adds a label as it stands, without forgetting others.
    pub fn restore(&mut self, database: DatabaseId, label: Label, state: LabelState) {
        let labels = self.databases.entry(database).or_default();
        labels.by_age.insert((state.seq, label.clone()), ());
        labels.by_name.insert(label, state);
    }

    /// Adds a label and forgets those of its database that are too old or too many.
    pub fn insert(&mut self, database: DatabaseId, label: Label, state: LabelState) {
        self.restore(database, label, state);
        if let Some(labels) = self.databases.get_mut(&database) {
            labels.forget_old(state.committed_ms, LABELS_MAX);
        }
    }

    pub fn drop_database(&mut self, database: DatabaseId) {
        self.databases.remove(&database);
    }
}

impl DatabaseLabels {
    fn forget_old(&mut self, now_ms: u64, labels_max: usize) {
        while let Some(((seq, label), ())) = self.by_age.get_min().cloned() {
            let committed_ms = self.by_name.get(&label).map_or(0, |state| state.committed_ms);
            let too_old = now_ms.saturating_sub(committed_ms) > LABEL_AGE_MAX_MS;
            if !too_old && self.by_name.len() <= labels_max {
                return;
            }
            self.by_name.remove(&label);
            self.by_age.remove(&(seq, label));
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
        LabelState { seq: Seq(seq), fingerprint: 7, committed_ms }
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
    fn only_the_newest_are_kept() {
        let mut labels = DatabaseLabels::default();
        for seq in 1..=5 {
            let name = label(&format!("l{seq}"));
            labels.by_age.insert((Seq(seq), name.clone()), ());
            labels.by_name.insert(name, at(seq, 10));
            labels.forget_old(10, 3);
        }
        let kept: Vec<&str> = labels.by_name.keys().map(Label::as_str).collect();
        assert_eq!(kept, ["l3", "l4", "l5"]);
        assert_eq!(labels.by_age.len(), 3);
    }
}
