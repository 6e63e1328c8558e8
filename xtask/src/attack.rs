//! `cargo xtask attack`: hostile clients, statements and damage against the real binary, and a table of it at the end.
//!
//! Invariant: an attack that fails stops none behind it, and the task fails if any did; one that says nothing of what it did
//! counts as failed. Must not know: what the scripts do.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::bench::{debug_binary, release_binary};
use crate::environment;
use crate::run::{Step, now};

#[derive(Args)]
pub(crate) struct AttackArgs {
    /// Attacks to run, by name; all of them if none is named
    attacks: Vec<String>,
    /// The amounts of an ordinary test run, on the debug build, which also plants mistakes that must be found
    #[arg(long)]
    short: bool,
    /// Say which attacks there are
    #[arg(long)]
    list: bool,
}

/// A script that is given the binary and an amount, and ends with `N passed, M failed`.
struct Attack {
    name: &'static str,
    what: &'static str,
    script: &'static str,
    short: &'static [&'static str],
    long: &'static [&'static str],
}

const ATTACKS: [Attack; 7] = [
    Attack {
        name: "clients",
        what: "half bodies, half heads, trickles, idle connections without files, pages of other names",
        script: "tests/attack/clients.py",
        short: &["short"],
        long: &["long"],
    },
    Attack {
        name: "folders",
        what: "flips, cuts and missing files in parts, log, checkpoints and anchor",
        script: "tests/attack/folders.py",
        short: &["40"],
        long: &["2000"],
    },
    Attack {
        name: "bodies",
        what: "mutated bodies of every input format",
        script: "tests/attack/bodies.py",
        short: &["600"],
        long: &["30000"],
    },
    Attack {
        name: "explosions",
        what: "statements that make much of little, under limits of memory",
        script: "tests/soak/explosions.py",
        short: &["short"],
        long: &["long"],
    },
    Attack {
        name: "crowd",
        what: "statements that make much of little among the ordinary ones of 64 clients",
        script: "tests/soak/crowd.py",
        short: &["short"],
        long: &["long"],
    },
    Attack {
        name: "texts",
        what: "chains, nests and names that double, as a user who may only read",
        script: "tests/attack/texts.py",
        short: &["short"],
        long: &["long"],
    },
    Attack {
        name: "turns",
        what: "statements that compute for long, and how soon SELECT 1 is answered beside them",
        script: "tests/attack/turns.py",
        short: &["short"],
        long: &["long"],
    },
];

/// What became of an attack.
struct Done {
    attack: &'static Attack,
    verdict: String,
    is_good: bool,
    time: Duration,
}

pub(crate) fn run(root: &Path, arguments: &AttackArgs) -> Result<()> {
    if arguments.list {
        ATTACKS.iter().for_each(|attack| crate::say(&format!("{:<11} {}", attack.name, attack.what)));
        return Ok(());
    }
    let is_there = |name: &str| ATTACKS.iter().any(|attack| attack.name == name);
    if let Some(unknown) = arguments.attacks.iter().find(|name| !is_there(name)) {
        let names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        bail!("there is no attack \"{unknown}\"; there are {}", names.join(", "));
    }
    let binary = if arguments.short { debug_binary(root)? } else { release_binary(root)? };
    let python = environment::python(root)?;
    let is_wanted = |attack: &&Attack| {
        arguments.attacks.is_empty() || arguments.attacks.iter().any(|name| name == attack.name)
    };
    let mut done = Vec::new();
    for attack in ATTACKS.iter().filter(is_wanted) {
        let started = now();
        let amount = if arguments.short { attack.short } else { attack.long };
        let binary = binary.to_string_lossy();
        let words = [&[attack.script, &*binary], amount].concat();
        let step = Step::new(&python, &words, root).env("PYTHONDONTWRITEBYTECODE", "1");
        let (output, is_success) = step.env("PATH", environment::path_with(&python)).tee_to_its_end()?;
        let verdict = verdict_of(&output);
        let is_good = is_success && verdict.ends_with(" passed, 0 failed");
        done.push(Done { attack, verdict, is_good, time: started.elapsed() });
    }
    crate::say("");
    table(&done).iter().for_each(|line| crate::say(line));
    let bad = done.iter().filter(|one| !one.is_good).count();
    ensure!(bad == 0, "{bad} of {} attacks succeeded or did not run", done.len());
    Ok(())
}

/// The last line that counts what passed.
fn verdict_of(output: &str) -> String {
    let counts = |line: &&str| line.contains(" passed, ") && line.ends_with(" failed");
    output.lines().rev().find(counts).unwrap_or("it does not say how it went").to_owned()
}

/// One line an attack.
fn table(done: &[Done]) -> Vec<String> {
    let line = |one: &Done| {
        let held = if one.is_good { "held" } else { "FAILED" };
        let seconds = one.time.as_secs_f64();
        format!("{:<11} {held:<6} {seconds:>9.1}  {:<28}  {}", one.attack.name, one.verdict, one.attack.what)
    };
    let head = format!("{:<11} {:<6} {:>9}  {:<28}  {}", "attack", "", "seconds", "parts", "what");
    std::iter::once(head).chain(done.iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attack_is_a_line_and_says_whether_it_was_held_off() {
        let output = "stalled: Half bodies.\n  WRONG: x passed, y\n4 passed, 1 failed\n";
        let verdict = verdict_of(output);
        assert_eq!(verdict, "4 passed, 1 failed");
        let time = Duration::from_millis(1500);
        let lines = table(&[Done { attack: &ATTACKS[0], verdict, is_good: false, time }]);
        assert!(lines[1].starts_with("clients     FAILED       1.5  4 passed, 1 failed "), "{}", lines[1]);
        assert_eq!(lines[0].find("what"), lines[1].find("half bodies"));
        assert_eq!(verdict_of("nothing"), "it does not say how it went");
    }

    #[test]
    fn every_script_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for attack in &ATTACKS {
            assert!(root.join(attack.script).exists(), "{}", attack.script);
        }
    }
}
