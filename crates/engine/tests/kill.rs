//! KILL QUERY: inside a scan of files, inside a scan of parts, before the commit of an INSERT SELECT; ids that are
//! taken; what a session sees of another's temporary tables.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(clippy::disallowed_methods, reason = "clients have threads and clocks of their own")]

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use engine::{Caller, Database, Error, Request, Session};

use support::{PATIENCE, answer, done, quiet, with_database};

mod support;

/// Longer than any of these statements may take to stop.
const SOON: Duration = Duration::from_secs(2);

/// The rows of an answer, all of whose columns are texts.
async fn cells(session: &Session, sql: &str) -> Vec<Vec<String>> {
    let batches = done(session, sql).await;
    let row = |batch: &RecordBatch, row: usize| {
        batch.columns().iter().map(|column| column.as_string_view().value(row).to_owned()).collect()
    };
    let of_batch =
        |batch: &RecordBatch| (0..batch.num_rows()).map(|at| row(batch, at)).collect::<Vec<Vec<String>>>();
    batches.iter().flat_map(of_batch).collect()
}

/// Starts the statement as `victim` and answers with what it ends in.
fn start(database: &Arc<Database>, sql: &str) -> tokio::task::JoinHandle<Result<Vec<RecordBatch>, Error>> {
    let (session, sql) = (database.session(), sql.to_owned());
    tokio::spawn(async move {
        let request = Request { query_id: Some("victim".into()), user: "ann".into(), ..Request::new(sql) };
        answer(&session, request).await
    })
}

async fn until(session: &Session, sql: &str, expected: &str) {
    let reached = async {
        while cells(session, sql).await != [[expected]] {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap();
}

/// Kills the running statement of these words and sees that it ends soon, as cancelled.
async fn killed_soon(database: &Arc<Database>, sql: &str, running: &str) {
    let session = database.session();
    let victim = start(database, sql);
    until(&session, running, "1").await;
    let asked = Instant::now();
    let rows = cells(&session, "KILL QUERY WHERE query_id = 'victim' AND user = 'ann' SYNC").await;
    assert_eq!(rows, [["finished", "victim", "ann", sql]]);
    assert!(asked.elapsed() < SOON, "{sql} took {:?}", asked.elapsed());
    let error = tokio::time::timeout(PATIENCE, victim).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.code.number(), 394, "{sql}: {error}");
    until(&session, "SELECT toString(count()) FROM system.processes WHERE query_id = 'victim'", "0").await;
    let logged = "SELECT toString(exception_code), user FROM system.query_log WHERE query_id = 'victim'";
    assert_eq!(cells(&session, logged).await.last().unwrap(), &["394", "ann"]);
}

const IS_RUNNING: &str = "SELECT toString(count()) FROM system.processes WHERE query_id = 'victim'";
const HAS_READ: &str =
    "SELECT toString(count()) FROM system.processes WHERE query_id = 'victim' AND read_rows > 0";

#[test]
fn a_scan_of_files_that_do_not_come_is_killed() {
    with_database(quiet(), |database| async move {
        // It takes connections and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let sql = format!("SELECT * FROM url('http://127.0.0.1:{port}/x.csv', 'CSV', 'a Int8')");
        killed_soon(&database, &sql, IS_RUNNING).await;
    });
}

#[test]
fn a_scan_of_parts_is_killed() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        done(&session, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await;
        done(&session, "INSERT INTO t SELECT number FROM numbers(1000000)").await;
        // Each row costs enough that the scan would take far longer than it may take to stop.
        let sql = "SELECT sum(cityHash64(repeat(toString(a), 500))) FROM t";
        killed_soon(&database, sql, HAS_READ).await;
    });
}

#[test]
fn an_insert_is_killed_before_its_commit_and_leaves_nothing() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        done(&session, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a").await;
        killed_soon(&database, "INSERT INTO t SELECT number FROM numbers(1000000000000)", IS_RUNNING).await;
        assert_eq!(cells(&session, "SELECT toString(count()) FROM t").await, [["0"]]);
    });
}

#[test]
fn a_door_kills_by_id_and_a_slow_reader_does_not_keep_the_statement() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        let request = Request {
            query_id: Some("victim".into()),
            ..Request::new("SELECT number FROM numbers(1000000000000)")
        };
        // Nobody reads it.
        let outcome = session.execute(request).await.unwrap();
        until(&session, IS_RUNNING, "1").await;
        assert!(database.kill("victim") && !database.kill("nosuch"));
        until(&session, IS_RUNNING, "0").await;
        assert_eq!(outcome.collect().await.unwrap_err().code.number(), 394);
    });
}

#[test]
fn test_and_async_say_what_they_do_and_readonly_spares_others() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        let sql = "SELECT sum(number) FROM numbers(1000000000000)";
        let victim = start(&database, sql);
        until(&session, IS_RUNNING, "1").await;
        let tested = cells(&session, "KILL QUERY WHERE query_id = 'victim' TEST").await;
        assert_eq!(tested, [["unknown_status", "victim", "ann", sql]]);
        let readonly = Request {
            settings: vec![("readonly".into(), "2".into())],
            user: "bob".into(),
            ..Request::new("KILL QUERY WHERE query_id = 'victim'")
        };
        assert_eq!(answer(&session, readonly).await.unwrap_err().code.number(), 497);
        // Itself it never means.
        let itself =
            Request { query_id: Some("me".into()), ..Request::new("KILL QUERY WHERE query_id = 'me'") };
        assert!(answer(&session, itself).await.unwrap().is_empty());
        assert_eq!(cells(&session, "KILL QUERY WHERE user = 'ann'").await[0][0], "waiting");
        assert_eq!(victim.await.unwrap().unwrap_err().code.number(), 394);
    });
}

#[test]
fn an_id_is_taken_while_its_statement_runs() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        let named = || Request {
            query_id: Some("same".into()),
            ..Request::new("SELECT number FROM numbers(1000000000)")
        };
        let first = session.execute(named()).await.unwrap();
        let error = session.execute(named()).await.unwrap_err();
        assert_eq!((error.code.number(), error.name()), (216, "QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING"));
        drop(first);
        until(&session, "SELECT toString(count()) FROM system.processes WHERE query_id = 'same'", "0").await;
        assert!(session.execute(named()).await.is_ok());
        // An empty one is no name.
        for _ in 0..2 {
            let unnamed = Request { query_id: Some(String::new()), ..Request::new("SELECT queryID()") };
            let batches = answer(&session, unnamed).await.unwrap();
            assert!(!batches[0].column(0).as_string_view().value(0).is_empty());
        }
    });
}

#[test]
fn who_asks_is_told_and_shown() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        let client = Caller {
            address: Some("10.1.2.3:4567".parse().unwrap()),
            http_method: "POST".into(),
            http_user_agent: "agent".into(),
            name: String::new(),
        };
        let sql = "SELECT concat(currentUser(), ' ', user, ' ', address, ' ', toString(port), ' ', \
                   toString(interface), ' ', toString(http_method), ' ', http_user_agent) \
                   FROM system.processes WHERE query_id = queryID()";
        let request = Request { user: "ann".into(), client, ..Request::new(sql) };
        let batches = answer(&session, request).await.unwrap();
        let shown = batches[0].column(0).as_string_view().value(0);
        assert_eq!(shown, "ann ann ::ffff:10.1.2.3 4567 HTTP POST agent");
    });
}

#[test]
fn settings_of_a_request_obey_a_session_that_only_reads() {
    with_database(quiet(), |database| async move {
        let session = database.session();
        session.set("readonly", "1").unwrap();
        let with = |name: &str, value: &str| Request {
            settings: vec![(name.into(), value.into())],
            ..Request::new("SELECT 1")
        };
        assert_eq!(answer(&session, with("readonly", "0")).await.unwrap_err().code.number(), 164);
        assert_eq!(answer(&session, with("max_threads", "7")).await.unwrap_err().code.number(), 164);
        assert!(answer(&session, with("readonly", "1")).await.is_ok());
        let locked = "SELECT toString(min(readonly)) FROM system.settings";
        assert_eq!(cells(&session, locked).await, [["1"]]);
    });
}

#[test]
fn temporary_tables_are_of_one_session() {
    with_database(quiet(), |database| async move {
        let (one, other) = (database.session(), database.session());
        done(&one, "CREATE TEMPORARY TABLE t (a String)").await;
        done(&one, "INSERT INTO t VALUES ('mine')").await;
        let unseen = answer(&other, Request::new("SELECT a FROM t")).await.unwrap_err();
        assert_eq!((unseen.code.number(), unseen.message.contains("default.t")), (60, true));
        done(&other, "CREATE TEMPORARY TABLE t (a String)").await;
        assert_eq!(cells(&one, "SELECT a FROM t").await, [["mine"]]);
        assert!(cells(&other, "SELECT a FROM t").await.is_empty());
        let missing = answer(&one, Request::new("SELECT * FROM nosuch")).await.unwrap_err();
        assert_eq!(missing.message, "table \"default.nosuch\" does not exist");
    });
}
