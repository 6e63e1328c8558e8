//! Schemas found by inference, kept as long as the file is the same and the settings are.
//!
//! Invariant: an entry is used only for the same file version (ETag) and the same settings; at most 4096 entries,
//! the least recently used forgotten first. Must not know: how schemas are inferred.

use std::collections::HashMap;

use model::ColumnType;
use parking_lot::Mutex;

use crate::footer::FooterCache;

/// ClickHouse's `schema_inference_cache_max_elements_for_s3`.
const ENTRIES_MAX: usize = 4096;

/// What a schema depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SchemaKey {
    /// `S3` or `File`.
    pub storage: &'static str,
    /// Endpoint, bucket and key.
    pub source: String,
    pub etag: String,
    pub format: String,
    /// Every setting that can change the answer.
    pub format_settings: String,
}

/// What is known of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaEntry {
    pub columns: Vec<(String, ColumnType)>,
    pub rows: Option<u64>,
    pub registered_ms: u64,
}

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
}

impl SchemaCache {
    pub fn get(&self, key: &SchemaKey) -> Option<SchemaEntry> {
        let mut state = self.state.lock();
        state.clock += 1;
        let now = state.clock;
        let (entry, used) = state.entries.get_mut(key)?;
        *used = now;
        Some(entry.clone())
    }

    pub fn put(&self, key: SchemaKey, entry: SchemaEntry) {
        let mut state = self.state.lock();
        state.clock += 1;
        let now = state.clock;
        state.entries.insert(key, (entry, now));
        if state.entries.len() > ENTRIES_MAX {
            let oldest = state.entries.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|key| state.entries.remove(&key));
        }
    }

    /// Parquet footers, shared by inference and scans.
    pub(crate) fn footers(&self) -> &FooterCache {
        &self.footers
    }

    /// `SYSTEM DROP SCHEMA CACHE`; with a storage only its entries.
    pub fn clear(&self, storage: Option<&str>) {
        self.footers.clear();
        self.state
            .lock()
            .entries
            .retain(|key, _| storage.is_some_and(|one| !key.storage.eq_ignore_ascii_case(one)));
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

    fn entry() -> SchemaEntry {
        SchemaEntry { columns: vec![("a".to_owned(), ColumnType::Int8)], rows: Some(3), registered_ms: 1 }
    }

    #[test]
    fn another_version_or_another_setting_is_another_entry() {
        let cache = SchemaCache::default();
        cache.put(key(1, "e1", "s1"), entry());
        assert_eq!(cache.get(&key(1, "e1", "s1")), Some(entry()));
        assert_eq!(cache.get(&key(1, "e2", "s1")), None);
        assert_eq!(cache.get(&key(1, "e1", "s2")), None);
        cache.clear(Some("File"));
        assert_eq!(cache.rows().len(), 1);
        cache.clear(Some("s3"));
        assert_eq!(cache.rows().len(), 0);
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = SchemaCache::default();
        (0..ENTRIES_MAX).for_each(|i| cache.put(key(i, "e", ""), entry()));
        assert!(cache.get(&key(0, "e", "")).is_some());
        cache.put(key(ENTRIES_MAX, "e", ""), entry());
        assert_eq!(cache.rows().len(), ENTRIES_MAX);
        assert!(cache.get(&key(0, "e", "")).is_some());
        assert!(cache.get(&key(1, "e", "")).is_none());
    }
}
