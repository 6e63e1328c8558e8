//! More statements at once than there are threads: each ends, with its own rows.
#![expect(clippy::disallowed_methods, reason = "clients have threads of their own")]

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use engine::{Config, Session};

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

#[test]
fn updates_beside_merges_and_inserts_lose_nothing() {
    let config = Config { background: true, ..quiet() };
    with_database(config, |database| async move {
        let session = database.session();
        done(&session, "CREATE TABLE t (a UInt64, v UInt64) ENGINE = MergeTree ORDER BY a").await;
        for first in [0, 1000, 2000] {
            done(&session, &format!("INSERT INTO t SELECT {first} + number, 0 FROM numbers(1000)")).await;
        }
        let every = |count: usize, text: fn(usize) -> String| {
            let session = database.session();
            tokio::spawn(async move {
                for at in 0..count {
                    done(&session, &text(at)).await;
                }
            })
        };
        let update = |_| "ALTER TABLE t UPDATE v = v + 1 WHERE a < 3000".to_owned();
        let clients = [
            every(6, update),
            every(6, update),
            every(6, |at| format!("UPDATE t SET v = v + 100 WHERE a = {}", at * 500)),
            every(20, |at| format!("INSERT INTO t VALUES ({}, 7)", 10_000 + at)),
            every(20, |at| format!("DELETE FROM t WHERE a = {}", 10_000 + at)),
            every(5, |_| "OPTIMIZE TABLE t FINAL".to_owned()),
        ];
        for client in clients {
            tokio::time::timeout(PATIENCE, client).await.unwrap().unwrap();
        }
        assert_eq!(summed(&session, "SELECT v FROM t WHERE a < 3000").await, (12 * 3000 + 600, 3000));
        // Each was deleted if its DELETE came behind its INSERT, and has its value otherwise.
        let (sum, rows) = summed(&session, "SELECT v FROM t WHERE a >= 10000").await;
        assert!(rows <= 20 && sum == 7 * rows as u64, "{rows} rows, {sum}");
    });
}
