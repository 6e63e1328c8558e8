//! A server, an environment, and short ways to ask.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::Bytes;
use datafusion::prelude::{SessionConfig, SessionContext};
use host::{MemoryBudget, Runtimes};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use sources::{ObjectTable, SchemaCache, SourceEnv, SourceUnit, VirtualColumn, resolve};
use stores::locations::location::UserFiles;
use stores::{
    Argument, ArgumentValue, ReadProgress, S3Environment, SourceCall, SourceError, SourceSettings, StoreCache,
};

use crate::s3_server::S3Server;

pub(crate) struct Fixture {
    pub(crate) runtimes: Runtimes,
    pub(crate) server: S3Server,
    pub(crate) env: SourceEnv,
}

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let runtimes = Runtimes::new(2, 2).unwrap();
        let server = S3Server::start(&runtimes);
        let settings = SourceSettings {
            retry_attempts: 3,
            retry_timeout: Duration::from_secs(10),
            ..SourceSettings::default()
        };
        let env = SourceEnv {
            stores: Arc::new(StoreCache::new(runtimes.clone())),
            schema_cache: Arc::new(SchemaCache::default()),
            settings: Arc::new(settings.bounded()),
            user_files: UserFiles { root: "/nonexistent".into(), anywhere: true },
            environment: S3Environment::default(),
            collections: Arc::default(),
            memory: MemoryBudget::new(1 << 30),
            progress: Arc::new(ReadProgress::default()),
            now_ms: 1,
        };
        Fixture { runtimes, server, env }
    }

    pub(crate) fn settings(&mut self, change: impl FnOnce(&mut SourceSettings)) {
        let mut settings = self.env.settings.as_ref().clone();
        change(&mut settings);
        self.env.settings = Arc::new(settings);
    }

    pub(crate) fn run<F: Future>(&self, task: F) -> F::Output {
        self.runtimes.block_on(task)
    }

    pub(crate) fn resolve(&self, function: &str, arguments: &[&str]) -> Result<ObjectTable, SourceError> {
        let arguments = arguments
            .iter()
            .map(|text| Argument { name: None, value: ArgumentValue::Text((*text).to_owned()) })
            .collect();
        let call = SourceCall { function: function.to_owned(), arguments };
        self.run(resolve(&call, &self.env, None))
    }

    /// `s3('<server>/path', ...)`.
    pub(crate) fn s3(&self, path: &str, more: &[&str]) -> Result<ObjectTable, SourceError> {
        let url = self.server.url(path);
        let arguments: Vec<&str> = std::iter::once(url.as_str()).chain(more.iter().copied()).collect();
        self.resolve("s3", &arguments)
    }

    /// Keys of the files, without the bucket.
    pub(crate) fn keys(&self, path: &str) -> Result<Vec<String>, SourceError> {
        let table = self.s3(path, &["CSV", "a String"])?;
        Ok(table.files().iter().map(|file| file.key.clone()).collect())
    }

    /// Rows of a query over `t`, the virtual columns included, as text.
    pub(crate) fn query(&self, table: &ObjectTable, sql: &str) -> Result<Vec<String>, String> {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
        context.register_table("t", Arc::new(table.with_virtual_columns(&VirtualColumn::ALL))).unwrap();
        let batches = self.run(async { context.sql(sql).await?.collect().await }).map_err(|error| {
            SourceError::find(&error).map_or_else(|| format!("not ours: {error}"), ToString::to_string)
        })?;
        Ok(rows(&batches))
    }

    /// Rows of all units, read one after the other.
    pub(crate) fn units(&self, table: &ObjectTable, target_bytes: u64) -> Result<Vec<String>, SourceError> {
        let units = self.run(table.units(target_bytes))?;
        self.rows_of(table, &units)
    }

    /// Rows of these units, read one after the other.
    pub(crate) fn rows_of(
        &self,
        table: &ObjectTable,
        units: &[SourceUnit],
    ) -> Result<Vec<String>, SourceError> {
        self.run(async {
            let mut shown = Vec::new();
            for unit in units {
                let batches = table.scan_unit(unit, None, &[], 1000).await?;
                let batches: Vec<RecordBatch> = futures::TryStreamExt::try_collect(batches).await?;
                shown.extend(rows(&batches));
            }
            Ok(shown)
        })
    }
}

/// Rows as text, values separated by `|`.
pub(crate) fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut shown = Vec::new();
    for batch in batches {
        let columns: Vec<ArrayFormatter<'_>> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        shown.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|")
        }));
    }
    shown
}

/// A Parquet file with these columns, in row groups of `rows_per_group`.
pub(crate) fn parquet(columns: Vec<(&str, ArrayRef)>, rows_per_group: usize) -> Bytes {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(rows_per_group)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

pub(crate) fn types(table: &ObjectTable) -> String {
    table.columns().iter().map(|(name, t)| format!("{name} {t}")).collect::<Vec<_>>().join(", ")
}
