//! `cargo xtask test`: format, lints, every test; then what passed and how long it took.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::environment;
use crate::run::{Step, now};

/// Inputs of each target of the fuzzers, in the long run.
const LONG_FUZZ_RUNS: &str = "1000000";

/// How much the randomised and crash tests do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Short,
    Long,
}

/// The sums of `test result:` lines.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

/// With `only`, what `cargo test` makes of those arguments and nothing else: the same environment, so nothing is rebuilt.
pub(crate) fn run(root: &Path, amount: Amount, only: &[String]) -> Result<()> {
    let python = environment::python(root)?;
    let target = environment::target_folder()?;
    let cargo = |arguments: &[&str]| {
        let step = Step::new("cargo", arguments, root).env("PATH", environment::path_with(&python));
        let step = match amount {
            Amount::Short => step,
            Amount::Long => step.env("GRISTMILL_SOAK", "1").env("GRISTMILL_FUZZ_RUNS", LONG_FUZZ_RUNS),
        };
        match &target {
            Some(folder) => step.env("CARGO_TARGET_DIR", folder),
            None => step,
        }
    };
    let started = now();
    let mut times: Vec<(&str, Duration)> = Vec::new();
    if only.is_empty() {
        times.push(("format", cargo(&["fmt", "--all", "--check"]).run()?));
        times.push(("lints", cargo(&["clippy", "--workspace", "--all-targets", "--quiet"]).run()?));
    }
    let testing = now();
    // Whoever reads the log of a red run wants every failure, not the first crate's.
    let mut arguments = match only {
        [] => vec!["test", "--workspace", "--no-fail-fast"],
        only => ["test"].into_iter().chain(only.iter().map(String::as_str)).collect(),
    };
    if amount == Amount::Long {
        // The long amounts are for a machine with time: without optimisation they would take days.
        arguments.extend(["--release", "--", "--include-ignored"]);
    }
    let counts = count(&cargo(&arguments).tee()?);
    times.push(("tests", testing.elapsed()));
    ensure!(
        counts.passed > 0 && counts.failed == 0,
        "{} tests failed, {} passed",
        counts.failed,
        counts.passed
    );
    crate::say("");
    for (name, time) in &times {
        crate::say(&format!("{name:>8} {:7.1} s", time.as_secs_f64()));
    }
    crate::say(&format!(
        "test run: ok. {} passed; {} failed; {} ignored; {:.1} s",
        counts.passed,
        counts.failed,
        counts.ignored,
        started.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Adds up `test result: ok. 12 passed; 0 failed; 1 ignored; ...` lines.
fn count(output: &str) -> Counts {
    let mut counts = Counts::default();
    for line in output.lines().filter(|line| line.trim_start().starts_with("test result:")) {
        let number = |word: &str| {
            let before = line.split(word).next().unwrap_or("");
            before.trim_end().rsplit(' ').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
        };
        counts.passed += number(" passed");
        counts.failed += number(" failed");
        counts.ignored += number(" ignored");
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up() {
        let output = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
                      test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured\n";
        assert_eq!(count(output), Counts { passed: 13, failed: 2, ignored: 1 });
        assert_eq!(count("nothing"), Counts::default());
    }
}
