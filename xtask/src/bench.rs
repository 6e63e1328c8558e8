//! `cargo xtask bench`: Gristmill and ClickHouse on the same files, in the same run, in turns.
//!
//! The measuring is in `xtask/bench/*.py`, because the peer is a Python package; here are building and bookkeeping.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::environment;
use crate::run::Step;

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Which one: load, query, final, insert, open, read, http, shared, scale, changes; against: this build and another
    #[arg(value_parser = ["load", "query", "final", "insert", "open", "read", "http", "shared", "scale", "changes", "against"])]
    what: String,
    /// Rows of posts; of `read`: rows of its narrow files; of `open`: commits whose latency is plotted
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// Rounds; medians are reported
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Threads of each side
    #[arg(long, default_value_t = 2)]
    threads: u32,
    /// Only print: append nothing to docs/measurements, write neither docs/performance.md nor docs/images
    #[arg(long)]
    dry: bool,
    /// A binary to measure instead of the one built here
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Of `against`: the binary it is compared with
    #[arg(long, required_if_eq("what", "against"))]
    before: Option<PathBuf>,
}

pub(crate) fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => release_binary(root)?,
    };
    let python = environment::python(root)?;
    // A script `http.py` would hide Python's own `http` from its neighbours.
    let script = if args.what == "http" { "over_http" } else { args.what.as_str() };
    let script = root.join("xtask/bench").join(format!("{script}.py"));
    let cache = environment::cache_folder()?.join("bench");
    let (rows, rounds, threads) = (args.rows.to_string(), args.rounds.to_string(), args.threads.to_string());
    let (script, binary, cache) =
        (script.to_string_lossy(), binary.to_string_lossy(), cache.to_string_lossy());
    let mut arguments = vec![
        script.as_ref(),
        "--binary",
        &binary,
        "--cache",
        &cache,
        "--rows",
        &rows,
        "--rounds",
        &rounds,
        "--threads",
        &threads,
    ];
    let before = args.before.as_ref().map(|before| before.to_string_lossy());
    if let Some(before) = before.as_deref().filter(|_| args.what == "against") {
        arguments.extend(["--before", before]);
    }
    let docs = root.join("docs");
    let docs = docs.to_string_lossy();
    if !args.dry {
        arguments.extend(["--docs", &docs]);
    }
    Step::new(&python, &arguments, root).run()?;
    Ok(())
}

/// Builds the release binary and answers with its path.
pub(crate) fn release_binary(root: &Path) -> Result<PathBuf> {
    binary(root, "release", &["--release", "--workspace", "--bin", "gristmill"])
}

/// Builds the binary that the tests drive and answers with its path.
pub(crate) fn debug_binary(root: &Path) -> Result<PathBuf> {
    binary(root, "debug", &["--workspace", "--bin", "gristmill"])
}

fn binary(root: &Path, profile: &str, arguments: &[&str]) -> Result<PathBuf> {
    let target = environment::target_folder()?;
    let mut build = Step::new("cargo", &[&["build", "--quiet"], arguments].concat(), root);
    if let Some(folder) = &target {
        build = build.env("CARGO_TARGET_DIR", folder);
    }
    build.run()?;
    let metadata = Step::new("cargo", &["metadata", "--no-deps", "--format-version", "1"], root).output()?;
    let folder = match target {
        Some(folder) => folder,
        None => target_of(&metadata).context("cargo metadata names no target_directory")?,
    };
    Ok(folder.join(profile).join("gristmill"))
}

fn target_of(metadata: &str) -> Option<PathBuf> {
    let behind = metadata.split("\"target_directory\":\"").nth(1)?;
    Some(PathBuf::from(behind.split('"').next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_folder_is_read_from_metadata() {
        let metadata = r#"{"packages":[],"target_directory":"/x/target","version":1}"#;
        assert_eq!(target_of(metadata), Some(PathBuf::from("/x/target")));
        assert_eq!(target_of("{}"), None);
    }

    #[test]
    fn the_page_shows_the_newest_measurements() {
        let root = crate::root().unwrap();
        let told = std::process::Command::new("python3")
            .args(["xtask/bench/page.py", "--check", "docs"])
            .current_dir(&root)
            .output()
            .unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    }
}
