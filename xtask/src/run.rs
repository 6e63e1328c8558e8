//! Running other programs, loudly: what is run is said, how long it took is said, a failure ends the task.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// A step of a task.
pub(crate) struct Step {
    name: String,
    command: Command,
}

impl Step {
    pub(crate) fn new(program: impl AsRef<OsStr>, arguments: &[&str], folder: &Path) -> Step {
        let program = program.as_ref();
        let shown = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder);
        // `cargo run` describes xtask to us in these. Build scripts watch them (ring's does), so with them every checkout,
        // and cargo called by hand, would build its own DataFusion.
        let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        for name in names.filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
        {
            command.env_remove(name);
        }
        Step { name: format!("{shown} {}", arguments.join(" ")), command }
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Step {
        self.command.env(name, value);
        self
    }

    /// Sets a variable if there is a value for it.
    pub(crate) fn env_of(self, name: &str, value: Option<&str>) -> Step {
        match value {
            Some(value) => self.env(name, value),
            None => self,
        }
    }

    /// Runs with our input and output.
    pub(crate) fn run(mut self) -> Result<Duration> {
        crate::say(&format!("==> {}", self.name));
        let started = now();
        let status = self.command.status().with_context(|| self.name.clone())?;
        ensure!(status.success(), "{} failed: {status}", self.name);
        Ok(started.elapsed())
    }

    /// Runs and answers with standard output; standard error goes to ours.
    pub(crate) fn output(mut self) -> Result<String> {
        let output = self.command.stderr(Stdio::inherit()).output().with_context(|| self.name.clone())?;
        ensure!(output.status.success(), "{} failed: {}", self.name, output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs, passes standard output on line by line, and answers with it.
    pub(crate) fn tee(self) -> Result<String> {
        let name = self.name.clone();
        let (kept, is_success) = self.tee_to_its_end()?;
        ensure!(is_success, "{name} failed");
        Ok(kept)
    }

    /// [`Step::tee`] of what may fail: whether it succeeded stands beside its output.
    pub(crate) fn tee_to_its_end(mut self) -> Result<(String, bool)> {
        use std::io::{BufRead, BufReader};
        crate::say(&format!("==> {}", self.name));
        let mut child = self.command.stdout(Stdio::piped()).spawn().with_context(|| self.name.clone())?;
        let mut kept = String::new();
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).lines() {
                let line = line?;
                crate::say(&line);
                kept.push_str(&line);
                kept.push('\n');
            }
        }
        Ok((kept, child.wait()?.success()))
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a build took is measured outside any simulated host")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
