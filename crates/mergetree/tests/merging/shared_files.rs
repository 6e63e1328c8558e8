//! Three processes write, merge, collect and sweep the files of one table in a simulated store that makes mistakes.
//!
//! A part may wait for its record for days, a reader may hold a snapshot for as long as it is heard of, a process ends at any
//! request. At the end every part that is named has its file, the rows are those that were acknowledged, and a last sweep leaves no
//! file without a name.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use bytes::{Bytes, BytesMut};
use catalog::{
    Catalog, CatalogConfig, CommitOutcome, ObjectLogConfig, Op, RefusedWhy, SharedRoot, Snapshot, Transaction,
};
use host::{DirEntry, DiskRead, Host, Objects, SimClient, SimHost, SimStore, SimWorld, StoreClock};
use mergetree::merge::MergeOutcome;
use mergetree::{Table, collect, sweep};
use model::{SealedPart, Seq, mix64};
use parts::{PartError, PartStorage, PartStore, UnsealedFile};

use crate::tables::{definition, handle_in, plan_of, read, run, write};

/// Parts as objects.
#[derive(Debug)]
struct ObjectParts(SimClient);

#[derive(Debug)]
struct ObjectFile {
    objects: SimClient,
    key: String,
    bytes: BytesMut,
}

#[derive(Debug)]
struct Whole(Bytes);

impl DiskRead for Whole {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let begin = usize::try_from(offset).unwrap();
        let found = self.0.get(begin..begin + buffer.len()).ok_or(ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(found);
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

/// Asks until it is answered, or the process ends.
fn again<T>(objects: &SimClient, ask: impl Fn() -> io::Result<T>) -> io::Result<T> {
    loop {
        match ask() {
            Err(error) if error.kind() != ErrorKind::NotFound && !objects.is_dead() => {}
            answered => return answered,
        }
    }
}

impl UnsealedFile for ObjectFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
    fn seal(&mut self) -> Result<(), PartError> {
        let bytes = self.bytes.clone().freeze();
        let sent = again(&self.objects, || self.objects.put(&self.key, bytes.clone()));
        sent.map_err(PartError::disk("send", Path::new(&self.key)))
    }
}

impl PartStorage for ObjectParts {
    fn create(&self, key: &str) -> Result<Box<dyn UnsealedFile>, PartError> {
        Ok(Box::new(ObjectFile { objects: self.0.clone(), key: key.to_owned(), bytes: BytesMut::new() }))
    }
    fn open(&self, key: &str) -> Result<Arc<dyn DiskRead>, PartError> {
        let bytes = again(&self.0, || self.0.get(key)).map_err(PartError::disk("open", Path::new(key)))?;
        Ok(Arc::new(Whole(bytes)))
    }
    fn find(&self, key: &str) -> Result<Option<u64>, PartError> {
        let found = again(&self.0, || self.0.head(key)).map_err(PartError::disk("find", Path::new(key)))?;
        Ok(found.map(|object| object.bytes))
    }
    fn list(&self, folder: &str) -> Result<Vec<DirEntry>, PartError> {
        let listed = again(&self.0, || self.0.list(&format!("{folder}/"), ""));
        let mut entries = BTreeMap::new();
        for object in listed.map_err(PartError::disk("list", Path::new(folder)))? {
            let rest = &object.key[folder.len() + 1..];
            let name = rest.split('/').next().unwrap().to_owned();
            let is_dir = name.len() < rest.len();
            entries.insert(name.clone(), DirEntry { name, bytes: object.bytes, is_dir });
        }
        Ok(entries.into_values().collect())
    }
    fn move_files(&self, _: &[(String, String)]) -> Result<(), PartError> {
        unreachable!("nothing is moved in a store")
    }
    fn delete(&self, key: &str) -> Result<(), PartError> {
        again(&self.0, || self.0.delete(key)).map_err(PartError::disk("delete", Path::new(key)))
    }
    fn delete_folder(&self, folder: &str) -> Result<(), PartError> {
        self.list(folder)?.iter().try_for_each(|entry| self.delete(&format!("{folder}/{}", entry.name)))
    }
    fn free_bytes(&self) -> Result<u64, PartError> {
        Ok(u64::MAX)
    }
    fn scratch(self: Arc<Self>) -> Arc<dyn PartStorage> {
        self
    }
    fn place(&self, key: &str) -> PathBuf {
        key.into()
    }
}

/// One process on its machine.
struct Node {
    machine: Host,
    _world: SimWorld,
    clock: Arc<StoreClock>,
    client: SimClient,
    table: Option<Table>,
    held: Option<(Snapshot, u32)>,
    /// Parts that wait for their record, and the numbers in them.
    sealed: Vec<(SealedPart, Vec<i64>)>,
    /// When it was heard last, by the store, and the oldest seq it said it reads.
    said: Option<(u64, Seq)>,
    /// How often it was silent for so long that it was forgotten.
    silences: u32,
}

struct Run {
    store: SimStore,
    turn: u64,
    seed: u64,
    nodes: Vec<Node>,
    next: i64,
    told: BTreeSet<i64>,
    doubted: BTreeSet<i64>,
}

const HOUR: Duration = Duration::from_secs(3600);
const FORGOTTEN_MS: u64 = 600_000;

impl Node {
    fn start(&mut self, store: &SimStore) {
        self.client = store.client();
        self.clock.hear(store.now_ms());
        (self.table, self.held) = (None, None);
        self.sealed.clear();
        let host = Host { clock: Arc::clone(&self.clock) as _, ..self.machine.clone() };
        let log =
            ObjectLogConfig { patience: Duration::from_millis(10), records_min: 0, ..Default::default() };
        let objects: Arc<dyn Objects> = Arc::new(self.client.clone());
        let root = SharedRoot { objects, scratch: "/scratch".into(), log, machine: self.machine.clone() };
        // Tried again later.
        let Ok(catalog) = Catalog::open_shared(&host, &root, CatalogConfig::default()) else { return };
        let parts = PartStore::new(host.clone(), Arc::new(ObjectParts(self.client.clone())));
        self.table = Some(handle_in(&host, parts, Arc::new(catalog), definition(&["Int64"], &[1])));
    }
}

/// Whether the parts of a snapshot have their files.
fn look_for_files(table: &Table, snapshot: &Snapshot) -> Result<(), String> {
    for part in snapshot.table_by_id(table.def.id).unwrap().parts() {
        // Without an answer the process has ended.
        if let Ok(None) = table.store.storage().find(&part.location.key) {
            return Err(format!("the file of {} is gone", part.name()));
        }
    }
    Ok(())
}

fn numbers(table: &Table, snapshot: &Snapshot) -> Vec<i64> {
    let state = snapshot.table_by_id(table.def.id).unwrap();
    let parts = state.parts().map(|part| read(table, part));
    parts.flat_map(|rows| rows.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

impl Run {
    fn new(seed: u64, plant: Option<&'static str>) -> Run {
        let store = SimStore::new(seed);
        let node = |number: u64| {
            let (machine, world) = SimHost::new(seed * 3 + number);
            machine.clock.sleep(HOUR * 50 * u32::try_from(number).unwrap());
            plant.into_iter().for_each(|mistake| world.plant(mistake));
            let clock = Arc::new(StoreClock::new(Arc::clone(&machine.clock), store.now_ms()));
            let client = store.client();
            Node {
                machine,
                _world: world,
                clock,
                client,
                table: None,
                held: None,
                sealed: vec![],
                said: None,
                silences: 0,
            }
        };
        let nodes = (0..3).map(node).collect();
        let (told, doubted) = (BTreeSet::new(), BTreeSet::new());
        let mut run = Run { store, turn: 0, seed, nodes, next: 0, told, doubted };
        run.nodes[0].start(&run.store);
        let table = run.nodes[0].table.as_ref().unwrap();
        crate::tables::commit(&table.catalog, vec![Op::CreateTable(table.def.as_ref().clone())]);
        run
    }

    fn dice(&mut self, sides: u64) -> u64 {
        self.turn += 1;
        mix64::mix64(self.seed << 32 | self.turn) % sides
    }

    fn live(&mut self) -> Result<(), String> {
        self.store.fail_one_in(10);
        for _ in 0..90 {
            self.step()?;
        }
        self.check_end()
    }

    fn step(&mut self) -> Result<(), String> {
        let which = usize::try_from(self.dice(3)).unwrap();
        if self.nodes[which].client.is_dead() || self.nodes[which].table.is_none() {
            self.nodes[which].start(&self.store);
            return Ok(());
        }
        let die = self.dice(40);
        let (amount, deaths) = (self.dice(30), 1 + self.dice(12));
        let table = self.nodes[which].table.clone().unwrap();
        match die {
            0 => self.nodes[which].client.die_after(deaths),
            // Everybody is silent for a while, or one is.
            1..=3 => self.pass(Duration::from_secs(120) * u32::try_from(amount).unwrap()),
            4..=12 => self.seal(which, &table),
            13..=21 => self.name(which, &table, usize::try_from(amount).unwrap())?,
            22..=25 => {
                drop(table.catalog.follow_others(self.nodes[which].machine.clock.monotonic(), true, None))
            }
            26..=28 => {
                let memory = table.host.memory.clone();
                let plan = plan_of(&table.catalog.snapshot().table_by_id(table.def.id).unwrap());
                if let Some(Ok(MergeOutcome::NoSpace)) = plan.map(|plan| run(&table, &plan, &memory)) {
                    return Err("the store has no end".to_owned());
                }
            }
            29..=31 => self.beat(which, &table),
            32..=34 => {
                self.beat(which, &table);
                drop(collect::run(&table.catalog, &table.store, &table.host, 1_000));
            }
            35..=36 => {
                let before_ms = table.host.clock.now_ms().saturating_sub(600_000);
                drop(sweep::run(&table.catalog, &table.store, before_ms));
            }
            _ => self.read(which, &table)?,
        }
        if table.catalog.is_poisoned() {
            self.nodes[which].table = None;
        }
        Ok(())
    }

    fn pass(&self, time: Duration) {
        self.store.advance(time);
        for node in &self.nodes {
            node.machine.clock.sleep(time);
            node.clock.hear(self.store.now_ms());
        }
    }

    fn seal(&mut self, which: usize, table: &Table) {
        let numbers: Vec<i64> = (self.next..self.next + 3).collect();
        self.next += 3;
        let column: ArrayRef = Arc::new(Int64Array::from(numbers.clone()));
        let rows = RecordBatch::try_new(table.def.arrow_schema(), vec![column]).unwrap();
        // Not sent: the process ended.
        let Ok(mut parts) = write(table, &rows) else { return };
        self.nodes[which].sealed.push((parts.remove(0), numbers));
    }

    fn name(&mut self, which: usize, table: &Table, choice: usize) -> Result<(), String> {
        let sealed = &mut self.nodes[which].sealed;
        if sealed.is_empty() {
            return Ok(());
        }
        let (part, numbers) = sealed.swap_remove(choice % sealed.len());
        let ops = vec![Op::AddPart(part)];
        match table.catalog.commit(Transaction::new(table.catalog.transaction_id(), table.catalog.seq(), ops))
        {
            Ok(CommitOutcome::Committed(_)) => self.told.extend(numbers),
            Ok(CommitOutcome::Unknown(_)) => self.doubted.extend(numbers),
            Ok(CommitOutcome::Refused(RefusedWhy::PartSwept { .. })) | Err(_) => {}
            Ok(CommitOutcome::Refused(why)) => return Err(why.to_string()),
        }
        Ok(())
    }

    /// As the objects of processes do: each says what it reads, and hears what the others said a while ago.
    fn beat(&mut self, which: usize, table: &Table) {
        let now_ms = self.store.now_ms();
        let is_known = |(said_ms, _): &(u64, Seq)| now_ms.saturating_sub(*said_ms) <= FORGOTTEN_MS;
        if !self.nodes[which].said.as_ref().is_some_and(is_known) {
            self.nodes[which].silences += 1;
        }
        self.nodes[which].said = Some((now_ms, table.catalog.own_horizon()));
        let others = (0..self.nodes.len()).filter(|other| *other != which);
        let heard = others.filter_map(|other| self.nodes[other].said);
        let heard = heard.filter(is_known);
        table.catalog.set_others_horizon(heard.map(|(_, horizon)| horizon).min());
    }

    /// A reader that is heard of sees the rows of its snapshot; one that was not for too long may find files gone.
    fn read(&mut self, which: usize, table: &Table) -> Result<(), String> {
        let held = self.nodes[which].held.take();
        self.beat(which, table);
        let node = &mut self.nodes[which];
        if let Some((held, _)) = held.filter(|(_, silences)| *silences == node.silences) {
            look_for_files(table, &held)
                .map_err(|error| format!("a reader of node {which} at {}: {error}", held.seq()))?;
        }
        // Whoever was silent looks before it reads anything: what it knows may be gone.
        if table.catalog.follow_others(node.machine.clock.monotonic(), true, None).is_err() {
            return Ok(());
        }
        node.held = Some((table.catalog.snapshot(), node.silences));
        self.beat(which, table);
        Ok(())
    }

    fn check_end(&mut self) -> Result<(), String> {
        self.store.fail_one_in(0);
        // What is on its way arrives.
        let asks = self.store.client();
        (0..100).for_each(|_| drop(asks.head("root")));
        for node in &mut self.nodes {
            node.start(&self.store);
        }
        self.pass(HOUR);
        let table = self.nodes[0].table.clone().ok_or("the store does not open")?;
        table.catalog.set_others_horizon(None);
        collect::run(&table.catalog, &table.store, &table.host, 1_000).map_err(|error| error.to_string())?;
        let before_ms = table.host.clock.now_ms();
        sweep::run(&table.catalog, &table.store, before_ms).map_err(|error| error.to_string())?;
        let snapshot = table.catalog.snapshot();
        look_for_files(&table, &snapshot)?;
        let rows = numbers(&table, &snapshot);
        let there: BTreeSet<i64> = rows.iter().copied().collect();
        if there.len() < rows.len() {
            return Err("rows are there twice".to_owned());
        }
        if let Some(lost) = self.told.difference(&there).next() {
            return Err(format!("{lost} was acknowledged, and is not there"));
        }
        if let Some(other) = there.iter().find(|row| !self.told.contains(row) && !self.doubted.contains(row))
        {
            return Err(format!("{other} is there, and was refused"));
        }
        let files = table.store.list_files(table.def.id).unwrap().len();
        let named = snapshot.table_by_id(table.def.id).unwrap().part_count();
        if files == named { Ok(()) } else { Err(format!("{files} files, {named} parts")) }
    }
}

fn history(seed: u64, plant: Option<&'static str>) -> Result<(), String> {
    Run::new(seed, plant).live()
}

#[test]
fn files_are_there_while_somebody_needs_them_and_gone_after() {
    for seed in 0..200 {
        assert_eq!(history(seed, None), Ok(()), "seed {seed}");
    }
}

#[test]
#[ignore = "part of a soak"]
fn ten_thousand_histories_of_files() {
    for seed in 0..10_000 {
        assert_eq!(history(seed, None), Ok(()), "seed {seed}");
    }
}

#[test]
fn mistakes_with_files_are_found() {
    for mistake in ["catalog.others_pins_ignored", "mergetree.sweep_without_record"] {
        let found = (0..1000).find(|seed| history(*seed, Some(mistake)).is_err());
        assert!(found.is_some(), "{mistake}");
        println!("{mistake}: seed {}", found.unwrap());
    }
}
