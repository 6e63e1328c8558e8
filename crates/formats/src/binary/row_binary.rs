//! RowBinary and its variants: values of a row one behind the other, without anything between.
//!
//! ```text
//! WithNames          number of columns, names        then rows
//! WithNamesAndTypes  number of columns, names, types
//! WithDefaults       ahead of every value a byte: 1 for the default, or 0 and the value
//! ```
//!
//! Invariant: a row that is not all there leaves no trace. A type the file names is read as such and then made into
//! the type asked for; without types the bytes are read as the types asked for.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, type_name};

use crate::binary::cells;
use crate::binary::column::{Column, Layout};
use crate::binary::to_array::to_array;
use crate::binary::wire::{Cursor, Limits, Stop};
use crate::columns::fit::{Fit, Wanted, types_of};
use crate::error::FormatError;
use crate::rows::split::RowReader;
use model::format_kind::{FormatKind, HeaderRows};
use model::table_def::column_names::ColumnNames;

/// Input bytes per batch at most, so that long texts do not make giant batches.
const BLOCK_BYTES_MAX: usize = 32 << 20;
/// Columns a header may declare.
const COLUMNS_MAX: u64 = 100_000;

pub(crate) struct RowBinaryReader {
    wanted: Wanted,
    limits: Limits,
    /// Known once the header is read.
    fit: Option<Fit>,
    columns: Vec<Column>,
    /// Of each column the cells that the data mark as defaults, in the format that has such marks.
    marked: Vec<BooleanBufferBuilder>,
    rows: usize,
    rows_before: u64,
    block_bytes: usize,
    /// Where in the file the batch begins.
    block_position: u64,
    /// Bytes of the file before those at hand.
    position: u64,
    /// Bytes without which reading again makes no sense.
    needed: usize,
}

/// Names, and types if the format has them.
pub(crate) struct Header {
    pub(crate) names: Vec<String>,
    pub(crate) types: Option<Vec<ColumnType>>,
}

pub(crate) fn read_header(kind: FormatKind, cursor: &mut Cursor<'_>) -> Result<Header, Stop> {
    let count = cursor.length(COLUMNS_MAX, "array", "the number of columns")?;
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(cursor.name()?.to_owned());
    }
    if kind.header_rows() != HeaderRows::NamesAndTypes {
        return Ok(Header { names, types: None });
    }
    let mut types = Vec::new();
    for _ in 0..count {
        types.push(read_type(cursor)?);
    }
    Ok(Header { names, types: Some(types) })
}

/// A type by its name.
pub(crate) fn read_type(cursor: &mut Cursor<'_>) -> Result<ColumnType, Stop> {
    let name = cursor.name()?;
    type_name::parse(name)
        .map_err(|error| crate::error::ValueError::new(ErrorCode::INCORRECT_DATA, error.to_string()).into())
}

impl RowBinaryReader {
    pub(crate) fn new(wanted: Wanted) -> Self {
        let limits = Limits::from(wanted.settings.as_ref());
        let mut reader = Self {
            wanted,
            limits,
            fit: None,
            columns: Vec::new(),
            marked: Vec::new(),
            rows: 0,
            rows_before: 0,
            block_bytes: 0,
            block_position: 0,
            position: 0,
            needed: 0,
        };
        if reader.wanted.kind.header_rows() == HeaderRows::None {
            reader.fit = Some(reader.wanted.by_place(types_of(&reader.wanted.file_schema)));
            reader.new_columns();
        }
        reader
    }

    fn new_columns(&mut self) {
        let types = self.fit.as_ref().map(Fit::types).unwrap_or_default();
        self.columns = types.iter().map(|column_type| Column::new(column_type, Layout::Rows)).collect();
        if self.wanted.kind == FormatKind::RowBinaryWithDefaults {
            self.marked = types.iter().map(|_| BooleanBufferBuilder::new(0)).collect();
        }
    }

    fn error(&self, error: impl Into<FormatError>, offset: usize) -> FormatError {
        self.placed(error, self.position + u64_of(offset))
    }

    fn placed(&self, error: impl Into<FormatError>, position: u64) -> FormatError {
        let mut error = error.into();
        error.message = format!("{} cannot be read: {}", self.wanted.kind.name(), error.message);
        error.at_position(position)
    }

    fn cut(&self, offset: usize) -> FormatError {
        let what = if self.fit.is_none() { "in the header" } else { "inside a row" };
        let error = FormatError::new(ErrorCode::CANNOT_READ_ALL_DATA, format!("the data ends {what}"));
        self.error(error.at_row(self.row()), offset)
    }

    /// The row being read, from 1.
    fn row(&self) -> u64 {
        self.rows_before + u64_of(self.rows) + 1
    }

    /// Reads the header; false when more bytes are needed.
    fn header(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, FormatError> {
        match read_header(self.wanted.kind, cursor) {
            Ok(header) => {
                self.fit = Some(self.fit_of(header)?);
                self.new_columns();
                Ok(true)
            }
            Err(Stop::More(needed)) => {
                self.needed = needed;
                Ok(false)
            }
            Err(Stop::Bad(error)) => Err(self.error(error, cursor.at())),
        }
    }

    fn fit_of(&self, header: Header) -> Result<Fit, FormatError> {
        let wanted = &self.wanted;
        let by_name = wanted.settings.header.use_names;
        let header = Header { names: self.meant(header.names)?, ..header };
        if let Some(types) = header.types {
            return if by_name { wanted.by_name(&header.names, types) } else { Ok(wanted.by_place(types)) };
        }
        let own = types_of(&wanted.file_schema);
        if !by_name {
            return Ok(wanted.by_place(own));
        }
        let type_of = |name: &String| {
            let place = wanted.file_schema.index_of(name).ok()?;
            own.get(place).cloned()
        };
        let known: Option<Vec<ColumnType>> = header.names.iter().map(type_of).collect();
        let Some(types) = known else {
            let unknown = header.names.iter().find(|name| type_of(name).is_none());
            let message = format!(
                "the column \"{}\" of the header was not asked for, and without its type it cannot be skipped: \
                 add it to the structure",
                unknown.map(String::as_str).unwrap_or_default()
            );
            return Err(self.error(FormatError::new(ErrorCode::INCORRECT_DATA, message), 0));
        };
        wanted.by_name(&header.names, types)
    }

    /// The names of the header as the columns that they mean are called.
    fn meant(&self, names: Vec<String>) -> Result<Vec<String>, FormatError> {
        let fields = self.wanted.file_schema.fields();
        let known = fields.iter().map(|field| field.name().as_str());
        let known = ColumnNames::new(known, self.wanted.settings.header.matching);
        let meant = |name: String| match known.find(name.as_bytes()) {
            Ok(found) => Ok(found.and_then(|at| fields.get(at)).map_or(name, |field| field.name().clone())),
            Err(ambiguous) => {
                let message = ambiguous.message(name.as_bytes());
                Err(self.error(FormatError::new(ErrorCode::INCORRECT_DATA, message), 0))
            }
        };
        names.into_iter().map(meant).collect()
    }

    /// Reads one row into every column.
    fn read_row(&mut self, cursor: &mut Cursor<'_>) -> Result<(), (usize, Stop)> {
        let types = self.fit.as_ref().map(Fit::types).unwrap_or_default();
        let defaults = self.wanted.kind == FormatKind::RowBinaryWithDefaults;
        for (at, (column, column_type)) in self.columns.iter_mut().zip(types).enumerate() {
            let is_default = defaults && cursor.flag("a mark of a default").map_err(|stop| (at, stop))?;
            if let Some(marked) = self.marked.get_mut(at) {
                // What a row that is cut short left behind goes when it is read again.
                marked.truncate(self.rows);
                marked.append(is_default);
            }
            if is_default {
                column.push_default();
            } else {
                cells::read(column, column_type, cursor, self.limits).map_err(|stop| (at, stop))?;
            }
        }
        Ok(())
    }

    fn name(&self, column: usize) -> String {
        match &self.fit {
            Some(fit) => fit.name(column),
            None => String::new(),
        }
    }

    fn flush(&mut self, out: &mut Vec<RecordBatch>) -> Result<(), FormatError> {
        if self.rows == 0 {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let Some(fit) = &self.fit else { return Ok(()) };
        let mut arrays = Vec::with_capacity(columns.len());
        for (at, (column, column_type)) in columns.into_iter().zip(fit.types()).enumerate() {
            if !fit.is_wanted(at) {
                arrays.push(None);
                continue;
            }
            let array = to_array(column, column_type).map_err(|unfit| {
                let row = self.rows_before + u64_of(unfit.row.unwrap_or(0)) + 1;
                let error = FormatError::from(unfit.error).at_row(row).in_column(fit.name(at));
                self.placed(error, self.block_position)
            })?;
            arrays.push(Some(array));
        }
        let mark = |bits: &mut BooleanBufferBuilder| {
            bits.truncate(self.rows);
            Some(Arc::new(BooleanArray::new(bits.finish(), None)) as ArrayRef)
        };
        let marked: Vec<_> = self.marked.iter_mut().map(mark).collect();
        let batch = fit.batch_marked(&arrays, self.rows, &marked);
        out.push(batch.map_err(|error| self.placed(error, self.block_position))?);
        self.block_position += u64_of(self.block_bytes);
        self.rows_before += u64_of(self.rows);
        self.rows = 0;
        self.block_bytes = 0;
        self.new_columns();
        Ok(())
    }
}

impl RowReader for RowBinaryReader {
    fn read(&mut self, bytes: &[u8], end: bool, out: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        if !end && bytes.len() < self.needed {
            return Ok(0);
        }
        self.needed = 0;
        let mut cursor = Cursor::new(bytes, 0);
        let mut at = 0;
        // An empty file has no header either.
        if self.fit.is_none() && !bytes.is_empty() {
            if !self.header(&mut cursor)? {
                return if end { Err(self.cut(0)) } else { Ok(0) };
            }
            at = cursor.at();
            self.block_position = u64_of(at);
        }
        while at < bytes.len() {
            match self.read_row(&mut cursor) {
                Ok(()) if cursor.at() == at => {
                    let message = "bytes follow where a row has no columns";
                    return Err(self.error(FormatError::new(ErrorCode::INCORRECT_DATA, message), at));
                }
                Ok(()) => {
                    self.rows += 1;
                    self.block_bytes += cursor.at() - at;
                    at = cursor.at();
                    if self.rows >= self.wanted.settings.block_rows_max || self.block_bytes >= BLOCK_BYTES_MAX
                    {
                        self.flush(out)?;
                    }
                }
                Err((_, Stop::More(needed))) => {
                    let rows = self.rows;
                    self.columns.iter_mut().for_each(|column| column.truncate(rows));
                    if end {
                        self.flush(out)?;
                        return Err(self.cut(bytes.len()));
                    }
                    // Rows of many small parts say only the next one: waiting for half as much again keeps the sum
                    // of all attempts linear.
                    let so_far = bytes.len() - at;
                    self.needed = (needed - at).max(so_far + so_far / 2);
                    break;
                }
                Err((column, Stop::Bad(error))) => {
                    let rows = self.rows;
                    self.columns.iter_mut().for_each(|column| column.truncate(rows));
                    let placed = FormatError::from(error).at_row(self.row()).in_column(self.name(column));
                    let failed = self.error(placed, cursor.at());
                    // A bad value in an earlier row comes first.
                    self.flush(out)?;
                    return Err(failed);
                }
            }
        }
        self.position += u64_of(at);
        if end {
            self.flush(out)?;
        }
        Ok(at)
    }
}
