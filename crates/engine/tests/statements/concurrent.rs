//! More statements at once than there are threads: each ends, with its own rows.
#![expect(clippy::disallowed_methods, reason = "clients have threads of their own")]

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use engine::Session;

use crate::support::{PATIENCE, done, quiet, with_database};

/// The sum of the first column and the number of rows.
async fn summed(session: &Session, sql: &str) -> (u64, usize) {
    let batches = done(session, sql).await;
    let sum = |batch: &RecordBatch| batch.column(0).as_primitive::<UInt64Type>().values().iter().sum::<u64>();
    (batches.iter().map(sum).sum(), batches.iter().map(RecordBatch::num_rows).sum())
}

#[test]
fn joins_whose_rows_are_the_answer_do_not_wait_for_each_other() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        done(&session, "CREATE TABLE t (a UInt64, b String) ENGINE = MergeTree ORDER BY a").await;
        done(&session, "INSERT INTO t SELECT number, toString(number) FROM numbers(200000)").await;
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
    });
}
