//! Text files cut into ranges that are read by themselves: together they are the file.

use std::fmt::Write as _;

use sources::{ObjectTable, SourceUnit};

use crate::fixture::Fixture;

const MARK: &str = "\u{feff}";
const COLUMNS: &str = "id Int64, text String";

/// Rows with line ends in quotes, one of them longer than a range; about `rows` * 60 bytes.
fn file(format: &str, rows: usize) -> String {
    let mut file = match format {
        "CSVWithNames" => "text,other,id\n".to_owned(),
        "TSVWithNamesAndTypes" => "text\tid\nString\tInt64\n".to_owned(),
        "JSONCompactEachRowWithNames" => "[\"id\", \"text\"]\n".to_owned(),
        _ => String::new(),
    };
    for id in 0..rows {
        let long = if id == rows / 2 { "long ".repeat(100_000) } else { "some ".repeat(id % 20) };
        let (quote, end) = (id % 3 == 0, if id % 7 == 0 { "\r\n" } else { "\n" });
        let written = match format {
            "CSV" if quote => write!(file, "{id},\"{long}\n\"\"{id}\"{end}"),
            "CSV" => write!(file, "{id},{long}{id}{end}"),
            "CSVWithNames" if quote => write!(file, "\"{long}\n\"\"{id}\",7,{id}{end}"),
            "CSVWithNames" => write!(file, "{long}{id},\"\n\",{id}{end}"),
            // A line end behind a backslash belongs to the cell.
            "TSV" if quote => writeln!(file, "{id}\t{long}\\\n\\\\{id}"),
            "TSV" => writeln!(file, "{id}\t{long}{id}"),
            "TSVWithNamesAndTypes" => writeln!(file, "{long}\\n{id}\t{id}"),
            "JSONEachRow" if quote => {
                writeln!(file, "{{\"text\": \"{long}\\\"}}{{\\n{id}\",\n \"id\": {id}}}")
            }
            "JSONEachRow" => {
                writeln!(file, "{{\"id\": {id}, \"text\": \"{long}{id}\", \"more\": [1, {{}}]}}")
            }
            _ => writeln!(file, "[{id}, \"{long}]{id}\"]"),
        };
        written.unwrap();
    }
    file
}

fn ranges(fixture: &Fixture, table: &ObjectTable, from: u64) -> Vec<SourceUnit> {
    let unit = |range: std::ops::Range<u64>| SourceUnit {
        file: 0,
        row_groups: None,
        bytes: range.end - range.start,
        range: Some(range),
        rows: None,
        share: None,
    };
    fixture.run(async {
        let mut cut = table.ranges(0, from).unwrap();
        let mut units = Vec::new();
        while let Some(range) = cut.next().await.unwrap() {
            units.push(unit(range));
        }
        assert_eq!(cut.next().await.unwrap(), None);
        units
    })
}

fn small_ranges(fixture: &mut Fixture) {
    fixture.settings(|settings| {
        settings.parsing_chunk_bytes = 64 << 10;
        settings.max_download_buffer_size = 100_000;
    });
}

#[test]
fn the_ranges_of_a_file_are_its_rows_wherever_the_cut_goes_on() {
    let mut fixture = Fixture::new();
    small_ranges(&mut fixture);
    for format in [
        "CSV",
        "CSVWithNames",
        "TSV",
        "TSVWithNamesAndTypes",
        "JSONEachRow",
        "JSONCompactEachRow",
        "JSONCompactEachRowWithNames",
    ] {
        let marks = if ["CSV", "JSONEachRow"].contains(&format) { &["", MARK][..] } else { &[""] };
        for mark in marks {
            let text = format!("{mark}{}", file(format, 16_000));
            fixture.server.put("b", "file", text.clone());
            let table = fixture.s3("b/file", &[format, COLUMNS, "none"]).unwrap();
            let whole = fixture.units(&table, 1 << 30).unwrap();
            assert_eq!(whole.len(), 16_000, "{format}");
            assert_eq!(fixture.run(table.files_to_cut(6)).unwrap(), [0], "{format}");
            let units = ranges(&fixture, &table, 0);
            assert!(units.len() > 3, "{format}: {}", units.len());
            assert!(fixture.rows_of(&table, &units).unwrap() == whole, "{format}");
            // Whoever goes on may cut elsewhere, and whoever reads begins anywhere.
            let middle = units.len() / 2;
            let from = units[middle].range.as_ref().unwrap().start;
            let again = ranges(&fixture, &table, from);
            let table = fixture.s3("b/file", &[format, COLUMNS, "none"]).unwrap();
            let before = fixture.rows_of(&table, &units[..middle]).unwrap().len();
            let rows = fixture.rows_of(&table, &again).unwrap();
            assert!(rows == whole[before..], "{format}");
        }
    }
}

#[test]
fn a_header_that_is_told_by_its_cells_is_no_row_of_any_range() {
    let mut fixture = Fixture::new();
    small_ranges(&mut fixture);
    let text = file("CSV", 30_000);
    fixture.server.put("b", "named.csv", format!("id,text\n{text}"));
    let table = fixture.s3("b/named.csv", &["CSV"]).unwrap();
    let whole = fixture.units(&table, 1 << 30).unwrap();
    let units = ranges(&fixture, &table, 0);
    assert_eq!(whole.len(), 30_000);
    assert!(fixture.rows_of(&table, &units).unwrap() == whole);
}

#[test]
fn what_cannot_be_read_from_the_middle_is_not_cut() {
    let mut fixture = Fixture::new();
    small_ranges(&mut fixture);
    let text = file("CSV", 30_000);
    // Nobody looks further than at the first bytes.
    let gzip = [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], text.as_bytes()].concat();
    fixture.server.put("b", "plain", text.clone());
    fixture.server.put("b", "packed", gzip);
    fixture.server.put(
        "b",
        "array",
        format!("[{}]", file("JSONCompactEachRow", 30_000).replace("]\n", "],\n")),
    );
    fixture.server.put("b", "long", format!("0,{}\n{text}", "x".repeat(200_000)));
    fixture.server.put("b", "small", "1,a\n".repeat(1000));
    for (key, format, cut) in [
        ("plain", "CSV", true),
        ("packed", "CSV", false),
        ("array", "JSONCompactEachRow", false),
        ("long", "CSV", false),
        ("small", "CSV", false),
        ("plain", "CustomSeparated", false),
    ] {
        let table = fixture.s3(&format!("b/{key}"), &[format, COLUMNS]).unwrap();
        let expected: &[usize] = if cut { &[0] } else { &[] };
        assert_eq!(fixture.run(table.files_to_cut(6)).unwrap(), expected, "{key} as {format}");
    }
    fixture.settings(|settings| settings.parallel_parsing = false);
    let table = fixture.s3("b/plain", &["CSV", COLUMNS]).unwrap();
    assert!(fixture.run(table.files_to_cut(6)).unwrap().is_empty());
}

#[test]
fn a_row_that_cannot_be_read_is_named_by_its_range() {
    let mut fixture = Fixture::new();
    small_ranges(&mut fixture);
    let good = file("CSV", 20_000);
    fixture.server.put("b", "bad.csv", format!("{good}x,1\n{good}"));
    let table = fixture.s3("b/bad.csv", &["CSV", COLUMNS]).unwrap();
    let units = ranges(&fixture, &table, 0);
    let holds = |unit: &SourceUnit| unit.range.as_ref().unwrap().contains(&(good.len() as u64));
    let at = units.iter().position(holds).unwrap();
    let error = fixture.rows_of(&table, &units[at..=at]).unwrap_err().to_string();
    let begin = units[at].range.as_ref().unwrap().start;
    assert!(error.contains("b/bad.csv") && error.contains(&format!("part from byte {begin} on")), "{error}");
    assert!(
        fixture.rows_of(&table, &units[..at]).is_ok() && fixture.rows_of(&table, &units[at + 1..]).is_ok()
    );
}

#[test]
fn an_array_behind_objects_is_no_row_wherever_the_file_is_cut() {
    let mut fixture = Fixture::new();
    small_ranges(&mut fixture);
    let objects = file("JSONEachRow", 12_000);
    let array = format!("[\n{}]\n", objects.replace("}\n", "},\n"));
    for text in [format!("{objects}{array}"), array] {
        fixture.server.put("b", "array", text.clone());
        let table = fixture.s3("b/array", &["JSONEachRow", COLUMNS]).unwrap();
        let whole = fixture.units(&table, 1 << 30).map_err(|error| error.to_string().len() > 10);
        let parts = fixture.rows_of(&table, &ranges(&fixture, &table, 0));
        assert_eq!(parts.is_ok(), whole.is_ok(), "{}", &text[..20]);
    }
}
