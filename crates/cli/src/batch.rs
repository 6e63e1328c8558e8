//! Statements of a command: from its options, from files, from a person at the terminal, or from standard input, where each is
//! run as soon as it is complete.
//!
//! Invariant: the first error ends the run with an exit code that is not zero (at the terminal, and with `--ignore-error`: it is
//! printed, and the next statement runs). Must not know: whether a server runs them.

use std::io::{self, IsTerminal};
use std::path::Path;

use bytes::Bytes;
use clap::Args;
use engine::{BodyStream, Error};
use futures::{StreamExt, stream};
use host::Runtimes;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, stdin};

use crate::failure::Failure;
use crate::options::Setting;
use crate::runner::{Runner, Stop};
use crate::script::{is_insert, statements};
use crate::{shell, terminal};

/// Bytes of standard input handed on at once.
const BODY_CHUNK_BYTES: usize = 256 << 10;

/// What `local` and `client` run.
#[derive(Args, Debug)]
pub(crate) struct StatementArgs {
    /// Statements to run, separated by semicolons
    #[arg(short, long)]
    query: Vec<String>,
    /// Files with statements to run, behind those of --query
    #[arg(long, value_name = "FILE", num_args = 1..)]
    queries_file: Vec<String>,
    /// Statements, or a file with such
    #[arg(value_name = "QUERY", conflicts_with = "query")]
    first: Option<String>,
    /// Print the error of a statement that fails and go on with the next
    #[arg(long)]
    ignore_error: bool,
    /// Print each statement before its answer
    #[arg(long)]
    echo: bool,
    /// Several statements in one text are run as they are; the option is taken for clickhouse-local's sake
    #[arg(short = 'n', long, visible_alias = "multiline", short_alias = 'm', hide = true)]
    multiquery: bool,
}

/// Where statements come from; what `client` shares with `local`.
pub(crate) struct Script<'a> {
    queries: Vec<String>,
    database: Option<&'a str>,
    settings: &'a [Setting],
    ignore_error: bool,
    echo: bool,
    /// Whether standard input is read by somebody else.
    input_is_taken: bool,
}

impl<'a> Script<'a> {
    /// # Errors
    /// A file with statements cannot be read.
    pub(crate) fn new(
        args: &StatementArgs,
        database: Option<&'a str>,
        settings: &'a [Setting],
    ) -> Result<Script<'a>, Failure> {
        let mut queries = args.query.clone();
        match &args.first {
            Some(first) if Path::new(first).is_file() => queries.push(text_of(first)?),
            Some(first) => queries.push(first.clone()),
            None => {}
        }
        for file in &args.queries_file {
            queries.push(text_of(file)?);
        }
        let (ignore_error, echo) = (args.ignore_error, args.echo);
        Ok(Script { queries, database, settings, ignore_error, echo, input_is_taken: false })
    }

    /// The texts that are known before the first statement runs.
    pub(crate) fn queries(&self) -> &[String] {
        &self.queries
    }

    /// Whether standard input is no data of an INSERT.
    pub(crate) fn reads_input_elsewhere(&mut self, is_taken: bool) {
        self.input_is_taken = is_taken;
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
            for setting in self.settings {
                set(runner, setting).await?;
            }
            if !self.queries.is_empty() {
                return self.run_queries(runner).await;
            }
            if self.is_interactive() { Ok(()) } else { self.run_standard_input(runner).await }
        })?;
        if self.is_interactive() { shell::run(runner, runtimes) } else { Ok(()) }
    }

    /// Runs the statements of options and files. Data of an INSERT that ends with its format comes from standard input.
    async fn run_queries(&self, runner: &Runner) -> Result<(), Failure> {
        let piped = !self.input_is_taken && !io::stdin().is_terminal();
        for query in &self.queries {
            for statement in statements(query) {
                let body = (piped && is_insert(statement)).then(standard_input_body);
                self.show(statement);
                if !goes_on(runner.run(statement, body).await, self.ignore_error)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs statements as they come. The rest without a semicolon is a statement too.
    async fn run_standard_input(&self, runner: &Runner) -> Result<(), Failure> {
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
            while let Some(length) = engine::next_statement(&pending, bytes == 0).filter(|length| *length > 0)
            {
                let statement: String = pending.drain(..length).collect();
                if engine::is_blank(&statement) {
                    continue;
                }
                self.show(&statement);
                if !goes_on(runner.run(&statement, None).await, self.ignore_error)? {
                    return Ok(());
                }
            }
            if bytes == 0 {
                return Ok(());
            }
        }
    }

    fn show(&self, statement: &str) {
        if self.echo {
            // Who reads no more is found out by the answer.
            let _ = terminal::line(statement.trim());
        }
    }
}

fn text_of(file: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("file \"{file}\" of statements: {error}")))
}

/// Gives the session a setting or a parameter that stood among the options.
async fn set(runner: &Runner, (name, value): &Setting) -> Result<(), Failure> {
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(Failure::new(format!("--{name} is neither an option (see --help) nor a setting")));
    }
    let value = value.replace('\\', "\\\\").replace('\'', "\\'");
    let done = runner.rows(&format!("SET {name} = '{value}'")).await;
    done.map(|_| ()).map_err(|error| Failure::new(format!("--{name}: {error}")))
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
