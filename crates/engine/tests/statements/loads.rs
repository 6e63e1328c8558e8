//! Loads that go on, from outside: files that come and go between two attempts, other sessions, given-up statements.
#![expect(
    clippy::disallowed_methods,
    reason = "the files of a source are fixtures, not data of the database"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Database, Session};

use crate::support::{quiet, run, texts, with_database};

/// Runs a test with a database and a folder of two files: the second has two partitions.
fn with_files<F: Future<Output = ()>>(test: impl FnOnce(Arc<Database>, tempfile::TempDir) -> F) {
    let folder = tempfile::tempdir().unwrap();
    // Longer than the second, or it would be read last.
    write(folder.path(), "1.csv", "a,b\n1,xxxxxxxx\n");
    write(folder.path(), "2.csv", "a,b\n2,y\n3,z\n");
    with_database(quiet(), |database| test(database, folder));
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

const TABLE: &str = "CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree PARTITION BY a ORDER BY b";

/// Loads the folder under the label `l`, one unit at a time.
fn load(folder: &Path, settings: &str) -> String {
    format!(
        "INSERT INTO t WITH LABEL l SELECT * FROM file('{}/*.csv', 'CSVWithNames') \
         SETTINGS max_insert_threads = 1, load_stage_min_bytes = 0{settings}",
        folder.display()
    )
}

const ROWS: &str = "SELECT concat(toString(a), b) FROM t ORDER BY a";

/// Stops in the second file, and says how to go on.
async fn stop(session: &Session, folder: &Path) {
    let stopped = run(session, &load(folder, ", max_partitions_per_insert_block = 1")).await.unwrap_err();
    let hint = stopped.hint.unwrap();
    assert!(hint.contains("1 of 2 units staged"), "{hint}");
}

#[test]
fn files_that_come_meanwhile_do_not_change_the_columns() {
    with_files(|database, folder| async move {
        let session = database.session();
        run(&session, TABLE).await.unwrap();
        stop(&session, folder.path()).await;
        // The first of the listing decides the order of the columns, and this one has them the other way round.
        write(folder.path(), "0.csv", "b,a\nq,9\n");
        run(&session, &load(folder.path(), "")).await.unwrap();
        assert_eq!(texts(&session, ROWS).await, ["1xxxxxxxx", "2y", "3z"]);
    });
}

#[test]
fn another_session_goes_on_under_the_settings_of_the_first() {
    with_files(|database, folder| async move {
        let first = database.session();
        run(&first, TABLE).await.unwrap();
        stop(&first, folder.path()).await;
        let second = database.session();
        run(&second, "SET format_csv_delimiter = ';'").await.unwrap();
        // The statement's own limit stops it again, and not a delimiter that its files do not have.
        let stopped = run(&second, "RESUME LOAD 'l'").await.unwrap_err();
        assert_eq!(stopped.code.number(), 252, "{stopped}");
        assert!(stopped.hint.unwrap().contains("1 of 2 units staged"));
        let other = run(&second, &load(folder.path(), "")).await.unwrap_err();
        assert!(other.message.contains("belongs to an unfinished load"), "{other}");
        run(&second, "SET format_csv_delimiter = ','").await.unwrap();
        run(&second, &load(folder.path(), "")).await.unwrap();
        assert_eq!(texts(&second, ROWS).await, ["1xxxxxxxx", "2y", "3z"]);
    });
}

#[test]
fn a_reader_sees_all_of_a_load_or_nothing() {
    with_files(|database, _folder| async move {
        let (writer, reader) = (database.session(), database.session());
        run(&writer, "CREATE TABLE n (a UInt64) ENGINE = MergeTree ORDER BY a").await.unwrap();
        let done = AtomicBool::new(false);
        let mut seen = BTreeSet::new();
        let load = async {
            let rows = "INSERT INTO n SELECT number FROM numbers(300000) SETTINGS min_insert_block_size_rows = 20000";
            run(&writer, rows).await.unwrap();
            done.store(true, Ordering::Release);
        };
        let poll = async {
            while !done.load(Ordering::Acquire) {
                seen.extend(texts(&reader, "SELECT toString(count()) FROM n").await);
            }
            seen.extend(texts(&reader, "SELECT toString(count()) FROM n").await);
        };
        futures::join!(load, poll);
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["0", "300000"]);
    });
}
