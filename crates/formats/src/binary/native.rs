//! Native: ClickHouse's blocks of columns, as files and HTTP have them (revision 0).
//!
//! ```text
//! block   number of columns, number of rows, columns
//! column  name, type, values of all rows (see `binary::bulk`)
//! ```
//!
//! Invariant: a column is consumed when all of it is there, so a block larger than memory's buffers is not read again
//! for every chunk; a batch is given out when its block is complete. Must not know: files.

use arrow::array::{ArrayRef, RecordBatch};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::binary::bulk;
use crate::binary::column::{Column, Layout};
use crate::binary::row_binary::read_type;
use crate::binary::to_array::to_array;
use crate::binary::wire::{Cursor, Limits, Stop};
use crate::columns::fit::Wanted;
use crate::error::{FormatError, ValueError};
use crate::rows::split::{Header, RowReader};

/// Columns a block may declare.
pub(crate) const COLUMNS_MAX: u64 = 100_000;
/// Rows a block may declare; writers make blocks of some ten thousand.
pub(crate) const ROWS_MAX: u64 = 1 << 32;

/// The number of columns and rows at the start of a block.
pub(crate) fn read_counts(cursor: &mut Cursor<'_>) -> Result<(usize, usize), Stop> {
    let columns = cursor.length(COLUMNS_MAX, "array", "the number of columns")?;
    let rows = cursor.length(ROWS_MAX, "array", "the number of rows of a block")?;
    if columns == 0 && rows > 0 {
        let message = format!("a block has {rows} rows without columns");
        return Err(ValueError::new(ErrorCode::INCORRECT_DATA, message).into());
    }
    Ok((columns, rows))
}

/// Name, type and values of the next column.
pub(crate) fn read_column(
    cursor: &mut Cursor<'_>,
    rows: usize,
    limits: Limits,
) -> Result<(String, ColumnType, Column), Stop> {
    let name = cursor.name()?.to_owned();
    let column_type = read_type(cursor)?;
    let mut column = Column::new(&column_type, Layout::Columns);
    if rows > 0 {
        bulk::read_prefix(&column_type, cursor)?;
        bulk::read(&mut column, &column_type, rows, cursor, limits)?;
    }
    Ok((name, column_type, column))
}

/// A block of which the first columns are read.
struct Block {
    columns: usize,
    rows: usize,
    names: Vec<String>,
    types: Vec<ColumnType>,
    arrays: Vec<Option<ArrayRef>>,
}

pub(crate) struct NativeReader {
    wanted: Wanted,
    limits: Limits,
    block: Option<Block>,
    rows_before: u64,
    /// Bytes of the file before those at hand.
    position: u64,
    /// Bytes without which reading again makes no sense.
    needed: usize,
}

impl NativeReader {
    /// Of blocks that begin at byte `position` of the file.
    pub(crate) fn new(wanted: Wanted, position: u64) -> Self {
        let limits = Limits::from(wanted.settings.as_ref());
        Self { wanted, limits, block: None, rows_before: 0, position, needed: 0 }
    }

    fn error(&self, error: impl Into<FormatError>, offset: usize) -> FormatError {
        let mut error = error.into();
        error.message = format!("Native cannot be read: {}", error.message);
        let error = error.at_position(self.position + u64_of(offset));
        // The row is that of the block if the value has none of its own.
        if error.row.is_some() { error } else { error.at_row(self.rows_before + 1) }
    }

    /// Reads the next part of a block: its counts or one column.
    fn step(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        let Some(block) = &mut self.block else {
            let (columns, rows) = read_counts(cursor)?;
            let (names, types, arrays) = (Vec::new(), Vec::new(), Vec::new());
            self.block = Some(Block { columns, rows, names, types, arrays });
            return Ok(());
        };
        let (name, column_type, column) = read_column(cursor, block.rows, self.limits)?;
        let wanted = self.wanted.is_wanted(&name);
        block.arrays.push(None);
        block.names.push(name);
        if wanted && block.rows > 0 {
            let array = to_array(column, &column_type).map_err(|unfit| {
                let row =
                    unfit.row.map(|row| format!(" in row {} of the block", row + 1)).unwrap_or_default();
                ValueError::new(unfit.error.code, format!("{}{row}", unfit.error.message))
            })?;
            if let Some(last) = block.arrays.last_mut() {
                *last = Some(array);
            }
        }
        block.types.push(column_type);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.names.len() == block.columns)
    }

    /// The column being read, for messages.
    fn column(&self) -> String {
        let Some(block) = &self.block else { return String::new() };
        // After an error in the values the name is known, before it only the place.
        match block.names.len() > block.types.len() {
            true => block.names.last().cloned().unwrap_or_default(),
            false => format!("number {}", block.names.len() + 1),
        }
    }

    fn give_out(&mut self, offset: usize, out: &mut Vec<RecordBatch>) -> Result<(), FormatError> {
        let Some(block) = self.block.take() else { return Ok(()) };
        if block.rows == 0 {
            return Ok(());
        }
        let fit =
            self.wanted.by_name(&block.names, block.types).map_err(|error| self.error(error, offset))?;
        let step = self.wanted.settings.block_rows_max;
        let mut from = 0;
        while from < block.rows {
            let count = step.min(block.rows - from);
            let slice = |array: &Option<ArrayRef>| array.as_ref().map(|array| array.slice(from, count));
            let arrays: Vec<Option<ArrayRef>> = block.arrays.iter().map(slice).collect();
            out.push(fit.batch(&arrays, count).map_err(|error| self.error(error, offset))?);
            from += count;
            self.rows_before += u64_of(count);
        }
        Ok(())
    }
}

impl RowReader for NativeReader {
    fn read(&mut self, bytes: &[u8], end: bool, out: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        if !end && bytes.len() < self.needed {
            return Ok(0);
        }
        self.needed = 0;
        let mut cursor = Cursor::new(bytes, 0);
        let mut at = 0;
        loop {
            if self.is_complete() {
                self.give_out(at, out)?;
            }
            if at == bytes.len() && self.block.is_none() {
                break;
            }
            match self.step(&mut cursor) {
                Ok(()) => at = cursor.at(),
                Err(Stop::More(_)) if end => {
                    let message = "the data ends inside a block";
                    let error =
                        FormatError::new(ErrorCode::CANNOT_READ_ALL_DATA, message).in_column(self.column());
                    return Err(self.error(error, bytes.len()));
                }
                Err(Stop::More(needed)) => {
                    // Texts say only where the next one ends: waiting for half as much again keeps the sum of all
                    // attempts linear.
                    let so_far = bytes.len() - at;
                    self.needed = (needed - at).max(so_far + so_far / 2);
                    break;
                }
                Err(Stop::Bad(error)) => {
                    return Err(self.error(FormatError::from(error).in_column(self.column()), cursor.at()));
                }
            }
        }
        self.position += u64_of(at);
        Ok(at)
    }

    fn header(&self) -> Header<'_> {
        // Inside of a block nobody else can go on.
        if self.block.is_none() { Header::Read(None) } else { Header::Ahead }
    }
}
