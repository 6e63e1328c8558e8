//! Rows ahead of the data: lines to skip, names, types.
//!
//! Invariant: a first row is taken for names only when it can be nothing else to this table. Must not know: how cells
//! become values.

use model::ErrorCode;

use super::Reader;
use crate::error::FormatError;
use crate::rows::split::{RowEnd, SplitError, SplitRows};
use crate::values::cell::{Cell, TextForm};
use scan::find::find_any;

/// Rows ahead of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ahead {
    /// Lines to drop.
    Lines(usize),
    Names,
    /// Names if the first row holds nothing but names of columns.
    MaybeNames,
    Types,
    /// Types if every cell is a type's name.
    MaybeTypes,
    Data,
}

impl<S: SplitRows> Reader<S> {
    /// Handles the rows ahead of the data and gives what they used; `ahead` is not `Data` when more bytes are needed.
    pub(super) fn read_header(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        end: bool,
    ) -> Result<usize, FormatError> {
        while self.ahead != Ahead::Data {
            if let Ahead::Lines(lines) = self.ahead {
                let next = match find_any(&bytes[at..], [b'\n']) {
                    Some(offset) => at + offset + 1,
                    None if end => bytes.len(),
                    None => return Ok(at),
                };
                at = next;
                self.ahead = if lines > 1 { Ahead::Lines(lines - 1) } else { self.header };
                continue;
            }
            let mut cells = Vec::new();
            let split = self.rows.header_row(bytes, at, end, &mut cells);
            // What may be data is read, or refused, as data.
            let may_be_data = matches!(self.ahead, Ahead::MaybeNames | Ahead::MaybeTypes);
            let is_csv = self.trailing_delimiter;
            let is_garbled =
                |error: &SplitError| is_csv && error.code == ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED;
            if may_be_data
                && split.as_ref().is_err_and(|error| self.tolerance.is_some() || !is_garbled(error))
            {
                self.ahead = Ahead::Data;
                return Ok(at);
            }
            let split = split.map_err(|mut error| {
                // Where CSV may have names ClickHouse looks for cells before it looks for values.
                if is_garbled(&error) {
                    error.code = ErrorCode::INCORRECT_DATA;
                }
                self.split_error(error, 0)
            });
            match split? {
                RowEnd::Incomplete => return Ok(at),
                RowEnd::Finished(next) => {
                    self.check_end()?;
                    self.ahead = Ahead::Data;
                    at = next;
                }
                RowEnd::Row(next) => {
                    if self.header_row(&cells)? {
                        at = next;
                    } else {
                        self.rows.take_back();
                    }
                }
            }
        }
        Ok(at)
    }

    /// Refuses data that end ahead of rows they must have.
    fn check_end(&self) -> Result<(), FormatError> {
        let (code, what) = match self.ahead {
            Ahead::Names | Ahead::Types if self.is_json => {
                (ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, "expected '[' of the header")
            }
            // One name has the empty line behind it for its type, which nobody looks at where no column has the name.
            Ahead::Types if self.header_cells == 1 => {
                return match self.reading.check_types {
                    true => self.block.check_types(&[String::new()]),
                    false => Ok(()),
                };
            }
            Ahead::Types => (ErrorCode::INCORRECT_DATA, "there are no types for the names of the header"),
            _ => return Ok(()),
        };
        Err(FormatError::new(code, format!("the data end: {what}")))
    }

    /// Takes one header row; false when the row is data.
    fn header_row(&mut self, cells: &[Cell<'_>]) -> Result<bool, FormatError> {
        let mut scratch = Vec::new();
        let mut texts = Vec::with_capacity(cells.len());
        let is_no_text = |cell: &Cell<'_>| cell.form == TextForm::Json && cell.text.first() != Some(&b'"');
        let must_name = matches!(self.ahead, Ahead::Names | Ahead::Types);
        if must_name && (cells.is_empty() || cells.iter().any(is_no_text)) {
            let message = "cannot parse JSON string: expected opening quote of a name or type in the header";
            return Err(FormatError::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message));
        }
        if self.ahead == Ahead::Types && self.header_cells != cells.len() {
            let message = format!("the header has {} types for {} columns", cells.len(), self.header_cells);
            return Err(FormatError::new(ErrorCode::INCORRECT_DATA, message));
        }
        self.header_cells = cells.len();
        for cell in cells {
            texts.push(String::from_utf8_lossy(cell.content(&mut scratch)?).into_owned());
        }
        let is_header = match self.ahead {
            Ahead::MaybeNames => {
                let unique = |(at, text): (usize, &String)| !texts[..at].contains(text);
                texts.iter().all(|text| self.block.has_cell_named(text))
                    && texts.iter().enumerate().all(unique)
            }
            Ahead::MaybeTypes => texts.iter().all(|text| model::type_name::parse(text).is_ok()),
            _ => true,
        };
        self.ahead = match self.ahead {
            Ahead::Names => {
                self.name_cells(&texts)?;
                if self.types_follow { Ahead::Types } else { Ahead::Data }
            }
            Ahead::MaybeNames if is_header => {
                self.name_cells(&texts)?;
                Ahead::MaybeTypes
            }
            Ahead::Types if self.reading.check_types => {
                self.block.check_types(&texts)?;
                Ahead::Data
            }
            _ => Ahead::Data,
        };
        Ok(is_header)
    }

    fn name_cells(&mut self, names: &[String]) -> Result<(), FormatError> {
        if !self.reading.use_names {
            return Ok(());
        }
        self.columns = Some(names.to_vec());
        self.block.map_names(names, self.skip_unknown, self.reading.matching)
    }
}
