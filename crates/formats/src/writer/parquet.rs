//! Parquet files, rows grouped as they come.

use std::sync::Arc;

use ::parquet::arrow::arrow_writer::ArrowWriterOptions;
use ::parquet::arrow::{ArrowWriter, add_encoded_arrow_schema_to_metadata};
use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use model::ErrorCode;

use super::foreign::{self, Layout};
use super::parquet_schema::described;
use super::{Columns, OutputStats, RowWriter};
use crate::error::FormatError;
use crate::settings::FormatSettings;

pub(super) struct ParquetWriter {
    properties: WriterProperties,
    layout: Layout,
    columns: Columns,
    schema: Option<SchemaRef>,
    /// Present between `start` and `finish`; its buffer is emptied after every batch.
    writer: Option<ArrowWriter<Vec<u8>>>,
}

impl ParquetWriter {
    pub(super) fn new(settings: &FormatSettings) -> Result<Self, FormatError> {
        let statistics = match settings.parquet.page_index {
            true => EnabledStatistics::Page,
            false => EnabledStatistics::Chunk,
        };
        let properties = WriterProperties::builder()
            .set_compression(compression(&settings.parquet.compression)?)
            .set_max_row_group_row_count(Some(settings.parquet.row_group_rows.max(1)))
            .set_max_row_group_bytes(Some(settings.parquet.row_group_bytes.max(1)))
            .set_data_page_size_limit(settings.parquet.data_page_bytes.max(1))
            .set_statistics_enabled(statistics)
            .set_bloom_filter_enabled(settings.parquet.bloom_filters)
            // Items of lists and maps have the names that the format gives them.
            .set_coerce_types(true)
            .build();
        let layout = Layout { marked: settings.parquet.string_as_string, fixed: true, parquet: true };
        Ok(Self { properties, layout, columns: Columns::default(), schema: None, writer: None })
    }
}

fn compression(name: &str) -> Result<Compression, FormatError> {
    Ok(match name {
        "none" => Compression::UNCOMPRESSED,
        "snappy" => Compression::SNAPPY,
        // What ClickHouse calls lz4 is the codec without Hadoop's frames.
        "lz4" | "lz4_raw" => Compression::LZ4_RAW,
        "zstd" => Compression::ZSTD(ZstdLevel::default()),
        "gzip" => Compression::GZIP(GzipLevel::default()),
        "brotli" => Compression::BROTLI(BrotliLevel::default()),
        other => {
            let message = format!(
                "output_format_parquet_compression_method is \"{other}\": none, snappy, lz4, lz4_raw, zstd, gzip and \
                 brotli are known"
            );
            return Err(FormatError::new(ErrorCode::BAD_ARGUMENTS, message));
        }
    })
}

/// The schema as readers are told it: how texts lie in memory here is nothing to them, and not all of them know views.
fn without_views(schema: &Schema) -> Schema {
    let fields: Vec<FieldRef> = schema.fields().iter().map(without_view).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn without_view(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(without_view(item)),
        DataType::Map(entries, is_sorted) => DataType::Map(without_view(entries), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_view).collect()),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

fn failed(error: impl std::fmt::Display) -> FormatError {
    FormatError::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, error.to_string())
}

fn not_started() -> FormatError {
    FormatError::new(ErrorCode::LOGICAL_ERROR, "rows come before the columns")
}

impl RowWriter for ParquetWriter {
    fn start(&mut self, schema: &SchemaRef, _: &mut Vec<u8>) -> Result<(), FormatError> {
        self.columns = Columns::of(schema);
        let schema = foreign::schema(&self.columns.names, &self.columns.types, self.layout);
        let mut properties = self.properties.clone();
        add_encoded_arrow_schema_to_metadata(&without_views(&schema), &mut properties);
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let options = match described(&schema, &self.columns.types).map_err(failed)? {
            Some(described) => options.with_parquet_schema(described),
            None => options,
        };
        let writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&schema), options);
        self.schema = Some(schema);
        self.writer = Some(writer.map_err(failed)?);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let writer = self.writer.as_mut().ok_or_else(not_started)?;
        let schema = self.schema.as_ref().ok_or_else(not_started)?;
        self.columns.fits(batch)?;
        let batch = foreign::batch(batch, schema, &self.columns.types, self.layout)?;
        writer.write(&batch).map_err(failed)?;
        out.append(writer.inner_mut());
        Ok(())
    }

    fn finish(&mut self, _: &OutputStats, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let writer = self.writer.take().ok_or_else(not_started)?;
        out.extend(writer.into_inner().map_err(failed)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use arrow::datatypes::{Field, Schema};
    use arrow::util::display::{ArrayFormatter, FormatOptions};
    use model::type_arrow::to_field;
    use model::{ColumnType, type_name};

    use super::*;
    use model::format_kind::FormatKind;

    /// A file of these rows.
    fn file(structure: &str, values: &str) -> Vec<u8> {
        let Ok(ColumnType::Tuple(elements)) = type_name::parse(&format!("Tuple({structure})")) else {
            unreachable!("a tuple was parsed: {structure}")
        };
        let field = |e: &model::TupleElement| to_field(e.name.as_deref().unwrap_or_default(), &e.column_type);
        let schema = Arc::new(Schema::new(elements.iter().map(field).collect::<Vec<Field>>()));
        let settings = FormatSettings::default();
        let mut reader = crate::new_reader(FormatKind::Values, Arc::clone(&schema), &settings).unwrap();
        let mut batches = Vec::new();
        reader.read(values.as_bytes(), true, &mut batches).unwrap();
        let (mut writer, mut out) = (ParquetWriter::new(&settings).unwrap(), Vec::new());
        writer.start(&schema, &mut out).unwrap();
        batches.iter().for_each(|batch| writer.write(batch, &mut out).unwrap());
        writer.finish(&OutputStats::default(), &mut out).unwrap();
        out
    }

    #[test]
    fn parquet_has_the_types_that_other_readers_know() {
        let columns = "t DateTime, z DateTime('Europe/Berlin'), d DateTime64(1), m DateTime64(6, 'UTC'), n DateTime64(9), \
            f FixedString(3), e Enum8('x' = 1, 'y' = 2), o Nullable(Enum16('w' = 300)), a Array(DateTime), k Map(String, Enum8('x' = 1)), \
            u UUID, v Tuple(FixedString(16), Array(Nullable(UUID)))";
        let values = "('2020-01-01 00:00:00', '2020-07-01 12:00:00', '2020-01-01 00:00:00.5', '2020-01-01 00:00:00.000007', \
            '2020-01-01 00:00:00.000000009', 'ab', 'y', NULL, ['1970-01-01 00:00:01'], {'p': 'x'}, \
            '61f0c404-5cb3-11e7-907b-a6006ad3dba0', ('z', [NULL]))";
        let bytes = bytes::Bytes::from(file(columns, values));
        let reader = SerializedFileReader::new(bytes.clone()).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let shown = |at: usize| {
            let column = schema.column(at);
            format!("{} {:?}", column.path().string(), column.logical_type_ref())
        };
        for (at, path, words) in [
            (0, "t", "unit: MILLIS"),
            (1, "z", "unit: MILLIS"),
            (2, "d", "unit: MILLIS"),
            (3, "m", "unit: MICROS"),
            (4, "n", "unit: NANOS"),
            (5, "f", "None"),
            (6, "e", "String"),
            (7, "o", "String"),
            (8, "a.list.element", "unit: MILLIS"),
            (9, "k.key_value.key", "String"),
            (10, "k.key_value.value", "String"),
            (11, "u", "Uuid"),
            (12, "v.1", "None"),
            (13, "v.2.list.element", "Uuid"),
        ] {
            let shown = shown(at);
            assert!(shown.starts_with(path) && shown.contains(words), "{shown}");
            assert!(!words.starts_with("unit") || shown.contains("is_adjusted_to_u_t_c: true"), "{shown}");
        }
        let read = ParquetRecordBatchReader::try_new(bytes, 100).unwrap();
        let read: Vec<RecordBatch> = read.map(Result::unwrap).collect();
        let options = FormatOptions::default().with_null("NULL");
        let shown: Vec<String> = read[0]
            .columns()
            .iter()
            .take(10)
            .map(|column| {
                let column = ArrayFormatter::try_new(column, &options).unwrap();
                column.value(0).to_string()
            })
            .collect();
        assert_eq!(
            shown.join(" "),
            "2020-01-01T00:00:00Z 2020-07-01T10:00:00Z 2020-01-01T00:00:00.500Z 2020-01-01T00:00:00.000007Z \
             2020-01-01T00:00:00.000000009Z 616200 y NULL [1970-01-01T00:00:01Z] {p: x}"
        );
    }
}
