//! Credentials put wherever a statement takes or mistakes them, and every output searched for them.
//!
//! Invariant: each place has a text of its own, so a leak names its place.

use std::fs;
use std::path::Path;

use engine::{Collection, CollectionValue, Config, Request, Session};

use crate::support::{drawn, quiet_at, with_database};

/// Statements with `KEY` where a credential stands. The host answers nothing, so what reaches it fails.
const PLACES: &[&str] = &[
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'KEY', 'secret')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'secret', 'KEY', 'CSV', 'a Int8')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'secret', 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', access_key_id = 'id', secret_access_key = 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', session_token = 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'CSV', 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'CSV', 'a Int8', 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', NOSIGN, 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', nosuch = 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY' || 'x')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', upper('KEY'))",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', a, b, c, 'd', 'e', 'f', 'g', 'KEY')",
    "SELECT * FROM s3(format = 'CSV', 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', headers('Authorization' = 'KEY'), 'CSV', 'a Int8')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', extra_credentials(role_arn = 'KEY'))",
    "SELECT * FROM s3Cluster('default', 'http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv?X-Amz-Signature=KEY', 'CSV', 'a Int8')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv?X-Amz-Security-Token=KEY&a=b', 'CSV', 'a Int8')",
    "SELECT * FROM s3('http://us:KEY@127.0.0.1:1/b/x.csv', 'CSV', 'a Int8')",
    "SELECT * FROM s3(nosuch_collection, secret_access_key = 'KEY')",
    "SELECT * FROM s3(mine, format = 'CSV', structure = 'a Int8')",
    "SELECT * FROM s3(configured, format = 'CSV', structure = 'a Int8')",
    "SELECT * FROM gcs('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "SELECT * FROM url('http://127.0.0.1:1/x.csv', 'CSV', 'a Int8', headers('X-Api' = 'KEY'))",
    "SELECT * FROM url('http://us:KEY@127.0.0.1:1/x.csv', 'CSV', 'a Int8')",
    "SELECT * FROM url('http://127.0.0.1:1/x.csv?sig=KEY', 'CSV', 'a Int8')",
    "SELECT * FROM azureBlobStorage('AccountName=a;AccountKey=KEY;BlobEndpoint=http://127.0.0.1:1/a', 'c', 'x.csv', 'CSV')",
    "SELECT * FROM azureBlobStorage('http://127.0.0.1:1/a', 'c', 'x.csv', 'account', 'KEY', 'CSV', 'auto', 'a Int8')",
    "SELECT * FROM azureBlobStorage('http://127.0.0.1:1/a?sv=1&sig=KEY', 'c', 'x.csv', 'CSV')",
    "SELECT * FROM file('/nosuch/x.csv', 'CSV', secret_access_key = 'KEY')",
    // Syntax errors before, in and behind the call.
    "SELECT * FRO s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv' 'id' 'KEY')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY'",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY') WHERE AND",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY') FORMAT Nosuch",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY') SETTINGS nosuch = 1",
    "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY') SETTINGS max_threads = 'x'",
    // Comments.
    "SELECT 1 -- FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY')",
    "SELECT 1 -- FROM s3('http://127.0.0.1:1/b/x.csv',\n-- 'id',\n-- 'KEY')",
    "SELECT 1 /* secret_access_key = 'KEY' */",
    "SELECT nosuch /* s3('u', 'id', 'KEY') */ FROM numbers(1)",
    // Other statements.
    "SET password = 'KEY'",
    "SELECT 1 SETTINGS secret_access_key = 'KEY'",
    "EXPLAIN SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "EXPLAIN SELECT * FROM s3('http://127.0.0.1:1/b/{a,b}*.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "EXPLAIN AST SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV')",
    "EXPLAIN AST SELECT * FROM url('http://us:KEY@127.0.0.1:1/x.csv', 'CSV')",
    "EXPLAIN SYNTAX SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV')",
    "EXPLAIN SYNTAX SELECT * FROM s3('http://127.0.0.1:1/b/x.csv?X-Amz-Signature=KEY', 'CSV')",
    "EXPLAIN LOAD INSERT INTO t SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "EXPLAIN INSERT INTO FUNCTION s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV') SELECT 1",
    "DESCRIBE s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY')",
    "DESCRIBE TABLE s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV')",
    "DESCRIBE (SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV'))",
    "INSERT INTO t SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "INSERT INTO t WITH LABEL l SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8')",
    "INSERT INTO FUNCTION s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8') VALUES (1)",
    "INSERT INTO FUNCTION s3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV', 'a Int8') SELECT 1",
    "INSERT INTO outside VALUES (1)",
    "SELECT * FROM outside",
    "EXPLAIN SELECT * FROM outside",
    "KILL QUERY WHERE query = 's3(''u'', ''id'', ''KEY'')' AND secret_access_key = 'KEY'",
    "CREATE TABLE no1 ENGINE = S3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV')",
    "CREATE TABLE no2 (a Int8) ENGINE = S3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY', 'CSV') ORDER BY a",
    "CREATE TABLE no3 (a Int8) ENGINE = S3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY' || 'x')",
    "CREATE TABLE no4 (a Int8) ENGINE = S3('http://127.0.0.1:1/b/x.csv', 1, 2, 3, 4, 5, 6, 'KEY')",
    "CREATE TABLE no5 (a Int8) ENGINE = S3('http://127.0.0.1:1/b/x.csv', 'id', 'KEY'",
    "CREATE TABLE no6 (a Int8) ENGINE = Nosuch('http://127.0.0.1:1/b/x.csv', secret_access_key = 'KEY')",
    "CREATE NAMED COLLECTION no7 AS a = 'KEY', a = 1",
    "CREATE NAMED COLLECTION no8 AS a 'KEY'",
    "CREATE NAMED COLLECTION no9 AS a = 'KEY",
    "CREATE NAMED COLLECTION mine AS a = 'KEY'",
    "ALTER NAMED COLLECTION nosuch SET a = 'KEY'",
    "ALTER NAMED COLLECTION mine SET a = 'KEY' DELETE nosuch",
    "ALTER NAMED COLLECTION configured SET a = 'KEY'",
];

/// Statements that keep a credential in the catalog.
const KEPT: &[&str] = &[
    "CREATE NAMED COLLECTION mine AS url = 'http://127.0.0.1:1/b/x.csv', access_key_id = 'kept_KEY_id', \
     secret_access_key = 'kept_KEY'",
    "CREATE TABLE outside (a Int8) ENGINE = S3('http://127.0.0.1:1/b/x.csv', 'kept_KEY_id', 'kept_KEY', 'CSV')",
    "CREATE TABLE linked (a Int8) ENGINE = URL('http://us:kept_KEY@127.0.0.1:1/x.csv?sig=kept_KEY', 'CSV')",
];

const OUTPUTS: &[&str] = &[
    "SELECT * FROM system.query_log",
    "SELECT * FROM system.processes",
    "SELECT * FROM system.tables",
    "SELECT * FROM system.columns",
    "SELECT * FROM system.named_collections",
    "SELECT * FROM system.loads",
    "SELECT * FROM system.load_files",
    "SELECT * FROM system.schema_inference_cache",
    "SELECT * FROM system.settings",
    "SHOW CREATE TABLE outside",
    "SHOW CREATE TABLE linked",
    "SHOW PROCESSLIST",
    "SHOW PROFILELIST",
    "SHOW LOAD",
    "DESCRIBE TABLE outside",
];

/// What a client sees of a statement: rows, warnings or the error.
async fn seen(session: &Session, sql: &str) -> String {
    match session.execute(Request::new(sql)).await {
        Ok(outcome) => {
            let warnings = outcome.warnings.join("\n");
            match outcome.collect().await {
                Ok(batches) => format!("{warnings}\n{}", drawn(&batches)),
                Err(error) => format!("{warnings}\n{error} {error:?}"),
            }
        }
        Err(error) => format!("{error} {error:?}"),
    }
}

/// The texts that mark a place, as they may appear in an output.
fn marks(text: &str) -> Vec<String> {
    let starts = text.match_indices("leaky").map(|(at, _)| at);
    starts.map(|at| text[at..].chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
}

/// Bytes of files below a folder, but for the log and its checkpoints, which have to hold what they keep.
fn other_files(folder: &Path, found: &mut Vec<u8>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("wal") && !path.ends_with("ckpt") {
            other_files(&path, found);
        } else if path.is_file() {
            found.extend(fs::read(&path).unwrap());
        }
    }
}

#[test]
fn no_output_shows_a_credential() {
    let folder = tempfile::tempdir().unwrap();
    let value = CollectionValue { text: "leakyconfigured".into(), overridable: None };
    let url = CollectionValue { text: "http://127.0.0.1:1/b/x.csv".into(), overridable: None };
    let configured: Collection =
        [("access_key_id".into(), value.clone()), ("secret_access_key".into(), value), ("url".into(), url)]
            .into();
    let named_collections = [("configured".to_owned(), configured)].into();
    let mut leaks = Vec::new();
    let found = &mut leaks;
    with_database(Config { named_collections, ..quiet_at(folder.path()) }, |database| async move {
        let session = database.session();
        // A host that does not answer is not asked for long.
        session.set("s3_retry_attempts", "0").unwrap();
        session.set("http_max_tries", "1").unwrap();
        session.set("enable_profile", "1").unwrap();
        assert_eq!(
            seen(&session, "CREATE TABLE t (a Int8) ENGINE = MergeTree ORDER BY a").await.trim(),
            "++\n++"
        );
        for (at, statement) in KEPT.iter().enumerate() {
            let statement = statement.replace("kept_KEY", &format!("leakykept{at}"));
            let answer = seen(&session, &statement).await;
            assert!(!answer.contains("Exception"), "{statement}: {answer}");
        }
        for (at, place) in PLACES.iter().enumerate() {
            let answer = seen(&session, &place.replace("KEY", &format!("leaky{at}"))).await;
            found.extend(marks(&answer).into_iter().map(|mark| format!("{mark} in {answer}: {place}")));
        }
        for output in OUTPUTS {
            let answer = seen(&session, output).await;
            found.extend(marks(&answer).into_iter().map(|mark| format!("{mark} in {output}")));
        }
    });
    let mut bytes = Vec::new();
    other_files(folder.path(), &mut bytes);
    leaks.extend(marks(&String::from_utf8_lossy(&bytes)).into_iter().map(|mark| format!("{mark} in a file")));
    // Only what was kept may be in the log.
    let mut log = Vec::new();
    other_files(&folder.path().join("stream/0/wal"), &mut log);
    let logged = marks(&String::from_utf8_lossy(&log));
    assert!(logged.iter().any(|mark| mark.starts_with("leakykept")), "the log keeps what it has to");
    leaks.extend(
        logged
            .into_iter()
            .filter(|mark| !mark.starts_with("leakykept"))
            .map(|mark| format!("{mark} in the log")),
    );
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn statements_kept_by_a_client_lose_their_credentials() {
    for (at, place) in PLACES.iter().chain(KEPT).enumerate() {
        let shown = engine::masked(&place.replace("KEY", &format!("leaky{at}")));
        let left = marks(&shown);
        assert!(left.is_empty(), "{left:?} in {shown}");
    }
}
