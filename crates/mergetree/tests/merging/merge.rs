//! A merge is the stable sort of its inputs, whatever their keys, whatever the memory; and it loses gracefully.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, Int64Builder, ListBuilder, RecordBatch, StringViewArray,
    StringViewBuilder, UInt8Array, UInt32Array,
};
use arrow::compute::{concat_batches, take_record_batch};
use catalog::Op;
use host::{Clock, Host, MemoryBudget, SimHost};
use mergetree::TableError;
use mergetree::merge::{self, MergeOutcome, MergeProgress};
use model::{ColumnId, SortOrder, TableDef, mix64};
use parking_lot::Mutex;
use parts::sorted::KeyRows;
use parts::verify;
use proptest::prelude::*;

use crate::tables::{
    self, alter, column, commit, create, definition, files, insert, live, named_files, plan, read, read_all,
    run,
};

const TYPES: [&str; 8] =
    ["Int64", "UInt8", "Nullable(String)", "Float64", "Date", "String", "Array(Int64)", "Nullable(Int64)"];

fn root() -> PathBuf {
    PathBuf::from("/data")
}

/// A generator whose numbers depend on nothing else.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        mix64::next(&mut self.0) % n
    }
}

/// Rows of [`TYPES`], few distinct values each; the last column but one is a list, the first numbers the rows.
fn rows(def: &TableDef, first: i64, count: usize, dice: &mut Dice) -> RecordBatch {
    let mut list = ListBuilder::new(Int64Builder::new()).with_field(element(def));
    let (mut texts, mut long) = (StringViewBuilder::new(), StringViewBuilder::new());
    for _ in 0..count {
        list.append_value((0..dice.below(4)).map(|_| Some(dice.below(9) as i64)).collect::<Vec<_>>());
        texts.append_option(match dice.below(4) {
            0 => None,
            length => Some("ab".repeat(length as usize * 5 * dice.below(3) as usize)),
        });
        long.append_value(format!("{:0>40}", dice.below(1000)));
    }
    let floats = [f64::NAN, -0.0, 0.0, f64::INFINITY, -1.5, f64::NEG_INFINITY, 2.0];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(first..first + count as i64)),
        Arc::new(UInt8Array::from_iter_values((0..count).map(|_| dice.below(3) as u8))),
        Arc::new(texts.finish()),
        Arc::new(Float64Array::from_iter_values((0..count).map(|_| floats[dice.below(7) as usize]))),
        Arc::new(Date32Array::from_iter_values((0..count).map(|_| dice.below(50) as i32))),
        Arc::new(long.finish()),
        Arc::new(list.finish()),
        Arc::new(Int64Array::from_iter(
            (0..count).map(|_| (dice.below(3) > 0).then(|| dice.below(5) as i64)),
        )),
    ];
    RecordBatch::try_new(def.arrow_schema(), columns).unwrap()
}

fn element(def: &TableDef) -> arrow::datatypes::FieldRef {
    match def.arrow_schema().field(6).data_type() {
        arrow::datatypes::DataType::List(element) => element.clone(),
        other => panic!("{other}"),
    }
}

/// The rows in the order of the table's key, equal keys as they stand.
fn stably_sorted(table: &mergetree::Table, all: &RecordBatch) -> RecordBatch {
    if table.keys.sort.is_empty() {
        return all.clone();
    }
    let mut keys = KeyRows::new(&table.keys.sort);
    let arrays = keys.arrays(all).unwrap();
    let encoded = keys.rows(&arrays).unwrap();
    let mut order: Vec<u32> = (0..all.num_rows() as u32).collect();
    order.sort_by(|a, b| encoded.row(*a as usize).cmp(&encoded.row(*b as usize)));
    take_record_batch(all, &UInt32Array::from(order)).unwrap()
}

/// Merges all parts into one, with as little memory as will do if `frugal`.
fn merge_all(table: &mergetree::Table, frugal: bool) {
    let mut bytes = if frugal { 64 << 10 } else { 1 << 30 };
    while live(table).len() > 1 {
        let memory = MemoryBudget::new(bytes);
        match run(table, &plan(table), &memory) {
            Ok(MergeOutcome::Committed { inputs, .. }) => assert!(inputs > 1),
            Err(TableError::Memory(_)) => bytes += bytes / 8,
            other => panic!("{other:?}"),
        }
        assert!(memory.peak() <= bytes);
        assert_eq!(memory.used(), 0);
    }
}

const KEYS: [&[u32]; 9] = [&[], &[1], &[2], &[3], &[4], &[5, 2], &[6], &[8, 3], &[2, 3, 8]];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn a_merge_is_the_stable_sort_of_its_inputs(
        key in 0..KEYS.len(), sizes in prop::collection::vec(1_usize..400, 2..9), frugal: bool, seed: u64,
    ) {
        let (host, _world) = SimHost::new(seed);
        let table = create(&host, &root(), definition(&TYPES, KEYS[key]));
        let (mut dice, mut first) = (Dice(seed), 0);
        for size in &sizes {
            insert(&table, &rows(&table.def, first, *size, &mut dice));
            first += *size as i64;
        }
        let before = read_all(&table);
        let blocks = live(&table);
        merge_all(&table, frugal);
        let parts = live(&table);
        let merged = read(&table, &parts[0]);
        prop_assert_eq!(&merged, &stably_sorted(&table, &before));
        prop_assert_eq!(parts[0].rows, before.num_rows() as u64);
        prop_assert_eq!(parts[0].blocks.min, blocks[0].blocks.min);
        prop_assert_eq!(parts[0].blocks.max, blocks[blocks.len() - 1].blocks.max);
        prop_assert!(parts[0].level >= 1);
        verify(&table.store, &parts[0], &table.keys.sort).unwrap();
        prop_assert_eq!(files(&table), named_files(&table));
    }
}

#[test]
fn inputs_of_older_columns_and_another_key_fit_in() {
    let (host, _world) = SimHost::new(1);
    let mut dice = Dice(1);
    let old = create(&host, &root(), definition(&TYPES, &[2]));
    insert(&old, &rows(&old.def, 0, 3000, &mut dice));
    insert(&old, &rows(&old.def, 3000, 10, &mut dice));
    // c2 goes, c9 comes, c4 gets a new name, and the key is another.
    let new = alter(&old, |def| {
        def.columns.retain(|column| column.id != ColumnId(2));
        def.columns.push(column(9, "Nullable(Int64)"));
        def.next_column_id = 10;
        def.columns[2].name = "renamed".into();
        def.order_by = vec!["`#6`".into(), "`#5`".into()];
        def.sort_key_version = 2;
    });
    let rows_now = rows(&old.def, 3010, 500, &mut dice);
    let nine: ArrayRef = Arc::new(Int64Array::from(vec![9; 500]));
    let mut columns: Vec<ArrayRef> = rows_now.columns().to_vec();
    columns.remove(1);
    columns.push(nine);
    insert(&new, &RecordBatch::try_new(new.def.arrow_schema(), columns).unwrap());
    let before = read_all(&new);
    // A handle of the old definition would lose the new column.
    let memory = MemoryBudget::new(1 << 30);
    assert_eq!(run(&old, &plan(&old), &memory).unwrap(), MergeOutcome::Lost);
    merge_all(&new, false);
    let part = live(&new).remove(0);
    assert_eq!((part.sort_order, part.schema_version), (SortOrder::Key { version: 2 }, 2));
    assert_eq!(read(&new, &part), stably_sorted(&new, &before));
    verify(&new.store, &part, &new.keys.sort).unwrap();
    assert_eq!(files(&new), named_files(&new), "temporary parts are gone");
    // Nothing is left to do, with FINAL or without.
    assert!(merge::plan_all(&tables::state(&new), None, true).is_empty());
}

#[test]
fn a_single_part_in_another_order_is_sorted_by_final() {
    let (host, _world) = SimHost::new(2);
    let old = create(&host, &root(), definition(&TYPES, &[]));
    insert(&old, &rows(&old.def, 0, 5000, &mut Dice(3)));
    assert!(merge::plan_all(&tables::state(&old), None, true).is_empty());
    let new = alter(&old, |def| {
        def.order_by = vec!["`#6`".into()];
        def.sort_key_version = 2;
    });
    let before = read_all(&new);
    assert!(matches!(
        run(&new, &plan(&new), &MemoryBudget::new(1 << 30)),
        Ok(MergeOutcome::Committed { .. })
    ));
    assert_eq!(read_all(&new), stably_sorted(&new, &before));
}

/// Does something when the writer asks for the time, which it does when the file is complete.
struct Hook {
    inner: Arc<dyn Clock>,
    hook: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

impl Clock for Hook {
    fn now_ms(&self) -> u64 {
        if let Some(hook) = self.hook.lock().take() {
            hook();
        }
        self.inner.now_ms()
    }
    fn monotonic(&self) -> Duration {
        self.inner.monotonic()
    }
    fn sleep(&self, duration: Duration) {
        self.inner.sleep(duration);
    }
}

/// A table of two parts whose merge meets `event` between writing and committing.
fn merge_with_event(
    event: impl FnOnce(&mergetree::Table) + Send + 'static,
) -> (mergetree::Table, MergeOutcome) {
    let (host, _world) = SimHost::new(4);
    let table = create(&host, &root(), definition(&TYPES, &[2]));
    let mut dice = Dice(5);
    insert(&table, &rows(&table.def, 0, 100, &mut dice));
    insert(&table, &rows(&table.def, 100, 100, &mut dice));
    let plan = plan(&table);
    let other = table.clone();
    let hook: Box<dyn FnOnce() + Send> = Box::new(move || event(&other));
    let clock = Arc::new(Hook { inner: host.clock.clone(), hook: Mutex::new(Some(hook)) });
    let hooked = Host { clock, ..host };
    let merging = tables::handle(&hooked, &root(), table.catalog.clone(), table.def.as_ref().clone());
    let outcome = run(&merging, &plan, &MemoryBudget::new(1 << 30)).unwrap();
    (table, outcome)
}

#[test]
fn a_merge_loses_against_a_truncation_a_drop_and_another_merge() {
    let id = definition(&TYPES, &[]).id;
    let (table, outcome) = merge_with_event(move |table| {
        commit(&table.catalog, vec![Op::TruncateTable { table: id }]);
    });
    assert_eq!(outcome, MergeOutcome::Lost);
    assert_eq!((live(&table).len(), files(&table).len()), (0, 2), "its own file is gone");

    let (table, outcome) = merge_with_event(move |table| {
        commit(&table.catalog, vec![Op::DropTable { table: id }]);
    });
    assert_eq!((outcome, files(&table).len()), (MergeOutcome::Lost, 2));

    let (table, outcome) = merge_with_event(|table| {
        let won = run(table, &plan(table), &MemoryBudget::new(1 << 30)).unwrap();
        assert!(matches!(won, MergeOutcome::Committed { rows: 200, .. }));
    });
    assert_eq!(outcome, MergeOutcome::Lost);
    assert_eq!((live(&table).len(), files(&table).len()), (1, 3));
    assert_eq!(files(&table), named_files(&table));
}

#[test]
fn rows_inserted_meanwhile_stay_behind_the_merged_ones() {
    let (table, outcome) = merge_with_event(|table| {
        insert(table, &rows(&table.def, 200, 50, &mut Dice(6)));
    });
    assert!(matches!(outcome, MergeOutcome::Committed { inputs: 2, .. }));
    let rows: Vec<u64> = live(&table).iter().map(|part| part.rows).collect();
    assert_eq!(rows, [200, 50]);
}

#[test]
fn a_cancelled_or_failing_merge_leaves_no_file_and_keeps_its_inputs() {
    let (host, world) = SimHost::new(7);
    let table = create(&host, &root(), definition(&TYPES, &[2]));
    let mut dice = Dice(8);
    for part in 0..3 {
        insert(&table, &rows(&table.def, part * 1000, 1000, &mut dice));
    }
    let (plan, memory) = (plan(&table), MemoryBudget::new(1 << 30));
    let cancelled = AtomicBool::new(true);
    let outcome = merge::run(&table, &plan, &memory, &MergeProgress::default(), &cancelled).unwrap();
    assert_eq!(outcome, MergeOutcome::Cancelled);
    let before = read_all(&table);
    let mut failures = 0;
    // Every disk call of the merge fails once, until there is no call left to fail.
    for ops in 1.. {
        world.fail_after(ops);
        match run(&table, &plan, &memory) {
            // Whether it happened is unknown, and shows at the next opening.
            Err(TableError::OutcomeUnknown(_)) => break,
            Err(_) => failures += 1,
            Ok(outcome) => {
                assert!(matches!(outcome, MergeOutcome::Committed { .. }), "{outcome:?}");
                break;
            }
        }
        assert_eq!(files(&table), named_files(&table), "after a failure of call {ops}");
        assert_eq!(read_all(&table), before);
        assert_eq!(memory.used(), 0);
    }
    assert!(failures > 10, "{failures}");
}

#[test]
fn progress_counts_to_the_end() {
    let (host, _world) = SimHost::new(9);
    let table = create(&host, &root(), definition(&TYPES, &[2]));
    let mut dice = Dice(10);
    insert(&table, &rows(&table.def, 0, 300, &mut dice));
    insert(&table, &rows(&table.def, 300, 700, &mut dice));
    let progress = MergeProgress::default();
    let memory = MemoryBudget::new(1 << 30);
    merge::run(&table, &plan(&table), &memory, &progress, &AtomicBool::new(false)).unwrap();
    assert_eq!((progress.rows_total(), progress.rows_read(), progress.rows_written()), (1000, 1000, 1000));
    assert_eq!(memory.peak(), progress.memory_bytes());
    assert!(progress.bytes_written() > 0);
}

#[test]
fn a_part_that_is_not_in_its_order_is_refused() {
    let (host, _world) = SimHost::new(11);
    let table = create(&host, &root(), definition(&["Int64", "String"], &[]));
    let batch = |numbers: Vec<i64>| {
        let texts = StringViewArray::from_iter_values(numbers.iter().map(|_| "x"));
        let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(numbers)), Arc::new(texts)];
        RecordBatch::try_new(table.def.arrow_schema(), columns).unwrap()
    };
    let mut lying = Vec::new();
    for part in tables::write(&table, &batch(vec![3, 1, 2])).unwrap() {
        let mut descriptor = part.into_descriptor();
        descriptor.sort_order = SortOrder::Key { version: 2 };
        lying.push(Op::AddPart(model::SealedPart::attest_durable(descriptor)));
    }
    commit(&table.catalog, lying);
    insert(&table, &batch(vec![5]));
    let sorted = alter(&table, |def| {
        def.order_by = vec!["`#1`".into()];
        def.sort_key_version = 2;
    });
    let refused = run(&sorted, &plan(&sorted), &MemoryBudget::new(1 << 30)).unwrap_err();
    let lying = live(&sorted)[0].id;
    assert_eq!(
        refused.to_string(),
        format!("part {lying} is damaged: its rows are not in the order of (c1)")
    );
    assert_eq!(files(&sorted), named_files(&sorted));
    let whole = concat_batches(&sorted.def.arrow_schema(), &[read_all(&sorted)]).unwrap();
    assert_eq!(whole.num_rows(), 4);
}

/// One row, as the log keeps it.
fn inline_row(table: &mergetree::Table) -> Op {
    let batch = rows(&table.def, 0, 1, &mut Dice(12));
    let bytes = mergetree::inline::encode(&table.def, &batch).unwrap();
    Op::InlineRows { table: table.def.id, schema_version: table.def.schema_version, rows: 1, bytes }
}

#[test]
fn inline_rows_and_running_merges_are_not_crossed() {
    let (host, _world) = SimHost::new(13);
    let table = create(&host, &root(), definition(&TYPES, &[2]));
    let mut dice = Dice(14);
    let mut part = || insert(&table, &rows(&table.def, 0, 10, &mut dice));
    for _ in 0..5 {
        part();
    }
    commit(&table.catalog, vec![inline_row(&table)]);
    for _ in 0..6 {
        part();
    }
    let (state, parts) = (tables::state(&table), live(&table));
    let plans = |is_final| -> Vec<usize> {
        merge::plan_all(&state, None, is_final).iter().map(|plan| plan.inputs.len()).collect()
    };
    assert_eq!(plans(true), [5, 6]);
    assert_eq!(plans(false), [6], "one merge for the partition");
    assert!(merge::plan_all(&state, Some("202001"), true).is_empty());
    let chosen = |busy: &[usize]| -> Vec<usize> {
        let busy = busy.iter().map(|part| parts[*part].id).collect();
        let limits = merge::MergeLimits::default();
        let now_ms = host.clock.now_ms();
        merge::choose_for(&state, &busy, &limits, now_ms).iter().map(|plan| plan.inputs.len()).collect()
    };
    assert_eq!(chosen(&[]), [6, 5]);
    assert_eq!(chosen(&[0]), [6], "four are too few");
    assert_eq!(chosen(&[2, 7]), [0_usize; 0]);
}

#[test]
fn a_disk_without_room_is_not_filled() {
    let (host, world) = SimHost::new(15);
    let table = create(&host, &root(), definition(&TYPES, &[2]));
    let mut dice = Dice(16);
    insert(&table, &rows(&table.def, 0, 2000, &mut dice));
    insert(&table, &rows(&table.def, 2000, 2000, &mut dice));
    let used: u64 = live(&table).iter().map(|part| part.bytes).sum();
    world.set_disk_bytes_max(used + used / 2);
    let memory = MemoryBudget::new(1 << 30);
    assert_eq!(run(&table, &plan(&table), &memory).unwrap(), MergeOutcome::NoSpace);
    assert_eq!(files(&table), named_files(&table));
}
