//! The `gristmill` command: what can be typed, and nothing else.

mod allocator;
mod failure;
mod terminal;
mod statistics;
mod progress;
mod script;
mod outfile;
mod remote;
mod runner;
mod inspect;
mod restore;
mod shell;
mod configuration;
mod docs;
mod options;
mod input;
mod batch;
mod local;
mod serve_file;
mod serve;
mod client;
mod demo;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use host::{Host, Runtimes};
use lab::{bench_insert, endpoint, fault_proxy, generate, journal_writers};

use failure::Failure;

/// How long a command waits at its end for tasks to finish.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(1);

#[derive(Parser, Debug)]
#[command(name = "gristmill", version, about = "An analytical database you load")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// The whole story with nothing to set up: a bucket, posts in it, queries, a load, inserts
    Demo(demo::DemoArgs),
    /// The database in this process: statements from -q, the terminal or standard input
    Local(local::LocalArgs),
    /// The server: ClickHouse's HTTP interface over one database
    Server(serve::ServerArgs),
    /// Read a password from standard input and print what a configuration file keeps of it
    PasswordVerifier,
    /// Statements to a server: from -q, the terminal or standard input
    Client(client::ClientArgs),
    /// Write a data set to a bucket or a folder
    Generate {
        #[command(subcommand)]
        what: generate::GenerateCommand,
    },
    /// Print what is in a part, a log segment, a checkpoint, or all of a shared root
    Inspect(inspect::InspectArgs),
    /// Bring back what the parts of a folder hold whose log is gone, into a new folder
    Restore(restore::RestoreArgs),
    /// Write the reference pages
    #[command(hide = true)]
    Docs(docs::DocsArgs),
    /// Insert from many sessions of this process and print what each statement took
    #[command(hide = true)]
    BenchInsert(bench_insert::BenchInsertArgs),
    /// Insert with labels and keep a journal, until killed
    #[command(hide = true)]
    JournalWriters(journal_writers::JournalWritersArgs),
    /// Stand in front of a store and break some of its answers
    #[command(hide = true)]
    FaultProxy(fault_proxy::FaultProxyArgs),
    /// Serve a folder by the S3 protocol, for trying things out
    S3Endpoint(endpoint::EndpointArgs),
}

fn main() -> ExitCode {
    allocator::keep_freed_memory_a_while();
    let (arguments, settings) = options::split(&Cli::command(), std::env::args_os());
    match run(&Cli::parse_from(arguments).command, &settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::note(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command, settings: &[options::Setting]) -> Result<(), Failure> {
    let memory_bytes = host::process::total_memory_bytes();
    allocator::fit_pages_to(memory_bytes);
    let host = Host::system(memory_bytes)?;
    let cores = host::process::cpu_count();
    let runtimes = Runtimes::new(cores, cores)?;
    let ended = match command {
        Command::Demo(args) => demo::run(args, &host, &runtimes),
        Command::Local(args) => local::run(args, settings, &host, &runtimes),
        Command::Server(args) => serve::run(args, &host, &runtimes),
        Command::PasswordVerifier => serve::print_verifier(&host),
        Command::Client(args) => client::run(args, settings, &host, &runtimes),
        Command::Generate { what } => generate::run(what, &host, runtimes.io()).map_err(Failure::from),
        Command::Inspect(args) => inspect::run(args, &host, &runtimes),
        Command::Restore(args) => restore::run(args, &host),
        Command::Docs(args) => docs::run(args, &host, &runtimes),
        Command::BenchInsert(args) => bench_insert::run(args, &host, &runtimes).map_err(Failure::from),
        Command::JournalWriters(args) => journal_writers::run(args, &host, &runtimes).map_err(Failure::from),
        Command::FaultProxy(args) => fault_proxy::run(args, &runtimes).map_err(Failure::from),
        Command::S3Endpoint(args) => endpoint::run(args, &host, &runtimes).map_err(Failure::from),
    };
    runtimes.shutdown(SHUTDOWN_PATIENCE);
    ended
}
