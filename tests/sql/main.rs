//! Runs every `.slt` file of this folder against a fresh in-process database.
//!
//! Invariant: a file is independent of every other; rows are compared as TabSeparated prints them, which is also what
//! `tests/oracle/check.py` compares ClickHouse's answers with; a record of several rows has an order, its own or the
//! runner's.

mod plans;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::{Config, Database, Request, Session};
use formats::{FormatKind, OutputStats};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, QueryExpect, Record, Runner};

/// One connection of a test file.
struct Connection {
    database: Arc<Database>,
    session: Session,
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
        let outcome = self.session.execute(Request::new(sql)).await.map_err(failed)?;
        let (columns, schema, has_result) =
            (outcome.schema.fields().len(), Arc::clone(&outcome.schema), outcome.has_result());
        let format_settings = Arc::clone(&outcome.format_settings);
        let batches = outcome.collect().await.map_err(failed)?;
        if !has_result {
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

async fn run_file(path: &Path) -> Result<(), String> {
    let config = Config { threads: Some(2), memory_bytes_max: Some(2 << 30), ..Config::default() };
    let database = Database::open(config).map_err(|error| error.to_string())?;
    let opened = Arc::clone(&database);
    let mut runner = Runner::new(move || {
        let database = Arc::clone(&opened);
        async move { Ok(Connection { session: database.session(), database }) }
    });
    let result = runner.run_file_async(path).await.map_err(|error| error.to_string());
    drop(runner);
    database.close().await;
    result
}

#[test]
fn every_slt_file_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files = Vec::new();
    test_files(&folder, &mut files);
    files.sort();
    let only = std::env::var("SLT_FILE").unwrap_or_default();
    files.retain(|path| path.to_string_lossy().contains(&only));
    assert!(!files.is_empty(), "no .slt files under {}", folder.display());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut failures = Vec::new();
    for path in &files {
        if let Err(problem) = runtime.block_on(run_file(path)) {
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
    // Each connection holds its database; none is left when its file is done.
    let _ = |connection: Connection| connection.database;
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
