//! Writers: batches in, bytes out.
//!
//! Invariant: `start`, any number of `write`s, `finish`; the bytes appended over all calls are the whole output. A writer
//! for people holds back what it needs to know widths; all others give every batch out at once.

mod binary;
mod custom;
mod delimited;
mod json;
mod json_columns;
mod markdown;
mod msgpack;
mod hash;
mod bson;
mod tskv;
mod values;
mod sql_insert;

mod foreign;

mod ipc;
mod parquet_schema;
mod parquet;

mod vertical;

mod pretty;

mod totals;

mod json_progress;

mod xml;

use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use model::type_arrow::from_field;
use model::{ColumnType, ErrorCode};

use crate::columns::text::ColumnText;
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::{FormatKind, HeaderRows};
use model::value::strokes::Grid;

/// What a format may say about the statement that made the rows.
#[derive(Clone, Debug, Default)]
pub struct OutputStats {
    pub rows_read: u64,
    pub bytes_read: u64,
    /// Rows that will have been read, as far as known; 0 when nothing is.
    pub rows_total: u64,
    pub elapsed: Duration,
    /// Rows there were before LIMIT cut them, when that is known.
    pub rows_before_limit: Option<u64>,
}

/// Writes rows in one format.
pub trait RowWriter: Send {
    /// Takes the columns and appends what stands ahead of the rows.
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError>;

    /// Appends the rows of a batch, or keeps them for later.
    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError>;

    /// Appends how far the statement is, in the formats that tell it ([`FormatKind::tells_progress`]).
    fn progress(&mut self, _: &OutputStats, _: &mut Vec<u8>) {}

    /// Bytes of rows held back until `finish`, which makes as many again of them.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Appends everything still held back and what stands behind the rows.
    fn finish(&mut self, stats: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError>;
}

pub use totals::{EXTREMES_KEY, TOTALS_KEY, is_extremes, is_totals};

/// A writer of `kind`; an error when the format is input only.
pub fn new_writer(kind: FormatKind, settings: &FormatSettings) -> Result<Box<dyn RowWriter>, FormatError> {
    let rows = plain_writer(kind, settings)?;
    Ok(Box::new(totals::TotalsWriter::new(kind, rows, settings)))
}

/// A writer that takes whatever it gets for rows.
fn plain_writer(kind: FormatKind, settings: &FormatSettings) -> Result<Box<dyn RowWriter>, FormatError> {
    use FormatKind as F;
    use delimited::{DelimitedWriter, Syntax};
    let header = kind.header_rows();
    let delimited = |syntax| Box::new(DelimitedWriter::new(syntax, header, settings));
    let json = |layout| Box::new(json::JsonWriter::new(layout, settings));
    let by_columns = |frame| Box::new(json_columns::JsonColumnsWriter::new(frame, settings));
    let rows = |layout| Box::new(json::JsonRowsWriter::new(layout, header, settings));
    let telling =
        |rows: json::JsonRowsWriter| Box::new(json_progress::JsonProgressWriter::new(rows, settings));
    let pretty = |grid| Box::new(pretty::PrettyWriter::new(grid, settings.clone()));
    let plain = |grid| {
        let settings = FormatSettings { pretty_color: Some(false), ..settings.clone() };
        Box::new(pretty::PrettyWriter::new(grid, settings))
    };
    Ok(match kind {
        F::Csv | F::CsvWithNames | F::CsvWithNamesAndTypes => delimited(Syntax::Csv),
        F::TabSeparated | F::TabSeparatedWithNames | F::TabSeparatedWithNamesAndTypes => {
            delimited(Syntax::Tsv)
        }
        F::TabSeparatedRaw | F::TabSeparatedRawWithNames | F::TabSeparatedRawWithNamesAndTypes => {
            delimited(Syntax::Raw)
        }
        F::Tskv => Box::new(tskv::TskvWriter::new(settings)),
        F::LineAsString => delimited(Syntax::Raw),
        F::Values => Box::new(values::ValuesWriter::new(settings)),
        F::SqlInsert => Box::new(sql_insert::SqlInsertWriter::new(settings)),
        F::Json => json(json::Layout::Objects),
        F::JsonCompact => json(json::Layout::Lists),
        F::JsonStrings => Box::new(json(json::Layout::Objects).of_strings()),
        F::JsonCompactStrings => Box::new(json(json::Layout::Lists).of_strings()),
        F::JsonColumns => by_columns(json_columns::Frame::Named),
        F::JsonCompactColumns => by_columns(json_columns::Frame::Bare),
        F::JsonColumnsWithMetadata => by_columns(json_columns::Frame::Document),
        F::JsonObjectEachRow => Box::new(json_columns::JsonObjectWriter::new(settings)),
        F::JsonEachRow => rows(json::Layout::Objects),
        F::JsonCompactEachRow | F::JsonCompactEachRowWithNames | F::JsonCompactEachRowWithNamesAndTypes => {
            rows(json::Layout::Lists)
        }
        F::JsonStringsEachRow => Box::new(rows(json::Layout::Objects).of_strings()),
        F::JsonCompactStringsEachRow
        | F::JsonCompactStringsEachRowWithNames
        | F::JsonCompactStringsEachRowWithNamesAndTypes => Box::new(rows(json::Layout::Lists).of_strings()),
        F::JsonEachRowWithProgress => telling(*rows(json::Layout::Objects)),
        F::JsonStringsEachRowWithProgress => telling(rows(json::Layout::Objects).of_strings()),
        F::JsonCompactEachRowWithProgress => telling(*rows(json::Layout::Lists)),
        F::JsonCompactStringsEachRowWithProgress => telling(rows(json::Layout::Lists).of_strings()),
        F::CustomSeparated | F::CustomSeparatedWithNames | F::CustomSeparatedWithNamesAndTypes => {
            Box::new(custom::CustomWriter::new(header, settings))
        }
        F::Pretty | F::PrettyMonoBlock => pretty(Grid::Full),
        F::PrettyNoEscapes => plain(Grid::Full),
        F::PrettyCompact | F::PrettyCompactMonoBlock => pretty(Grid::Compact),
        F::PrettyCompactNoEscapes => plain(Grid::Compact),
        F::PrettySpace | F::PrettySpaceMonoBlock => pretty(Grid::Space),
        F::PrettySpaceNoEscapes => plain(Grid::Space),
        F::Vertical => Box::new(vertical::VerticalWriter::new(settings)),
        F::Markdown => Box::new(markdown::MarkdownWriter::new(settings)),
        F::Xml => Box::new(xml::XmlWriter::new(settings)),
        other => return binary_writer(other, settings),
    })
}

/// Formats whose bytes are no text for people, and those that are not written.
fn binary_writer(kind: FormatKind, settings: &FormatSettings) -> Result<Box<dyn RowWriter>, FormatError> {
    use FormatKind as F;
    Ok(match kind {
        F::Parquet => Box::new(parquet::ParquetWriter::new(settings)?),
        F::Arrow | F::ArrowStream => Box::new(ipc::ArrowWriter::new(kind, settings)?),
        F::Native => Box::new(binary::NativeWriter::new(settings.native_revision)),
        F::RowBinary | F::RowBinaryWithNames | F::RowBinaryWithNamesAndTypes => {
            Box::new(binary::RowBinaryWriter::new(kind.header_rows()))
        }
        F::RawBlob => Box::new(binary::RawBlobWriter::new(settings)),
        F::MsgPack => Box::new(msgpack::MsgPackWriter::new(settings)),
        F::BsonEachRow => Box::new(bson::BsonWriter::new(settings)),
        F::Hash => Box::new(hash::HashWriter::default()),
        F::Null => Box::new(NullWriter),
        other => return Err(input_only(other)),
    })
}

fn input_only(kind: FormatKind) -> FormatError {
    let message = format!("format {} is for input only", kind.name());
    FormatError::new(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT, message)
}

/// Drops the rows: for measuring.
struct NullWriter;

impl RowWriter for NullWriter {
    fn start(&mut self, _: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }

    fn write(&mut self, _: &RecordBatch, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, _: &mut Vec<u8>) -> Result<(), FormatError> {
        Ok(())
    }
}

/// Names and types of the columns being written.
#[derive(Clone, Debug, Default)]
struct Columns {
    names: Vec<String>,
    types: Vec<ColumnType>,
}

/// A column of NULLs is Nullable(Nothing) to whoever reads it.
fn shown(column_type: ColumnType) -> ColumnType {
    match column_type {
        ColumnType::Nothing => ColumnType::Nullable(Box::new(ColumnType::Nothing)),
        other => other,
    }
}

impl Columns {
    fn of(schema: &SchemaRef) -> Self {
        Self {
            names: schema.fields().iter().map(|field| field.name().clone()).collect(),
            types: schema.fields().iter().map(|field| shown(from_field(field))).collect(),
        }
    }

    fn open(&self, batch: &RecordBatch, settings: &FormatSettings) -> Result<Vec<ColumnText>, FormatError> {
        self.fits(batch)?;
        batch
            .columns()
            .iter()
            .zip(&self.types)
            .map(|(array, t)| ColumnText::new(array, t, settings))
            .collect()
    }

    fn open_for_table(
        &self,
        batch: &RecordBatch,
        settings: &FormatSettings,
    ) -> Result<Vec<ColumnText>, FormatError> {
        self.fits(batch)?;
        batch
            .columns()
            .iter()
            .zip(&self.types)
            .map(|(array, t)| ColumnText::for_table(array, t, settings))
            .collect()
    }

    fn fits(&self, batch: &RecordBatch) -> Result<(), FormatError> {
        if batch.num_columns() == self.types.len() {
            return Ok(());
        }
        let message =
            format!("batch has {} columns, {} were announced", batch.num_columns(), self.types.len());
        Err(FormatError::new(ErrorCode::LOGICAL_ERROR, message))
    }

    /// Whether tables align the column to the right: numbers, dates and times.
    fn right_aligned(&self) -> Vec<bool> {
        use ColumnType as T;
        let times =
            |t: &T| matches!(t.value_type(), T::Date | T::Date32 | T::DateTime { .. } | T::DateTime64 { .. });
        self.types.iter().map(|t| t.is_number() || t.is_interval() || times(t)).collect()
    }

    fn header_rows(&self, header: HeaderRows) -> Vec<Vec<String>> {
        let types = || self.types.iter().map(ToString::to_string).collect();
        match header {
            HeaderRows::None => vec![],
            HeaderRows::Names => vec![self.names.clone()],
            HeaderRows::NamesAndTypes => vec![self.names.clone(), types()],
        }
    }
}

#[cfg(test)]
mod tests;
