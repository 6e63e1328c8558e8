//! Columns of a source, from its files.
//!
//! Invariant: errors name the file; conflicts are listed all at once; a file's schema is read at most once per version
//! and settings (the cache). Must not know: URLs, SQL.

use std::sync::Arc;

use bytes::BytesMut;
use formats::{FormatKind, FormatSettings};
use futures::stream::{self, StreamExt, TryStreamExt};
use model::ColumnType;
use model::saturating::usize_of;
use stores::clients::store::Store;
use stores::codecs::compression::{Compression, Opening, opened};
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::files::fetch::FileReader;
use stores::files::listing::SourceFile;
use stores::statement::settings::{InferenceMode, InferenceSettings};

use crate::cache::footer;
use crate::cache::key::SchemaKey;
use crate::env::SourceEnv;
use crate::parquet::layout;
use crate::schema::merge::{FileSchema, MergedSchema, merge_settled};
use crate::schema::source_columns::Columns;
use crate::schema::wanted_types::{self, Hints};

/// Files looked at together.
const FILES_AT_ONCE: usize = 32;
/// Text files sampled besides the first, the last and the largest.
const TEXT_FILES_EXTRA: usize = 5;
/// First look at a text file; on doubt it grows eight times, up to `inference_bytes_max`.
const SAMPLE_BYTES: u64 = 1 << 20;

/// What is needed to look into files.
pub(crate) struct Inference<'a> {
    pub env: &'a SourceEnv,
    pub store: &'a Arc<Store>,
    pub format: FormatKind,
    pub compression: Option<Compression>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Inferred {
    pub columns: Vec<(String, ColumnType)>,
    /// For EXPLAIN and the load report.
    pub notes: Vec<String>,
}

impl Inference<'_> {
    /// The columns of all files together.
    pub(crate) async fn run(&self, files: &[Arc<SourceFile>]) -> Result<Inferred> {
        let settings = &self.env.settings;
        let hints = Hints::parse(&settings.inference.hints)?;
        let wanted = &settings.wanted_types;
        let found = match self.found(files, &hints).await {
            Ok(found) => found,
            // A table without columns, or none at all, says nothing of the files.
            Err(error)
                if wanted.whole
                    && !wanted.columns.is_empty()
                    && error.kind() == SourceErrorKind::NoStructure =>
            {
                let notes = vec![format!("the columns are those of the table, because {error}")];
                return Ok(Inferred { columns: wanted.columns.clone(), notes });
            }
            Err(error) => return Err(error),
        };
        let Inferred { mut columns, mut notes } = found;
        if let Some(found) = wanted_types::by_names(&columns, wanted, self.format) {
            columns = found;
            notes.push("the columns are those of the table they go to, found by their names".to_owned());
        } else if self.format != FormatKind::Parquet {
            let positional = is_positional(self.format, &columns);
            notes.extend(wanted_types::apply(&mut columns, wanted, positional));
        }
        notes.extend(hints.apply(&mut columns));
        Ok(Inferred { columns, notes })
    }

    async fn found(&self, files: &[Arc<SourceFile>], hints: &Hints) -> Result<Inferred> {
        let settings = &self.env.settings;
        if settings.inference_mode == InferenceMode::First {
            return self.first_readable(files).await;
        }
        let chosen = match (self.format, settings.inference_mode) {
            (FormatKind::Parquet, _) => spread(files, settings.max_footers),
            (_, InferenceMode::Union) => (0..files.len()).collect(),
            _ => sample(files),
        };
        let schemas: Vec<_> = chosen.iter().map(|i| self.file_schema(&files[*i])).collect();
        let schemas: Vec<FileSchema> = stream::iter(schemas).buffered(FILES_AT_ONCE).try_collect().await?;
        // A type that is given settles what the files disagree about.
        let by_place = self.is_settled_by_place(&schemas);
        let merged = merge_settled(&schemas, |name| by_place || self.is_settled(name, hints));
        if !merged.conflicts.is_empty() {
            return Err(conflict_error(&merged));
        }
        let mut notes: Vec<String> = merged
            .introduced
            .iter()
            .map(|(name, path)| format!("column \"{name}\" first appears in \"{path}\""))
            .collect();
        if chosen.len() < files.len() {
            notes.push(format!("the schema is of {} of {} files", chosen.len(), files.len()));
        }
        Ok(Inferred { columns: merged.columns, notes })
    }

    /// Whether a type is given from outside, so that it does not matter what the files say.
    fn is_settled(&self, name: &str, hints: &Hints) -> bool {
        let wanted = &self.env.settings.wanted_types;
        let is_wanted = || wanted.columns.iter().any(|(known, _)| known == name);
        hints.of(name).is_some() || (self.format != FormatKind::Parquet && is_wanted())
    }

    /// Whether every type is given by the column's place among all.
    fn is_settled_by_place(&self, schemas: &[FileSchema]) -> bool {
        let wanted = &self.env.settings.wanted_types;
        wanted.whole
            && self.format != FormatKind::Parquet
            && wanted_types::takes_places(&merge_settled(schemas, |_| true).columns, wanted)
    }

    async fn first_readable(&self, files: &[Arc<SourceFile>]) -> Result<Inferred> {
        let mut first_error = None;
        for file in files {
            match self.file_schema(file).await {
                Ok(schema) => return Ok(Inferred { columns: schema.columns, notes: Vec::new() }),
                Err(error) if error.kind() == SourceErrorKind::NoStructure => {
                    first_error.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(first_error.unwrap_or_else(|| no_files(files.first().map_or("", |file| &file.path))))
    }

    async fn file_schema(&self, file: &Arc<SourceFile>) -> Result<FileSchema> {
        let (settings, cache) = (&self.env.settings, &self.env.schema_cache);
        let key = SchemaKey::of(self.store, file, settings, self.format.name(), self.compression);
        if let Some(columns) = key.as_ref().and_then(|key| cache.get(key)).and_then(|entry| entry.columns) {
            return Ok(FileSchema { path: file.path.clone(), columns });
        }
        let (columns, rows) = match self.format {
            FormatKind::Parquet => self.parquet_columns(file).await?,
            fixed if fixed.has_fixed_columns() => (self.fixed_columns(file)?, None),
            _ => (self.text_columns(file).await?, None),
        };
        if let Some(key) = key {
            cache.put_columns(key, columns.clone(), rows, self.env.now_ms);
        }
        Ok(FileSchema { path: file.path.clone(), columns })
    }

    async fn parquet_columns(
        &self,
        file: &Arc<SourceFile>,
    ) -> Result<(Vec<(String, ColumnType)>, Option<u64>)> {
        let footer = self.env.schema_cache.footers().load(&self.env.reader(self.store, file)).await?;
        let mut columns = layout::columns(&footer, &file.path)?;
        let nullable = self.env.settings.inference.nullable;
        columns.iter_mut().for_each(|(_, column_type)| wanted_types::make_nullable(column_type, nullable));
        Ok((columns, Some(footer::rows(&footer))))
    }

    /// Columns that need no look into the file.
    fn fixed_columns(&self, file: &Arc<SourceFile>) -> Result<Vec<(String, ColumnType)>> {
        formats::infer(self.format, &[], true, &self.env.settings.format)
            .map_err(|error| unreadable(file, &error.to_string()))
    }

    async fn text_columns(&self, file: &Arc<SourceFile>) -> Result<Vec<(String, ColumnType)>> {
        let bytes_max = self.env.settings.inference_bytes_max;
        let mut bytes = SAMPLE_BYTES.min(bytes_max);
        loop {
            let (sample, whole) = beginning(
                &self.env.reader(self.store, file),
                self.env.settings.opening(self.compression),
                bytes,
            )
            .await?;
            match formats::infer_details(self.format, &sample, whole, &self.env.settings.format) {
                Ok(found) if !found.columns.is_empty() => return self.named(found, file),
                Ok(_) => {
                    return Err(unreadable(
                        file,
                        "the table structure cannot be extracted from a file without rows",
                    ));
                }
                Err(_) if !whole && bytes < bytes_max => bytes = bytes.saturating_mul(8).min(bytes_max),
                Err(error) => {
                    return Err(unreadable(file, &error.to_string()).with_code(error.code));
                }
            }
        }
    }

    fn named(&self, found: formats::Inferred, file: &SourceFile) -> Result<Columns> {
        named(found, self.format, &self.env.settings.inference).map_err(|why| unreadable(file, &why))
    }
}

/// Whether columns have no names but those of their places.
fn is_positional(format: FormatKind, columns: &[(String, ColumnType)]) -> bool {
    format != FormatKind::JsonEachRow
        && columns.iter().enumerate().all(|(i, (name, _))| *name == format!("c{}", i + 1))
}

/// Columns without names get the ones of `column_names_for_schema_inference`.
fn named(
    found: formats::Inferred,
    format: FormatKind,
    inference: &InferenceSettings,
) -> std::result::Result<Columns, String> {
    let names = &inference.column_names;
    if names.is_empty() || found.has_header || !is_positional(format, &found.columns) {
        return Ok(found.columns);
    }
    if names.len() != found.columns.len() {
        let (given, found) = (names.len(), found.columns.len());
        return Err(format!(
            "column_names_for_schema_inference has {given} names, the file has {found} columns"
        ));
    }
    Ok(names.iter().cloned().zip(found.columns.into_iter().map(|(_, found)| found)).collect())
}

/// Columns of a text in a statement, as those of a file of it.
///
/// # Errors
/// The text says nothing of them, or the settings are not for it.
pub fn columns_of_text(
    format: FormatKind,
    text: &[u8],
    settings: &FormatSettings,
    inference: &InferenceSettings,
) -> Result<Vec<(String, ColumnType)>> {
    let hints = Hints::parse(&inference.hints)?;
    let found = formats::infer_details(format, text, true, settings)
        .map_err(|error| no_structure(&error.to_string()).with_code(error.code))?;
    let mut columns = named(found, format, inference).map_err(|why| no_structure(&why))?;
    hints.apply(&mut columns);
    Ok(columns)
}

/// The decompressed beginning of a file, of some stored bytes, and whether it is all of it.
pub(crate) async fn beginning(
    reader: &FileReader,
    opening: impl Into<Opening>,
    bytes: u64,
) -> Result<(BytesMut, bool)> {
    let file = &reader.file;
    let until = bytes.min(file.bytes);
    let whole = until == file.bytes;
    let stored = reader.get(0..until).await?;
    let mut chunks = opened(stream::iter([Ok(stored)]).boxed(), opening, &file.path, None);
    let mut sample = BytesMut::new();
    let enough = usize_of(bytes);
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => sample.extend_from_slice(&chunk),
            // The beginning of a compressed file ends in the middle; only a whole one must end well.
            Err(_) if !whole => return Ok((sample, false)),
            Err(error) => return Err(error),
        }
        if sample.len() > enough.saturating_mul(8) {
            return Ok((sample, false));
        }
    }
    Ok((sample, whole))
}

pub(crate) fn no_files(pattern: &str) -> SourceError {
    SourceError::new(
        SourceErrorKind::NoStructure,
        format!("cannot extract the table structure: no file with content matches \"{pattern}\""),
    )
    .with_hint("give the structure as an argument to read an empty source")
}

fn unreadable(file: &SourceFile, why: &str) -> SourceError {
    no_structure(&format!("\"{}\": {why}", file.path)).with_file(&file.path)
}

fn no_structure(why: &str) -> SourceError {
    SourceError::new(SourceErrorKind::NoStructure, why)
}

fn conflict_error(merged: &MergedSchema) -> SourceError {
    let of = |conflict: &crate::schema::merge::TypeConflict| {
        let types: Vec<String> =
            conflict.types.iter().map(|(t, path)| format!("{t} in \"{path}\"")).collect();
        format!("column \"{}\" is {}", conflict.column, types.join(", "))
    };
    let listed: Vec<String> = merged.conflicts.iter().map(of).collect();
    let message = format!("the files have different types: {}", listed.join("; "));
    SourceError::new(SourceErrorKind::NoStructure, message)
        .with_hint("give the structure as an argument, or set schema_inference_mode = 'default'")
}

/// At most `count_max` positions, first and last among them, evenly spread.
fn spread(files: &[Arc<SourceFile>], count_max: usize) -> Vec<usize> {
    if files.len() <= count_max {
        return (0..files.len()).collect();
    }
    (0..count_max).map(|i| i * (files.len() - 1) / (count_max - 1).max(1)).collect()
}

/// First, last, largest and a few between, in order.
fn sample(files: &[Arc<SourceFile>]) -> Vec<usize> {
    let largest = (0..files.len()).max_by_key(|i| files[*i].bytes);
    let mut chosen = spread(files, TEXT_FILES_EXTRA + 2);
    chosen.extend(largest);
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}
