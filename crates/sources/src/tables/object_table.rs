//! A listing of files as a table.
//!
//! Invariant: the schema is fixed when the table is made: columns of the files, then the virtual columns that were
//! asked for ([`ObjectTable::with_virtual_columns`]), which are no part of `*`. The list of files is fixed too, with
//! the ETag of each. Must not know: SQL text, the query's plan.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use formats::{FormatKind, RecordBoundaries, omissions_name, with_omissions};
use model::ColumnType;
use model::type_arrow::to_field;
use parquet::file::metadata::ParquetMetaData;
use stores::clients::store::Store;
use stores::codecs::compression::{Compression, framing};
use stores::error::{Result, SourceError};
use stores::files::fetch::FileReader;
use stores::files::listing::SourceFile;

use crate::cache::key::SchemaKey;
use crate::cache::pages;
use crate::env::SourceEnv;
use crate::parquet::decode::{self, BatchStream, ParquetRead};
use crate::parquet::late_columns::LateColumns;
use crate::parquet::layout;
use crate::parquet::live_filters::LiveFilters;
use crate::parquet::prune::RowGroupFilter;
use crate::schema::source_columns::SourceColumns;
use crate::schema::virtual_columns::{FileColumn, VirtualColumn};
use crate::tables::omitted::{ColumnDefaults, Omitted};
use crate::tables::row_counts;
use crate::tables::split::{SourceUnit, is_uneven, shares_of};
use crate::text::parse::{self, TextRead};
use crate::text::ranges::Heads;

/// Footers asked for together.
const FOOTERS_AT_ONCE: usize = 32;

/// What a scan wants of a unit.
pub(crate) struct Wanted<'a> {
    /// Columns of the table by position; `None`: all.
    pub projection: Option<&'a [usize]>,
    pub filters: &'a [Arc<dyn PhysicalExpr>],
    pub live: Option<&'a Arc<LiveFilters>>,
    pub batch_rows: usize,
}

/// Files outside as a table; clones share the listing.
#[derive(Clone)]
pub struct ObjectTable {
    source: Arc<ObjectSource>,
    virtual_columns: Vec<VirtualColumn>,
    /// Every column of the schema that is not read from files.
    constants: Vec<FileColumn>,
    /// What stands in for cells that a file leaves out.
    defaults: Option<Arc<dyn ColumnDefaults>>,
    schema: SchemaRef,
}

/// What all views of one source share.
#[derive(Clone)]
pub(crate) struct ObjectSource {
    pub env: SourceEnv,
    pub store: Arc<Store>,
    pub files: Vec<Arc<SourceFile>>,
    /// Whether the statement's filter may have kept files away.
    pub is_narrowed: bool,
    pub format: FormatKind,
    pub compression: Option<Compression>,
    pub columns: SourceColumns,
    /// Texts of the defaults that the call's structure gives columns.
    pub default_texts: Vec<(String, String)>,
    /// Whether the call names the columns.
    pub has_structure: bool,
    /// Rows of all files, where every footer is known.
    pub rows: Option<u64>,
    pub notes: Vec<String>,
    /// Of text files that are read from the middle.
    pub heads: Arc<Heads>,
}

mod adopted;
mod expected;
mod matching;
mod ranges;
mod tags;
mod units;

impl fmt::Debug for ObjectTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectTable")
            .field("store", &self.source.store)
            .field("files", &self.source.files.len())
            .field("format", &self.source.format.name())
            .finish_non_exhaustive()
    }
}

impl ObjectTable {
    pub(crate) fn new(source: ObjectSource) -> Self {
        let constants: Vec<FileColumn> =
            source.columns.partitions.iter().cloned().map(FileColumn::Hive).collect();
        let schema = schema_of(&source.columns.all, &[]);
        let (virtual_columns, defaults) = (Vec::new(), None);
        ObjectTable { source: Arc::new(source), virtual_columns, constants, defaults, schema }
    }

    /// Texts of the defaults that the call's structure gives its columns. Rows have them only after
    /// [`ObjectTable::with_defaults`].
    pub fn default_texts(&self) -> &[(String, String)] {
        &self.source.default_texts
    }

    /// Whether the call names the columns itself.
    pub fn has_structure(&self) -> bool {
        self.source.has_structure
    }

    /// The same table where cells that a file leaves out have these defaults.
    pub fn with_defaults(&self, defaults: Arc<dyn ColumnDefaults>) -> ObjectTable {
        ObjectTable { defaults: Some(defaults), ..self.clone() }
    }

    /// The same table with these virtual columns after its own. A column of the files hides its namesake.
    pub fn with_virtual_columns(&self, columns: &[VirtualColumn]) -> ObjectTable {
        self.with_columns(columns, |_| false)
    }

    /// The same table with the columns after its own that are no part of `*` and that `is_used` says are named:
    /// virtual ones, partitions that a given structure leaves out, and omission columns of its own.
    pub fn with_columns_named(&self, is_used: impl Fn(&str) -> bool) -> ObjectTable {
        let virtual_columns: Vec<VirtualColumn> =
            VirtualColumn::ALL.into_iter().filter(|column| is_used(column.name())).collect();
        self.with_columns(&virtual_columns, is_used)
    }

    fn with_columns(&self, columns: &[VirtualColumn], is_used: impl Fn(&str) -> bool) -> ObjectTable {
        let own = &self.source.columns;
        let hidden = |column: &VirtualColumn| {
            own.all.iter().any(|(name, _)| name == column.name())
                || *column == VirtualColumn::Headers && !self.source.store.is_web()
        };
        let virtual_columns: Vec<VirtualColumn> =
            columns.iter().copied().filter(|column| !hidden(column)).collect();
        let partitions = own.hidden_partitions.iter().filter(|column| is_used(&column.name)).cloned();
        let added: Vec<FileColumn> = virtual_columns
            .iter()
            .copied()
            .map(FileColumn::Virtual)
            .chain(partitions.map(FileColumn::Hive))
            .collect();
        let schema = schema_of(&own.all, &added);
        let schema = with_omissions(&schema, |field| {
            let is_stored = own.stored.iter().any(|(name, _)| name == field.name());
            is_stored && !self.is_in_path(field.name()) && is_used(&omissions_name(field.name()))
        });
        let constants = own.partitions.iter().cloned().map(FileColumn::Hive).chain(added).collect();
        let (source, defaults) = (Arc::clone(&self.source), self.defaults.clone());
        ObjectTable { source, virtual_columns, constants, defaults, schema }
    }

    /// Whether the paths of the files say a column's values: they are never left out.
    pub fn is_in_path(&self, column: &str) -> bool {
        self.source.columns.partitions.iter().any(|partition| partition.name == column)
    }

    /// Columns of the schema that are no part of `*`.
    pub fn hidden_columns(&self) -> Vec<String> {
        let own = self.source.columns.all.len();
        self.schema.fields().iter().skip(own).map(|field| field.name().clone()).collect()
    }

    /// The files, in the order in which they are read.
    pub fn files(&self) -> &[Arc<SourceFile>] {
        &self.source.files
    }

    /// Whether its files are those of this machine.
    pub fn is_local(&self) -> bool {
        self.source.store.is_local()
    }

    /// Whether the statement's filter may have kept files away, which may have columns that these lack.
    pub fn is_narrowed(&self) -> bool {
        self.source.is_narrowed
    }

    /// Columns of the files with our types attached, then the virtual columns asked for.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Columns of the files and of partitions in their paths: what `*` stands for.
    pub fn columns(&self) -> &[(String, ColumnType)] {
        &self.source.columns.all
    }

    /// Virtual columns in the schema.
    pub fn virtual_columns(&self) -> &[VirtualColumn] {
        &self.virtual_columns
    }

    pub fn format(&self) -> FormatKind {
        self.source.format
    }

    /// What a user may want to know: how arguments were read, unsigned retries, where columns came from.
    pub fn notes(&self) -> &[String] {
        &self.source.notes
    }

    /// Bytes of all files as stored.
    pub fn bytes(&self) -> u64 {
        self.source.files.iter().map(|file| file.bytes).sum()
    }

    /// Rows of all files, if known without reading them.
    pub fn rows(&self) -> Option<u64> {
        self.source.rows
    }

    /// Streams that can read these files at the same time, of `wanted`.
    pub(crate) fn streams(&self, files: &[usize], wanted: usize) -> usize {
        if self.source.format == FormatKind::Parquet {
            return wanted;
        }
        let settings = &self.source.env.settings;
        let cuttable = RecordBoundaries::new(self.source.format, &settings.format).is_some();
        let bytes = |file: &usize| self.source.files.get(*file).map_or(0, |file| file.bytes);
        let of_file = |file: &usize| if cuttable { shares_of(bytes(file), settings) } else { 1 };
        files.iter().map(of_file).fold(0_usize, usize::saturating_add).min(wanted)
    }

    /// How large text files are divided among streams, for EXPLAIN; `None` where there is nothing to say.
    pub(crate) fn text_division(&self, files: &[usize], streams: usize) -> Option<String> {
        let (format, settings) = (self.source.format, &self.source.env.settings);
        let largest =
            files.iter().filter_map(|file| self.source.files.get(*file)).max_by_key(|file| file.bytes)?;
        let sizes = files.iter().filter_map(|file| self.source.files.get(*file)).map(|file| file.bytes);
        let is_whole = shares_of(largest.bytes, settings) < 2 || !is_uneven(sizes, settings.max_threads);
        if format == FormatKind::Parquet || is_whole {
            return None;
        }
        if RecordBoundaries::new(format, &settings.format).is_none() {
            return Some(format!("not splittable: {}", format.name()));
        }
        // The suffix is what is known before a file is opened.
        let compression = self.source.compression.unwrap_or_else(|| Compression::by_suffix(&largest.path).0);
        let unless = match compression {
            Compression::None => return Some(format!("parsers={streams}")),
            Compression::Gzip => " unless bgzf",
            other if framing(other).is_some() => " unless of short frames",
            _ => "",
        };
        let name = compression.name();
        Some(format!("parsers={streams} behind one decoder a file, not splittable{unless}: {name}"))
    }

    /// The compression that the call names.
    pub(crate) fn said_compression(&self) -> Option<Compression> {
        self.source.compression
    }

    /// Reads a file by its position.
    pub(crate) fn reader(&self, file: usize) -> Result<FileReader> {
        let source = &self.source;
        let found = source.files.get(file).ok_or_else(|| {
            SourceError::bad_arguments(format!("unit names file {file} of {}", source.files.len()))
        })?;
        Ok(source.env.reader(&source.store, found))
    }

    pub(crate) fn env(&self) -> &SourceEnv {
        &self.source.env
    }

    /// A reader of a file of Parquet, and its footer.
    pub(crate) async fn footer_of(&self, file: usize) -> Result<(FileReader, Arc<ParquetMetaData>)> {
        let reader = self.source.env.reader(&self.source.store, &self.source.files[file]);
        let footer = self.source.env.schema_cache.footers().load(&reader).await?;
        Ok((reader, footer))
    }

    fn row_group_filters(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Vec<RowGroupFilter> {
        if !self.source.env.settings.parquet_skip_row_groups {
            return Vec::new();
        }
        let stored = self.about_stored_columns(filters);
        stored.into_iter().filter_map(|filter| RowGroupFilter::new(filter, &self.schema)).collect()
    }

    /// Filters that the files' own bounds can answer: a partition may have a namesake in the file, and a default may stand for
    /// what the file has.
    pub(crate) fn about_stored_columns(
        &self,
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Vec<Arc<dyn PhysicalExpr>> {
        let stored = |filter: &&Arc<dyn PhysicalExpr>| {
            collect_columns(filter).iter().all(|column| self.is_stored(column.name()))
        };
        filters.iter().filter(stored).map(Arc::clone).collect()
    }

    /// Rows of one unit: columns of [`Self::schema`] by position (`None`: all), in batches of at most `batch_rows`.
    ///
    /// Requests are sent before the stream is polled; decoding happens on the thread that polls it. Filters only skip
    /// row groups that cannot match: the rows still have to be filtered.
    pub async fn scan_unit(
        &self,
        unit: &SourceUnit,
        projection: Option<&[usize]>,
        filters: &[Arc<dyn PhysicalExpr>],
        batch_rows: usize,
    ) -> Result<BatchStream> {
        self.read_unit(unit, Wanted { projection, filters, live: None, batch_rows }).await
    }

    /// [`Self::scan_unit`], with filters that grow meanwhile.
    pub(crate) async fn read_unit(&self, unit: &SourceUnit, wanted: Wanted<'_>) -> Result<BatchStream> {
        let output = match wanted.projection {
            Some(positions) => {
                let projected = self.schema.project(positions);
                Arc::new(projected.map_err(|error| SourceError::bad_arguments(error.to_string()))?)
            }
            None => Arc::clone(&self.schema),
        };
        let find = |name: &str| self.schema.field_with_name(name).ok();
        match Omitted::of(&output, self.defaults.as_ref(), find)? {
            None => self.read_columns(unit, output, wanted).await,
            Some(omitted) => {
                let rows = self.read_columns(unit, Arc::clone(&omitted.read), wanted).await?;
                Ok(omitted.stream(rows))
            }
        }
    }

    /// Rows of one unit as they are in the file.
    async fn read_columns(
        &self,
        unit: &SourceUnit,
        output: SchemaRef,
        wanted: Wanted<'_>,
    ) -> Result<BatchStream> {
        let (source, batch_rows) = (&self.source, wanted.batch_rows.max(1));
        let reader = self.reader(unit.file)?;
        let file = &Arc::clone(&reader.file);
        let memory = source.env.memory.clone();
        let constants = self.constants.clone();
        if source.format != FormatKind::Parquet {
            // The sum is known of whole files only.
            let is_whole = unit.bytes == file.bytes && unit.share.is_none() && unit.range.is_none();
            let key = match is_whole {
                true => self.cache_key(file),
                false => None,
            };
            let known = key.as_ref().and_then(|key| source.env.schema_cache.get(key)?.rows);
            let only_constants =
                output.fields().iter().all(|field| self.file_constant(field.name()).is_some());
            if let (Some(rows), true) = (known, only_constants) {
                return row_counts::constant_rows(&constants, &output, file, rows, batch_rows);
            }
            let part = self.text_part(unit, &reader).await?;
            let read = TextRead {
                reader,
                format: source.format,
                compression: source.compression,
                file_schema: schema_of(&source.columns.stored, &[]),
                output,
                constants,
                memory,
                part,
            };
            let rows = parse::read(read)?;
            return Ok(match key {
                Some(key) => {
                    let cache = Arc::clone(&source.env.schema_cache);
                    row_counts::counting(rows, cache, key, source.env.now_ms)
                }
                None => rows,
            });
        }
        self.scan_row_groups(unit, (reader, output), wanted).await
    }

    /// Rows of a Parquet unit, without the row groups, pages and late columns that no row needs.
    async fn scan_row_groups(
        &self,
        unit: &SourceUnit,
        (reader, output): (FileReader, SchemaRef),
        Wanted { filters, live, batch_rows, .. }: Wanted<'_>,
    ) -> Result<BatchStream> {
        let (source, file) = (&self.source, Arc::clone(&reader.file));
        let (constants, memory) = (self.constants.clone(), source.env.memory.clone());
        let footers = source.env.schema_cache.footers();
        let mut footer = footers.load(&reader).await?;
        let all = || (0..footer.num_row_groups()).collect();
        let mut row_groups = unit.row_groups.clone().unwrap_or_else(all);
        row_groups.retain(|row_group| live.is_none_or(|live| live.keeps(&footer, &file.path, *row_group)));
        let mut selections = HashMap::new();
        let mut late = None;
        let counts_rows = self.counts_rows_in(&output);
        if !filters.is_empty() && source.env.settings.parquet_skip_row_groups {
            let prunable = self.row_group_filters(filters);
            row_groups =
                prunable.iter().fold(row_groups, |kept, filter| filter.keep(&footer, &file.path, kept));
            let decoded = layout::decoded_schema(&footer, &file.path)?;
            // Rows are counted by reading them: then row groups are left out, and no rows inside them.
            let usable = match counts_rows {
                true => Vec::new(),
                false => pages::usable(&self.about_stored_columns(filters), &self.schema, &decoded),
            };
            if !prunable.is_empty() && !usable.is_empty() && !row_groups.is_empty() {
                footer = footers.load_with_pages(&reader).await?;
                selections = pages::selections(&footer, &decoded, &usable, &row_groups);
            }
            late = LateColumns::new(usable, &footer, decoded);
        }
        decode::read(ParquetRead {
            reader,
            footer,
            output,
            constants,
            row_groups,
            selections,
            late,
            live: live.cloned(),
            batch_rows: batch_rows.max(1),
            memory,
        })
    }

    /// Under what the rows of a text file are counted.
    fn cache_key(&self, file: &SourceFile) -> Option<SchemaKey> {
        let source = &self.source;
        let settings = &source.env.settings;
        SchemaKey::of(&source.store, file, settings, source.format.name(), source.compression)?
            .of_rows(settings, &source.columns.stored)
    }

    /// Whether the values of a column are those that files have, all of them.
    pub fn is_stored(&self, name: &str) -> bool {
        let has_default = || self.defaults.as_ref().is_some_and(|defaults| defaults.has_default(name));
        self.constant(name).is_none() && !has_default()
    }

    /// A column that is not stored in the files.
    pub(crate) fn constant(&self, name: &str) -> Option<&FileColumn> {
        self.constants.iter().find(|column| column.name() == name)
    }
}

fn schema_of(columns: &[(String, ColumnType)], added: &[FileColumn]) -> SchemaRef {
    let own = columns.iter().map(|(name, column_type)| to_field(name, column_type));
    let added = added.iter().map(|column| to_field(column.name(), &column.column_type()));
    Arc::new(Schema::new(own.chain(added).collect::<Vec<_>>()))
}

pub(crate) fn to_datafusion(error: SourceError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
