//! Column chunks of Parquet files in the words of those who decide about them (`load`) and of those who copy them (`parts`).
//!
//! Pure. Invariant: a meaning that is not known here is `Other`, which is never copied. Must not know: which columns are wanted,
//! where chunks come from.

use bytes::Bytes;
use load::adoption::{StoredCodec, StoredColumn, StoredMeaning, StoredType, TimeTick};
use parquet::basic::{Compression, ConvertedType, LogicalType, PageType, TimeUnit, Type};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescriptor;
use parts::{CopiedChunk, CopiedPage};
use sources::VerifiedChunk;

/// What the footer says of a chunk.
pub(crate) fn stored_column(chunk: &ColumnChunkMetaData) -> StoredColumn {
    let leaf = chunk.column_descr();
    let is_nested = leaf.max_rep_level() > 0 || leaf.max_def_level() > 1 || leaf.path().parts().len() != 1;
    let pages = chunk.page_encoding_stats();
    let bytes = |size: i64| u64::try_from(size).unwrap_or(0);
    StoredColumn {
        physical: stored_type(leaf),
        meaning: meaning(leaf),
        is_nested,
        is_optional: leaf.max_def_level() > 0,
        codec: stored_codec(chunk.compression()),
        has_pages_v2: pages.is_some_and(|all| all.iter().any(|of| of.page_type == PageType::DATA_PAGE_V2)),
        compressed_bytes: bytes(chunk.compressed_size()),
        decoded_bytes: bytes(chunk.uncompressed_size()),
        nulls: chunk.statistics().and_then(|statistics| statistics.null_count_opt()),
    }
}

/// A chunk that was looked at, for the part that gets it.
pub(crate) fn copied_chunk(
    chunk: &ColumnChunkMetaData,
    bytes: Bytes,
    verified: VerifiedChunk,
) -> CopiedChunk {
    let pages = verified.pages.into_iter().map(|page| CopiedPage {
        is_dictionary: page.is_dictionary,
        content: page.content,
        decoded_bytes: page.decoded_bytes,
        values: page.values,
        encoding: page.encoding,
        crc: page.crc,
    });
    CopiedChunk {
        bytes,
        pages: pages.collect(),
        layout: chunk.column_type(),
        compression: chunk.compression(),
        is_optional: chunk.column_descr().max_def_level() > 0,
        nulls: verified.nulls,
        has_nan: verified.has_nan,
        bounds: verified.least.zip(verified.greatest),
        value_bytes: verified.value_bytes,
    }
}

fn stored_type(leaf: &ColumnDescriptor) -> StoredType {
    match leaf.physical_type() {
        Type::BOOLEAN => StoredType::Boolean,
        Type::INT32 => StoredType::Int32,
        Type::INT64 => StoredType::Int64,
        Type::INT96 => StoredType::Int96,
        Type::FLOAT => StoredType::Float,
        Type::DOUBLE => StoredType::Double,
        Type::BYTE_ARRAY => StoredType::Bytes,
        Type::FIXED_LEN_BYTE_ARRAY => StoredType::FixedBytes(u32::try_from(leaf.type_length()).unwrap_or(0)),
    }
}

fn stored_codec(compression: Compression) -> StoredCodec {
    match compression {
        Compression::UNCOMPRESSED => StoredCodec::None,
        Compression::SNAPPY => StoredCodec::Snappy,
        Compression::LZ4_RAW => StoredCodec::Lz4Raw,
        Compression::ZSTD(_) => StoredCodec::Zstd,
        _ => StoredCodec::Other,
    }
}

fn meaning(leaf: &ColumnDescriptor) -> StoredMeaning {
    match leaf.logical_type_ref() {
        Some(logical) => logical_meaning(logical),
        None => converted_meaning(leaf),
    }
}

fn logical_meaning(logical: &LogicalType) -> StoredMeaning {
    match logical {
        LogicalType::String => StoredMeaning::Text,
        LogicalType::Date => StoredMeaning::Date,
        LogicalType::Uuid => StoredMeaning::Uuid,
        LogicalType::Integer(integer) => u8::try_from(integer.bit_width)
            .map_or(StoredMeaning::Other, |bits| StoredMeaning::Integer { bits, signed: integer.is_signed }),
        LogicalType::Decimal(decimal) => digits(decimal.precision, decimal.scale),
        LogicalType::Timestamp(time) => StoredMeaning::Timestamp(match time.unit {
            TimeUnit::MILLIS => TimeTick::Milliseconds,
            TimeUnit::MICROS => TimeTick::Microseconds,
            TimeUnit::NANOS => TimeTick::Nanoseconds,
        }),
        _ => StoredMeaning::Other,
    }
}

/// Older writers say it in one word.
fn converted_meaning(leaf: &ColumnDescriptor) -> StoredMeaning {
    let integer = |bits: u8, signed: bool| StoredMeaning::Integer { bits, signed };
    match leaf.converted_type() {
        ConvertedType::NONE => StoredMeaning::Plain,
        ConvertedType::UTF8 => StoredMeaning::Text,
        ConvertedType::DATE => StoredMeaning::Date,
        ConvertedType::TIMESTAMP_MILLIS => StoredMeaning::Timestamp(TimeTick::Milliseconds),
        ConvertedType::TIMESTAMP_MICROS => StoredMeaning::Timestamp(TimeTick::Microseconds),
        ConvertedType::DECIMAL => digits(leaf.type_precision(), leaf.type_scale()),
        ConvertedType::UINT_8 => integer(8, false),
        ConvertedType::UINT_16 => integer(16, false),
        ConvertedType::UINT_32 => integer(32, false),
        ConvertedType::UINT_64 => integer(64, false),
        ConvertedType::INT_8 => integer(8, true),
        ConvertedType::INT_16 => integer(16, true),
        ConvertedType::INT_32 => integer(32, true),
        ConvertedType::INT_64 => integer(64, true),
        _ => StoredMeaning::Other,
    }
}

fn digits(precision: i32, scale: i32) -> StoredMeaning {
    match (u32::try_from(precision), u32::try_from(scale)) {
        (Ok(precision), Ok(scale)) => StoredMeaning::Decimal { precision, scale },
        _ => StoredMeaning::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use model::Value;
    use parquet::file::metadata::{ColumnChunkMetaDataBuilder, RowGroupMetaData};
    use parquet::file::statistics::Statistics;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    /// The first chunk of a file whose columns are these.
    fn chunk(
        columns: &str,
        with: fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
    ) -> ColumnChunkMetaData {
        let message = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(message)));
        let chunk = ColumnChunkMetaData::builder(schema.column(0));
        let chunk =
            with(chunk.set_total_compressed_size(10).set_total_uncompressed_size(20)).build().unwrap();
        let group = RowGroupMetaData::builder(schema).set_column_metadata(vec![chunk]).build().unwrap();
        group.column(0).clone()
    }

    #[test]
    fn every_meaning_has_its_word() {
        use StoredMeaning::{Date, Decimal, Integer, Other, Plain, Text, Timestamp, Uuid};
        use StoredType::{Boolean, Bytes, Double, FixedBytes, Float, Int32, Int64, Int96};
        let integer = |bits, signed| Integer { bits, signed };
        for (column, physical, meaning) in [
            ("REQUIRED BOOLEAN c;", Boolean, Plain),
            ("REQUIRED INT32 c;", Int32, Plain),
            ("REQUIRED INT32 c (INTEGER(8,false));", Int32, integer(8, false)),
            ("REQUIRED INT32 c (UINT_16);", Int32, integer(16, false)),
            ("REQUIRED INT64 c (INTEGER(64,true));", Int64, integer(64, true)),
            ("REQUIRED INT32 c (DATE);", Int32, Date),
            ("REQUIRED INT64 c (TIMESTAMP(MILLIS,true));", Int64, Timestamp(TimeTick::Milliseconds)),
            ("REQUIRED INT64 c (TIMESTAMP(MICROS,false));", Int64, Timestamp(TimeTick::Microseconds)),
            ("REQUIRED INT64 c (TIMESTAMP(NANOS,true));", Int64, Timestamp(TimeTick::Nanoseconds)),
            ("REQUIRED INT64 c (TIMESTAMP_MILLIS);", Int64, Timestamp(TimeTick::Milliseconds)),
            ("REQUIRED INT64 c (TIME(MICROS,true));", Int64, Other),
            ("REQUIRED INT64 c (DECIMAL(12,4));", Int64, Decimal { precision: 12, scale: 4 }),
            ("REQUIRED INT96 c;", Int96, Plain),
            ("REQUIRED FLOAT c;", Float, Plain),
            ("REQUIRED DOUBLE c;", Double, Plain),
            ("REQUIRED BINARY c;", Bytes, Plain),
            ("REQUIRED BINARY c (UTF8);", Bytes, Text),
            ("REQUIRED BINARY c (STRING);", Bytes, Text),
            ("REQUIRED BINARY c (JSON);", Bytes, Other),
            ("REQUIRED BINARY c (ENUM);", Bytes, Other),
            ("REQUIRED FIXED_LEN_BYTE_ARRAY (16) c (UUID);", FixedBytes(16), Uuid),
            ("REQUIRED FIXED_LEN_BYTE_ARRAY (3) c;", FixedBytes(3), Plain),
        ] {
            let found = stored_column(&chunk(column, |builder| builder));
            assert_eq!((found.physical, found.meaning), (physical, meaning), "{column}");
            assert!(!found.is_nested && !found.is_optional && !found.has_pages_v2, "{column}");
        }
    }

    #[test]
    fn the_rest_of_a_chunk_is_told() {
        let found = stored_column(&chunk("OPTIONAL INT64 c;", |builder| {
            let lies = Statistics::int64(Some(1), Some(2), None, Some(7), false);
            builder.set_compression(Compression::SNAPPY).set_statistics(lies)
        }));
        assert_eq!((found.is_optional, found.codec, found.nulls), (true, StoredCodec::Snappy, Some(7)));
        assert_eq!((found.compressed_bytes, found.decoded_bytes), (10, 20));
        let nested = stored_column(&chunk("OPTIONAL GROUP c { OPTIONAL INT64 d; }", |builder| {
            builder.set_compression(Compression::LZ4)
        }));
        assert_eq!((nested.is_nested, nested.codec), (true, StoredCodec::Other));
    }

    #[test]
    fn what_was_found_goes_along() {
        let page = sources::StoredPage {
            is_dictionary: false,
            content: 4..9,
            decoded_bytes: 8,
            values: 3,
            encoding: 5,
            crc: Some(1),
        };
        let verified = VerifiedChunk {
            pages: vec![page],
            rows: 3,
            nulls: 2,
            has_nan: false,
            least: Some(Value::Int(1)),
            greatest: Some(Value::Int(1)),
            has_raw_bytes: false,
            value_bytes: 24,
            largest_page_bytes: 8,
            kept: Vec::new(),
        };
        let copied = copied_chunk(
            &chunk("OPTIONAL INT64 c;", |builder| builder),
            Bytes::from_static(b"123456789"),
            verified,
        );
        assert_eq!((copied.layout, copied.is_optional, copied.nulls), (Type::INT64, true, 2));
        assert_eq!(copied.bounds, Some((Value::Int(1), Value::Int(1))));
        let [page] = copied.pages.as_slice() else { panic!("{:?}", copied.pages) };
        assert_eq!((page.content.clone(), page.values, page.encoding, page.crc), (4..9, 3, 5, Some(1)));
    }
}
