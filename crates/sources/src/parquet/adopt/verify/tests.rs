//! Files of the Parquet library, sound, lying and damaged.

use super::*;

use arrow::array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray, TimestampMillisecondArray, UInt8Array,
};
use arrow::compute::{cast, concat};
use arrow::datatypes::Int32Type;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::statistics::Statistics;

const PAGE_BYTES_MAX: u64 = 8 << 20;
const ROWS: usize = 3000;

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_data_page_row_count_limit(700).set_write_batch_size(100)
}

/// A file of one column.
fn file(values: &ArrayRef, is_nullable: bool, properties: WriterPropertiesBuilder) -> Bytes {
    let batch = RecordBatch::try_from_iter_with_nullable([("c", Arc::clone(values), is_nullable)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    Bytes::from(writer.into_inner().unwrap())
}

fn footer(file: &Bytes) -> ParquetMetaData {
    ParquetMetaDataReader::new().parse_and_finish(file).unwrap()
}

fn place(footer: &ParquetMetaData) -> std::ops::Range<usize> {
    let (begin, length) = footer.row_group(0).column(0).byte_range();
    usize::try_from(begin).unwrap()..usize::try_from(begin + length).unwrap()
}

fn wanted(keeps_values: bool) -> ChunkWanted {
    ChunkWanted { leaf: 0, keeps_values, page_bytes_max: PAGE_BYTES_MAX }
}

fn verify(footer: &ParquetMetaData, file: &Bytes, wanted: ChunkWanted) -> Result<Verified> {
    let place = place(footer);
    let begin = u64_of(place.start);
    Verifier::new(footer, "f.parquet", 0)?.verify(wanted, begin, &file.slice(place))
}

fn chunk(footer: &ParquetMetaData, file: &Bytes, wanted: ChunkWanted) -> VerifiedChunk {
    match verify(footer, file, wanted).unwrap() {
        Verified::Chunk(chunk) => *chunk,
        Verified::Unfit(why) => panic!("{why:?}"),
    }
}

fn joined(kept: &[ArrayRef]) -> ArrayRef {
    let kept: Vec<&dyn Array> = kept.iter().map(AsRef::as_ref).collect();
    concat(&kept).unwrap()
}

/// A number for each row, in no order.
fn number(row: usize) -> i64 {
    i64::try_from(row * 7919 % 1009).unwrap()
}

/// Every seventh row is NULL if `with_nulls`.
fn columns(with_nulls: bool) -> Vec<ArrayRef> {
    let some = |row: usize| (!with_nulls || !row.is_multiple_of(7)).then(|| number(row));
    let numbers = || (0..ROWS).map(some);
    let narrow = |number: i64| i32::try_from(number).unwrap();
    let decimals: Decimal128Array = numbers().map(|number| number.map(i128::from)).collect();
    vec![
        Arc::new(numbers().collect::<Int64Array>()),
        Arc::new(numbers().map(|number| number.map(narrow)).collect::<Int32Array>()),
        Arc::new(
            numbers().map(|number| number.map(|n| u8::try_from(n % 256).unwrap())).collect::<UInt8Array>(),
        ),
        Arc::new(
            numbers().map(|number| number.map(|n| f64::from(narrow(n)) / 8.0)).collect::<Float64Array>(),
        ),
        Arc::new(numbers().map(|number| number.map(|n| n % 2 == 0)).collect::<BooleanArray>()),
        Arc::new(numbers().map(|number| number.map(narrow)).collect::<Date32Array>()),
        Arc::new(numbers().collect::<TimestampMillisecondArray>().with_timezone("UTC")),
        Arc::new(decimals.with_precision_and_scale(9, 2).unwrap()),
        Arc::new(
            numbers()
                .map(|number| number.map(|n| format!("text number {n} of some")))
                .collect::<StringArray>(),
        ),
    ]
}

#[test]
fn what_is_found_is_what_is_there() {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::try_new(1).unwrap()),
    ];
    for with_nulls in [false, true] {
        for values in columns(with_nulls) {
            for (codec, has_dictionary) in
                codecs.into_iter().flat_map(|codec| [(codec, false), (codec, true)])
            {
                let properties = properties().set_compression(codec).set_dictionary_enabled(has_dictionary);
                let file = file(&values, with_nulls, properties);
                let footer = footer(&file);
                let found = chunk(&footer, &file, wanted(true));
                let what = format!("{} {codec:?} {has_dictionary} {with_nulls}", values.data_type());
                let kept = joined(&found.kept);
                assert_eq!(&cast(&kept, values.data_type()).unwrap(), &values, "{what}");
                assert_eq!((found.rows, found.nulls), (u64_of(ROWS), u64_of(values.null_count())), "{what}");
                assert_eq!(found.least.zip(found.greatest), extremes(&kept), "{what}");
                assert!(!found.has_nan && !found.has_raw_bytes, "{what}");
                assert!(found.pages.len() > 4, "{what}");
                let is_boolean = *values.data_type() == DataType::Boolean;
                assert_eq!(found.pages[0].is_dictionary, has_dictionary && !is_boolean, "{what}");
                assert_eq!(found.pages.last().unwrap().content.end, place(&footer).len(), "{what}");
            }
        }
    }
}

#[test]
fn texts_have_bounds_only_where_they_are_kept() {
    let values = columns(false).pop().unwrap();
    let file = file(&values, false, properties());
    let found = chunk(&footer(&file), &file, wanted(false));
    assert_eq!((found.least, found.greatest, found.kept.len()), (None, None, 0));
    assert!(found.value_bytes > u64_of(ROWS) * 16);
}

#[test]
fn statistics_of_the_file_are_not_believed() {
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(5), None, Some(3)]));
    let file = file(&values, true, properties());
    let footer = footer(&file);
    let group = footer.row_group(0);
    let lie = Statistics::int64(Some(1000), Some(2000), None, Some(0), false);
    let column = group.column(0).clone().into_builder().set_statistics(lie).build().unwrap();
    let group = group.clone().into_builder().set_column_metadata(vec![column]).build().unwrap();
    let lying = ParquetMetaData::new(footer.file_metadata().clone(), vec![group]);
    let found = chunk(&lying, &file, wanted(false));
    assert_eq!(found.nulls, 1);
    assert_eq!((found.least, found.greatest), (Some(Value::Int(3)), Some(Value::Int(5))));
}

#[test]
fn nan_and_nothing_but_nulls_have_no_bounds() {
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN]));
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None, None]));
    for (values, has_nan) in [(nan, true), (nulls, false)] {
        let file = file(&values, true, properties());
        let found = chunk(&footer(&file), &file, wanted(true));
        assert_eq!((found.least, found.greatest, found.has_nan), (None, None, has_nan));
    }
}

#[test]
fn bytes_are_text_if_they_are_utf8() {
    let carried = "\u{10FEFF}".as_bytes();
    for (bytes, is_raw) in [(&b"plain"[..], false), ("ж".as_bytes(), false), (&[0xff], true), (carried, true)]
    {
        let values: ArrayRef = Arc::new(BinaryArray::from(vec![Some(&b"a"[..]), Some(bytes)]));
        let file = file(&values, true, properties());
        let found = chunk(&footer(&file), &file, wanted(true));
        assert_eq!((found.has_raw_bytes, found.kept.len()), (is_raw, usize::from(!is_raw)), "{bytes:?}");
        assert_eq!(found.greatest.is_some(), !is_raw, "{bytes:?}");
    }
}

#[test]
fn pages_that_no_part_has_are_told() {
    let values = columns(false).remove(0);
    let version2 = properties().set_writer_version(WriterVersion::PARQUET_2_0);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None]);
    let lists: ArrayRef = Arc::new(lists);
    let small = ChunkWanted { page_bytes_max: 100, ..wanted(false) };
    for (file, wanted, why) in [
        (file(&values, false, version2), wanted(false), UnfitPages::Version2),
        (file(&lists, true, properties()), wanted(false), UnfitPages::Layout),
        (file(&values, false, properties()), small, UnfitPages::TooLarge),
    ] {
        match verify(&footer(&file), &file, wanted).unwrap() {
            Verified::Unfit(found) => assert_eq!(found, why),
            Verified::Chunk(_) => panic!("{why:?} passed"),
        }
    }
}

#[test]
fn damage_names_file_column_row_group_and_page() {
    let values = columns(false).remove(0);
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
    let file = file(&values, false, properties().set_dictionary_enabled(false).set_compression(zstd));
    let footer = footer(&file);
    let place = place(&footer);
    let pages = chunk(&footer, &file, wanted(false)).pages;
    let verifier = Verifier::new(&footer, "f.parquet", 0).unwrap();
    let begin = u64_of(place.start);
    let mut damaged = file.slice(place.clone()).to_vec();
    damaged[pages[1].content.start] ^= 0xff;
    let error = verifier.verify(wanted(false), begin, &Bytes::from(damaged)).unwrap_err().to_string();
    assert!(
        error.contains("\"f.parquet\"") && error.contains("column \"c\", row group 0, page 0 or behind"),
        "{error}"
    );
    assert!(Verifier::new(&footer, "f.parquet", 1).is_err());
    let none = ChunkWanted { leaf: 1, ..wanted(false) };
    assert!(verifier.verify(none, begin, &file.slice(place)).is_err());
}

#[test]
fn what_cannot_be_walked_is_left_to_the_ordinary_reader() {
    let values = columns(false).remove(0);
    let file = file(&values, false, properties().set_dictionary_enabled(false));
    let footer = footer(&file);
    let place = place(&footer);
    let pages = chunk(&footer, &file, wanted(false)).pages;
    let verifier = Verifier::new(&footer, "f.parquet", 0).unwrap();
    let cut = file.slice(place.start..place.end - 1);
    let fewer = file.slice(place.start..place.start + pages[1].content.end);
    let padded = Bytes::from([&file[place.clone()], &[0; 9]].concat());
    for chunk in [cut, fewer, padded] {
        let found = verifier.verify(wanted(false), u64_of(place.start), &chunk).unwrap();
        assert!(matches!(found, Verified::Unfit(UnfitPages::Layout)), "{found:?}");
    }
}

#[test]
fn a_checksum_of_the_file_is_compared() {
    let values = columns(false).remove(0);
    let file = file(&values, false, properties().set_dictionary_enabled(false));
    let (footer, whole) = (footer(&file), file.clone());
    let mut page = chunk(&footer, &file, wanted(false)).pages.remove(0);
    let content = whole.slice(place(&footer));
    assert!(has_its_sum(&page, &content));
    page.crc = Some(1);
    assert!(!has_its_sum(&page, &content));
    let sum = crc_fast::checksum(CrcAlgorithm::Crc32IsoHdlc, &content[page.content.clone()]);
    page.crc = u32::try_from(sum).ok();
    assert!(page.crc.is_some() && has_its_sum(&page, &content));
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_what_everybody_reads() {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
    let mut outcomes = (0, 0);
    for (codec, has_dictionary) in
        [(Compression::UNCOMPRESSED, false), (Compression::UNCOMPRESSED, true), (zstd, true)]
    {
        for values in [columns(true).remove(0), columns(true).pop().unwrap()] {
            let properties = properties().set_compression(codec).set_dictionary_enabled(has_dictionary);
            let sound = file(&values, true, properties);
            let footer = footer(&sound);
            let place = place(&footer);
            for flip in 0..150_usize {
                let mut bytes = sound.to_vec();
                // Most of them early, where headers, levels and the dictionary are.
                let at = if flip % 2 == 0 { flip } else { flip * 7919 };
                bytes[place.start + at % place.len()] ^= 1 << (flip % 8);
                let flipped = Bytes::from(bytes);
                match verify(&footer, &flipped, wanted(true)) {
                    Ok(Verified::Chunk(found)) => {
                        outcomes.0 += 1;
                        assert!(found.has_raw_bytes || joined(&found.kept).len() == ROWS);
                    }
                    Ok(Verified::Unfit(_)) => {}
                    Err(error) => {
                        outcomes.1 += 1;
                        assert!(error.to_string().contains("row group 0"), "{error}");
                    }
                }
            }
        }
    }
    assert!(outcomes.0 > 0 && outcomes.1 > 0, "{outcomes:?}");
}
