//! Profiles from outside: what a client that knows a query id can ask afterwards, and what EXPLAIN ANALYZE leaves behind.

use std::path::Path;

use engine::{Config, Error, Request, Session};

use crate::support::{answer, done, quiet, quiet_at, texts_of, with_database};

/// The first column of the answer to a statement that has an id.
async fn texts(session: &Session, sql: &str, query_id: &str) -> Result<Vec<String>, Error> {
    let request = Request { query_id: Some(query_id.to_owned()), ..Request::new(sql) };
    Ok(texts_of(&answer(session, request).await?))
}

fn with_session<F: Future<Output = ()>>(config: Config, test: impl FnOnce(Session) -> F) {
    with_database(config, |database| test(database.session()));
}

fn has(lines: &[String], wanted: &str) -> bool {
    lines.iter().any(|line| line.contains(wanted))
}

#[test]
fn the_profile_of_a_statement_is_found_by_its_id() {
    with_session(quiet(), |session| async move {
        done(&session, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await;
        done(&session, "SET enable_profile = 1").await;
        texts(&session, "INSERT INTO t VALUES (1), (2)", "one").await.unwrap();
        let lines = texts(&session, "ANALYZE PROFILE FROM 'one'", "ask").await.unwrap();
        assert_eq!(lines.first().map(String::as_str), Some("Summary"));
        for wanted in ["QueryId: one", "State: Finished", "Parse: ", "RowsWritten: 2,", "enable_profile=1"] {
            assert!(has(&lines, wanted), "{wanted}: {lines:#?}");
        }
        texts(&session, "SELECT toString(a) FROM t", "two").await.unwrap();
        let lines = texts(&session, "ANALYZE PROFILE FROM 'two'", "ask").await.unwrap();
        assert!(has(&lines, "Plan: ") && has(&lines, "Exec"), "{lines:#?}");
        assert!(texts(&session, "SELECT toString(b) FROM t", "three").await.is_err());
        let lines = texts(&session, "ANALYZE PROFILE FROM 'three'", "ask").await.unwrap();
        assert!(has(&lines, "State: Error"), "{lines:#?}");
        let ids = texts(&session, "SHOW PROFILELIST", "ask").await.unwrap();
        assert_eq!(ids, ["three", "two", "one"]);
        let unknown = texts(&session, "ANALYZE PROFILE FROM 'four'", "ask").await.unwrap_err();
        assert!(unknown.to_string().contains("SET enable_profile = 1"), "{unknown}");
    });
}

fn part_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_entry = |path: std::path::PathBuf| match path.is_dir() {
        true => part_files(&path),
        false => usize::from(path.extension().is_some_and(|suffix| suffix == "parquet")),
    };
    entries.map(of_entry).sum()
}

#[test]
fn an_insert_that_is_explained_shows_its_sinks_and_leaves_neither_rows_nor_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    with_session(quiet_at(&root), |session| async move {
        done(&session, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await;
        let insert = "EXPLAIN ANALYZE INSERT INTO t SELECT number FROM numbers(1000)";
        let lines = texts(&session, insert, "one").await.unwrap();
        assert!(lines[0].starts_with("Attention: The transaction of the statement will be aborted"));
        for wanted in ["State: Aborted", "Commit: not done", "SinkExec", "rows: 1000"] {
            assert!(has(&lines, wanted), "{wanted}: {lines:#?}");
        }
        let values = "EXPLAIN ANALYZE INSERT INTO t VALUES (1), (2)";
        let lines = texts(&session, values, "two").await.unwrap();
        assert!(has(&lines, "Encode: ") && has(&lines, "RowsWritten: 2,"), "{lines:#?}");
        let count = texts(&session, "SELECT toString(count()) FROM t", "three").await.unwrap();
        assert_eq!((count, part_files(&root)), (vec!["0".to_owned()], 0));
        // Without EXPLAIN the same statement does leave something.
        done(&session, "INSERT INTO t SELECT number FROM numbers(1000)").await;
        assert!(part_files(&root) > 0);
    });
}
