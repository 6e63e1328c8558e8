//! ALTER TABLE from outside: beside INSERTs, merges and loads that run, and after the database was opened again.

use crate::support::{open, run, texts, with_runtime};

const ROWS: &str = "SELECT concat(toString(a), ' ', c, ' ', d) FROM t ORDER BY a";

#[test]
fn what_was_altered_is_there_after_opening_again_and_after_a_merge() {
    let folder = tempfile::tempdir().unwrap();
    with_runtime(async {
        let database = open(folder.path());
        let session = database.session();
        for sql in [
            "CREATE TABLE t (a UInt64, b UInt64) ENGINE = MergeTree ORDER BY a",
            "INSERT INTO t SELECT number, number * 2 FROM numbers(1, 2)",
            "OPTIMIZE TABLE t FINAL",
            "INSERT INTO t VALUES (3, 6)",
            "ALTER TABLE t RENAME COLUMN b TO c, ADD COLUMN d String DEFAULT concat('d', toString(a))",
            "ALTER TABLE t MODIFY COLUMN c String",
            "INSERT INTO t VALUES (4, 'four', 'given')",
        ] {
            run(&session, sql).await.unwrap();
        }
        let rows = ["1 2 d1", "2 4 d2", "3 6 d3", "4 four given"];
        assert_eq!(texts(&session, ROWS).await, rows);
        drop(session);
        database.close().await;
        let database = open(folder.path());
        let session = database.session();
        assert_eq!(texts(&session, ROWS).await, rows);
        run(&session, "OPTIMIZE TABLE t FINAL").await.unwrap();
        // Written down, so that another default does not change it.
        run(&session, "ALTER TABLE t MODIFY COLUMN d DEFAULT 'other'").await.unwrap();
        assert_eq!(texts(&session, ROWS).await, rows);
        drop(session);
        database.close().await;
    });
}

#[test]
fn statements_that_run_beside_an_alter_convert_or_end_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    with_runtime(async {
        let database = open(folder.path());
        let (first, second) = (database.session(), database.session());
        run(&first, "CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a").await.unwrap();
        let insert = "INSERT INTO t SELECT number, toString(number) FROM numbers(300000)";
        let (inserted, altered) = tokio::join!(
            run(&first, insert),
            run(&second, "ALTER TABLE t ADD COLUMN c UInt64 DEFAULT a + 1, RENAME COLUMN b TO d"),
        );
        altered.unwrap();
        // A column that came and one that was renamed hold up nobody.
        inserted.unwrap();
        let shown = "SELECT concat(toString(count()), ' ', toString(sum(c)), ' ', max(d)) FROM t";
        assert_eq!(texts(&first, shown).await, ["300000 45000150000 99999"]);
        let (inserted, altered) = tokio::join!(
            run(&first, "INSERT INTO t SELECT number, toString(number), 1 FROM numbers(300000)"),
            run(&second, "ALTER TABLE t MODIFY COLUMN d UInt64"),
        );
        altered.unwrap();
        let count = texts(&first, "SELECT concat(toString(count()), toTypeName(any(d))) FROM t").await;
        match inserted {
            Ok(_) => assert_eq!(count, ["600000UInt64"]),
            Err(error) => {
                assert!(error.message.contains("have changed"), "{error}");
                assert_eq!(count, ["300000UInt64"]);
            }
        }
        drop((first, second));
        database.close().await;
    });
}

#[test]
fn a_statement_that_fails_changes_nothing_and_views_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    with_runtime(async {
        let database = open(folder.path());
        let session = database.session();
        run(&session, "CREATE VIEW v AS SELECT 1 AS x").await.unwrap();
        run(&session, "CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY tuple()").await.unwrap();
        run(&session, "INSERT INTO t VALUES (1)").await.unwrap();
        let refused =
            run(&session, "ALTER TABLE t MODIFY COLUMN a Date, ADD COLUMN a UInt8").await.unwrap_err();
        assert_eq!(refused.code.number(), 15, "{refused}");
        // Nothing of a statement that fails happens.
        assert_eq!(texts(&session, "SELECT toTypeName(a) FROM t").await, ["UInt8"]);
        assert_eq!(
            texts(&session, "SELECT as_select FROM system.tables WHERE name = 'v'").await,
            ["SELECT 1 AS x"]
        );
        drop(session);
        database.close().await;
        // A view is there after opening again.
        let database = open(folder.path());
        assert_eq!(texts(&database.session(), "SELECT toString(x) FROM v").await, ["1"]);
        database.close().await;
    });
}
