//! From a call in a statement to a table, before anything is planned: all the I/O that planning must not do.
//!
//! Order: arguments, location, credentials, client, listing, format, columns. A structure that is given is never
//! inferred. Invariant: errors hold no secrets. Must not know: the statement around the call.

use std::sync::Arc;

use formats::FormatKind;
use model::ColumnType;
use stores::calls::arguments::SourceCall;
use stores::calls::format;
use stores::clients::store::Store;
use stores::codecs::compression::Compression;
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::files::listing::SourceFile;
use stores::keys::file_filter::FileFilter;
use stores::keys::hive;
use stores::statement::settings::InferenceMode;

use crate::cache::footer;
use crate::cache::key::SchemaKey;
use crate::env::SourceEnv;
use crate::resolve::infer::{Inference, Inferred, beginning, no_files};
use crate::resolve::open::{Opened, locate, open_and_list};
use crate::resolve::wrapped_parquet;
use crate::schema::source_columns::SourceColumns;
use crate::schema::structure;
use crate::tables::object_table::{ObjectSource, ObjectTable};

/// Stored bytes by which a format is found where neither the call nor the name tells it.
const DETECTION_BYTES: u64 = 64 << 10;

/// Makes the table of a call. `structure_hint` stands in for inference when the call gives no structure.
///
/// # Errors
/// Every [`SourceErrorKind`]; the message names argument, bucket, key or file.
pub async fn resolve(
    call: &SourceCall,
    env: &SourceEnv,
    structure_hint: Option<Vec<(String, ColumnType)>>,
) -> Result<ObjectTable> {
    match resolve_wanted(call, env, structure_hint.clone()).await {
        Ok(Some(table)) => Ok(table),
        // What the statement says was not about files after all, or left none to infer columns from.
        Ok(None) => {
            let mut settings = env.settings.as_ref().clone();
            settings.wanted_files = FileFilter::default();
            let env = SourceEnv { settings: Arc::new(settings), ..env.clone() };
            let table = resolve_wanted(call, &env, structure_hint).await?;
            table.ok_or_else(|| no_files(&call.function))
        }
        Err(error) => Err(error),
    }
}

/// `None` if the files have to be listed without the statement's filter.
async fn resolve_wanted(
    call: &SourceCall,
    env: &SourceEnv,
    structure_hint: Option<Vec<(String, ColumnType)>>,
) -> Result<Option<ObjectTable>> {
    let arguments = call.object_arguments(&env.collections)?;
    let structure = arguments.structure.as_deref().map(structure::parse_with_defaults).transpose()?;
    let has_structure = structure.is_some();
    let (given, default_texts) = match structure {
        Some(structure) => (Some(structure.columns), structure.defaults),
        None => (structure_hint, Vec::new()),
    };
    let said_format = arguments.format.as_deref().map(format::by_name).transpose()?;
    let compression = arguments.compression.as_deref().map(Compression::by_name).transpose()?;
    let mut notes = vec![format!("arguments were read as {}", arguments.reading)];
    notes.extend(arguments.notes.iter().cloned());
    let location = locate(&arguments, env)?;
    let pattern = location.pattern().to_owned();
    let Opened { store, listing } = open_and_list(location, &arguments, env, &mut notes).await?;
    let nothing = || no_files(&store.shown(if store.is_web() { "0" } else { &pattern }));
    let is_narrowed = listing.is_narrowed;
    let files: Vec<Arc<SourceFile>> = listing.files.into_iter().map(Arc::new).collect();
    let has_format = || Ok::<_, SourceError>(said_format.is_some() || format::by_suffix(&pattern)?.is_some());
    if files.is_empty() && is_narrowed && (given.is_none() || !has_format()?) {
        return Ok(None);
    }
    let found = Found { env, store: &store, compression };
    let format = match (said_format, files.first()) {
        (Some(format), _) => format,
        (None, Some(first)) => found.format(first).await?,
        (None, None) => format::by_suffix(&pattern)?.ok_or_else(nothing)?,
    };
    let files = match format {
        FormatKind::Parquet => {
            wrapped_parquet::unwrapped(env, &store, files, compression, &mut notes).await?
        }
        _ => files,
    };
    let inferred = given.is_none();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let partitions = if env.settings.hive_partitioning { hive::columns(&paths)? } else { Vec::new() };
    let columns = match given {
        Some(columns) => SourceColumns::given(columns, partitions)?,
        None if files.is_empty() => return Err(nothing()),
        None => {
            let Some(Inferred { columns, notes: found }) = found.columns(&files, format, is_narrowed).await?
            else {
                return Ok(None);
            };
            notes.extend(found);
            SourceColumns::inferred(columns, partitions)?
        }
    };
    if is_narrowed && is_about_rows(&env.settings.wanted_files, &columns) {
        return Ok(None);
    }
    notes.extend(note_of_paths(&columns));
    let rows = found.rows(&files, (format, &columns), inferred).await?;
    let env = env.clone();
    Ok(Some(ObjectTable::new(ObjectSource {
        env,
        store,
        files,
        is_narrowed,
        format,
        compression,
        columns,
        default_texts,
        has_structure,
        rows,
        notes,
        heads: Arc::default(),
    })))
}

/// Says which columns come from paths, if any do.
fn note_of_paths(columns: &SourceColumns) -> Option<String> {
    let names: Vec<&str> = columns.partitions.iter().map(|column| column.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("columns read from paths: {}", names.join(", ")))
}

/// Whether a condition that was taken to be about files is about a column in them.
fn is_about_rows(filter: &FileFilter, columns: &SourceColumns) -> bool {
    let is_partition = |name: &str| columns.partitions.iter().any(|column| column.name == name);
    let is_stored = |name: &str| columns.stored.iter().any(|(own, _)| own == name) && !is_partition(name);
    filter.conditions.iter().any(|condition| is_stored(&condition.column))
}

/// Files of a listing, to be looked into.
struct Found<'a> {
    env: &'a SourceEnv,
    store: &'a Arc<Store>,
    compression: Option<Compression>,
}

impl Found<'_> {
    /// The first file decides for all: by its suffix, else by its first bytes.
    async fn format(&self, first: &Arc<SourceFile>) -> Result<FormatKind> {
        let named = format::by_suffix(&first.file)?;
        if let Some(format) = named.filter(|_| !format::may_be_document(&first.file)) {
            return Ok(format);
        }
        let reader = self.env.reader(self.store, first);
        let opening = self.env.settings.opening(self.compression);
        let (sample, at_end) = beginning(&reader, opening, DETECTION_BYTES).await?;
        let settings = &self.env.settings.format;
        match named {
            Some(rows) => Ok(format::document(&sample, at_end, settings).unwrap_or(rows)),
            None => format::by_content(&sample, at_end, settings, &first.path),
        }
    }

    /// `None` if the files that the filter left have none.
    async fn columns(
        &self,
        files: &[Arc<SourceFile>],
        format: FormatKind,
        is_narrowed: bool,
    ) -> Result<Option<Inferred>> {
        let inference = Inference { env: self.env, store: self.store, format, compression: self.compression };
        match inference.run(files).await {
            Err(error) if is_narrowed && error.kind() == SourceErrorKind::NoStructure => Ok(None),
            other => other.map(Some),
        }
    }

    /// Rows of all files, if each was counted before or its footer has just been read by inference.
    async fn rows(
        &self,
        files: &[Arc<SourceFile>],
        (format, columns): (FormatKind, &SourceColumns),
        inferred: bool,
    ) -> Result<Option<u64>> {
        let (settings, cache) = (&self.env.settings, &self.env.schema_cache);
        let footers_are_read = format == FormatKind::Parquet
            && inferred
            && files.len() <= settings.max_footers
            && settings.inference_mode != InferenceMode::First;
        let mut rows = 0_u64;
        for file in files {
            let mut key = SchemaKey::of(self.store, file, settings, format.name(), self.compression);
            if format != FormatKind::Parquet {
                key = key.and_then(|key| key.of_rows(settings, &columns.stored));
            }
            let counted = key.and_then(|key| cache.get(&key)).and_then(|entry| entry.rows);
            let of_file = match counted {
                Some(counted) => counted,
                None if footers_are_read => {
                    let footer = cache.footers().load(&self.env.reader(self.store, file)).await?;
                    footer::rows(&footer)
                }
                None => return Ok(None),
            };
            rows = rows.saturating_add(of_file);
        }
        Ok(Some(rows))
    }
}
