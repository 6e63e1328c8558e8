//! Arrow's own format, as a stream or as a file, which is a stream between two magic words.
//!
//! ```text
//! stream   messages, end mark          message  FFFFFFFF, length, description (flatbuffer), body
//! file     "ARROW1" 00 00, stream, footer, length, "ARROW1"
//! ```
//!
//! Invariant: a message is handed to the decoder when all of it is there and the sizes it declares are sizes its bytes
//! can have. The footer is not read: it says nothing the stream does not. Must not know: files.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, FieldRef, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::{CompressionType, Message, RecordBatch as BatchDescription, root_as_message};
use model::saturating::u64_of;
use model::type_arrow::{EXTENSION_NAME_KEY, from_field, to_field};
use model::value::members::{field_of, member_named, member_of};
use model::{ColumnType, ErrorCode};

use crate::columns::fit::{Fit, Wanted};
use crate::error::FormatError;
use crate::rows::split::RowReader;
use model::format_kind::FormatKind;

const MAGIC: &[u8] = b"ARROW1\0\0";
const PADDING_BYTES: usize = 8;
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The description of ten thousand columns takes about two megabytes.
const DESCRIPTION_BYTES_MAX: u32 = 256 << 20;
/// Decompressed bytes of one message at most.
const DECOMPRESSED_BYTES_MAX: u64 = 4 << 30;
/// LZ4 makes at most 255 bytes of one, Zstandard a block of 128 KiB of four.
const LZ4_RATIO_MAX: u64 = 256;
const ZSTD_RATIO_MAX: u64 = 1 << 15;
/// Rows that may come without any byte (columns of NULL only).
const ROWS_WITHOUT_BYTES_MAX: u64 = 1 << 20;
/// Arrow's name of the extension for UUIDs.
pub(crate) const UUID_EXTENSION: &str = "arrow.uuid";

/// Why there is no next message.
pub(crate) enum Halt {
    /// So many bytes are needed at least.
    More(usize),
    Bad(FormatError),
}

/// What stands at the start of some bytes.
enum Frame {
    More(usize),
    /// A message of so many bytes, framing included.
    Message(usize),
    End,
    /// A description longer than any is.
    TooLong(u32),
    /// Eight zero bytes: some writers fill up what follows the magic word.
    Padding,
}

/// The stream's framing and its decoder.
pub(crate) struct Messages {
    kind: FormatKind,
    decoder: StreamDecoder,
    /// The decoder knows it only when another message has come.
    schema: Option<SchemaRef>,
    /// The magic word of a file is ahead.
    magic_ahead: bool,
    /// No message was seen yet.
    padding_ahead: bool,
    /// Messages begin with a continuation mark; only very old writers leave it out.
    has_marks: bool,
    pub(crate) ended: bool,
}

impl Messages {
    pub(crate) fn new(kind: FormatKind) -> Self {
        let magic_ahead = kind == FormatKind::Arrow;
        let decoder = StreamDecoder::new();
        let padding_ahead = magic_ahead;
        Self { kind, decoder, schema: None, magic_ahead, padding_ahead, has_marks: false, ended: false }
    }

    pub(crate) fn schema(&self) -> Option<SchemaRef> {
        self.schema.clone()
    }

    fn error(&self, message: impl std::fmt::Display) -> FormatError {
        let message = format!("{} cannot be read: {message}", self.kind.name());
        FormatError::new(ErrorCode::INCORRECT_DATA, message)
    }

    /// Takes the next message of `bytes`: the bytes used, and a batch if it was one. `Err(Ok(needed))` asks for more.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Result<(usize, Option<RecordBatch>), Halt> {
        if self.magic_ahead {
            let magic = bytes.get(..MAGIC.len()).ok_or(Halt::More(MAGIC.len()))?;
            if magic != MAGIC {
                let hint =
                    "it does not begin with ARROW1: is it a stream (ArrowStream) or Feather version 1?";
                return Err(Halt::Bad(self.error(hint)));
            }
            self.magic_ahead = false;
            return Ok((MAGIC.len(), None));
        }
        match self.frame(bytes) {
            Frame::More(needed) => Err(Halt::More(needed)),
            Frame::End => {
                self.ended = true;
                Ok((bytes.len(), None))
            }
            Frame::TooLong(size) => {
                let message = format!("a message claims a description of {size} bytes: is it Arrow data?");
                Err(Halt::Bad(self.error(message)))
            }
            Frame::Padding => Ok((PADDING_BYTES, None)),
            Frame::Message(size) => {
                let batch = self.message(&bytes[..size]).map_err(Halt::Bad)?;
                Ok((size, batch))
            }
        }
    }

    fn message(&mut self, whole: &[u8]) -> Result<Option<RecordBatch>, FormatError> {
        let (message, body) = self.described(whole)?;
        if let Some(batch) = batch_of(&message) {
            self.check_batch(&batch, body)?;
        }
        // The decoder looks at an empty body only when a byte follows it; until then it would keep the batch, and with
        // the next message give it back and forget that one.
        let is_bare = message.header_as_record_batch().is_some() && body.is_empty();
        let mut buffer = if is_bare { Buffer::from_vec([whole, &[0]].concat()) } else { Buffer::from(whole) };
        // It takes some damaged descriptions for impossible and panics; it is dropped afterwards.
        let decoded = catch_unwind(AssertUnwindSafe(|| {
            let schema = message.header_as_schema().map(|schema| Arc::new(fb_to_schema(schema)));
            (schema, self.decoder.decode(&mut buffer))
        }));
        match decoded {
            Ok((schema, Ok(batch))) => {
                self.schema = schema.or(self.schema.take());
                Ok(batch)
            }
            Ok((_, Err(error))) => Err(self.error(plain(&error))),
            Err(_) => Err(self.error("a message is damaged or of a kind that is not supported")),
        }
    }

    fn frame(&mut self, bytes: &[u8]) -> Frame {
        let word = |at: usize| bytes.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok());
        let Some(first) = word(0) else { return Frame::More(4) };
        let head = if first == CONTINUATION {
            self.has_marks = true;
            8
        } else if self.has_marks && self.kind == FormatKind::Arrow {
            // The footer of a file without end mark.
            return Frame::End;
        } else {
            4
        };
        let Some(size) = word(head - 4) else { return Frame::More(head) };
        let size = u32::from_le_bytes(size);
        if size == 0 && self.padding_ahead && first != CONTINUATION {
            return if bytes.len() < PADDING_BYTES { Frame::More(PADDING_BYTES) } else { Frame::Padding };
        }
        self.padding_ahead = false;
        if size == 0 {
            return Frame::End;
        }
        if size > DESCRIPTION_BYTES_MAX {
            return Frame::TooLong(size);
        }
        let described = head.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
        let Some(description) = bytes.get(head..described) else { return Frame::More(described) };
        // A description that cannot be read has no body; `check` says what is wrong with it.
        let body = root_as_message(description).map_or(0, |message| message.bodyLength());
        let whole = described.saturating_add(usize::try_from(body).unwrap_or(0));
        if bytes.len() < whole { Frame::More(whole) } else { Frame::Message(whole) }
    }

    /// The description of a message, and its body.
    fn described<'m>(&self, whole: &'m [u8]) -> Result<(Message<'m>, &'m [u8]), FormatError> {
        let head = if whole.starts_with(&CONTINUATION) { 8 } else { 4 };
        let size = whole
            .get(head - 4..head)
            .and_then(|word| <[u8; 4]>::try_from(word).ok())
            .map_or(0, u32::from_le_bytes);
        let described = head + usize::try_from(size).unwrap_or(0);
        let description = whole.get(head..described).unwrap_or_default();
        let message = root_as_message(description)
            .map_err(|error| self.error(format!("the description of a message is damaged: {error}")))?;
        if message.bodyLength() < 0 {
            return Err(self.error(format!("a message has a body of {} bytes", message.bodyLength())));
        }
        Ok((message, whole.get(described..).unwrap_or_default()))
    }

    /// Whether the sizes that a batch declares are possible.
    fn check_batch(&self, batch: &BatchDescription<'_>, body: &[u8]) -> Result<(), FormatError> {
        let mut bytes = u64_of(body.len());
        if let Some(compression) = batch.compression() {
            let ratio = match compression.codec() {
                CompressionType::LZ4_FRAME => LZ4_RATIO_MAX,
                _ => ZSTD_RATIO_MAX,
            };
            bytes = 0;
            for buffer in batch.buffers().iter().flatten() {
                let (start, size) = (buffer.offset(), buffer.length());
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                let end = start.saturating_add(usize::try_from(size).unwrap_or(usize::MAX));
                let stored = body.get(start..end).ok_or_else(|| {
                    self.error(format!("a buffer of {size} bytes lies outside of its message"))
                })?;
                let declared = stored.first_chunk::<8>().map_or(0, |prefix| i64::from_le_bytes(*prefix));
                // -1 marks bytes that are not compressed.
                let declared = u64::try_from(declared).unwrap_or(0);
                if declared > u64_of(stored.len()).saturating_mul(ratio) {
                    let message =
                        format!("{} bytes claim to become {declared} when decompressed", stored.len());
                    return Err(self.error(message));
                }
                bytes = bytes.saturating_add(declared.max(u64_of(stored.len())));
            }
            if bytes > DECOMPRESSED_BYTES_MAX {
                let message = format!(
                    "a batch has {bytes} bytes decompressed, {DECOMPRESSED_BYTES_MAX} is the limit: write smaller batches"
                );
                return Err(self.error(message));
            }
        }
        let rows = u64::try_from(batch.length()).unwrap_or(u64::MAX);
        if rows > bytes.saturating_mul(8).saturating_add(ROWS_WITHOUT_BYTES_MAX) {
            return Err(self.error(format!("a batch claims {} rows in {bytes} bytes", batch.length())));
        }
        Ok(())
    }
}

fn batch_of<'m>(message: &Message<'m>) -> Option<BatchDescription<'m>> {
    message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()))
}

fn plain(error: &ArrowError) -> String {
    match error {
        ArrowError::IpcError(text)
        | ArrowError::InvalidArgumentError(text)
        | ArrowError::ParseError(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Name and type of every column.
///
/// # Errors
/// The first column of a layout that no type of ours holds.
pub(crate) fn columns(schema: &SchemaRef) -> Result<Vec<(String, ColumnType)>, FormatError> {
    schema.fields().iter().map(|field| Ok((field.name().clone(), column_type(field)?))).collect()
}

fn column_type(field: &Field) -> Result<ColumnType, FormatError> {
    if let Some(layout) = unsupported(field.data_type()) {
        let message = format!("the Arrow layout {layout} is not supported: leave the column out of the file");
        return Err(FormatError::new(ErrorCode::UNKNOWN_TYPE, message).in_column(field.name()));
    }
    let is_uuid = field.metadata().get(EXTENSION_NAME_KEY).is_some_and(|name| name == UUID_EXTENSION);
    Ok(match (is_uuid && *field.data_type() == DataType::FixedSizeBinary(16), field.is_nullable()) {
        (true, true) => ColumnType::Uuid.nullable(),
        (true, false) => ColumnType::Uuid,
        (false, _) => from_field(&declared(field)),
    })
}

/// The field as ClickHouse reads it: seconds of others may lie before 1970, and Date64 is a time.
fn declared(field: &Field) -> Field {
    let inside = |item: &FieldRef| Arc::new(declared(item));
    let as_type = |column_type: ColumnType| {
        let column_type = if field.is_nullable() { column_type.nullable() } else { column_type };
        to_field(field.name(), &column_type)
    };
    let data_type = match field.data_type() {
        _ if field.metadata().contains_key(EXTENSION_NAME_KEY) => return field.clone(),
        DataType::Timestamp(TimeUnit::Second, zone) => {
            return as_type(ColumnType::DateTime64 { precision: 0, time_zone: zone.clone() });
        }
        DataType::Date64 => return as_type(ColumnType::DateTime { time_zone: None }),
        DataType::List(item) => DataType::List(inside(item)),
        DataType::LargeList(item) => DataType::LargeList(inside(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(inside(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(inside(entries), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inside).collect()),
        _ => return field.clone(),
    };
    field.clone().with_data_type(data_type)
}

/// Layouts whose values have no type here, or whose lists may share items and so become larger than the file.
fn unsupported(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Union(..) | DataType::ListView(_) | DataType::LargeListView(_) | DataType::Interval(_) => {
            Some(data_type)
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            unsupported(item.data_type())
        }
        DataType::Map(entries, _) => unsupported(entries.data_type()),
        DataType::Struct(fields) => fields.iter().find_map(|field| unsupported(field.data_type())),
        DataType::Dictionary(_, values) => unsupported(values),
        DataType::RunEndEncoded(_, values) => unsupported(values.data_type()),
        _ => None,
    }
}

pub(crate) struct ArrowReader {
    wanted: Wanted,
    messages: Messages,
    fit: Option<Fit>,
    /// Members of tuples that are columns: place of the tuple, names behind its point.
    members: Vec<(usize, String)>,
    rows: u64,
    /// Bytes of the file before those at hand.
    position: u64,
    needed: usize,
}

impl ArrowReader {
    pub(crate) fn new(mut wanted: Wanted) -> Self {
        wanted.any_case = wanted.settings.arrow_names_any_case;
        wanted.allow_missing = wanted.settings.arrow_allow_missing_columns;
        let messages = Messages::new(wanted.kind);
        Self { wanted, messages, fit: None, members: vec![], rows: 0, position: 0, needed: 0 }
    }

    /// The columns of the file, behind them the members of its tuples that are asked for as columns.
    fn fit_of(&mut self, schema: &SchemaRef) -> Result<Fit, FormatError> {
        // A column nobody asked for may be of any layout.
        let type_of = |field: &Field| match self.wanted.is_wanted(field.name()) {
            true => column_type(field),
            false => Ok(ColumnType::Nothing),
        };
        let columns = schema.fields().iter();
        let mut names: Vec<String> = columns.clone().map(|field| field.name().clone()).collect();
        let mut types = columns.map(|field| type_of(field)).collect::<Result<Vec<_>, _>>()?;
        let mut taken_apart = HashSet::new();
        for field in self.wanted.fields().filter(|field| field.name().contains('.')) {
            let root = |name: &str| self.wanted.place_of(name, &names[..schema.fields().len()]);
            let name = field.name();
            let free = self.wanted.place_of(name, &names).is_none();
            let found = member_named(name, schema.fields(), root).filter(|_| free);
            if let Some((root, path)) = found
                && let Some(member) = field_of(schema.field(root), path)
            {
                self.members.push((root, path.to_owned()));
                taken_apart.insert(names[root].clone());
                names.push(name.clone());
                types.push(column_type(&member.clone().with_nullable(true))?);
            }
        }
        self.wanted.taken_apart = taken_apart;
        self.wanted.by_name(&names, types)
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<RecordBatch>) -> Result<(), FormatError> {
        if self.fit.is_none() {
            self.fit = Some(self.fit_of(&batch.schema())?);
        }
        let Some(fit) = &self.fit else { return Ok(()) };
        let step = self.wanted.settings.block_rows_max;
        let mut from = 0;
        while from < batch.num_rows() {
            let count = step.min(batch.num_rows() - from);
            let mut arrays: Vec<Option<ArrayRef>> =
                batch.columns().iter().map(|array| Some(array.slice(from, count))).collect();
            let member = |(root, path): &(usize, String)| member_of(arrays.get(*root)?.as_ref()?, path);
            let members: Vec<_> = self.members.iter().map(member).collect();
            arrays.extend(members);
            out.push(fit.batch(&arrays, count).map_err(|error| error.at_row(self.rows + 1))?);
            self.rows += u64_of(count);
            from += count;
        }
        Ok(())
    }
}

impl RowReader for ArrowReader {
    fn read(&mut self, bytes: &[u8], end: bool, out: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        if !end && bytes.len() < self.needed {
            return Ok(0);
        }
        self.needed = 0;
        let mut at = 0;
        while at < bytes.len() && !self.messages.ended {
            match self.messages.next(&bytes[at..]) {
                Ok((used, batch)) => {
                    if let Some(batch) = batch {
                        let position = self.position + u64_of(at);
                        self.batch(&batch, out).map_err(|error| error.at_position(position))?;
                    }
                    at += used;
                }
                Err(Halt::More(_)) if end => {
                    let message =
                        format!("{} data is cut: it ends inside a message", self.wanted.kind.name());
                    let error =
                        FormatError::new(ErrorCode::CANNOT_READ_ALL_DATA, message).at_row(self.rows + 1);
                    return Err(error.at_position(self.position + u64_of(bytes.len())));
                }
                Err(Halt::More(needed)) => {
                    self.needed = needed;
                    break;
                }
                Err(Halt::Bad(error)) => {
                    return Err(error.at_row(self.rows + 1).at_position(self.position + u64_of(at)));
                }
            }
        }
        let used = if self.messages.ended { bytes.len() } else { at };
        self.position += u64_of(used);
        // A file says itself where it ends; a stream may just end between messages.
        if end && self.wanted.kind == FormatKind::Arrow && self.position > 0 && !self.messages.ended {
            let error =
                FormatError::new(ErrorCode::CANNOT_READ_ALL_DATA, "Arrow data is cut: its end is missing");
            return Err(error.at_row(self.rows + 1).at_position(self.position));
        }
        Ok(used)
    }
}
