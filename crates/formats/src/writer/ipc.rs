//! Arrow as a file and as a stream.
//!
//! Invariant: a batch given is a record batch of the file; layouts are those of `foreign`.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use model::ErrorCode;

use super::foreign::{self, Layout};
use super::{Columns, OutputStats, RowWriter};
use crate::error::FormatError;
use crate::settings::FormatSettings;
use model::format_kind::FormatKind;

enum Sink {
    File(Box<FileWriter<Vec<u8>>>),
    Stream(Box<StreamWriter<Vec<u8>>>),
}

pub(super) struct ArrowWriter {
    kind: FormatKind,
    layout: Layout,
    compression: Option<CompressionType>,
    columns: Columns,
    schema: Option<SchemaRef>,
    /// Present between `start` and `finish`; its buffer is emptied after every batch.
    sink: Option<Sink>,
}

fn failed(error: &ArrowError) -> FormatError {
    FormatError::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, error.to_string())
}

fn not_started() -> FormatError {
    FormatError::new(ErrorCode::LOGICAL_ERROR, "rows come before the columns")
}

impl ArrowWriter {
    pub(super) fn new(kind: FormatKind, settings: &FormatSettings) -> Result<Self, FormatError> {
        let compression = match settings.arrow_compression.as_str() {
            "none" => None,
            "lz4_frame" => Some(CompressionType::LZ4_FRAME),
            "zstd" => Some(CompressionType::ZSTD),
            other => {
                let message = format!(
                    "output_format_arrow_compression_method is \"{other}\": none, lz4_frame and zstd are known"
                );
                return Err(FormatError::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        };
        let layout = Layout {
            marked: settings.arrow_string_as_string,
            fixed: settings.arrow_fixed_string_as_bytes,
            parquet: false,
        };
        Ok(Self { kind, layout, compression, columns: Columns::default(), schema: None, sink: None })
    }

    fn drain(&mut self, out: &mut Vec<u8>) {
        match &mut self.sink {
            Some(Sink::File(writer)) => out.append(writer.get_mut()),
            Some(Sink::Stream(writer)) => out.append(writer.get_mut()),
            None => {}
        }
    }
}

impl RowWriter for ArrowWriter {
    fn start(&mut self, schema: &SchemaRef, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        let schema = foreign::schema(&self.columns.names, &self.columns.types, self.layout);
        let options = IpcWriteOptions::default().try_with_compression(self.compression);
        let options = options.map_err(|error| failed(&error))?;
        let sink = match self.kind {
            FormatKind::Arrow => FileWriter::try_new_with_options(Vec::new(), &schema, options)
                .map(|writer| Sink::File(Box::new(writer))),
            _ => StreamWriter::try_new_with_options(Vec::new(), &schema, options)
                .map(|writer| Sink::Stream(Box::new(writer))),
        };
        self.sink = Some(sink.map_err(|error| failed(&error))?);
        self.schema = Some(schema);
        self.drain(out);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns.fits(batch)?;
        let schema = self.schema.as_ref().ok_or_else(not_started)?;
        let batch = foreign::batch(batch, schema, &self.columns.types, self.layout)?;
        let written = match self.sink.as_mut().ok_or_else(not_started)? {
            Sink::File(writer) => writer.write(&batch),
            Sink::Stream(writer) => writer.write(&batch),
        };
        written.map_err(|error| failed(&error))?;
        self.drain(out);
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let rest = match self.sink.take().ok_or_else(not_started)? {
            Sink::File(writer) => writer.into_inner(),
            Sink::Stream(writer) => writer.into_inner(),
        };
        out.extend(rest.map_err(|error| failed(&error))?);
        Ok(())
    }
}
