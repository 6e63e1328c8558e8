//! One table on a simulated machine that stops, fails and fills up: writers, merges, flushes, collections and
//! checkpoints interleaved by a seed; whatever was acknowledged is there once, whatever failed is not, and nothing
//! is left over.
//!
//! `docs/design/simulation.md` says what is simulated and which planted mistakes the checker has been tried on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::clone_on_ref_ptr,
    reason = "tests fail by panicking, and their numbers are small"
)]

#[path = "../tables/mod.rs"]
mod tables;

mod statement;
mod tally;
mod checker;
mod machine;
mod writer;
mod jobs;
mod together;
mod housekeeping;
mod world;

#[cfg(debug_assertions)]
mod bugs;

use machine::POINTS;
use tally::Tally;
use world::scenario;

/// How many seeds a test tries; a soak of one's own sets another number, and `GRISTMILL_FIRST_SEED` where to begin.
fn seeds(amount: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("GRISTMILL_FIRST_SEED").unwrap_or(0);
    first..first + number("GRISTMILL_SEEDS").unwrap_or(amount)
}

/// Runs the seeds, every eighth twice; panics with the seeds that fail.
fn run(seeds: std::ops::Range<u64>) -> Tally {
    let (mut total, mut failed) = (Tally::default(), Vec::new());
    for seed in seeds {
        match scenario(seed, None) {
            Ok(run) => {
                total.add(&run.tally);
                if seed % 8 == 0 {
                    let again = scenario(seed, None).map(|again| again.trace_hash);
                    assert_eq!(again, Ok(run.trace_hash), "seed {seed} is not the same run twice");
                }
            }
            Err(violation) => failed.push(format!("seed {seed}: {violation}")),
        }
    }
    assert!(failed.is_empty(), "{} seeds failed:\n{}", failed.len(), failed.join("\n"));
    total
}

#[test]
fn acknowledged_statements_survive_everything_once_and_failed_ones_leave_nothing() {
    let seeds = seeds(200);
    let amount = seeds.end - seeds.start;
    let total = run(seeds);
    println!("{total:?}");
    // Points exist in debug builds only; without them few statements end unknown, and no job is held.
    let (doubts, held) = if cfg!(debug_assertions) { (amount / 10, amount) } else { (amount / 100, 0) };
    let enough = [
        ("lives", total.lives, 4 * amount),
        ("stops at a disk call", total.stops_at_calls, amount / 2),
        ("recoveries cut short", total.recoveries_stopped, amount / 10),
        ("statements acknowledged", total.acknowledged, 10 * amount),
        ("unknown statements that were there", total.unknown_kept, doubts),
        ("unknown statements that were not", total.unknown_gone, doubts),
        ("repetitions recognised by their label", total.recognised, doubts),
        ("merges", total.merges, amount),
        ("merges that lost a race", total.merges_lost, amount / 20),
        ("truncations", total.truncations, amount / 2),
        ("several commits at once", total.groups, amount),
        ("flushes", total.flushes, amount),
        ("flushes that lost a race", total.flushes_lost, held / 50),
        ("jobs held in the middle", total.held, held),
        ("parts collected", total.collected, amount),
        ("missing segments that were noticed", total.thefts, amount / 4),
        ("checkpoints", total.checkpoints, amount),
        ("snapshots read again", total.read_again, amount),
    ];
    for (what, seen, wanted) in enough {
        assert!(seen >= wanted, "{what}: {seen} of at least {wanted}");
    }
    if cfg!(debug_assertions) {
        for point in POINTS {
            assert!(total.stops_at_points.contains_key(point), "no run stopped at {point}");
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    let trace = |seed| scenario(seed, None).map(|run| run.trace_hash);
    assert_ne!(trace(1), trace(2));
}

#[test]
#[ignore = "ten thousand seeds, for soak runs"]
fn ten_thousand_seeds() {
    println!("{:?}", run(seeds(10_000)));
}
