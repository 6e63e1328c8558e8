//! Rows on their way from one server to another: a stream of Arrow's, in pieces that fit a message.
//!
//! Invariant: rows, types and what fields say of themselves arrive as they were; who sends waits while nobody takes. Must not know: what the rows are.

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::messages::Report;

/// A batch may be larger, and so may one row of it.
const PIECE_BYTES: usize = 1 << 20;

/// Where a server puts rows that another one asked for.
#[derive(Debug)]
pub struct RowSender {
    rows: mpsc::Sender<Report>,
}

impl RowSender {
    pub(crate) fn new(rows: mpsc::Sender<Report>) -> RowSender {
        RowSender { rows }
    }

    /// Whether anybody waits for more.
    pub async fn send(&self, bytes: Vec<u8>) -> bool {
        let mut rest = Bytes::from(bytes);
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE_BYTES));
            if self.rows.send(Report::Rows(piece)).await.is_err() {
                return false;
            }
        }
        true
    }
}

/// Batches into bytes.
pub struct RowWriter {
    stream: StreamWriter<Vec<u8>>,
}

impl RowWriter {
    /// # Errors
    /// Rows of this kind cannot be sent.
    pub fn new(schema: &Schema) -> Result<RowWriter, ArrowError> {
        let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
        Ok(RowWriter { stream: StreamWriter::try_new_with_options(Vec::new(), schema, options)? })
    }

    /// The bytes of the next rows, with all that was not given out before.
    ///
    /// # Errors
    /// The batch cannot be encoded.
    pub fn rows(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        self.stream.write(batch)?;
        Ok(std::mem::take(self.stream.get_mut()))
    }

    /// The end of the stream.
    ///
    /// # Errors
    /// As of [`Self::rows`].
    pub fn end(mut self) -> Result<Vec<u8>, ArrowError> {
        self.stream.finish()?;
        Ok(std::mem::take(self.stream.get_mut()))
    }
}

impl std::fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RowWriter")
    }
}

/// Bytes into batches.
#[derive(Debug, Default)]
pub struct RowReceiver {
    stream: StreamDecoder,
}

impl RowReceiver {
    /// What is whole by now.
    ///
    /// # Errors
    /// The bytes are no stream of Arrow's.
    pub fn take(&mut self, bytes: Bytes) -> Result<Vec<RecordBatch>, ArrowError> {
        let (mut buffer, mut batches) = (Buffer::from(bytes), Vec::new());
        while let Some(batch) = self.stream.decode(&mut buffer)? {
            batches.push(batch);
        }
        Ok(batches)
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// The stream has not ended.
    pub fn end(&mut self) -> Result<(), ArrowError> {
        self.stream.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringViewArray};
    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn batch(rows: i64, text: usize) -> RecordBatch {
        let metadata = HashMap::from([("type".to_owned(), "ours".to_owned())]);
        let fields = vec![
            Field::new("n", DataType::Int64, false).with_metadata(metadata),
            Field::new("s", DataType::Utf8View, true),
        ];
        let texts: StringViewArray = (0..rows).map(|n| Some(format!("{n}").repeat(text))).collect();
        let numbers = Int64Array::from_iter_values(0..rows);
        RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
    }

    #[test]
    fn rows_arrive_as_they_were_however_their_bytes_are_cut() {
        for piece in [1, 7, 1 << 20] {
            let sent = [batch(3, 2), batch(0, 1), batch(1000, 40)];
            let mut writer = RowWriter::new(&sent[0].schema()).unwrap();
            let mut bytes = Vec::new();
            for batch in &sent {
                bytes.extend(writer.rows(batch).unwrap());
            }
            bytes.extend(writer.end().unwrap());
            let mut receiver = RowReceiver::default();
            let mut heard = Vec::new();
            for piece in bytes.chunks(piece) {
                heard.extend(receiver.take(Bytes::copy_from_slice(piece)).unwrap());
            }
            receiver.end().unwrap();
            assert_eq!(heard, sent);
            assert_eq!(heard[0].schema(), sent[0].schema());
        }
    }

    #[test]
    fn a_stream_that_is_cut_has_not_ended() {
        let mut writer = RowWriter::new(&batch(1, 1).schema()).unwrap();
        let bytes = writer.rows(&batch(100, 10)).unwrap();
        let mut receiver = RowReceiver::default();
        assert!(receiver.take(Bytes::from(bytes[..bytes.len() - 9].to_vec())).unwrap().is_empty());
        assert!(receiver.end().is_err());
    }
}
