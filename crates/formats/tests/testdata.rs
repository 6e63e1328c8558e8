//! Odd and broken files of other projects: what ClickHouse made of them, and what we make of them. The folder is named
//! by the environment variable `GRISTMILL_TESTDATA`; without it there is nothing to read and the test says so.

#![expect(clippy::disallowed_methods, reason = "the real clock says that no file takes long")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use formats::{FormatKind, FormatSettings, infer, new_reader};
use model::type_arrow::to_field;
use serde_json::Value;

/// Files of which we read other rows than ClickHouse, and why that is right.
const OTHER_ROWS: &[&str] = &[
    // Blanks around numbers: ClickHouse takes `1 ` and `2 ` in the first row for names, though all columns are text.
    "text/databend/tsv/whitespace.tsv",
];

/// Rows and columns of a file read whole, or the error's text.
fn read(kind: FormatKind, bytes: &[u8]) -> Result<(usize, Vec<String>), String> {
    let settings = FormatSettings::default();
    let columns = infer(kind, bytes, true, &settings).map_err(|error| error.to_string())?;
    let fields: Vec<Field> = columns.iter().map(|(name, of)| to_field(name, of)).collect();
    let mut reader =
        new_reader(kind, Arc::new(Schema::new(fields)), &settings).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    reader.read(bytes, true, &mut out).map_err(|error| error.to_string())?;
    let types = columns.iter().map(|(name, of)| format!("{name} {of}")).collect();
    Ok((out.iter().map(RecordBatch::num_rows).sum(), types))
}

/// What is wrong with our answer, if anything.
fn difference(theirs: &Value, ours: &Result<(usize, Vec<String>), String>) -> Option<String> {
    let rows = theirs.get("rows").and_then(Value::as_u64);
    match (rows, ours) {
        (Some(rows), Ok((read, _))) if rows == *read as u64 => None,
        (None, Err(_)) => None,
        (Some(rows), Ok((read, _))) => Some(format!("{read} rows, ClickHouse {rows}")),
        (Some(rows), Err(error)) => Some(format!("error, ClickHouse {rows} rows: {error}")),
        (None, Ok((read, _))) => Some(format!("{read} rows, ClickHouse an error: {theirs}")),
    }
}

#[test]
fn odd_files_are_read_or_refused() {
    let Some(folder) = std::env::var_os("GRISTMILL_TESTDATA") else {
        println!("skipped: GRISTMILL_TESTDATA names no folder of files");
        return;
    };
    let folder = Path::new(&folder);
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(folder.join("manifest_text.json")).unwrap()).unwrap();
    let (mut tried, mut differences, mut wrong) = (0, 0, 0);
    for file in manifest["files"].as_array().unwrap() {
        let name = file["file"].as_str().unwrap();
        let compare = file["verdict"] == "compare";
        let bytes = std::fs::read(folder.join(name)).unwrap();
        for (format, theirs) in file["clickhouse"].as_object().unwrap() {
            let Some(kind) = FormatKind::parse(format).filter(|kind| kind.is_input()) else { continue };
            // Decompression is not the readers' work.
            if name.ends_with(".gz")
                || name.ends_with(".zst")
                || name.ends_with(".bz2")
                || name.ends_with(".xz")
            {
                continue;
            }
            let started = Instant::now();
            let ours = read(kind, &bytes);
            assert!(started.elapsed().as_secs() < 5, "{name} as {format} takes too long");
            tried += 1;
            let Some(difference) = difference(theirs, &ours) else { continue };
            differences += 1;
            // An error is an answer; other rows than ClickHouse reads are not.
            let other_rows = ours.is_ok() && theirs.get("rows").is_some();
            wrong += usize::from(compare && other_rows && !OTHER_ROWS.contains(&name));
            println!("{} {name} {format}: {difference}", if compare { "compare" } else { "no_crash" });
        }
    }
    println!("{tried} readings, {differences} answers differ from ClickHouse's, {wrong} have other rows");
    assert!(tried > 0);
    assert_eq!(wrong, 0);
}
