//! The catalog over a log that others append to: conflicts are followed, lost answers are found out, states stay equal.
//!
//! The log is a stand-in for one in an object store, and worse than any: it loses answers, with the record there or not,
//! lets rivals in first, and holds whoever appends to the words of the contract.

use std::io;

use bytes::Bytes;
use commitlog::record::frame_bytes;
use commitlog::{AppendError, AppendTimes, Appended};
use model::Label;

use super::*;
use crate::op_format::encode_transaction;

/// Longest record of the log.
const LIMIT: u64 = 64 << 10;

/// The one log behind all its writers.
struct Store {
    records: Vec<ReplayedRecord>,
    dice: Dice,
    /// One in so many answers gets lost; 0 for none.
    loses_one_in: u64,
    /// The next answer gets lost, and the record is there or not.
    lost_there: Option<bool>,
    /// So many records of somebody else come before what is appended next.
    rivals: u64,
    /// What its writers are told.
    others_append: bool,
    conflicts: u64,
}

impl Store {
    fn next_seq(&self) -> u64 {
        u64_of(self.records.len()) + 1
    }

    fn put(&mut self, transactions: Vec<Bytes>) {
        let seq = self.next_seq();
        self.records.push(ReplayedRecord { seq, epoch: 0, commit_time_ms: 0, uuid: [0; 16], transactions });
    }

    /// Whether the answer to a record gets lost, and then whether the record is there.
    fn loses(&mut self) -> Option<bool> {
        let there = self.dice.below(2) == 0;
        let by_dice = self.loses_one_in > 0 && self.dice.below(self.loses_one_in) == 0;
        self.lost_there.take().or(by_dice.then_some(there))
    }
}

type Shared = Arc<Mutex<Store>>;

fn store(seed: u64, loses_one_in: u64) -> Shared {
    Arc::new(Mutex::new(Store {
        records: Vec::new(),
        dice: Dice(seed),
        loses_one_in,
        lost_there: None,
        rivals: 0,
        others_append: true,
        conflicts: 0,
    }))
}

/// One writer's end.
struct StrictLog {
    store: Shared,
    next_seq: u64,
    /// Appended under `next_seq`, and nobody knows what became of it.
    open: Option<Vec<Bytes>>,
    needed_from: u64,
}

impl CommitLog for StrictLog {
    fn next_seq(&self) -> u64 {
        self.next_seq
    }

    fn record_bytes_limit(&self) -> u64 {
        LIMIT
    }

    fn others_append(&self) -> bool {
        self.store.lock().others_append
    }

    fn append(&mut self, transactions: &[Bytes]) -> Result<Appended, AppendError> {
        let (bytes, limit) = (frame_bytes(transactions), LIMIT);
        if transactions.is_empty() {
            return Err(AppendError::Refused(AppendRefused::Empty));
        }
        if bytes > limit {
            return Err(AppendError::Refused(AppendRefused::TooLarge { bytes, limit }));
        }
        let shared = Arc::clone(&self.store);
        let mut locked = shared.lock();
        let store = &mut *locked;
        if let Some(lost) = self.open.take()
            && store.next_seq() == self.next_seq
        {
            store.put(lost);
        } else if store.rivals > 0 {
            store.rivals -= 1;
            store.put(rival());
        }
        if store.next_seq() > self.next_seq {
            store.conflicts += 1;
            let known = usize::try_from(self.next_seq - 1).unwrap();
            self.next_seq = store.next_seq();
            return Ok(Appended::Conflict(store.records[known..].to_vec()));
        }
        let (seq, loses) = (self.next_seq, store.loses());
        if loses != Some(false) {
            store.put(transactions.to_vec());
        }
        if loses.is_some() {
            self.open = Some(transactions.to_vec());
            return Ok(Appended::Unresolved { seq, source: ErrorKind::TimedOut.into() });
        }
        self.next_seq += 1;
        Ok(Appended::Committed { seq, times: AppendTimes::default() })
    }

    fn poisoned(&self) -> Option<&str> {
        None
    }

    fn pin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn pin_checkpoint(&mut self, seq: u64, needed_from: u64) -> io::Result<()> {
        assert!(seq < self.next_seq && needed_from <= seq + 1, "checkpoint {seq} needs {needed_from}");
        self.needed_from = needed_from;
        Ok(())
    }

    fn hold_until(&mut self, _until_ms: u64) -> io::Result<()> {
        Ok(())
    }

    fn drop_before(&mut self, seq: u64) -> io::Result<()> {
        assert!(
            seq <= self.needed_from,
            "records before {seq} go, those from {} are needed",
            self.needed_from
        );
        Ok(())
    }
}

fn rival() -> Vec<Bytes> {
    let rows = vec![inline_rows(table(), 1)];
    vec![encode_transaction(&Transaction::new(TxnId::from_bytes([8; 16]), Seq(1), rows), 0)]
}

fn open_over(host: &Host, store: &Shared) -> Catalog {
    let opened =
        Catalog::open_on(host, &root(), CheckpointHome::folder(host, &root()), small(), |after, deliver| {
            let records = store.lock().records.clone();
            for record in records.iter().filter(|record| record.seq > after) {
                deliver(record.clone())?;
            }
            let next_seq = u64_of(records.len()) + 1;
            let log = StrictLog { store: Arc::clone(store), next_seq, open: None, needed_from: 1 };
            Ok(OpenedLog { log: Box::new(log), findings: Vec::new(), checkpoint_seq: 0, held_until_ms: 0 })
        });
    opened.unwrap()
}

/// What anybody makes of the log up to a seq.
fn replayed(store: &Shared, up_to: Seq) -> State {
    let records = store.lock().records.clone();
    let mut state = State::default();
    for record in records.iter().filter(|record| record.seq <= up_to.0) {
        replay_record(&mut state, record).unwrap();
    }
    state
}

fn rows_of(catalog: &Catalog) -> u64 {
    catalog.snapshot().table_by_id(table()).unwrap().inline_rows()
}

fn labelled() -> Transaction {
    let (database, label) = (default_database_id(), Label::new("l").unwrap());
    let ops = vec![Op::Label { database, label, fingerprint: 1, rows: 1 }, inline_rows(table(), 1)];
    Transaction::new(TxnId::from_bytes([3; 16]), Seq(1), ops)
}

#[test]
fn who_comes_second_follows_and_decides_again() {
    let store = store(1, 0);
    let (host, _world) = SimHost::new(1);
    let (other_host, _other_world) = SimHost::new(2);
    let (first, second) = (open_over(&host, &store), open_over(&other_host, &store));
    create(&first);
    let mut waiting = pin!(second.watch(Seq::ZERO));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
    let same_name = vec![Op::CreateTable(table_def(TableId::from_bytes([2; 16]), "t"))];
    let refused = second.commit(Transaction::new(second.transaction_id(), Seq::ZERO, same_name)).unwrap();
    assert!(matches!(refused, CommitOutcome::Refused(RefusedWhy::TableExists(_))), "{refused:?}");
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(Seq(1)));
    assert_eq!((store.lock().records.len(), state_of(&second)), (1, state_of(&first)));
    assert_eq!(commit(&second, vec![inline_rows(table(), 1)]), Seq(2));
    assert_eq!(commit(&first, vec![inline_rows(table(), 2)]), Seq(3));
    assert_eq!((rows_of(&first), rows_of(&second)), (3, 1));
}

#[test]
fn a_lost_answer_is_unknown_and_the_next_commit_finds_out() {
    for there in [true, false] {
        let store = store(1, 0);
        let (host, _world) = SimHost::new(1);
        let catalog = open_over(&host, &store);
        create(&catalog);
        store.lock().lost_there = Some(there);
        let unknown = catalog.commit(labelled()).unwrap();
        assert!(matches!(unknown, CommitOutcome::Unknown(_)), "{unknown:?}");
        assert!(!catalog.is_poisoned());
        assert_eq!(catalog.seq(), Seq(1), "what may be lost is not shown");
        let again = catalog.commit(labelled()).unwrap();
        let CommitOutcome::Refused(RefusedWhy::LabelExists { same_statement, seq, .. }) = again else {
            panic!("{again:?}");
        };
        assert_eq!((same_statement, seq, rows_of(&catalog)), (true, 2, 1));
        assert_eq!(commit(&catalog, vec![inline_rows(table(), 1)]), Seq(3));
    }
}

#[test]
fn a_lost_record_whose_seq_another_took_never_was() {
    let store = store(1, 0);
    let (host, _world) = SimHost::new(1);
    let (other_host, _other_world) = SimHost::new(2);
    let first = open_over(&host, &store);
    create(&first);
    let second = open_over(&other_host, &store);
    store.lock().lost_there = Some(false);
    let unknown = first.commit(labelled()).unwrap();
    assert!(matches!(unknown, CommitOutcome::Unknown(_)), "{unknown:?}");
    assert_eq!(commit(&second, vec![inline_rows(table(), 5)]), Seq(2));
    assert_eq!(first.commit(labelled()).unwrap(), CommitOutcome::Committed(Seq(3)));
    assert_eq!(rows_of(&first), 6);
}

#[test]
fn who_loses_too_often_is_told_and_the_database_goes_on() {
    let store = store(1, 0);
    let (host, _world) = SimHost::new(1);
    let catalog = open_over(&host, &store);
    create(&catalog);
    store.lock().rivals = 3;
    assert_eq!(commit(&catalog, vec![inline_rows(table(), 1)]), Seq(5));
    store.lock().rivals = 1000;
    let error = catalog.commit(labelled()).unwrap_err();
    assert!(matches!(error, CatalogError::Outrun(512)), "{error}");
    store.lock().rivals = 0;
    assert_eq!(catalog.commit(labelled()).unwrap(), CommitOutcome::Committed(Seq(5 + 512 + 1)));
    assert_eq!(state_of(&catalog), replayed(&store, catalog.seq()));
}

#[test]
fn a_conflict_in_a_log_of_one_writer_stops_commits() {
    let store = store(1, 0);
    store.lock().others_append = false;
    let (host, _world) = SimHost::new(1);
    let catalog = open_over(&host, &store);
    create(&catalog);
    store.lock().rivals = 1;
    for _ in 0..2 {
        let error = catalog.commit(labelled()).unwrap_err();
        assert!(matches!(error, CatalogError::Poisoned(_)), "{error}");
        assert!(catalog.is_poisoned());
    }
}

#[test]
fn a_record_too_long_for_the_log_is_refused_while_another_is_in_doubt() {
    let store = store(1, 0);
    let (host, _world) = SimHost::new(1);
    let catalog = open_over(&host, &store);
    create(&catalog);
    store.lock().lost_there = Some(true);
    let unknown = catalog.commit(labelled()).unwrap();
    assert!(matches!(unknown, CommitOutcome::Unknown(_)), "{unknown:?}");
    let bytes = Bytes::from(vec![0; 100 << 10]);
    let large = vec![Op::InlineRows { table: table(), schema_version: 1, rows: 1, bytes }];
    let error = catalog.commit(Transaction::new(catalog.transaction_id(), Seq(1), large)).unwrap_err();
    assert!(matches!(error, CatalogError::NotLogged(AppendRefused::TooLarge { .. })), "{error}");
    assert_eq!(commit(&catalog, vec![inline_rows(table(), 1)]), Seq(3));
    assert_eq!(rows_of(&catalog), 2);
}

#[test]
fn all_writers_of_a_log_have_the_states_it_gives() {
    let (mut conflicts, mut unknown, mut refused) = (0, 0, 0);
    for seed in 0..40 {
        let mut dice = Dice(seed * 7919 + 1);
        let store = store(seed, 5);
        let machines: Vec<_> = (0..3).map(|n| SimHost::new(seed * 3 + n)).collect();
        let mut catalogs: Vec<Catalog> = machines.iter().map(|(host, _)| open_over(host, &store)).collect();
        for _ in 0..60 {
            let which = usize::try_from(dice.below(3)).unwrap();
            if dice.below(12) == 0 {
                catalogs[which] = open_over(&machines[which].0, &store);
            }
            let catalog = &catalogs[which];
            if dice.below(12) == 0 {
                catalog.checkpoint().unwrap();
            }
            let transaction = next_transaction(&mut dice, catalog.snapshot().state());
            match catalog.commit(transaction).unwrap() {
                CommitOutcome::Committed(seq) => assert_eq!(seq, catalog.seq()),
                CommitOutcome::Refused(_) => refused += 1,
                CommitOutcome::Unknown(_) => unknown += 1,
            }
            let state = state_of(catalog);
            check_state(&state);
            assert!(state == replayed(&store, state.seq()), "seed {seed}, seq {}", state.seq());
        }
        conflicts += store.lock().conflicts;
    }
    let enough = conflicts > 100 && unknown > 100 && refused > 0;
    assert!(enough, "{conflicts} conflicts, {unknown} unknown, {refused} refused");
}
