//! INSERT INTO FUNCTION: statements beside each other, and what the log says of them.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use engine::{Config, Database, Error, Request, Session};
use futures::future::join_all;

async fn run(session: &Session, sql: &str) -> Result<(), Error> {
    session.execute(Request::new(sql)).await?.collect().await.map(drop)
}

async fn exports_left(session: &Session) -> u64 {
    let outcome = session.execute(Request::new("SELECT count() FROM system.exports")).await.unwrap();
    outcome.collect().await.unwrap()[0].column(0).as_primitive::<UInt64Type>().value(0)
}

fn open() -> Arc<Database> {
    Database::open(Config { threads: Some(2), background: false, ..Config::default() }).unwrap()
}

#[test]
fn appends_beside_each_other_lose_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let database = open();
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
        database.close().await;
    });
}

#[test]
fn numbers_are_chosen_around_statements_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let database = open();
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
        database.close().await;
    });
}

#[test]
fn repetitions_beside_each_other_write_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let database = open();
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
            let outcome = session.execute(Request::new(&count)).await.unwrap().collect().await.unwrap();
            assert_eq!(outcome[0].column(0).as_primitive::<UInt64Type>().value(0), 3, "{format}");
        }
        assert_eq!(exports_left(&database.session()).await, 0);
        database.close().await;
    });
}
