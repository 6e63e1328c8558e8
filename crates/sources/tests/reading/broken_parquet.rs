//! Parquet files with wrong bytes: rows or an error of ours, never a panic, never silence.

#![expect(clippy::disallowed_methods, reason = "broken files are made the shortest way")]

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, StringArray};
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::fixture::Fixture;
use crate::parquet_files::written;

/// Two columns in dictionary pages without compression, so that a wrong byte reaches the decoders.
fn small() -> Bytes {
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..40).map(|n| n % 3)));
    let names: Vec<String> = (0..40).map(|n| format!("name {}", n % 4)).collect();
    let names: ArrayRef = Arc::new(StringArray::from(names));
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    written(vec![("n", numbers), ("name", names)], properties)
}

#[test]
fn a_wrong_byte_anywhere_is_rows_or_an_error_of_ours() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.parquet");
    let whole = small();
    let (mut errors, mut rows) = (0, 0);
    for at in (0..whole.len()).step_by(1 + whole.len() / 700) {
        for wrong in [0x3f, 0xff, whole[at] ^ 1] {
            let mut bytes = whole.to_vec();
            bytes[at] = wrong;
            std::fs::write(&path, &bytes).unwrap();
            let answer = fixture
                .resolve("file", &[path.to_str().unwrap(), "Parquet", "n Int32, name String"])
                .map_err(|error| error.to_string())
                .and_then(|table| fixture.query(&table, "select n, name from t"));
            match answer {
                Ok(_) => rows += 1,
                Err(error) => {
                    assert!(error.contains("wrong.parquet"), "byte {at} = {wrong:#x}: {error}");
                    errors += 1;
                }
            }
        }
    }
    assert!(errors > 100 && rows > 100, "{errors} errors, {rows} answers");
}

#[test]
fn a_dictionary_index_wider_than_any_is_an_error() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.parquet");
    // The data page of `n` is the bit width of its indices, 2, and then runs; the decoder asserts that it is sane.
    let whole = small();
    let mut panics_caught = 0;
    for at in (4..whole.len() - 4).filter(|at| whole[*at] == 2) {
        let mut bytes = whole.to_vec();
        bytes[at] = 63;
        std::fs::write(&path, &bytes).unwrap();
        let table = fixture.resolve("file", &[path.to_str().unwrap(), "Parquet", "n Int32, name String"]);
        let error = table.map_err(|e| e.to_string()).and_then(|t| fixture.query(&t, "select n, name from t"));
        panics_caught += usize::from(error.is_err_and(|error| error.contains("assertion failed")));
    }
    assert!(panics_caught > 0, "no byte of the file is the width of a dictionary index");
}
