//! `gristmill local`: the database in this process, without a server.
//!
//! Statements come from `-q`, from a person at the terminal, or from standard input, where each is run as soon as it is
//! complete. Invariant: the first error ends the run with an exit code that is not zero (at the terminal, and with
//! `--ignore-error`: it is printed, and the next statement runs).

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use clap::{Args, ValueEnum};
use engine::{BodyStream, Config, Database, Error, FormatKind, RootPlace};
use futures::{StreamExt, stream};
use host::{Host, Runtimes};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, stdin};

use crate::failure::Failure;
use crate::runner::{Runner, Stop};
use crate::script::{is_insert, statements};
use crate::{configuration, shell, terminal};

/// Bytes of standard input handed on at once.
const BODY_CHUNK_BYTES: usize = 256 << 10;

#[derive(Args, Debug)]
pub(crate) struct LocalArgs {
    /// Statements to run, separated by semicolons
    #[arg(short, long)]
    query: Vec<String>,
    /// Folder of the database; without it a temporary one, removed at the end
    #[arg(long)]
    path: Option<PathBuf>,
    /// Instead of a folder: a root that servers use, too, as s3://bucket/prefix or file:///folder
    #[arg(long, value_name = "URL", conflicts_with = "path")]
    shared: Option<String>,
    /// Folder for what is kept of the shared root; without it a temporary one, removed at the end
    #[arg(long, value_name = "DIR", requires = "shared")]
    cache: Option<PathBuf>,
    /// TOML file with [named_collections.NAME] tables
    #[arg(long)]
    config: Option<PathBuf>,
    /// Current database
    #[arg(short, long)]
    database: Option<String>,
    /// Format of answers that name none [default: PrettyCompact at a terminal, TabSeparated otherwise]
    #[arg(short, long)]
    format: Option<String>,
    /// Whose rules hold
    #[arg(long, value_enum, default_value_t = DialectName::Clickhouse)]
    dialect: DialectName,
    /// Print the error of a statement that fails and go on with the next
    #[arg(long)]
    ignore_error: bool,
    /// Print the closing line of each statement even when nobody is at the terminal
    #[arg(long)]
    stats: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectName {
    Clickhouse,
    Starrocks,
}

/// The command.
pub(crate) fn run(args: &LocalArgs, host: &Host, runtimes: &Runtimes) -> Result<(), Failure> {
    if matches!(args.dialect, DialectName::Starrocks) {
        return Err(Failure::new("dialect \"starrocks\" is not there yet; there is clickhouse"));
    }
    let format = output_format(args.format.as_deref())?;
    let configuration = args.config.as_deref().map(configuration::read).transpose()?.unwrap_or_default();
    let database = Database::open(Config {
        root: args.path.clone().or_else(|| args.cache.clone()),
        shared: args.shared.clone().map(|url| RootPlace { url, ..RootPlace::default() }),
        named_collections: configuration.named_collections,
        ..Config::default()
    })?;
    for notice in database.notices().iter().filter(|notice| notice.code.is_some()) {
        terminal::note(&format!("warning: {}", notice.text));
    }
    let script = Script::new(&args.query, args.database.as_deref(), args.ignore_error);
    let runner = Runner::new(&database, host, format, args.stats || script.is_interactive());
    let ended = script.run(&runner, runtimes);
    drop(runner);
    runtimes.block_on(database.close());
    ended
}

/// The format of answers that name none.
pub(crate) fn output_format(name: Option<&str>) -> Result<FormatKind, Failure> {
    match name {
        Some(name) => FormatKind::parse(name).ok_or_else(|| Failure::new(format!("unknown format {name}"))),
        None if terminal::is_terminal() => Ok(FormatKind::PrettyCompact),
        None => Ok(FormatKind::TabSeparated),
    }
}

/// Where statements come from; what `client` shares with `local`.
pub(crate) struct Script<'a> {
    queries: &'a [String],
    database: Option<&'a str>,
    ignore_error: bool,
}

impl<'a> Script<'a> {
    pub(crate) fn new(queries: &'a [String], database: Option<&'a str>, ignore_error: bool) -> Script<'a> {
        Script { queries, database, ignore_error }
    }

    /// Whether a person will type the statements.
    pub(crate) fn is_interactive(&self) -> bool {
        self.queries.is_empty() && io::stdin().is_terminal()
    }

    /// Runs all of them. Call from outside the runtimes.
    pub(crate) fn run(&self, runner: &Runner, runtimes: &Runtimes) -> Result<(), Failure> {
        runtimes.block_on(async {
            if let Some(name) = self.database {
                runner.rows(&format!("USE `{}`", name.replace('`', "\\`"))).await?;
            }
            if !self.queries.is_empty() {
                return run_queries(runner, self.queries, self.ignore_error).await;
            }
            if self.is_interactive() { Ok(()) } else { run_standard_input(runner, self.ignore_error).await }
        })?;
        if self.is_interactive() { shell::run(runner, runtimes) } else { Ok(()) }
    }
}

/// Runs the statements of `-q`. Data of an INSERT that ends with its format comes from standard input.
async fn run_queries(runner: &Runner, queries: &[String], ignore_error: bool) -> Result<(), Failure> {
    let piped = !io::stdin().is_terminal();
    for query in queries {
        for statement in statements(query) {
            let body = (piped && is_insert(statement)).then(standard_input_body);
            if !goes_on(runner.run(statement, body).await, ignore_error)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Runs statements as they come. The rest without a semicolon is a statement too.
async fn run_standard_input(runner: &Runner, ignore_error: bool) -> Result<(), Failure> {
    let mut input = BufReader::new(stdin());
    let (mut pending, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        let bytes = tokio::select! {
            bytes = input.read_line(&mut line) => bytes?,
            _ = tokio::signal::ctrl_c() => return Err(Failure::new("interrupted")),
        };
        pending.push_str(&line);
        // Only these can end a statement; looking at every line again would make a long INSERT quadratic.
        if bytes > 0 && !line.contains(';') && !line.trim().is_empty() {
            continue;
        }
        while let Some(length) = engine::next_statement(&pending, bytes == 0).filter(|length| *length > 0) {
            let statement: String = pending.drain(..length).collect();
            if !engine::is_blank(&statement) && !goes_on(runner.run(&statement, None).await, ignore_error)? {
                return Ok(());
            }
        }
        if bytes == 0 {
            return Ok(());
        }
    }
}

/// False when nobody reads any more, which is no error: `| head` is a fine way to look at an answer.
fn goes_on(ended: Result<(), Stop>, ignore_error: bool) -> Result<bool, Failure> {
    match ended {
        Ok(()) => Ok(true),
        Err(Stop::OutputClosed) => Ok(false),
        Err(Stop::Failed(error)) if ignore_error => {
            terminal::note(&error.to_string());
            Ok(true)
        }
        Err(Stop::Failed(error)) => Err(error.into()),
    }
}

/// Standard input to its end, read only when somebody asks for it.
fn standard_input_body() -> BodyStream {
    let chunks = stream::unfold(stdin(), |mut input| async move {
        let mut chunk = vec![0; BODY_CHUNK_BYTES];
        match input.read(&mut chunk).await {
            Ok(0) => None,
            Ok(bytes) => {
                chunk.truncate(bytes);
                Some((Ok(Bytes::from(chunk)), input))
            }
            Err(error) => Some((Err(Error::from(error)), input)),
        }
    });
    chunks.boxed()
}

/// Opens a database and hands its close to the caller; what `demo` shares with `local`.
pub(crate) fn open_temporary() -> Result<Arc<Database>, Failure> {
    Ok(Database::open(Config::default())?)
}
