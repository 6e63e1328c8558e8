//! The Rust `clickhouse` crate: its own way through every check. One line a check: `ok NAME` or `FAILED NAME: why`.

mod row;

use std::env::var;
use std::fmt::Debug;
use std::future::Future;
use std::time::{Duration, Instant};

use clickhouse::error::{Error, Result};
use clickhouse::{Client, Compression, Row};
use serde::{Deserialize, Serialize};

use row::EveryType;

fn passed(name: &str) {
    println!("ok {name}");
}

fn failed(name: &str, why: impl Debug) {
    let why: String =
        format!("{why:?}").split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect();
    println!("FAILED {name}: {why}");
}

fn equal<T: PartialEq + Debug>(name: &str, got: T, expected: T) {
    if got == expected {
        passed(name);
    } else {
        failed(name, format!("{got:?} instead of {expected:?}"));
    }
}

/// An error of the server that says all of this.
fn raises<T>(name: &str, ended: Result<T>, words: &[&str]) {
    match ended {
        Ok(_) => failed(name, "no error"),
        Err(Error::BadResponse(text)) if words.iter().all(|word| text.contains(word)) => passed(name),
        Err(other) => failed(name, other),
    }
}

async fn within<F: Future<Output = Result<bool>>>(name: &str, seconds: u64, holds: impl Fn() -> F) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        match holds().await {
            Ok(true) => return passed(name),
            Ok(false) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => return failed(name, error),
        }
    }
    failed(name, format!("not within {seconds} s"));
}

fn environment(name: &str) -> String {
    var(name).unwrap_or_default()
}

fn client() -> Client {
    Client::default()
        .with_url(format!("http://{}:{}", environment("GRISTMILL_HOST"), environment("GRISTMILL_PORT")))
        .with_database(environment("GRISTMILL_TEST_DATABASE"))
        .with_user(environment("GRISTMILL_TEST_USER"))
        .with_password(environment("GRISTMILL_TEST_PASSWORD"))
}

/// Name, type and the literal of the first and of the second row of each column.
fn types() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(environment("GRISTMILL_TYPES")).expect("the file of the types");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// The client knows tuples without names only.
fn spelled(declared: &str) -> String {
    [("(a ", "("), (" b ", " "), ("(x ", "("), (" y ", " ")]
        .iter()
        .fold(declared.to_owned(), |text, (named, unnamed)| text.replace(named, unnamed))
}

fn ddl() -> String {
    let column = |entry: &Vec<String>| match row::has(&entry[0]) {
        true => format!("{} {}", entry[0], spelled(&entry[1])),
        false => format!(
            "{} {} DEFAULT CAST(if(u8 = 0, {}, {}), '{}')",
            entry[0], entry[1], entry[2], entry[3], entry[1]
        ),
    };
    types().iter().map(column).collect::<Vec<_>>().join(", ")
}

async fn connection(client: &Client) -> Result<()> {
    equal("a value", client.query("SELECT 1").fetch_one::<u8>().await?, 1);
    let database = client.query("SELECT currentDatabase()").fetch_one::<String>().await?;
    equal("the database of the connection", database, environment("GRISTMILL_TEST_DATABASE"));
    Ok(())
}

async fn every_type(client: &Client) -> Result<()> {
    client
        .query(&format!("CREATE TABLE every_type ({}) ENGINE = MergeTree ORDER BY u8", ddl()))
        .execute()
        .await?;
    let mut insert = client.insert::<EveryType>("every_type").await?;
    for row in row::rows() {
        insert.write(&row).await?;
    }
    insert.end().await?;
    passed("every type written");
    let query = "SELECT ?fields FROM every_type ORDER BY u8";
    let got = client.query(query).fetch_all::<EveryType>().await?;
    equal("every type as selected", got, row::rows().to_vec());
    let unchecked = client.clone().with_validation(false).query(query).fetch_all::<EveryType>().await?;
    equal("every type as RowBinary", unchecked, row::rows().to_vec());
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
struct Numbered {
    n: u64,
    s: String,
}

async fn errors(client: &Client) -> Result<()> {
    let run = |sql: &'static str| async move { client.query(sql).fetch_all::<u8>().await };
    raises("unknown table", run("SELECT * FROM no_such_table").await, &["Code: 60.", "UNKNOWN_TABLE"]);
    raises("syntax error", client.query("SELEKT 1").execute().await, &["Code: 62.", "SYNTAX_ERROR"]);
    raises(
        "unknown column",
        run("SELECT no_such_column FROM every_type").await,
        &["Code: 47.", "UNKNOWN_IDENTIFIER"],
    );
    let stranger = client.clone().with_user("nobody").with_password("wrong");
    raises("a wrong password", stranger.query("SELECT 1").execute().await, &["516", "AUTHENTICATION_FAILED"]);
    let missing = async { client.insert::<Numbered>("no_such_table").await?.end().await };
    raises("an INSERT into no table", missing.await, &["Code: 60."]);
    for (compression, name) in [(Compression::None, "plain"), (Compression::Lz4, "lz4")] {
        let late = client.clone().with_compression(compression);
        let sql = "SELECT number, intDiv(1, 3000000 - number) AS q FROM numbers(4000000)";
        let mut cursor = late.query(sql).fetch::<(u64, i8)>()?;
        let ended = loop {
            match cursor.next().await {
                Ok(Some(_)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        raises(&format!("an error in the middle of a stream, {name}"), ended, &["153", "ILLEGAL_DIVISION"]);
    }
    equal("the client lives after errors", client.query("SELECT 1").fetch_one::<u8>().await?, 1);
    Ok(())
}

async fn cancel(client: &Client) -> Result<()> {
    let running = |id: &'static str| {
        let asked = client.query("SELECT count() FROM system.processes WHERE query_id = ?").bind(id);
        async move { Ok(asked.fetch_one::<u64>().await? > 0) }
    };
    let endless = client.clone().with_setting("cancel_http_readonly_queries_on_client_close", "1");
    let waiting = tokio::spawn(async move {
        let sql = "SELECT sum(cityHash64(number)) FROM numbers(1000000000000)";
        endless.query(sql).with_setting("query_id", "rust-endless").fetch_one::<u64>().await
    });
    within("a long statement is in system.processes", 10, || running("rust-endless")).await;
    waiting.abort();
    let gone = || async { running("rust-endless").await.map(|there| !there) };
    within("dropping it cancels the statement", 2, gone).await;
    let sql = "SELECT number, toString(number) FROM numbers(1000000000000)";
    let mut cursor = client.query(sql).with_setting("query_id", "rust-stream").fetch::<(u64, String)>()?;
    equal("a stream begins", cursor.next().await?, Some((0, "0".to_owned())));
    drop(cursor);
    let gone = || async { running("rust-stream").await.map(|there| !there) };
    within("dropping the cursor cancels the statement", 2, gone).await;
    Ok(())
}

async fn compression(client: &Client) -> Result<()> {
    for (compression, name) in [(Compression::None, "none"), (Compression::Lz4, "lz4")] {
        let client = client.clone().with_compression(compression);
        client.query("DROP TABLE IF EXISTS compressed").execute().await?;
        client
            .query("CREATE TABLE compressed (n UInt64, s String) ENGINE = MergeTree ORDER BY n")
            .execute()
            .await?;
        let rows: Vec<Numbered> = (0..20_000).map(|n| Numbered { n, s: format!("row {n}") }).collect();
        let mut insert = client.insert::<Numbered>("compressed").await?;
        for row in &rows {
            insert.write(row).await?;
        }
        insert.end().await?;
        let got = client.query("SELECT ?fields FROM compressed ORDER BY n").fetch_all::<Numbered>().await?;
        equal(&format!("compression {name} both ways"), got == rows, true);
    }
    Ok(())
}

async fn sessions(client: &Client) -> Result<()> {
    let inside = client.clone().with_setting("session_id", "rust-session");
    inside.query("CREATE TEMPORARY TABLE of_session (n UInt8)").execute().await?;
    inside.query("INSERT INTO of_session VALUES (1), (2)").execute().await?;
    let sum = inside.query("SELECT sum(n) FROM of_session").fetch_one::<u64>().await?;
    equal("a temporary table lives in its session", sum, 3);
    raises(
        "nobody else sees it",
        client.query("SELECT n FROM of_session").fetch_all::<u8>().await,
        &["Code: 60."],
    );
    Ok(())
}

async fn parameters(client: &Client) -> Result<()> {
    let query = client.query("SELECT {n:UInt8}, {s:String}, toString({a:Array(UInt16)})").param("n", 42_u8);
    let got = query
        .param("s", "it's a 'text'")
        .param("a", vec![1_u16, 2])
        .fetch_one::<(u8, String, String)>()
        .await?;
    equal("server parameters", got, (42, "it's a 'text'".to_owned(), "[1,2]".to_owned()));
    let long =
        client.query("SELECT length({s:String})").param("s", "x".repeat(100_000)).fetch_one::<u64>().await?;
    equal("a long parameter", long, 100_000);
    let bound = client.query("SELECT ?").bind("it's \\ bound").fetch_one::<String>().await?;
    equal("a bound value", bound, "it's \\ bound".to_owned());
    Ok(())
}

async fn million(client: &Client) -> Result<()> {
    client.query("CREATE TABLE million (n UInt64, s String) ENGINE = MergeTree ORDER BY n").execute().await?;
    let mut insert = client.insert::<Numbered>("million").await?;
    for n in 0..1_000_000 {
        insert.write(&Numbered { n, s: n.to_string() }).await?;
    }
    insert.end().await?;
    let mut cursor =
        client.query("SELECT number, toString(number) FROM numbers(1000000)").fetch::<(u64, String)>()?;
    let (mut count, mut total, mut length) = (0, 0, 0);
    while let Some((n, s)) = cursor.next().await? {
        (count, total, length) = (count + 1, total + n, length + s.len());
    }
    equal("a million rows streamed out", (count, total, length), (1_000_000, 499_999_500_000, 5_888_890));
    let stored = client.query("SELECT count(), sum(n) FROM million").fetch_one::<(u64, u64)>().await?;
    equal("a million rows streamed in", stored, (1_000_000, 499_999_500_000));
    let mut lines = client.query("SELECT number FROM numbers(3)").fetch_bytes("CSV")?;
    let mut text = Vec::new();
    while let Some(chunk) = lines.next().await? {
        text.extend_from_slice(&chunk);
    }
    equal("bytes of another format", text, b"0\n1\n2\n".to_vec());
    Ok(())
}

fn report(name: &str, ended: Result<()>) {
    if let Err(error) = ended {
        failed(name, error);
    }
}

#[tokio::main]
async fn main() {
    let client = client();
    report("connection", connection(&client).await);
    report("every_type", every_type(&client).await);
    report("errors", errors(&client).await);
    report("cancel", cancel(&client).await);
    report("compression", compression(&client).await);
    report("sessions", sessions(&client).await);
    report("parameters", parameters(&client).await);
    report("million", million(&client).await);
}
