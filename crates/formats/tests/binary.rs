//! Binary formats: every type survives, cuts and damage are errors, and ClickHouse reads and writes the same bytes.
//! `tests/oracle/regenerate.py` makes the fixture.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use formats::{
    FormatError, FormatKind, FormatSettings, Header, OutputStats, ParquetOutput, ReaderStart,
    RecordBoundaries, infer, new_reader, new_reader_at, new_writer,
};
use model::type_arrow::to_field;
use model::{ColumnType, type_name};

const TYPED: &[FormatKind] =
    &[FormatKind::Native, FormatKind::RowBinaryWithNamesAndTypes, FormatKind::Arrow, FormatKind::ArrowStream];
const UNTYPED: &[FormatKind] = &[FormatKind::RowBinary, FormatKind::RowBinaryWithNames];

/// A type, and values of it as literals.
const VALUES: &[(&str, &[&str])] = &[
    ("UInt8", &["0", "255"]),
    ("UInt16", &["0", "65535"]),
    ("UInt32", &["7", "4294967295"]),
    ("UInt64", &["0", "18446744073709551615"]),
    ("Int8", &["-128", "127"]),
    ("Int16", &["-32768", "1"]),
    ("Int32", &["-2147483648", "1"]),
    ("Int64", &["-9223372036854775808", "1"]),
    ("Float32", &["1.5", "-0.25"]),
    ("Float64", &["1e300", "-0.1"]),
    ("Bool", &["true", "false"]),
    ("String", &["'a'", "'longer than twelve bytes ж'", "''"]),
    ("FixedString(3)", &["'abc'", "'x'"]),
    ("Decimal(9, 2)", &["-1.25", "9999999.99"]),
    ("Decimal(18, 4)", &["-1.25", "99999999999999.9999"]),
    ("Decimal(38, 10)", &["-1.25", "1234567890123456789012345678.9"]),
    ("Decimal(60, 5)", &["-1.25", "1234567890123456789012345678901234567890.5"]),
    ("Date", &["'1970-01-01'", "'2149-06-06'"]),
    ("Date32", &["'1900-01-01'", "'2299-12-31'"]),
    ("DateTime", &["'1970-01-01 00:00:00'", "'2106-02-07 06:28:15'"]),
    ("DateTime('Europe/Berlin')", &["'2020-01-01 00:00:00'"]),
    ("DateTime64(0)", &["'2020-01-01 00:00:00'", "'1969-12-31 23:59:59'"]),
    ("DateTime64(1, 'UTC')", &["'2020-01-01 00:00:00.5'", "'1969-12-31 23:59:59.9'"]),
    ("DateTime64(3)", &["'2020-01-01 00:00:00.123'", "'1969-12-31 23:59:59.999'"]),
    ("DateTime64(9)", &["'2020-01-01 00:00:00.123456789'"]),
    ("UUID", &["'9a3b0000-1111-2222-3333-4444deadbeef'"]),
    ("IPv4", &["'1.2.3.4'", "'255.255.255.254'"]),
    ("Int128", &["-170141183460469231731687303715884105728", "5"]),
    ("UInt128", &["340282366920938463463374607431768211455", "0"]),
    ("Int256", &["-57896044618658097711785492504343953926634992332820282019728792003956564819968", "-1"]),
    (
        "Nullable(UInt256)",
        &["115792089237316195423570985008687907853269984665640564039457584007913129639935", "NULL"],
    ),
    ("IPv6", &["'2001:db8::8a2e:370:7334'", "'::ffff:1.2.3.4'"]),
    ("Enum8('a' = -1, 'b' = 2)", &["'a'", "'b'"]),
    ("Enum16('x' = -300, 'y' = 500)", &["'x'", "'y'"]),
    ("Nullable(Int32)", &["1", "NULL", "-5"]),
    ("Nullable(String)", &["'a'", "NULL", "''"]),
    ("Nullable(FixedString(2))", &["'a'", "NULL"]),
    ("Nullable(Bool)", &["true", "NULL"]),
    ("LowCardinality(String)", &["'a'", "'b'", "''", "'a'"]),
    ("LowCardinality(Nullable(String))", &["'a'", "NULL", "''", "'a'"]),
    ("LowCardinality(UInt32)", &["7", "0", "7"]),
    ("Array(Int32)", &["[1,2,3]", "[]", "[4]"]),
    ("Array(Nullable(String))", &["['a',NULL]", "[]"]),
    ("Array(Array(UInt8))", &["[[1],[],[2,3]]", "[]"]),
    ("Array(LowCardinality(String))", &["['a','b','a']", "[]"]),
    ("Map(String, UInt64)", &["{'a':1,'b':2}", "{}"]),
    ("Map(LowCardinality(String), Array(Int8))", &["{'a':[1,2],'b':[]}", "{}"]),
    ("Tuple(Int8, String)", &["(1,'a')", "(-1,'')"]),
    ("Tuple(x Int8, y Array(LowCardinality(Nullable(String))))", &["(1,['a',NULL])", "(2,[])"]),
];

fn schema_of(columns: &[(String, ColumnType)]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|(name, t)| to_field(name, t)).collect::<Vec<Field>>()))
}

fn schema(structure: &str) -> SchemaRef {
    let ColumnType::Tuple(elements) = type_name::parse(&format!("Tuple({structure})")).unwrap() else {
        unreachable!("a tuple was parsed")
    };
    let columns = elements.into_iter().map(|e| (e.name.as_deref().unwrap().to_owned(), e.column_type));
    schema_of(&columns.collect::<Vec<_>>())
}

/// Feeds `bytes` in pieces of this size.
fn read_pieces(
    kind: FormatKind,
    schema: &SchemaRef,
    bytes: &[u8],
    piece: usize,
    settings: &FormatSettings,
) -> Result<RecordBatch, FormatError> {
    let mut reader = new_reader(kind, Arc::clone(schema), settings)?;
    let (mut out, mut held, mut at) = (Vec::new(), Vec::new(), 0);
    loop {
        let next = (at + piece).min(bytes.len());
        held.extend_from_slice(&bytes[at..next]);
        at = next;
        let consumed = reader.read(&held, at == bytes.len(), &mut out)?;
        held.drain(..consumed);
        if at == bytes.len() {
            return Ok(concat_batches(schema, &out).unwrap());
        }
    }
}

fn read(kind: FormatKind, schema: &SchemaRef, bytes: &[u8]) -> Result<RecordBatch, FormatError> {
    read_pieces(kind, schema, bytes, usize::MAX / 4, &FormatSettings::default())
}

fn write_with(kind: FormatKind, batch: &RecordBatch, settings: &FormatSettings) -> Vec<u8> {
    let mut writer = new_writer(kind, settings).unwrap();
    let mut out = Vec::new();
    writer.start(&batch.schema(), &mut out).unwrap();
    writer.write(batch, &mut out).unwrap();
    writer.finish(&OutputStats::default(), &mut out).unwrap();
    out
}

fn write(kind: FormatKind, batch: &RecordBatch) -> Vec<u8> {
    write_with(kind, batch, &FormatSettings::default())
}

fn rows(structure: &str, values: &str) -> RecordBatch {
    read(FormatKind::Values, &schema(structure), values.as_bytes()).unwrap()
}

fn one_column(type_name: &str, values: &[&str]) -> RecordBatch {
    rows(&format!("c {type_name}"), &values.iter().map(|v| format!("({v})")).collect::<Vec<_>>().join(","))
}

/// What people would see.
fn shown(batch: &RecordBatch) -> String {
    String::from_utf8_lossy(&write(FormatKind::JsonCompactEachRow, batch)).into_owned()
}

#[test]
fn every_type_survives_every_format() {
    for (name, values) in VALUES {
        let batch = one_column(name, values);
        for kind in TYPED.iter().chain(UNTYPED) {
            let bytes = write(*kind, &batch);
            for piece in [1, 7, usize::MAX / 4] {
                let back = read_pieces(*kind, &batch.schema(), &bytes, piece, &FormatSettings::default());
                assert_eq!(back.as_ref(), Ok(&batch), "{name} as {} in pieces of {piece}", kind.name());
            }
        }
    }
}

#[test]
fn files_say_their_types() {
    for (name, values) in VALUES {
        let batch = one_column(name, values);
        for kind in TYPED {
            let found = infer(*kind, &write(*kind, &batch), true, &FormatSettings::default()).unwrap();
            let is_arrow = matches!(kind, FormatKind::Arrow | FormatKind::ArrowStream);
            // Arrow files hold the values of a dictionary and the bytes of a wide integer; Native has no zones of DateTime.
            let less = ["LowCardinality", "Int128", "Int256"].iter().any(|less| name.contains(less));
            // Seconds of Arrow may lie before 1970.
            let wider = is_arrow && (*name == "DateTime" || name.starts_with("DateTime("));
            let no_zone = *kind == FormatKind::Native && name.starts_with("DateTime(");
            if !(is_arrow && less || no_zone) {
                let seconds = name.replace("DateTime(", "DateTime64(0, ");
                let named = match wider {
                    true if *name == "DateTime" => "DateTime64(0)",
                    true => &seconds,
                    false => name,
                };
                assert_eq!(
                    found,
                    vec![("c".to_owned(), type_name::parse(named).unwrap())],
                    "{}",
                    kind.name()
                );
            }
        }
    }
    let fixed = [(FormatKind::One, "dummy UInt8"), (FormatKind::RawBlob, "raw_blob String")];
    for (kind, column) in fixed {
        let found = infer(kind, b"anything", true, &FormatSettings::default()).unwrap();
        assert_eq!(format!("{} {}", found[0].0, found[0].1), column);
    }
    let error = infer(FormatKind::RowBinary, b"\x01", true, &FormatSettings::default()).unwrap_err();
    assert_eq!(error.code.number(), 36, "{error}");
}

#[test]
fn types_and_columns_change_on_the_way() {
    let settings = FormatSettings::default();
    let given = rows(
        "e Enum8('a' = 1, 'b' = 2), n Nullable(Int32), x UInt8, u UUID",
        "('b', NULL, 7, '9a3b0000-1111-2222-3333-4444deadbeef')",
    );
    let wanted =
        schema("missing Nullable(String), also_missing Array(Int8), e String, x Int64, n Int32, u String");
    let expected = "[null, [], \"b\", 7, 0, \"9a3b0000-1111-2222-3333-4444deadbeef\"]\n";
    for kind in TYPED {
        let bytes = write(*kind, &given);
        assert_eq!(shown(&read(*kind, &wanted, &bytes).unwrap()), expected, "{}", kind.name());
        let strict = FormatSettings { skip_unknown_fields: false, ..settings.clone() };
        let error = read_pieces(*kind, &schema("e String"), &bytes, 100_000, &strict).unwrap_err();
        assert!(error.code.number() == 117 && error.to_string().contains("\"n\""), "{error}");
        let strict = FormatSettings { null_as_default: false, ..settings.clone() };
        let error = read_pieces(*kind, &schema("n Int32"), &bytes, 100_000, &strict).unwrap_err();
        assert_eq!((error.code.number(), error.column.as_deref()), (349, Some("n")), "{error}");
        let error = read(*kind, &schema("x Enum8('q' = 1)"), &bytes).unwrap_err();
        assert!(error.to_string().contains("column \"x\""), "{error}");
    }
}

#[test]
fn only_the_columns_of_a_projection_are_given() {
    let given = rows("a Int8, b String, c Int16", "(1, 'x', 2), (3, 'y', 4)");
    for kind in TYPED.iter().chain(UNTYPED) {
        let bytes = write(*kind, &given);
        let start = ReaderStart::File;
        for projection in [&[2_usize, 0][..], &[]] {
            let settings = FormatSettings::default();
            let mut reader =
                new_reader_at(*kind, given.schema(), Some(projection), &settings, &start).unwrap();
            let mut out = Vec::new();
            reader.read(&bytes, true, &mut out).unwrap();
            assert_eq!(out, [given.project(projection).unwrap()], "{}", kind.name());
        }
    }
}

#[test]
fn one_and_raw_blob_are_one_row() {
    let blob = read(FormatKind::RawBlob, &schema("t String"), b"a\nb").unwrap();
    assert_eq!(shown(&blob), "[\"a\\nb\"]\n");
    assert_eq!(write(FormatKind::RawBlob, &blob), b"a\nb");
    assert_eq!(shown(&read(FormatKind::One, &schema("dummy UInt8"), b"whatever").unwrap()), "[0]\n");
    let bytes = read(FormatKind::RawBlob, &schema("t String"), &[0xff, b'a']).unwrap();
    assert_eq!(write(FormatKind::RawBlob, &bytes), [0xff, b'a']);
    assert_eq!(read(FormatKind::RawBlob, &schema("a String, b String"), b"").unwrap_err().code.number(), 36);
}

#[test]
fn defaults_are_marked_in_row_binary_with_defaults() {
    let table = schema("x UInt32, y Nullable(String)");
    // A default; a value behind its two marks; a value; a default.
    let sound = [1, 0, 0, 1, b'a', 0, 5, 0, 0, 0, 1];
    let batch = read(FormatKind::RowBinaryWithDefaults, &table, &sound).unwrap();
    assert_eq!(shown(&batch), "[0, \"a\"]\n[5, null]\n");
}

/// A table with something of everything.
fn mixed() -> RecordBatch {
    rows(
        "i Int64, s String, n Nullable(String), l LowCardinality(Nullable(String)), a Array(Nullable(Int16)), \
         m Map(String, UInt8), t Tuple(x Decimal(20, 3), y Date), e Enum8('a' = 1, 'b' = 2)",
        "(1, 'one', NULL, 'x', [1, NULL], {'k': 1}, (1.5, '2020-01-01'), 'a'), \
         (2, '', 'two', NULL, [], {}, (-2, '1970-01-01'), 'b')",
    )
}

#[test]
fn a_cut_anywhere_is_an_error_or_fewer_rows() {
    let batch = mixed();
    for kind in TYPED.iter().chain(UNTYPED) {
        let bytes = write(*kind, &batch);
        for cut in 0..bytes.len() {
            let mut reader = new_reader(*kind, batch.schema(), &FormatSettings::default()).unwrap();
            let mut out = Vec::new();
            let outcome = reader.read(&bytes[..cut], true, &mut out);
            let rows: usize = out.iter().map(RecordBatch::num_rows).sum();
            match outcome {
                // Between rows of RowBinary, messages of a stream, or before everything, nothing shows the cut.
                Ok(_) if *kind == FormatKind::Arrow => assert!(cut == 0 || rows == 2, "{cut}"),
                Ok(_) => assert!(rows <= 2, "{} cut at {cut}", kind.name()),
                Err(error) => {
                    assert!(error.message.contains(kind.name()), "{error}");
                    assert!(error.position.is_some_and(|at| at <= cut as u64), "{error} cut at {cut}");
                }
            }
        }
    }
}

/// A generator whose numbers are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[test]
fn damaged_bytes_never_panic() {
    let batch = mixed();
    let mut dice = Dice(4);
    let uncompressed = FormatSettings { arrow_compression: "none".to_owned(), ..FormatSettings::default() };
    for kind in TYPED.iter().chain(UNTYPED).chain(&[FormatKind::RowBinaryWithDefaults]) {
        let from = if *kind == FormatKind::RowBinaryWithDefaults { FormatKind::RowBinary } else { *kind };
        let sound = [write(from, &batch), write_with(from, &batch, &uncompressed)];
        let mut errors = 0;
        for round in 0..2000 {
            let mut bytes = sound[round % 2].clone();
            for _ in 0..=dice.roll(4) {
                let at = dice.roll(bytes.len());
                match dice.roll(4) {
                    0 => bytes[at] = u8::try_from(dice.roll(256)).unwrap(),
                    1 => bytes[at] = 0xff,
                    2 => drop(bytes.drain(at..(at + dice.roll(9)).min(bytes.len()))),
                    _ => bytes[at] ^= 1 << dice.roll(8),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let outcome = |piece| {
                let read = read_pieces(*kind, &batch.schema(), &bytes, piece, &FormatSettings::default());
                read.map(|batch| shown(&batch)).map_err(|error| (error.code, error.row, error.position))
            };
            let whole = outcome(usize::MAX / 4);
            assert_eq!(outcome(5), whole, "{} round {round}", kind.name());
            errors += usize::from(whole.is_err());
            let _ = infer(*kind, &bytes, true, &FormatSettings::default());
        }
        assert!(errors > 500, "{}: {errors} rounds failed", kind.name());
    }
}

#[test]
fn declared_sizes_cost_nothing() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let text =
        |bytes: &[u8]| read(FormatKind::RowBinary, &schema("s String"), bytes).unwrap_err().code.number();
    assert_eq!(text(&huge), 131);
    assert_eq!(text(&[0xff, 0xff, 3, b'a']), 33);
    let list = |bytes: &[u8]| {
        read(FormatKind::RowBinary, &schema("s Array(UInt8)"), bytes).unwrap_err().code.number()
    };
    assert_eq!((list(&huge), list(&[0xff, 0xff, 3, b'a'])), (128, 33));
    let native = |block: &[u8]| read(FormatKind::Native, &schema("a UInt8"), block).unwrap_err();
    // A column of many rows; rows without columns; a name longer than any; too many columns.
    assert_eq!(native(b"\x01\xff\xff\xff\x7f\x01a\x05UInt8xx").code.number(), 33);
    assert_eq!(native(b"\x00\x05").code.number(), 117);
    assert_eq!(native(b"\x01\x01\xff\xff\xff\xff\x7f").code.number(), 117);
    assert_eq!(native(b"\xff\xff\xff\xff\x7f\x01").code.number(), 128);
    let deep = format!("{}UInt8{}", "Array(".repeat(100), ")".repeat(100));
    let mut block = vec![1, 1, 1, b'a'];
    block.extend([0x80 | u8::try_from(deep.len() % 128).unwrap(), u8::try_from(deep.len() / 128).unwrap()]);
    block.extend(deep.bytes());
    assert_eq!(native(&block).code.number(), 117);
}

/// Ends of blocks, found with the bytes coming in steps, the first of another length; and whether they were found to
/// the end.
fn block_ends(bytes: &[u8], first: usize, step: usize) -> (Vec<usize>, bool) {
    let settings = FormatSettings::default();
    let mut scan = RecordBoundaries::with_blocks(FormatKind::Native, &settings).unwrap();
    let (mut ends, mut at, mut next) = (Vec::new(), 0, first.min(bytes.len()));
    while at < bytes.len() {
        ends.extend(scan.advance(&bytes[at..next]).map(|end| at + end));
        at = next;
        next = (at + step).min(bytes.len());
    }
    (ends, !scan.are_lost())
}

/// Every type twice: blocks of it alone, and of two rows' types together.
fn native_blocks() -> Vec<(String, Vec<RecordBatch>)> {
    let mut found = Vec::new();
    for (name, values) in VALUES {
        let batch = one_column(name, values);
        found.push(((*name).to_owned(), vec![batch.clone(), batch.slice(0, 1), batch]));
    }
    let nulls = rows("a Nullable(Nothing), b UInt8", "(NULL, 1), (NULL, 2)");
    found.push(("Nothing".to_owned(), vec![nulls.clone(), nulls]));
    let wide = "s String, a Array(Tuple(String, Nullable(Int8))), l LowCardinality(String), n Nullable(UUID)";
    let long = "x".repeat(300);
    let values = format!("('{long}', [('a', NULL), ('{long}', 1)], 'k', NULL), ('', [], '', NULL)");
    found.push(("several columns".to_owned(), vec![rows(wide, &values), rows(wide, &values)]));
    found
}

#[test]
fn blocks_end_where_their_reader_ends_them() {
    for (name, batches) in native_blocks() {
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for batch in &batches {
            let block = write(FormatKind::Native, batch);
            let start = ReaderStart::Middle { columns: None, position: bytes.len() as u64 };
            let settings = FormatSettings::default();
            let mut reader =
                new_reader_at(FormatKind::Native, batch.schema(), None, &settings, &start).unwrap();
            let mut out = Vec::new();
            assert_eq!(reader.read(&block, false, &mut out), Ok(block.len()), "{name}");
            assert_eq!(
                (reader.header(), out.as_slice()),
                (Header::Read(None), &[batch.clone()][..]),
                "{name}"
            );
            bytes.extend(block);
            expected.push(bytes.len());
        }
        for cut in 1..bytes.len() {
            let (ends, is_sound) = block_ends(&bytes, cut, bytes.len());
            // Of several ends in one step the last is given.
            let last_before = expected.iter().rev().find(|end| **end <= cut);
            let wanted: Vec<usize> = last_before.into_iter().chain(expected.last()).copied().collect();
            assert!(is_sound && ends == wanted, "{name}, cut at {cut}: {ends:?}, {wanted:?}");
        }
        for step in 1..4 {
            assert_eq!(block_ends(&bytes, step, step).0.last(), expected.last(), "{name} in steps of {step}");
        }
        assert_eq!(block_ends(&bytes, 1, 1).0, expected, "{name} byte by byte");
    }
}

/// Rows of blocks read one by one, cut where the scan says, or the first error.
fn read_blocks(schema: &SchemaRef, bytes: &[u8]) -> Result<RecordBatch, FormatError> {
    let (mut out, mut from) = (Vec::new(), 0);
    let mut ends = block_ends(bytes, 1, 1).0;
    ends.push(bytes.len());
    for end in ends {
        let start = ReaderStart::Middle { columns: None, position: from as u64 };
        let settings = FormatSettings::default();
        let mut reader = new_reader_at(FormatKind::Native, Arc::clone(schema), None, &settings, &start)?;
        reader.read(&bytes[from..end], true, &mut out)?;
        from = end;
    }
    Ok(concat_batches(schema, &out).unwrap())
}

#[test]
fn damaged_blocks_are_the_same_errors_one_by_one() {
    for (name, batches) in native_blocks() {
        let schema = batches[0].schema();
        let sound: Vec<u8> = batches.iter().flat_map(|batch| write(FormatKind::Native, batch)).collect();
        for at in 0..sound.len() {
            for damage in [0, 0x7f, 0xff, sound[at] ^ 1] {
                let mut bytes = sound.clone();
                bytes[at] = damage;
                let place = |error: FormatError| (error.code, error.position, error.column, error.message);
                let whole = read(FormatKind::Native, &schema, &bytes).map_err(place);
                let pieces = read_blocks(&schema, &bytes).map_err(place);
                assert!(pieces == whole, "{name}, byte {at} is {damage}: {pieces:?} and {whole:?}");
            }
        }
    }
}

#[test]
fn arrow_strings_follow_the_settings() {
    let batch = rows("s String, f FixedString(3)", "('a', 'b')");
    let layouts = |settings: &FormatSettings| {
        let bytes = write_with(FormatKind::ArrowStream, &batch, settings);
        let reader = arrow::ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
        let layouts: Vec<String> =
            reader.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
        assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
        assert_eq!(read(FormatKind::ArrowStream, &batch.schema(), &bytes).unwrap(), batch);
        layouts.join(" ")
    };
    let settings = FormatSettings::default();
    assert_eq!(layouts(&settings), "Utf8 FixedSizeBinary(3)");
    assert_eq!(
        layouts(&FormatSettings { arrow_string_as_string: false, ..settings.clone() }),
        "Binary FixedSizeBinary(3)"
    );
    assert_eq!(
        layouts(&FormatSettings { arrow_fixed_string_as_bytes: false, ..settings.clone() }),
        "Utf8 Utf8"
    );
    for compression in ["none", "lz4_frame", "zstd"] {
        let settings = FormatSettings { arrow_compression: compression.to_owned(), ..settings.clone() };
        assert_eq!(layouts(&settings), "Utf8 FixedSizeBinary(3)");
    }
}

#[test]
fn parquet_follows_the_settings() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let batch = rows("n Int64, s String", "(1, 'a'), (2, 'b'), (3, 'c')");
    let file = |settings: &FormatSettings| {
        let bytes = bytes::Bytes::from(write_with(FormatKind::Parquet, &batch, settings));
        SerializedFileReader::new(bytes).unwrap()
    };
    for (name, codec) in [
        ("none", "UNCOMPRESSED"),
        ("snappy", "SNAPPY"),
        ("lz4", "LZ4_RAW"),
        ("lz4_raw", "LZ4_RAW"),
        ("zstd", "ZSTD"),
        ("gzip", "GZIP"),
        ("brotli", "BROTLI"),
    ] {
        let settings = FormatSettings {
            parquet: ParquetOutput { compression: name.to_owned(), ..ParquetOutput::default() },
            ..FormatSettings::default()
        };
        let found = file(&settings).metadata().row_group(0).column(0).compression().to_string();
        assert!(found.starts_with(codec), "{name}: {found}");
    }
    let small = FormatSettings {
        parquet: ParquetOutput { row_group_rows: 2, bloom_filters: true, ..ParquetOutput::default() },
        ..FormatSettings::default()
    };
    let metadata = file(&small).metadata().clone();
    assert_eq!(metadata.num_row_groups(), 2);
    assert!(metadata.row_group(0).column(1).bloom_filter_offset().is_some());
    assert_eq!(metadata.file_metadata().schema_descr().column(1).converted_type().to_string(), "UTF8");
    let unmarked = FormatSettings {
        parquet: ParquetOutput { string_as_string: false, ..ParquetOutput::default() },
        ..FormatSettings::default()
    };
    let metadata = file(&unmarked).metadata().clone();
    assert_eq!(metadata.file_metadata().schema_descr().column(1).converted_type().to_string(), "NONE");
    let unknown = FormatSettings {
        parquet: ParquetOutput { compression: "lzo".to_owned(), ..ParquetOutput::default() },
        ..FormatSettings::default()
    };
    assert_eq!(new_writer(FormatKind::Parquet, &unknown).map(|_| ()).unwrap_err().code.number(), 36);
}

#[test]
fn an_empty_table_has_columns() {
    let empty = RecordBatch::new_empty(schema("a Int8, s String"));
    for kind in [FormatKind::Arrow, FormatKind::ArrowStream, FormatKind::RowBinaryWithNamesAndTypes] {
        let bytes = write(kind, &empty);
        assert_eq!(
            infer(kind, &bytes, true, &FormatSettings::default()).unwrap().len(),
            2,
            "{}",
            kind.name()
        );
        assert_eq!(read(kind, &empty.schema(), &bytes).unwrap().num_rows(), 0);
    }
}

/// Bytes of base64 text.
fn decoded(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !b"=\n".contains(byte)) {
        let digit = digits.iter().position(|known| *known == byte).unwrap();
        bits = bits << 6 | u32::try_from(digit).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    out
}

#[test]
fn bytes_are_those_of_clickhouse() {
    let mut differences = Vec::new();
    let (mut batch, mut case) = (mixed(), "");
    for section in include_str!("oracle/binary.txt").split("@@@ ").skip(1) {
        let (title, body) = section.split_once('\n').unwrap();
        if let Some(structure) = title.strip_prefix("case ") {
            (batch, case) = (rows(structure, body), structure);
            continue;
        }
        let kind = FormatKind::parse(title).unwrap();
        let theirs = decoded(body);
        match read(kind, &batch.schema(), &theirs) {
            Ok(rows) if shown(&rows) == shown(&batch) => {}
            Ok(rows) => differences.push(format!("{title} of {case} reads as {}", shown(&rows))),
            Err(error) => differences.push(format!("{title} of {case}: {error}")),
        }
        let is_arrow = matches!(kind, FormatKind::Arrow | FormatKind::ArrowStream);
        if !is_arrow && write(kind, &batch) != theirs {
            let ours = String::from_utf8_lossy(&write(kind, &batch)).into_owned();
            let theirs = String::from_utf8_lossy(&theirs).into_owned();
            differences.push(format!("{title} of {case} is {theirs:?}, ours {ours:?}"));
        }
    }
    assert_eq!(differences, Vec::<String>::new());
}

#[test]
fn arrow_batches_without_a_body_hide_no_others() {
    let numbers = |values: &[i32]| Arc::new(Int32Array::from(values.to_vec())) as ArrayRef;
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]));
    for batches in [&[&[1, 2][..], &[], &[3, 4], &[5]][..], &[&[], &[1, 2]], &[&[1], &[]], &[&[]], &[]] {
        let mut writer = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
        for batch in batches {
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), vec![numbers(batch)]).unwrap()).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let found = infer(FormatKind::ArrowStream, &bytes, true, &FormatSettings::default()).unwrap();
        assert_eq!(found.len(), 1, "{batches:?}");
        let mut reader =
            new_reader(FormatKind::ArrowStream, Arc::clone(&schema), &FormatSettings::default()).unwrap();
        let mut out = Vec::new();
        reader.read(&bytes, true, &mut out).unwrap();
        let read: Vec<i32> = out
            .iter()
            .flat_map(|batch| batch.column(0).as_primitive::<Int32Type>().values().to_vec())
            .collect();
        assert_eq!(read, batches.concat(), "{batches:?}");
    }
}
