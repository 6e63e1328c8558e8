//! The simulated machine keeps the disk's contract, and nothing more than it.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::state::SimFault;
use crate::disk::{create_dir_all_synced, read_all, replace_file};
use crate::machine::Host;
use crate::{SimHost, random};

const FILE: &str = "/db/wal/1.seg";

fn prepared(seed: u64) -> (Host, crate::SimWorld) {
    let (host, world) = SimHost::new(seed);
    create_dir_all_synced(&*host.disk, Path::new("/db/wal")).expect("directories");
    (host, world)
}

#[test]
fn what_was_synced_survives_every_crash_and_what_was_not_does_not_always() {
    let (mut lost, mut kept) = (0, 0);
    for seed in 0..100 {
        let (host, world) = prepared(seed);
        let path = Path::new(FILE);
        let mut file = host.disk.create(path).expect("created");
        file.append(&[1; 1000]).expect("written");
        file.sync_data().expect("synced");
        host.disk.sync_dir(Path::new("/db/wal")).expect("synced");
        file.append(&[2; 1000]).expect("written");
        world.crash();
        assert!(file.append(b"late").is_err_and(|e| SimFault::of(&e) == Some(SimFault::Crashed)));
        let bytes = read_all(&*world.reopen().disk, path).expect("read");
        assert_eq!(bytes[..1000], [1; 1000]);
        lost += usize::from(!bytes.contains(&2));
        kept += usize::from(bytes[1000..] == [2; 1000]);
        assert!(file.append(b"late").is_err(), "a handle of an earlier life stays dead");
    }
    assert!(lost > 10 && kept > 10, "{lost} {kept}");
}

#[test]
fn a_file_without_a_synced_name_may_vanish_though_its_bytes_were_synced() {
    let mut vanished = 0;
    for seed in 0..50 {
        let (host, world) = prepared(seed);
        let mut file = host.disk.create(Path::new(FILE)).expect("created");
        file.append(b"x").expect("written");
        file.sync_data().expect("synced");
        vanished += usize::from(!world.reopen().disk.exists(Path::new(FILE)).expect("asked"));
    }
    assert!((5..45).contains(&vanished), "{vanished}");
}

#[test]
fn replacing_a_file_shows_the_old_or_the_new_content_at_every_crash_point() {
    let path = Path::new("/db/hint");
    let mut seen = [0; 2];
    for ops in 1..=8 {
        for seed in 0..20 {
            let (host, world) = prepared(seed);
            replace_file(&*host.disk, path, b"old").expect("first");
            world.crash_after(ops);
            let second = replace_file(&*host.disk, path, b"new");
            let host = world.reopen();
            let bytes = read_all(&*host.disk, path).expect("one of the two is there");
            assert!(&bytes[..] == b"old" || &bytes[..] == b"new");
            assert!(second.is_err() || &bytes[..] == b"new", "acknowledged");
            seen[usize::from(&bytes[..] == b"new")] += 1;
            replace_file(&*host.disk, path, b"third").expect("the leftover does not disturb");
        }
    }
    assert!(seen[0] > 20 && seen[1] > 20, "{seen:?}");
}

#[test]
fn a_failed_sync_poisons_the_file_for_every_handle() {
    let (host, world) = prepared(1);
    let path = Path::new(FILE);
    let mut file = host.disk.create(path).expect("created");
    file.append(b"x").expect("written");
    world.fail_after(1);
    let error = file.sync_data().expect_err("injected");
    assert_eq!(SimFault::of(&error), Some(SimFault::Injected));
    assert!(!world.crashed());
    assert!(file.append(b"y").is_err() && file.sync_data().is_err() && file.len().is_err());
    let mut second = host.disk.open_append(path).expect("opened");
    assert!(second.append(b"y").is_err());
}

#[test]
fn killing_the_program_keeps_every_byte_and_frees_the_locks() {
    let (host, world) = prepared(2);
    let _held = host.disk.lock(Path::new("/db/LOCK")).expect("locked");
    let error = host.disk.lock(Path::new("/db/LOCK")).err().expect("held");
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let mut file = host.disk.create(Path::new(FILE)).expect("created");
    file.append(b"unsynced").expect("written");
    let host = world.restart_program();
    assert_eq!(&read_all(&*host.disk, Path::new(FILE)).expect("read")[..], b"unsynced");
    assert!(host.disk.lock(Path::new("/db/LOCK")).is_ok());
}

#[test]
fn the_simulated_disk_is_stricter_than_the_real_one() {
    let (host, world) = prepared(3);
    let mut file = host.disk.create(Path::new(FILE)).expect("created");
    file.append(b"x").expect("written");
    let read = host.disk.open_read(Path::new(FILE)).expect("opened");
    host.disk.remove_file(Path::new(FILE)).expect("removed");
    assert!(read.read_at(0, &mut [0]).is_err() && file.append(b"y").is_err());
    let error = host.disk.rename(Path::new("/db/wal"), Path::new("/db/w")).expect_err("a directory");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(host.disk.exists(Path::new("relative")).is_err());
    world.set_disk_bytes_max(10);
    let mut file = host.disk.create(Path::new(FILE)).expect("created");
    assert_eq!(file.append(&[0; 11]).expect_err("full").kind(), ErrorKind::StorageFull);
    assert_eq!(host.disk.free_bytes(Path::new("/")).expect("asked"), 10);
    host.disk.remove_dir_all(Path::new("/db")).expect("removed");
    assert!(host.disk.list(Path::new("/db")).expect("listed").is_empty());
}

#[test]
fn same_seed_same_trace_and_another_seed_another() {
    let run = |seed: u64, text: &[u8]| {
        let (host, world) = prepared(seed);
        let mut file = host.disk.create(Path::new(FILE)).expect("created");
        file.append(text).expect("written");
        host.clock.sleep(Duration::from_secs(1));
        let late = host.clock.now_ms();
        world.crash();
        let host = world.reopen();
        let found = host.disk.list(Path::new("/db/wal")).expect("listed");
        (late, random::uuid_bytes(&*host.random), found, world.ops(), world.trace_hash())
    };
    assert_eq!(run(5, b"a"), run(5, b"a"));
    assert_ne!(run(5, b"a").4, run(5, b"b").4, "content is part of the trace");
    assert_ne!(run(5, b"a").4, run(6, b"a").4);
}
