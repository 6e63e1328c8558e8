//! `cargo xtask soak`: what needs hours, part by part, and a table of it at the end.
//!
//! Invariant: a part that fails stops none behind it, and the task fails if any did; a part in which nothing ran counts
//! as failed. Must not know: what the tests do.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::run::now;
use crate::test::{Amount, Counts, cargo_test};

#[derive(Args)]
pub(crate) struct SoakArgs {
    /// Parts to run, by name; all of them if none is named
    parts: Vec<String>,
    /// The amounts of an ordinary run in a debug build: to try the parts
    #[arg(long)]
    short: bool,
    /// Say which parts there are
    #[arg(long)]
    list: bool,
}

/// Some tests with their long amounts.
struct Part {
    name: &'static str,
    /// Of the long run.
    amount: &'static str,
    /// Of `cargo test`: which binaries.
    targets: &'static [&'static str],
    /// Of the test binaries: which tests.
    tests: &'static [&'static str],
    /// Instead of those with the amounts of an ordinary run, which ignores some.
    short_tests: Option<&'static [&'static str]>,
    seeds: Option<&'static str>,
    is_long: bool,
}

const PARTS: [Part; 13] = [
    Part {
        name: "kill9",
        amount: "kill -9: 100 of INSERTs, 300 of labels, 20 of loads; a full disk",
        targets: &["--test", "scripts"],
        tests: &["kill_nine", "a_killed_load", "a_full_disk"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "seeds",
        amount: "10,000 seeds of a simulated machine, 1,000 of one table",
        targets: &["--test", "sim", "--test", "table"],
        tests: &["thousand_seeds", "--include-ignored"],
        short_tests: Some(&["acknowledged_"]),
        seeds: None,
        is_long: true,
    },
    Part {
        name: "log",
        amount: "10,000 seeds of the log",
        targets: &["--lib"],
        tests: &["no_crash_loses_an_acknowledged_record"],
        short_tests: None,
        seeds: Some("10000"),
        is_long: true,
    },
    Part {
        name: "faults",
        amount: "each fault alone and mixed, a tenth of the requests, 20 seeds; cancelling at 400 moments",
        targets: &["--test", "reading"],
        tests: &["fault_kinds"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "fuzz",
        amount: "1,000,000 inputs a target",
        targets: &["--test", "fuzz"],
        tests: &[],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "million",
        amount: "1,000,000 INSERTs of one row",
        targets: &["--test", "scripts"],
        tests: &["a_million_small_inserts"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "mixed",
        amount: "64 clients of every kind for 10 minutes, a kill -9 in the middle",
        targets: &["--test", "scripts"],
        tests: &["mixed_clients"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "attacks",
        amount: "1,000 half bodies and 1,000 half heads for a minute; 5,000 bombs; 2,000 damaged folders; 30,000 mutated bodies",
        targets: &["--test", "scripts"],
        tests: &["slow_silent", "texts_that_ask", "damaged_folders", "mutated_bodies"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "loads",
        amount: "12 GB of CSV and a Parquet file of 300 columns under 1 GiB",
        targets: &["--test", "scripts"],
        tests: &["loads_much_larger"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "explosions",
        amount: "statements that make much of little, under 512 MB and 2 GiB",
        targets: &["--test", "scripts"],
        tests: &["statements_that_explode"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "clickhouse",
        amount: "loads of 1,000,000 rows, formats and codecs of 20,000, suites of 200,000 against ClickHouse",
        targets: &["--test", "scripts"],
        tests: &["a_load_equals", "formats_and_codecs", "suites_of_questions"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "stores",
        amount: "real servers of object storage, odd and broken files",
        targets: &["--test", "scripts"],
        tests: &["real_stores", "odd_and_broken"],
        short_tests: None,
        seeds: None,
        is_long: true,
    },
    Part {
        name: "rest",
        amount: "every other test, also those that an ordinary run ignores",
        targets: &["--no-fail-fast"],
        tests: &["--include-ignored", "--skip", "thousand_seeds"],
        short_tests: Some(&[]),
        seeds: None,
        is_long: false,
    },
];

/// What became of a part.
struct Done {
    part: &'static Part,
    counts: Counts,
    time: Duration,
    is_good: bool,
}

pub(crate) fn run(root: &Path, arguments: &SoakArgs) -> Result<()> {
    if arguments.list {
        PARTS.iter().for_each(|part| crate::say(&format!("{:<11} {}", part.name, part.amount)));
        return Ok(());
    }
    if let Some(unknown) = arguments.parts.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        bail!("there is no part \"{unknown}\"; there are {}", names.join(", "));
    }
    let is_wanted =
        |part: &&Part| arguments.parts.is_empty() || arguments.parts.iter().any(|name| name == part.name);
    let mut done = Vec::new();
    for part in PARTS.iter().filter(is_wanted) {
        let started = now();
        let (output, is_success) =
            cargo_test(root, &words(part, arguments.short), amount(part, arguments.short))?
                .env_of("GRISTMILL_SEEDS", part.seeds.filter(|_| !arguments.short))
                .tee_to_its_end()?;
        let counts = Counts::of(&output);
        let is_good = is_success && counts.passed > 0 && counts.failed == 0;
        done.push(Done { part, counts, time: started.elapsed(), is_good });
    }
    crate::say("");
    table(&done).iter().for_each(|line| crate::say(line));
    let bad = done.iter().filter(|one| !one.is_good).count();
    ensure!(bad == 0, "{bad} of {} parts failed", done.len());
    Ok(())
}

/// What a part does is for a machine with time; without optimisation it would take days.
fn words(part: &Part, short: bool) -> Vec<&'static str> {
    let mut words = vec!["--workspace"];
    words.extend((!short).then_some("--release"));
    words.extend(part.targets);
    words.extend(["--", "--show-output"]);
    words.extend(part.short_tests.filter(|_| short).unwrap_or(part.tests));
    words
}

fn amount(part: &Part, short: bool) -> Amount {
    if part.is_long && !short { Amount::Long } else { Amount::Short }
}

/// One line a part.
fn table(done: &[Done]) -> Vec<String> {
    let line = |one: &Done| {
        let Counts { passed, failed, ignored } = one.counts;
        let verdict = if one.is_good { "ok" } else { "FAILED" };
        let seconds = one.time.as_secs_f64();
        format!(
            "{:<11} {verdict:<6} {passed:>6} {failed:>6} {ignored:>7} {seconds:>9.1}  {}",
            one.part.name, one.part.amount
        )
    };
    let head = format!(
        "{:<11} {:<6} {:>6} {:>6} {:>7} {:>9}  {}",
        "part", "", "passed", "failed", "ignored", "seconds", "amount"
    );
    std::iter::once(head).chain(done.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_line_and_says_how_it_went() {
        let done = |failed: u64| Done {
            part: &PARTS[4],
            counts: Counts { passed: 22, failed, ignored: 0 },
            time: Duration::from_millis(1500),
            is_good: failed == 0,
        };
        let lines = table(&[done(0), done(1)]);
        assert_eq!(lines[1], "fuzz        ok         22      0       0       1.5  1,000,000 inputs a target");
        assert!(lines[2].starts_with("fuzz        FAILED     22      1"), "{}", lines[2]);
        assert_eq!(lines[0].find("amount"), lines[1].find("1,000,000"));
    }

    #[test]
    fn long_parts_are_release_builds_and_short_ones_leave_out_what_is_ignored() {
        let of = |name: &str, short| {
            let part = PARTS.iter().find(|part| part.name == name).unwrap();
            words(part, short).join(" ")
        };
        assert_eq!(
            of("seeds", false),
            "--workspace --release --test sim --test table -- --show-output thousand_seeds --include-ignored"
        );
        assert_eq!(of("seeds", true), "--workspace --test sim --test table -- --show-output acknowledged_");
        assert_eq!(of("fuzz", true), "--workspace --test fuzz -- --show-output");
        assert!(PARTS.iter().all(|part| part.tests.is_empty() == (part.name == "fuzz")));
    }
}
