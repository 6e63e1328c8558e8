//! What a store says of a file beside its bytes: tags of objects, heads of pages, and what asking for them costs.

use sources::VirtualColumn;
use stores::SourceErrorKind;

use crate::fixture::Fixture;
use crate::s3_server::Fault;
use crate::web::{Page, WebServer};

const STRUCTURE: [&str; 2] = ["CSV", "n Int64"];

fn of_three() -> Fixture {
    let fixture = Fixture::new();
    for (key, text) in [("d/1.csv", "1\n"), ("d/2 3.csv", "2\n3\n"), ("d/bare.csv", "4\n")] {
        fixture.server.put("b", key, text);
    }
    fixture
}

#[test]
fn tags_are_asked_for_where_they_are_named() {
    let fixture = of_three();
    let table = fixture.s3("b/d/*.csv", &STRUCTURE).unwrap();
    fixture.server.forget_arrived();
    let table = fixture.run(table.with_columns_named(|_| false).with_tags()).unwrap();
    assert_eq!(fixture.server.counts(), (0, 0, 0), "nobody named them");
    let table = fixture.run(table.with_columns_named(|name| name == "_tags").with_tags()).unwrap();
    assert_eq!(fixture.server.counts(), (0, 0, 3), "one request a file");
    let units = fixture.run(table.units(1000)).unwrap();
    let mut shown = fixture.rows_of(&table, &units).unwrap();
    shown.sort();
    assert_eq!(
        shown,
        ["1|{a&b: <1>, of: d/1.csv}", "2|{a&b: <1>, of: d/2 3.csv}", "3|{a&b: <1>, of: d/2 3.csv}", "4|{}",]
    );
}

#[test]
fn tags_that_are_refused_are_an_error_and_passing_trouble_is_none() {
    let fixture = of_three();
    let tagged = |fixture: &Fixture| {
        let table = fixture.s3("b/d/1.csv", &STRUCTURE).unwrap();
        fixture.run(table.with_virtual_columns(&[VirtualColumn::Tags]).with_tags())
    };
    fixture.server.fail("tagging", Fault::Status(503, "SlowDown"), 2);
    assert!(tagged(&fixture).is_ok());
    fixture.server.fail("tagging", Fault::Status(403, "AccessDenied"), 1);
    let error = tagged(&fixture).unwrap_err();
    assert_eq!((error.kind(), error.http_status()), (SourceErrorKind::Denied, Some(403)));
    let text = error.to_string();
    assert!(text.contains("the tags of \"b/d/1.csv\"") && text.contains("AccessDenied"), "{text}");
}

#[test]
fn pages_show_the_head_they_came_with() {
    let fixture = Fixture::new();
    let server = WebServer::start(&fixture.runtimes);
    let content = b"1\n2\n".to_vec();
    for gives_ranges in [true, false] {
        server.put(
            "/x.csv",
            Page { content: content.clone(), gives_ranges, etag: Some("\"e\""), ..Page::default() },
        );
        let table = fixture.resolve("url", &[&server.url("/x.csv"), STRUCTURE[0], STRUCTURE[1]]).unwrap();
        let shown = fixture.query(&table, "select n, _tags, _headers from t order by n").unwrap();
        for (row, begin) in shown.iter().zip(["1|{}|{Content-Length: 4, ", "2|{}|{Content-Length: 4, "]) {
            assert!(
                row.starts_with(begin) && row.contains(", ETag: \"e\", "),
                "ranges {gives_ranges}: {row}"
            );
            assert!(row.contains("Last-Modified: Sun, 13 Sep") && !row.contains("Content-Range"), "{row}");
        }
        assert_eq!(shown.len(), 2);
    }
    let of_bucket = of_three().s3("b/d/1.csv", &STRUCTURE).unwrap();
    assert!(
        of_bucket.with_virtual_columns(&VirtualColumn::ALL).schema().column_with_name("_headers").is_none()
    );
}
