//! `cargo xtask`: the only entry points for checking, testing, measuring. CI calls the same.

mod source;
mod run;
mod environment;
mod tidy;
mod test;
mod soak;
mod bench;
mod attack;
mod reference;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "xtask", about = "Checks, tests and measurements of Gristmill")]
struct Tasks {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// The house rules a machine can check
    Tidy,
    /// Format, lints and every test; with arguments, only what `cargo test` makes of them
    Test {
        /// As for `cargo test`, such as `-p engine`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// The same as test; what CI runs
    Ci,
    /// Every test with the long amounts, part by part, and a table of them at the end
    Soak(soak::SoakArgs),
    /// Hostile clients, statements and damage against the real binary, and a table of them at the end
    Attack(attack::AttackArgs),
    /// Measure against ClickHouse on this machine; appends to docs/measurements and renews docs/performance.md
    Bench(bench::BenchArgs),
    /// Write docs/reference from the code
    Reference,
}

fn main() -> Result<()> {
    let root = root()?;
    match Tasks::parse().task {
        Task::Tidy => tidy::run(&root),
        Task::Test { arguments } => test::run(&root, &arguments),
        Task::Ci => test::run(&root, &[]),
        Task::Soak(args) => soak::run(&root, &args),
        Task::Attack(args) => attack::run(&root, &args),
        Task::Bench(args) => bench::run(&root, &args),
        Task::Reference => reference::run(&root),
    }
}

/// The root of the repository: the folder above this crate.
fn root() -> Result<PathBuf> {
    let manifest =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").context("run me with `cargo xtask`")?);
    Ok(manifest.parent().context("xtask lies in the repository")?.to_owned())
}

/// A line for whoever runs the task.
fn say(line: &str) {
    // A closed output ends nobody's test run.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
