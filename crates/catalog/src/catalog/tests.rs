//! The catalog over a simulated machine: what is acknowledged survives, snapshots stand still, damage is met.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use host::SimHost;
use model::{ColumnType, PartDescriptor, TableDef};

use super::*;
use crate::admit::admit;
use crate::checkpoint;
use crate::generated::{Dice, check_state, column, inline_rows, next_transaction, part, sealed, table_def};
use crate::op_format::stored_time;
use crate::state::default_database_id;

mod elsewhere;
mod others;
mod sharing;

fn root() -> PathBuf {
    PathBuf::from("/data")
}

fn small() -> CatalogConfig {
    let log = LogConfig { segment_bytes_max: 1 << 20, ..LogConfig::default() };
    CatalogConfig { log, checkpoint_log_bytes: 4 << 10 }
}

fn open(host: &Host) -> Catalog {
    Catalog::open(host, &root(), small()).unwrap()
}

fn state_of(catalog: &Catalog) -> State {
    catalog.snapshot().state().clone()
}

fn table() -> TableId {
    TableId::from_bytes([1; 16])
}

#[track_caller]
fn commit(catalog: &Catalog, ops: Vec<Op>) -> Seq {
    let transaction = Transaction::new(catalog.transaction_id(), catalog.seq(), ops);
    match catalog.commit(transaction).unwrap() {
        CommitOutcome::Committed(seq) => seq,
        other => panic!("{other:?}"),
    }
}

fn create(catalog: &Catalog) -> Seq {
    commit(catalog, vec![Op::CreateTable(table_def(table(), "t"))])
}

fn add_part(id: u8) -> Op {
    sealed(part(PartId::from_bytes([id; 16]), table(), 0))
}

#[test]
fn an_empty_root_has_the_built_in_databases_and_no_record() {
    let (host, _world) = SimHost::new(1);
    let catalog = open(&host);
    let snapshot = catalog.snapshot();
    let names: Vec<String> = snapshot.databases().map(|database| database.name.to_string()).collect();
    assert_eq!((names, snapshot.seq()), (vec!["default".to_owned(), "system".to_owned()], Seq::ZERO));
    assert_eq!(snapshot.database("default").unwrap().id, default_database_id());
    assert_eq!(commit(&catalog, Vec::new()), Seq::ZERO);
    assert_eq!(catalog.checkpoint().unwrap(), Seq::ZERO);
    let log = host.disk.list(&root().join("stream/0/wal")).unwrap();
    assert!(log.iter().all(|entry| !entry.name.ends_with(".seg")), "{log:?}");
    assert!(!host.disk.exists(&checkpoint::dir_of(&root())).unwrap());
}

#[test]
fn a_snapshot_stands_still_and_holds_the_horizon() {
    let (host, _world) = SimHost::new(2);
    let catalog = open(&host);
    create(&catalog);
    let added = commit(&catalog, vec![add_part(1)]);
    let before = catalog.snapshot();
    let removed =
        commit(&catalog, vec![Op::RemovePart { table: table(), part: PartId::from_bytes([1; 16]) }]);
    let clone = before.clone();
    drop(before);
    assert_eq!((clone.seq(), catalog.horizon()), (added, added));
    assert_eq!(clone.table(default_database_id(), "t").unwrap().part_count(), 1);
    let after = catalog.snapshot().table_by_id(table()).unwrap();
    assert_eq!((after.part_count(), after.removed().count()), (0, 1));
    drop(clone);
    assert_eq!(catalog.horizon(), removed);
    let forgotten = catalog.forget_removed(table(), vec![PartId::from_bytes([1; 16])]).unwrap();
    assert_eq!(forgotten, CommitOutcome::Committed(removed.next()));
    assert_eq!(catalog.snapshot().table_by_id(table()).unwrap().removed().count(), 0);
}

#[test]
fn watchers_wake_at_the_next_commit() {
    let (host, _world) = SimHost::new(3);
    let catalog = open(&host);
    let mut waiting = pin!(catalog.watch(Seq::ZERO));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Pending);
    let seq = create(&catalog);
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(seq));
}

#[test]
fn a_refused_transaction_leaves_no_record() {
    let (host, _world) = SimHost::new(4);
    let catalog = open(&host);
    create(&catalog);
    let before = state_of(&catalog);
    let two = vec![inline_rows(table(), 3), Op::DropTable { table: TableId::from_bytes([7; 16]) }];
    let refused = catalog.commit(Transaction::new(catalog.transaction_id(), Seq(1), two)).unwrap();
    let missing = "07070707-0707-0707-0707-070707070707".to_owned();
    assert_eq!(refused, CommitOutcome::Refused(RefusedWhy::UnknownTable(missing)));
    assert_eq!(state_of(&catalog), before);
    drop(catalog);
    assert_eq!(state_of(&open(&host)), before);
}

#[test]
fn a_record_above_the_limit_is_refused_and_the_next_one_goes_on() {
    let (host, _world) = SimHost::new(5);
    let catalog = open(&host);
    create(&catalog);
    let bytes = bytes::Bytes::from(vec![0; 2 << 20]);
    let large = Op::InlineRows { table: table(), schema_version: 1, rows: 1, bytes };
    let error = catalog.commit(Transaction::new(catalog.transaction_id(), Seq(1), vec![large])).unwrap_err();
    assert!(matches!(error, CatalogError::NotLogged(AppendRefused::TooLarge { .. })), "{error}");
    assert_eq!(commit(&catalog, vec![inline_rows(table(), 1)]), Seq(2));
}

#[test]
fn a_failed_sync_is_unknown_and_stops_commits() {
    let (host, _world) = SimHost::new(6);
    let catalog = open(&host);
    create(&catalog);
    let before = state_of(&catalog);
    host.faults.arm("commitlog.record.sync", 0, host::FaultAction::Fail);
    let wish = || Transaction::new(TxnId::from_bytes([3; 16]), Seq(1), vec![inline_rows(table(), 1)]);
    assert!(matches!(catalog.commit(wish()), Ok(CommitOutcome::Unknown(_))));
    assert!(matches!(catalog.commit(wish()), Err(CatalogError::Poisoned(_))));
    assert_eq!(state_of(&catalog), before, "what may be lost is not shown");
}

/// Commits a new column and `count` one-row statements of the columns before.
fn fill(catalog: &Catalog, count: u32) {
    let current = catalog.snapshot().table_by_id(table()).unwrap();
    let mut def = TableDef::clone(&current.def);
    let id = def.next_column_id;
    def.columns.push(column(id, &format!("x{id}"), ColumnType::Date));
    (def.schema_version, def.next_column_id) = (def.schema_version + 1, id + 1);
    commit(catalog, vec![Op::AlterTable(def)]);
    for _ in 0..count {
        commit(catalog, vec![inline_rows(table(), 1)]);
    }
}

#[test]
fn checkpoints_come_when_due_and_the_older_ones_go() {
    let (host, _world) = SimHost::new(7);
    let catalog = open(&host);
    create(&catalog);
    assert_eq!(catalog.checkpoint_if_due().unwrap(), None);
    let mut written = Vec::new();
    for _ in 0..400 {
        commit(&catalog, vec![inline_rows(table(), 1)]);
        written.extend(catalog.checkpoint_if_due().unwrap());
    }
    assert!((5..=9).contains(&written.len()), "one per 4 KiB of log: {written:?}");
    let on_disk = checkpoint::list(&*host.disk, &checkpoint::dir_of(&root())).unwrap();
    assert_eq!(on_disk, written.iter().rev().take(2).copied().collect::<Vec<_>>());
    let before = state_of(&catalog);
    drop(catalog);
    assert_eq!(state_of(&open(&host)), before);
}

#[test]
fn log_below_the_previous_checkpoint_goes() {
    let (host, _world) = SimHost::new(8);
    let catalog = open(&host);
    create(&catalog);
    let rows = |fill: u8| Op::InlineRows {
        table: table(),
        schema_version: 1,
        rows: 1,
        bytes: bytes::Bytes::from(vec![fill; 200 << 10]),
    };
    for round in 0..3 {
        for _ in 0..8 {
            commit(&catalog, vec![rows(round)]);
        }
        catalog.checkpoint().unwrap();
    }
    let segments = host.disk.list(&root().join("stream/0/wal")).unwrap();
    let first = segments.iter().find(|entry| entry.name.ends_with(".seg")).unwrap();
    assert!(first.name.as_str() > "00000000000000000001.seg", "{segments:?}");
    let before = state_of(&catalog);
    drop(catalog);
    assert_eq!(state_of(&open(&host)), before);
}

fn damage(host: &Host, seq: Seq) {
    let path = checkpoint::path_of(&checkpoint::dir_of(&root()), seq);
    let mut file = host.disk.open_append(&path).unwrap();
    let middle = file.len().unwrap() / 2;
    file.write_at(middle, &[0xff; 64]).unwrap();
    file.write_at(40, &[0xee; 64]).unwrap();
    file.sync_data().unwrap();
}

#[test]
fn a_damaged_checkpoint_means_a_longer_replay() {
    let (host, _world) = SimHost::new(9);
    let catalog = open(&host);
    create(&catalog);
    fill(&catalog, 30);
    let first = catalog.checkpoint().unwrap();
    fill(&catalog, 10);
    let second = catalog.checkpoint().unwrap();
    fill(&catalog, 5);
    let before = state_of(&catalog);
    drop(catalog);
    damage(&host, second);
    let catalog = open(&host);
    assert_eq!(state_of(&catalog), before);
    let [finding @ Finding::Checkpoint { missed, taken, .. }] = catalog.findings() else { panic!() };
    assert!((*missed, *taken) == (second, Some(first)) && finding.is_damage());
    assert!(finding.to_string().contains("is damaged"), "{finding}");
    // The damaged file does not count as the previous one: the log must still reach back to a good one.
    fill(&catalog, 3);
    let third = catalog.checkpoint().unwrap();
    assert_eq!(checkpoint::list(&*host.disk, &checkpoint::dir_of(&root())).unwrap(), [third, first]);
    let before = state_of(&catalog);
    drop(catalog);
    damage(&host, third);
    assert_eq!(state_of(&open(&host)), before);
}

#[test]
fn no_good_checkpoint_and_a_log_that_does_not_reach_is_a_clear_error() {
    let (host, _world) = SimHost::new(10);
    let catalog = open(&host);
    create(&catalog);
    fill(&catalog, 4);
    let seq = catalog.checkpoint().unwrap();
    drop(catalog);
    damage(&host, seq);
    let wal = root().join("stream/0/wal");
    for entry in host.disk.list(&wal).unwrap() {
        if entry.name.ends_with(".seg") {
            host.disk.remove_file(&wal.join(entry.name)).unwrap();
        }
    }
    let error = Catalog::open(&host, &root(), small()).err().unwrap().to_string();
    let says = error.contains("00000000000000000001.seg is incomplete: the file is missing");
    assert!(says && error.contains("is damaged"), "{error}");
}

#[test]
fn a_missing_checkpoint_is_told_or_named() {
    let (host, _world) = SimHost::new(11);
    let catalog = open(&host);
    create(&catalog);
    fill(&catalog, 4);
    let first = catalog.checkpoint().unwrap();
    fill(&catalog, 4);
    let second = catalog.checkpoint().unwrap();
    let before = state_of(&catalog);
    assert!(catalog.findings().is_empty());
    drop(catalog);
    let path = |seq| checkpoint::path_of(&checkpoint::dir_of(&root()), seq);
    let bytes = host::read_all(&*host.disk, &path(second)).unwrap();
    host.disk.remove_file(&path(second)).unwrap();
    let catalog = open(&host);
    assert_eq!(state_of(&catalog), before);
    let [finding] = catalog.findings() else { panic!("{:?}", catalog.findings()) };
    assert!(finding.to_string().contains(&format!("{} is missing", path(second).display())), "{finding}");
    drop(catalog);
    host::replace_file(&*host.disk, &path(second), &bytes).unwrap();
    host.disk.remove_file(&path(first)).unwrap();
    let catalog = open(&host);
    assert!(state_of(&catalog) == before && catalog.findings().is_empty(), "the older one is a spare");
}

#[test]
fn what_was_committed_before_a_clean_end_is_missed() {
    let (host, world) = SimHost::new(13);
    let catalog = open(&host);
    create(&catalog);
    fill(&catalog, 4);
    catalog.pin().unwrap();
    let before = state_of(&catalog);
    drop(catalog);
    let segment = root().join("stream/0/wal/00000000000000000001.seg");
    let bytes = host::read_all(&*host.disk, &segment).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64;
    world.damage(&segment, last, 1).unwrap();
    let error = Catalog::open(&host, &root(), small()).err().unwrap().to_string();
    assert!(error.contains("it ends at record 5, and record 6 had been synced"), "{error}");
    world.damage(&segment, last, 1).unwrap();
    assert_eq!(state_of(&open(&host)), before);
}

#[test]
fn an_interrupted_checkpoint_leaves_nothing_after_the_next_open() {
    let (host, _world) = SimHost::new(12);
    let catalog = open(&host);
    create(&catalog);
    let seq = catalog.checkpoint().unwrap();
    drop(catalog);
    let dir = checkpoint::dir_of(&root());
    host.disk.create(&dir.join("00000000000000000009.parquet.tmp")).unwrap();
    let catalog = open(&host);
    let names: Vec<String> = host.disk.list(&dir).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!((names.len(), catalog.seq()), (1, seq), "{names:?}");
    assert_eq!(format!("{catalog:?}"), "Catalog { root: \"/data\", seq: Seq(1), .. }");
}

#[test]
fn two_catalogs_do_not_share_a_root() {
    let (host, _world) = SimHost::new(11);
    let first = open(&host);
    let second = Catalog::open(&host, &root(), small()).err().unwrap();
    assert!(matches!(second, CatalogError::Log(LogError::Locked { .. })), "{second}");
    drop(first);
    open(&host);
}

/// Runs a random history until the machine stops; the states after each acknowledged commit, and a last one that was
/// tried and not acknowledged.
fn run_until_crash(host: &Host, dice: &mut Dice) -> (Vec<State>, Option<State>) {
    let Ok(catalog) = Catalog::open(host, &root(), small()) else { return (Vec::new(), None) };
    let mut states = vec![state_of(&catalog)];
    for _ in 0..60 {
        let current = catalog.snapshot();
        let transaction = next_transaction(dice, current.state());
        let seq = current.seq().next();
        let at_ms = stored_time(&transaction, host.clock.now_ms());
        let tried = admit(current.state(), &transaction, Moment { seq, at_ms }).ok();
        match catalog.commit(transaction) {
            Ok(CommitOutcome::Committed(_)) => states.push(state_of(&catalog)),
            Ok(CommitOutcome::Refused(_)) => {}
            Ok(CommitOutcome::Unknown(_)) | Err(_) => return (states, tried),
        }
        if dice.below(6) == 0 && catalog.checkpoint().is_err() {
            return (states, None);
        }
    }
    (states, None)
}

/// Equal but for times, which the crashed process may have read from its clock a moment later.
fn same_but_for_times(left: &State, right: &State) -> bool {
    let parts = |state: &State| -> Vec<PartDescriptor> {
        state.all_tables().flat_map(|table| table.parts().map(|part| PartDescriptor::clone(part))).collect()
    };
    let inline = |state: &State| -> Vec<(u64, Seq)> {
        state.all_tables().flat_map(|table| table.inline().map(|row| (row.block, row.seq))).collect()
    };
    left.seq() == right.seq() && parts(left) == parts(right) && inline(left) == inline(right)
}

#[test]
fn acknowledged_transactions_survive_a_crash_at_any_moment() {
    let (mut crashes, mut unacknowledged_kept) = (0, 0);
    for seed in 0..150 {
        let mut dice = Dice(seed * 7919 + 1);
        let (mut host, world) = SimHost::new(seed);
        for _ in 0..3 {
            let ops = 1 + dice.below(250);
            if dice.below(4) == 0 {
                world.fail_after(ops)
            } else {
                world.crash_after(ops)
            };
            let (states, tried) = run_until_crash(&host, &mut dice);
            crashes += u64::from(world.crashed());
            host =
                if world.crashed() || dice.below(2) == 0 { world.reopen() } else { world.restart_program() };
            let catalog = open(&host);
            let found = state_of(&catalog);
            check_state(&found);
            let Some(last) = states.last() else { continue };
            if found == *last {
                continue;
            }
            let tried = tried.filter(|tried| same_but_for_times(&found, tried));
            assert!(tried.is_some(), "seed {seed}: found seq {}, acknowledged {}", found.seq(), last.seq());
            unacknowledged_kept += 1;
        }
    }
    assert!(crashes > 150 && unacknowledged_kept > 0, "{crashes} crashes, {unacknowledged_kept} kept");
}

#[test]
fn the_same_seed_leaves_the_same_trace() {
    let trace = |seed: u64| {
        let (host, world) = SimHost::new(seed);
        world.crash_after(300);
        run_until_crash(&host, &mut Dice(seed));
        world.trace_hash()
    };
    assert_eq!(trace(21), trace(21));
    assert_ne!(trace(21), trace(22));
}

#[test]
fn many_who_commit_at_once_share_records() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::system(1 << 30).unwrap();
    let catalog = Arc::new(Catalog::open(&host, dir.path(), CatalogConfig::default()).unwrap());
    create(&catalog);
    let runtimes = host::Runtimes::new(1, 1).unwrap();
    let thread = runtimes.spawn_thread("commit", catalog.committer()).unwrap();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8).map(|_| scope.spawn(|| write_fifty(&catalog))).collect();
        for writer in writers {
            writer.join().unwrap();
        }
    });
    let state = state_of(&catalog);
    assert_eq!(state.table_by_id(table()).unwrap().inline_rows(), 8 * 2 * 50);
    assert!(catalog.seq() <= Seq(1 + 8 * 2 * 50));
    let before = state_of(&catalog);
    drop(catalog);
    thread.blocking_recv().unwrap();
    let again = Catalog::open(&host, dir.path(), CatalogConfig::default()).unwrap();
    assert_eq!(state_of(&again), before);
}

/// Fifty rows by waiting for the thread and fifty by leading, each visible when answered.
fn write_fifty(catalog: &Catalog) {
    let rows = || catalog.snapshot().table_by_id(table()).unwrap().inline_rows();
    let wish = || Transaction::new(catalog.transaction_id(), catalog.seq(), vec![inline_rows(table(), 1)]);
    for _ in 0..50 {
        let before = rows();
        let report = futures::executor::block_on(catalog.submit(wish())).unwrap();
        let CommitOutcome::Committed(seq) = report.outcome else { panic!("{report:?}") };
        assert!(catalog.seq() >= seq && rows() > before && report.times.statements >= 1);
        commit(catalog, vec![inline_rows(table(), 1)]);
    }
}
