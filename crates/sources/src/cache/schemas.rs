//! What was learnt of files: columns found by inference and numbers of rows, kept as long as the file is the same and the
//! settings are.
//!
//! Invariant: an entry is used only for the same file version (ETag) and the same settings; at most 4096 entries of each
//! kind of storage, the least recently used forgotten first. Must not know: how schemas are inferred, where bytes go.

use std::collections::HashMap;

use model::ColumnType;
use parking_lot::Mutex;

use crate::cache::file_format;
use crate::cache::footer::FooterCache;
use crate::cache::key::{SchemaEntry, SchemaKey};

/// ClickHouse's `schema_inference_cache_max_elements_for_s3`, `.._for_file` and so on.
const ENTRIES_MAX: usize = 4096;

/// One row of `system.schema_inference_cache`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaCacheRow {
    pub key: SchemaKey,
    pub entry: SchemaEntry,
}

/// Everything kept about files between statements.
#[derive(Debug, Default)]
pub struct SchemaCache {
    state: Mutex<State>,
    footers: FooterCache,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<SchemaKey, (SchemaEntry, u64)>,
    clock: u64,
    /// Whether something is not in the bytes last given out.
    changed: bool,
}

impl State {
    fn put(&mut self, key: SchemaKey, entry: SchemaEntry) {
        self.clock += 1;
        self.changed = true;
        let (now, storage) = (self.clock, key.storage);
        self.entries.insert(key, (entry, now));
        let same = || self.entries.iter().filter(|(key, _)| key.storage == storage);
        if same().count() > ENTRIES_MAX {
            let oldest = same().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.entries.remove(&key));
        }
    }
}

impl SchemaCache {
    /// What is known of a file, if anything is.
    pub fn get(&self, key: &SchemaKey) -> Option<SchemaEntry> {
        let mut state = self.state.lock();
        state.clock += 1;
        let now = state.clock;
        let (entry, used) = state.entries.get_mut(key)?;
        *used = now;
        Some(entry.clone())
    }

    /// Remembers columns, and rows if metadata told them.
    pub fn put_columns(
        &self,
        key: SchemaKey,
        columns: Vec<(String, ColumnType)>,
        rows: Option<u64>,
        now_ms: u64,
    ) {
        let mut state = self.state.lock();
        let known = state.entries.get(&key).and_then(|(entry, _)| entry.rows);
        let entry = SchemaEntry { columns: Some(columns), rows: rows.or(known), registered_ms: now_ms };
        state.put(key, entry);
    }

    /// Remembers how many rows a file was found to have when it was read to its end.
    pub fn put_rows(&self, key: SchemaKey, rows: u64, now_ms: u64) {
        let mut state = self.state.lock();
        let mut entry = state.entries.get(&key).map_or_else(SchemaEntry::default, |(entry, _)| entry.clone());
        if entry.rows != Some(rows) {
            entry.rows = Some(rows);
            entry.registered_ms = now_ms;
            state.put(key, entry);
        }
    }

    /// Parquet footers, shared by inference and scans.
    pub(crate) fn footers(&self) -> &FooterCache {
        &self.footers
    }

    /// `SYSTEM DROP SCHEMA CACHE`; with a storage only its entries.
    pub fn clear(&self, storage: Option<&str>) {
        self.footers.clear();
        let mut state = self.state.lock();
        state.entries.retain(|key, _| storage.is_some_and(|one| !key.storage.eq_ignore_ascii_case(one)));
        state.changed = true;
    }

    /// All entries, by source.
    pub fn rows(&self) -> Vec<SchemaCacheRow> {
        let state = self.state.lock();
        let mut rows: Vec<SchemaCacheRow> = state
            .entries
            .iter()
            .map(|(key, (entry, _))| SchemaCacheRow { key: key.clone(), entry: entry.clone() })
            .collect();
        rows.sort_by(|a, b| a.key.source.cmp(&b.key.source));
        rows
    }

    /// The entries as bytes for the next start, if they have changed since they were last asked for.
    pub fn changed_bytes(&self) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        if !std::mem::take(&mut state.changed) {
            return None;
        }
        let mut entries: Vec<(&SchemaKey, &SchemaEntry, u64)> =
            state.entries.iter().map(|(key, (entry, used))| (key, entry, *used)).collect();
        // Read back in this order, the entries have their places in the LRU again.
        entries.sort_unstable_by_key(|(_, _, used)| *used);
        Some(file_format::encode(entries.iter().map(|(key, entry, _)| (*key, *entry))))
    }

    /// Takes the entries of an earlier run. Bytes that are damaged, or another version's, are as good as none: all of it
    /// can be found again.
    pub fn restore(&self, bytes: &[u8]) {
        let Some(entries) = file_format::decode(bytes) else { return };
        let mut state = self.state.lock();
        entries.into_iter().for_each(|(key, entry)| state.put(key, entry));
        state.changed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: usize, etag: &str, settings: &str) -> SchemaKey {
        SchemaKey {
            storage: "S3",
            source: source.to_string(),
            etag: etag.to_owned(),
            format: "CSV".to_owned(),
            format_settings: settings.to_owned(),
        }
    }

    fn columns() -> Vec<(String, ColumnType)> {
        crate::schema::structure::parse("a Int8, `b c` Array(Nullable(DateTime64(3, 'UTC')))").unwrap()
    }

    #[test]
    fn another_version_or_another_setting_is_another_entry() {
        let cache = SchemaCache::default();
        cache.put_columns(key(1, "e1", "s1"), columns(), Some(3), 7);
        let entry = SchemaEntry { columns: Some(columns()), rows: Some(3), registered_ms: 7 };
        assert_eq!(cache.get(&key(1, "e1", "s1")), Some(entry));
        assert_eq!(cache.get(&key(1, "e2", "s1")), None);
        assert_eq!(cache.get(&key(1, "e1", "s2")), None);
        cache.clear(Some("File"));
        assert_eq!(cache.rows().len(), 1);
        cache.clear(Some("s3"));
        assert_eq!(cache.rows().len(), 0);
    }

    #[test]
    fn rows_and_columns_are_learnt_apart() {
        let cache = SchemaCache::default();
        cache.put_rows(key(1, "e", ""), 5, 1);
        assert_eq!(cache.get(&key(1, "e", "")).unwrap().columns, None);
        cache.put_columns(key(1, "e", ""), columns(), None, 2);
        let entry = SchemaEntry { columns: Some(columns()), rows: Some(5), registered_ms: 2 };
        assert_eq!(cache.get(&key(1, "e", "")), Some(entry));
    }

    #[test]
    fn the_least_recently_used_of_its_kind_goes_first() {
        let cache = SchemaCache::default();
        cache.put_rows(SchemaKey { storage: "File", ..key(0, "e", "") }, 1, 1);
        (0..ENTRIES_MAX).for_each(|i| cache.put_rows(key(i, "e", ""), 1, 1));
        assert!(cache.get(&key(0, "e", "")).is_some());
        cache.put_rows(key(ENTRIES_MAX, "e", ""), 1, 1);
        assert_eq!(cache.rows().len(), ENTRIES_MAX + 1);
        assert!(cache.get(&key(0, "e", "")).is_some());
        assert!(cache.get(&key(1, "e", "")).is_none());
    }

    #[test]
    fn entries_survive_as_bytes() {
        let cache = SchemaCache::default();
        assert_eq!(cache.changed_bytes(), None);
        cache.put_columns(key(1, "e", "s"), columns(), Some(3), 7);
        cache.put_rows(SchemaKey { storage: "File", ..key(2, "f", "t") }, 9, 8);
        let bytes = cache.changed_bytes().unwrap();
        assert_eq!(cache.changed_bytes(), None);
        let restored = SchemaCache::default();
        restored.restore(&bytes);
        assert_eq!(restored.rows(), cache.rows());
        assert_eq!(restored.changed_bytes(), None);
    }
}
