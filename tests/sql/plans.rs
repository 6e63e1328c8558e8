//! Plans of statements, written down in `tests/plans`, so that a change of one is seen in review.
//!
//! A file is records between empty lines: at the margin a statement and `#` lines above it, below them, indented, the lines
//! it is answered with. Each file is asked of a database of its own, with the tables of `tables.sql`.
//! `GRISTMILL_WRITE_PLANS=1` writes the files anew instead of comparing them.
//!
//! Invariant: a plan depends neither on the machine nor on chance. There are two threads and nothing in the background, the
//! files of parts are all called `PART`, other files by their paths from this crate.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(clippy::disallowed_methods, reason = "written plans are no data of a database")]

use std::path::{Path, PathBuf};

use arrow::array::{AsArray, RecordBatch};
use engine::{Config, Database, Error, Request, Session};

/// Stands before each line of a plan.
const INDENT: &str = "    ";
/// Stands for an empty line of a plan, which would end the record.
const EMPTY: &str = "---";
/// The folder of a table and a file in it, both called by lot.
const PART_PATH_BYTES: usize = "data/".len() + 36 + "/".len() + 36 + ".parquet".len();

/// Of each record what stands at the margin.
fn heads(text: &str) -> Vec<String> {
    let head = |record: &str| -> String {
        let lines: Vec<&str> = record.lines().filter(|line| !line.starts_with(INDENT)).collect();
        lines.join("\n")
    };
    text.trim().split("\n\n").map(head).collect()
}

async fn run(session: &Session, head: &str) -> Vec<RecordBatch> {
    let lines: Vec<&str> = head.lines().filter(|line| !line.starts_with('#')).collect();
    let sql = lines.join("\n");
    let failed = |error: Error| format!("{sql}: {error}");
    let outcome = session.execute(Request::new(&sql)).await.map_err(failed).unwrap();
    outcome.collect().await.map_err(failed).unwrap()
}

/// The file as it would have to be.
async fn planned(tables: &str, text: &str) -> String {
    let config =
        Config { threads: Some(2), memory_bytes_max: Some(2 << 30), background: false, ..Config::default() };
    let database = Database::open(config).unwrap();
    let session = database.session();
    for head in heads(tables) {
        run(&session, &head).await;
    }
    let mut records = Vec::new();
    for head in heads(text) {
        let mut record = vec![head.clone()];
        for batch in run(&session, &head).await {
            record.extend(batch.column(0).as_string_view().iter().flatten().map(shown));
        }
        records.push(record.join("\n"));
    }
    drop(session);
    database.close().await;
    records.join("\n\n") + "\n"
}

/// A line of a plan as it is written down.
fn shown(line: &str) -> String {
    let here = format!("{}/", std::env::current_dir().unwrap().display());
    let line = without_metadata(&with_parts_named(line)).replace(&here, "");
    let line = line.trim_end();
    format!("{INDENT}{}", if line.is_empty() { EMPTY } else { line })
}

fn with_parts_named(line: &str) -> String {
    let (mut named, mut rest) = (String::new(), line);
    while let Some(at) = rest.find("data/") {
        let (before, path) = rest.split_at(at);
        let is_part = path.get(..PART_PATH_BYTES).is_some_and(|path| {
            path.ends_with(".parquet") && path.matches('-').count() == 8 && path.matches('/').count() == 2
        });
        let (name, bytes) = if is_part { ("PART", PART_PATH_BYTES) } else { ("data/", "data/".len()) };
        named.push_str(before);
        named.push_str(name);
        rest = &path[bytes..];
    }
    named + rest
}

/// Fields of windows are printed with a hash map, in no order.
fn without_metadata(line: &str) -> String {
    let mut pieces = line.split("metadata: {");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept.push_str("metadata: {..}");
        kept.push_str(piece.split_once('}').map_or("", |(_, behind)| behind));
    }
    kept
}

/// Records that are not what they were.
fn changes(path: &Path, was: &str, is: &str) -> Vec<String> {
    let records = was.trim_end().split("\n\n").zip(is.trim_end().split("\n\n"));
    let changed = records.filter(|(was, is)| was != is);
    changed.map(|(was, is)| format!("{}:\n{was}\nis now\n{is}", path.display())).collect()
}

#[test]
fn every_plan_is_the_one_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
    let tables = std::fs::read_to_string(folder.join("tables.sql")).unwrap();
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|suffix| suffix == "txt")).collect();
    files.sort();
    let writes = std::env::var_os("GRISTMILL_WRITE_PLANS").is_some_and(|value| value == "1");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut changed = Vec::new();
    for path in files {
        let was = std::fs::read_to_string(&path).unwrap();
        let is = runtime.block_on(planned(&tables, &was));
        if writes {
            std::fs::write(&path, &is).unwrap();
        } else {
            changed.extend(changes(&path, &was, &is));
        }
    }
    assert!(
        changed.is_empty(),
        "{} plans have changed; if they are to, GRISTMILL_WRITE_PLANS=1 writes them down:\n{}",
        changed.len(),
        changed.join("\n\n")
    );
}

#[test]
fn what_chance_decides_is_not_in_a_line() {
    let uuid = "fdf0629f-89dd-41bc-b982-887d9bdff321";
    let line = format!("a [data/{uuid}/{uuid}.parquet, sql/data/a.parquet] metadata: {{\"x\": \"y\"}}, b  ");
    assert_eq!(shown(&line), "    a [PART, sql/data/a.parquet] metadata: {..}, b");
    assert_eq!(shown(""), "    ---");
}
