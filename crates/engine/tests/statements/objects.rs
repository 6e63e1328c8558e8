//! Objects without rows of their own, and tables of plain engines, after the database was opened again.

use crate::support::{open, run, texts, with_runtime};

const DETACHED: &str = "SELECT concat(table, ' ', toString(is_permanently)) FROM system.detached_tables";

#[test]
fn what_is_detached_stays_so_and_keeps_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    with_runtime(async {
        let database = open(folder.path());
        let session = database.session();
        for sql in [
            "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a",
            "CREATE TABLE u (a UInt64) ENGINE = Log",
            "INSERT INTO t SELECT number FROM numbers(5)",
            "INSERT INTO u VALUES (3), (1)",
            "DETACH TABLE t",
            "DETACH TABLE u PERMANENTLY",
        ] {
            run(&session, sql).await.unwrap();
        }
        drop(session);
        database.close().await;
        // Once out of the log, and once out of the checkpoint that closing wrote.
        for _ in 0..2 {
            let database = open(folder.path());
            let session = database.session();
            assert_eq!(texts(&session, DETACHED).await, ["t 0", "u 1"]);
            assert!(run(&session, "SELECT * FROM t").await.is_err());
            assert!(run(&session, "CREATE TABLE u (a UInt64) ENGINE = Log").await.is_err());
            drop(session);
            database.close().await;
        }
        let database = open(folder.path());
        let session = database.session();
        run(&session, "ATTACH TABLE t").await.unwrap();
        run(&session, "ATTACH TABLE u").await.unwrap();
        assert_eq!(texts(&session, "SELECT toString(count()) FROM t").await, ["5"]);
        assert_eq!(texts(&session, "SELECT toString(a) FROM u").await, ["3", "1"]);
        assert!(texts(&session, DETACHED).await.is_empty());
        drop(session);
        database.close().await;
    });
}

#[test]
fn functions_are_there_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    with_runtime(async {
        let database = open(folder.path());
        let session = database.session();
        run(&session, "CREATE FUNCTION f AS (x, y) -> x * 10 + y").await.unwrap();
        run(&session, "CREATE FUNCTION g AS x -> x").await.unwrap();
        run(&session, "DROP FUNCTION g").await.unwrap();
        drop(session);
        database.close().await;
        for _ in 0..2 {
            let database = open(folder.path());
            let session = database.session();
            assert_eq!(texts(&session, "SELECT toString(f(4, 2))").await, ["42"]);
            assert!(run(&session, "SELECT g(1)").await.is_err());
            drop(session);
            database.close().await;
        }
    });
}
