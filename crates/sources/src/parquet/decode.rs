//! Rows of Parquet row groups, decoded on the thread that asks while the next bytes are on their way.
//!
//! Invariant: batches have exactly the output schema; a row group's bytes are fetched whole, in one set of requests,
//! and freed when it is decoded, or kept on the disk if it is too large for that (`sources/parquet/disk.rs`). Bytes fetched ahead stay below `prefetch_bytes_max` and are counted in the query's
//! memory budget; when the budget refuses, nothing is fetched ahead.
//! Must not know: queries, units' owners.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, SchemaRef};
use bytes::Bytes;
use formats::{Omissions, asked_in};
use futures::stream::{BoxStream, StreamExt};
use host::{MemoryBudget, MemoryGrant, guarded};
use model::ByteSize;
use model::saturating::u64_of;
use model::value::members::member_of;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowSelection,
};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::files::fetch::FileReader;
use tokio_util::task::AbortOnDropHandle;

use crate::parquet::batch_size::{BatchSize, batch_size};
use crate::parquet::disk::{self, Held};
use crate::parquet::late_columns::LateColumns;
use crate::parquet::layout;
use crate::parquet::live_filters::LiveFilters;
use crate::schema::conform::{Place, conform, missing};
use crate::schema::virtual_columns::FileColumn;
use origin::{Origin, origins};

mod origin;

/// Row groups of one stream whose bytes are fetched or waiting.
const ROW_GROUPS_AHEAD_MAX: usize = 4;

/// Memory of a batch without which there is no progress, taken past the limit.
const DECODED_ANYWAY_MAX: u64 = 64 << 20;

/// A stream of batches of one source.
pub type BatchStream = BoxStream<'static, Result<RecordBatch>>;

/// What to read of one file.
pub(crate) struct ParquetRead {
    pub reader: FileReader,
    pub footer: Arc<ParquetMetaData>,
    /// Schema of the batches: columns of the file, of other files, and virtual ones; then omission columns.
    pub output: SchemaRef,
    /// Columns in `output` that are not read from the file.
    pub constants: Vec<FileColumn>,
    pub row_groups: Vec<usize>,
    /// Rows to read of row groups that are not read whole.
    pub selections: HashMap<usize, RowSelection>,
    /// Filters by which columns are read in two steps.
    pub late: Option<LateColumns>,
    /// Filters that may say more when the next row group is due.
    pub live: Option<Arc<LiveFilters>>,
    pub batch_rows: usize,
    pub memory: MemoryBudget,
}

struct Stream {
    read: ParquetRead,
    arrow: ArrowReaderMetadata,
    mask: ProjectionMask,
    /// Root columns in `mask`.
    roots: Vec<usize>,
    /// Of each column of the output in front of the omission columns.
    origins: Vec<Origin>,
    omissions: Omissions,
    waiting: VecDeque<usize>,
    fetched: VecDeque<Fetched>,
    current: Option<(ParquetRecordBatchReader, MemoryGrant)>,
    /// Number in the file of the next row of the current row group, if all of its rows are read.
    next_row: u64,
    /// A row group is about to be the current one: no other is needed now.
    is_opening: bool,
    /// A batch has been given out, which live filters may have learnt from.
    has_output: bool,
    /// Nothing was fetched ahead, because live filters said nothing yet.
    held: bool,
}

/// A row group before its bytes are asked for.
enum Opened {
    /// No row of it is wanted.
    Empty,
    /// Rows without any column.
    Ready(ParquetRecordBatchReader),
    Needs(ParquetPushDecoder, Vec<Range<u64>>),
}

/// A row group whose bytes are on their way.
struct Fetched {
    row_group: usize,
    bytes: u64,
    grant: MemoryGrant,
    source: FetchedSource,
}

enum FetchedSource {
    Ready(ParquetRecordBatchReader),
    /// On its way to the disk.
    Copied(AbortOnDropHandle<Result<File>>),
    Arriving {
        decoder: ParquetPushDecoder,
        ranges: Vec<Range<u64>>,
        task: AbortOnDropHandle<Result<Vec<Bytes>>>,
    },
}

/// Starts reading: the first requests are sent before the stream is polled.
pub(crate) fn read(read: ParquetRead) -> Result<BatchStream> {
    let path = read.reader.file.path.clone();
    let decoded = layout::decoded_schema(&read.footer, &path)?;
    let options = ArrowReaderOptions::new().with_schema(Arc::clone(&decoded));
    let arrow = ArrowReaderMetadata::try_new(Arc::clone(&read.footer), options)
        .map_err(|error| SourceError::corrupt(&path, format!("\"{path}\" cannot be decoded: {error}")))?;
    let omissions = Omissions::of(&read.output)
        .map_err(|error| SourceError::corrupt(&path, format!("\"{path}\": {}", error.message)))?;
    let (roots, origins) = origins(&read, &decoded, omissions.width)?;
    let descriptor = read.footer.file_metadata().schema_descr_ptr();
    let mask = ProjectionMask::roots(&descriptor, roots.iter().copied());
    let waiting = read.row_groups.iter().copied().collect();
    let mut stream = Stream {
        read,
        arrow,
        mask,
        roots,
        origins,
        omissions,
        waiting,
        fetched: VecDeque::new(),
        current: None,
        next_row: 0,
        is_opening: false,
        has_output: false,
        held: false,
    };
    stream.fetch_ahead()?;
    Ok(futures::stream::try_unfold(stream, Stream::next).boxed())
}

impl Stream {
    async fn next(mut self) -> Result<Option<(RecordBatch, Stream)>> {
        if self.held && self.has_output {
            self.held = false;
            self.fetch_ahead()?;
        }
        loop {
            if let Some((reader, _)) = &mut self.current {
                // The decoder asserts what a broken file does not keep.
                let decoded = guarded(|| reader.next()).map_err(|panic| self.decode_error(&panic))?;
                match decoded {
                    Some(Ok(batch)) => {
                        self.read.reader.progress.add_rows(batch.num_rows());
                        let rows = u64_of(batch.num_rows());
                        let batch = self.output(&batch)?;
                        self.next_row = self.next_row.saturating_add(rows);
                        self.has_output = true;
                        return Ok(Some((batch, self)));
                    }
                    Some(Err(error)) => return Err(self.decode_error(&error.to_string())),
                    None => self.current = None,
                }
            }
            if !self.open_next().await? {
                if self.read.row_groups.len() == self.read.footer.num_row_groups() {
                    self.read.reader.progress.add_file_done();
                }
                return Ok(None);
            }
        }
    }

    /// Waits for the next row group's bytes and sends the requests behind it; false at the end.
    async fn open_next(&mut self) -> Result<bool> {
        if self.fetched.is_empty() {
            self.fetch_ahead()?;
        }
        let Some(fetched) = self.fetched.pop_front() else { return Ok(false) };
        let Fetched { row_group, mut grant, source, .. } = fetched;
        if !self.keeps(row_group) {
            return Ok(true);
        }
        let before = self.read.footer.row_groups().iter().take(row_group);
        self.next_row = before.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum();
        self.grant_decoding(row_group, &mut grant)?;
        if self.holds_back() {
            self.held = true;
        } else {
            self.is_opening = true;
            let ahead = self.fetch_ahead();
            self.is_opening = false;
            ahead?;
        }
        let stopped = |task| SourceError::ended_early("reading", task);
        self.current = match source {
            FetchedSource::Ready(reader) => Some((reader, grant)),
            FetchedSource::Copied(task) => {
                let file = task.await.map_err(stopped)??;
                Some((self.pages_of(file, row_group)?, grant))
            }
            FetchedSource::Arriving { decoder, ranges, task } => {
                let data = task.await.map_err(stopped)??;
                let rows = opened(&self.read.reader.clone(), decoder, (ranges, data), &mut grant).await?;
                rows.map(|reader| (reader, grant))
            }
        };
        Ok(true)
    }

    /// Sends requests for waiting row groups: one always, more while they fit.
    fn fetch_ahead(&mut self) -> Result<()> {
        while let Some(row_group) = self.waiting.front().copied() {
            if !self.keeps(row_group) {
                self.waiting.pop_front();
                continue;
            }
            if self.is_too_large(row_group) {
                if !self.is_needed_now() {
                    return Ok(());
                }
                if let Some(fetched) = self.paged(row_group)? {
                    self.waiting.pop_front();
                    self.fetched.push_back(fetched);
                    return Ok(());
                }
            }
            let (decoder, ranges) = match self.decoder(row_group)? {
                Opened::Needs(decoder, ranges) => (decoder, ranges),
                Opened::Empty => {
                    self.waiting.pop_front();
                    continue;
                }
                Opened::Ready(reader) => {
                    self.waiting.pop_front();
                    let grant = self.read.memory.empty_grant("source buffers");
                    let source = FetchedSource::Ready(reader);
                    self.fetched.push_back(Fetched { bytes: 0, row_group, grant, source });
                    return Ok(());
                }
            };
            let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let Some(grant) = self.granted(bytes) else { return Ok(()) };
            self.waiting.pop_front();
            let (reader, wanted) = (self.read.reader.clone(), ranges.clone());
            let fetch = async move { reader.get_ranges(&wanted).await };
            let task = self.read.reader.store.runtimes().spawn_io("source row group", fetch);
            let task = AbortOnDropHandle::new(task);
            let source = FetchedSource::Arriving { decoder, ranges, task };
            self.fetched.push_back(Fetched { bytes, row_group, grant, source });
        }
        Ok(())
    }

    /// Whether a row group had better be read page by page.
    fn is_too_large(&self, row_group: usize) -> bool {
        let is_whole = self.read.late.is_none() && !self.read.selections.contains_key(&row_group);
        let held = Held::of(self.read.footer.row_group(row_group), &self.mask);
        let is_local = self.read.reader.store.is_local();
        is_whole && held.is_too_large(self.read.memory.available(), is_local)
    }

    /// A row group whose pages are read when they are decoded; `None` if it has none.
    fn paged(&self, row_group: usize) -> Result<Option<Fetched>> {
        let reader = &self.read.reader;
        let held = Held::of(self.read.footer.row_group(row_group), &self.mask);
        // Without these bytes there is no progress at all, so they are counted past the limit.
        let mut grant = self.read.memory.empty_grant("source buffers");
        grant.grow_anyway(held.pages);
        let source = if let Some(file) = disk::open(reader) {
            reader.progress.add_bytes(held.stored);
            FetchedSource::Ready(self.pages_of(file, row_group)?)
        } else {
            let Opened::Needs(_, ranges) = self.decoder(row_group)? else { return Ok(None) };
            grant.grow_anyway(reader.copying_bytes().min(held.stored));
            let copied = disk::copied(reader.clone(), ranges);
            let task = reader.store.runtimes().spawn_io("source row group", copied);
            FetchedSource::Copied(AbortOnDropHandle::new(task))
        };
        Ok(Some(Fetched { row_group, bytes: 0, grant, source }))
    }

    fn pages_of(&self, file: File, row_group: usize) -> Result<ParquetRecordBatchReader> {
        let batch_rows = self.batch_size(row_group).rows;
        let opened = guarded(|| disk::rows(file, &self.arrow, &self.mask, row_group, batch_rows));
        let opened = opened.map_err(|panic| self.decode_error(&panic))?;
        opened.map_err(|error| self.decode_error(&error.to_string()))
    }

    /// Whether a row group may hold rows that the filters want by now.
    fn keeps(&self, row_group: usize) -> bool {
        let live = self.read.live.as_ref();
        live.is_none_or(|live| live.keeps(&self.read.footer, &self.read.reader.file.path, row_group))
    }

    /// Whether it is worth waiting for what the first rows tell: a request too many costs more than a round trip.
    fn holds_back(&self) -> bool {
        !self.has_output && self.read.live.as_ref().is_some_and(|live| live.says_nothing())
    }

    /// Whether there is nothing to decode until the next row group is there.
    fn is_needed_now(&self) -> bool {
        self.fetched.is_empty() && self.current.is_none() && !self.is_opening
    }

    /// Memory for the bytes of one more row group; `None` when it has to wait.
    fn granted(&self, bytes: u64) -> Option<MemoryGrant> {
        let settings = &self.read.reader.settings;
        let needed_now = self.is_needed_now();
        let ahead: u64 = self.fetched.iter().map(|fetched| fetched.bytes).sum();
        let fits = settings.reads_ahead()
            && !self.holds_back()
            && self.fetched.len() < ROW_GROUPS_AHEAD_MAX
            && (self.fetched.is_empty() || ahead.saturating_add(bytes) <= settings.prefetch_bytes_max);
        if !needed_now && !fits {
            return None;
        }
        let mut grant = self.read.memory.empty_grant("source buffers");
        if grant.try_grow(bytes).is_err() {
            if !needed_now {
                return None;
            }
            // Without these bytes there is no progress at all, so they are counted past the limit.
            grant.grow_anyway(bytes);
        }
        Some(grant)
    }

    fn batch_size(&self, row_group: usize) -> BatchSize {
        batch_size(self.read.footer.row_group(row_group), &self.mask, self.read.batch_rows)
    }

    /// A few kilobytes can decode to gigabytes: that much is asked for first.
    fn grant_decoding(&self, row_group: usize, grant: &mut MemoryGrant) -> Result<()> {
        let BatchSize { rows, bytes } = self.batch_size(row_group);
        if grant.try_grow(bytes).is_ok() {
            return Ok(());
        }
        if bytes <= DECODED_ANYWAY_MAX {
            grant.grow_anyway(bytes);
            return Ok(());
        }
        let (path, size) = (&self.read.reader.file.path, ByteSize(bytes));
        let message = format!(
            "row group {row_group} of \"{path}\" needs {size} for {rows} row(s), more than the statement may have"
        );
        Err(SourceError::new(SourceErrorKind::Memory, message)
            .with_file(path)
            .with_hint("raise max_memory_usage, or read fewer columns"))
    }

    /// A decoder of one row group, and the bytes it asks for.
    fn decoder(&self, row_group: usize) -> Result<Opened> {
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(self.arrow.clone())
            .with_row_groups(vec![row_group])
            .with_projection(self.mask.clone())
            .with_batch_size(self.batch_size(row_group).rows);
        if let Some(rows) = self.read.selections.get(&row_group) {
            if !rows.selects_any() {
                return Ok(Opened::Empty);
            }
            builder = builder.with_row_selection(rows.clone());
        }
        let late = self.read.late.as_ref();
        if let Some(filter) =
            late.and_then(|late| late.of_row_group(&self.read.footer, row_group, &self.roots))
        {
            builder = builder.with_row_filter(filter);
        }
        let opened = guarded(move || {
            let mut decoder = builder.build()?;
            // Asked before it has any byte, the decoder says what it needs.
            Ok(match decoder.try_next_reader()? {
                DecodeResult::NeedsData(ranges) => Opened::Needs(decoder, ranges),
                DecodeResult::Data(reader) => Opened::Ready(reader),
                DecodeResult::Finished => Opened::Empty,
            })
        });
        let opened = opened.map_err(|panic| self.decode_error(&panic))?;
        opened.map_err(|error: ParquetError| self.decode_error(&error.to_string()))
    }

    fn output(&self, decoded: &RecordBatch) -> Result<RecordBatch> {
        let file = &self.read.reader.file;
        let rows = decoded.num_rows();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.read.output.fields().len());
        for (field, origin) in self.read.output.fields().iter().zip(&self.origins) {
            let place = Place { file: &file.path, column: field.name() };
            columns.push(match origin {
                Origin::Decoded { position, unchecked } => {
                    let column = decoded.column(*position);
                    match column.data_type() {
                        DataType::Utf8View if *unchecked => {
                            let bytes: ArrayRef = Arc::new(column.as_string_view().clone().to_binary_view());
                            self.fitting(&bytes, field, place)?
                        }
                        _ => self.fitting(column, field, place)?,
                    }
                }
                Origin::Member { position, path } => match member_of(decoded.column(*position), path) {
                    Some(member) => self.fitting(&member, field, place)?,
                    None => missing(field, rows, place)?,
                },
                Origin::Constant(column) => column.values(file, self.next_row, rows)?,
                Origin::Missing => missing(field, rows, place)?,
            });
        }
        for column in &self.omissions.columns {
            let given = match &self.origins[*column] {
                Origin::Decoded { position, .. } => Some(decoded.column(*position)),
                Origin::Constant(_) => columns.get(*column),
                Origin::Missing | Origin::Member { .. } => None,
            };
            let may_ask = self.read.reader.settings.format.defaults_for_omitted_fields;
            columns.push(asked_in(given, self.read.output.field(*column), rows, may_ask));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.read.output), columns, &options)
            .map_err(|error| self.decode_error(&error.to_string()))
    }

    fn fitting(&self, array: &ArrayRef, field: &Field, place: Place<'_>) -> Result<ArrayRef> {
        let may_be_null = field.is_nullable() || self.read.reader.settings.format.null_as_default;
        if may_be_null || array.null_count() == 0 { conform(array, field, place) } else { Err(place.null()) }
    }

    fn decode_error(&self, problem: &str) -> SourceError {
        decode_error(&self.read.reader, problem)
    }
}

fn decode_error(reader: &FileReader, problem: &str) -> SourceError {
    let path = &reader.file.path;
    SourceError::corrupt(path, format!("\"{path}\" cannot be decoded: {problem}"))
}

/// The reader of a row group whose bytes have arrived; `None` when no row is left.
async fn opened(
    reader: &FileReader,
    mut decoder: ParquetPushDecoder,
    (mut ranges, mut data): (Vec<Range<u64>>, Vec<Bytes>),
    grant: &mut MemoryGrant,
) -> Result<Option<ParquetRecordBatchReader>> {
    let broken = |error: ParquetError| decode_error(reader, &error.to_string());
    loop {
        let step = guarded(|| {
            decoder.push_ranges(ranges, data)?;
            decoder.try_next_reader()
        });
        match step.map_err(|panic| decode_error(reader, &panic))?.map_err(broken)? {
            DecodeResult::Data(rows) => return Ok(Some(rows)),
            DecodeResult::Finished => return Ok(None),
            DecodeResult::NeedsData(more) => {
                // Without these bytes there is no progress at all, so they are counted past the limit.
                grant.grow_anyway(more.iter().map(|range| range.end - range.start).sum());
                data = reader.get_ranges(&more).await?;
                ranges = more;
            }
        }
    }
}
