//! What a format must know to be read: where a row and its cells end.
//!
//! Invariant: splitting never copies; a row that the bytes do not hold in full is `Incomplete` unless they are the last.
//! Must not know: column types, builders.

use model::ErrorCode;

use crate::error::FormatError;
use crate::rows::reject::RejectedRow;
use crate::values::cell::Cell;
use scan::find::find_any;

/// How splitting one row ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowEnd {
    /// The row's cells were pushed; the next row starts here.
    Row(usize),
    /// More bytes are needed; pushed cells are to be dropped.
    Incomplete,
    /// No further row; the bytes up to here are used up.
    Finished(usize),
}

/// A row that is not of the format. Row number and file position are added by the reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SplitError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    /// Offset in the bytes given.
    pub(crate) at: usize,
    /// Cell of the row, from 0.
    pub(crate) cell: usize,
}

/// How many rows are wanted at once, at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// Cells of every row.
    pub(crate) width: usize,
    pub(crate) rows: usize,
    /// No row begins behind so many bytes.
    pub(crate) bytes: usize,
}

/// Rows that were split, and where the next one starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub(crate) rows: usize,
    pub(crate) next: usize,
}

/// Splits one format.
pub(crate) trait SplitRows: Send {
    /// Splits the row at `bytes[at..]`. `last` says that no byte follows these.
    fn row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError>;

    /// Splits whole rows of `room.width` cells, as `row` would, as long as they are of the kind that is quick to split. In front
    /// of any other it stops, and pushes none of its cells.
    fn quick_rows<'a>(
        &mut self,
        _bytes: &'a [u8],
        at: usize,
        _room: Room,
        _cells: &mut Vec<Cell<'a>>,
    ) -> Taken {
        Taken { rows: 0, next: at }
    }

    /// Splits header rows, in which no cell is NULL and every row has its own number of cells.
    fn header_row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        cells: &mut Vec<Cell<'a>>,
    ) -> Result<RowEnd, SplitError> {
        self.row(bytes, at, last, cells)
    }

    /// Told that the row given last was looked at only, and comes again.
    fn take_back(&mut self) {}

    /// Told that a bad row was passed over.
    fn skipped_row(&mut self) {}

    /// Told before the first row when rows of the file stand in front of it.
    fn start_in_the_middle(&mut self) {}

    /// Where reading goes on after a row that is wrong at `at`: behind the next line end. `None`: not in these bytes.
    fn resume(&self, bytes: &[u8], at: usize) -> Option<usize> {
        find_any(bytes.get(at..)?, [b'\n']).map(|offset| at + offset + 1)
    }
}

/// What a reader knows of the rows ahead of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header<'a> {
    /// They are not all read yet, or the format is not one that is read from the middle.
    Ahead,
    /// The data has begun; names in the file's order, if the cells go by names.
    Read(Option<&'a [String]>),
}

/// Splits rows whose cells have names, for inference.
pub(crate) trait NamedRows {
    /// Every name and value of the row at `at`.
    fn any_row<'a>(
        &mut self,
        bytes: &'a [u8],
        at: usize,
        last: bool,
        members: &mut Vec<(Cell<'a>, Cell<'a>)>,
    ) -> Result<RowEnd, SplitError>;
}

/// Behind the next line end that no backslash escapes, as ClickHouse goes on in TabSeparated and JSON.
pub(crate) fn resume_unescaped(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += find_any(bytes.get(at..)?, [b'\n', b'\\'])?;
        if bytes[at] == b'\n' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// A row reader fed with bytes.
///
/// The caller passes the bytes it has, learns how many were consumed (whole records only), and passes the rest again
/// in front of what comes next. With `end` set everything is consumed and the last batch is given out.
pub trait RowReader: Send {
    /// Consumes whole records of `bytes` and pushes every batch that is full. Returns the bytes consumed. After an
    /// error the reader must be dropped.
    fn read(
        &mut self,
        bytes: &[u8],
        end: bool,
        out: &mut Vec<arrow::array::RecordBatch>,
    ) -> Result<usize, FormatError>;

    /// What the first rows said, so that the rest can be read by readers that start in the middle.
    fn header(&self) -> Header<'_> {
        Header::Ahead
    }

    /// Rows skipped since the last call, as far as they were kept; see `input_format_allow_errors_num`.
    fn take_rejected(&mut self) -> Vec<RejectedRow> {
        Vec::new()
    }

    /// All rows skipped so far.
    fn rejected(&self) -> u64 {
        0
    }
}
