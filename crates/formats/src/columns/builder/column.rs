//! What is around the store of a column: its type, its NULLs, and what the settings make of cells without text.
//!
//! Invariant: whoever stores a value counts it as valid. Must not know: how values are read.

use arrow::array::NullBufferBuilder;
use model::{ColumnType, ErrorCode};

use super::refusal::{self, Manner};
use super::{BuilderOptions, bare, unreadable};
use crate::error::{ValueError, excerpt};
use crate::values::cell::{Cell, TextForm};
use scan::number::{self, NumberError};

/// The column around a store.
pub(super) struct Column<'b> {
    pub(super) column_type: &'b ColumnType,
    pub(super) options: &'b BuilderOptions,
    pub(super) nulls: &'b mut Option<NullBufferBuilder>,
    pub(super) scratch: &'b mut Vec<u8>,
    /// Text that most cells are parts of: what lies within need not be checked again.
    pub(super) plain: &'b str,
    /// Rows of the array before.
    pub(super) rows_expected: usize,
}

impl Column<'_> {
    pub(super) fn valid(&mut self) {
        self.all_valid(1);
    }

    pub(super) fn all_valid(&mut self, rows: usize) {
        if let Some(nulls) = self.nulls {
            nulls.append_n_non_nulls(rows);
        }
    }

    /// Handles the forms without text. `Ok(true)` when the default is to be stored for this row.
    pub(super) fn is_default(&mut self, cell: Cell<'_>) -> Result<bool, ValueError> {
        let form = match cell.is_empty_default(self.column_type, self.options.json) {
            true => TextForm::Default,
            false => cell.form,
        };
        match form {
            TextForm::Default | TextForm::Null => match self.nulls {
                Some(nulls) => nulls.append(false),
                None if form == TextForm::Null && !self.options.null_as_default => {
                    let message = format!("NULL does not fit type {}", self.column_type);
                    return Err(ValueError::new(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, message));
                }
                None if form == TextForm::Default
                    && self.options.json.omitted_is_null
                    && !self.options.is_csv =>
                {
                    return Err(refusal::omitted(self.column_type));
                }
                None => {}
            },
            TextForm::Empty if self.has_empty() => self.valid(),
            // Where JSON lacks a value, numbers and days read the digits that are there: none.
            TextForm::Json
                if cell.text.is_empty() && !self.column_type.is_string() && self.has_no_digits() =>
            {
                self.valid();
            }
            // Of a string in JSON a whole number reads the digits that are there.
            TextForm::Json | TextForm::JsonPlain
                if cell.text == b"\"\"" && self.has_empty() && !self.column_type.is_string() =>
            {
                self.valid();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether no digits are zero, as in JSON without quotes.
    fn has_no_digits(&self) -> bool {
        self.has_empty() || matches!(self.column_type.value_type(), ColumnType::Date | ColumnType::Date32)
    }

    /// Whether nothing at all is a value: a float needs a digit.
    fn has_empty(&self) -> bool {
        let is_float = matches!(self.column_type.value_type(), ColumnType::Float32 | ColumnType::Float64);
        let may_be_empty = self.column_type.is_number() && !is_float && self.options.manner != Manner::Whole;
        self.column_type.is_string() || may_be_empty
    }

    /// Whether the value lacks the quotes that its type has in SQL: a bare word there is an expression.
    pub(super) fn check_quotes(&self, cell: Cell<'_>) -> Result<(), ValueError> {
        if cell.form != TextForm::Literal || cell.text.first() == Some(&b'\'') {
            return Ok(());
        }
        let mut inner = self.column_type;
        while let ColumnType::Nullable(within) | ColumnType::LowCardinality(within) = inner {
            inner = within;
        }
        let fits = match inner {
            ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => {
                let digits = cell.text.strip_prefix(b"-").unwrap_or(cell.text);
                digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
            }
            _ if self.options.manner != Manner::Expression => !is_quoted(inner),
            ColumnType::Enum8(_) | ColumnType::Enum16(_) => number::signed::<i16>(cell.text).is_ok(),
            ColumnType::Date | ColumnType::Date32 => bare::are_days(cell),
            other => !is_quoted(other),
        };
        if fits {
            return Ok(());
        }
        let message = format!("{} stands without quotes, for type {}", excerpt(cell.text), self.column_type);
        Err(ValueError::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message))
    }

    /// Stores NULL for a string of SQL that is no value, unless it begins as a time or Decimal does, or is too large.
    pub(super) fn becomes_null(&mut self, cell: Cell<'_>, error: &ValueError) -> bool {
        use ColumnType as T;
        let is_string = cell.form == TextForm::Literal && cell.text.first() == Some(&b'\'');
        let is_empty = !cell.text.iter().any(|byte| byte.is_ascii_digit() || *byte == b'-');
        let may_be_null = match self.column_type.value_type() {
            T::Bool | T::Enum8(_) | T::Enum16(_) => false,
            T::DateTime { .. } | T::DateTime64 { .. } | T::Decimal { .. } => is_empty,
            _ => error.code != ErrorCode::ARGUMENT_OUT_OF_BOUND,
        };
        match self.nulls {
            Some(nulls) if is_string && may_be_null => {
                nulls.append(false);
                true
            }
            _ => false,
        }
    }

    /// The error of a cell with the code that it has in the format.
    pub(super) fn refused(&self, cell: Cell<'_>, error: ValueError) -> ValueError {
        refusal::coded(cell, self.column_type, self.options.manner, error)
    }

    pub(super) fn error(&self, why: NumberError, text: &[u8]) -> ValueError {
        match why {
            NumberError::NotANumber => unreadable(self.column_type, text),
            NumberError::OutOfRange => {
                let message = format!("value {} does not fit type {}", excerpt(text), self.column_type);
                ValueError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message)
            }
        }
    }
}

/// The text of a value where it stands in the input as it is, and its quotes can be told without a search.
#[inline]
pub(super) fn plain_text(cell: Cell<'_>) -> Option<&[u8]> {
    match (cell.form, cell.text) {
        (TextForm::Raw | TextForm::CsvQuoted, text) => Some(text),
        (TextForm::JsonPlain, [_, text @ .., _]) => Some(text),
        // What begins with an `n` is null, or wrong.
        (TextForm::Json, text) if !matches!(text.first(), Some(b'"' | b'n')) => Some(text),
        _ => None,
    }
}

/// Whether SQL writes values of the type in quotes.
fn is_quoted(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    column_type.is_string()
        || column_type.state().is_some()
        || matches!(
            column_type,
            T::Enum8(_) | T::Enum16(_) | T::Uuid | T::Ipv4 | T::Ipv6 | T::Date | T::Date32
        )
}
