//! What the tasks need around the compiler: a place for built files, a Python with the peers and oracles.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::run::Step;

/// Python packages the differential tests and the benchmarks compare with.
const PYTHON_PACKAGES: [&str; 3] = ["chdb", "pyarrow", "duckdb"];

/// `$GRISTMILL_CACHE`, or `~/.cache/gristmill`: outlives checkouts, so that a second run is warm.
pub(crate) fn cache_folder() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("GRISTMILL_CACHE") {
        return Ok(folder.into());
    }
    Ok(PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache/gristmill"))
}

/// Where Cargo should build: `CARGO_TARGET_DIR` if it is set, the cache folder in CI, else Cargo's own choice.
pub(crate) fn target_folder() -> Result<Option<PathBuf>> {
    match (std::env::var_os("CARGO_TARGET_DIR"), std::env::var_os("CI")) {
        (Some(folder), _) => Ok(Some(folder.into())),
        (None, Some(_)) => Ok(Some(cache_folder()?.join("target"))),
        (None, None) => Ok(None),
    }
}

/// A Python that can import the packages: the system's if it can, else one of our own in the cache folder.
pub(crate) fn python(root: &Path) -> Result<PathBuf> {
    let system = PathBuf::from("python3");
    if missing_packages(&system).is_empty() {
        return Ok(system);
    }
    let folder = cache_folder()?.join("python");
    let own = folder.join("bin/python3");
    if !own.exists() {
        // The system's packages are seen through, so only what is missing is fetched.
        let folder = folder.to_string_lossy();
        Step::new(&system, &["-m", "venv", "--system-site-packages", &folder], root).run()?;
    }
    let missing = missing_packages(&own);
    if !missing.is_empty() {
        let arguments =
            [vec!["-m", "pip", "install", "--quiet", "--disable-pip-version-check"], missing].concat();
        Step::new(&own, &arguments, root).run()?;
    }
    Ok(own)
}

fn missing_packages(python: &Path) -> Vec<&'static str> {
    let can_import = |package: &str| {
        let mut command = Command::new(python);
        let probe = format!("import importlib.util as u, sys; sys.exit(u.find_spec({package:?}) is None)");
        command.args(["-c", &probe]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    PYTHON_PACKAGES.into_iter().filter(|package| !can_import(package)).collect()
}

/// `PATH` with the folder of `python` in front, so that tests find it as `python3`.
pub(crate) fn path_with(python: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(folder) = python.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return path };
    let mut joined = folder.as_os_str().to_owned();
    joined.push(":");
    joined.push(path);
    joined
}
