//! The machine stops in any disk call of inserts, merges and collections: nothing is lost, nothing doubled, and after
//! opening again no file is there that nobody names.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use catalog::Op;
use host::{Host, MemoryBudget, SimHost, SimWorld};
use mergetree::merge::{MergeLimits, MergeOutcome, choose_for};
use mergetree::{Table, collect};
use model::TableDef;
use parts::verify;

use crate::tables::{
    self, definition, files, handle, live, named_files, read_all, run, state, try_commit, write,
};

const ROWS: i64 = 40;
const STEPS: i64 = 24;

fn root() -> PathBuf {
    PathBuf::from("/data")
}

fn def() -> TableDef {
    definition(&["Int64", "String"], &[2])
}

fn rows(step: i64) -> RecordBatch {
    let numbers = step * ROWS..(step + 1) * ROWS;
    let texts =
        StringViewArray::from_iter_values(numbers.clone().map(|n| format!("text {}", n * 7919 % 101)));
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(numbers)), Arc::new(texts)];
    RecordBatch::try_new(def().arrow_schema(), columns).unwrap()
}

/// What the test knows of the table.
#[derive(Default)]
struct Known {
    created: bool,
    /// Steps whose insert was acknowledged.
    inserted: Vec<i64>,
    /// Those that were under way when the machine stopped.
    doubtful: Vec<i64>,
    next_step: i64,
    merges: usize,
    collected: u64,
}

/// Works until the machine stops or nothing is left to do.
fn work(host: &Host, known: &mut Known) -> Option<Table> {
    let catalog = Arc::new(tables::try_open_catalog(host, &root()).ok()?);
    if !known.created {
        // Perhaps the record was written before the machine stopped.
        if catalog.snapshot().table_by_id(def().id).is_none() {
            try_commit(&catalog, vec![Op::CreateTable(def())])?;
        }
        known.created = true;
    }
    let table = handle(host, &root(), catalog, def());
    collect::orphans_at_open(&table.catalog, &table.store, 0).ok()?;
    while known.next_step < STEPS {
        let step = known.next_step;
        known.next_step += 1;
        known.doubtful.push(step);
        let parts = write(&table, &rows(step)).ok()?;
        try_commit(&table.catalog, parts.into_iter().map(Op::AddPart).collect())?;
        known.doubtful.pop();
        known.inserted.push(step);
        if step % 2 == 1 {
            merge_once(&table, known)?;
        }
        if step % 5 == 4 {
            known.collected += collect::run(&table.catalog, &table.store, host, 0).ok()?.files;
        }
        if step % 9 == 8 {
            table.catalog.checkpoint().ok()?;
        }
    }
    Some(table)
}

fn merge_once(table: &Table, known: &mut Known) -> Option<()> {
    let limits = MergeLimits { parts_max: 5, base: 2.0, ..MergeLimits::default() };
    let plans = choose_for(&state(table), &Default::default(), &limits, table.host.clock.now_ms());
    let Some(plan) = plans.first() else { return Some(()) };
    match run(table, plan, &MemoryBudget::new(1 << 30)).ok()? {
        MergeOutcome::Committed { .. } => known.merges += 1,
        other => panic!("nobody else is there: {other:?}"),
    }
    Some(())
}

/// What opening must find.
fn check(table: &Table, known: &mut Known) {
    // The file of a removed part may be gone already, if the machine stopped before the log heard of it.
    assert!(files(table).is_subset(&named_files(table)), "every file has a name");
    for part in live(table) {
        verify(&table.store, &part, &table.keys.sort).unwrap();
    }
    let mut found: Vec<i64> = read_all(table).column(0).as_primitive::<Int64Type>().values().to_vec();
    found.sort_unstable();
    // An insert without an answer happened wholly or not at all.
    let happened = known.doubtful.drain(..).filter(|step| found.contains(&(step * ROWS)));
    known.inserted.extend(happened);
    let mut expected: Vec<i64> =
        known.inserted.iter().flat_map(|step| step * ROWS..(step + 1) * ROWS).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// The whole story of a seed: crashes at places drawn from it, then an undisturbed end.
fn story(seed: u64) -> (u64, Known, u64) {
    let (mut host, world): (Host, SimWorld) = SimHost::new(seed);
    let mut known = Known::default();
    let mut crashes = 0;
    for round in 0..6_u64 {
        world.crash_after(1 + (seed * 7919 + round * 104_729) % 411);
        if work(&host, &mut known).is_some() && !world.crashed() {
            break;
        }
        crashes += 1;
        host = world.reopen();
        // Every other time the next crash may come while the root is opened.
        if round % 2 == 1 && known.created {
            let table = handle(&host, &root(), Arc::new(tables::open_catalog(&host, &root())), def());
            collect::orphans_at_open(&table.catalog, &table.store, 0).unwrap();
            check(&table, &mut known);
        }
    }
    host = world.reopen();
    let table = work(&host, &mut known).expect("nothing disturbs the last round");
    check(&table, &mut known);
    known.collected += collect::run(&table.catalog, &table.store, &host, 0).unwrap().files;
    assert_eq!(state(&table).removed().count(), 0);
    assert_eq!(files(&table), named_files(&table));
    check(&table, &mut known);
    (world.trace_hash(), known, crashes)
}

/// Crashes, merges and collected files of these seeds; every eighth tells its story twice.
fn stories(seeds: std::ops::Range<u64>) -> (u64, usize, u64) {
    let (mut crashes, mut merges, mut collected) = (0, 0, 0);
    for seed in seeds {
        let (hash, known, crashed) = story(seed);
        if seed % 8 == 0 {
            assert_eq!(story(seed).0, hash, "seed {seed} tells the same story twice");
        }
        crashes += crashed;
        merges += known.merges;
        collected += known.collected;
    }
    (crashes, merges, collected)
}

#[test]
fn crashes_lose_nothing_double_nothing_and_leave_nothing() {
    let (crashes, merges, collected) = stories(0..40);
    assert!(
        crashes > 80 && merges > 100 && collected > 400,
        "{crashes} crashes, {merges} merges, {collected} files"
    );
}

#[test]
#[ignore = "takes a minute"]
fn a_thousand_seeds() {
    let (crashes, merges, collected) = stories(40..1040);
    println!("{crashes} crashes, {merges} merges, {collected} files collected");
    assert!(crashes > 2000 && merges > 2500 && collected > 10_000);
}
