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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

/// A call of cargo in the environment of our tests, in which nothing is built twice and nothing is skipped for want of a
/// Python package: what a comparing test needs was installed, or its absence is a failure.
fn cargo(root: &Path, arguments: &[&str], amount: Amount) -> Result<Step> {
    let python = environment::python(root)?;
    let step = Step::new("cargo", arguments, root).env("PATH", environment::path_with(&python));
    let step = step.env("GRISTMILL_MUST_COMPARE", "1");
    let step = match amount {
        Amount::Short => step,
        Amount::Long => step.env("GRISTMILL_SOAK", "1").env("GRISTMILL_FUZZ_RUNS", LONG_FUZZ_RUNS),
    };
    Ok(match environment::target_folder()? {
        Some(folder) => step.env("CARGO_TARGET_DIR", folder),
        None => step,
    })
}

/// `cargo test` with these words behind it.
pub(crate) fn cargo_test(root: &Path, words: &[&str], amount: Amount) -> Result<Step> {
    cargo(root, &[&["test"], words].concat(), amount)
}

/// With `only`, what `cargo test` makes of those arguments and nothing else: the same environment, so nothing is rebuilt.
pub(crate) fn run(root: &Path, only: &[String]) -> Result<()> {
    let cargo = |arguments: &[&str]| cargo(root, arguments, Amount::Short);
    let started = now();
    let mut times: Vec<(&str, Duration)> = Vec::new();
    if only.is_empty() {
        times.push(("format", cargo(&["fmt", "--all", "--check"])?.run()?));
        times.push(("lints", cargo(&["clippy", "--workspace", "--all-targets", "--quiet"])?.run()?));
    }
    let testing = now();
    // Whoever reads the log of a red run wants every failure, not the first crate's.
    let arguments = match only {
        [] => vec!["test", "--workspace", "--no-fail-fast"],
        only => ["test"].into_iter().chain(only.iter().map(String::as_str)).collect(),
    };
    let counts = Counts::of(&cargo(&arguments)?.tee()?);
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

impl Counts {
    /// Adds up `test result: ok. 12 passed; 0 failed; 1 ignored; ...` lines.
    pub(crate) fn of(output: &str) -> Counts {
        let mut counts = Counts::default();
        for line in output.lines().filter(|line| line.trim_start().starts_with("test result:")) {
            let number = |word: &str| {
                let before = line.split(word).next().unwrap_or("");
                before
                    .trim_end()
                    .rsplit(' ')
                    .next()
                    .and_then(|number| number.parse::<u64>().ok())
                    .unwrap_or(0)
            };
            counts.passed += number(" passed");
            counts.failed += number(" failed");
            counts.ignored += number(" ignored");
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up() {
        let output = "running 3 tests\ntest result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
                      test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured\n";
        assert_eq!(Counts::of(output), Counts { passed: 13, failed: 2, ignored: 1 });
        assert_eq!(Counts::of("nothing"), Counts::default());
    }
}
