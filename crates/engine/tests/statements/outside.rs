//! Tables whose rows are files, and named collections, over the life of a database.
#![expect(clippy::disallowed_methods, reason = "the files of a table outside are fixtures")]

use std::fs;

use crate::support::{open, run, texts, with_runtime};

const ROWS: &str = "SELECT concat(b, toString(a)) FROM f ORDER BY 1";

#[test]
fn a_table_outside_reads_the_files_there_are_now() {
    let folder = tempfile::tempdir().unwrap();
    let (root, data) = (folder.path().join("root"), folder.path().join("data"));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("1.csv"), "a,b\n1,x\n").unwrap();
    with_runtime(async {
        let database = open(&root);
        let session = database.session();
        let create = format!("CREATE TABLE f ENGINE = File(CSVWithNames, '{}/*.csv')", data.display());
        run(&session, &create).await.unwrap();
        let types = "SELECT concat(name, ' ', type) FROM system.columns WHERE table = 'f' ORDER BY position";
        assert_eq!(texts(&session, types).await, ["a Nullable(Int64)", "b Nullable(String)"]);
        assert_eq!(texts(&session, ROWS).await, ["x1"]);
        fs::write(data.join("2.csv"), "a,b\n2,y\n").unwrap();
        assert_eq!(texts(&session, ROWS).await, ["x1", "y2"]);
        for (sql, expected) in [
            ("SELECT b FROM f WHERE _file = '2.csv'", vec!["y"]),
            ("SELECT l.b FROM f AS l JOIN default.f AS r ON l.a = r.a ORDER BY l.b", vec!["x", "y"]),
            ("SELECT b FROM numbers(3) AS n JOIN f ON f.a = n.number ORDER BY b", vec!["x", "y"]),
            ("WITH f AS (SELECT 'shadow' AS b) SELECT b FROM f", vec!["shadow"]),
            ("SELECT b FROM f WHERE a IN (SELECT max(a) FROM f)", vec!["y"]),
        ] {
            assert_eq!(texts(&session, sql).await, expected, "{sql}");
        }
        let plan = texts(&session, "EXPLAIN SELECT b FROM f WHERE _file = '2.csv'").await.join("\n");
        assert!(
            plan.contains("Source: 2 file(s)") && plan.contains("table default.f: File(CSVWithNames"),
            "{plan}"
        );
        assert!(plan.contains("leaves 1 file(s), 1 unit(s) of 2 unit(s)"), "{plan}");
        run(&session, "CREATE TABLE t (a Int64, b String) ENGINE = MergeTree ORDER BY a").await.unwrap();
        run(&session, "INSERT INTO t SELECT * FROM f").await.unwrap();
        assert_eq!(texts(&session, "SELECT b FROM t ORDER BY a").await, ["x", "y"]);
        run(&session, "RENAME TABLE f TO g").await.unwrap();
        drop(session);
        database.close().await;
        let database = open(&root);
        let session = database.session();
        assert_eq!(texts(&session, "SELECT b FROM g ORDER BY a").await, ["x", "y"]);
        run(&session, "DROP TABLE g").await.unwrap();
        assert!(data.join("1.csv").exists());
        assert_eq!(run(&session, "SELECT * FROM g").await.unwrap_err().code.number(), 60);
        database.close().await;
    });
}

#[test]
fn a_collection_is_there_after_the_next_open() {
    let folder = tempfile::tempdir().unwrap();
    with_runtime(async {
        let database = open(folder.path());
        let session = database.session();
        for sql in [
            "CREATE NAMED COLLECTION kept AS url = 'http://127.0.0.1:1/b/x', a = 1",
            "CREATE NAMED COLLECTION gone AS a = 1",
            "ALTER NAMED COLLECTION kept SET b = 2 NOT OVERRIDABLE DELETE a",
            "DROP NAMED COLLECTION gone",
        ] {
            run(&session, sql).await.unwrap();
        }
        drop(session);
        database.close().await;
        let database = open(folder.path());
        let session = database.session();
        assert_eq!(
            texts(&session, "SELECT create_query FROM system.named_collections").await,
            ["CREATE NAMED COLLECTION kept AS b = '[HIDDEN]' NOT OVERRIDABLE, url = '[HIDDEN]'"]
        );
        let refused = run(&session, "SELECT * FROM s3(kept, b = 3)").await.unwrap_err();
        assert_eq!(
            (refused.code.number(), refused.message.contains("may not be overridden")),
            (36, true),
            "{refused}"
        );
        database.close().await;
    });
}
