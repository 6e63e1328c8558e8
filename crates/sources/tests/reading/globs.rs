//! The vectors of the glob grammar, with the requests they cost.

use stores::SourceErrorKind;

use crate::fixture::Fixture;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for key in ["a/1.csv", "a/2.csv", "a/b/3.csv", "a/10.csv"] {
        fixture.server.put("b", key, "x\n");
    }
    fixture
}

#[test]
fn vectors_and_their_requests() {
    let fixture = fixture();
    for (pattern, keys, counts) in [
        ("b/a/*.csv", &["a/1.csv", "a/10.csv", "a/2.csv"][..], (1, 0, 0)),
        ("b/a/**.csv", &["a/1.csv", "a/10.csv", "a/2.csv", "a/b/3.csv"], (1, 0, 0)),
        ("b/a/?.csv", &["a/1.csv", "a/2.csv"], (1, 0, 0)),
        ("b/a/{1,10}.csv", &["a/1.csv", "a/10.csv"], (0, 2, 0)),
        ("b/a/{1..3}.csv", &["a/1.csv", "a/2.csv"], (1, 0, 0)),
        ("b/**/3.csv", &["a/b/3.csv"], (1, 0, 0)),
        ("b/a/{0..10000}{0..10000}.csv", &["a/10.csv"], (1, 0, 0)),
        ("b/a/{1,b/}*.csv", &["a/1.csv", "a/10.csv", "a/b/3.csv"], (2, 0, 0)),
        ("b/none/*", &[], (1, 0, 0)),
        ("b/a/{1,1,10,1}.csv", &["a/1.csv", "a/10.csv"], (0, 2, 0)),
        ("b/a/{1,?}.csv", &["a/1.csv", "a/2.csv"], (1, 0, 0)),
        ("b/a/{2..1}.csv", &["a/1.csv", "a/2.csv"], (1, 0, 0)),
        ("b/a/{01..10}.csv", &["a/10.csv"], (1, 0, 0)),
        ("b/{a,a/b}/*.csv", &["a/1.csv", "a/10.csv", "a/2.csv", "a/b/3.csv"], (1, 0, 0)),
        ("b/a/1.csv", &["a/1.csv"], (0, 1, 0)),
        ("b/**", &["a/1.csv", "a/10.csv", "a/2.csv", "a/b/3.csv"], (1, 0, 0)),
        ("b/*", &[], (1, 0, 0)),
    ] {
        fixture.server.forget_arrived();
        assert_eq!(fixture.keys(pattern).unwrap(), keys, "{pattern}");
        assert_eq!(fixture.server.counts(), counts, "{pattern}");
    }
}

#[test]
fn an_exact_key_that_is_missing_is_an_error_unless_ignored() {
    let mut fixture = fixture();
    let error = fixture.keys("b/a/{1,3}.csv").unwrap_err();
    assert_eq!(
        (error.kind(), error.code().number(), error.http_status()),
        (SourceErrorKind::NotFound, 499, Some(404))
    );
    assert!(error.to_string().contains("\"b/a/3.csv\" does not exist"), "{error}");
    assert_eq!(error.s3_code(), Some("NoSuchKey"));
    fixture.settings(|settings| settings.ignore_missing = true);
    assert_eq!(fixture.keys("b/a/{1,3}.csv").unwrap(), ["a/1.csv"]);
}

#[test]
fn listings_have_pages() {
    let mut fixture = fixture();
    for i in 0..25 {
        fixture.server.put("pages", &format!("k/{i:03}.csv"), "x\n");
    }
    fixture.settings(|settings| settings.list_page_keys = 10);
    fixture.server.forget_arrived();
    assert_eq!(fixture.keys("pages/k/{000..019}.csv").unwrap().len(), 20);
    assert_eq!(fixture.server.counts(), (3, 0, 0));
}

#[test]
fn empty_files_and_no_files() {
    let mut fixture = fixture();
    fixture.server.put("b", "e/empty.csv", "");
    fixture.server.put("b", "e/full.csv", "x\n");
    assert_eq!(fixture.keys("b/e/*").unwrap(), ["e/full.csv"]);
    let error = fixture.s3("b/none/*.csv", &[]).unwrap_err();
    assert_eq!((error.kind(), error.code().number()), (SourceErrorKind::NoStructure, 636));
    fixture.settings(|settings| settings.throw_on_zero_files = true);
    assert_eq!(fixture.keys("b/none/*").unwrap_err().kind(), SourceErrorKind::NotFound);
}

#[test]
fn too_many_braces_are_worth_a_word() {
    let fixture = fixture();
    let table = fixture.s3("b/a/{0..10000}{0..10000}.csv", &["CSV", "a String"]).unwrap();
    assert!(table.notes().iter().any(|note| note.contains("100020001 keys")), "{:?}", table.notes());
}

#[test]
fn folders_are_no_files() {
    let mut fixture = fixture();
    for key in ["f/", "f/deep/", "f/deep/1.csv", "f/2.csv"] {
        fixture.server.put("b", key, if key.ends_with('/') { "" } else { "x\n" });
    }
    for skip_empty_files in [true, false] {
        fixture.settings(|settings| settings.skip_empty_files = skip_empty_files);
        assert_eq!(fixture.keys("b/f/**").unwrap(), ["f/2.csv", "f/deep/1.csv"]);
        assert_eq!(fixture.keys("b/f/*").unwrap(), ["f/2.csv"]);
    }
}

#[test]
fn keys_are_literal_after_decoding() {
    let fixture = fixture();
    for key in ["odd/a b.csv", "odd/a+b.csv", "odd/100%.csv", "odd/ü.csv"] {
        fixture.server.put("b", key, "x\n");
    }
    for (pattern, key) in [
        ("b/odd/a%20b.csv", "odd/a b.csv"),
        ("b/odd/a b.csv", "odd/a b.csv"),
        ("b/odd/a+b.csv", "odd/a+b.csv"),
        ("b/odd/100%.csv", "odd/100%.csv"),
        ("b/odd/100%25.csv", "odd/100%.csv"),
        ("b/odd/%C3%BC.csv", "odd/ü.csv"),
        ("b/odd/1?0%.csv", "odd/100%.csv"),
    ] {
        assert_eq!(fixture.keys(pattern).unwrap(), [key], "{pattern}");
    }
}

#[test]
fn keys_with_folders_without_a_name_are_listed_and_read() {
    let fixture = Fixture::new();
    for (key, content) in [
        ("x.csv", "1\n"),
        ("/x.csv", "2\n"),
        ("a//x.csv", "3\n"),
        ("a/x.csv", "4\n"),
        ("a///deep/x.csv", "5\n"),
        ("//", ""),
        ("a/./x.csv", "6\n"),
    ] {
        fixture.server.put("odd", key, content);
    }
    let read = |path: &str| {
        let table = fixture.s3(&format!("odd/{path}"), &["CSV", "n Int64"]).unwrap();
        fixture.query(&table, "select n, _path from t order by n").unwrap().join(" ")
    };
    for (path, expected) in [
        ("x.csv", "1|odd/x.csv"),
        ("/x.csv", "2|odd//x.csv"),
        ("a//x.csv", "3|odd/a//x.csv"),
        ("*.csv", "1|odd/x.csv"),
        ("/*.csv", "2|odd//x.csv"),
        ("a//*", "3|odd/a//x.csv"),
        ("a/*", "4|odd/a/x.csv"),
        ("a///**", "5|odd/a///deep/x.csv"),
        ("{,/}x.csv", "1|odd/x.csv 2|odd//x.csv"),
        ("a{/,//}*.csv", "3|odd/a//x.csv 4|odd/a/x.csv"),
    ] {
        assert_eq!(read(path), expected, "{path}");
    }
    // One key that no URL can hold spoils no listing: only reading it is an error that names it.
    let table = fixture.s3("odd/a/**", &["CSV", "n Int64"]).unwrap();
    assert_eq!(table.files().len(), 4);
    let error = fixture.query(&table, "select sum(n) from t where n > 0").unwrap_err();
    assert!(error.contains("\"odd/a/./x.csv\" cannot be addressed"), "{error}");
}
