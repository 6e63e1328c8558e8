//! What is missing is noticed, and what is there is never called missing.

use super::*;
use crate::anchor::{AnchorCopy, newest_of, read_anchors};

fn anchor(host: &Host) -> Anchor {
    newest_of(&read_anchors(&*host.disk, &folder()).expect("read")).expect("a sound copy")
}

/// A log of 30 records over several segments, closed in order or not.
fn closed(pinned: bool) -> (Host, SimWorld) {
    let (host, world) = SimHost::new(7);
    let (mut log, _) = open(&host).expect("opened");
    for seq in 1..=30 {
        assert_eq!(put(&mut log, &[text(&format!("record {seq}"))]), seq);
    }
    if pinned {
        log.pin().expect("pinned");
    }
    (host, world)
}

fn cut(host: &Host, path: &Path, bytes: u64) {
    let mut file = host.disk.open_append(path).expect("opened");
    file.set_len(bytes).expect("cut");
    file.sync_data().expect("synced");
}

fn lacking(host: &Host, what: &str) -> String {
    let before: Vec<_> =
        [Path::new("/db"), Path::new(DIR)].map(|dir| host.disk.list(dir).expect("listed")).into();
    let error = open(host).expect_err(what);
    assert!(matches!(error, LogError::Lacking { .. }), "{what}: {error}");
    let after: Vec<_> =
        [Path::new("/db"), Path::new(DIR)].map(|dir| host.disk.list(dir).expect("listed")).into();
    assert_eq!(before, after, "{what}: nothing was changed");
    error.to_string()
}

#[test]
fn an_anchor_comes_with_the_first_segment_and_follows_segments_opens_and_closes() {
    let (host, _) = SimHost::new(1);
    let (mut log, _) = open(&host).expect("opened");
    assert!(!host.disk.exists(&folder().anchors[0]).expect("asked"), "an empty log has nothing to say");
    put(&mut log, &[text("record 1")]);
    let first = anchor(&host);
    assert_eq!((first.newest_segment, first.newest_segment_bytes, first.synced_seq), (1, 1024, 0));
    for seq in 2..=30 {
        put(&mut log, &[text(&format!("record {seq}"))]);
    }
    let newest = *files(&host).last().expect("segments");
    assert_eq!((anchor(&host).newest_segment, anchor(&host).synced_seq), (newest, newest - 1));
    log.pin().expect("pinned");
    let pinned = anchor(&host);
    assert_eq!((pinned.synced_seq, pinned.root_id), (30, first.root_id));
    log.pin_checkpoint(20, 11).expect("pinned");
    log.hold_until(77).expect("pinned");
    drop(log);
    let (log, _) = open(&host).expect("opened");
    let opened = *log.anchor();
    assert_eq!((opened.checkpoint_seq, opened.needed_from, opened.held_until_ms), (20, 11, 77));
    assert!(opened.generation > pinned.generation && log.findings().is_empty());
    let copies = read_anchors(&*host.disk, &folder()).expect("read");
    assert_eq!(copies, [AnchorCopy::Sound(opened), AnchorCopy::Sound(opened)]);
}

#[test]
fn a_missing_or_shorter_segment_is_named_and_nothing_is_changed() {
    for pinned in [false, true] {
        let (host, _) = closed(pinned);
        let newest = path_of(Path::new(DIR), *files(&host).last().expect("segments"));
        let whole = host::read_all(&*host.disk, &newest).expect("read");
        host.disk.remove_file(&newest).expect("removed");
        let name = newest.display().to_string();
        assert!(lacking(&host, "missing").contains(&name));
        for bytes in [0, 10, 512, 1014] {
            host::replace_file(&*host.disk, &newest, &whole).expect("put back");
            cut(&host, &newest, bytes);
            assert!(lacking(&host, "cut").contains(&format!("it has {bytes} bytes and had 1024")));
        }
        host::replace_file(&*host.disk, &newest, &whole).expect("put back");
        assert_eq!(open(&host).expect("all is there again").1, expected(1..=30));
        for first in files(&host) {
            host.disk.remove_file(&path_of(Path::new(DIR), first)).expect("removed");
        }
        assert!(lacking(&host, "no segment at all").contains("the file is missing"));
    }
}

#[test]
fn a_record_that_was_known_as_synced_is_no_torn_end() {
    let (host, world) = closed(true);
    let newest = path_of(Path::new(DIR), *files(&host).last().expect("segments"));
    let last = dump(&*host.disk, &newest).expect("read").expect("used").records.pop().expect("a record");
    world.damage(&newest, last.offset + last.bytes - 5, 1).expect("damaged");
    let error = lacking(&host, "the last record is damaged");
    assert!(error.contains("it ends at record 29, and record 30 had been synced"), "{error}");
    world.damage(&newest, last.offset + last.bytes - 5, 1).expect("healed");
    let (mut log, _) = open(&host).expect("opened");
    put(&mut log, &[text("record 31")]);
    drop(log);
    // Not known as synced: it may be torn, and whoever opens is told.
    let newest = path_of(Path::new(DIR), *files(&host).last().expect("segments"));
    let last = dump(&*host.disk, &newest).expect("read").expect("used").records.pop().expect("a record");
    world.damage(&newest, last.offset + last.bytes - 5, 1).expect("damaged");
    let (log, seen) = open(&host).expect("a torn end");
    assert_eq!(seen, expected(1..=30));
    let (path, offset, bytes) = (newest, last.offset, last.bytes);
    assert_eq!(log.findings(), [LogFinding::TornEnd { path, offset, bytes, last_seq: 30 }]);
    assert!(!log.findings()[0].is_damage());
}

#[test]
fn an_older_or_another_log_in_its_place_is_noticed() {
    let (host, _) = filled(1, 5);
    let path = path_of(Path::new(DIR), 1);
    let older = host::read_all(&*host.disk, &path).expect("read");
    let (mut log, _) = open(&host).expect("opened");
    for seq in 6..=8 {
        put(&mut log, &[text(&format!("record {seq}"))]);
    }
    log.pin().expect("pinned");
    drop(log);
    host::replace_file(&*host.disk, &path, &older).expect("replaced");
    assert!(lacking(&host, "older").contains("it ends at record 5, and record 8 had been synced"));
    let (other, _) = filled(2, 8);
    host::replace_file(&*host.disk, &path, &host::read_all(&*other.disk, &path).expect("read"))
        .expect("replaced");
    assert!(lacking(&host, "another").contains("its record 8 is another one than was synced"));
}

#[test]
fn one_lost_copy_is_written_again_and_two_are_reported() {
    let missing = |host: &Host, copy: usize| host.disk.remove_file(&folder().anchors[copy]).expect("removed");
    let damaged =
        |world: &SimWorld, copy: usize| world.damage(&folder().anchors[copy], 60, 1).expect("damaged");
    for copy in [0, 1] {
        let (host, world) = closed(true);
        missing(&host, copy);
        let (path, why) = (folder().anchors[copy].clone(), "it is missing".to_owned());
        assert_eq!(
            open(&host).expect("opened").0.findings(),
            [LogFinding::AnchorRepaired { path: path.clone(), why }]
        );
        assert!(open(&host).expect("opened").0.findings().is_empty(), "it is there again");
        damaged(&world, copy);
        let why = "header checksum does not match".to_owned();
        assert_eq!(open(&host).expect("opened").0.findings(), [LogFinding::AnchorRepaired { path, why }]);
        assert!(open(&host).expect("opened").0.findings().is_empty(), "it is whole again");
    }
    let (host, world) = closed(true);
    missing(&host, 0);
    damaged(&world, 1);
    let path = folder().anchors[0].clone();
    let (log, seen) = open(&host).expect("the log is whole");
    assert_eq!(seen, expected(1..=30));
    assert_eq!(log.findings(), [LogFinding::AnchorLost { path: path.clone(), last_seq: 30 }]);
    drop(log);
    assert!(open(&host).expect("opened").0.findings().is_empty());
    missing(&host, 0);
    missing(&host, 1);
    assert_eq!(open(&host).expect("opened").0.findings(), [LogFinding::AnchorLost { path, last_seq: 30 }]);
}

#[test]
fn without_an_anchor_a_segment_shorter_than_it_was_made_is_damage_all_the_same() {
    let (host, _) = filled(1, 5);
    for path in folder().anchors {
        host.disk.remove_file(&path).expect("removed");
    }
    cut(&host, &path_of(Path::new(DIR), 1), 600);
    let error = lacking(&host, "cut");
    assert!(error.contains("it was cut: it has 600 bytes and was made with 1024 at least"), "{error}");
}

#[test]
fn a_missing_checkpoint_is_named_when_the_log_does_not_reach_back() {
    let (host, _) = closed(true);
    let (mut log, _) = open(&host).expect("opened");
    let all = files(&host);
    log.pin_checkpoint(20, all[2]).expect("pinned");
    log.drop_before(all[2]).expect("dropped");
    drop(log);
    assert!(open_after(&host, 20, SMALL).is_ok());
    let error = open(&host).expect_err("records are gone");
    let what =
        format!("it begins at record {}: the records before are in checkpoint 20, which is missing", all[2]);
    assert!(error.to_string().contains(&what), "{error}");
}

#[test]
fn a_folder_without_anchors_gets_them_once() {
    let (host, _) = closed(false);
    // As an older version left it: no anchor, and no id in the segments.
    for path in folder().anchors {
        host.disk.remove_file(&path).expect("removed");
    }
    for first in files(&host) {
        let path = path_of(Path::new(DIR), first);
        let whole = host::read_all(&*host.disk, &path).expect("read");
        let mut older = whole[..60].to_vec();
        older[40..56].fill(0);
        older.extend_from_slice(&crc32c::crc32c(&older).to_le_bytes());
        older.extend_from_slice(&whole[64..]);
        host::replace_file(&*host.disk, &path, &older).expect("replaced");
    }
    let (log, seen) = open(&host).expect("opened");
    assert_eq!(seen, expected(1..=30));
    assert!(log.findings().is_empty(), "{:?}", log.findings());
    assert_eq!((log.anchor().synced_seq, anchor(&host).synced_seq), (30, 30));
}

#[test]
fn a_deleted_lock_file_lets_nobody_in() {
    let dir = tempfile::tempdir().expect("tempdir");
    let folder = LogFolder::below(dir.path());
    let host = Host::system(1 << 20).expect("host");
    let open = || LocalLog::open(&host, &folder, 0, &mut |_| Ok(()), LogConfig::default());
    let mut log = open().expect("opened");
    put(&mut log, &[text("record 1")]);
    host.disk.remove_file(&folder.wal.join("LOCK")).expect("removed");
    assert!(matches!(open().expect_err("the folder is locked"), LogError::Locked { .. }));
    put(&mut log, &[text("record 2")]);
    drop(log);
    assert_eq!(open().expect("opened").next_seq(), 3);
}
