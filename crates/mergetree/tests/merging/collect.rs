//! Files go when nobody can read them any more, and never before.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use catalog::Op;
use host::{Disk, MemoryBudget, SimHost};
use mergetree::merge::MergeOutcome;
use mergetree::{Table, collect, lost};
use model::{Label, LoadId, StagedFile, StagedUnit};

use crate::tables::{
    self, commit, create, definition, files, insert, live, named_files, plan, read_all, run, state,
};

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
/// Seven days.
const LOST_MS: u64 = 604_800_000;

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
fn a_part_says_in_its_footer_what_it_is_and_what_it_replaced() {
    let (host, _world) = SimHost::new(9);
    let table = three_parts(&host);
    let inputs = live(&table);
    merge(&table);
    let footer = |part: &model::PartDescriptor| {
        let bytes = host::read_all(host.disk.as_ref(), &table.store.path(part)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let definition = catalog::definition_format::definition_text(&table.def);
    let ids: Vec<String> = inputs.iter().map(|part| part.id.to_string()).collect();
    for part in inputs.iter().chain(&live(&table)) {
        assert!(footer(part).contains(&definition));
    }
    let merged = footer(&live(&table)[0]);
    assert!(ids.iter().all(|id| merged.contains(id)), "it says whose rows it took over");
    assert!(!footer(&inputs[1]).contains(&ids[0]), "new rows replace nothing");
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
fn detached_parts_stay_as_long_as_their_table() {
    let (host, _world) = SimHost::new(12);
    let table = three_parts(&host);
    let parts = live(&table);
    let detached = [parts[0].id].into();
    let mut ops: Vec<Op> =
        parts[..2].iter().map(|part| Op::RemovePart { table: table.def.id, part: part.id }).collect();
    ops.push(Op::AlterTable(table.def.with_detached_parts(&detached)));
    commit(&table.catalog, ops);
    host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
    let collect = || collect::run(&table.catalog, &table.store, &host, LIFETIME_MS).unwrap().files;
    assert_eq!((collect(), collect()), (1, 0), "the one that nothing names");
    assert_eq!((files(&table).len(), live(&table).len(), state(&table).detached().count()), (2, 1, 1));
    let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!(found, Default::default());
    host.disk.remove_file(&table.store.path(&parts[0])).unwrap();
    let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!(found.missing.len(), 1, "it is missed as a live part is");
    commit(&table.catalog, vec![Op::DropTable { table: table.def.id }]);
    host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
    assert_eq!(collect(), 2);
    assert_eq!(table.catalog.snapshot().dropped_tables().count(), 0);
}

#[test]
fn opening_puts_aside_what_nobody_names_and_nothing_else() {
    let (host, _world) = SimHost::new(3);
    let table = three_parts(&host);
    merge(&table);
    let disk: &dyn Disk = host.disk.as_ref();
    let uncommitted = tables::write(&table, &read_all(&table)).unwrap();
    let folder = table.store.table_dir(table.def.id);
    disk.create(&folder.join("0.tmp")).unwrap();
    let unfinished = folder.join("0c0c0c0c-0c0c-0c0c-0c0c-0c0c0c0c0c0c.parquet");
    disk.create(&unfinished).unwrap().append(b"PAR1 and some pages").unwrap();
    let unknown = root().join("data/0b0b0b0b-0b0b-0b0b-0b0b-0b0b0b0b0b0b");
    disk.create_dir_all(&unknown).unwrap();
    disk.create(&unknown.join("x.parquet")).unwrap();
    let foreign = root().join("data/not-a-table");
    disk.create_dir_all(&foreign).unwrap();
    assert_eq!(files(&table).len(), 7);

    let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!((found.put_aside.files, found.deleted.files), (3, 1), "{uncommitted:?}");
    assert_eq!(files(&table), named_files(&table));
    assert_eq!((files(&table).len(), live(&table).len()), (4, 1));
    assert!(!disk.exists(&unknown).unwrap() && disk.exists(&foreign).unwrap());
    assert!(!disk.exists(&unfinished).unwrap());
    assert_eq!(collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap(), Default::default());
    let lost = lost_files(&table);
    let names: Vec<String> =
        lost.iter().map(|path| path.file_name().unwrap().to_string_lossy().into()).collect();
    let part = format!("{}.parquet", uncommitted[0].descriptor().id);
    assert!(names.len() == 3 && names.contains(&part) && names.contains(&"0.tmp".to_owned()), "{lost:?}");
    // The simulated clock moves with each call, too.
    host.clock.sleep(Duration::from_millis(LOST_MS / 2));
    collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!(lost_files(&table), lost, "kept for a while");
    host.clock.sleep(Duration::from_millis(LOST_MS / 2));
    assert_eq!(lost::sweep(&table.store, LOST_MS).unwrap(), 1);
    assert!(lost_files(&table).is_empty());
}

/// Files put aside, at any time and of any table.
fn lost_files(table: &Table) -> Vec<PathBuf> {
    fn below(disk: &dyn Disk, dir: &std::path::Path, found: &mut Vec<PathBuf>) {
        for entry in disk.list(dir).unwrap() {
            let path = dir.join(&entry.name);
            if entry.is_dir { below(disk, &path, found) } else { found.push(path) }
        }
    }
    let mut found = Vec::new();
    below(table.host.disk.as_ref(), &root().join("lost"), &mut found);
    found
}

#[test]
fn a_part_that_is_named_after_all_is_brought_back() {
    let (host, _world) = SimHost::new(6);
    let table = three_parts(&host);
    let before = read_all(&table);
    let part = live(&table).remove(0);
    let path = table.store.path(&part);
    let aside = root().join("lost/77").join(part.table.to_string());
    host.disk.create_dir_all(&aside).unwrap();
    host.disk.rename(&path, &aside.join(path.file_name().unwrap())).unwrap();
    let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!((found.brought_back, found.missing.len()), (1, 0));
    assert_eq!(read_all(&table), before);
    host.disk.remove_file(&path).unwrap();
    tables::write(&table, &before).unwrap();
    let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!(
        (found.missing, found.left, found.put_aside.files),
        (vec![path], 1, 0),
        "nothing is moved now"
    );
}

#[test]
fn on_a_full_disk_leftovers_go_at_once() {
    let (host, world) = SimHost::new(10);
    let table = three_parts(&host);
    tables::write(&table, &read_all(&table)).unwrap();
    world.set_disk_bytes_max(1);
    let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!((found.put_aside.files, found.deleted.files), (0, 1));
    assert_eq!((files(&table).len(), live(&table).len()), (3, 3));
}

#[test]
fn a_log_that_is_gone_takes_no_file_along() {
    let (host, _world) = SimHost::new(7);
    let table = three_parts(&host);
    let (store, before) = (table.store.clone(), files(&table));
    drop(table);
    for name in ["ANCHOR", "stream/0/ANCHOR", "stream/0/wal/00000000000000000001.seg"] {
        host.disk.remove_file(&root().join(name)).unwrap();
    }
    // Nothing but the parts is left to tell that there was more.
    for _ in 0..2 {
        let catalog = tables::open_catalog(&host, &root());
        let error = collect::orphans_at_open(&catalog, &store, LOST_MS).unwrap_err().to_string();
        assert!(error.contains("has no record, but there are 3 files of parts"), "{error}");
    }
    let after: std::collections::BTreeSet<PathBuf> = store
        .list_files(store.list_tables().unwrap()[0])
        .unwrap()
        .into_iter()
        .map(|file| store.storage().place(&file.key))
        .collect();
    assert_eq!(after, before);
}

#[test]
fn nothing_is_deleted_for_a_while_after_damage_was_found() {
    let (host, _world) = SimHost::new(8);
    let table = three_parts(&host);
    merge(&table);
    tables::write(&table, &read_all(&table)).unwrap();
    let (store, def) = (table.store.clone(), table.def.clone());
    let all = files(&table);
    drop(table);
    for name in ["ANCHOR", "stream/0/ANCHOR"] {
        host.disk.remove_file(&root().join(name)).unwrap();
    }
    let reopen = || {
        tables::handle(&host, &root(), Arc::new(tables::open_catalog(&host, &root())), def.as_ref().clone())
    };
    // The second open finds the anchor whole again, and still holds.
    for _ in 0..2 {
        let table = reopen();
        let found = collect::orphans_at_open(&table.catalog, &store, LOST_MS).unwrap();
        assert!((found.left, found.put_aside.files) == (1, 0) && found.held_until_ms > 0, "{found:?}");
        host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
        assert_eq!(collect::run(&table.catalog, &store, &host, LIFETIME_MS).unwrap().files, 0);
        assert_eq!(files(&table), all);
    }
    host.clock.sleep(Duration::from_millis(LOST_MS));
    let table = reopen();
    let found = collect::orphans_at_open(&table.catalog, &store, LOST_MS).unwrap();
    assert_eq!((found.left, found.put_aside.files, found.held_until_ms), (0, 1, 0));
    assert_eq!(collect::run(&table.catalog, &store, &host, LIFETIME_MS).unwrap().files, 3);
}

#[test]
fn what_was_merged_away_stays_while_the_merged_part_is_damaged_or_missing() {
    let (host, _world) = SimHost::new(8);
    let table = three_parts(&host);
    merge(&table);
    let merged = live(&table).remove(0);
    host.disk.remove_file(&table.store.path(&merged)).unwrap();
    let found = collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap();
    assert_eq!(found.missing, [table.store.path(&merged)]);
    host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
    assert_eq!(collect::run(&table.catalog, &table.store, &host, LIFETIME_MS).unwrap().files, 0);
    assert_eq!(files(&table).len(), 3, "all there is of its rows");
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
        units: vec![StagedUnit { file: 0, row_groups: None, range: None, bytes: 1, rows: None }],
        input: None,
        is_sealed: true,
    };
    let parts = tables::write(&table, &read_all(&table)).unwrap();
    commit(&table.catalog, vec![open, Op::StageAdd { load, units: vec![0], parts, rows: 30 }]);
    assert_eq!(collect::orphans_at_open(&table.catalog, &table.store, LOST_MS).unwrap(), Default::default());
    assert_eq!((files(&table).len(), live(&table).len()), (4, 3));
    commit(&table.catalog, vec![Op::StageAbort { load }]);
    host.clock.sleep(Duration::from_millis(LIFETIME_MS + 1));
    assert_eq!(collect::run(&table.catalog, &table.store, &host, LIFETIME_MS).unwrap().files, 1);
    assert_eq!((files(&table).len(), read_all(&table).num_rows()), (3, 30));
}
