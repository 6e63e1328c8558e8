//! The log on a simulated and on a real disk: order, limits, damage, failures.

use std::path::Path;

use host::{SimHost, SimWorld};

use super::*;
use crate::replay::{Tail, dump};
use crate::segment;

mod anchor;
mod cost;
mod crash;

const DIR: &str = "/db/stream/0/wal";
const SMALL: LogConfig = LogConfig { segment_bytes_max: 1024, record_bytes_max: 700, stream: 4 };

fn folder() -> LogFolder {
    LogFolder::below(Path::new("/db"))
}

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// Opens the log and gives what it replayed: seqs and the first transaction of each as text.
fn open_after(
    host: &Host,
    after: u64,
    config: LogConfig,
) -> Result<(LocalLog, Vec<(u64, String)>), LogError> {
    let mut seen = Vec::new();
    let mut deliver = |record: ReplayedRecord| {
        seen.push((record.seq, String::from_utf8_lossy(&record.transactions[0]).into_owned()));
        Ok(())
    };
    let log = LocalLog::open(host, &folder(), after, &mut deliver, config)?;
    Ok((log, seen))
}

fn open(host: &Host) -> Result<(LocalLog, Vec<(u64, String)>), LogError> {
    open_after(host, 0, SMALL)
}

/// Appends a record and gives its seq.
#[track_caller]
fn put(log: &mut LocalLog, transactions: &[Bytes]) -> u64 {
    match log.append(transactions) {
        Ok(Appended::Committed { seq, .. }) => seq,
        other => panic!("{other:?}"),
    }
}

/// A log with records "record 1" to "record n", closed.
fn filled(seed: u64, records: u64) -> (Host, SimWorld) {
    let (host, world) = SimHost::new(seed);
    let (mut log, _) = open(&host).expect("opened");
    for seq in 1..=records {
        assert_eq!(put(&mut log, &[text(&format!("record {seq}"))]), seq);
    }
    (host, world)
}

fn expected(seqs: impl Iterator<Item = u64>) -> Vec<(u64, String)> {
    seqs.map(|seq| (seq, format!("record {seq}"))).collect()
}

fn files(host: &Host) -> Vec<u64> {
    segment::list(&*host.disk, Path::new(DIR)).expect("listed").into_iter().map(|(first, _)| first).collect()
}

#[test]
fn records_are_replayed_in_order_across_segments_and_the_epoch_rises() {
    let (host, _) = filled(1, 30);
    assert!(files(&host).len() > 3, "{:?}", files(&host));
    let (mut log, seen) = open(&host).expect("opened");
    assert_eq!(seen, expected(1..=30));
    assert_eq!((log.next_seq(), log.epoch()), (31, 2));
    put(&mut log, &[text("record 31")]);
    drop(log);
    for after in [0, 1, 7, 8, 9, 29, 30, 31] {
        let (log, seen) = open_after(&host, after, SMALL).expect("opened");
        assert_eq!(seen, expected(after + 1..=31));
        assert_eq!(log.epoch(), 3);
    }
}

#[test]
fn opening_creates_no_segment_and_a_second_opener_is_told() {
    let (host, _) = SimHost::new(1);
    let (log, seen) = open(&host).expect("opened");
    assert!(seen.is_empty() && files(&host).is_empty());
    let error = open(&host).expect_err("held");
    assert_eq!(error.to_string(), format!("log {DIR} is in use by another process"));
    drop(log);
    assert!(open(&host).is_ok());
}

#[test]
fn the_same_on_a_real_disk() {
    let dir = tempfile::tempdir().expect("tempdir");
    let folder = LogFolder::below(dir.path());
    let dir = folder.wal.clone();
    let host = Host::system(1 << 20).expect("host");
    let mut none = |_| Ok(());
    let mut log = LocalLog::open(&host, &folder, 0, &mut none, LogConfig::default()).expect("opened");
    for n in 0..20_u8 {
        put(&mut log, &[Bytes::from(vec![n; 100]), Bytes::new()]);
    }
    let error = LocalLog::open(&host, &folder, 0, &mut none, LogConfig::default()).expect_err("held");
    assert!(matches!(error, LogError::Locked { .. }));
    drop(log);
    let entries = host.disk.list(&dir).expect("listed");
    assert_eq!(
        entries.iter().map(|e| (e.name.as_str(), e.bytes)).collect::<Vec<_>>(),
        [("00000000000000000001.seg", 1 << 20), ("LOCK", 0)]
    );
    let mut seen = Vec::new();
    let mut deliver = |record: ReplayedRecord| {
        assert_eq!(record.transactions.len(), 2);
        seen.push(record.transactions[0].clone());
        Ok(())
    };
    let log = LocalLog::open(&host, &folder, 5, &mut deliver, LogConfig::default()).expect("opened");
    assert_eq!(log.next_seq(), 21);
    assert_eq!(seen, (5..20_u8).map(|n| Bytes::from(vec![n; 100])).collect::<Vec<_>>());
}

#[test]
fn segments_grow_in_steps_and_never_past_their_limit() {
    let (host, _) = SimHost::new(1);
    let config = LogConfig { segment_bytes_max: 5 << 20, record_bytes_max: 3 << 20, stream: 0 };
    let (mut log, _) = open_after(&host, 0, config).expect("opened");
    let mut lengths = Vec::new();
    for _ in 0..6 {
        put(&mut log, &[Bytes::from(vec![1; 900 << 10])]);
        lengths.push(
            host.disk.list(Path::new(DIR)).expect("listed").iter().map(|e| e.bytes >> 20).collect::<Vec<_>>(),
        );
    }
    assert_eq!(lengths, [vec![1, 0], vec![2, 0], vec![4, 0], vec![4, 0], vec![5, 0], vec![5, 1, 0]]);
}

#[test]
fn a_record_past_the_limit_is_refused_with_the_limit_and_the_log_goes_on() {
    let (host, _) = filled(1, 1);
    let (mut log, _) = open(&host).expect("opened");
    let error = log.append(&[Bytes::from(vec![0; 700])]).expect_err("too large");
    assert_eq!(error.to_string(), "record refused: it has 792 bytes, the limit is 700");
    let error = log.append(&[]).expect_err("empty");
    assert!(matches!(error, AppendError::Refused(AppendRefused::Empty)));
    assert_eq!(put(&mut log, &[text("record 2")]), 2);
    let narrow = LogConfig { segment_bytes_max: 500, ..SMALL };
    drop(log);
    assert_eq!(open_after(&host, 0, narrow).expect("opened").0.record_bytes_limit(), 436);
}

#[test]
fn a_full_disk_refuses_records_and_takes_them_again_when_there_is_room() {
    let (host, world) = filled(1, 6);
    let (mut log, _) = open(&host).expect("opened");
    world.set_disk_bytes_max(1100);
    let mut refusals = 0;
    for _ in 0..12 {
        let seq = log.next_seq();
        match log.append(&[text(&format!("record {seq}"))]) {
            Ok(Appended::Committed { seq: appended, .. }) => assert_eq!(appended, seq),
            Err(AppendError::Refused(AppendRefused::Space(_))) => refusals += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(refusals > 3);
    world.set_disk_bytes_max(1 << 20);
    let seq = log.next_seq();
    put(&mut log, &[text(&format!("record {seq}"))]);
    drop(log);
    assert_eq!(open(&host).expect("opened").1, expected(1..=seq));
}

#[test]
fn a_failed_sync_leaves_the_outcome_unknown_and_poisons_the_log_until_it_is_opened_again() {
    let (host, world) = filled(1, 2);
    let (mut log, _) = open(&host).expect("opened");
    // The next calls are the write and the sync of the record.
    world.fail_after(2);
    let appended = log.append(&[text("record 3")]).expect("nobody knows");
    assert!(matches!(appended, Appended::Unresolved { seq: 3, .. }), "{appended:?}");
    assert_eq!((log.next_seq(), log.poisoned().is_some()), (3, true));
    assert!(matches!(log.append(&[text("record 4")]), Err(AppendError::Poisoned(_))));
    drop(log);
    // The bytes are still seen, and whoever sees them must not lose them in the next crash.
    let host = world.restart_program();
    let (log, seen) = open(&host).expect("opened");
    assert_eq!(seen, expected(1..=3));
    drop(log);
    assert_eq!(open(&world.reopen()).expect("opened").1, expected(1..=3));
}

#[cfg(debug_assertions)]
#[test]
fn a_segment_that_could_not_be_made_is_made_anew() {
    let (host, _) = SimHost::new(1);
    let (mut log, _) = open(&host).expect("opened");
    host.faults.arm("commitlog.new_segment.sync", 0, host::FaultAction::Fail);
    let error = log.append(&[text("record 1")]).expect_err("no segment");
    assert!(matches!(error, AppendError::Refused(AppendRefused::Space(_))), "{error}");
    assert!(error.to_string().contains(DIR), "{error}");
    assert_eq!(files(&host), [1], "it is left lying");
    put(&mut log, &[text("record 1")]);
    drop(log);
    assert_eq!(open(&host).expect("opened").1, expected(1..=1));
}

#[test]
fn segments_below_a_checkpoint_are_deleted_except_one_with_a_record() {
    let (host, _) = filled(1, 30);
    let (mut log, _) = open(&host).expect("opened");
    let all = files(&host);
    assert!(log.bytes_since_checkpoint() > 30 * 88);
    log.drop_before(all[2] + 1).expect("dropped");
    assert_eq!(files(&host), all[2..]);
    log.drop_before(31).expect("dropped");
    assert_eq!(files(&host), all[all.len() - 1..]);
    assert_eq!(log.bytes_since_checkpoint(), 0);
    put(&mut log, &[text("record 31")]);
    assert_eq!(log.bytes_since_checkpoint(), 88 + 4 + 9);
    drop(log);
    let (log, seen) = open_after(&host, 30, SMALL).expect("opened");
    assert_eq!(seen, expected(31..=31));
    assert_eq!((log.epoch(), log.bytes_since_checkpoint()), (3, 101));
    drop(log);
    let error = open_after(&host, 5, SMALL).expect_err("records are gone");
    assert!(error.to_string().contains("records from 6 on are needed"), "{error}");
    let error = open_after(&host, 40, SMALL).expect_err("the log is older than its checkpoint");
    assert!(error.to_string().contains("the checkpoint is at record 40, the log ends before 32"), "{error}");
}

#[test]
fn a_missing_segment_and_another_stream_are_corruption() {
    let (host, _) = filled(1, 30);
    let error = open_after(&host, 0, LogConfig { stream: 5, ..SMALL }).expect_err("another stream");
    assert!(error.to_string().contains("segment of stream 4"), "{error}");
    let second = files(&host)[1];
    host.disk.remove_file(&path_of(Path::new(DIR), second)).expect("removed");
    let error = open(&host).expect_err("a gap");
    assert!(error.to_string().contains(&format!("it should begin with record {second}")), "{error}");
}

#[test]
fn a_segment_of_another_log_is_found_by_the_chain() {
    let (host, _) = filled(1, 30);
    let (other, _) = filled(2, 30);
    let path = path_of(Path::new(DIR), files(&host)[1]);
    let foreign = host::read_all(&*other.disk, &path).expect("read");
    host::replace_file(&*host.disk, &path, &foreign).expect("replaced");
    let error = open(&host).expect_err("not our record");
    let what = format!("record {} does not follow the one before it", files(&host)[1]);
    assert!(error.to_string().contains(&what), "{error}");
}

#[test]
fn an_error_of_the_state_machine_ends_the_replay_and_frees_the_lock() {
    let (host, _) = filled(1, 3);
    let mut refuse = |record: ReplayedRecord| {
        Err(LogError::Replay { seq: record.seq, source: "unknown op kind 77".into() })
    };
    let error = LocalLog::open(&host, &folder(), 1, &mut refuse, SMALL).expect_err("refused");
    assert_eq!(error.to_string(), "record 2 cannot be applied: unknown op kind 77");
    assert!(open(&host).is_ok());
}

/// Every bit of a segment matters: damage to a record with another behind it refuses to open, damage to the
/// last record reads as a torn end, damage to the zeros is wiped.
#[test]
fn a_damaged_byte_is_found_wherever_it_is() {
    let path = path_of(Path::new(DIR), 1);
    let (host, _) = filled(1, 4);
    let records = dump(&*host.disk, &path).expect("read").expect("used").records;
    let (third, last) = (records[2].offset + records[2].bytes, records[3].offset + records[3].bytes);
    for offset in 0..1024 {
        let (host, world) = filled(1, 4);
        world.damage(&path, offset, 0x10).expect("there is such a byte");
        let opened = open(&host);
        if offset < third {
            let error = opened.expect_err("an acknowledged record or the header is damaged");
            assert!(matches!(error, LogError::Corruption { .. }), "byte {offset}: {error}");
            continue;
        }
        let (mut log, seen) = opened.expect("a torn end");
        let kept = if offset < last { 3 } else { 4 };
        assert_eq!(seen, expected(1..=kept), "byte {offset}");
        let tail = dump(&*host.disk, &path).expect("read").expect("used").tail;
        assert!(matches!(tail, Tail::Clean { .. }), "byte {offset} is wiped: {tail:?}");
        put(&mut log, &[text(&format!("record {}", kept + 1))]);
        drop(log);
        assert_eq!(open(&world.reopen()).expect("opened").1, expected(1..=kept + 1), "byte {offset}");
    }
}

#[test]
fn rows_that_imitate_a_later_record_do_not_turn_a_torn_end_into_corruption() {
    let path = path_of(Path::new(DIR), 1);
    let (host, world) = SimHost::new(1);
    let (mut log, _) = open(&host).expect("opened");
    put(&mut log, &[text("record 1")]);
    let envelope =
        Envelope { stream: 4, seq: 3, epoch: 1, commit_time_ms: 0, uuid: [0; 16], previous_hash: [0; 16] };
    let mut imitation = Vec::new();
    record::encode(&envelope, &[text("record 3")], 0, &mut imitation).expect("encoded");
    put(&mut log, &[imitation.into()]);
    drop(log);
    let offset = dump(&*host.disk, &path).expect("read").expect("used").records[1].offset;
    world.damage(&path, offset, 1).expect("damaged");
    assert_eq!(open(&host).expect("a torn end").1, expected(1..=1));
}

#[test]
fn a_dump_shows_records_and_what_is_behind_them_beside_a_running_writer() {
    let path = path_of(Path::new(DIR), 1);
    let (host, world) = SimHost::new(1);
    let (mut log, _) = open(&host).expect("opened");
    put(&mut log, &[text("one"), text("two")]);
    put(&mut log, &[text("three")]);
    let shown = dump(&*host.disk, &path).expect("read").expect("used");
    assert_eq!((shown.header.stream, shown.header.first_seq), (4, 1));
    assert_eq!(shown.records[1].previous_hash, shown.records[0].hash);
    assert_eq!(shown.records[0].record.transactions, [text("one"), text("two")]);
    let end = shown.records[1].offset + shown.records[1].bytes;
    assert_eq!(shown.tail, Tail::Clean { zeros: 1024 - end });
    world.damage(&path, end - 1, 1).expect("damaged");
    let tail = dump(&*host.disk, &path).expect("read").expect("used").tail;
    let (offset, bytes) = (shown.records[1].offset, shown.records[1].bytes);
    assert_eq!(tail, Tail::Torn { offset, bytes, why: "frame checksum does not match".to_owned() });
    world.damage(&path, 70, 1).expect("damaged");
    let tail = dump(&*host.disk, &path).expect("read").expect("used").tail;
    assert!(matches!(tail, Tail::Damaged { offset: 64, later_seq: 2, .. }), "{tail:?}");
}
