//! Rows of text files: stored bytes, decompressed, parsed, on the thread that asks, while the next bytes arrive.
//!
//! Invariant: ranges arrive in order and stay below `prefetch_bytes_max`; what a reader did not consume is given to it
//! again with more bytes behind it. Errors name the file. Must not know: queries.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use formats::{
    Feed, FormatKind, ReaderStart, RecordBoundaries, RowReader, column_of, new_reader_at, with_omissions,
};
use futures::stream::StreamExt;
use host::{MemoryBudget, MemoryGrant, meter};
use model::ByteSize;
use model::saturating::{u64_of, usize_of};
use stores::codecs::compression::{ByteStream, Compression, DecodeTask, opened};
use stores::error::{Result, SourceError, SourceErrorKind};
use stores::files::fetch::FileReader;

use crate::parquet::decode::BatchStream;
use crate::schema::virtual_columns::FileColumn;
use crate::text::parallel::{CutPlan, Given, Share, bad_row, bad_row_of_piece};
use crate::text::ranges::Head;
use crate::text::stored::stored;

/// Bytes of an unfinished row without which there is no progress, taken past the limit.
const REST_ANYWAY_MAX: u64 = 64 << 20;

/// What to read of one text file.
pub(crate) struct TextRead {
    pub reader: FileReader,
    pub format: FormatKind,
    /// `None`: the first bytes tell.
    pub compression: Option<Compression>,
    /// Every column of the file, in order: positional formats need them all.
    pub file_schema: SchemaRef,
    /// Schema of the batches: some columns of the file, and some that are not read from it; then omission columns.
    pub output: SchemaRef,
    pub constants: Vec<FileColumn>,
    pub memory: MemoryBudget,
    pub part: TextPart,
}

/// Which rows of the file.
#[derive(Clone)]
pub(crate) enum TextPart {
    All,
    /// What the other shares leave.
    Share(Share),
    /// Whole records of a file that is not compressed; with its head, unless they are the first.
    Range(Range<u64>, Option<Head>),
}

struct Parsing {
    read: Arc<TextRead>,
    /// Where each column of the output stands among the parsed ones; `None` for those that are not read from the file.
    places: Vec<Option<usize>>,
    input: Input,
    /// Of an unfinished row: what a binary file declares it needs is held until it is there.
    rest_grant: MemoryGrant,
    parsed: VecDeque<RecordBatch>,
    /// Number in the file of the next row given out, where one stream reads it alone.
    next_row: u64,
    /// Rows skipped so far that the statement knows of.
    rejected: u64,
    ended: bool,
    /// The file is done when this stream is.
    counts_file: bool,
}

enum Input {
    /// In order, by one reader, from a byte of the file on.
    Alone { feed: Feed, chunks: ByteStream, from: u64 },
    /// What other streams of the same file leave, parsed as this schema.
    Shared(Share, SchemaRef),
}

/// Starts reading: the first requests are sent before the stream is polled.
pub(crate) fn read(read: TextRead) -> Result<BatchStream> {
    let parsed_schema = parsed_schema(&read);
    let places = places(&read, &parsed_schema)?;
    let read = Arc::new(read);
    let alone = |start: &ReaderStart| row_reader(&read, &parsed_schema, start).map(Feed::new);
    let (input, counts_file) = match &read.part {
        TextPart::All => {
            (Input::Alone { feed: alone(&ReaderStart::File)?, chunks: chunks(&read), from: 0 }, true)
        }
        TextPart::Share(share) => {
            check_uncounted(&read)?;
            share.open(|| cut_plan(&read, &parsed_schema))?;
            (Input::Shared(share.clone(), parsed_schema), false)
        }
        TextPart::Range(range, head) => {
            check_uncounted(&read)?;
            let start = match head {
                Some(columns) => {
                    ReaderStart::Middle { columns: columns.as_ref().clone(), position: range.start }
                }
                None => ReaderStart::File,
            };
            let chunks = stored(read.reader.clone(), read.memory.clone(), range.clone());
            let is_last = range.end >= read.reader.file.bytes;
            (Input::Alone { feed: alone(&start)?, chunks, from: range.start }, is_last)
        }
    };
    let rest_grant = read.memory.empty_grant("source rows");
    let parsing = Parsing {
        read,
        places,
        input,
        rest_grant,
        parsed: VecDeque::new(),
        next_row: 0,
        rejected: 0,
        ended: false,
        counts_file,
    };
    Ok(futures::stream::try_unfold(parsing, Parsing::next).boxed())
}

/// How many rows stand in front of a part of a file nobody knows.
fn check_uncounted(read: &TextRead) -> Result<()> {
    let counts =
        |name: &String| read.constants.iter().any(|column| column.counts_rows() && column.name() == name);
    if read.output.fields().iter().any(|field| counts(field.name())) {
        let message = "rows of a part of a text file have no numbers";
        return Err(SourceError::corrupt(&read.reader.file.path, message));
    }
    Ok(())
}

/// Finds every column of the output, once for all batches.
fn places(read: &TextRead, parsed: &Schema) -> Result<Vec<Option<usize>>> {
    let path = &read.reader.file.path;
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (at, field) in parsed.fields().iter().enumerate() {
        by_name.entry(field.name()).or_insert(at);
    }
    let place = |name: &str| match read.constants.iter().any(|column| column.name() == name) {
        true => Ok(None),
        false => match by_name.get(name) {
            Some(at) => Ok(Some(*at)),
            None => Err(SourceError::corrupt(path, format!("column \"{name}\" is not in the file"))),
        },
    };
    read.output.fields().iter().map(|field| place(field.name())).collect()
}

/// The file without its compression; the first requests are sent.
fn chunks(read: &TextRead) -> ByteStream {
    let settings = &read.reader.settings;
    let task = DecodeTask {
        runtimes: read.reader.store.runtimes().clone(),
        memory: read.memory.clone(),
        threads: settings.parsing_threads(),
    };
    // Nothing of the file is in its row.
    let stored = match read.format {
        FormatKind::One => futures::stream::empty().boxed(),
        _ => stored(read.reader.clone(), read.memory.clone(), 0..read.reader.file.bytes),
    };
    opened(stored, settings.opening(read.compression), &read.reader.file.path, Some(task))
}

fn row_reader(read: &TextRead, parsed: &SchemaRef, start: &ReaderStart) -> Result<Box<dyn RowReader>> {
    new_reader_at(read.format, Arc::clone(parsed), None, &read.reader.settings.format, start)
        .map_err(|error| bad_row(&read.reader.file.path, &error))
}

fn cut_plan(read: &Arc<TextRead>, parsed: &SchemaRef) -> Result<CutPlan> {
    let (settings, file) = (&read.reader.settings, &read.reader.file);
    let boundaries = RecordBoundaries::new(read.format, &settings.format).ok_or_else(|| {
        SourceError::bad_arguments(format!("{} files cannot be cut", read.format.name()))
            .with_file(&file.path)
    })?;
    let (maker, parsed) = (Arc::clone(read), Arc::clone(parsed));
    Ok(CutPlan {
        chunks: chunks(read),
        path: file.path.clone(),
        boundaries,
        make_reader: Box::new(move |start| row_reader(&maker, &parsed, start)),
        piece_bytes: settings.piece_bytes(),
        runtimes: read.reader.store.runtimes().clone(),
        memory: read.memory.clone(),
    })
}

/// What is parsed, with the omission columns of the output.
fn parsed_schema(read: &TextRead) -> SchemaRef {
    let columns = parsed_columns(read);
    let omitted: HashSet<&String> =
        read.output.fields().iter().filter_map(|field| column_of(field)).collect();
    with_omissions(&columns, |field| omitted.contains(field.name()))
}

/// Columns to parse: where rows carry names, only the ones wanted, one at least so that rows are counted.
fn parsed_columns(read: &TextRead) -> SchemaRef {
    let by_name = read.format.names_columns();
    let format = &read.reader.settings.format;
    if !by_name || !format.skip_unknown_fields || !format.header.use_names {
        return Arc::clone(&read.file_schema);
    }
    // With those that only differ in case: which of them a name means depends on all of them.
    let output: HashSet<String> =
        read.output.fields().iter().map(|field| field.name().to_ascii_lowercase()).collect();
    let wanted = |name: &str| {
        output.contains(&name.to_ascii_lowercase()) && read.constants.iter().all(|c| c.name() != name)
    };
    let fields = read.file_schema.fields();
    let mut kept: Vec<FieldRef> =
        fields.iter().filter(|field| wanted(field.name())).map(Arc::clone).collect();
    if kept.is_empty() {
        kept.extend(fields.first().map(Arc::clone));
    }
    Arc::new(Schema::new(kept))
}

impl Parsing {
    async fn next(mut self) -> Result<Option<(RecordBatch, Parsing)>> {
        loop {
            if let Some(batch) = self.parsed.pop_front() {
                self.read.reader.progress.add_rows(batch.num_rows());
                let rows = u64_of(batch.num_rows());
                let batch = self.output(&batch)?;
                self.next_row = self.next_row.saturating_add(rows);
                return Ok(Some((batch, self)));
            }
            if self.ended {
                if self.counts_file {
                    self.read.reader.progress.add_file_done();
                }
                return Ok(None);
            }
            match &mut self.input {
                Input::Alone { chunks, .. } => match chunks.next().await {
                    Some(chunk) => self.parse(&chunk?, false)?,
                    None => {
                        self.parse(&[], true)?;
                        self.ended = true;
                    }
                },
                Input::Shared(share, _) => {
                    let given = share.next().await?;
                    let counts_file =
                        matches!(&given, None | Some(Given::Rest { .. })) && share.counts_file();
                    self.counts_file |= counts_file;
                    self.take(given)?;
                }
            }
        }
    }

    fn take(&mut self, given: Option<Given>) -> Result<()> {
        match given {
            None => self.ended = true,
            Some(Given::Rows(rows)) => self.parsed.extend(rows),
            Some(Given::Piece(piece)) => {
                let Input::Shared(_, schema) = &self.input else { return Ok(()) };
                let path = &self.read.reader.file.path;
                let rows = piece.read(path, |start| row_reader(&self.read, schema, start))?;
                self.parsed.extend(rows);
            }
            Some(Given::Rest { feed, chunks }) => self.input = Input::Alone { feed, chunks, from: 0 },
        }
        Ok(())
    }

    fn parse(&mut self, chunk: &[u8], end: bool) -> Result<()> {
        let Input::Alone { feed, from, .. } = &mut self.input else { return Ok(()) };
        let (path, mut out) = (&self.read.reader.file.path, Vec::new());
        feed.take(chunk, end, &mut out).map_err(|error| match *from {
            0 => bad_row(path, &error),
            position => bad_row_of_piece(path, position, &error),
        })?;
        let held = feed.held();
        self.parsed.extend(out);
        self.note_rejected();
        self.grant_rest(u64_of(held))
    }

    fn grant_rest(&mut self, held: u64) -> Result<()> {
        // A buffer that is full becomes twice as large, and both are there while it does.
        let doubled = usize_of(held.saturating_mul(2));
        let has_room = held <= REST_ANYWAY_MAX || meter::reserve("a row of a file", doubled).is_ok();
        if has_room && self.rest_grant.resize(held).is_ok() {
            return Ok(());
        }
        if held <= REST_ANYWAY_MAX {
            self.rest_grant.grow_anyway(held.saturating_sub(self.rest_grant.bytes()));
            return Ok(());
        }
        let path = &self.read.reader.file.path;
        let message = format!(
            "a row or block of \"{path}\" is longer than {}, more than the statement may have",
            ByteSize(held)
        );
        Err(SourceError::new(SourceErrorKind::Memory, message)
            .with_file(path)
            .with_hint("raise max_memory_usage"))
    }

    /// Tells the statement which rows were skipped.
    fn note_rejected(&mut self) {
        let Input::Alone { feed, .. } = &mut self.input else { return };
        let count = feed.rejected() - self.rejected;
        if count > 0 {
            self.rejected += count;
            let reader = &self.read.reader;
            reader.settings.rejects.add(&reader.file.path, feed.take_rejected(), count);
        }
    }

    fn output(&self, parsed: &RecordBatch) -> Result<RecordBatch> {
        let file = &self.read.reader.file;
        let broken = |error: String| SourceError::corrupt(&file.path, error);
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (field, place) in self.read.output.fields().iter().zip(&self.places) {
            let constant = |column: &&FileColumn| column.name() == field.name();
            columns.push(match (place, self.read.constants.iter().find(constant)) {
                (Some(place), _) => Arc::clone(parsed.column(*place)),
                (None, Some(column)) => column.values(file, self.next_row, parsed.num_rows())?,
                (None, None) => {
                    return Err(broken(format!("column \"{}\" is not in the file", field.name())));
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(parsed.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.read.output), columns, &options)
            .map_err(|error| broken(error.to_string()))
    }
}
