//! A fuzzer for parsers, small and repeatable: mutations of a corpus, guided by what the parser answers.
//!
//! An input whose answer is new joins the corpus, so that mutations go deeper than the seeds. The same seed and number
//! of runs give the same inputs. A panic, an input that takes longer than [`SECONDS_MAX`] twice, or a process above
//! [`PEAK_BYTES_MAX`] fails with the input in hexadecimal. `GRISTMILL_FUZZ_RUNS` sets the number of runs.
//! Must not know: what is parsed.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Of an ordinary test run.
const RUNS: u64 = 5_000;
const SECONDS_MAX: u64 = 5;
const PEAK_BYTES_MAX: u64 = 1 << 30;
/// Inputs grow by copying pieces of themselves, up to this.
const INPUT_BYTES_MAX: usize = 1 << 14;
/// Inputs kept because their answer was new.
const CORPUS_MAX: usize = 2_000;

/// Numbers that look random and repeat.
#[derive(Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        model::mix64::next(&mut self.0)
    }

    /// Below `bound`; 0 when that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }
}

/// Runs `target` on mutations of `corpus`. `target` answers with what it made of the input, in words without numbers of
/// rows or bytes: an answer not seen before keeps its input.
pub(crate) fn fuzz(
    name: &str,
    corpus: &[&[u8]],
    tokens: &[&[u8]],
    mut target: impl FnMut(&[u8], &mut Dice) -> String,
) {
    let runs = std::env::var("GRISTMILL_FUZZ_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let mut dice = Dice::new(0x6772_6973);
    let mut kept: Vec<Vec<u8>> = corpus.iter().map(|seed| seed.to_vec()).collect();
    let mut answers = HashSet::new();
    for run in 0..runs {
        let input = if run < kept.len() as u64 && run < corpus.len() as u64 {
            kept[usize::try_from(run).unwrap_or(0)].clone()
        } else {
            mutated(&kept, tokens, &mut dice)
        };
        let mut again = dice.clone();
        let (answer, mut seconds) = timed(|| target(&input, &mut dice));
        let Ok(answer) = answer else { panic!("{name}, run {run}: panic on {}", hexadecimal(&input)) };
        if seconds >= SECONDS_MAX {
            // The machine may have been busy or asleep: what is slow is slow twice.
            seconds = timed(|| target(&input, &mut again)).1;
        }
        assert!(seconds < SECONDS_MAX, "{name}, run {run}: {seconds} s for {}", hexadecimal(&input));
        if answers.insert(without_numbers(&answer)) && kept.len() < CORPUS_MAX {
            kept.push(input);
        }
        if run % 1000 == 0 {
            assert!(peak_bytes() < PEAK_BYTES_MAX, "{name}, run {run}: peak memory {}", peak_bytes());
        }
    }
    assert!(answers.len() > 1, "{name}: every input was answered alike, so nothing was tried");
    assert!(peak_bytes() < PEAK_BYTES_MAX, "{name}: peak memory {}", peak_bytes());
}

/// What it answers, and the seconds until then.
#[expect(clippy::disallowed_methods, reason = "a hang is measured on the real clock")]
fn timed(ask: impl FnOnce() -> String) -> (std::thread::Result<String>, u64) {
    let started = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(ask));
    (answer, started.elapsed().as_secs())
}

fn mutated(kept: &[Vec<u8>], tokens: &[&[u8]], dice: &mut Dice) -> Vec<u8> {
    let mut input = kept[dice.below(kept.len())].clone();
    for _ in 0..=dice.below(6) {
        let at = dice.below(input.len() + 1);
        let until = (at + dice.below(24)).min(input.len());
        match dice.below(9) {
            0 => input.truncate(at),
            1 if at < input.len() => input[at] ^= 1 << dice.below(8),
            2 if at < input.len() => input[at] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'\n', b'\\'][dice.below(8)],
            3 => drop(input.drain(at..until)),
            4 => {
                let piece = input[at..until].repeat(1 + dice.below(40));
                insert(&mut input, at, &piece);
            }
            5 => {
                let other = &kept[dice.below(kept.len())];
                let from = dice.below(other.len() + 1);
                insert(&mut input, at, &other[from..(from + dice.below(64)).min(other.len())]);
            }
            6 => {
                let number = dice.next() >> dice.below(64);
                let bytes = 1 << dice.below(4);
                insert(&mut input, at, &number.to_le_bytes()[..bytes]);
            }
            7 => {
                let run = vec![input.get(at).copied().unwrap_or(b'['); dice.below(3000)];
                insert(&mut input, at, &run);
            }
            _ if !tokens.is_empty() => insert(&mut input, at, tokens[dice.below(tokens.len())]),
            _ => {}
        }
    }
    input
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    if input.len() + piece.len() <= INPUT_BYTES_MAX {
        input.splice(at..at, piece.iter().copied());
    }
}

fn without_numbers(answer: &str) -> String {
    answer.chars().filter(|letter| !letter.is_ascii_digit()).take(80).collect()
}

fn hexadecimal(input: &[u8]) -> String {
    input.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The most memory this process had, from the operating system; 0 where it does not tell.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes =
        line.and_then(|line| line.split_whitespace().nth(1)).and_then(|number| number.parse().ok());
    kilobytes.unwrap_or(0_u64) << 10
}
