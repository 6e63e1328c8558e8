//! The log over a simulated store: what an append says is true, whatever goes wrong on the way.

use host::{SimClient, SimHost, SimStore, SimWorld};

use super::*;

fn one(text: &str) -> Vec<Bytes> {
    vec![Bytes::copy_from_slice(text.as_bytes())]
}

struct Writer {
    log: ObjectLog,
    host: Host,
    client: SimClient,
    _world: SimWorld,
    /// What it was told of the log, from its beginning.
    known: Vec<Bytes>,
}

fn config() -> ObjectLogConfig {
    ObjectLogConfig { patience: Duration::from_millis(10), records_min: 0, ..ObjectLogConfig::default() }
}

fn open_as(store: &SimStore, seed: u64, plant: Option<&'static str>) -> Result<Writer, LogError> {
    let (host, world) = SimHost::new(seed);
    if let Some(mistake) = plant {
        world.plant(mistake);
    }
    let client = store.client();
    let mut known = Vec::new();
    let mut deliver = |record: ReplayedRecord| {
        known.extend(record.transactions);
        Ok(())
    };
    let log = ObjectLog::open(&host, Arc::new(client.clone()), 0, &mut deliver, config())?;
    Ok(Writer { log, host, client, _world: world, known })
}

fn open(store: &SimStore, seed: u64) -> Writer {
    open_as(store, seed, None).unwrap()
}

impl Writer {
    fn append(&mut self, text: &str) -> Result<Appended, AppendError> {
        let appended = self.log.append(&one(text));
        match &appended {
            Ok(Appended::Committed { .. }) => self.known.extend(one(text)),
            Ok(Appended::Conflict(records)) => self.learn(records),
            _ => {}
        }
        appended
    }

    fn learn(&mut self, records: &[ReplayedRecord]) {
        records.iter().for_each(|record| self.known.extend(record.transactions.iter().cloned()));
    }
}

#[test]
fn whoever_comes_second_hears_what_came_first() {
    let store = SimStore::new(1);
    let (mut first, mut second) = (open(&store, 1), open(&store, 2));
    assert!(matches!(first.append("a"), Ok(Appended::Committed { seq: 1, .. })));
    assert!(matches!(first.append("b"), Ok(Appended::Committed { seq: 2, .. })));
    let Ok(Appended::Conflict(records)) = second.append("c") else { panic!() };
    assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 2]);
    assert!(matches!(second.append("c"), Ok(Appended::Committed { seq: 3, .. })));
    let tail = first.log.tail().unwrap();
    assert_eq!((tail.has(3).unwrap(), tail.has(4).unwrap()), (true, false));
    let records = first.log.others().unwrap();
    first.learn(&records);
    assert!(first.log.others().unwrap().is_empty());
    assert_eq!(first.known, open(&store, 3).known);
}

#[test]
fn a_store_that_is_gone_leaves_a_record_open_and_comes_back() {
    let store = SimStore::new(1);
    let mut writer = open(&store, 1);
    assert!(matches!(writer.append("a"), Ok(Appended::Committed { .. })));
    store.set_gone(true);
    let Ok(Appended::Unresolved { seq: 2, .. }) = writer.append("b") else { panic!() };
    let refused = writer.append("c");
    assert!(
        matches!(refused, Err(AppendError::Refused(AppendRefused::Unreachable { seq: 2, .. }))),
        "{refused:?}"
    );
    assert!(writer.log.others().is_err() && writer.log.poisoned().is_none());
    store.set_gone(false);
    let Ok(Appended::Conflict(records)) = writer.append("c") else { panic!() };
    assert_eq!(records[0].transactions, one("b"), "the lost record is the first to be known of");
    assert!(matches!(writer.append("c"), Ok(Appended::Committed { seq: 3, .. })));
    assert_eq!(open(&store, 2).known, [one("a"), one("b"), one("c")].concat());
}

#[test]
fn damage_and_gaps_are_named() {
    let store = SimStore::new(1);
    let (mut writer, mut reader) = (open(&store, 1), open(&store, 2));
    for text in ["a", "b", "c"] {
        assert!(matches!(writer.append(text), Ok(Appended::Committed { .. })));
    }
    store.damage("stream/0/log/00000000000000000002", 90, 1);
    let error = open_as(&store, 3, None).err().unwrap().to_string();
    assert!(error.contains("00000000000000000002 is corrupt") && error.contains("checksum"), "{error}");
    let records = reader.log.others().unwrap();
    assert_eq!(records.len(), 1, "what is sound is followed");
    assert!(matches!(reader.append("d"), Ok(Appended::Unresolved { seq: 2, .. })), "it may be ours");
    assert!(matches!(reader.append("d"), Err(AppendError::Refused(AppendRefused::Unreachable { .. }))));
    assert!(matches!(writer.append("d"), Ok(Appended::Committed { .. })), "who knows it already goes on");
    store.damage("stream/0/log/00000000000000000002", 90, 1);
    assert!(
        matches!(reader.append("d"), Ok(Appended::Conflict(records)) if records.len() == 3),
        "it was repaired"
    );
    writer.client.delete("stream/0/log/00000000000000000002").unwrap();
    let error = open_as(&store, 4, None).err().unwrap().to_string();
    assert!(error.contains("record 2 is missing, and there is record 4"), "{error}");
}

#[test]
fn who_slept_for_longer_than_records_are_kept_is_told() {
    for plant in [None, Some("commitlog.no_boundary")] {
        let store = SimStore::new(1);
        let (mut awake, mut asleep) = (open(&store, 1), open_as(&store, 2, plant).unwrap());
        for text in ["a", "b", "c", "d"] {
            assert!(matches!(awake.append(text), Ok(Appended::Committed { .. })));
        }
        store.advance(Duration::from_secs(25 * 3600));
        assert!(matches!(awake.append("e"), Ok(Appended::Committed { .. })));
        let tail = awake.log.tail().unwrap();
        tail.drop_before(5).unwrap();
        assert_eq!(store.keys().len(), 6, "what goes is announced first");
        store.advance(Duration::from_secs(700));
        assert!(matches!(awake.append("f"), Ok(Appended::Committed { .. })));
        tail.drop_before(5).unwrap();
        let left: Vec<String> = store.keys();
        assert_eq!(left[0], format!("boundary/{:020}", 3), "{left:?}");
        assert_eq!(left.len(), 4, "{left:?}");
        asleep.host.clock.sleep(Duration::from_secs(25 * 3600));
        let appended = asleep.append("z");
        match plant {
            None => {
                assert!(matches!(appended, Ok(Appended::Unresolved { .. })), "{appended:?}");
                assert!(asleep.log.is_left_behind() && asleep.log.others().is_err());
                let why = asleep.log.poisoned().unwrap();
                assert!(why.contains("start it again"), "{why}");
            }
            Some(_) => {
                assert!(matches!(appended, Ok(Appended::Committed { seq: 1, .. })), "the mistake shows")
            }
        }
    }
}

/// Three writers at a store that makes mistakes, one of which may stop for good.
fn history(seed: u64, plant: Option<&'static str>) -> (u64, Result<(), String>) {
    let store = SimStore::new(seed);
    let mut writers: Vec<Writer> =
        (0..3).map(|number| open_as(&store, seed * 3 + number, plant).unwrap()).collect();
    store.fail_one_in(4);
    let (mut told, mut in_doubt) = (Vec::new(), Vec::new());
    for step in 0..60u64 {
        let number = usize::try_from((seed.wrapping_mul(31).wrapping_add(step * step + step)) % 3).unwrap();
        let writer = &mut writers[number];
        if step == 40 {
            writer.client.die_after(1 + seed % 3);
        }
        let text = format!("{number}.{step}");
        match writer.append(&text) {
            Ok(Appended::Committed { seq, .. }) => told.push((seq, text)),
            Ok(Appended::Unresolved { .. }) => in_doubt.push(text),
            Ok(Appended::Conflict(_)) | Err(AppendError::Refused(_)) => {}
            Err(AppendError::Poisoned(why)) if plant.is_none() => return (0, Err(why)),
            Err(AppendError::Poisoned(_)) => {}
        }
    }
    store.fail_one_in(0);
    let read = match open_as(&store, seed + 1_000_000, None) {
        Ok(read) => read,
        Err(error) => return (0, Err(error.to_string())),
    };
    (store.trace_hash(), check(&read.known, &told, &in_doubt, &writers))
}

fn check(
    log: &[Bytes],
    told: &[(u64, String)],
    in_doubt: &[String],
    writers: &[Writer],
) -> Result<(), String> {
    let text =
        |seq: u64| log.get(usize::try_from(seq - 1).unwrap()).map(|bytes| String::from_utf8_lossy(bytes));
    if let Some(lost) = told.iter().find(|(seq, told)| text(*seq).as_deref() != Some(told)) {
        return Err(format!("told {lost:?}, there is {:?}", text(lost.0)));
    }
    let known = |bytes: &Bytes| {
        told.iter().map(|(_, told)| told).chain(in_doubt).any(|told| told.as_bytes() == &bytes[..])
    };
    if let Some(nobody) = log.iter().find(|bytes| !known(bytes)) {
        return Err(format!("{nobody:?} is there, and was said not to be"));
    }
    let mut once = log.to_vec();
    once.sort();
    once.dedup();
    if once.len() != log.len() {
        return Err("a record is there twice".to_owned());
    }
    let behind = writers.iter().find(|writer| !log.starts_with(&writer.known));
    behind.map_or(Ok(()), |writer| Err(format!("a writer knows {:?}", writer.known)))
}

#[test]
fn what_an_append_says_is_true_whatever_goes_wrong() {
    for seed in 0..400 {
        let (_, checked) = history(seed, None);
        assert_eq!(checked, Ok(()), "seed {seed}");
    }
    assert_eq!(history(7, None).0, history(7, None).0);
}

#[test]
fn planted_mistakes_are_found() {
    for mistake in
        ["commitlog.exists_is_failure", "commitlog.timeout_is_failure", "commitlog.next_while_open"]
    {
        let found = (0..400).find(|seed| history(*seed, Some(mistake)).1.is_err());
        assert!(found.is_some(), "{mistake}");
    }
}
