//! Formats that are one row: One, whose row has nothing of the file, and RawBLOB, whose row is the file.
//!
//! Invariant: one row a file, but none where RawBLOB has no bytes. Must not know: files.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, RecordBatch, UInt8Array};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::columns::fit::Wanted;
use crate::error::FormatError;
use crate::rows::split::RowReader;
use model::format_kind::FormatKind;

/// The column such a file has.
pub(crate) fn column(kind: FormatKind) -> (String, ColumnType) {
    match kind {
        FormatKind::One => ("dummy".to_owned(), ColumnType::UInt8),
        _ => ("raw_blob".to_owned(), ColumnType::String),
    }
}

pub(crate) struct WholeReader {
    wanted: Wanted,
    done: bool,
}

impl WholeReader {
    pub(crate) fn new(wanted: Wanted) -> Result<Self, FormatError> {
        if wanted.kind == FormatKind::RawBlob && wanted.file_schema.fields().len() != 1 {
            let columns = wanted.file_schema.fields().len();
            let message = format!("RawBLOB is one column, {columns} are asked for");
            return Err(FormatError::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(Self { wanted, done: false })
    }
}

impl RowReader for WholeReader {
    fn read(&mut self, bytes: &[u8], end: bool, out: &mut Vec<RecordBatch>) -> Result<usize, FormatError> {
        let is_one = self.wanted.kind == FormatKind::One;
        if end && !self.done && (is_one || !bytes.is_empty()) {
            self.done = true;
            let limit = self.wanted.settings.binary_text_bytes_max;
            if !is_one && u64_of(bytes.len()) > limit {
                let message = format!(
                    "a RawBLOB of {} bytes is longer than format_binary_max_string_size allows, {limit}",
                    bytes.len()
                );
                return Err(FormatError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
            }
            let (array, column_type): (ArrayRef, _) = match is_one {
                true => (Arc::new(UInt8Array::from(vec![0])), ColumnType::UInt8),
                false => (Arc::new(BinaryViewArray::from(vec![bytes])), ColumnType::String),
            };
            out.push(self.wanted.by_place(vec![column_type]).batch(&[Some(array)], 1)?);
        }
        Ok(if end || is_one { bytes.len() } else { 0 })
    }
}
