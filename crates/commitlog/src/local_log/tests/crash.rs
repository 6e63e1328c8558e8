//! Seeded lives of a log: append, checkpoint, fail, crash anywhere, open again.
//!
//! The model knows what was acknowledged. After every successful open the log must have replayed all of it,
//! in order and unchanged, and at most one record more: the one in doubt.

use bytes::Bytes;
use host::{Host, SimHost, SimWorld, random};

use super::{Appended, CommitLog, LocalLog, LogConfig, LogError, ReplayedRecord, folder};
use crate::error::{AppendError, LogFinding};
use crate::segment;

const CONFIG: LogConfig = LogConfig { segment_bytes_max: 4096, record_bytes_max: 3000, stream: 0 };

#[derive(Default)]
struct Model {
    /// Transactions of record `i + 1`.
    acknowledged: Vec<Vec<Bytes>>,
    /// Appended without an answer.
    in_doubt: Option<Vec<Bytes>>,
    /// Covered by a checkpoint up to this seq.
    checkpoint: u64,
    tally: Tally,
}

/// What a test saw happen, so that it cannot pass by nothing happening.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    opened: u64,
    doubt_kept: u64,
    doubt_gone: u64,
}

impl Model {
    /// Opens the log and holds what it replays against the model.
    fn open(&mut self, host: &Host) -> Result<LocalLog, LogError> {
        let mut seen: Vec<ReplayedRecord> = Vec::new();
        let mut deliver = |record| {
            seen.push(record);
            Ok(())
        };
        let log = LocalLog::open(host, &folder(), self.checkpoint, &mut deliver, CONFIG)?;
        if let Some(in_doubt) = self.in_doubt.take() {
            let kept = log.next_seq() > self.next_seq();
            self.tally.doubt_kept += u64::from(kept);
            self.tally.doubt_gone += u64::from(!kept);
            self.acknowledged.extend(kept.then_some(in_doubt));
        }
        assert_eq!(log.next_seq(), self.next_seq(), "acknowledged records are there, and at most one more");
        let from = usize::try_from(self.checkpoint).expect("small");
        assert_eq!(seen.len(), self.acknowledged.len() - from);
        for (i, record) in seen.iter().enumerate() {
            assert_eq!(record.transactions, self.acknowledged[from + i], "record {}", record.seq);
            assert_eq!(record.seq, self.checkpoint + 1 + u64::try_from(i).expect("small"));
            assert!(record.epoch < log.epoch());
        }
        self.tally.opened += 1;
        Ok(log)
    }

    fn next_seq(&self) -> u64 {
        u64::try_from(self.acknowledged.len()).expect("small") + 1
    }

    /// One life: from an open to the first failure or crash.
    fn live(&mut self, host: &Host) {
        let Ok(mut log) = self.open(host) else { return };
        for _ in 0..40 {
            let transactions = some_transactions(host);
            match log.append(&transactions) {
                Ok(Appended::Committed { seq, .. }) => {
                    assert_eq!(seq, self.next_seq());
                    self.acknowledged.push(transactions);
                }
                Ok(Appended::Unresolved { seq, .. }) => {
                    assert_eq!(seq, self.next_seq());
                    self.in_doubt = Some(transactions);
                    return;
                }
                Ok(Appended::Conflict(records)) => panic!("one writer, and yet {records:?}"),
                Err(AppendError::Refused(_)) => {}
                Err(AppendError::Poisoned(_)) => return,
            }
            if random::below(&*host.random, 12) == 0 {
                self.checkpoint = self.next_seq() - 1;
                if log.drop_before(self.checkpoint + 1).is_err() {
                    return;
                }
            }
        }
    }
}

fn some_transactions(host: &Host) -> Vec<Bytes> {
    let below = |n| random::below(&*host.random, n);
    let transaction = |_| {
        let mut bytes = vec![0; usize::try_from(below(900)).expect("small")];
        host.random.fill(&mut bytes);
        bytes.into()
    };
    (0..=below(3)).map(transaction).collect()
}

fn next_life(world: &SimWorld, host: &Host) -> Host {
    let only_program = !world.crashed() && random::below(&*host.random, 2) == 0;
    if only_program { world.restart_program() } else { world.reopen() }
}

/// Takes the newest segment away: either no acknowledged record was in it, or the log does not open until it is back.
fn steal(model: &Model, host: &Host) {
    let Some(path) = segment::list(&*host.disk, &folder().wal)
        .expect("listed")
        .last()
        .map(|(first, _)| segment::path_of(&folder().wal, *first))
    else {
        return;
    };
    let bytes = host::read_all(&*host.disk, &path).expect("read");
    host.disk.remove_file(&path).expect("removed");
    match LocalLog::open(host, &folder(), model.checkpoint, &mut |_| Ok(()), CONFIG) {
        Ok(log) => assert!(log.next_seq() >= model.next_seq(), "{} is missed by nobody", path.display()),
        Err(error) => {
            assert!(matches!(error, LogError::Lacking { .. } | LogError::Corruption { .. }), "{error}")
        }
    }
    host::replace_file(&*host.disk, &path, &bytes).expect("put back");
}

/// Eight lives; returns the trace hash and what happened.
fn run(seed: u64) -> (u64, Tally) {
    run_with(seed, None)
}

fn run_with(seed: u64, mistake: Option<&'static str>) -> (u64, Tally) {
    let (mut host, world) = SimHost::new(seed);
    #[cfg(debug_assertions)]
    mistake.into_iter().for_each(|mistake| world.plant(mistake));
    let mut model = Model::default();
    for _ in 0..8 {
        let ops = 1 + random::below(&*host.random, 90);
        match random::below(&*host.random, 4) {
            0 => world.fail_after(ops),
            _ => world.crash_after(ops),
        }
        model.live(&host);
        host = next_life(&world, &host);
        if random::below(&*host.random, 3) == 0 {
            steal(&model, &host);
        }
    }
    let log = model.open(&host).expect("an undisturbed machine opens its log");
    assert_eq!(log.next_seq(), model.next_seq());
    assert!(!log.findings().iter().any(LogFinding::is_damage), "{:?}", log.findings());
    (world.trace_hash(), model.tally)
}

/// How many seeds a test tries; a soak sets more.
fn seeds() -> u64 {
    std::env::var("GRISTMILL_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

#[test]
fn no_crash_loses_an_acknowledged_record_or_shows_half_of_another() {
    let mut total = Tally::default();
    for seed in 0..seeds() {
        let tally = run(seed).1;
        total.opened += tally.opened;
        total.doubt_kept += tally.doubt_kept;
        total.doubt_gone += tally.doubt_gone;
    }
    let enough =
        total.opened > seeds() * 4 && total.doubt_kept > seeds() / 4 && total.doubt_gone > seeds() / 4;
    assert!(enough, "most lives get past the open and doubts end both ways: {total:?}");
}

#[cfg(debug_assertions)]
#[test]
fn planted_mistakes_about_the_anchor_are_noticed() {
    for mistake in ["commitlog.anchor_before_segment", "commitlog.segment_without_anchor"] {
        let noticed = |seed: &u64| std::panic::catch_unwind(|| run_with(*seed, Some(mistake))).is_err();
        let seed = (0..200).find(noticed);
        println!("{mistake}: seed {seed:?}");
        assert!(seed.is_some(), "{mistake} was not noticed");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    for seed in 0..10 {
        assert_eq!(run(seed), run(seed));
    }
    assert_ne!(run(1).0, run(2).0);
}
