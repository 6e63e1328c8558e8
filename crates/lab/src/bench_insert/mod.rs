//! The hidden in-process driver of `cargo xtask bench insert`, `cargo xtask bench open` and `tests/soak/million.py`.
//!
//! Opens a database, makes sessions, and lets each run its statements one after the other. Times are taken around
//! `Session::execute`, so neither a pipe nor a terminal is in them. It prints one line of JSON for each connection and a
//! closing one. Invariant: the first statement that fails ends the run with its error. It must not know what the figures
//! are compared with.

mod workload;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use clap::Args;
use engine::{Config, Database, Error, Request, Session};
use host::{Clock, Host, Runtimes};
use model::saturating::micros_of;

use crate::failure::Failure;
use crate::terminal;
use workload::{TABLE, Workload};

#[derive(Args, Debug)]
pub struct BenchInsertArgs {
    /// Folder of the database
    #[arg(long, required_unless_present = "print")]
    path: Option<PathBuf>,
    /// Sessions that insert at the same time
    #[arg(long, default_value_t = 1)]
    connections: u64,
    /// Statements of each connection
    #[arg(long, default_value_t = 1_000)]
    statements: u64,
    /// Statements of each connection before them that are not counted
    #[arg(long, default_value_t = 0)]
    warmup: u64,
    #[arg(long, default_value_t = 1)]
    rows_per_statement: u64,
    #[arg(long, default_value_t = 4)]
    columns: u64,
    /// INSERT SELECT FROM numbers instead of VALUES
    #[arg(long)]
    select: bool,
    /// What stands behind SETTINGS of the table
    #[arg(long)]
    table_settings: Option<String>,
    /// Milliseconds between two looks at the number of active parts
    #[arg(long, default_value_t = 1_000)]
    poll_ms: u64,
    /// Count the records of the log; reads the newest segment before and after
    #[arg(long)]
    count_records: bool,
    /// Statement for the end, whose first value is printed; may be given more than once
    #[arg(long)]
    ask: Vec<String>,
    /// Print the statements, one a line, and run nothing: for the other side of a comparison
    #[arg(long)]
    print: bool,
}

/// The command. Call from outside the runtimes.
pub fn run(args: &BenchInsertArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    let workload = Workload {
        rows_per_statement: args.rows_per_statement.max(1),
        columns: args.columns.max(1),
        select: args.select,
        table_settings: args.table_settings.clone(),
    };
    let Some(path) = args.path.as_ref().filter(|_| !args.print) else {
        return print(args, &workload);
    };
    let root = std::path::absolute(path)?;
    let started = host.clock.monotonic();
    let database = Database::open(Config { root: Some(root.clone()), ..Config::default() })?;
    let open = host.clock.monotonic().saturating_sub(started);
    let bench = Bench { args, workload, database: Arc::clone(&database), host, runtimes };
    let measured = runtimes.block_on(bench.measure(&root));
    drop(bench);
    runtimes.block_on(database.close());
    let measured = measured?;
    for (connection, micros) in measured.micros.iter().enumerate() {
        terminal::line(&connection_line(connection, micros))?;
    }
    Ok(terminal::line(&closing_line(&measured, open))?)
}

fn print(args: &BenchInsertArgs, workload: &Workload) -> Result<(), Failure> {
    terminal::line(&workload.create())?;
    for connection in 0..args.connections {
        for statement in 0..args.warmup + args.statements {
            terminal::line(&workload.statement(connection, statement))?;
        }
    }
    Ok(())
}

struct Bench<'a> {
    args: &'a BenchInsertArgs,
    workload: Workload,
    database: Arc<Database>,
    host: &'a Host,
    runtimes: &'a Runtimes,
}

/// Everything a run found out.
#[derive(Debug, Default)]
struct Measured {
    /// Of each connection, of each statement.
    micros: Vec<Vec<u64>>,
    wall: Duration,
    parts_active_max: u64,
    log_records: Option<u64>,
    answers: Vec<String>,
}

impl Bench<'_> {
    async fn measure(&self, root: &Path) -> Result<Measured, Failure> {
        let session = self.database.session();
        first_value(&session, &self.workload.create()).await?;
        self.insert(0, self.args.warmup).await?;
        let seq_before = self.newest_seq(root)?;
        let parts_active_max = Arc::new(AtomicU64::new(0));
        let watching = self.runtimes.spawn_io(
            "watch parts",
            watch_parts(
                self.database.session(),
                Duration::from_millis(self.args.poll_ms.max(1)),
                Arc::clone(&parts_active_max),
            ),
        );
        let started = self.host.clock.monotonic();
        let inserted = self.insert(self.args.warmup, self.args.statements).await;
        let wall = self.host.clock.monotonic().saturating_sub(started);
        watching.abort();
        let micros = inserted?;
        parts_active_max.fetch_max(active_parts(&session).await?, Ordering::Relaxed);
        let seq_after = self.newest_seq(root)?;
        let mut answers = Vec::new();
        for sql in &self.args.ask {
            answers.push(first_value(&session, sql).await?);
        }
        Ok(Measured {
            micros,
            wall,
            parts_active_max: parts_active_max.load(Ordering::Relaxed),
            log_records: seq_after.zip(seq_before).map(|(after, before)| after.saturating_sub(before)),
            answers,
        })
    }

    /// Statements `first..first + count` of every connection, all connections at once; microseconds of each.
    async fn insert(&self, first: u64, count: u64) -> Result<Vec<Vec<u64>>, Failure> {
        let connections: Vec<_> = (0..self.args.connections)
            .map(|number| {
                let clock = Arc::clone(&self.host.clock);
                let connection = Connection { session: self.database.session(), clock, number };
                let workload = self.workload.clone();
                self.runtimes.spawn_io("connection", connection.insert(workload, first, count))
            })
            .collect();
        let mut micros = Vec::new();
        for connection in connections {
            micros.push(connection.await??);
        }
        Ok(micros)
    }

    fn newest_seq(&self, root: &Path) -> Result<Option<u64>, Failure> {
        self.args.count_records.then(|| newest_seq(root, self.host)).transpose()
    }
}

/// Number of the newest record in the log of the database at `root`; 0 when there is none.
fn newest_seq(root: &Path, host: &Host) -> Result<u64, Failure> {
    let folder = root.join("stream/0/wal");
    for segment in host.disk.list(&folder)?.iter().rev() {
        let Some(dump) = commitlog::dump(host.disk.as_ref(), &folder.join(&segment.name))? else { continue };
        let before_it = dump.header.first_seq.saturating_sub(1);
        return Ok(dump.records.last().map_or(before_it, |newest| newest.record.seq));
    }
    Ok(0)
}

struct Connection {
    session: Session,
    clock: Arc<dyn Clock>,
    number: u64,
}

impl Connection {
    async fn insert(self, workload: Workload, first: u64, count: u64) -> Result<Vec<u64>, Error> {
        let mut micros = Vec::new();
        for statement in first..first + count {
            // Making the text is the client's work and not timed.
            let request = Request::new(workload.statement(self.number, statement));
            let started = self.clock.monotonic();
            self.session.execute(request).await?.collect().await?;
            let elapsed = self.clock.monotonic().saturating_sub(started);
            micros.push(micros_of(elapsed));
        }
        Ok(micros)
    }
}

/// Keeps the largest number of active parts that was seen, until it is aborted or cannot ask any more.
async fn watch_parts(session: Session, pause: Duration, most: Arc<AtomicU64>) {
    while let Ok(parts) = active_parts(&session).await {
        most.fetch_max(parts, Ordering::Relaxed);
        tokio::time::sleep(pause).await;
    }
}

async fn active_parts(session: &Session) -> Result<u64, Error> {
    let sql = format!(
        "SELECT count() FROM system.parts WHERE active AND database = 'default' AND table = '{TABLE}'"
    );
    let shown = first_value(session, &sql).await?;
    shown.parse().map_err(|_| Error::internal(format!("system.parts has {shown} parts")))
}

/// The first value of an answer as text; empty when there is none.
async fn first_value(session: &Session, sql: &str) -> Result<String, Error> {
    let batches = session.execute(Request::new(sql)).await?.collect().await?;
    let Some(batch) = batches.iter().find(|batch| batch.num_rows() > 0 && batch.num_columns() > 0) else {
        return Ok(String::new());
    };
    let shown = FormatOptions::default();
    let values =
        ArrayFormatter::try_new(batch.column(0), &shown).map_err(|e| Error::internal(e.to_string()))?;
    Ok(values.value(0).to_string())
}

fn connection_line(connection: usize, micros: &[u64]) -> String {
    format!(
        "{{\"connection\": {connection}, \"statements\": {}, \"micros\": [{}]}}",
        micros.len(),
        joined(micros.iter().map(u64::to_string))
    )
}

fn closing_line(measured: &Measured, open: Duration) -> String {
    format!(
        "{{\"open_micros\": {}, \"wall_micros\": {}, \"parts_active_max\": {}, \"log_records\": {}, \
         \"peak_rss_bytes\": {}, \"answers\": [{}]}}",
        micros_of(open),
        micros_of(measured.wall),
        measured.parts_active_max,
        measured.log_records.map_or("null".to_owned(), |records| records.to_string()),
        host::process::peak_rss_bytes(),
        joined(measured.answers.iter().map(|answer| quoted(answer)))
    )
}

fn joined(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_json() {
        assert_eq!(connection_line(3, &[7, 8]), r#"{"connection": 3, "statements": 2, "micros": [7, 8]}"#);
        let measured = Measured { answers: vec!["a\"b\n".to_owned(), String::new()], ..Measured::default() };
        let line = closing_line(&measured, Duration::from_millis(2));
        assert!(line.starts_with(r#"{"open_micros": 2000, "wall_micros": 0,"#), "{line}");
        assert!(line.contains(r#""log_records": null"#), "{line}");
        assert!(line.ends_with(r#""answers": ["a\"b\u000a", ""]}"#), "{line}");
    }
}
