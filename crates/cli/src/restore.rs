//! `gristmill restore FROM TO`: the rows of a folder whose log is gone, in a new folder.
//!
//! Invariant: says of every table what was brought back, and of every file that was not, why. Ends with 1 if rows are lost or
//! files were passed over. Must not know: how parts are read.

use std::path::PathBuf;

use clap::Args;
use engine::{RestoreProgress, RestoreRequest, Restored, RestoredTable};
use host::Host;

use crate::failure::Failure;
use crate::progress::{Moment, ProgressLine};
use crate::terminal;

#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// The folder whose log is gone; it is only read
    from: PathBuf,
    /// The folder to make; must not exist yet, or be empty
    to: PathBuf,
    /// Take files from FROM/lost, too; they may be of statements that never ended
    #[arg(long)]
    lost: bool,
}

/// The command.
pub(crate) fn run(args: &RestoreArgs, host: &Host) -> Result<(), Failure> {
    let (from, to) = (std::path::absolute(&args.from)?, std::path::absolute(&args.to)?);
    let started = host.clock.monotonic();
    let mut line = ProgressLine::new();
    let mut told = |progress: RestoreProgress| {
        line.draw(&Moment {
            elapsed: host.clock.monotonic().saturating_sub(started),
            read_bytes: progress.bytes,
            total_bytes: progress.bytes_total,
            written_rows: progress.rows,
            ..Moment::default()
        });
    };
    let request = RestoreRequest { from, to, with_lost: args.lost };
    let restored = engine::restore(host, &request, &mut told);
    line.wipe();
    let restored = restored?;
    for text in lines(&restored) {
        terminal::line(&text)?;
    }
    terminal::note(
        "not in parts, and so not brought back: rows that were only in the log, views, tables without rows, named collections, \
         labels. Rows that were dropped shortly before may be back. See docs/design/restore.md",
    );
    let lost =
        restored.passed_over.len() + restored.tables.iter().map(|table| table.remarks.len()).sum::<usize>();
    match lost {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{lost} remarks: not all is as it was"))),
    }
}

/// A line a table, and one for each thing to know.
fn lines(restored: &Restored) -> Vec<String> {
    let of_table = |table: &RestoredTable| {
        let RestoredTable { database, name, rows, parts, replaced, remarks } = table;
        let summary = format!(
            "{database}.{name}: {rows} rows of {parts} parts; {replaced} files hold rows that others have"
        );
        let remarks = remarks.iter().map(|remark| format!("  {remark}"));
        std::iter::once(summary).chain(remarks).collect::<Vec<_>>()
    };
    let passed_over = restored.passed_over.iter().map(|file| format!("passed over: {file}"));
    restored.tables.iter().flat_map(of_table).chain(passed_over).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_every_file_that_was_passed_over_is_named() {
        let table = RestoredTable {
            database: "d".to_owned(),
            name: "t".to_owned(),
            rows: 7,
            parts: 2,
            replaced: 1,
            remarks: vec!["3 rows are lost: x is damaged".to_owned()],
        };
        let restored = Restored { tables: vec![table], passed_over: vec!["y: why".to_owned()] };
        assert_eq!(
            lines(&restored),
            [
                "d.t: 7 rows of 2 parts; 1 files hold rows that others have",
                "  3 rows are lost: x is damaged",
                "passed over: y: why"
            ]
        );
    }
}
