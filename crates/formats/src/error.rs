//! What can go wrong between bytes and rows.
//!
//! Invariant: an error names the row (from 1), the column and the byte position of the input as far as they are known,
//! and carries the code ClickHouse's clients expect.

use std::fmt;

/// ClickHouse's error codes used here.
pub mod code {
    pub const CANNOT_PARSE_TEXT: u32 = 6;
    pub const TYPE_MISMATCH: u32 = 53;
    pub const CANNOT_PARSE_ESCAPE_SEQUENCE: u32 = 25;
    pub const CANNOT_PARSE_QUOTED_STRING: u32 = 26;
    pub const CANNOT_PARSE_INPUT_ASSERTION_FAILED: u32 = 27;
    pub const CANNOT_PARSE_DATE: u32 = 38;
    pub const CANNOT_PARSE_DATETIME: u32 = 41;
    pub const ATTEMPT_TO_READ_AFTER_EOF: u32 = 32;
    pub const TOO_DEEP_RECURSION: u32 = 306;
    pub const CANNOT_READ_ALL_DATA: u32 = 33;
    pub const BAD_ARGUMENTS: u32 = 36;
    pub const LOGICAL_ERROR: u32 = 49;
    pub const ARGUMENT_OUT_OF_BOUND: u32 = 69;
    pub const CANNOT_PARSE_NUMBER: u32 = 72;
    pub const UNKNOWN_FORMAT: u32 = 73;
    pub const CANNOT_WRITE: u32 = 75;
    pub const FORMAT_IS_NOT_SUITABLE_FOR_INPUT: u32 = 126;
    pub const FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT: u32 = 399;
    pub const INCORRECT_DATA: u32 = 117;
    pub const TOO_LARGE_ARRAY_SIZE: u32 = 128;
    pub const UNKNOWN_TYPE: u32 = 50;
    pub const CANNOT_READ_ARRAY_FROM_TEXT: u32 = 130;
    pub const TOO_LARGE_STRING_SIZE: u32 = 131;
    pub const CANNOT_PARSE_UUID: u32 = 376;
    pub const CANNOT_PARSE_IPV4: u32 = 675;
    pub const CANNOT_PARSE_IPV6: u32 = 676;
    pub const VALUE_IS_OUT_OF_RANGE: u32 = 321;
    pub const CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN: u32 = 349;
    pub const CANNOT_PARSE_BOOL: u32 = 467;
    pub const CANNOT_EXTRACT_TABLE_STRUCTURE: u32 = 636;
    pub const UNKNOWN_ELEMENT_OF_ENUM: u32 = 691;
}

/// A value that could not be read, without its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError {
    pub code: u32,
    pub message: String,
}

impl ValueError {
    pub fn new(code: u32, message: impl Into<String>) -> Self {
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
    /// ClickHouse's number.
    pub code: u32,
    /// Row of the input, from 1, header rows not counted.
    pub row: Option<u64>,
    pub column: Option<String>,
    /// Bytes from the first byte ever given to the reader.
    pub position: Option<u64>,
    pub message: String,
}

impl FormatError {
    pub fn new(code: u32, message: impl Into<String>) -> Self {
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
        let error = FormatError::new(27, "cannot read \"x\"").at_row(3).in_column("a").at_position(17);
        assert_eq!(error.to_string(), "cannot read \"x\" (at row 3, column \"a\", byte 17)");
        assert_eq!(FormatError::new(27, "cut").to_string(), "cut");
    }
}
