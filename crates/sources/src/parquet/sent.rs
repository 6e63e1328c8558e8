//! A Parquet file that came along with a statement, as the body of a request: all of it is kept, since it is read from its
//! end, in memory if it is small and in a file without a name if not, for as long as its rows are read.
//!
//! Invariant: rows are those that the same file would give from a store. Must not know: requests, tables.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use futures::stream::{Stream, StreamExt};
use model::saturating::u64_of;
use parquet::file::metadata::ParquetMetaData;
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::files::fetch::FileReader;
use stores::files::listing::{SourceFile, Unwrapped};
use stores::web::spool::Spool;

use crate::cache::footer::read_footer;
use crate::env::SourceEnv;
use crate::parquet::decode::{self, BatchStream, ParquetRead};

/// What messages call it.
const SHOWN: &str = "the statement's data";

/// See the module.
#[derive(Debug)]
pub struct SentParquet {
    reader: FileReader,
    footer: Arc<ParquetMetaData>,
    env: SourceEnv,
}

impl SentParquet {
    /// Takes all of a file's bytes.
    ///
    /// # Errors
    /// The chunks' own; there is no room for them, or they are no Parquet file.
    pub async fn arrive<E: From<SourceError>>(
        env: SourceEnv,
        mut chunks: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<SentParquet, E> {
        let mut grant = env.memory.empty_grant("Parquet data sent along");
        let mut spool = Spool::default();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            env.progress.add_bytes(u64_of(chunk.len()));
            spool.push(SHOWN, chunk).await?;
            grant.resize(spool.memory_bytes()).map_err(|refused| {
                let message = format!("{SHOWN} cannot be kept: {refused}");
                SourceError::new(SourceErrorKind::Memory, message).with_hint("raise max_memory_usage")
            })?;
        }
        let file = SourceFile {
            key: SHOWN.to_owned(),
            path: SHOWN.to_owned(),
            file: SHOWN.to_owned(),
            bytes: spool.bytes(),
            modified: None,
            etag: None,
            headers: None,
            tags: None,
            unwrapped: Some(Unwrapped { content: Arc::new(spool), granted: Arc::new(grant) }),
        };
        let reader = env.reader(&env.stores.local(), &Arc::new(file));
        let footer = Arc::new(read_footer(&reader).await?);
        Ok(SentParquet { reader, footer, env })
    }

    /// Whether the file has a column of this name, as names are compared here.
    pub fn has_column(&self, name: &str) -> bool {
        let roots = self.footer.file_metadata().schema_descr().root_schema().get_fields();
        roots.iter().any(|root| match self.env.settings.parquet_any_case {
            true => root.name().eq_ignore_ascii_case(name),
            false => root.name() == name,
        })
    }

    /// Whether columns that the file does not have are read as their defaults.
    pub fn may_lack_columns(&self) -> bool {
        self.env.settings.parquet_missing_columns
    }

    /// Its rows, in the columns of `schema`.
    ///
    /// # Errors
    /// A column of the file that cannot be one of the schema's.
    pub fn rows(self, schema: SchemaRef, batch_rows: usize) -> Result<BatchStream> {
        let row_groups = (0..self.footer.num_row_groups()).collect();
        decode::read(ParquetRead {
            reader: self.reader,
            footer: self.footer,
            output: schema,
            constants: Vec::new(),
            row_groups,
            selections: HashMap::new(),
            late: None,
            live: None,
            batch_rows: batch_rows.max(1),
            memory: self.env.memory,
        })
    }
}
