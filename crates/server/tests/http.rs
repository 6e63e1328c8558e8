//! The HTTP door as clients meet it: a real server, a real database, a socket.
//!
//! Rows of the interface's tables are cases here; each says what must come back, to the byte where a client looks at bytes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and watch a real server with a real clock"
)]

#[path = "http/bodies.rs"]
mod bodies;
#[path = "http/client.rs"]
mod client;
#[path = "http/crowds.rs"]
mod crowds;
#[path = "http/names.rs"]
mod names;
#[path = "http/safety.rs"]
mod safety;
#[path = "http/wishes.rs"]
mod wishes;

use std::time::{Duration, Instant};

use base64::Engine as _;
use client::{Answer, Client, start, start_with};
use engine::OutputEncoder;
use server::{Limits, User, Verifier};

fn code(answer: &Answer) -> Option<&str> {
    answer.header("x-clickhouse-exception-code")
}

#[test]
fn a_file_that_is_put_is_a_body_like_one_that_is_posted() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64) ENGINE MergeTree ORDER BY a"]);
    let answer = running.ask("PUT", "/?query=INSERT+INTO+t+FORMAT+CSV", &[], b"1\n2\n");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(running.ask("PUT", "/", &[], b"SELECT sum(a) FROM t").text(), "3\n");
}

#[test]
fn small_pages_are_there_and_others_are_not() {
    let running = start();
    for (method, target, status, text) in [
        ("GET", "/", 200, "Ok.\n"),
        ("GET", "/ping", 200, "Ok.\n"),
        ("GET", "/ping?x=1", 200, "Ok.\n"),
        ("GET", "/replicas_status", 200, "Ok.\n"),
        ("GET", "/nothing", 404, "There is no handle /nothing"),
        ("GET", "/../../etc/passwd", 404, "There is no handle"),
        ("DELETE", "/", 405, "Method DELETE"),
        ("GET", "/play", 200, "<!doctype html>"),
        ("GET", "/metrics", 200, "# HELP gristmill_queries_total"),
    ] {
        let answer = running.ask(method, target, &[], b"");
        assert_eq!(answer.status, status, "{target}");
        assert!(answer.text().starts_with(text), "{target}: {}", answer.text());
    }
    let head = {
        let mut client = Client::connect(running.address);
        client.send("HEAD", "/", &[], b"");
        client.head()
    };
    assert_eq!((head.status, head.header("content-length")), (200, Some("4")));
    let play = running.ask("GET", "/play", &[], b"");
    assert!(
        !play.text().contains("http://") && !play.text().contains("https://"),
        "it loads nothing from elsewhere"
    );
    assert!(play.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
}

#[test]
fn statements_come_in_the_url_or_the_body_and_answer_in_their_format() {
    let running = start();
    for (method, target, headers, body, expected) in [
        ("GET", "/?query=SELECT%201", vec![], "", "1\n"),
        ("POST", "/", vec![], "SELECT 1", "1\n"),
        ("POST", "/?query=SELECT", vec![], "1 + 1", "2\n"),
        ("POST", "/", vec![], "SELECT 1 AS a FORMAT JSONEachRow", "{\"a\":1}\n"),
        ("POST", "/?default_format=CSV", vec![], "SELECT 'a', 1", "\"a\",1\n"),
        (
            "POST",
            "/?default_format=CSV",
            vec![("X-ClickHouse-Format", "TSVWithNames")],
            "SELECT 1 AS a",
            "a\n1\n",
        ),
        (
            "POST",
            "/?default_format=CSV",
            vec![("X-ClickHouse-Format", "CSV")],
            "SELECT 'a' FORMAT TSV",
            "a\n",
        ),
        ("POST", "/?param_x=7", vec![], "SELECT {x:UInt8} + 1", "8\n"),
        ("POST", "/?database=system", vec![], "SELECT count() > 0 FROM one", "1\n"),
        ("POST", "/", vec![("X-ClickHouse-Database", "system")], "SELECT dummy FROM one", "0\n"),
        (
            "POST",
            "/?max_result_rows=2&result_overflow_mode=break&max_block_size=1",
            vec![],
            "SELECT 1",
            "1\n",
        ),
        ("POST", "/?wait_end_of_query=1", vec![], "SELECT 1", "1\n"),
        ("POST", "/", vec![("Content-Type", "application/x-www-form-urlencoded")], "SELECT 1", "1\n"),
        ("POST", "/", vec![], "SELECT 1 WHERE 0", ""),
    ] {
        let answer = running.ask(method, target, &headers, body.as_bytes());
        assert_eq!((answer.status, answer.text().as_str()), (200, expected), "{target} {body}");
        assert!(answer.header("x-clickhouse-format").is_some(), "{target} {body}");
    }
}

#[test]
fn heads_say_what_clients_look_for() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64) ENGINE MergeTree ORDER BY a"]);
    let answer = running.post("/?query_id=my-id&session_timezone=Europe/Paris", "SELECT 1 FORMAT JSON");
    for (name, value) in [
        ("x-clickhouse-query-id", "my-id"),
        ("x-clickhouse-format", "JSON"),
        ("x-clickhouse-timezone", "Europe/Paris"),
        ("x-clickhouse-server-display-name", "tests"),
        ("content-type", "application/json; charset=UTF-8"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    assert_eq!(answer.header("x-clickhouse-exception-tag").unwrap().len(), 16);
    assert_eq!(running.post("/", "SELECT 1").header("x-clickhouse-query-id").unwrap().len(), 36);
    let inserted = running.post("/", "INSERT INTO t VALUES (1), (2), (3)");
    assert_eq!((inserted.status, inserted.text().as_str()), (200, ""));
    assert_eq!(inserted.header("x-clickhouse-format"), None, "there are no rows");
    let summary = inserted.header("x-clickhouse-summary").unwrap();
    assert!(summary.contains(r#""written_rows":"3""#), "{summary}");
    assert_eq!(
        inserted.header("x-gristmill-seq"),
        Some("2"),
        "the record of the rows, behind that of the table"
    );
    assert_eq!(running.post("/?wait_for_seq=2", "SELECT count() FROM t").text(), "3\n");
    let summary = running.post("/", "SELECT sum(a) FROM t");
    let summary = summary.header("x-clickhouse-summary").unwrap();
    assert!(summary.contains(r#""result_rows":"1""#) && summary.contains(r#""elapsed_ns":""#), "{summary}");
}

#[test]
fn errors_have_a_status_a_code_and_clickhouse_s_words() {
    let running = start();
    for (method, target, body, status, expected) in [
        ("POST", "/", "SELEC 1", 400, "62"),
        ("POST", "/", "", 400, "62"),
        ("POST", "/", "SELECT 1; SELECT 2", 400, "62"),
        ("POST", "/", "SELECT * FROM nothing", 404, "60"),
        ("POST", "/", "SELECT nothing", 404, "47"),
        ("POST", "/", "SELECT nothing(1)", 404, "46"),
        ("POST", "/?nothing=1", "SELECT 1", 404, "115"),
        ("POST", "/?database=nothing", "SELECT 1", 404, "81"),
        ("POST", "/?default_format=Nothing", "SELECT 1", 404, "73"),
        ("POST", "/?param_y=1", "SELECT {x:UInt8}", 500, "456"),
        ("POST", "/", "SELECT 1 INTO OUTFILE '/tmp/x'", 500, "358"),
        ("POST", "/?role=a", "SELECT 1", 501, "48"),
        ("POST", "/?compress=maybe", "SELECT 1", 400, "36"),
        ("POST", "/?query=%ff", "", 400, "36"),
        ("GET", "/?query=CREATE+TABLE+t(a+Int8)ENGINE=Memory", "", 500, "164"),
        ("GET", "/?readonly=0&query=CREATE+TABLE+t(a+Int8)ENGINE=Memory", "", 500, "164"),
        ("GET", "/?query=SELECT+1+SETTINGS+readonly=0", "", 500, "164"),
        ("POST", "/?readonly=1", "CREATE TABLE t (a Int8) ENGINE = Memory", 500, "164"),
        ("POST", "/?session_id=a&session_check=1", "SELECT 1", 404, "372"),
        ("POST", "/?session_id=a&session_timeout=100000", "SELECT 1", 400, "374"),
        ("POST", "/?query_id=a%0d%0aSet-Cookie:+b", "SELECT 1", 400, "36"),
        ("POST", "/?session_id=a%0ab", "SELECT 1", 400, "36"),
    ] {
        let answer = running.ask(method, target, &[], body.as_bytes());
        let text = answer.text();
        assert_eq!((answer.status, code(&answer)), (status, Some(expected)), "{target} {body}: {text}");
        assert!(text.starts_with(&format!("Code: {expected}. DB::Exception: ")), "{text}");
        assert!(text.ends_with(") (version 25.8.1.1)\n"), "{text}");
        assert_eq!(answer.header("set-cookie"), None);
        assert!(answer.header("x-clickhouse-query-id").is_some());
    }
}

#[test]
fn rows_arrive_whatever_way_they_are_sent_and_wherever_the_body_is_cut() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64, s String) ENGINE MergeTree ORDER BY a"]);
    let native = running.post("/", "SELECT toUInt64(7) AS a, 'x' AS s FORMAT Native").body();
    let statement = |sql: &str, data: &[u8]| [sql.as_bytes(), data].concat();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("/?query=INSERT+INTO+t+FORMAT+CSV", b"7,x\n".to_vec()),
        ("/?query=INSERT+INTO+t+FORMAT+JSONEachRow%0a", b"{\"a\":7,\"s\":\"x\"}".to_vec()),
        ("/", statement("INSERT INTO t FORMAT CSV\n", b"7,x\n")),
        ("/", statement("INSERT INTO t (a, s) FORMAT TabSeparated\n", b"7\tx\n")),
        ("/", statement("INSERT INTO t (`a`, `s`) FORMAT Native\n", &native)),
        ("/?query=INSERT+INTO+t+FORMAT+Native", native.clone()),
        ("/?query=INSERT+INTO+t+VALUES", b"(7, 'x')".to_vec()),
        ("/", b"INSERT INTO t VALUES (3 + 4, lower('X'))".to_vec()),
        ("/", b"INSERT INTO t SELECT 7, 'x'".to_vec()),
    ];
    for (target, body) in cases {
        for length in [1, 3, body.len()] {
            let mut client = Client::connect(running.address);
            client.send_chunked(target, &[], &body, length);
            let answer = client.answer();
            assert_eq!(answer.status, 200, "{target} {length}: {}", answer.text());
            assert_eq!(running.post("/", "SELECT count(), sum(a), max(s) FROM t").text(), "1\t7\tx\n");
            running.run(&["TRUNCATE TABLE t"]);
        }
    }
}

#[test]
fn both_systems_of_compression_work_both_ways() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64) ENGINE MergeTree ORDER BY a"]);
    let sum = || running.post("/", "SELECT count(), sum(a) FROM t").text();
    for coding in ["gzip", "deflate", "br", "zstd", "lz4"] {
        let packed = |text: &str| {
            let (mut encoder, mut out) = (OutputEncoder::of_method(coding, None).unwrap(), Vec::new());
            encoder.encode(text.as_bytes(), &mut out).unwrap();
            encoder.finish(&mut out).unwrap();
            out
        };
        // Some clients make a frame of every block.
        let body = [packed("INSERT INTO t FORMAT CSV\n1\n"), packed("2\n")].concat();
        let body = if coding == "br" { packed("INSERT INTO t FORMAT CSV\n1\n2\n") } else { body };
        let answer = running.ask("POST", "/", &[("Content-Encoding", coding)], &body);
        assert_eq!(answer.status, 200, "{coding}: {}", answer.text());
        assert_eq!(sum(), "2\t3\n", "{coding}");
        running.run(&["TRUNCATE TABLE t"]);
        let cut = running.ask("POST", "/", &[("Content-Encoding", coding)], &body[..body.len() - 1]);
        assert_ne!(cut.status, 200, "{coding}");
        assert_eq!(sum(), "0\t0\n", "{coding}");
        let select = "SELECT number FROM numbers(1000)";
        let answer = running.ask("POST", "/", &[("Accept-Encoding", coding)], select.as_bytes());
        assert_eq!(answer.header("content-encoding"), Some(coding));
        let headers = [("Content-Encoding", coding)];
        let back = running.ask("POST", "/?query=INSERT+INTO+t+FORMAT+TSV", &headers, &answer.body());
        assert_eq!((back.status, sum().as_str()), (200, "1000\t499500\n"), "{coding}: {}", back.text());
        running.run(&["TRUNCATE TABLE t"]);
        let plain = running.ask("POST", "/?enable_http_compression=0", &headers[..0], b"SELECT 1");
        assert_eq!((plain.header("content-encoding"), plain.text().as_str()), (None, "1\n"));
    }
    let select = b"SELECT number FROM numbers(500000) FORMAT RowBinary";
    let blocks = running.ask("POST", "/?compress=1", &[("Accept-Encoding", "gzip")], select);
    assert_eq!(blocks.header("content-encoding"), None);
    let back =
        running.ask("POST", "/?decompress=1&query=INSERT+INTO+t+FORMAT+RowBinary", &[], &blocks.body());
    assert_eq!((back.status, sum().as_str()), (200, "500000\t124999750000\n"), "{}", back.text());
    let damaged = running.ask("POST", "/?decompress=1", &[], b"SELECT 1 and more bytes than a header has");
    assert_ne!(damaged.status, 200);
    // Errors come as the answer would have come.
    let failed = running.ask("POST", "/?compress=1", &[], b"SELECT * FROM nowhere");
    assert_eq!((failed.status, code(&failed)), (404, Some("60")));
    assert_eq!(failed.body()[16], 0x82, "LZ4 behind its checksum: {}", failed.text());
    let failed = running.ask("POST", "/", &[("Accept-Encoding", "gzip")], b"SELECT * FROM nowhere");
    assert_eq!((code(&failed), failed.header("content-encoding")), (Some("60"), Some("gzip")));
    assert_eq!(failed.body()[..2], [0x1f, 0x8b]);
    let unknown = running.ask("POST", "/", &[("Content-Encoding", "sdch")], b"SELECT 1");
    assert_eq!(code(&unknown), Some("89"));
}

#[test]
fn native_follows_the_revision_of_the_client() {
    let running = start();
    let block = |target: &str| running.post(target, "SELECT toUInt8(1) AS check FORMAT Native").body();
    let notes = [1, 0, 2, 255, 255, 255, 255, 0];
    let column = b"\x01\x01\x05check\x05UInt8";
    for (target, expected) in [
        ("/", [&column[..], &[1]].concat()),
        ("/?client_protocol_version=54405", [&notes, &column[..], &[1]].concat()),
        ("/?client_protocol_version=54460", [&notes, &column[..], &[0, 1]].concat()),
        ("/?client_protocol_version=99999", [&notes, &column[..], &[0, 1]].concat()),
    ] {
        assert_eq!(block(target), expected, "{target}");
    }
}

#[test]
fn an_error_behind_rows_is_the_last_chunk_and_ends_the_connection() {
    let running = start();
    let sql = "SELECT intDiv(1, 300000 - toInt64(number)) FROM numbers(1000000)";
    let answer = running.post("/?buffer_size=1000&max_threads=1", sql);
    assert_eq!((answer.status, answer.complete), (200, false), "clients that do not look inside notice, too");
    let tag = answer.header("x-clickhouse-exception-tag").unwrap().to_owned();
    let last = String::from_utf8(answer.chunks.last().unwrap().clone()).unwrap();
    let opening = format!("\r\n__exception__\r\n{tag}\r\nCode: 153. DB::Exception: ");
    assert!(last.starts_with(&opening), "{last}");
    let message = last.strip_prefix(&format!("\r\n__exception__\r\n{tag}\r\n")).unwrap();
    let message = message.strip_suffix(&format!(" {tag}\r\n__exception__\r\n")).unwrap();
    let (message, length) = message.rsplit_once('\n').unwrap();
    assert_eq!(length.parse::<usize>().unwrap(), message.len() + 1);
    let rows = answer.chunks[..answer.chunks.len() - 1].concat();
    assert!(rows.ends_with(b"0\n") || rows.ends_with(b"1\n"), "whole rows came before it");
    // Held back, the same error has a status of its own.
    let answer = running.post("/?wait_end_of_query=1", sql);
    assert_eq!((answer.status, code(&answer)), (500, Some("153")));
    assert!(answer.text().starts_with("Code: 153."));
}

#[test]
fn a_result_that_waits_for_its_end_has_a_length_however_large_it_is() {
    let running = start_with(vec![User::unnamed()], Limits { held_bytes: 100_000, ..Limits::default() });
    let answer = running.post("/?wait_end_of_query=1", "SELECT number FROM numbers(1000000)");
    assert_eq!(
        answer.header("content-length").map(|length| length.parse::<usize>().unwrap()),
        Some(6_888_890)
    );
    let text = answer.text();
    assert!(text.starts_with("0\n1\n") && text.ends_with("\n999999\n"));
    let left = || std::fs::read_dir(running.folder.path().join("spool")).unwrap().count();
    let started = Instant::now();
    while left() > 0 && started.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(left(), 0, "the spool is empty again");
    let summary = answer.header("x-clickhouse-summary").unwrap();
    assert!(summary.contains(r#""result_rows":"1000000""#), "{summary}");
}

#[test]
fn sessions_keep_their_settings_and_run_one_statement_at_a_time() {
    let running = start();
    running.run(&["CREATE DATABASE d"]);
    let ask = |sql: &str| running.post("/?session_id=s", sql);
    assert_eq!(ask("USE d").status, 200);
    assert_eq!(ask("SELECT currentDatabase()").text(), "d\n");
    assert_eq!(running.post("/?session_id=other", "SELECT currentDatabase()").text(), "default\n");
    assert_eq!(running.post("/?session_id=s&database=system", "SELECT currentDatabase()").text(), "system\n");
    assert_eq!(ask("SELECT currentDatabase()").text(), "d\n", "a parameter is of one request");
    let mut long = Client::connect(running.address);
    long.send("POST", "/?session_id=s&buffer_size=1", &[], b"SELECT number FROM numbers(1000000000)");
    assert_eq!(long.head().status, 200);
    assert_eq!(code(&ask("SELECT 1")), Some("373"));
    drop(long);
    running.wait_until_idle();
    let closed = running.post("/?session_id=s&close_session=1", "SELECT currentDatabase()");
    assert_eq!(closed.text(), "d\n");
    assert_eq!(ask("SELECT currentDatabase()").text(), "default\n", "it is a new one");
}

#[test]
fn users_are_who_they_can_prove_to_be() {
    let random = host::SystemRandom::new().unwrap();
    let user = |name: &str, readonly| User {
        name: name.to_owned(),
        verifier: Some(Verifier::new("geheim", &random)),
        readonly,
        database: Some("system".to_owned()),
        sees_all: false,
    };
    let running = start_with(vec![User::unnamed(), user("ann", 0), user("reader", 1)], Limits::default());
    let basic = |pair: &str| {
        let token = base64::engine::general_purpose::STANDARD.encode(pair);
        running.ask("POST", "/", &[("Authorization", &format!("Basic {token}"))], b"SELECT currentDatabase()")
    };
    assert_eq!(basic("ann:geheim").text(), "system\n");
    assert_eq!(basic("ann:geheim").text(), "system\n");
    let wrong = basic("ann:Geheim");
    let unknown = basic("bob:Geheim");
    assert_eq!((wrong.status, code(&wrong)), (403, Some("516")));
    assert_eq!((unknown.status, code(&unknown)), (403, Some("516")));
    assert_eq!(wrong.text().replace("ann", "bob"), unknown.text());
    assert!(!wrong.text().contains("Geheim"));
    assert_eq!(running.post("/?user=ann&password=geheim", "SELECT 1").text(), "1\n");
    let headers = [("X-ClickHouse-User", "reader"), ("X-ClickHouse-Key", "geheim")];
    let reader = |target: &str, sql: &str| running.ask("POST", target, &headers, sql.as_bytes());
    assert_eq!(reader("/", "SELECT 1").text(), "1\n");
    for (target, sql) in [
        ("/", "CREATE TABLE default.t (a Int8) ENGINE = Memory"),
        ("/?readonly=0", "CREATE TABLE default.t (a Int8) ENGINE = Memory"),
        ("/", "SELECT 1 SETTINGS readonly = 0"),
        ("/", "SET readonly = 0"),
        ("/?max_threads=1", "SELECT 1"),
        ("/?session_id=a", "SET max_threads = 1"),
    ] {
        let answer = reader(target, sql);
        assert_eq!(code(&answer), Some("164"), "{target} {sql}: {}", answer.text());
    }
}

#[test]
fn forms_carry_parameters() {
    let running = start();
    let form = "--B\r\nContent-Disposition: form-data; name=\"param_x\"\r\n\r\nlong\r\n--B\r\n\
                Content-Disposition: form-data; name=\"query\"\r\n\r\nSELECT {x:String}\r\n--B--\r\n";
    let headers = [("Content-Type", "multipart/form-data; boundary=B")];
    let answer = running.ask("POST", "/", &headers, form.as_bytes());
    assert_eq!((answer.status, answer.text().as_str()), (200, "long\n"));
    let form = form.replace("name=\"query\"\r\n\r\nSELECT {x:String}", "name=\"param_y\"\r\n\r\n1");
    let answer = running.ask("POST", "/?query=SELECT+%7Bx:String%7D,%7By:Int8%7D", &headers, form.as_bytes());
    assert_eq!((answer.status, answer.text().as_str()), (200, "long\t1\n"));
}

#[test]
fn pages_of_other_origins_are_kept_out() {
    let running = start();
    let answer = running.ask("POST", "/", &[("Origin", "http://elsewhere")], b"SELECT 1");
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(running.ask("POST", "/", &[("Origin", "http://localhost")], b"SELECT 1").status, 200);
    let preflight = running.ask("OPTIONS", "/", &[("Origin", "http://elsewhere")], b"");
    assert_eq!((preflight.status, preflight.header("access-control-allow-methods")), (204, None));
}

#[test]
fn too_many_statements_wait_and_then_are_refused() {
    let wait = Duration::from_millis(100);
    let limits = Limits { statements: 1, long_statements: 0, waiting: 10, wait, ..Limits::default() };
    let running = start_with(vec![User::unnamed()], limits);
    let mut long = Client::connect(running.address);
    long.send("POST", "/", &[], b"SELECT max(sipHash64(number)) FROM numbers(100000000000)");
    let mut refused = running.post("/", "SELECT 1");
    for _ in 0..100 {
        if refused.status != 200 {
            break;
        }
        refused = running.post("/", "SELECT 1");
    }
    assert_eq!((refused.status, code(&refused)), (503, Some("202")));
    drop(long);
    running.wait_until_idle();
    assert_eq!(running.post("/", "SELECT 1").status, 200);
}

#[test]
fn who_goes_away_ends_what_only_reads() {
    let running = start();
    for sql in [
        "SELECT max(sipHash64(number)) FROM numbers(100000000000)",
        "SELECT number FROM numbers(100000000000)",
    ] {
        let mut client = Client::connect(running.address);
        client.send("POST", "/", &[], sql.as_bytes());
        while running.database.figures().statements_running == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(client);
        running.wait_until_idle();
    }
}

#[test]
fn a_slow_reader_makes_its_statement_wait_and_not_the_memory_grow() {
    let limits = Limits { statements: 1, ..Limits::default() };
    let running = start_with(vec![User::unnamed()], limits);
    let mut slow = Client::connect(running.address);
    slow.send("POST", "/", &[], b"SELECT number, toString(number) FROM numbers(100000000)");
    assert_eq!(slow.head().status, 200);
    let before = host::process::current_rss_bytes();
    let started = Instant::now();
    // It holds the only place until it has been slow for a moment.
    assert_eq!(running.post("/", "SELECT 1").text(), "1\n");
    assert!(started.elapsed() < Duration::from_secs(8));
    // What the two ends of the connection take, and two batches.
    let rows = running.post("/", "SELECT max(read_rows) FROM system.processes").text();
    assert!(
        rows.trim().parse::<u64>().unwrap() < 1_000_000,
        "{rows} rows were computed for one who reads none"
    );
    let grown = host::process::current_rss_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "memory grew by {} MB", grown >> 20);
    assert!(!slow.chunk().unwrap().is_empty());
}

#[test]
fn a_body_that_breaks_off_leaves_nothing() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64) ENGINE MergeTree ORDER BY a"]);
    // A long body is read by a task of its own.
    for rows in [3, 5_000_000] {
        let mut client = Client::connect(running.address);
        let head = "POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n";
        client.write(head.as_bytes());
        client.write(&b"1\n".repeat(rows));
        while running.database.figures().statements_running == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(client);
        running.wait_until_idle();
    }
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "0\n");
}

#[test]
fn many_requests_follow_each_other_on_one_connection() {
    let running = start();
    let mut client = Client::connect(running.address);
    for n in 0..50 {
        client.send("POST", "/", &[], format!("SELECT {n}").as_bytes());
        let answer = client.answer();
        assert_eq!((answer.text(), answer.header("connection")), (format!("{n}\n"), None));
    }
    client.send("POST", "/", &[], b"SELECT nothing");
    assert_eq!(client.answer().status, 404);
    client.send("POST", "/", &[], b"SELECT 1");
    assert_eq!(client.answer().text(), "1\n", "an error ends no connection");
}

#[test]
fn a_server_that_stops_lets_statements_end_and_takes_no_new_ones() {
    let mut running = start();
    let mut client = Client::connect(running.address);
    client.send("POST", "/", &[], b"SELECT number FROM numbers(3000000)");
    assert_eq!(client.head().status, 200);
    let server = running.server.take().unwrap();
    let stopping = std::thread::spawn({
        let runtimes = running.runtimes.clone();
        move || runtimes.block_on(server.stop())
    });
    let mut last = Vec::new();
    while let Some(chunk) = client.chunk().filter(|chunk| !chunk.is_empty()) {
        last = chunk;
    }
    assert!(last.ends_with(b"\n2999999\n"), "the answer is whole");
    assert!(stopping.join().unwrap(), "it was not cut");
    assert!(
        std::net::TcpStream::connect(running.address).is_err() || {
            let mut late = Client::connect(running.address);
            late.send("GET", "/ping", &[], b"");
            late.chunk().is_none()
        }
    );
}

#[test]
fn a_body_that_is_wrong_at_its_beginning_is_read_to_its_end_before_the_answer_is() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64) ENGINE MergeTree ORDER BY a"]);
    let body = [b"wrong\n".to_vec(), b"1\n".repeat(10_000_000)].concat();
    let mut client = Client::connect(running.address);
    client.send("POST", "/?query=INSERT+INTO+t+FORMAT+CSV", &[], &body);
    let answer = client.answer();
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("wrong"), "{}", answer.text());
    client.send("POST", "/", &[], b"SELECT 1");
    assert_eq!(client.answer().text(), "1\n");
}
