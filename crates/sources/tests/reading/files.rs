//! Local files and text formats, plain and compressed.

use std::io::Write;

use async_compression::tokio::bufread::{GzipEncoder, Lz4Encoder, ZstdEncoder};
use sources::SourceErrorKind;
use sources::location::UserFiles;
use tokio::io::AsyncReadExt;

use crate::fixture::{Fixture, types};

const CSV: &str = "1,one\n2,two\n3,three\n";

fn compressed(fixture: &Fixture, method: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    fixture.run(async {
        let _ = match method {
            "gz" => GzipEncoder::new(text.as_bytes()).read_to_end(&mut out).await,
            "zst" => ZstdEncoder::new(text.as_bytes()).read_to_end(&mut out).await,
            _ => Lz4Encoder::new(text.as_bytes()).read_to_end(&mut out).await,
        };
    });
    out
}

#[test]
fn text_in_every_compression() {
    let fixture = Fixture::new();
    let long: String = (0..200_000).map(|n| format!("{n},text of row {n}\n")).collect();
    for method in ["gz", "zst", "lz4"] {
        fixture.server.put("b", &format!("x.csv.{method}"), compressed(&fixture, method, &long));
        // Magic bytes win over a name that says nothing.
        fixture.server.put("b", &format!("plain-{method}.csv"), compressed(&fixture, method, CSV));
    }
    fixture.server.put("b", "liar.csv.gz", CSV);
    for path in ["b/x.csv.gz", "b/x.csv.zst", "b/x.csv.lz4"] {
        let table = fixture.s3(path, &["CSV", "n Int64, s String"]).unwrap();
        let shown = fixture.query(&table, "select count(*), sum(n), max(s) from t").unwrap();
        assert_eq!(shown, ["200000|19999900000|text of row 99999"], "{path}");
    }
    for path in ["b/plain-gz.csv", "b/plain-zst.csv", "b/plain-lz4.csv", "b/liar.csv.gz"] {
        let table = fixture.s3(path, &["CSV", "n Int64, s String"]).unwrap();
        assert_eq!(fixture.query(&table, "select s from t where n = 3").unwrap(), ["three"], "{path}");
    }
}

#[test]
fn a_cut_stream_is_an_error_naming_the_file() {
    let fixture = Fixture::new();
    for method in ["gz", "zst", "lz4"] {
        let whole = compressed(&fixture, method, &"1,some text to compress\n".repeat(1000));
        fixture.server.put("b", &format!("cut.csv.{method}"), whole[..whole.len() * 2 / 3].to_vec());
        let table = fixture.s3(&format!("b/cut.csv.{method}"), &["CSV", "n Int64, s String"]).unwrap();
        let error = fixture.query(&table, "select count(s) from t").unwrap_err();
        assert!(error.contains(&format!("\"b/cut.csv.{method}\" is cut")), "{error}");
    }
}

#[test]
fn text_is_inferred_and_read_in_ranges() {
    let mut fixture = Fixture::new();
    let rows: String = (0..50_000).map(|n| format!("{{\"n\": {n}, \"s\": \"row {n}\"}}\n")).collect();
    fixture.server.put("b", "rows.ndjson", rows);
    fixture.settings(|settings| settings.max_download_buffer_size = 100_000);
    let table = fixture.s3("b/rows.ndjson", &[]).unwrap();
    assert_eq!(types(&table), "n Nullable(Int64), s Nullable(String)");
    fixture.server.forget_arrived();
    assert_eq!(
        fixture.query(&table, "select count(*), sum(n) from t where s <> ''").unwrap(),
        ["50000|1249975000"]
    );
    assert!(fixture.server.counts().2 > 10, "{:?}", fixture.server.counts());
    assert_eq!(fixture.env.memory.used(), 0);
}

#[test]
fn a_bad_row_names_file_and_place() {
    let fixture = Fixture::new();
    fixture.server.put("b", "bad.csv", "1,one\nx,two\n");
    let table = fixture.s3("b/bad.csv", &["CSV", "n Int64, s String"]).unwrap();
    let error = fixture.query(&table, "select n from t").unwrap_err();
    assert!(error.contains("b/bad.csv") && error.contains("row 2"), "{error}");
}

#[test]
fn files_on_disk_with_globs() {
    let mut fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("a/1.csv", "1,one\n"), ("a/2.csv", "2,two\n"), ("a/deep/3.csv", "3,three\n")] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test makes its own input")]
        std::fs::File::create(path).unwrap().write_all(content.as_bytes()).unwrap();
    }
    fixture.env.user_files = UserFiles { root: folder.path().to_owned(), anywhere: false };
    let structure = ["CSV", "n Int64, s String"];
    let read = |pattern: &str| {
        let table = fixture.resolve("file", &[pattern, structure[0], structure[1]]).unwrap();
        fixture.query(&table, "select n, s, _file from t order by n").unwrap()
    };
    assert_eq!(read("a/*.csv"), ["1|one|1.csv", "2|two|2.csv"]);
    assert_eq!(read("**.csv").len(), 3);
    assert_eq!(read("a/{2,deep/3}.csv"), ["2|two|2.csv", "3|three|3.csv"]);
    let error = fixture.resolve("file", &["a/9.csv", structure[0], structure[1]]).unwrap_err();
    assert_eq!((error.kind(), error.code()), (SourceErrorKind::NotFound, 107));
    let error = fixture.resolve("file", &["/etc/*", structure[0], structure[1]]).unwrap_err();
    assert_eq!(error.code(), 291);
}
