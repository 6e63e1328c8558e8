//! The contract of a storage of parts, by one suite for every storage.

use std::io::ErrorKind;
use std::path::Path;

use host::SimHost;
use parts::{PartError, PartStorage, PartStore};

use crate::rows::host;

const KEY: &str = "data/t/a.parquet";
const BYTES: &[u8] = b"0123456789";

fn seal(storage: &dyn PartStorage, key: &str) {
    let mut file = storage.create(key).unwrap();
    file.append(BYTES).unwrap();
    file.start_sync();
    file.seal().unwrap();
}

fn names(storage: &dyn PartStorage, folder: &str) -> Vec<String> {
    storage.list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
}

fn refusal<T>(outcome: Result<T, PartError>) -> Option<ErrorKind> {
    match outcome {
        Err(PartError::Disk { source, .. }) => Some(source.kind()),
        _ => None,
    }
}

fn sealed_files_are_found_and_read(storage: &dyn PartStorage) {
    assert!(names(storage, "data/t").is_empty());
    assert_eq!(storage.find(KEY).unwrap(), None);
    assert_eq!(refusal(storage.open(KEY)), Some(ErrorKind::NotFound));
    seal(storage, KEY);
    assert_eq!(refusal(storage.create(KEY)), Some(ErrorKind::AlreadyExists));
    assert_eq!(storage.find(KEY).unwrap(), Some(10));
    let file = storage.open(KEY).unwrap();
    assert_eq!(file.len().unwrap(), 10);
    assert_eq!(&file.read_bytes(3, 4).unwrap()[..], b"3456");
    assert_eq!(file.read_bytes(8, 4).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let entries = storage.list("data/t").unwrap();
    assert_eq!((entries[0].bytes, entries[0].is_dir, entries.len()), (10, false, 1));
    assert_eq!(names(storage, "data"), ["t"]);
}

fn a_writer_that_is_dropped_leaves_nothing(storage: &dyn PartStorage) {
    let mut dropped = storage.create("data/t/b.parquet").unwrap();
    dropped.append(BYTES).unwrap();
    drop(dropped);
    assert_eq!(storage.find("data/t/b.parquet").unwrap(), None);
    assert_eq!(names(storage, "data/t"), ["a.parquet"]);
}

fn files_move_and_go(storage: &dyn PartStorage) {
    let moves = [(KEY.to_owned(), "lost/1/t/a.parquet".to_owned())];
    storage.move_files(&moves).unwrap();
    assert_eq!(storage.find(KEY).unwrap(), None);
    assert_eq!(storage.find("lost/1/t/a.parquet").unwrap(), Some(10));
    assert_eq!(refusal(storage.move_files(&moves)), Some(ErrorKind::NotFound));
    storage.move_files(&[]).unwrap();
    seal(storage, "data/t/c.parquet");
    for _ in 0..2 {
        storage.delete("data/t/c.parquet").unwrap();
        storage.delete_folder("lost").unwrap();
    }
    assert_eq!(storage.find("data/t/c.parquet").unwrap(), None);
    assert!(names(storage, "lost").is_empty());
}

fn keeps_the_contract(store: &PartStore) {
    let storage = store.storage();
    sealed_files_are_found_and_read(storage);
    a_writer_that_is_dropped_leaves_nothing(storage);
    files_move_and_go(storage);
    let scratch = store.scratch();
    seal(scratch.storage(), "data/t/d.parquet");
    assert_eq!(scratch.storage().find("data/t/d.parquet").unwrap(), Some(10));
    scratch.storage().delete("data/t/d.parquet").unwrap();
    assert!(storage.free_bytes().unwrap() > 0);
    assert!(storage.place(KEY).starts_with(storage.place("")));
}

#[test]
fn a_folder_keeps_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    keeps_the_contract(&PartStore::local(host(), dir.path().to_owned()));
    keeps_the_contract(&PartStore::local(SimHost::new(1).0, Path::new("/db").to_owned()));
}

#[test]
fn what_is_sealed_or_moved_outlives_a_crash() {
    for seed in 0..50 {
        let (host, world) = SimHost::new(seed);
        let store = PartStore::local(host, Path::new("/db").to_owned());
        seal(store.storage(), KEY);
        seal(store.storage(), "data/t/b.parquet");
        let moves = [("data/t/b.parquet".to_owned(), "lost/1/t/b.parquet".to_owned())];
        store.storage().move_files(&moves).unwrap();
        let mut unsealed = store.storage().create("data/t/c.parquet").unwrap();
        unsealed.append(BYTES).unwrap();
        world.crash();
        drop(unsealed);
        let store = PartStore::local(world.reopen(), Path::new("/db").to_owned());
        for key in [KEY, "lost/1/t/b.parquet"] {
            let file = store.storage().open(key).unwrap();
            assert_eq!(&file.read_bytes(0, 10).unwrap()[..], BYTES, "seed {seed}");
        }
        assert_eq!(store.storage().find("data/t/b.parquet").unwrap(), None, "seed {seed}");
    }
}
