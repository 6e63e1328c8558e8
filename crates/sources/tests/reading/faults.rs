//! What a store can do to us, and what we say then.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use stores::SourceErrorKind;
use stores::credentials::{AccessKey, S3Environment, Secret};

use crate::fixture::{Fixture, parquet};
use crate::s3_server::Fault;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let columns: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from_iter_values(0..50_000)))];
    fixture.server.put("b", "f.parquet", parquet(columns, 10_000));
    fixture
}

#[test]
fn names_that_do_not_exist() {
    let fixture = fixture();
    for (path, words, s3_code) in [
        ("nope/f.parquet", "bucket \"nope\" does not exist", "NoSuchBucket"),
        ("nope/*.parquet", "bucket \"nope\" does not exist", "NoSuchBucket"),
        ("b/g.parquet", "key \"b/g.parquet\" does not exist", "NoSuchKey"),
    ] {
        let error = fixture.s3(path, &[]).unwrap_err();
        assert_eq!(
            (error.kind(), error.code().number(), error.s3_code()),
            (SourceErrorKind::NotFound, 499, Some(s3_code))
        );
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn refusals_are_not_retried_and_say_why() {
    let fixture = fixture();
    fixture.server.fail("b/f.parquet", Fault::Status(403, "AccessDenied"), 100);
    let error = fixture.s3("b/f.parquet", &[]).unwrap_err();
    assert_eq!((error.kind(), error.http_status()), (SourceErrorKind::Denied, Some(403)));
    assert_eq!(error.request_id(), Some("req-1"));
    assert!(error.to_string().contains("was not signed: give an access key id"), "{error}");
    assert_eq!(fixture.server.counts(), (0, 1, 1));
}

#[test]
fn ambient_credentials_that_are_refused_are_left_out() {
    let mut fixture = fixture();
    fixture.server.refuse_signed();
    let key = AccessKey { id: "env-id".to_owned(), secret: Secret::new("env-secret"), session_token: None };
    fixture.env.environment = S3Environment { key: Some(key), ..S3Environment::default() };
    let table = fixture.s3("b/*.parquet", &[]).unwrap();
    assert!(table.notes().iter().any(|note| note.contains("without a signature")), "{:?}", table.notes());
    assert_eq!(fixture.query(&table, "select count(*) from t where n >= 0").unwrap(), ["50000"]);
    // Explicit ones are not.
    let error = fixture.s3("b/*.parquet", &["my-id", "my-secret"]).unwrap_err();
    assert_eq!((error.kind(), error.s3_code()), (SourceErrorKind::Denied, Some("InvalidAccessKeyId")));
    assert!(!format!("{error} {error:?}").contains("my-secret"), "{error:?}");
}

#[test]
fn passing_trouble_is_passed_over() {
    let fixture = fixture();
    fixture.server.fail("list-type", Fault::Status(503, "SlowDown"), 2);
    fixture.server.fail("b/f.parquet", Fault::Status(500, "InternalError"), 1);
    fixture.server.fail("b/f.parquet", Fault::Truncated, 2);
    let table = fixture.s3("b/*.parquet", &[]).unwrap();
    fixture.server.fail("b/f.parquet", Fault::Truncated, 3);
    assert_eq!(fixture.query(&table, "select sum(n) from t where n >= 0").unwrap(), ["1249975000"]);
}

#[test]
fn lasting_trouble_ends_and_names_its_place() {
    let fixture = fixture();
    let table = fixture.s3("b/f.parquet", &[]).unwrap();
    fixture.server.fail("b/f.parquet", Fault::Status(503, "SlowDown"), 1000);
    fixture.server.forget_arrived();
    let error = fixture.query(&table, "select n from t where n > 49000").unwrap_err();
    assert!(error.contains("\"b/f.parquet\" failed: injected"), "{error}");
    assert!(error.contains("bytes ") && error.contains("HTTP 503") && error.contains("SlowDown"), "{error}");
    assert!(fixture.server.arrived().len() <= 8, "{:?}", fixture.server.arrived());
}

#[test]
fn an_object_replaced_meanwhile_is_noticed() {
    let fixture = fixture();
    let table = fixture.s3("b/f.parquet", &[]).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from_iter_values(7..50_007)))];
    fixture.server.put("b", "f.parquet", parquet(columns, 10_000));
    let error = fixture.query(&table, "select n from t").unwrap_err();
    assert!(error.contains("replaced while it was being read"), "{error}");
    // Asked again, the new version is read: neither footer nor schema of the old one is used.
    let table = fixture.s3("b/f.parquet", &[]).unwrap();
    assert_eq!(fixture.query(&table, "select min(n) from t").unwrap(), ["7"]);
}

#[test]
fn cut_files_and_wrong_magic() {
    let fixture = fixture();
    let columns: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from_iter_values(0..50_000)))];
    let whole = parquet(columns, 10_000);
    fixture.server.put("bad", "cut.parquet", whole.slice(..whole.len() / 2));
    fixture.server.put("bad", "text.parquet", "not parquet at all");
    let mut torn = whole.to_vec();
    torn.drain(100..20_000);
    fixture.server.put("bad", "torn.parquet", torn);
    fixture.server.put("bad", "empty.parquet", "");
    let error = fixture.s3("bad/cut.parquet", &[]).unwrap_err();
    assert_eq!(
        (error.kind(), error.code().number(), error.file()),
        (SourceErrorKind::Corrupt, 117, Some("bad/cut.parquet"))
    );
    assert!(error.to_string().contains("is cut"), "{error}");
    let error = fixture.s3("bad/text.parquet", &[]).unwrap_err();
    assert!(error.to_string().contains("is not a Parquet file: wrong magic bytes"), "{error}");
    // Its footer is whole and speaks of bytes that are not there.
    let error = fixture.s3("bad/torn.parquet", &[]).unwrap_err();
    assert_eq!(error.file(), Some("bad/torn.parquet"));
    assert!(error.to_string().contains("outside of the file"), "{error}");
}

#[test]
fn formats_and_suffixes_we_do_not_read() {
    let fixture = fixture();
    fixture.server.put("odd", "x.dat", "?");
    fixture.server.put("odd", "x.orc", "ORC");
    assert_eq!(fixture.s3("odd/x.dat", &[]).unwrap_err().code().number(), 715);
    assert_eq!(fixture.s3("odd/x.orc", &[]).unwrap_err().code().number(), 48);
    assert_eq!(fixture.s3("odd/x.dat", &["Foo"]).unwrap_err().code().number(), 73);
    assert_eq!(fixture.s3("odd/x.dat", &["CSV", "a Int8", "rar"]).unwrap_err().code().number(), 48);
    assert_eq!(fixture.s3("odd/x.dat", &["CSV", "a Foo"]).unwrap_err().code().number(), 36);
}

#[test]
fn memory_that_is_refused_slows_and_does_not_fail() {
    let mut fixture = fixture();
    fixture.env.memory = host::MemoryBudget::new(1);
    let table = fixture.s3("b/f.parquet", &[]).unwrap();
    assert_eq!(fixture.query(&table, "select sum(n) from t where n >= 0").unwrap(), ["1249975000"]);
    assert_eq!(fixture.env.memory.used(), 0);
}
