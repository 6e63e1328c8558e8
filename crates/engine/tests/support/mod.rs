//! A database in this process, statements that a test sends it, and answers as a test compares them.
//!
//! Invariant: nothing runs in the background of a database but what a statement began.
#![allow(dead_code, reason = "each binary uses its share")]
#![expect(clippy::disallowed_methods, reason = "who waits for a lock is a thread that can be given up")]

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use arrow::util::pretty::pretty_format_batches;
use engine::{Config, Database, Error, Request, Session};

/// As good as for ever: what takes this long hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn with_runtime(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

/// Two threads in a folder that goes with the database.
pub(crate) fn quiet() -> Config {
    Config { threads: Some(2), background: false, ..Config::default() }
}

/// Two threads in a folder that stays.
pub(crate) fn quiet_at(root: &Path) -> Config {
    Config { root: Some(root.to_owned()), ..quiet() }
}

/// Runs a test on a database of its own.
pub(crate) fn with_database<F: Future<Output = ()>>(config: Config, test: impl FnOnce(Arc<Database>) -> F) {
    with_runtime(async {
        let database = Database::open(config).unwrap();
        test(Arc::clone(&database)).await;
        database.close().await;
    });
}

pub(crate) fn open(root: &Path) -> Arc<Database> {
    open_again(quiet_at(root))
}

/// Opens a folder that may have been open before.
pub(crate) fn open_again(config: Config) -> Arc<Database> {
    if let Some(root) = &config.root {
        wait_until_free(root);
    }
    Database::open(config).unwrap()
}

/// Waits for the locks of a folder: tasks of statements that were answered hold them a moment longer than `close` takes.
fn wait_until_free(root: &Path) {
    let log = root.join("stream/0/wal");
    let (told, free) = mpsc::channel();
    let _ends_with_the_wait = std::thread::spawn(move || {
        for path in [log.join("LOCK"), log] {
            // A folder that is new has none.
            if let Ok(file) = File::open(path) {
                file.lock().unwrap();
            }
        }
        let _nobody_may_wait_any_more = told.send(());
    });
    free.recv_timeout(PATIENCE).expect("an earlier opening lets go of its folder");
}

pub(crate) async fn answer(session: &Session, request: Request) -> Result<Vec<RecordBatch>, Error> {
    session.execute(request).await?.collect().await
}

pub(crate) async fn run(session: &Session, sql: &str) -> Result<Vec<RecordBatch>, Error> {
    answer(session, Request::new(sql)).await
}

/// Runs what must succeed.
pub(crate) async fn done(session: &Session, sql: &str) -> Vec<RecordBatch> {
    run(session, sql).await.map_err(|error| format!("{sql}: {error}")).unwrap()
}

/// The first column of an answer, as texts.
pub(crate) async fn texts(session: &Session, sql: &str) -> Vec<String> {
    texts_of(&done(session, sql).await)
}

pub(crate) fn texts_of(batches: &[RecordBatch]) -> Vec<String> {
    let of_batch = |batch: &RecordBatch| -> Vec<String> {
        batch.column(0).as_string_view().iter().flatten().map(str::to_owned).collect()
    };
    batches.iter().flat_map(of_batch).collect()
}

/// An answer drawn as a table.
pub(crate) fn drawn(batches: &[RecordBatch]) -> String {
    pretty_format_batches(batches).unwrap().to_string()
}
