//! `gristmill local`: the database in this process, without a server.
//!
//! What clickhouse-local takes works here: a file or standard input as a table, settings and parameters as options. Invariant:
//! what was made for the command alone is gone when it ends. Must not know: where statements come from.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use engine::{Config, Database, FormatKind, RootPlace};
use host::{Host, Runtimes};

use crate::batch::{Script, StatementArgs};
use crate::failure::Failure;
use crate::input::InputArgs;
use crate::options::Setting;
use crate::runner::Runner;
use crate::{configuration, terminal};

#[derive(Args, Debug)]
pub(crate) struct LocalArgs {
    #[command(flatten)]
    statements: StatementArgs,
    #[command(flatten)]
    input: InputArgs,
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
    #[arg(long, visible_alias = "output-format")]
    format: Option<String>,
    /// Whose rules hold
    #[arg(long, value_enum, default_value_t = DialectName::Clickhouse)]
    dialect: DialectName,
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
pub(crate) fn run(
    args: &LocalArgs,
    settings: &[Setting],
    host: &Host,
    runtimes: &Runtimes,
) -> Result<(), Failure> {
    if matches!(args.dialect, DialectName::Starrocks) {
        return Err(Failure::new("dialect \"starrocks\" is not there yet; there is clickhouse"));
    }
    let format = output_format(args.format.as_deref())?;
    let mut script = Script::new(&args.statements, args.database.as_deref(), settings)?;
    let input = args.input.table(script.queries(), args.database.as_deref().unwrap_or("default"))?;
    if input.is_some() && args.shared.is_some() {
        return Err(Failure::new(
            "a file or standard input as a table needs a database of its own, without --shared",
        ));
    }
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
    let runner = Runner::new(&database, host, format, args.stats || script.is_interactive());
    let ended = match &input {
        Some(input) => {
            script.reads_input_elsewhere(input.is_standard_input);
            match runtimes.block_on(runner.rows(input.create())) {
                Ok(_) => {
                    let ended = script.run(&runner, runtimes);
                    let dropped = runtimes.block_on(runner.rows(&input.drop()));
                    ended.and(dropped.map(|_| ()).map_err(Failure::from))
                }
                // Who has a table of that name keeps it.
                Err(error) => Err(error.into()),
            }
        }
        None => script.run(&runner, runtimes),
    };
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

/// Opens a database and hands its close to the caller; what `demo` shares with `local`.
pub(crate) fn open_temporary() -> Result<Arc<Database>, Failure> {
    Ok(Database::open(Config::default())?)
}
