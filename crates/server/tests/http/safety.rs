//! What somebody may try who can reach the door: each try is a case, and none may succeed.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use server::{Limits, User, Verifier};

use crate::client::{Client, Running, start, start_confined, start_with};
use crate::code;

/// Percent-encoded, whatever it is.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn user(name: &str, password: &str, readonly: u8) -> User {
    let random = host::SystemRandom::new().unwrap();
    let verifier = Some(Verifier::new(password, &random));
    User { name: name.to_owned(), verifier, readonly, database: None, sees_all: readonly == 0 }
}

/// Addresses of this machine, of its network and of metadata services, in the ways people write them.
const INSIDE: [&str; 29] = [
    "http://127.0.0.1:1/b/x.csv",
    "http://localhost:1/b/x.csv",
    "http://x.localhost/b/x.csv",
    "http://0/b/x.csv",
    "http://[::1]/b/x.csv",
    "http://2130706433/b/x.csv",
    "http://0x7f.1/b/x.csv",
    "http://0177.0.0.1/b/x.csv",
    "http://169.254.169.254/latest/meta-data/iam.csv",
    "http://169.254.169.254:80/computeMetadata/v1/x.csv",
    "http://169.254.170.2/v2/credentials.csv",
    "http://169.254.0.1/b/x.csv",
    "http://2852039166/b/x.csv",
    "http://0xA9FEA9FE/b/x.csv",
    "http://0251.0376.0251.0376/b/x.csv",
    "http://169.254.43518/b/x.csv",
    "http://169.16689662/b/x.csv",
    "http://[::ffff:169.254.169.254]/b/x.csv",
    "http://[::ffff:a9fe:a9fe]/b/x.csv",
    "http://[64:ff9b::a9fe:a9fe]/b/x.csv",
    "http://[2002:a9fe:a9fe::]/b/x.csv",
    "http://[fe80::1]/b/x.csv",
    "http://[fd00:ec2::254]/b/x.csv",
    "http://metadata.google.internal/computeMetadata/x.csv",
    "http://METADATA.google.internal./b/x.csv",
    "http://metadata/b/x.csv",
    "http://user:pw@169.254.169.254/b/x.csv",
    "http://100.100.100.200/b/x.csv",
    "http://168.63.129.16/b/x.csv",
];

#[test]
fn no_statement_reaches_this_machine_or_a_metadata_service() {
    let running = start_confined(vec![User::unnamed()], None);
    running.run(&["CREATE TABLE t (a Int8) ENGINE MergeTree ORDER BY a"]);
    for url in INSIDE {
        let (origin, bucket) = (url.trim_end_matches("/x.csv"), url);
        for statement in [
            format!("SELECT * FROM url('{url}', 'CSV', 'a Int8')"),
            format!("SELECT * FROM url('{url}')"),
            format!("SELECT * FROM s3('{bucket}', NOSIGN, 'CSV', 'a Int8')"),
            format!("SELECT * FROM s3('{bucket}', 'key', 'secret', 'CSV')"),
            format!("SELECT * FROM gcs('{bucket}', NOSIGN, 'CSV', 'a Int8')"),
            format!("SELECT * FROM azureBlobStorage('{origin}', 'c', 'x.csv', 'account', 'a2V5', 'CSV')"),
            format!("DESCRIBE TABLE url('{url}', 'CSV')"),
            format!("INSERT INTO t SELECT * FROM url('{url}', 'CSV', 'a Int8')"),
            format!("INSERT INTO FUNCTION s3('{bucket}', 'key', 'secret', 'CSV', 'a Int8') VALUES (1)"),
            format!("CREATE TABLE o ENGINE = URL('{url}', 'CSV')"),
        ] {
            let started = Instant::now();
            let answer = running.post("/", &statement);
            let text = answer.text();
            assert!(matches!(code(&answer), Some("491" | "36")), "{statement}: {text}");
            assert!(started.elapsed() < Duration::from_secs(5), "{statement}: somebody was asked");
        }
    }
    for url in
        ["file:///etc/passwd", "ftp://example.com/x.csv", "gopher://example.com/", "http:///x", "x.csv"]
    {
        let answer = running.post("/", &format!("SELECT * FROM url('{url}', 'CSV', 'a String')"));
        assert!(answer.status >= 400 && !answer.text().contains("root:"), "{url}: {}", answer.text());
    }
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "0\n");
}

/// A server that redirects `/N` to the Nth place, and says how often it was asked.
fn redirecting(places: &'static [&'static str]) -> (String, std::sync::mpsc::Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (asked, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).unwrap();
            let line = String::from_utf8_lossy(&request[..read]).into_owned();
            let at = line.split(['/', '.', ' ']).find_map(|word| word.parse::<usize>().ok()).unwrap();
            let place = places[at];
            let head = format!(
                "HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            if asked.send(at).is_err() {
                return;
            }
        }
    });
    (address, heard)
}

#[test]
fn no_redirect_leads_there_either() {
    const PLACES: &[&str] = &[
        "http://169.254.169.254/latest/x.csv",
        "http://[::ffff:169.254.169.254]/x.csv",
        "http://2852039166/x.csv",
        "http://metadata.google.internal/x.csv",
        "http://localhost:1/x.csv",
        "http://[::1]:1/x.csv",
        "file:///etc/passwd",
    ];
    let (address, heard) = redirecting(PLACES);
    // An operator allows this very server, and otherwise any host.
    let running = start_confined(vec![User::unnamed()], Some(vec![address.clone(), "*".to_owned()]));
    for (at, place) in PLACES.iter().enumerate() {
        let sql = format!(
            "SELECT * FROM url('http://{address}/{at}.csv', 'CSV', 'a String') SETTINGS max_http_get_redirects = 5"
        );
        let started = Instant::now();
        let answer = running.post("/", &sql);
        assert!(answer.status >= 400, "{place}: {}", answer.text());
        assert!(!answer.text().contains("root:"), "{place}: {}", answer.text());
        assert!(started.elapsed() < Duration::from_secs(10), "{place}: somebody was asked");
        assert!(heard.recv_timeout(Duration::from_secs(10)).is_ok_and(|asked| asked == at), "{place}");
        let _ = heard.try_iter().count();
    }
}

#[test]
fn nothing_a_client_writes_breaks_out_of_a_header() {
    let running = start();
    let evil = encoded("x\r\nSet-Cookie: a=b\r\n\r\n<html>");
    for target in [
        "query_id",
        "session_id",
        "database",
        "default_format",
        "user",
        "password",
        "session_timezone",
        "param_x",
        "max_threads",
        "nosuch",
        "client_protocol_version",
        "log_comment",
        "quota_key",
    ]
    .map(|name| format!("/?{name}={evil}"))
    .into_iter()
    .chain([format!("/?{evil}=1"), format!("/{evil}"), format!("/?query={evil}")])
    {
        for sql in ["SELECT 1", "SELECT nosuch", "SELECT {x:String}"] {
            let answer = running.post(&target, sql);
            assert!(answer.header("set-cookie").is_none(), "{target}");
            for (name, value) in &answer.headers {
                assert!(
                    !value.contains("Set-Cookie") && !name.contains("Cookie"),
                    "{target}: {name}: {value}"
                );
            }
            assert!(answer.complete, "{target}");
        }
    }
    // What stands in a statement and in its names is shown in the body alone.
    let answer = running.post("/", "SELECT 1 AS `x\r\nSet-Cookie: a=b` FORMAT `CSV\r\nSet-Cookie: a=b`");
    assert!(answer.header("set-cookie").is_none() && answer.status >= 400);
    // A request inside a body is a body.
    let mut client = Client::connect(running.address);
    client.send(
        "POST",
        "/",
        &[],
        b"SELECT 1\r\n\r\nPOST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\nSELECT 2",
    );
    assert_eq!(code(&client.answer()), Some("62"));
    // Two lengths, or a length and chunks, are how requests are smuggled.
    for head in [
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\nContent-Length: 4\r\n\r\nSELECT 1",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: identity\r\n\r\nSELECT 1",
    ] {
        let mut client = Client::connect(running.address);
        client.write(head.as_bytes());
        assert_eq!(client.head().status, 400, "{head:?}");
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path.display().to_string()),
        }
    }
    found
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let running = start_confined(vec![User::unnamed()], None);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.csv"), "geheim\n").unwrap();
    let user_files = running.folder.path().join("user_files");
    std::fs::create_dir_all(&user_files).unwrap();
    std::os::unix::fs::symlink(outside.path(), user_files.join("link")).unwrap();
    let (there, back) = (outside.path().display().to_string(), "../".repeat(20));
    let far = format!("{back}{}", there.trim_start_matches('/'));
    for path in [
        format!("{there}/secret.csv"),
        format!("{far}/secret.csv"),
        format!("./{far}/secret.csv"),
        format!("x/../{far}/secret.csv"),
        "link/secret.csv".to_owned(),
        "l*/s*.csv".to_owned(),
        format!("{{{there},x}}/secret.csv"),
        format!("file://{there}/secret.csv"),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
        "../db/stream/0/wal/*".to_owned(),
    ] {
        for sql in [
            format!("SELECT * FROM file('{path}', 'LineAsString', 'a String')"),
            format!("SELECT * FROM file('{path}', 'LineAsString')"),
            format!("DESCRIBE TABLE file('{path}')"),
            format!("INSERT INTO FUNCTION file('{path}', 'CSV', 'a String') VALUES ('x')"),
            format!("INSERT INTO FUNCTION null('a String') FROM INFILE '{path}' FORMAT LineAsString"),
            format!("SELECT 1 INTO OUTFILE '{path}'"),
        ] {
            let answer = running.post("/", &sql);
            assert!(answer.status >= 400, "{sql}: {}", answer.text());
            assert!(!answer.text().contains("geheim") && !answer.text().contains("root:"), "{sql}");
        }
    }
    for name in
        ["..", ".", "../../x", "/etc/x", "a/b", "a\\0b", "..%2f", "x/../../y", "con\\nx", &far, "-rf", "~"]
    {
        // A name may be refused or taken; it is a name, not a path.
        for sql in [
            format!("CREATE DATABASE `{name}`"),
            format!("CREATE TABLE `{name}` (a Int8) ENGINE MergeTree ORDER BY a"),
            format!("INSERT INTO `{name}` SELECT number % 100 FROM numbers(100000)"),
            format!("CREATE TABLE t (`{name}` Int8) ENGINE MergeTree ORDER BY `{name}`"),
            format!("INSERT INTO t WITH LABEL `{name}` SELECT 1"),
            "DROP TABLE IF EXISTS t".to_owned(),
            format!("DROP TABLE IF EXISTS `{name}`"),
            format!("DROP DATABASE IF EXISTS `{name}`"),
        ] {
            running.post("/", &sql);
        }
        let id = encoded(name);
        running.post(
            &format!("/?query_id={id}&session_id={id}&wait_end_of_query=1"),
            "SELECT number FROM numbers(5000000)",
        );
    }
    assert_eq!(files(outside.path()), [format!("{there}/secret.csv")]);
    let mut top: Vec<_> =
        std::fs::read_dir(running.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    top.sort();
    assert!(
        top.iter().all(|name| ["db", "spool", "user_files"].iter().any(|known| name == known)),
        "{top:?}"
    );
    assert_eq!(
        running.post("/", "SELECT count() FROM system.tables WHERE database = 'default'").text(),
        "0\n"
    );
}

/// Statements that change something, or read what a reader should not.
const CHANGES: [&str; 41] = [
    "INSERT INTO t VALUES (7)",
    "INSERT INTO t SELECT 7",
    "INSERT INTO t FORMAT CSV\n7\n",
    "INSERT INTO FUNCTION file('x.csv', 'CSV', 'a Int8') VALUES (1)",
    "INSERT INTO FUNCTION null('a Int8') VALUES (1)",
    "INSERT INTO m VALUES (7)",
    "CREATE TABLE n (a Int8) ENGINE MergeTree ORDER BY a",
    "CREATE TABLE n ENGINE MergeTree ORDER BY a AS SELECT 1 AS a",
    "CREATE OR REPLACE TABLE t (a Int8) ENGINE MergeTree ORDER BY a",
    "CREATE TABLE IF NOT EXISTS n (a Int8) ENGINE Memory",
    "CREATE DATABASE n",
    "CREATE VIEW n AS SELECT 1",
    "CREATE OR REPLACE VIEW v AS SELECT 2",
    "CREATE NAMED COLLECTION n AS a = 'b'",
    "ALTER NAMED COLLECTION c SET a = 'b'",
    "DROP NAMED COLLECTION c",
    "DROP TABLE t",
    "DROP TABLE IF EXISTS t SYNC",
    "DROP VIEW v",
    "DROP DATABASE d",
    "TRUNCATE TABLE t",
    "TRUNCATE DATABASE default",
    "RENAME TABLE t TO t2",
    "EXCHANGE TABLES t AND m",
    "ALTER TABLE t ADD COLUMN b Int8",
    "ALTER TABLE t DROP COLUMN b",
    "ALTER TABLE t RENAME COLUMN a TO b",
    "ALTER TABLE t MODIFY COLUMN a Int64",
    "ALTER TABLE t MODIFY COMMENT 'x'",
    "ALTER TABLE t MODIFY SETTING old_parts_lifetime = 1",
    "ALTER TABLE t DELETE WHERE 1",
    "ALTER TABLE t DROP PARTITION ID 'all'",
    "DELETE FROM t WHERE 1",
    "UPDATE t SET a = 1 WHERE 1",
    "OPTIMIZE TABLE t FINAL",
    "OPTIMIZE TABLE t",
    "DETACH TABLE t",
    "SYSTEM STOP MERGES",
    "SYSTEM SHUTDOWN",
    "CREATE USER x IDENTIFIED BY 'y'",
    "GRANT ALL ON *.* TO reader",
];

/// What the changes above would change.
fn state(running: &Running) -> String {
    let ask = |sql: &str| running.post("/", sql).text();
    let tables = "SELECT database, name, engine, create_table_query, total_rows FROM system.tables \
                  WHERE database IN ('default', 'd', 'n') ORDER BY database, name";
    [
        ask("SELECT name FROM system.databases ORDER BY name"),
        ask(tables),
        ask("SELECT name, collection FROM system.named_collections ORDER BY name"),
        ask("SELECT * FROM t ORDER BY a"),
        ask("SELECT name FROM system.parts ORDER BY name"),
    ]
    .concat()
}

#[test]
fn who_may_only_read_changes_nothing_by_any_verb() {
    let running =
        start_confined(vec![User::unnamed(), user("reader", "geheim", 1), user("tuner", "geheim", 2)], None);
    running.run(&[
        "CREATE TABLE t (a Int8) ENGINE MergeTree ORDER BY a",
        "INSERT INTO t VALUES (1), (2)",
        "CREATE TABLE m (a Int8) ENGINE Memory",
        "CREATE VIEW v AS SELECT 1 AS x",
        "CREATE DATABASE d",
        "CREATE NAMED COLLECTION c AS a = 'x'",
    ]);
    let before = state(&running);
    let get = |sql: &str| {
        let mut client = Client::connect(running.address);
        client.send("GET", &format!("/?query={}", encoded(sql)), &[], b"");
        client.answer()
    };
    for sql in CHANGES {
        for (target, user) in [
            ("/", "reader"),
            ("/", "tuner"),
            ("/?session_id=s", "reader"),
            ("/?readonly=0", "reader"),
            ("/?readonly=0", "tuner"),
        ] {
            let headers = [("X-ClickHouse-User", user), ("X-ClickHouse-Key", "geheim")];
            let answer = running.ask("POST", target, &headers, sql.as_bytes());
            assert!(answer.status >= 400, "{user} {target} {sql}: {}", answer.text());
        }
        let answer = get(sql);
        assert!(answer.status >= 400, "GET {sql}: {}", answer.text());
        let readonly = running.post("/?readonly=1", sql);
        assert!(readonly.status >= 400, "readonly=1 {sql}: {}", readonly.text());
        let clause = running.post("/?readonly=1", &format!("{sql} SETTINGS readonly = 0"));
        assert!(clause.status >= 400, "clause {sql}: {}", clause.text());
    }
    let mut client = Client::connect(running.address);
    client.send("HEAD", &format!("/?query={}", encoded("INSERT INTO t VALUES (9)")), &[], b"");
    assert!(client.head().status >= 400);
    for verb in ["DELETE", "PATCH", "TRACE", "PROPFIND", "MERGE"] {
        let answer = running.ask(verb, &format!("/?query={}", encoded("INSERT INTO t VALUES (9)")), &[], b"");
        assert_eq!(answer.status, 405, "{verb}");
    }
    assert_eq!(state(&running), before);
}

#[test]
fn an_unknown_user_and_a_wrong_password_take_the_same_time() {
    const PAIRS: usize = 40;
    let running = start_with(vec![User::unnamed(), user("ann", "geheim", 0)], Limits::default());
    let micros = |name: &str| {
        // After a few refusals the server ends a connection.
        let mut client = Client::connect(running.address);
        let started = Instant::now();
        client.send("POST", "/", &[("X-ClickHouse-User", name), ("X-ClickHouse-Key", "Geheim")], b"SELECT 1");
        let answer = client.answer();
        assert_eq!((answer.status, code(&answer)), (403, Some("516")), "{name}");
        let said =
            format!("Code: 516. DB::Exception: {name}: Authentication failed: password is incorrect, or");
        assert!(answer.text().starts_with(&said), "{}", answer.text());
        started.elapsed().as_micros()
    };
    micros("ann");
    for others in ["bob", "default"] {
        // In turns, so that what else the machine does hits both; of equals each is the slower half of the time.
        let pairs: Vec<(u128, u128)> = (0..PAIRS)
            .map(|turn| match turn % 2 {
                0 => (micros("ann"), micros(others)),
                _ => {
                    let other = micros(others);
                    (micros("ann"), other)
                }
            })
            .collect();
        let slower = pairs.iter().filter(|(known, other)| other > known).count();
        assert!(
            (7..=PAIRS - 7).contains(&slower),
            "{others} was slower {slower} times of {PAIRS}: {pairs:?}"
        );
        let fastest = pairs.iter().map(|(known, other)| known.min(other)).min().unwrap();
        assert!(*fastest > 2000, "a password is checked in {fastest} us: no work was done");
    }
}

#[test]
fn no_answer_and_no_list_shows_a_secret() {
    let running = start_with(vec![User::unnamed(), user("ann", "leakyPassword", 0)], Limits::default());
    let mut heard = String::new();
    let mut hear = |running: &Running, target: &str, headers: &[(&str, &str)], sql: &str| {
        let answer = running.ask("POST", target, headers, sql.as_bytes());
        for (name, value) in &answer.headers {
            heard.push_str(&format!("{name}: {value}\n"));
        }
        heard.push_str(&answer.text());
        answer.status
    };
    // Credentials of the request: right, wrong, in the wrong place, in requests that fail later.
    for (target, headers) in [
        ("/?user=ann&password=leakyPassword", vec![]),
        ("/?user=ann&password=leakyWrong", vec![]),
        ("/?user=nobody&password=leakyNobody", vec![]),
        ("/?user=ann&password=leakyPassword&nosuch=1", vec![]),
        ("/?user=ann&password=leakyPassword&query_id=%0d", vec![]),
        ("/?user=ann&password=leakyPassword&session_id=s&session_timeout=x", vec![]),
        ("/?user=ann&passwort=leakyMistyped", vec![]),
        ("/", vec![("X-ClickHouse-User", "ann"), ("X-ClickHouse-Key", "leakyWrong")]),
        ("/", vec![("Authorization", "Bearer leakyToken")]),
        ("/", vec![("Authorization", "Basic bGVha3k6bGVha3k="), ("X-ClickHouse-Key", "leakyTwice")]),
        ("/", vec![("Authorization", "Digest leakyDigest")]),
    ] {
        hear(&running, target, &headers, "SELECT 1");
    }
    // Credentials of statements.
    for sql in [
        "CREATE NAMED COLLECTION c AS secret_access_key = 'leakyCollection', url = 'http://127.0.0.1:1/b/x.csv'",
        "CREATE TABLE o (a Int8) ENGINE = S3('http://127.0.0.1:1/b/x.csv', 'id', 'leakyEngine', 'CSV')",
        "CREATE TABLE u (a Int8) ENGINE = URL('http://us:leakyUrl@127.0.0.1:1/x.csv?sig=leakySignature', 'CSV')",
        "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'leakyCall', 'CSV', 'a Int8')",
        "SELECT * FROM s3('http://127.0.0.1:1/b/x.csv', 'id', 'leakyCut",
        "SELECT * FROM url('http://127.0.0.1:1/x.csv', 'CSV', 'a Int8', headers('X-Api' = 'leakyHeader'))",
        "SELECT * FROM o",
        "SELECT * FROM u",
        "SELECT * FROM s3(c, format = 'CSV', structure = 'a Int8')",
        "EXPLAIN SELECT * FROM o",
    ] {
        hear(&running, "/?log_queries=1", &[], sql);
    }
    for sql in [
        "SELECT * FROM system.query_log FORMAT Vertical",
        "SELECT * FROM system.processes FORMAT Vertical",
        "SELECT * FROM system.tables FORMAT Vertical",
        "SELECT * FROM system.named_collections FORMAT Vertical",
        "SELECT * FROM system.settings FORMAT Vertical",
        "SELECT * FROM system.users FORMAT Vertical",
        "SELECT * FROM system.errors FORMAT Vertical",
        "SHOW CREATE TABLE o",
        "SHOW CREATE TABLE u",
        "SHOW PROCESSLIST",
    ] {
        assert_eq!(hear(&running, "/", &[], sql), 200, "{sql}");
    }
    for page in ["/metrics", "/play", "/nothing"] {
        heard.push_str(&running.ask("GET", page, &[], b"").text());
    }
    let around =
        |at: usize| heard[heard.floor_char_boundary(at.saturating_sub(80))..].chars().take(160).collect();
    let leak: Option<String> = heard.find("leaky").map(around);
    assert_eq!(leak, None);
    assert!(heard.contains("[HIDDEN]"), "something was there to hide");
}
