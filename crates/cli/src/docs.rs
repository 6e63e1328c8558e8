//! The hidden command behind `cargo xtask reference`: pages from the tables the binary runs with.
//!
//! Invariant: pages say only what a query of `system.*` answers, so they cannot disagree with the program.

use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use clap::Args;
use engine::{Config, Database, FormatKind};
use host::{Host, Runtimes, replace_file};

use crate::failure::Failure;
use crate::runner::Runner;

#[derive(Args, Debug)]
pub(crate) struct DocsArgs {
    /// Folder for the pages
    #[arg(long)]
    to: PathBuf,
}

struct Page {
    file: &'static str,
    title: &'static str,
    words: &'static str,
    query: &'static str,
    columns: &'static [&'static str],
}

const PAGES: &[Page] = &[
    Page {
        file: "settings.md",
        title: "Settings of a session",
        words: "`SET name = value`, or `SETTINGS name = value` at the end of a statement. A setting that is not obeyed is accepted, \
                because people have it in their statements; changing it warns. The settings of ClickHouse that are not here are in \
                `settings_of_clickhouse.md`.",
        query: "SELECT name, type, default, if(is_obeyed = 1, 'yes', 'no'), description FROM system.settings \
                WHERE description NOT LIKE '% setting of ClickHouse; %' ORDER BY name",
        columns: &["setting", "type", "default", "obeyed", "meaning"],
    },
    Page {
        file: "table_settings.md",
        title: "Settings of a table",
        words: "`SETTINGS name = value` at the end of CREATE TABLE.",
        query: "SELECT name, type, value, if(is_obeyed = 1, 'yes', 'no'), description FROM system.merge_tree_settings \
                WHERE description NOT LIKE '% setting of ClickHouse; %' ORDER BY name",
        columns: &["setting", "type", "default", "obeyed", "meaning"],
    },
    Page {
        file: "settings_of_clickhouse.md",
        title: "Settings of ClickHouse that do nothing here",
        words: "Any value is accepted in silence, because it decides about speed, logs and caches, or what it allows is refused by \
                its own name. Those that are refused would change an answer: another value than the default is an error.",
        query: "SELECT name, `of`, type, default, effect FROM (\
                SELECT name, 'statement' AS `of`, type, default, if(is_obsolete = 1, 'obsolete', effect::String) AS effect FROM system.settings \
                WHERE description LIKE '% setting of ClickHouse; %' UNION ALL \
                SELECT name, 'table', type, default, if(is_obsolete = 1, 'obsolete', effect::String) FROM system.merge_tree_settings \
                WHERE description LIKE '% setting of ClickHouse; %') ORDER BY `of`, name",
        columns: &["setting", "of", "type", "default", "effect"],
    },
    Page {
        file: "functions.md",
        title: "Functions",
        words: "Scalar functions and aggregates.",
        query: "SELECT name, alias_to, if(is_aggregate = 1, 'aggregate', ''), syntax, description FROM system.functions ORDER BY name",
        columns: &["function", "same as", "kind", "call", "meaning"],
    },
    Page {
        file: "formats.md",
        title: "Formats",
        words: "Names for FORMAT, and for the format argument of table functions.",
        query: "SELECT name, if(is_input = 1, 'yes', ''), if(is_output = 1, 'yes', '') FROM system.formats ORDER BY name",
        columns: &["format", "read", "written"],
    },
    Page {
        file: "system_tables.md",
        title: "System tables",
        words: "Columns of the tables in the database `system`.",
        query: "SELECT table, name, type FROM system.columns WHERE database = 'system' ORDER BY table, position",
        columns: &["table", "column", "type"],
    },
];

/// The command. Call from outside the runtimes.
pub(crate) fn run(args: &DocsArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    let folder = std::path::absolute(&args.to)?;
    host.disk.create_dir_all(&folder)?;
    let database = Database::open(Config { background: false, ..Config::default() })?;
    let runner = Runner::new(&database, host, FormatKind::TabSeparated, false);
    let written = PAGES.iter().try_for_each(|page| {
        let batches = runtimes.block_on(runner.rows(page.query))?;
        let text = text_of(page, &batches)?;
        Ok(replace_file(host.disk.as_ref(), &folder.join(page.file), text.as_bytes())?)
    });
    drop(runner);
    runtimes.block_on(database.close());
    written
}

fn text_of(page: &Page, batches: &[RecordBatch]) -> Result<String, Failure> {
    let rule = "---|".repeat(page.columns.len());
    let mut text = format!(
        "# {}\n\n{} Written by `cargo xtask reference`.\n\n| {} |\n|{rule}\n",
        page.title,
        page.words,
        page.columns.join(" | ")
    );
    for batch in batches {
        let options = FormatOptions::default();
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let cells: Vec<String> =
                columns.iter().map(|column| cell(&column.value(row).to_string())).collect();
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    Ok(text)
}

/// A value as a cell of a Markdown table.
fn cell(value: &str) -> String {
    value.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_in_their_row() {
        assert_eq!(cell("a | b\nc"), "a \\| b c");
    }
}
