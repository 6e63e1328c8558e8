//! Files go when nobody can read them any more, and never before.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::clone_on_ref_ptr,
    reason = "tests fail by panicking, and their numbers are small"
)]

mod tables;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use catalog::Op;
use host::{Disk, MemoryBudget, SimHost};
use mergetree::merge::MergeOutcome;
use mergetree::{Table, collect};
use model::{Label, LoadId, StagedFile, StagedUnit};
use tables::{commit, create, definition, files, insert, live, named_files, plan, read_all, run, state};

fn root() -> PathBuf {
    PathBuf::from("/data")
}

fn three_parts(host: &host::Host) -> Table {
    let table = create(host, &root(), definition(&["Int64"], &[1]));
    for first in 0..3 {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first * 10..first * 10 + 10));
        insert(&table, &RecordBatch::try_new(table.def.arrow_schema(), vec![column]).unwrap());
    }
    table
}

fn merge(table: &Table) {
    let outcome = run(table, &plan(table), &MemoryBudget::new(1 << 30)).unwrap();
    assert!(matches!(outcome, MergeOutcome::Committed { inputs: 3, .. }));
}

const LIFETIME_MS: u64 = 480_000;

#[test]
fn removed_parts_wait_for_their_time_and_for_readers() {
    let (host, _world) = SimHost::new(1);
    let table = three_parts(&host);
    let reader = table.catalog.snapshot();
    merge(&table);
    let collect = || collect::run(&table.catalog, &table.store, &host, LIFETIME_MS).unwrap();
    assert_eq!(collect().files, 0, "too young");
    host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
    assert_eq!(collect().files, 0, "a reader is still there");
    assert_eq!(files(&table).len(), 4);
    drop(reader);
    let collected = collect();
    assert!(collected.files == 3 && collected.bytes > 0, "{collected:?}");
    assert_eq!((files(&table).len(), state(&table).removed().count()), (1, 0));
    assert_eq!(collect().files, 0, "nothing is collected twice");
    assert_eq!(read_all(&table).num_rows(), 30);
}

#[test]
fn a_dropped_table_takes_its_folder_along() {
    let (host, _world) = SimHost::new(2);
    let table = three_parts(&host);
    merge(&table);
    commit(&table.catalog, vec![Op::DropTable { table: table.def.id }]);
    let collect = || collect::run(&table.catalog, &table.store, &host, LIFETIME_MS).unwrap().files;
    assert_eq!(collect(), 0);
    host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
    assert_eq!(collect(), 4);
    assert!(!host.disk.exists(&table.store.table_dir(table.def.id)).unwrap());
    assert_eq!(table.catalog.snapshot().dropped_tables().count(), 0);
}

#[test]
fn opening_deletes_what_nobody_names_and_nothing_else() {
    let (host, _world) = SimHost::new(3);
    let table = three_parts(&host);
    merge(&table);
    let disk: &dyn Disk = host.disk.as_ref();
    let uncommitted = tables::write(&table, &read_all(&table)).unwrap();
    let folder = table.store.table_dir(table.def.id);
    disk.create(&folder.join("0.tmp")).unwrap();
    let unknown = root().join("data/0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b");
    disk.create_dir_all(&unknown).unwrap();
    disk.create(&unknown.join("x.parquet")).unwrap();
    let foreign = root().join("data/not-a-table");
    disk.create_dir_all(&foreign).unwrap();
    assert_eq!(files(&table).len(), 6);

    let collected = collect::orphans_at_open(&table.catalog, &table.store).unwrap();
    assert_eq!(collected.files, 3, "{uncommitted:?}");
    assert_eq!(files(&table), named_files(&table));
    assert_eq!((files(&table).len(), live(&table).len()), (4, 1));
    assert!(!disk.exists(&unknown).unwrap() && disk.exists(&foreign).unwrap());
    assert_eq!(collect::orphans_at_open(&table.catalog, &table.store).unwrap(), Default::default());
}

#[test]
fn a_table_may_say_how_long_its_removed_parts_stay() {
    let (host, _world) = SimHost::new(1);
    let mut def = definition(&["Int64"], &[1]);
    def.settings.insert("old_parts_lifetime".into(), "1".into());
    let table = create(&host, &root(), def);
    for first in 0..3 {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first * 10..first * 10 + 10));
        insert(&table, &RecordBatch::try_new(table.def.arrow_schema(), vec![column]).unwrap());
    }
    merge(&table);
    let collect = || collect::run(&table.catalog, &table.store, &host, LIFETIME_MS).unwrap();
    assert_eq!(collect().files, 0, "too young");
    host.clock.sleep(Duration::from_millis(1001));
    assert_eq!(collect().files, 3);
}

#[test]
fn staged_parts_survive_an_opening_and_those_of_given_up_loads_are_collected() {
    let (host, _world) = SimHost::new(5);
    let table = three_parts(&host);
    let load = LoadId::from_bytes([9; 16]);
    let open = Op::StageOpen {
        load,
        database: catalog::default_database_id(),
        label: Label::new("l").unwrap(),
        table: table.def.id,
        fingerprint: 1,
        schema_version: table.def.schema_version,
        statement: "INSERT".into(),
        files: vec![StagedFile { path: "a".into(), bytes: 1, version: None }],
        units: vec![StagedUnit { file: 0, row_groups: None, bytes: 1, rows: None }],
        input: None,
    };
    let parts = tables::write(&table, &read_all(&table)).unwrap();
    commit(&table.catalog, vec![open, Op::StageAdd { load, units: vec![0], parts, rows: 30 }]);
    assert_eq!(collect::orphans_at_open(&table.catalog, &table.store).unwrap(), Default::default());
    assert_eq!((files(&table).len(), live(&table).len()), (4, 3));
    commit(&table.catalog, vec![Op::StageAbort { load }]);
    host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
    assert_eq!(collect::run(&table.catalog, &table.store, &host, LIFETIME_MS).unwrap().files, 1);
    assert_eq!((files(&table).len(), read_all(&table).num_rows()), (3, 30));
}
