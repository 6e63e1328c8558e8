//! Column chunks kept without their compression change no answer, whoever asks, and give way to statements.
#![expect(clippy::disallowed_methods, reason = "clients have threads of their own")]

use engine::{Config, Session};

use crate::support::{done, drawn, quiet, with_database};

const TABLE: &str = "CREATE TABLE t (first String, n UInt64, name String, tag LowCardinality(String), body Nullable(String), \
     list Array(String), share Float64) ENGINE = MergeTree ORDER BY n";
const ROWS: &str = "INSERT INTO t SELECT concat('first ', toString(number % 1000)), number, concat('name ', toString(number % 5000)), \
     concat('tag ', toString(number % 7)), if(number % 11 = 0, NULL, repeat(concat('body ', toString(number % 977)), 9)), \
     [toString(number % 3), 'x'], number / 3 FROM numbers(90000)";
const QUERIES: [&str; 8] = [
    "SELECT count(), uniqExact(name), min(body), max(body), countIf(body IS NULL), sum(length(list[1])) FROM t",
    "SELECT tag, count(), sum(length(body)) FROM t GROUP BY tag ORDER BY tag",
    "SELECT count() FROM t WHERE body LIKE '%body 76%' AND name != 'name 12'",
    "SELECT * FROM t WHERE n = 54321",
    "SELECT n, name, body FROM t WHERE n BETWEEN 20000 AND 60000 ORDER BY name DESC, n LIMIT 7",
    "SELECT first, sum(share) > 0 FROM t GROUP BY first ORDER BY first LIMIT 3",
    "SELECT name FROM t ORDER BY name, n LIMIT 5",
    "SELECT count() FROM t WHERE has(list, '2') AND tag IN ('tag 1', 'tag 5')",
];

async fn run(session: &Session, sql: &str) -> String {
    drawn(&done(session, sql).await)
}

/// One of ClickHouse's numbers.
async fn number(session: &Session, table: &str, name: &str) -> u64 {
    let key = if table == "events" { "event" } else { "metric" };
    let sql = format!("SELECT toString(sum(value)) AS v FROM system.{table} WHERE {key} = '{name}'");
    run(session, &sql).await.lines().nth(3).unwrap().trim_matches(['|', ' ']).parse().unwrap()
}

#[test]
fn answers_are_the_same_from_memory() {
    with_database(quiet(), async |database| {
        let session = database.session();
        run(&session, TABLE).await;
        run(&session, ROWS).await;
        run(&session, "OPTIMIZE TABLE t FINAL").await;
        let mut expected = Vec::new();
        for sql in QUERIES {
            expected.push(run(&session, &format!("{sql} SETTINGS use_uncompressed_cache = 0")).await);
        }
        assert_eq!(number(&session, "metrics", "UncompressedCacheCells").await, 0, "they read past it");
        for round in 0..4 {
            for (sql, expected) in QUERIES.iter().zip(&expected) {
                assert_eq!(&run(&session, sql).await, expected, "{sql}, round {round}");
            }
        }
        let kept = number(&session, "metrics", "UncompressedCacheBytes").await;
        assert!(kept > 3_000_000, "{kept}");
        assert!(number(&session, "events", "UncompressedCacheHits").await > 10);
        run(&session, "SYSTEM DROP UNCOMPRESSED CACHE").await;
        assert_eq!(number(&session, "metrics", "UncompressedCacheBytes").await, 0);
        let clients = QUERIES.iter().zip(&expected).map(|(sql, expected)| {
            let (session, expected) = (database.session(), expected.clone());
            tokio::spawn(async move {
                for _ in 0..5 {
                    assert_eq!(run(&session, sql).await, expected, "{sql}");
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        run(&session, "DROP TABLE t SYNC").await;
    });
}

#[test]
fn what_is_kept_gives_way_to_a_statement() {
    // A cache as large as everything: whatever a statement needs has to come from there.
    let all = 64 << 20;
    let config = Config { memory_bytes_max: Some(all), uncompressed_cache_bytes: Some(all), ..quiet() };
    with_database(config, async |database| {
        let session = database.session();
        run(&session, TABLE).await;
        run(&session, ROWS).await;
        let scan = "SELECT count(), max(body), max(name), max(list) FROM t";
        let expected = run(&session, scan).await;
        for _ in 0..3 {
            run(&session, ROWS).await;
        }
        run(&session, "OPTIMIZE TABLE t FINAL").await;
        let sorted = "SELECT name, body FROM t ORDER BY share DESC, n LIMIT 40000 FORMAT Null";
        for _ in 0..3 {
            run(&session, scan).await;
            run(&session, sorted).await;
        }
        assert!(number(&session, "metrics", "MemoryTracking").await <= all);
        run(&session, "TRUNCATE TABLE t").await;
        run(&session, ROWS).await;
        assert_eq!(run(&session, scan).await, expected);
    });
}
