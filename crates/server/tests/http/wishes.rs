//! What unmodified clients rely on beside their formats: figures, files as bodies, parameters, headers.

use crate::client::{Answer, Client, start};
use crate::code;

/// A figure of the summary.
fn figure(answer: &Answer, name: &str) -> u64 {
    let summary = answer.header("x-clickhouse-summary").unwrap();
    let (_, behind) = summary.split_once(&format!("\"{name}\":\"")).unwrap();
    behind.split_once('"').unwrap().0.parse().unwrap()
}

#[test]
fn the_summary_counts_rows_wherever_they_are_read() {
    let running = start();
    running.run(&[
        "CREATE TABLE logged (a UInt64) ENGINE MergeTree ORDER BY a",
        "INSERT INTO logged VALUES (1), (2), (3)",
        "CREATE TABLE parted (a UInt64) ENGINE MergeTree ORDER BY a",
        "INSERT INTO parted SELECT number FROM numbers(100000)",
        "CREATE TABLE held (a UInt64) ENGINE Memory",
        "INSERT INTO held VALUES (1), (2)",
    ]);
    for (sql, rows) in [
        ("SELECT count() FROM numbers(10)", 10),
        ("SELECT sum(number) FROM numbers(1000)", 1000),
        ("SELECT number FROM numbers(7)", 7),
        ("SELECT * FROM zeros(5)", 5),
        ("SELECT sum(a) FROM logged", 3),
        ("SELECT sum(a) FROM parted", 100_000),
        ("SELECT a FROM held", 2),
        ("SELECT 1", 1),
        ("SELECT count() FROM logged AS l JOIN held AS h USING (a)", 5),
    ] {
        let answer = running.post("/?wait_end_of_query=1", sql);
        assert_eq!(answer.status, 200, "{sql}: {}", answer.text());
        assert_eq!(figure(&answer, "read_rows"), rows, "{sql}");
        assert!(figure(&answer, "read_bytes") > 0, "{sql}");
    }
    for (sql, rows) in [
        ("INSERT INTO logged VALUES (4), (5)", 2),
        ("INSERT INTO logged FORMAT CSV\n6\n7\n8\n", 3),
        ("INSERT INTO parted SELECT number FROM numbers(50000)", 50_000),
        ("INSERT INTO held VALUES (9)", 1),
    ] {
        let answer = running.post("/", sql);
        assert_eq!(figure(&answer, "written_rows"), rows, "{sql}");
        assert_eq!(figure(&answer, "result_rows"), rows, "{sql}");
    }
}

/// The numbers of the lines of progress, and every other line.
fn told(answer: &Answer) -> (Vec<u64>, Vec<String>) {
    let (mut rows, mut others) = (vec![], vec![]);
    for line in answer.text().lines() {
        match line.strip_prefix("{\"progress\":{\"read_rows\":\"") {
            Some(rest) => rows.push(rest.split_once('"').unwrap().0.parse().unwrap()),
            None => others.push(line.to_owned()),
        }
    }
    (rows, others)
}

#[test]
fn progress_is_told_among_the_rows() {
    let running = start();
    let sql = "SELECT count() AS c FROM numbers(3000000) WHERE cityHash64(number) > 0 FORMAT JSONEachRowWithProgress";
    let lines = ["{\"meta\":[{\"name\":\"c\",\"type\":\"UInt64\"}]}", "{\"row\":{\"c\":3000000}}"];
    for target in ["/?interactive_delay=1000", "/?interactive_delay=1000&wait_end_of_query=1"] {
        let answer = running.post(target, sql);
        let (rows, others) = told(&answer);
        assert_eq!(others, lines, "{target}");
        assert!(rows.len() > 2 && rows.is_sorted(), "{target}: {rows:?}");
        assert_eq!(rows.last(), Some(&3_000_000), "{target}");
        assert_eq!(answer.header("content-length").is_some(), target.contains("wait"), "{target}");
        assert_eq!(answer.header("content-type"), Some("application/json; charset=UTF-8"));
    }
    running.run(&["CREATE TABLE lines (line String) ENGINE MergeTree ORDER BY line"]);
    for coding in ["gzip", "deflate", "br", "zstd", "lz4"] {
        let answer =
            running.ask("POST", "/?interactive_delay=1000", &[("Accept-Encoding", coding)], sql.as_bytes());
        assert!(answer.chunks.len() > 3, "{coding}: it comes while the statement runs");
        let insert = "/?query=INSERT+INTO+lines+FORMAT+LineAsString";
        let back = running.ask("POST", insert, &[("Content-Encoding", coding)], &answer.body());
        assert_eq!(back.status, 200, "{coding}: {}", back.text());
        let count =
            "SELECT countIf(line LIKE '{\"progress\"%') > 2, countIf(line LIKE '%3000000}}') FROM lines";
        assert_eq!(running.post("/", count).text(), "1\t1\n", "{coding}");
        running.run(&["TRUNCATE TABLE lines"]);
    }
    let answer = running.post("/", "SELECT 1 AS c FORMAT JSONEachRowWithProgress").text();
    let told_of = "{\"progress\":{\"read_rows\":\"1\",\"read_bytes\":\"1\",\"total_rows_to_read\":\"1\",";
    assert!(answer.contains(told_of), "{answer}");
    let (rows, others) = told(&running.post("/", "SELECT 1 AS c WHERE 0 FORMAT JSONEachRowWithProgress"));
    assert_eq!((rows, others.len()), (vec![], 1));
}

#[test]
fn a_parquet_file_is_a_body() {
    let running = start();
    running.run(&[
        "CREATE TABLE t (n UInt64, s String, d UInt64 DEFAULT n * 2, m UInt8) ENGINE MergeTree ORDER BY n",
    ]);
    let file = |sql: &str| {
        let answer = running.post("/?default_format=Parquet", sql);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.body()
    };
    let sum = || running.post("/", "SELECT count(), sum(n), sum(d), sum(m), min(s), max(s) FROM t").text();
    let whole =
        file("SELECT number AS n, toString(number) AS s, 1::UInt64 AS d, 3::UInt8 AS m FROM numbers(1000)");
    for target in ["/?query=INSERT+INTO+t+FORMAT+Parquet", "/?query=INSERT+INTO+t+(d,s,n,m)+FORMAT+Parquet"] {
        let answer = running.ask("POST", target, &[], &whole);
        assert_eq!((answer.status, figure(&answer, "written_rows")), (200, 1000), "{}", answer.text());
        assert_eq!(sum(), "1000\t499500\t1000\t3000\t0\t999\n", "{target}");
        running.run(&["TRUNCATE TABLE t"]);
    }
    // In one body with the statement, and in pieces.
    let body = [b"INSERT INTO t FORMAT Parquet\n".to_vec(), whole.clone()].concat();
    let mut client = Client::connect(running.address);
    client.send_chunked("/", &[], &body, 1000);
    assert_eq!(client.answer().status, 200);
    assert_eq!(sum(), "1000\t499500\t1000\t3000\t0\t999\n");
    running.run(&["TRUNCATE TABLE t"]);
    // What the file does not have is the column's default; what the table does not have is left out.
    let narrow = file("SELECT number AS n, 'x' AS s, 7 AS nosuch FROM numbers(10)");
    let target = "/?query=INSERT+INTO+t+FORMAT+Parquet";
    assert_eq!(running.ask("POST", target, &[], &narrow).status, 200);
    assert_eq!(sum(), "10\t45\t90\t0\tx\tx\n");
    let strict = format!("{target}&input_format_parquet_allow_missing_columns=0");
    assert_eq!(code(&running.ask("POST", &strict, &[], &narrow)), Some("8"));
    // A large one goes through a file; nothing of it is left.
    let large = file("SELECT number AS n, hex(sipHash64(number)) AS s FROM numbers(3000000)");
    assert!(large.len() > 20 << 20, "{} bytes are held in memory", large.len());
    assert_eq!(running.ask("POST", target, &[], &large).status, 200);
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "3000010\n");
    for (what, body) in
        [("cut", &whole[..whole.len() - 1]), ("empty", &[][..]), ("other", &b"n,s\n1,x\n"[..])]
    {
        let answer = running.ask("POST", target, &[], body);
        assert!(answer.status >= 400 && code(&answer) != Some("1001"), "{what}: {}", answer.text());
    }
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "3000010\n");
}

#[test]
fn parameters_that_are_not_given_are_named() {
    let running = start();
    for target in ["/", "/?param_y=1"] {
        let answer = running.post(target, "SELECT {x:UInt8}");
        assert_eq!(code(&answer), Some("456"), "{target}: {}", answer.text());
        assert!(answer.text().contains('x'), "{}", answer.text());
    }
}

#[test]
fn the_header_names_the_database_where_the_url_does_not() {
    let running = start();
    running.run(&["CREATE DATABASE d"]);
    for (target, expected) in [("/", "d\n"), ("/?database=", "d\n"), ("/?database=system", "system\n")] {
        let answer =
            running.ask("POST", target, &[("X-ClickHouse-Database", "d")], b"SELECT currentDatabase()");
        assert_eq!(answer.text(), expected, "{target}");
    }
}

#[test]
fn tables_come_along_in_forms_and_go_with_their_statement() {
    let running = start();
    let part = |head: &str, content: &str| {
        format!("--B\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    };
    let tables = part("name=\"ids\"; filename=\"a\"", "1\tx\n2\ty\n3\tz\n")
        + &part("name=\"csv\"; filename=\"b.csv\"", "1,\"a;b\"\n2,c\n");
    let fields = part("name=\"ids_structure\"", "n UInt64, s String")
        + &part("name=\"csv_types\"", "UInt8, String")
        + &part("name=\"csv_format\"", "CSV");
    let ask = |target: &str, form: &str, sql: &str| {
        let form = format!("{form}{}--B--\r\n", part("name=\"query\"", sql));
        running.ask("POST", target, &[("Content-Type", "multipart/form-data; boundary=B")], form.as_bytes())
    };
    let all = format!("{tables}{fields}");
    let join =
        "SELECT number, s, _2 FROM numbers(5) JOIN ids ON number = n JOIN csv ON number = _1 ORDER BY number";
    for target in ["/", "/?session_id=s", "/?session_id=s", "/?max_threads=1&param_x=1"] {
        let answer = ask(target, &all, join);
        assert_eq!((answer.status, answer.text().as_str()), (200, "1\tx\ta;b\n2\ty\tc\n"), "{target}");
    }
    assert_eq!(
        code(&running.post("/?session_id=s", "SELECT * FROM ids")),
        Some("60"),
        "it went with its statement"
    );
    for (form, sql, expected) in
        [(tables.as_str(), "SELECT 1", "36"), (all.as_str(), "SELECT * FROM nosuch", "60")]
    {
        assert_eq!(code(&ask("/?session_id=s", form, sql)), Some(expected), "{sql}");
    }
    let broken = all.replace("2\ty", "x\ty");
    let answer = ask("/?session_id=s", &broken, "SELECT 1");
    assert!(answer.status == 400 && answer.text().contains("Code: 27"), "{}", answer.text());
    assert_eq!(ask("/?session_id=s", &all, join).status, 200, "nothing was left of it");
    running.run(&["CREATE TABLE t (n UInt64, s String) ENGINE MergeTree ORDER BY n"]);
    assert_eq!(ask("/", &all, "INSERT INTO t SELECT * FROM ids").status, 200);
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "3\n");
}
