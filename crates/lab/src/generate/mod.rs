//! `gristmill generate`: data sets for trying things out and for benchmarks, the same bytes for the same seed.
//!
//! Knows nothing of the database: it writes Parquet files, and that is all.

mod dice;
mod words;
mod prose;
mod texts;
mod posts;
mod hits;
mod target;
mod write;
mod tpch;

use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use clap::{Args, Subcommand, ValueEnum};
use host::Host;
use model::units::{ByteSize, RowCount};
use tokio::runtime::Handle;

use crate::failure::Failure;
use hits::{HitRows, HitsPlan};
use posts::{PostRows, PostsPlan};
use prose::Prose;
use target::Target;
use tpch::Table;
use write::{DataSet, FileRows, write_files};

pub use write::Written;

#[derive(Subcommand, Debug)]
pub enum GenerateCommand {
    /// Posts of a question-and-answer site: 22 columns, one Parquet file a month
    Posts(PostsArgs),
    /// The tables of TPC-H
    Tpch(TpchArgs),
    /// Hits of a web counter: the 105 columns of the public set, with values of our own
    Hits(HitsArgs),
}

#[derive(Args, Debug)]
pub struct HitsArgs {
    /// Rows of the whole set
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,
    /// Files to share the rows out to, in the order of time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1200))]
    pub files: u32,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// s3://bucket/prefix, http://endpoint/bucket/prefix or a folder
    #[arg(long)]
    pub to: String,
}

#[derive(Args, Debug)]
pub struct PostsArgs {
    /// Rows of the whole set
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,
    /// Months, each a file
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1200))]
    pub files: u32,
    /// The same seed gives the same bytes
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// s3://bucket/prefix, http://endpoint/bucket/prefix or a folder
    #[arg(long)]
    pub to: String,
}

#[derive(Args, Debug)]
pub struct TpchArgs {
    /// Scale factor: 1 is six million rows of lineitem
    #[arg(long, default_value_t = 0.5)]
    scale: f64,
    /// Files to share the rows of a table out to
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1200))]
    files: u32,
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',')]
    tables: Vec<Table>,
    /// s3://bucket/prefix, http://endpoint/bucket/prefix or a folder
    #[arg(long)]
    to: String,
}

/// Runs the command and says on standard error what was written.
pub fn run(command: &GenerateCommand, host: &Host, io: &Handle) -> Result<(), Failure> {
    let started = host.clock.monotonic();
    let written = Written::default();
    match command {
        GenerateCommand::Posts(args) => posts(args, host, io, &written)?,
        GenerateCommand::Tpch(args) => tpch(args, host, io, &written)?,
        GenerateCommand::Hits(args) => hits(args, host, io, &written)?,
    }
    let seconds = host.clock.monotonic().saturating_sub(started).as_secs_f64();
    crate::terminal::note(&format!(
        "{} rows in {} files, {}, {seconds:.1} s",
        RowCount(written.rows.load(Ordering::Relaxed)),
        written.files.load(Ordering::Relaxed),
        ByteSize(written.bytes.load(Ordering::Relaxed)).decimal(),
    ));
    Ok(())
}

/// Writes posts; call from outside the runtime `io` belongs to.
pub fn posts(args: &PostsArgs, host: &Host, io: &Handle, written: &Written) -> Result<(), Failure> {
    let plan = PostsPlan { rows: args.rows, files: args.files, seed: args.seed };
    let target = Target::parse(&args.to, &host.disk, io)?;
    write_files(&Posts { plan, prose: Prose::new() }, &target, host::process::cpu_count(), written)
}

fn hits(args: &HitsArgs, host: &Host, io: &Handle, written: &Written) -> Result<(), Failure> {
    let plan = HitsPlan { rows: args.rows, files: args.files, seed: args.seed };
    let target = Target::parse(&args.to, &host.disk, io)?;
    write_files(&Hits { plan, prose: Prose::new() }, &target, host::process::cpu_count(), written)
}

fn tpch(args: &TpchArgs, host: &Host, io: &Handle, written: &Written) -> Result<(), Failure> {
    if !(args.scale > 0.0 && args.scale <= 1000.0) {
        return Err(Failure::new(format!("scale factor {} is not between 0 and 1000", args.scale)));
    }
    let target = Target::parse(&args.to, &host.disk, io)?;
    let tables = if args.tables.is_empty() { Table::value_variants() } else { &args.tables };
    for table in tables {
        let set = TpchTable { table: *table, scale: args.scale, files: args.files };
        write_files(&set, &target, host::process::cpu_count(), written)?;
    }
    Ok(())
}

struct Posts {
    plan: PostsPlan,
    prose: Prose,
}

impl DataSet for Posts {
    fn schema(&self) -> SchemaRef {
        posts::schema()
    }

    fn files(&self) -> u32 {
        self.plan.files
    }

    fn name(&self, number: u32) -> String {
        self.plan.file(number).name
    }

    fn rows(&self, number: u32) -> Box<dyn FileRows + '_> {
        Box::new(PostRows::new(&self.prose, self.plan.file(number)))
    }

    fn distinct_columns(&self) -> &'static [&'static str] {
        &["Id", "CreationDate", "Body", "Title", "LastActivityDate", "LastEditDate"]
    }
}

impl FileRows for PostRows<'_> {
    fn next_batch(&mut self, rows_max: u64) -> Option<Result<RecordBatch, ArrowError>> {
        PostRows::next_batch(self, rows_max)
    }
}

struct Hits {
    plan: HitsPlan,
    prose: Prose,
}

impl DataSet for Hits {
    fn schema(&self) -> SchemaRef {
        hits::schema()
    }

    fn files(&self) -> u32 {
        self.plan.files
    }

    fn name(&self, number: u32) -> String {
        format!("hits-{number:03}.parquet")
    }

    fn rows(&self, number: u32) -> Box<dyn FileRows + '_> {
        Box::new(HitRows::new(&self.prose, self.plan, number))
    }

    fn distinct_columns(&self) -> &'static [&'static str] {
        &["WatchID"]
    }
}

impl FileRows for HitRows<'_> {
    fn next_batch(&mut self, rows_max: u64) -> Option<Result<RecordBatch, ArrowError>> {
        HitRows::next_batch(self, rows_max)
    }
}

struct TpchTable {
    table: Table,
    scale: f64,
    files: u32,
}

impl DataSet for TpchTable {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn files(&self) -> u32 {
        self.table.files(self.files)
    }

    fn name(&self, number: u32) -> String {
        format!("{}-{number:03}.parquet", self.table.name())
    }

    fn rows(&self, number: u32) -> Box<dyn FileRows + '_> {
        self.table.rows(self.scale, number, self.files)
    }

    fn distinct_columns(&self) -> &'static [&'static str] {
        match self.table {
            Table::Lineitem => &["l_orderkey", "l_comment", "l_extendedprice"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn files_of(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap())).collect()
    }

    #[test]
    fn the_same_seed_writes_the_same_bytes() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let host = Host::system(1 << 30).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut sets = Vec::new();
        for run in ["a", "b"] {
            let to = folder.path().join(run);
            let args = PostsArgs { rows: 5_000, files: 3, seed: 11, to: to.to_str().unwrap().to_owned() };
            let written = Written::default();
            posts(&args, &host, runtime.handle(), &written).unwrap();
            assert_eq!(written.rows.load(Ordering::Relaxed), 5_000);
            sets.push(files_of(&to));
        }
        assert_eq!(
            sets[0].keys().collect::<Vec<_>>(),
            ["2020-01-31.parquet", "2020-02-29.parquet", "2020-03-31.parquet"]
        );
        assert!(sets[0] == sets[1]);
        let bytes: usize = sets[0].values().map(Vec::len).sum();
        assert!((300..600).contains(&(bytes / 5_000)), "{} bytes a row", bytes / 5_000);
    }
}
