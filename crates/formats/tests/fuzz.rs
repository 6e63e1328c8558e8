//! Mutated input for every reader and for inference: rows or an error, never a panic, a hang or much memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

#[path = "../../../tests/fuzz/mutate.rs"]
mod mutate;

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use formats::{FormatKind, FormatSettings, OutputStats, infer, new_reader, new_writer};
use model::type_arrow::to_field;
use model::type_name;
use mutate::{Dice, fuzz};

const COLUMNS: &str = "a Int32, b String, c Nullable(Float64), d DateTime64(3, 'UTC'), e Array(String), f Map(String, UInt8), \
    g Tuple(x UInt8, y Nullable(String)), h LowCardinality(String), i Decimal(18, 3), j Enum8('p' = 1, 'q' = 2), k UUID, l Bool";

fn schema() -> SchemaRef {
    let types = COLUMNS.split(", ").fold(Vec::<String>::new(), |mut parts, part| {
        // Commas inside parentheses belong to their type.
        match parts.last_mut() {
            Some(last) if last.matches('(').count() > last.matches(')').count() => {
                *last += &format!(", {part}")
            }
            _ => parts.push(part.to_owned()),
        }
        parts
    });
    let field = |text: &String| {
        let (name, kind) = text.trim().split_once(' ').unwrap();
        to_field(name, &type_name::parse(kind).unwrap())
    };
    Arc::new(Schema::new(types.iter().map(field).collect::<Vec<_>>()))
}

const ROWS: &str = concat!(
    r#"{"a":1,"b":"x\ny","c":null,"d":"2020-01-02 03:04:05.678","e":["p","q"],"f":{"k":7},"g":{"x":1,"y":null},"h":"low","#,
    r#""i":"12.5","j":"q","k":"61f0c404-5cb3-11e7-907b-a6006ad3dba0","l":true}"#,
    "\n",
    r#"{"a":-2,"b":"","c":1e300,"d":"1970-01-01 00:00:00.000","e":[],"f":{},"g":{"x":200,"y":"z"},"h":"","i":0,"j":"p","#,
    r#""k":"00000000-0000-0000-0000-000000000000","l":false}"#,
    "\n"
);

/// The rows above as a file of `kind`, written by our own writer.
fn seed(kind: FormatKind) -> Vec<u8> {
    let batches = read(FormatKind::JsonEachRow, ROWS.as_bytes(), &mut Dice::new(1)).unwrap();
    let mut writer = new_writer(kind, &FormatSettings::default()).unwrap();
    let mut bytes = Vec::new();
    writer.start(&schema(), &mut bytes).unwrap();
    for batch in &batches {
        writer.write(batch, &mut bytes).unwrap();
    }
    writer.finish(&OutputStats::default(), &mut bytes).unwrap();
    bytes
}

/// Reads in chunks that end anywhere.
fn read(kind: FormatKind, bytes: &[u8], dice: &mut Dice) -> Result<Vec<RecordBatch>, String> {
    let settings = FormatSettings { block_rows_max: 100, ..FormatSettings::default() };
    let mut reader = new_reader(kind, schema(), &settings).map_err(|error| error.to_string())?;
    let (mut at, mut end, mut out) = (0, 0, Vec::new());
    while end < bytes.len() {
        end = (end + 1 + dice.below(bytes.len())).min(bytes.len());
        at +=
            reader.read(&bytes[at..end], end == bytes.len(), &mut out).map_err(|error| error.to_string())?;
        assert!(at <= end, "the reader consumed bytes it was not given");
    }
    Ok(out)
}

fn answer(kind: FormatKind, bytes: &[u8], dice: &mut Dice) -> String {
    match read(kind, bytes, dice) {
        Ok(batches) => {
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            format!("rows {}", "i".repeat(rows.min(5)))
        }
        Err(error) => error,
    }
}

fn fuzz_format(name: &str, tokens: &[&[u8]]) {
    let kind = FormatKind::parse(name).unwrap();
    let seed = seed(kind);
    fuzz(name, &[&seed, b""], tokens, |bytes, dice| {
        let inferred = match infer(kind, bytes, true, &FormatSettings::default()) {
            Ok(columns) => format!("{} columns", "i".repeat(columns.len().min(12))),
            Err(error) => error.to_string(),
        };
        format!("{}; {inferred}", answer(kind, bytes, dice))
    });
}

const TEXT_TOKENS: &[&[u8]] = &[
    b"\"\"",
    b"\r\n",
    b"\\N",
    b"NULL",
    b",",
    b"\t",
    b"nan",
    b"-inf",
    b"1e400",
    b"\\u0000",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
];
const JSON_TOKENS: &[&[u8]] =
    &[b"{", b"}", b"[", b"]", b"\":", b"null", b"\\ud800", b"1e400", b"-", b"{\"a\":", b"true", b"\"\""];

/// Counts and lengths of the wire: small, negative, as large as a word holds, and marks of NULL.
const BINARY_TOKENS: &[&[u8]] = &[
    b"\0",
    b"\x01",
    b"\x7f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff",
    b"\x80\x80\x80\x80\x10",
    b"\x05Int32",
    b"\x06String",
    b"\x0dArray(String)",
    b"\x16LowCardinality(String)",
];

#[test]
fn native() {
    fuzz_format("Native", BINARY_TOKENS);
}

#[test]
fn row_binary() {
    fuzz_format("RowBinary", BINARY_TOKENS);
    fuzz_format("RowBinaryWithNamesAndTypes", BINARY_TOKENS);
}

#[test]
fn arrow_stream() {
    fuzz_format(
        "ArrowStream",
        &[b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xf8\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x08\0\0\0"],
    );
}

#[test]
fn csv() {
    fuzz_format("CSV", TEXT_TOKENS);
    fuzz_format("CSVWithNames", TEXT_TOKENS);
}

#[test]
fn tab_separated() {
    fuzz_format("TabSeparatedWithNames", TEXT_TOKENS);
}

#[test]
fn json() {
    fuzz_format("JSONEachRow", JSON_TOKENS);
    fuzz_format("JSONCompactEachRow", JSON_TOKENS);
}

#[test]
fn json_documents() {
    fuzz_format("JSON", &[JSON_TOKENS, &[b"\"meta\":", b"\"data\":", b"\"rows\":"]].concat());
}

#[test]
fn pairs() {
    fuzz_format("TSKV", &[TEXT_TOKENS, &[b"=", b"tskv", b"\\=", b"a="]].concat());
}

#[test]
fn values() {
    fuzz_format("Values", &[b"(", b")", b",", b"'", b"\\'", b"NULL", b"[", b"{'a':1}"]);
}
