//! Every file of a root is deleted or cut, one at a time: whoever opens is told what is missing, or misses nothing.
#![allow(clippy::disallowed_methods, reason = "they copy folders")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use catalog::{Catalog, CatalogConfig, Op, State};
use host::Host;
use mergetree::collect::{self, FoundAtOpen};
use model::{TableDef, TableId};
use parts::PartStore;

use crate::tables::{commit, definition, handle, insert};

const LOST_MS: u64 = 604_800_000;

fn config() -> CatalogConfig {
    let mut config = CatalogConfig::default();
    config.log.segment_bytes_max = 16 << 10;
    config.log.record_bytes_max = 8 << 10;
    config
}

fn table_of(number: u8) -> TableDef {
    let name = format!("t{number}").into();
    TableDef { id: TableId::from_bytes([number; 16]), name, ..definition(&["Int64"], &[1]) }
}

/// Two tables with parts, two checkpoints, several segments. `clean` is how the process ended.
fn build(root: &Path, clean: bool) -> State {
    let host = Host::system(1 << 30).unwrap();
    let catalog = Arc::new(Catalog::open(&host, root, config()).unwrap());
    let defs = [table_of(1), table_of(2)];
    for def in &defs {
        commit(&catalog, vec![Op::CreateTable(def.clone())]);
    }
    for round in 0..6 {
        for def in &defs {
            let table = handle(&host, root, catalog.clone(), def.clone());
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(round * 100..round * 100 + 50));
            insert(&table, &RecordBatch::try_new(def.arrow_schema(), vec![numbers]).unwrap());
            for _ in 0..4 {
                let bytes = vec![round as u8; 1500].into();
                commit(&catalog, vec![Op::InlineRows { table: def.id, schema_version: 1, rows: 1, bytes }]);
            }
        }
        if round == 2 || round == 3 {
            catalog.checkpoint().unwrap();
        }
    }
    if clean {
        catalog.pin().unwrap();
    }
    catalog.snapshot().state().clone()
}

/// As the engine opens; then every live part is read.
fn open(root: &Path) -> Result<(State, FoundAtOpen), String> {
    let host = Host::system(1 << 30).unwrap();
    let catalog = Arc::new(Catalog::open(&host, root, config()).map_err(|error| error.to_string())?);
    let store = PartStore::local(host.clone(), root.to_owned());
    let found = collect::orphans_at_open(&catalog, &store, LOST_MS).map_err(|error| error.to_string())?;
    let snapshot = catalog.snapshot();
    for table in snapshot.all_tables() {
        for part in table.parts() {
            parts::verify(&store, part, &[]).map_err(|error| error.to_string())?;
        }
    }
    Ok((snapshot.state().clone(), found))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, target).unwrap();
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Harm {
    Deleted,
    CutTo(u64),
}

fn harms(bytes: u64) -> Vec<Harm> {
    let cuts = [0, bytes / 2, bytes.saturating_sub(10)];
    let mut harms = vec![Harm::Deleted];
    harms.extend(cuts.into_iter().filter(|cut| *cut < bytes).map(Harm::CutTo));
    harms
}

fn do_harm(path: &Path, harm: Harm) {
    match harm {
        Harm::Deleted => fs::remove_file(path).unwrap(),
        Harm::CutTo(bytes) => fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap(),
    }
}

#[test]
fn every_file_is_missed_by_name_or_not_at_all() {
    let (mut named, mut harmless) = (0, 0);
    for clean in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let original = dir.path().join("original");
        let wanted = build(&original, clean);
        let all = files(&original);
        assert!(all.len() > 20, "{all:?}");
        for (number, path) in all.iter().enumerate() {
            let relative = path.strip_prefix(&original).unwrap();
            for harm in harms(fs::metadata(path).unwrap().len()) {
                let root = dir.path().join(format!("copy {number}"));
                copy(&original, &root);
                do_harm(&root.join(relative), harm);
                let parts_before = files(&root.join("data"));
                let what = format!("{} {harm:?}, clean: {clean}", relative.display());
                match open(&root) {
                    Ok((state, found)) => {
                        assert!(state == wanted, "{what}: opened at {} of {}", state.seq(), wanted.seq());
                        assert!(found.missing.is_empty(), "{what}");
                        harmless += 1;
                    }
                    Err(error) => {
                        let file = relative.file_stem().unwrap().to_str().unwrap();
                        let by_place = error.contains("a segment before it is missing");
                        assert!(error.contains(file) || by_place, "{what} is named by: {error}");
                        assert_eq!(files(&root.join("data")), parts_before, "{what}: nothing was moved");
                        named += 1;
                    }
                }
                fs::remove_dir_all(&root).unwrap();
            }
        }
    }
    println!("{named} named errors, {harmless} without effect");
    assert!(named > 50 && harmless > 20);
}

#[test]
fn whole_folders_are_missed_too() {
    let dir = tempfile::tempdir().unwrap();
    let original = dir.path().join("original");
    build(&original, true);
    for (number, folder) in ["stream", "stream/0/wal", "data"].iter().enumerate() {
        let root = dir.path().join(format!("copy {number}"));
        copy(&original, &root);
        fs::remove_dir_all(root.join(folder)).unwrap();
        let before = files(&root);
        let error = open(&root).expect_err(folder);
        println!("{folder}: {error}");
        let after: Vec<PathBuf> = files(&root).into_iter().filter(|path| before.contains(path)).collect();
        assert_eq!(after, before, "{folder}: nothing was moved or deleted");
    }
}
