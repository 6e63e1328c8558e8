//! What a statement brings along when it reads sources.
//!
//! Invariant: plain handles and data; nothing here does I/O. Must not know: sessions, SQL.

use std::sync::Arc;

use host::MemoryBudget;
use stores::calls::collections::NamedCollections;
use stores::clients::cache::StoreCache;
use stores::clients::store::Store;
use stores::credentials::S3Environment;
use stores::files::fetch::FileReader;
use stores::files::listing::SourceFile;
use stores::locations::location::UserFiles;
use stores::statement::progress::ReadProgress;
use stores::statement::settings::SourceSettings;

use crate::cache::schemas::SchemaCache;

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
