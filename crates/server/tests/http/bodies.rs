//! Large bodies over a real socket: the same rows and errors by one thread and by several, whatever the format.

use crate::client::{Answer, Client, start};
use crate::code;

const ROWS: usize = 200_000;

/// About 20 MB.
fn csv(row: impl Fn(usize) -> String) -> Vec<u8> {
    (0..ROWS)
        .map(|n| format!("{},\"text {n}, {}\nand more\"\r\n", row(n), "x".repeat(80)))
        .collect::<String>()
        .into()
}

#[test]
fn a_large_body_is_the_same_rows_by_one_thread_and_by_several() {
    let running = start();
    let body = csv(|n| n.to_string());
    let sum = |table: &str| {
        let sql = format!(
            "SELECT count(), sum(a), min(a), max(a), sum(length(s)), sum(cityHash64(a, s)) FROM {table}"
        );
        running.post("/", &sql).text()
    };
    let insert = |table: &str, format: &str, settings: &str, body: &[u8], length: usize| {
        let target = format!("/?query=INSERT+INTO+{table}+FORMAT+{format}{settings}");
        let mut client = Client::connect(running.address);
        match length {
            0 => client.send("POST", &target, &[], body),
            length => client.send_chunked(&target, &[], body, length),
        }
        let answer = client.answer();
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
    };
    running.run(&["CREATE TABLE alone (a UInt64, s String) ENGINE MergeTree ORDER BY a"]);
    insert("alone", "CSV", "&input_format_parallel_parsing=0", &body, 0);
    let expected = sum("alone");
    assert!(
        expected.starts_with(&format!("{ROWS}\t{}\t0\t{}\t", ROWS * (ROWS - 1) / 2, ROWS - 1)),
        "{expected}"
    );
    // Blocks of 2 MiB: several sinks take turns, and every row is in one of their parts.
    let blocks = "&min_insert_block_size_bytes=2097152&min_insert_block_size_rows=0";
    for (format, length, settings, engine) in [
        ("CSV", 0, "", "MergeTree ORDER BY a"),
        ("CSV", 0, blocks, "MergeTree ORDER BY a"),
        ("CSV", 10_007, "&max_threads=1", "MergeTree ORDER BY a"),
        ("CSV", 100_003, "", "Memory"),
        ("Native", 0, blocks, "MergeTree ORDER BY a"),
        ("Native", 10_007, "", "Memory"),
        ("Native", 0, "&max_threads=1", "Memory"),
        ("JSONEachRow", 0, "", "Memory"),
    ] {
        let read = running.post("/", &format!("SELECT * FROM alone ORDER BY a FORMAT {format}")).body();
        let body = if format == "CSV" { &body } else { &read };
        running.run(&[&format!("CREATE TABLE t (a UInt64, s String) ENGINE {engine}")]);
        insert("t", format, settings, body, length);
        assert_eq!(sum("t"), expected, "{format} {length} {settings} {engine}");
        running.run(&["DROP TABLE t"]);
    }
}

#[test]
fn rows_of_a_large_body_without_a_key_stay_in_its_order() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64, s String) ENGINE MergeTree ORDER BY tuple()"]);
    let mut client = Client::connect(running.address);
    client.send("POST", "/?query=INSERT+INTO+t+FORMAT+CSV", &[], &csv(|n| n.to_string()));
    assert_eq!(client.answer().status, 200);
    let rows = running.post("/", "SELECT a FROM t SETTINGS max_threads = 1").text();
    assert!(rows.lines().enumerate().all(|(at, row)| row == at.to_string()));
    assert_eq!(rows.lines().count(), ROWS);
}

#[test]
fn an_error_late_in_a_large_body_names_its_row_and_leaves_nothing() {
    let running = start();
    running.run(&["CREATE TABLE t (a UInt64, s String) ENGINE MergeTree ORDER BY a"]);
    let bad = ROWS - 1000;
    let body = csv(|n| if n == bad { "wrong".to_owned() } else { n.to_string() });
    let ask = |settings: &str| -> Answer {
        let target = format!("/?query=INSERT+INTO+t+FORMAT+CSV{settings}");
        running.ask("POST", &target, &[], &body)
    };
    let blocks = "&min_insert_block_size_bytes=2097152&min_insert_block_size_rows=0";
    let alone = ask("&input_format_parallel_parsing=0");
    for settings in ["", blocks] {
        let together = ask(settings);
        assert_eq!((together.status, code(&together)), (alone.status, code(&alone)), "{}", together.text());
        assert_eq!(together.text(), alone.text());
        assert!(together.text().contains(&format!("row {}, column \"a\"", bad + 1)), "{}", together.text());
    }
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "0\n");
    let parts = running.post("/", "SELECT count() FROM system.parts WHERE table = 't'").text();
    assert_eq!(parts, "0\n");
}
