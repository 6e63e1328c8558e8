//! Parquet files that were compressed as a whole, `gzip x.parquet`: Parquet is read from its end and in pieces, and such a
//! file only from its beginning.
//!
//! It is decompressed before anything else is done, into memory if it is small and into a file without a name if not,
//! for as long as the statement reads it. Most files named `x.parquet.zst` are Parquet that compresses inside: their
//! first bytes say so, and those of the first file speak for all. Must not know: columns, queries.

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use model::ByteSize;
use model::saturating::u64_of;
use stores::clients::store::Store;
use stores::codecs::compression::{
    Compression, DecodeTask, FIRST_BYTES, Magic, by_first_bytes, magic, opened,
};
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::files::listing::{SourceFile, Unwrapped};
use stores::web::spool::Spool;

use crate::env::SourceEnv;
use crate::text::stored::stored;

/// Files decompressed at the same time; each is by several threads where it can be.
const FILES_AT_ONCE: usize = 2;

/// The same files, those that are wrapped with what is in them.
///
/// # Errors
/// A file is cut or broken, or there is no room for it.
pub(crate) async fn unwrapped(
    env: &SourceEnv,
    store: &Arc<Store>,
    files: Vec<Arc<SourceFile>>,
    said: Option<Compression>,
    notes: &mut Vec<String>,
) -> Result<Vec<Arc<SourceFile>>> {
    let wrapping = Wrapping { env, store, said };
    let suspect = files.iter().find(|file| wrapping.is_suspect(file));
    let is_wrapped = match suspect {
        Some(file) => wrapping.of(file).await? != Compression::None,
        None => false,
    };
    if !is_wrapped {
        return Ok(files);
    }
    let looks: Vec<_> = files.into_iter().map(|file| wrapping.unwrapped(file)).collect();
    let files: Vec<Arc<SourceFile>> = stream::iter(looks).buffered(FILES_AT_ONCE).try_collect().await?;
    let bytes = files.iter().filter(|file| file.unwrapped.is_some()).map(|file| file.bytes).sum();
    let count = files.iter().filter(|file| file.unwrapped.is_some()).count();
    notes.push(format!(
        "{count} Parquet file(s) are compressed as a whole and were decompressed first, to {}; Parquet that compresses \
         inside (zstd, say) is read in pieces",
        ByteSize(bytes)
    ));
    Ok(files)
}

struct Wrapping<'a> {
    env: &'a SourceEnv,
    store: &'a Arc<Store>,
    said: Option<Compression>,
}

impl Wrapping<'_> {
    /// Whether the call or the name says that it is compressed.
    fn is_suspect(&self, file: &SourceFile) -> bool {
        self.said.unwrap_or_else(|| Compression::by_suffix(&file.file).0) != Compression::None
    }

    async fn of(&self, file: &Arc<SourceFile>) -> Result<Compression> {
        let first = self.env.reader(self.store, file).get(0..file.bytes.min(u64_of(FIRST_BYTES))).await?;
        Ok(match (magic(&first), self.said) {
            (Some(Magic::Parquet), _) => Compression::None,
            (_, Some(said)) => said,
            (_, None) => by_first_bytes(&first, &file.file),
        })
    }

    async fn unwrapped(&self, file: Arc<SourceFile>) -> Result<Arc<SourceFile>> {
        if !self.is_suspect(&file) {
            return Ok(file);
        }
        let compression = self.of(&file).await?;
        if compression == Compression::None {
            return Ok(file);
        }
        let (env, path) = (self.env, file.path.as_str());
        let mut grant = env.memory.empty_grant("Parquet files compressed as a whole");
        let task = DecodeTask {
            runtimes: self.store.runtimes().clone(),
            memory: env.memory.clone(),
            threads: env.settings.parsing_threads(),
        };
        let stored = stored(env.reader(self.store, &file), env.memory.clone(), 0..file.bytes);
        let opening = env.settings.opening(Some(compression));
        let mut chunks = opened(stored, opening, path, Some(task));
        let mut spool = Spool::default();
        while let Some(chunk) = chunks.next().await {
            spool.push(path, chunk?).await?;
            grant.resize(spool.memory_bytes()).map_err(|refused| {
                let message = format!("\"{path}\" cannot be decompressed: {refused}");
                SourceError::new(SourceErrorKind::Memory, message)
                    .with_file(path)
                    .with_hint("raise max_memory_usage, or store Parquet that compresses inside")
            })?;
        }
        let bytes = spool.bytes();
        let unwrapped = Some(Unwrapped { content: Arc::new(spool), granted: Arc::new(grant) });
        Ok(Arc::new(SourceFile { bytes, unwrapped, ..file.as_ref().clone() }))
    }
}
