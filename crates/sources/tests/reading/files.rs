//! Local files and text formats, plain and compressed.

use std::io::Write;

use stores::codecs::compression::Compression;
use stores::locations::location::UserFiles;
use stores::{Effort, Encoder, SourceErrorKind};

use crate::fixture::{Fixture, types};

const CSV: &str = "1,one\n2,two\n3,three\n";

/// Suffixes of the methods, and whether magic bytes tell them.
const METHODS: [(&str, bool); 8] = [
    ("gz", true),
    ("zst", true),
    ("lz4", true),
    ("xz", true),
    ("bz2", true),
    ("br", false),
    ("snappy", false),
    ("deflate", false),
];

fn compressed(method: &str, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(Compression::by_name(method).unwrap(), Effort::of_level(1)).unwrap();
    encoder.encode(text.as_bytes(), &mut out).unwrap();
    encoder.finish(&mut out).unwrap();
    out
}

#[test]
fn text_in_every_compression() {
    let fixture = Fixture::new();
    let long: String = (0..200_000).map(|n| format!("{n},text of row {n}\n")).collect();
    for (method, has_magic) in METHODS {
        let (path, plain) = (format!("x.csv.{method}"), format!("plain-{method}.csv"));
        fixture.server.put("b", &path, compressed(method, &long));
        let table = fixture.s3(&format!("b/{path}"), &["CSV", "n Int64, s String"]).unwrap();
        let shown = fixture.query(&table, "select count(*), sum(n), max(s) from t").unwrap();
        assert_eq!(shown, ["200000|19999900000|text of row 99999"], "{method}");
        // Magic bytes win over a name that says nothing; without any the argument says it.
        fixture.server.put("b", &plain, compressed(method, CSV));
        let said = if has_magic { "auto" } else { method };
        let table = fixture.s3(&format!("b/{plain}"), &["CSV", "n Int64, s String", said]).unwrap();
        assert_eq!(fixture.query(&table, "select s from t where n = 3").unwrap(), ["three"], "{method}");
    }
    fixture.server.put("b", "liar.csv.gz", CSV);
    let table = fixture.s3("b/liar.csv.gz", &["CSV", "n Int64, s String"]).unwrap();
    assert_eq!(fixture.query(&table, "select s from t where n = 3").unwrap(), ["three"]);
}

/// Rows whose second column holds quotes and line ends, in a file that is large enough for several streams.
fn quoted_rows(rows: u64) -> String {
    let row = |n: u64| format!("{n},\"row \"\"{n}\"\",\n{}\n\"\n", "x".repeat(60));
    std::iter::once("id,text\n".to_owned()).chain((0..rows).map(row)).collect()
}

/// Rows that end anywhere in a chunk, most of them short and some longer than several chunks, by one stream.
#[test]
fn rows_on_the_borders_of_chunks_are_read_once() {
    let mut fixture = Fixture::new();
    let lengths: Vec<usize> =
        (0..6000).map(|n| if n % 1999 == 1998 { 300_000 } else { n * 131 % 400 }).collect();
    let row = |(n, length): (usize, &usize)| format!("{n},\"{}\n\"\n", "x".repeat(*length));
    let text: String = lengths.iter().enumerate().map(row).collect();
    let expected = format!("6000|{}|{}", 6000 * 5999 / 2, lengths.iter().sum::<usize>() + lengths.len());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    #[expect(clippy::disallowed_methods, reason = "a test makes its own input")]
    std::fs::write(&path, &text).unwrap();
    fixture.server.put("b", "rows.csv", text);
    for step in [64 << 10, 1 << 20] {
        fixture.settings(|settings| {
            settings.max_download_buffer_size = step;
            settings.parallel_parsing = false;
        });
        let columns = "n Int64, s String";
        let remote = fixture.s3("b/rows.csv", &["CSV", columns]).unwrap();
        let local = fixture.resolve("file", &[path.to_str().unwrap(), "CSV", columns]).unwrap();
        for table in [remote, local] {
            let shown = fixture.query(&table, "select count(*), sum(n), sum(length(s)) from t").unwrap();
            assert_eq!(shown, [expected.as_str()], "{step}");
        }
    }
}

#[test]
fn one_large_file_is_read_by_several_streams_once() {
    let mut fixture = Fixture::new();
    let rows = 120_000;
    let text = quoted_rows(rows);
    fixture.settings(|settings| settings.max_download_buffer_size = 1 << 20);
    assert!(text.len() > 8 << 20);
    let ranges = text.len().div_ceil(1 << 20);
    fixture.server.put("b", "large.csv", text);
    for format in ["CSVWithNames", "CSV"] {
        let table = fixture.s3("b/large.csv", &[format, "id Int64, text String"]).unwrap();
        fixture.server.forget_arrived();
        let shown =
            fixture.query(&table, "select count(*), count(distinct id), sum(id), max(length(text)) from t");
        assert_eq!(shown.unwrap(), ["120000|120000|7199940000|75"], "{format}");
        assert_eq!(fixture.server.counts().2, ranges, "every range once");
        // Units of a load, all read by one sink: in order.
        let shares = fixture.run(table.shared_units(1 << 30)).unwrap();
        assert_eq!(shares.len(), 2);
        assert_eq!(shares.iter().map(|unit| unit.bytes).sum::<u64>(), table.bytes());
        let read = fixture.rows_of(&table, &shares).unwrap();
        let ids = read.iter().filter_map(|row| row.split('|').next()?.parse::<u64>().ok());
        assert!(ids.eq(0..rows), "{format}");
        assert!(fixture.rows_of(&table, &shares[..1]).unwrap_err().to_string().contains("opened twice"));
        // Units that are remembered are whole files.
        let lasting = fixture.run(table.units(1 << 20)).unwrap();
        assert!(lasting.len() == 1 && lasting[0].share.is_none());
    }
    fixture.settings(|settings| settings.parallel_parsing = false);
    let table = fixture.s3("b/large.csv", &["CSV", "id Int64, text String"]).unwrap();
    assert_eq!(fixture.run(table.shared_units(1 << 20)).unwrap().len(), 1);
    assert_eq!(fixture.query(&table, "select count(text) from t").unwrap(), ["120000"]);
}

#[test]
fn a_query_that_has_enough_rows_stops_reading() {
    let mut fixture = Fixture::new();
    fixture.settings(|settings| settings.max_download_buffer_size = 256 << 10);
    fixture.server.put("b", "large.csv", quoted_rows(240_000));
    let table = fixture.s3("b/large.csv", &["CSVWithNames", "id Int64, text String"]).unwrap();
    fixture.server.forget_arrived();
    assert_eq!(fixture.query(&table, "select id from t limit 3").unwrap().len(), 3);
    let ranges = usize::try_from(table.bytes().div_ceil(256 << 10)).unwrap();
    assert!(fixture.server.counts().2 < ranges, "{:?} of {ranges}", fixture.server.counts());
}

#[test]
fn a_bad_row_of_a_large_file_is_named_by_its_part() {
    let fixture = Fixture::new();
    let mut text = quoted_rows(120_000);
    let at = text.len();
    text.push_str("x,y\n");
    fixture.server.put("b", "bad.csv", text);
    let table = fixture.s3("b/bad.csv", &["CSVWithNames", "id Int64, text String"]).unwrap();
    let error = fixture.query(&table, "select sum(id) from t").unwrap_err();
    assert!(error.contains("of the part from byte ") && error.contains(&format!("byte {at})")), "{error}");
}

#[test]
fn a_cut_stream_is_an_error_naming_the_file() {
    let fixture = Fixture::new();
    for (method, _) in METHODS {
        let whole = compressed(method, &"1,some text to compress\n".repeat(1000));
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
    assert_eq!((error.kind(), error.code().number()), (SourceErrorKind::NotFound, 107));
    let error = fixture.resolve("file", &["/etc/*", structure[0], structure[1]]).unwrap_err();
    assert_eq!(error.code().number(), 291);
}

#[test]
fn frames_of_a_compressed_file_are_read_in_order_by_several_streams() {
    let fixture = Fixture::new();
    let long: String = (0..400_000).map(|n| format!("{n},\"text of row\n {n}\"\n")).collect();
    for method in ["zst", "bz2", "xz"] {
        let file: Vec<u8> = long
            .as_bytes()
            .chunks(700_001)
            .flat_map(|text| compressed(method, std::str::from_utf8(text).unwrap()))
            .collect();
        let path = format!("frames.csv.{method}");
        fixture.server.put("b", &path, file);
        let table = fixture.s3(&format!("b/{path}"), &["CSV", "n Int64, s String"]).unwrap();
        let sql = "select count(*), sum(n), sum(length(s)), max(s) from t";
        let shown = fixture.query(&table, sql).unwrap();
        assert_eq!(shown, ["400000|79999800000|7488890|text of row\n 99999"], "{method}");
        let rows = fixture.units(&table, 1 << 30).unwrap();
        assert!(rows.iter().enumerate().all(|(n, row)| row.starts_with(&format!("{n}|"))), "{method}");
        let notes = fixture.run(table.compression_notes()).unwrap().join("\n");
        assert!(notes.contains("in parallel") && notes.contains(&path), "{notes}");
    }
    assert_eq!(fixture.env.memory.used(), 0);
    fixture.server.put("b", "liar.csv.gz", compressed("zst", CSV));
    let table = fixture.s3("b/liar.csv.gz", &["CSV", "n Int64, s String"]).unwrap();
    assert_eq!(
        fixture.run(table.compression_notes()).unwrap(),
        [
            "compressed as zstd, which the name does not say, 1 file(s): liar.csv.gz",
            "not splittable: zstd, 1 file(s): liar.csv.gz"
        ]
    );
}

#[test]
fn the_largest_window_of_zstd_is_a_setting() {
    let mut fixture = Fixture::new();
    // A frame with a window of 2^28 bytes: a raw block.
    let frame = [&b"\x28\xb5\x2f\xfd\x00\x90\x31\x00\x00"[..], b"7,wide"].concat();
    fixture.server.put("b", "wide.csv.zst", frame);
    let read = |fixture: &Fixture| {
        let table = fixture.s3("b/wide.csv.zst", &["CSV", "n Int64, s String"]).unwrap();
        fixture.query(&table, "select s from t")
    };
    let error = read(&fixture).unwrap_err();
    assert!(error.contains("window is larger than 128 MiB"), "{error}");
    fixture.settings(|settings| settings.zstd_window_log_max = 28);
    assert_eq!(read(&fixture).unwrap(), ["wide"]);
    fixture.settings(|settings| settings.zstd_window_log_max = 32);
    let error = read(&fixture).unwrap_err();
    assert!(error.contains("zstd_window_log_max = 32"), "{error}");
}

#[test]
fn rows_of_a_large_text_file_have_numbers() {
    let fixture = Fixture::new();
    let text: String = (0..1_000_000).map(|n| format!("{n},some text\n")).collect();
    fixture.server.put("numbers", "a.csv", text);
    let table = fixture.s3("numbers/a.csv", &["CSV", "n Int64, s String"]).unwrap();
    let found = fixture
        .query(&table, "select count(*), sum(_row_number), max(_row_number) from t where _row_number = n");
    assert_eq!(found.unwrap(), ["1000000|499999500000|999999"]);
    // Who does not ask for them reads with several streams as before.
    assert_eq!(fixture.query(&table, "select count(*) from t where n % 2 = 0").unwrap(), ["500000"]);
}
