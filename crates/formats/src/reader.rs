//! Readers of text formats: bytes in, batches out.
//!
//! Invariant: fed byte by byte or whole, a reader gives the same rows, or an error of the same kind at the same place
//! (its excerpt of the input may be shorter). Cells of some thousand values
//! are split first and then appended column by column, so the type is looked at once per run and not once per value.

pub(crate) mod block;
mod header;
mod pace;
mod rows;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::binary::arrow_stream::ArrowReader;
use crate::binary::native::NativeReader;
use crate::binary::row_binary::RowBinaryReader;
use crate::binary::whole::WholeReader;
use crate::columns::builder::{BuilderOptions, Manner};
use crate::columns::fit::{Wanted, types_of};
use crate::error::FormatError;
use crate::reader::block::Block;
use crate::rows::custom::delimiter_unfit;
use crate::rows::reject::{RejectedRow, Tolerance};
use crate::rows::split::{Header, RowReader, SplitError, SplitRows};
use crate::rows::splitter::{Splitter, is_csv, is_tsv, splitter};
use crate::settings::{EscapingRule, FormatSettings};
use header::Ahead;
use model::format_kind::{FormatKind, HeaderRows};
use model::table_def::column_names::HeaderReading;

/// Input bytes per batch at most, so that long texts do not make giant batches.
const BLOCK_BYTES_MAX: usize = 32 << 20;
/// A row this long that is not complete is looked at again only when there is twice as much of it; otherwise a row that
/// comes in many pieces would be split from its start with every piece.
const PATIENCE_BYTES_MIN: usize = 1 << 20;

/// Where in its file a reader starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReaderStart {
    /// At the first byte: header rows and lines to skip are ahead.
    File,
    /// At a record in the middle; `columns` are the names of the file's columns if it has its own order, as
    /// [`RowReader::header`] of a reader from its start tells, and `position` is the byte the record starts at.
    Middle { columns: Option<Vec<String>>, position: u64 },
}

/// A reader of `kind` from the start of a file. The schema's fields carry our types; batches have that schema.
pub fn new_reader(
    kind: FormatKind,
    schema: SchemaRef,
    settings: &FormatSettings,
) -> Result<Box<dyn RowReader>, FormatError> {
    new_reader_at(kind, schema, None, settings, &ReaderStart::File)
}

/// A reader that starts anywhere, see [`ReaderStart`], and gives only the columns of `projection` (positions in the
/// file's schema). Cells of other columns are not looked at.
pub fn new_reader_at(
    kind: FormatKind,
    file_schema: SchemaRef,
    projection: Option<&[usize]>,
    settings: &FormatSettings,
    start: &ReaderStart,
) -> Result<Box<dyn RowReader>, FormatError> {
    let types = types_of(&file_schema);
    reader_of_types(kind, file_schema, &types, projection, settings, start)
}

/// [`new_reader`] for whoever reads many texts of one schema: `types` are what [`types_of`] said of it, so that they
/// are not read from its fields again for each text.
pub fn new_typed_reader(
    kind: FormatKind,
    schema: SchemaRef,
    types: &[ColumnType],
    settings: &FormatSettings,
) -> Result<Box<dyn RowReader>, FormatError> {
    new_typed_reader_at(kind, schema, types, settings, &ReaderStart::File)
}

/// [`new_typed_reader`] that starts anywhere.
pub fn new_typed_reader_at(
    kind: FormatKind,
    schema: SchemaRef,
    types: &[ColumnType],
    settings: &FormatSettings,
    start: &ReaderStart,
) -> Result<Box<dyn RowReader>, FormatError> {
    reader_of_types(kind, schema, types, None, settings, start)
}

fn reader_of_types(
    kind: FormatKind,
    file_schema: SchemaRef,
    types: &[ColumnType],
    projection: Option<&[usize]>,
    settings: &FormatSettings,
    start: &ReaderStart,
) -> Result<Box<dyn RowReader>, FormatError> {
    if !kind.is_text() {
        return binary_reader(kind, file_schema, projection, settings, start);
    }
    if kind.is_custom() && !settings.custom.takes_text(kind.header_rows() == HeaderRows::None, types) {
        return Err(delimiter_unfit(settings));
    }
    let csv = is_csv(kind);
    let mut options = BuilderOptions::from(settings);
    options.is_csv = csv
        || kind.is_custom() && settings.custom.rule == EscapingRule::Csv
        || kind == FormatKind::Regexp && settings.custom.pattern.rule == EscapingRule::Csv;
    options.manner = manner(kind, settings);
    options.lists_nested = options.is_csv && settings.delimited.csv_lists_nested;
    options.bad_as_default = csv && settings.delimited.csv_bad_as_default;
    options.enums_as_numbers =
        csv && settings.delimited.csv_enum_as_number || is_tsv(kind) && settings.delimited.tsv_enum_as_number;
    let flattens = csv && !settings.delimited.csv_tuples_whole;
    let mut block = Block::new(file_schema, types, projection, &options, flattens)?;
    block.ends_lines = csv && !settings.delimited.csv_keeps_blanks;
    let is_text = types.first().is_some_and(|only| *only.value_type() == ColumnType::String);
    if kind == FormatKind::LineAsString && !(is_text && block.width() == 1) {
        let message = "format LineAsString is for a single column of type String";
        return Err(FormatError::new(ErrorCode::INCORRECT_QUERY, message));
    }
    match splitter(kind, settings, block.column_names())? {
        Splitter::Csv(rows) => reader(rows, block, kind, settings, start),
        Splitter::Tsv(rows) => reader(rows, block, kind, settings, start),
        Splitter::Objects(rows) => reader(rows, block, kind, settings, start),
        Splitter::Lists(rows) => reader(rows, block, kind, settings, start),
        Splitter::Lines(rows) => reader(rows, block, kind, settings, start),
        Splitter::Tskv(rows) => reader(rows, block, kind, settings, start),
        Splitter::Custom(rows) => reader(rows, block, kind, settings, start),
        Splitter::Pattern(rows) => reader(rows, block, kind, settings, start),
        Splitter::ObjectDocument(rows) => reader(rows, block, kind, settings, start),
        Splitter::ListDocument(rows) => reader(rows, block, kind, settings, start),
        Splitter::NamedObjects(rows) => reader(rows, block, kind, settings, start),
        Splitter::ObjectTexts(rows) => reader(rows, block, kind, settings, start),
        Splitter::Columns(rows) => reader(rows, block, kind, settings, start),
    }
}

fn manner(kind: FormatKind, settings: &FormatSettings) -> Manner {
    use FormatKind as F;
    match kind {
        F::Values => Manner::Expression,
        F::TabSeparatedRaw | F::TabSeparatedRawWithNames | F::TabSeparatedRawWithNamesAndTypes => {
            Manner::Whole
        }
        _ if is_csv(kind) => Manner::Csv,
        _ if kind.of_plain_values() != kind => Manner::Whole,
        F::Regexp if settings.custom.pattern.rule == EscapingRule::Raw => Manner::Whole,
        F::Regexp => Manner::Matched,
        _ if kind.is_custom() => match settings.custom.rule {
            EscapingRule::Csv => Manner::Csv,
            EscapingRule::Raw | EscapingRule::Xml => Manner::Whole,
            EscapingRule::Quoted => Manner::Quoted,
            EscapingRule::Escaped | EscapingRule::Json => Manner::Plain,
        },
        _ => Manner::Plain,
    }
}

fn binary_reader(
    kind: FormatKind,
    file_schema: SchemaRef,
    projection: Option<&[usize]>,
    settings: &FormatSettings,
    start: &ReaderStart,
) -> Result<Box<dyn RowReader>, FormatError> {
    use FormatKind as F;
    let position = match start {
        ReaderStart::File => 0,
        ReaderStart::Middle { position, .. } => *position,
    };
    if *start != ReaderStart::File && kind != F::Native {
        let message = format!("format {} is read from the start of a file only", kind.name());
        return Err(FormatError::new(ErrorCode::LOGICAL_ERROR, message));
    }
    let wanted = Wanted::new(kind, file_schema, projection, settings)?;
    Ok(match kind {
        F::Native => Box::new(NativeReader::new(wanted, position)),
        F::RowBinary | F::RowBinaryWithNames | F::RowBinaryWithNamesAndTypes | F::RowBinaryWithDefaults => {
            Box::new(RowBinaryReader::new(wanted))
        }
        F::Arrow | F::ArrowStream => Box::new(ArrowReader::new(wanted)),
        F::One | F::RawBlob => Box::new(WholeReader::new(wanted)?),
        other => {
            let message = format!("format {} is not read row by row", other.name());
            return Err(FormatError::new(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT, message));
        }
    })
}

struct Reader<S> {
    rows: S,
    block: Block,
    ahead: Ahead,
    /// What follows the skipped lines.
    header: Ahead,
    types_follow: bool,
    /// Cells of the last header row.
    header_cells: usize,
    skip_unknown: bool,
    /// How a header is read.
    reading: HeaderReading,
    variable_columns: bool,
    /// CSV: one more delimiter may stand at the end of a row.
    trailing_delimiter: bool,
    /// Rows are lists of JSON.
    is_json: bool,
    /// What a row of another number of cells is.
    width_code: ErrorCode,
    rows_max: usize,
    block_bytes: usize,
    position: u64,
    /// What the header called the cells, if it did.
    columns: Option<Vec<String>>,
    tolerance: Option<Box<Tolerance>>,
    /// Start and end of the rows whose cells are not yet appended, when bad rows are skipped.
    extents: Vec<(usize, usize)>,
    row_bytes_max: usize,
    /// Bytes without which trying again is of no use.
    bytes_awaited: usize,
}

fn reader<S: SplitRows + 'static>(
    mut rows: S,
    mut block: Block,
    kind: FormatKind,
    settings: &FormatSettings,
    start: &ReaderStart,
) -> Result<Box<dyn RowReader>, FormatError> {
    let csv = is_csv(kind);
    let tsv = is_tsv(kind);
    let detect = kind == FormatKind::Csv && settings.csv_detect_header
        || tsv && settings.tsv_detect_header
        || kind == FormatKind::CustomSeparated && settings.custom.detect_header;
    let header = match kind.header_rows() {
        HeaderRows::None if detect => Ahead::MaybeNames,
        HeaderRows::None => Ahead::Data,
        HeaderRows::Names | HeaderRows::NamesAndTypes => Ahead::Names,
    };
    let skip_lines = if csv { settings.csv_skip_first_lines } else { settings.tsv_skip_first_lines };
    let mut position = 0;
    let ahead = match start {
        ReaderStart::File if skip_lines > 0 && (csv || tsv) => Ahead::Lines(skip_lines),
        ReaderStart::File => header,
        ReaderStart::Middle { columns, position: first } => {
            position = *first;
            rows.start_in_the_middle();
            if let Some(columns) = columns {
                block.map_names(columns, settings.skip_unknown_fields, settings.header.matching)?;
            }
            Ahead::Data
        }
    };
    Ok(Box::new(Reader {
        rows,
        block,
        ahead,
        header,
        types_follow: kind.header_rows() == HeaderRows::NamesAndTypes,
        header_cells: 0,
        skip_unknown: settings.skip_unknown_fields,
        reading: settings.header,
        variable_columns: match kind {
            _ if csv => settings.csv_allow_variable_columns,
            _ if kind.is_custom() => settings.custom.allow_variable_columns,
            _ if kind.is_json_list() => settings.json.variable_lists,
            _ => settings.tsv_allow_variable_columns,
        },
        trailing_delimiter: csv,
        is_json: kind.is_json_list(),
        width_code: match kind {
            FormatKind::Values => ErrorCode::SYNTAX_ERROR,
            FormatKind::Regexp => ErrorCode::INCORRECT_DATA,
            _ => ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
        },
        rows_max: settings.block_rows_max,
        block_bytes: 0,
        position,
        columns: None,
        // Values that stand column by column are no rows that could be passed over.
        tolerance: if kind.stands_by_column() { None } else { Tolerance::of(settings) },
        extents: Vec::new(),
        row_bytes_max: if settings.row_bytes_max == 0 { usize::MAX } else { settings.row_bytes_max },
        bytes_awaited: 0,
    }))
}

/// Offset of `part` in `whole`, of which it is a part.
fn offset_in(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr()).min(whole.len())
}

impl<S: SplitRows> Reader<S> {
    fn at(&self, offset: usize) -> u64 {
        self.position + u64_of(offset)
    }

    fn split_error(&self, error: SplitError, pending: usize) -> FormatError {
        let row = self.block.rows_total() + u64_of(pending) + 1;
        let placed = FormatError::new(error.code, error.message).at_row(row).at_position(self.at(error.at));
        match self.block.cell_name(error.cell) {
            Some(name) => placed.in_column(name),
            None => placed,
        }
    }

    /// What to do about a row of which `held` bytes are there and more are needed.
    fn wait_for_more(&mut self, held: usize) -> Result<(), FormatError> {
        if held > self.row_bytes_max {
            let message = format!(
                "a row is longer than {} bytes, which input_format_max_row_bytes allows; raise it, or look for a quote or \
                 bracket that is never closed",
                self.row_bytes_max
            );
            let row = self.block.rows_total() + 1;
            return Err(FormatError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message)
                .at_row(row)
                .at_position(self.position));
        }
        self.bytes_awaited = if held < PATIENCE_BYTES_MIN { 0 } else { held.saturating_mul(2) };
        Ok(())
    }
}

impl<S: SplitRows> RowReader for Reader<S> {
    fn read(&mut self, bytes: &[u8], end: bool, out: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        if bytes.len() < self.bytes_awaited.min(self.row_bytes_max) && !end {
            return Ok(0);
        }
        let mut at = 0;
        // A byte order mark is part of no format.
        if self.position == 0 && bytes.starts_with(b"\xef\xbb\xbf") {
            at = 3;
        } else if self.position == 0 && !end && b"\xef\xbb\xbf".starts_with(bytes) {
            return Ok(0);
        }
        if self.ahead != Ahead::Data {
            at = self.read_header(bytes, at, end)?;
        }
        let consumed = if self.ahead == Ahead::Data { self.data(bytes, at, end, out)? } else { at };
        self.position = self.at(consumed);
        if end {
            out.extend(self.block.finish()?);
        } else {
            self.wait_for_more(bytes.len().saturating_sub(consumed))?;
        }
        Ok(consumed)
    }

    fn header(&self) -> Header<'_> {
        match self.ahead {
            Ahead::Data => Header::Read(self.columns.as_deref()),
            _ => Header::Ahead,
        }
    }

    fn take_rejected(&mut self) -> Vec<RejectedRow> {
        self.tolerance.as_mut().map_or_else(Vec::new, |tolerance| tolerance.take())
    }

    fn rejected(&self) -> u64 {
        self.tolerance.as_ref().map_or(0, |tolerance| tolerance.errors())
    }
}

#[cfg(test)]
mod tests;
