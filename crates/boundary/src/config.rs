//! What a database is opened with. Plain data; objects such as clocks and disks are passed beside it.
//!
//! Invariant: nothing here decides an on-disk format.

use std::collections::BTreeMap;
use std::path::PathBuf;

use catalog::Collection;
use shared::RootPlace;

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Folder of the database; `None` makes a temporary one that is removed when the database closes. Of a shared root it is the
    /// folder of what this process keeps of it.
    pub root: Option<PathBuf>,
    /// Then the database is in a store.
    pub shared: Option<RootPlace>,
    /// Bytes everything together may hold; `None` takes four fifths of what the machine (or its cgroup) has.
    pub memory_bytes_max: Option<u64>,
    /// Bytes of parts kept without their compression (`uncompressed_cache_size`); `None` takes a fifth of the memory.
    pub uncompressed_cache_bytes: Option<u64>,
    /// Worker threads; `None` takes the number of cores.
    pub threads: Option<usize>,
    /// Merges, flushes, collection and checkpoints run in the background.
    pub background: bool,
    /// Concurrent merges (`background_pool_size`); `None` takes half as many as there are worker threads, and two at least: each
    /// merge has its columns written side by side.
    pub background_pool_size: Option<usize>,
    /// Largest merge, in compressed bytes (`max_bytes_to_merge_at_max_space_in_pool`).
    pub merge_bytes_max: u64,
    /// Milliseconds a part stays after it was merged away (`old_parts_lifetime`).
    pub old_parts_lifetime_ms: u64,
    /// Milliseconds a file that no record names stays in `lost/`, or where it is in a shared root (`orphans_lifetime`).
    pub orphans_lifetime_ms: u64,
    /// Milliseconds after which a part is read again to see whether it is as it was written (`scrub_interval`); 0 is never.
    pub scrub_interval_ms: u64,
    /// `file()` may name any path of this machine; otherwise only paths below `user_files`.
    pub allow_any_local_path: bool,
    /// Where relative paths of `file()` begin.
    pub user_files: Option<PathBuf>,
    /// Hosts that statements may name (`remote_url_allow_hosts`): `host`, `host:port`, or with `*`; `None` is any.
    pub allowed_hosts: Option<Vec<String>>,
    /// Others than the owner of the machine write statements: they may read neither the machine's own ports and
    /// metadata nor use its credentials.
    pub faces_users: bool,
    /// Named collections of the configuration; statements can use and not change them.
    pub named_collections: BTreeMap<String, Collection>,
}

impl Default for Config {
    /// What `gristmill local` runs with. Merge limits are ClickHouse's defaults, but for the pool: merges are CPU
    /// work.
    fn default() -> Config {
        Config {
            root: None,
            shared: None,
            memory_bytes_max: None,
            uncompressed_cache_bytes: None,
            threads: None,
            background: true,
            background_pool_size: None,
            merge_bytes_max: 150 << 30,
            old_parts_lifetime_ms: 480_000,
            orphans_lifetime_ms: 7 * 86_400_000,
            scrub_interval_ms: 7 * 24 * 3_600_000,
            allow_any_local_path: true,
            user_files: None,
            allowed_hosts: None,
            faces_users: false,
            named_collections: BTreeMap::new(),
        }
    }
}
