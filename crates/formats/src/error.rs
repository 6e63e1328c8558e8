//! What can go wrong between bytes and rows.
//!
//! Invariant: an error names the row (from 1), the column and the byte position of the input as far as they are known,
//! and carries the code ClickHouse's clients expect.

use std::fmt;

use model::ErrorCode;

/// A value that could not be read, without its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    pub code: ErrorCode,
    pub message: String,
}

impl ValueError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValueError {}

/// A failure of reading or writing a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    pub code: ErrorCode,
    /// Row of the input, from 1, header rows not counted.
    pub row: Option<u64>,
    pub column: Option<String>,
    /// Bytes from the first byte ever given to the reader.
    pub position: Option<u64>,
    pub message: String,
}

impl FormatError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, row: None, column: None, position: None, message: message.into() }
    }

    #[must_use]
    pub fn at_row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    #[must_use]
    pub fn at_position(mut self, position: u64) -> Self {
        self.position = Some(position);
        self
    }
}

impl From<ValueError> for FormatError {
    fn from(error: ValueError) -> Self {
        Self::new(error.code, error.message)
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut separator = " (at ";
        if let Some(row) = self.row {
            write!(f, "{separator}row {row}")?;
            separator = ", ";
        }
        if let Some(column) = &self.column {
            write!(f, "{separator}column \"{column}\"")?;
            separator = ", ";
        }
        if let Some(position) = self.position {
            write!(f, "{separator}byte {position}")?;
            separator = ", ";
        }
        if separator == ", " { f.write_str(")") } else { Ok(()) }
    }
}

impl std::error::Error for FormatError {}

/// Longest excerpt of input shown in a message, in bytes.
const EXCERPT_BYTES_MAX: usize = 120;

/// The start of `bytes`, printable, for messages.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(EXCERPT_BYTES_MAX)];
    let mut text: String = String::from_utf8_lossy(cut).chars().flat_map(char::escape_debug).collect();
    if cut.len() < bytes.len() {
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_their_place() {
        let wrong = |message| FormatError::new(ErrorCode::INCORRECT_DATA, message);
        let error = wrong("cannot read \"x\"").at_row(3).in_column("a").at_position(17);
        assert_eq!(error.to_string(), "cannot read \"x\" (at row 3, column \"a\", byte 17)");
        assert_eq!(wrong("cut").to_string(), "cut");
    }
}
