//! What a statement brings along when it reads sources.
//!
//! Invariant: plain handles and data; nothing here does I/O. Must not know: sessions, SQL.

use std::sync::Arc;

use host::MemoryBudget;

use crate::cache::SchemaCache;
use crate::collections::NamedCollections;
use crate::credentials::S3Environment;
use crate::fetch::FileReader;
use crate::listing::SourceFile;
use crate::location::UserFiles;
use crate::progress::ReadProgress;
use crate::settings::SourceSettings;
use crate::store::Store;
use crate::stores::StoreCache;

#[derive(Clone, Debug)]
pub struct SourceEnv {
    /// Of the server.
    pub stores: Arc<StoreCache>,
    /// Of the server.
    pub schema_cache: Arc<SchemaCache>,
    pub settings: Arc<SourceSettings>,
    pub user_files: UserFiles,
    pub environment: S3Environment,
    /// What a bare word as first argument may stand for.
    pub collections: Arc<NamedCollections>,
    /// The statement's budget: buffers of fetched bytes are granted from it.
    pub memory: MemoryBudget,
    /// The statement's counters.
    pub progress: Arc<ReadProgress>,
    /// Wall clock when the statement started, for cache entries.
    pub now_ms: u64,
}

impl SourceEnv {
    pub(crate) fn reader(&self, store: &Arc<Store>, file: &Arc<SourceFile>) -> FileReader {
        FileReader {
            store: Arc::clone(store),
            file: Arc::clone(file),
            settings: Arc::clone(&self.settings),
            progress: Arc::clone(&self.progress),
        }
    }
}
