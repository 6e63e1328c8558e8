//! Runs every `.slt` file of this folder against a fresh in-process database.
//!
//! Invariant: a file is independent of every other; rows are compared as TabSeparated prints them, which is also what
//! `tests/oracle/check.py` compares ClickHouse's answers with; a record of several rows has an order, its own or the
//! runner's.

mod plans;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{Config, Database, PeerConfig, Request, RootPlace, Session};
use formats::{FormatKind, OutputStats};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, QueryExpect, Record, Runner};

/// One connection of a test file: a session of each server there is.
struct Connection {
    databases: Vec<Arc<Database>>,
    sessions: Vec<Session>,
    /// Statements so far.
    count: usize,
    /// Rows that come in are put into parts, which all servers read.
    flushes: bool,
}

impl Connection {
    fn new(databases: &[Arc<Database>]) -> Connection {
        let sessions = databases.iter().map(|database| database.session()).collect();
        Connection { databases: databases.to_vec(), sessions, count: 0, flushes: false }
    }

    /// Whose turn it is. What changes the session is said to all of them first.
    async fn session(&mut self, sql: &str) -> &Session {
        self.count += 1;
        let which = self.count % self.sessions.len();
        let words: Vec<String> = sql.split_whitespace().take(4).map(str::to_uppercase).collect();
        let of_session = |word: &String| ["SET", "USE", "SYSTEM"].contains(&word.as_str());
        if words.first().is_some_and(of_session) || words.iter().any(|word| word == "TEMPORARY") {
            for (_, other) in self.sessions.iter().enumerate().filter(|(number, _)| *number != which) {
                // The one whose turn it is says what is wrong.
                let _said = other.execute(Request::new(sql)).await;
            }
        }
        &self.sessions[which]
    }
}

impl Connection {
    /// Where nothing but the rows counts, they are merged besides.
    async fn flush(&mut self, sql: &str) {
        let words: Vec<&str> = sql.split([' ', '\n', '(']).filter(|word| !word.is_empty()).take(4).collect();
        let table = match words.as_slice() {
            [insert, into, table, name, ..] if self.flushes && insert.eq_ignore_ascii_case("insert") => {
                let _into = into;
                if table.eq_ignore_ascii_case("table") { name } else { table }
            }
            _ => return,
        };
        let optimize = format!("OPTIMIZE TABLE {table}");
        // A table that cannot be merged has its rows all the same.
        if let Some(session) = self.sessions.last() {
            let _said = session.execute(Request::new(&optimize)).await;
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct StatementError(String);

#[async_trait::async_trait]
impl AsyncDB for Connection {
    type Error = StatementError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, StatementError> {
        let failed = |error: engine::Error| StatementError(error.to_string());
        let outcome = self.session(sql).await.execute(Request::new(sql)).await.map_err(failed)?;
        let (columns, schema, has_result) =
            (outcome.schema.fields().len(), Arc::clone(&outcome.schema), outcome.has_result());
        let format_settings = Arc::clone(&outcome.format_settings);
        let batches = outcome.collect().await.map_err(failed)?;
        if !has_result {
            self.flush(sql).await;
            return Ok(DBOutput::StatementComplete(0));
        }
        let mut writer = formats::new_writer(FormatKind::TabSeparated, &format_settings)
            .map_err(|error| StatementError(error.to_string()))?;
        let mut text = Vec::new();
        writer.start(&schema, &mut text).map_err(|error| StatementError(error.to_string()))?;
        for batch in &batches {
            writer.write(batch, &mut text).map_err(|error| StatementError(error.to_string()))?;
        }
        // Totals stand behind an empty line: a row with one empty cell.
        writer
            .finish(&OutputStats::default(), &mut text)
            .map_err(|error| StatementError(error.to_string()))?;
        let text = String::from_utf8(text).map_err(|error| StatementError(error.to_string()))?;
        let cell = |cell: &str| if cell.is_empty() { "(empty)".to_owned() } else { cell.to_owned() };
        let rows = text.lines().map(|line| line.split('\t').map(cell).collect()).collect();
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text; columns], rows })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "gristmill"
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

fn test_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of tests can be read") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            test_files(&path, found);
        } else if path.extension().is_some_and(|suffix| suffix == "slt") {
            found.push(path);
        }
    }
}

/// What the servers of a test do for each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Together {
    /// Statements go to them in turns.
    TakeTurns,
    /// The last one is asked, and all read.
    Read,
    /// There is one, whose rows are in parts, and which has more threads than most tables have parts.
    FromParts,
}

/// Runs a file on one server with a folder of its own, or on several of one shared root.
async fn run_file(path: &Path, servers: usize, together: Together) -> Result<(), String> {
    let threads = if together == Together::FromParts { 7 } else { 2 };
    let config = Config { threads: Some(threads), memory_bytes_max: Some(2 << 30), ..Config::default() };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut databases = Vec::new();
    for _ in 0..servers {
        let url = format!("file://{}", folder.path().display());
        let shared = (servers > 1).then(|| RootPlace { url, ..RootPlace::default() });
        let opened = Database::open(Config { shared, ..config.clone() });
        databases.push(opened.map_err(|error| error.to_string())?);
    }
    let reads = together == Together::Read;
    let flushes = together != Together::TakeTurns;
    let mut ports = Vec::new();
    for database in databases.iter().filter(|_| reads) {
        let config = PeerConfig { listen: Some(([127, 0, 0, 1], 0).into()), ..PeerConfig::default() };
        ports.push(database.listen_to_peers(&config).await.map_err(|error| error.to_string())?);
    }
    let opened = if reads { databases.split_off(servers - 1) } else { databases.clone() };
    let (last, mut others) = (opened.clone(), databases);
    let mut runner = Runner::new(move || {
        let mut connection = Connection::new(&opened);
        connection.flushes = flushes;
        async move {
            for session in connection.sessions.iter_mut().filter(|_| servers > 1) {
                let name = if reads { "enable_parallel_replicas" } else { "select_sequential_consistency" };
                let set = session.set(name, if reads { "2" } else { "1" });
                set.map_err(|error| StatementError(error.to_string()))?;
            }
            Ok(connection)
        }
    });
    let mut failures: Vec<String> =
        runner.run_file_async(path).await.err().map(|error| error.to_string()).into_iter().collect();
    drop(runner);
    for other in others.iter().filter(|_| reads) {
        let (finished, refused) = shares_of(other).await?;
        SHARES.fetch_add(finished, Ordering::Relaxed);
        if refused > 0 {
            failures.push(format!("{refused} plans were others where a share of them was to be read"));
        }
    }
    drop(ports);
    if reads {
        others.extend(last);
    }
    for database in others {
        database.close().await;
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Shares of queries that a server has read for others to the end, and those it refused because it had made another plan.
async fn shares_of(database: &Arc<Database>) -> Result<(u64, u64), String> {
    let sql = "SELECT countIf(type = 'QueryFinish'), countIf(exception LIKE '%another one here%') FROM system.query_log \
               WHERE client_name = 'peer'";
    let mut connection = Connection::new(std::slice::from_ref(database));
    let rows = match connection.run(sql).await.map_err(|error| error.to_string())? {
        DBOutput::Rows { rows, .. } => rows,
        _ => Vec::new(),
    };
    let mut counts = rows.into_iter().flatten().map(|count| count.parse::<u64>().unwrap_or(u64::MAX));
    Ok((counts.next().unwrap_or(0), counts.next().unwrap_or(u64::MAX)))
}

/// Shares of queries that helpers have read in all files.
static SHARES: AtomicU64 = AtomicU64::new(0);
/// Fewer would mean that hardly a query is shared any more.
const SHARES_MIN: u64 = 200;

#[test]
fn every_slt_file_passes() {
    every_file_passes(1, Together::TakeTurns, |_| true);
}

#[test]
fn every_slt_file_passes_on_two_servers_that_take_turns() {
    // They ask what one server has by itself: lists of statements, loads, mutations and errors, or temporary tables.
    let of_one = [
        "loads",
        "once",
        "profile",
        "rejected_rows",
        "sessions",
        "system_tables",
        "ttl",
        "warnings",
        "detach",
        "freeze",
    ];
    every_file_passes(2, Together::TakeTurns, move |path| {
        !of_one.iter().any(|name| path.ends_with(format!("sql/{name}.slt")))
    });
}

#[test]
fn every_slt_file_passes_when_its_rows_are_in_parts() {
    every_file_passes(1, Together::FromParts, |path| !asks_about_merges(path));
}

#[test]
fn every_slt_file_passes_when_three_servers_read_together() {
    every_file_passes(3, Together::Read, |path| !asks_about_merges(path));
    let shares = SHARES.load(Ordering::Relaxed);
    assert!(shares >= SHARES_MIN || std::env::var("SLT_FILE").is_ok(), "helpers read {shares} shares");
}

/// Files that ask what a merge leaves, about rows that are in no part, for links in a folder, or how many rows a reader takes at a
/// time.
fn asks_about_merges(path: &Path) -> bool {
    let names = [
        "alter",
        "detach",
        "final_masks",
        "freeze",
        "insert",
        "once",
        "overflow_modes",
        "profile",
        "ttl",
        "views_final",
    ];
    names.iter().any(|name| path.ends_with(format!("sql/{name}.slt")))
}

/// Files that tests write have one place, whoever runs them.
static TURN: Mutex<()> = Mutex::new(());

#[expect(clippy::print_stderr, reason = "a panic that is caught is told in one line")]
fn every_file_passes(servers: usize, together: Together, wanted: impl Fn(&Path) -> bool) {
    // One that failed has told why.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files = Vec::new();
    test_files(&folder, &mut files);
    files.sort();
    let only = std::env::var("SLT_FILE").unwrap_or_default();
    files.retain(|path| path.to_string_lossy().contains(&only));
    files.retain(|path| wanted(path));
    assert!(!files.is_empty(), "no .slt files under {}", folder.display());
    // Statements whose panic is caught and told are among the records: a line each, so that what failed stays in sight.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let mut failures = Vec::new();
    for path in &files {
        if let Err(problem) = runtime.block_on(run_file(path, servers, together)) {
            failures.push(format!("{}:\n{problem}", path.display()));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} files failed:\n{}",
        failures.len(),
        files.len(),
        failures.join("\n\n")
    );
    // Each connection holds its databases; none is left when its file is done.
    let _ = |connection: Connection| connection.databases;
}

/// What stands in `sql` outside of brackets and quotes, in capitals.
fn outermost(sql: &str) -> String {
    let (mut kept, mut depth, mut quote) = (String::new(), 0, None);
    let mut letters = sql.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(letter),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, _) if depth == 0 => kept.extend(letter.to_uppercase()),
            (None, _) => {}
        }
    }
    kept
}

/// Rows that several tasks read arrive in any order, most often in the expected one: such a record fails one day.
#[test]
fn several_rows_have_an_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files = Vec::new();
    test_files(&folder, &mut files);
    let mut unsorted = Vec::new();
    for path in &files {
        for record in sqllogictest::parse_file::<DefaultColumnType>(path).expect("a file of records") {
            let Record::Query {
                sql,
                loc,
                expected: QueryExpect::Results { sort_mode: None, results, .. },
                ..
            } = record
            else {
                continue;
            };
            let outer = outermost(&sql);
            let reads = sql.to_uppercase().contains("FROM")
                && ["SELECT", "WITH"].iter().any(|verb| outer.trim_start().starts_with(verb));
            if results.len() > 1 && reads && !outer.contains("ORDER BY") {
                unsorted.push(format!("{loc}: {sql}"));
            }
        }
    }
    assert!(unsorted.is_empty(), "say rowsort or ORDER BY:\n{}", unsorted.join("\n"));
}
