//! `gristmill demo`: the main job as a story, with nothing to set up.
//!
//! `--nodes` tells another one (`nodes.rs`). A bucket appears in this process, posts are generated into it, asked where they lie, loaded into a sorted table,
//! merged, asked again, and single rows are inserted. Everything is in a temporary folder and gone at the end.
//! It uses the same statements anybody would type; nothing here reaches past them.

mod nodes;
mod picture;

use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use clap::Args;
use engine::{Error, FormatKind};
use host::{Host, Runtimes};
use lab::endpoint::{Endpoint, Serving};
use lab::generate::{self, PostsArgs, Written};
use model::{ByteSize, RowCount};

use crate::failure::Failure;
use crate::local::open_temporary;
use crate::runner::{Runner, Stop};
use crate::terminal;
use picture::Bar;

const SINGLE_INSERTS: u64 = 1_000;

const CREATE_POSTS: &str = "\
CREATE TABLE posts
(
    `Id` Int32,
    `PostTypeId` Enum8('Question' = 1, 'Answer' = 2, 'Wiki' = 3, 'TagWikiExcerpt' = 4, 'TagWiki' = 5,
                       'ModeratorNomination' = 6, 'WikiPlaceholder' = 7, 'PrivilegeWiki' = 8),
    `AcceptedAnswerId` UInt32,
    `CreationDate` DateTime64(3, 'UTC'),
    `Score` Int32,
    `ViewCount` UInt32,
    `Body` String,
    `OwnerUserId` Int32,
    `OwnerDisplayName` String,
    `LastEditorUserId` Int32,
    `LastEditorDisplayName` String,
    `LastEditDate` DateTime64(3, 'UTC'),
    `LastActivityDate` DateTime64(3, 'UTC'),
    `Title` String,
    `Tags` String,
    `AnswerCount` UInt16,
    `CommentCount` UInt8,
    `FavoriteCount` UInt8,
    `ContentLicense` LowCardinality(String),
    `ParentId` String,
    `CommunityOwnedDate` DateTime64(3, 'UTC'),
    `ClosedDate` DateTime64(3, 'UTC')
)
ENGINE = MergeTree
PARTITION BY toYear(CreationDate)
ORDER BY (PostTypeId, toDate(CreationDate), CreationDate)";

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Posts to generate
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// The same seed gives the same posts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Another story: so many servers on one bucket, one of which is killed
    #[arg(long)]
    nodes: Option<usize>,
}

/// The command. Call from outside the runtimes.
pub(crate) fn run(args: &DemoArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    if let Some(nodes) = args.nodes {
        return nodes::run(nodes, args.rows, host, runtimes);
    }
    let bucket = tempfile::tempdir()?;
    host.disk.create_dir_all(&bucket.path().join("demo"))?;
    let endpoint = Endpoint::start(bucket.path(), Serving::default(), host, runtimes)?;
    let database = open_temporary()?;
    let runner = Runner::new(&database, host, FormatKind::PrettyCompact, true);
    let mut story = Story { runner, host: host.clone(), runtimes: runtimes.clone(), steps: Vec::new() };
    let told = story.tell(args, &endpoint.url());
    drop(story);
    runtimes.block_on(database.close());
    told
}

/// What took how long.
struct Step {
    name: String,
    elapsed: Duration,
    remark: String,
}

struct Story {
    runner: Runner,
    host: Host,
    runtimes: Runtimes,
    steps: Vec<Step>,
}

impl Story {
    fn tell(&mut self, args: &DemoArgs, endpoint: &str) -> Result<(), Failure> {
        let files = format!("{endpoint}/demo/posts");
        let source = format!("s3('{files}/*.parquet', NOSIGN)");
        self.generate(args, &files)?;

        title("Ask the bucket: who wrote most? Nothing is loaded yet.")?;
        self.statement("top usernames over S3", &top_usernames(&source))?;

        title("Load it into a sorted table. Merges wait, so that you can see what the load wrote.")?;
        self.quietly(CREATE_POSTS)?;
        terminal::line(CREATE_POSTS)?;
        self.quietly("SYSTEM STOP MERGES posts")?;
        self.statement("load into a sorted table", &format!("INSERT INTO posts SELECT * FROM {source}"))?;
        let before = self.parts()?;
        self.show_parts("Parts, as the load wrote them:", &before)?;

        title("Merge them: one sorted part for each partition.")?;
        self.quietly("SYSTEM START MERGES posts")?;
        self.statement("merge to one part", "OPTIMIZE TABLE posts FINAL")?;
        let after = self.parts()?;
        self.show_parts("Parts, merged:", &after)?;

        title("Ask the table the same question.")?;
        self.statement("top usernames over the table", &top_usernames("posts"))?;

        title(&format!("{SINGLE_INSERTS} single-row INSERTs, each one durable when it is answered."))?;
        self.single_inserts()?;
        self.statement("count everything", "SELECT count() FROM posts")?;
        self.close()
    }

    fn generate(&mut self, args: &DemoArgs, to: &str) -> Result<(), Failure> {
        title(&format!("A bucket with a year of posts: {} rows at {to}/", RowCount(args.rows)))?;
        let written = Written::default();
        let posts = PostsArgs { rows: args.rows, files: 12, seed: args.seed, to: to.to_owned() };
        let started = self.now();
        generate::posts(&posts, &self.host, self.runtimes.io(), &written)?;
        let remark = format!(
            "{} files, {}",
            written.files.load(Ordering::Relaxed),
            ByteSize(written.bytes.load(Ordering::Relaxed)).decimal()
        );
        terminal::line(&format!("{remark} of Parquet, uploaded by the S3 protocol"))?;
        self.note_step("generate posts", started, remark);
        Ok(())
    }

    /// Shows a statement, runs it, shows its answer.
    fn statement(&mut self, name: &str, sql: &str) -> Result<(), Failure> {
        terminal::line(&format!("gristmill :) {sql}\n"))?;
        let started = self.now();
        self.runtimes.block_on(self.runner.run(sql, None)).map_err(|stop| match stop {
            Stop::Failed(error) => Failure::from(error),
            Stop::OutputClosed => Failure::new("the output was closed"),
        })?;
        self.note_step(name, started, String::new());
        Ok(())
    }

    fn quietly(&self, sql: &str) -> Result<Vec<RecordBatch>, Error> {
        self.runtimes.block_on(self.runner.rows(sql))
    }

    fn single_inserts(&mut self) -> Result<(), Failure> {
        let started = self.now();
        for number in 0..SINGLE_INSERTS {
            let sql = format!(
                "INSERT INTO posts (Id, PostTypeId, CreationDate, LastActivityDate, OwnerDisplayName, Title) VALUES \
                 ({}, 'Question', '2020-12-31 23:59:59.{:03}', '2020-12-31 23:59:59.999', 'miller', 'Row {number}')",
                2_000_000_000 + number,
                number % 1000,
            );
            self.quietly(&sql)?;
        }
        let elapsed = self.now().saturating_sub(started);
        let each = elapsed / u32::try_from(SINGLE_INSERTS).unwrap_or(1);
        let remark = format!("{:.2} ms each", each.as_secs_f64() * 1000.0);
        terminal::line(&format!(
            "{SINGLE_INSERTS} statements in {:.2} s, {remark}\n",
            elapsed.as_secs_f64()
        ))?;
        self.note_step(&format!("{SINGLE_INSERTS} single-row INSERTs"), started, remark);
        Ok(())
    }

    fn parts(&self) -> Result<Vec<Bar>, Error> {
        let batches = self.quietly(
            "SELECT name, rows, bytes_on_disk FROM system.parts \
             WHERE active AND database = 'default' AND table = 'posts' ORDER BY min_block_number",
        )?;
        let mut parts = Vec::new();
        for batch in batches {
            let number = |column: usize, row: usize| {
                batch.column(column).as_primitive_opt::<UInt64Type>().map_or(0, |numbers| numbers.value(row))
            };
            let shown = FormatOptions::default();
            let names = ArrayFormatter::try_new(batch.column(0), &shown)
                .map_err(|error| Error::internal(error.to_string()))?;
            parts.extend((0..batch.num_rows()).map(|row| Bar {
                name: names.value(row).to_string(),
                rows: number(1, row),
                bytes: number(2, row),
            }));
        }
        Ok(parts)
    }

    fn show_parts(&mut self, heading: &str, parts: &[Bar]) -> Result<(), Failure> {
        let bytes = ByteSize(parts.iter().map(|part| part.bytes).sum()).decimal();
        terminal::line(&format!("\n{heading}"))?;
        picture::draw(parts).iter().try_for_each(|line| terminal::line(line))?;
        if let Some(step) = self.steps.last_mut() {
            step.remark = format!("{} part{}, {bytes}", parts.len(), if parts.len() == 1 { "" } else { "s" });
        }
        Ok(())
    }

    fn close(&self) -> Result<(), Failure> {
        print_steps(&self.steps)?;
        let peak = ByteSize(host::process::peak_rss_bytes());
        terminal::line(&format!("  peak memory of this process, bucket and generator included: {peak}"))?;
        terminal::line("\nYour own files: gristmill local -q \"SELECT count() FROM s3('https://...')\"")?;
        Ok(())
    }

    fn note_step(&mut self, name: &str, started: Duration, remark: String) {
        let elapsed = self.now().saturating_sub(started);
        self.steps.push(Step { name: name.to_owned(), elapsed, remark });
    }

    fn now(&self) -> Duration {
        self.host.clock.monotonic()
    }
}

fn top_usernames(source: &str) -> String {
    format!(
        "SELECT OwnerDisplayName, count() AS num_posts\nFROM {source}\nWHERE OwnerDisplayName NOT IN ('', 'anon')\n\
         GROUP BY OwnerDisplayName\nORDER BY num_posts DESC\nLIMIT 5"
    )
}

/// One table of what took how long.
fn print_steps(steps: &[Step]) -> Result<(), Failure> {
    title("What took how long")?;
    let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
    for Step { name, elapsed, remark } in steps {
        terminal::line(format!("  {name:width$}  {:>8.3} s  {remark}", elapsed.as_secs_f64()).trim_end())?;
    }
    Ok(())
}

fn title(text: &str) -> Result<(), Failure> {
    Ok(terminal::line(&format!("\n── {text}\n"))?)
}
