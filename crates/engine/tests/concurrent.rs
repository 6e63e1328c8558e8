//! More statements at once than there are threads: each ends, with its own rows.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(clippy::disallowed_methods, reason = "clients have threads of their own")]

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use engine::{Config, Database, Request, Session};

/// As good as for ever: what takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

async fn run(session: &Session, sql: &str) -> Vec<RecordBatch> {
    session.execute(Request::new(sql)).await.unwrap().collect().await.unwrap()
}

/// The sum of the first column and the number of rows.
async fn summed(session: &Session, sql: &str) -> (u64, usize) {
    let batches = run(session, sql).await;
    let sum = |batch: &RecordBatch| batch.column(0).as_primitive::<UInt64Type>().values().iter().sum::<u64>();
    (batches.iter().map(sum).sum(), batches.iter().map(RecordBatch::num_rows).sum())
}

#[test]
fn joins_whose_rows_are_the_answer_do_not_wait_for_each_other() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let config = Config { threads: Some(2), background: false, ..Config::default() };
        let database = Database::open(config).unwrap();
        let session = database.session();
        run(&session, "CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a").await;
        run(&session, "INSERT INTO t SELECT number, toString(number) FROM numbers(200000)").await;
        let all: u64 = (0..200_000).sum();
        let sevens: u64 = (0..200_000).filter(|number| number % 100 == 77).sum();
        for (sql, expected) in [
            ("SELECT x.a, y.b FROM t AS x JOIN t AS y ON x.a = y.a WHERE y.b LIKE '%77'", (sevens, 2000)),
            ("SELECT x.a FROM t AS x LEFT JOIN t AS y ON x.b = y.b", (all, 200_000)),
            ("SELECT a FROM t WHERE b LIKE '%77' UNION ALL SELECT a FROM t", (sevens + all, 202_000)),
        ] {
            let clients = (0..6).map(|_| {
                let session = database.session();
                tokio::spawn(async move { (summed(&session, sql).await, summed(&session, sql).await) })
            });
            for client in clients.collect::<Vec<_>>() {
                let answers = tokio::time::timeout(PATIENCE, client).await.unwrap().unwrap();
                assert_eq!(answers, (expected, expected), "{sql}");
            }
        }
        Arc::clone(&database).close().await;
    });
}
