//! The table of `local` that is a file or standard input: `cat rows.csv | gristmill local -q 'SELECT count() FROM table'`.
//!
//! Invariant: it is gone when the command ends, and no other table is; standard input is read once, into a file if it is none, so that statements may
//! read it several times. Must not know: formats, and how they are told from each other.

use std::fs::File;
use std::io::{self, IsTerminal, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use clap::Args;
use engine::FormatKind;
use tempfile::NamedTempFile;

use crate::failure::Failure;

/// How a person names standard input where a file is asked for.
const STANDARD_INPUT: [&str; 2] = ["-", "stdin"];

#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// File that can be read as the table `table`; - is standard input, which is one by itself where a statement reads it
    #[arg(short, long)]
    file: Option<String>,
    /// Columns of that table, as 'a Int64, b String' [default: inferred]
    #[arg(short = 'S', long)]
    structure: Option<String>,
    /// Its format [default: told by the file's name, or by its first rows]
    #[arg(long, value_name = "FORMAT")]
    input_format: Option<String>,
    /// Its name
    #[arg(short = 'N', long, default_value = "table")]
    table: String,
}

/// The table, as long as it is there.
pub(crate) struct Input {
    table: String,
    create: String,
    pub(crate) is_standard_input: bool,
    /// Where standard input was written to.
    _copy: Option<NamedTempFile>,
}

impl InputArgs {
    /// The table that statements may read; `None` where there is no input for one.
    ///
    /// # Errors
    /// Standard input cannot be copied, a format is unknown, or the file is none.
    pub(crate) fn table(&self, queries: &[String], database: &str) -> Result<Option<Input>, Failure> {
        let format = self.input_format.as_deref().unwrap_or("auto");
        if format != "auto" && FormatKind::parse(format).is_none() {
            return Err(Failure::new(format!("unknown format {format}")));
        }
        let is_standard_input = match self.file.as_deref() {
            Some(file) => STANDARD_INPUT.contains(&file),
            None if io::stdin().is_terminal() => false,
            None => {
                let is_described = self.structure.is_some() || self.input_format.is_some();
                !queries.is_empty() && (is_described || queries.iter().any(|query| reads(query, &self.table)))
            }
        };
        let (path, copy) = match self.file.as_deref() {
            _ if is_standard_input => standard_input()?,
            Some(file) => (checked(file)?, None),
            None => return Ok(None),
        };
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
        let columns = self.structure.as_deref().map(|columns| format!(" ({columns})")).unwrap_or_default();
        // Statements may use another database: what is taken away at the end is this very table.
        let table = format!("{}.{}", name(database), name(&self.table));
        let create = format!(
            "CREATE TABLE {table}{columns} ENGINE = File('{}', '{}')",
            quoted(format),
            quoted(&path.to_string_lossy())
        );
        Ok(Some(Input { table, create, is_standard_input, _copy: copy }))
    }
}

impl Input {
    /// The statement that makes the table.
    pub(crate) fn create(&self) -> &str {
        &self.create
    }

    /// The statement that takes it away.
    pub(crate) fn drop(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.table)
    }
}

fn name(table: &str) -> String {
    format!("`{}`", table.replace('\\', "\\\\").replace('`', "\\`"))
}

/// Whether a statement has the table behind FROM or JOIN.
fn reads(query: &str, table: &str) -> bool {
    let words: Vec<&str> =
        query.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    let opens = |word: &str| ["from", "join", "in"].iter().any(|open| word.eq_ignore_ascii_case(open));
    words.windows(2).any(|pair| opens(pair[0]) && pair[1] == table)
}

fn checked(file: &str) -> Result<PathBuf, Failure> {
    // A pattern names files, and is none.
    let path = Path::new(file);
    if path.exists() || file.contains(['*', '?', '{']) {
        return Ok(std::path::absolute(path)?);
    }
    let hint = match FormatKind::parse(file) {
        Some(_) => "; it is a format: --format or --output-format takes one, and -f is --file",
        None => "",
    };
    Err(Failure::new(format!("file \"{file}\" does not exist{hint}")))
}

/// A file with standard input in it: the one that it is, or a copy.
fn standard_input() -> Result<(PathBuf, Option<NamedTempFile>), Failure> {
    let mut input = io::stdin().lock();
    let own = std::fs::read_link("/proc/self/fd/0").ok();
    if let Some(path) = own.filter(|path| path.is_file()) {
        // What was read of it before is no part of it.
        let shared = input.as_fd().try_clone_to_owned().map(File::from);
        if shared.and_then(|mut file| file.stream_position()).is_ok_and(|at| at == 0) {
            return Ok((path, None));
        }
    }
    let mut copy = tempfile::Builder::new().prefix("gristmill-input-").tempfile()?;
    io::copy(&mut input, copy.as_file_mut())?;
    Ok((copy.path().to_owned(), Some(copy)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_says_whether_it_reads_the_table() {
        for query in ["SELECT * FROM table", "select 1 from\n`table`", "SELECT 1 FROM t JOIN table USING a"] {
            assert!(reads(query, "table"), "{query}");
        }
        for query in ["CREATE TABLE t (a Int8)", "SELECT 'table'", "SELECT * FROM tables", "SHOW TABLE t"] {
            assert!(!reads(query, "table"), "{query}");
        }
    }

    #[test]
    fn a_format_in_the_place_of_a_file_is_pointed_out() {
        assert!(checked("CSV").unwrap_err().to_string().contains("--format"));
        assert!(checked("/nosuch.csv").unwrap_err().to_string().contains("does not exist"));
    }
}
