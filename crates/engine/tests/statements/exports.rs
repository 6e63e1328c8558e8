//! INSERT INTO FUNCTION: statements beside each other, and what the log says of them.

use std::fs;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use engine::Session;
use futures::future::join_all;

use crate::support::{done, quiet, run, with_database};

async fn exports_left(session: &Session) -> u64 {
    let batches = done(session, "SELECT count() FROM system.exports").await;
    batches[0].column(0).as_primitive::<UInt64Type>().value(0)
}

#[test]
fn appends_beside_each_other_lose_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    with_database(quiet(), |database| async move {
        let inserts = (0..8).map(|number| {
            let session = database.session();
            let sql = format!(
                "INSERT INTO FUNCTION file('{}', 'CSV', 'a Int64') VALUES ({number})",
                path.display()
            );
            async move { run(&session, &sql).await }
        });
        for inserted in join_all(inserts).await {
            inserted.unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut rows: Vec<&str> = text.lines().collect();
        rows.sort_unstable();
        assert_eq!(rows, ["0", "1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(exports_left(&database.session()).await, 0);
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a.csv"], "no temporary file stays");
    });
}

#[test]
fn numbers_are_chosen_around_statements_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    with_database(quiet(), |database| async move {
        let inserts = (0..4).map(|number| {
            let session = database.session();
            let sql = format!(
                "INSERT INTO FUNCTION file('{}', 'Parquet', 'a Int64') \
                 SETTINGS engine_file_allow_create_multiple_files = 1 VALUES ({number})",
                path.display()
            );
            async move { run(&session, &sql).await }
        });
        for inserted in join_all(inserts).await {
            inserted.unwrap();
        }
        let files = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 4, "each statement has a file of its own");
        assert_eq!(exports_left(&database.session()).await, 0);
    });
}

#[test]
fn repetitions_beside_each_other_write_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    with_database(quiet(), |database| async move {
        for format in ["CSV", "Parquet"] {
            let path = path.with_extension(format.to_lowercase());
            let inserts = (0..4).map(|_| {
                let session = database.session();
                let sql = format!(
                    "INSERT INTO FUNCTION file('{}', '{format}') SETTINGS insert_label = 'l-{format}' \
                     SELECT number AS n FROM numbers(3)",
                    path.display()
                );
                async move { run(&session, &sql).await }
            });
            for inserted in join_all(inserts).await {
                inserted.unwrap();
            }
            let session = database.session();
            let count = format!("SELECT count() FROM file('{}', '{format}', 'n UInt64')", path.display());
            let batches = done(&session, &count).await;
            assert_eq!(batches[0].column(0).as_primitive::<UInt64Type>().value(0), 3, "{format}");
        }
        assert_eq!(exports_left(&database.session()).await, 0);
    });
}
