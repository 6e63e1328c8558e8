//! Who shares a root: each process writes an object `nodes/<id>` again and again, and reads those of the others.
//!
//! Ages are differences of times of the store, so that nobody's clock matters. What a node says of itself: where it can be
//! reached, which seqs it still reads, which exports are its own. Invariant: files that a node seen in the last
//! [`FORGOTTEN_MS`] may read are in its horizon; one that was silent for longer gets errors, never other rows. Must not know: what
//! a seq is.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use host::random::{self, Random};
use host::{Object, Objects, StoreClock};
use parking_lot::Mutex;

use crate::error::SharedError;

/// How often a node writes its object, milliseconds.
pub const BEAT_MS: u64 = 5_000;
/// A node that was silent for so long works on nothing.
pub const ACTIVE_MS: u64 = 30_000;
/// What a node that was silent for so long reads is not kept for it.
pub const FORGOTTEN_MS: u64 = 600_000;
/// The object of a node that was silent for so long is deleted by any other.
const DELETED_MS: u64 = 6 * 3_600_000;

const FOLDER: &str = "nodes/";

/// One process, for as long as it runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct NodeId(pub u128);

impl NodeId {
    /// Stands first in the uuids of the records that the process appends.
    pub fn mark(self) -> [u8; 8] {
        let bytes = self.0.to_be_bytes();
        bytes.first_chunk().copied().unwrap_or_default()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// What a node says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Name of the machine.
    pub host: String,
    /// Where it listens; empty if it does not.
    pub addresses: String,
    /// Where others may ask it to work, `host:port`; empty if they may not.
    pub peer: String,
    pub version: String,
    pub started_ms: u64,
    /// The seq it knows the log up to.
    pub applied: u64,
    /// The oldest seq it still reads.
    pub horizon: u64,
    /// When the oldest of what it is writing was begun, milliseconds since 1970 UTC; `u64::MAX` if it writes nothing.
    pub writes_since_ms: u64,
    /// Exports it is writing, as they are shown.
    pub exports: Vec<String>,
    /// Tables of which it knows damaged parts, as they are shown.
    pub damaged: Vec<String>,
    /// Tables whose merges are to rest for it, as they are shown.
    pub resting: Vec<String>,
    /// It has something to append, and others come first all the time.
    pub is_outrun: bool,
    /// Why it cannot follow the log; empty if it can.
    pub broken: String,
    /// Statements it is running.
    pub queries: u64,
    /// It does the background work that is its.
    pub works: bool,
}

/// A node as another one knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub id: NodeId,
    pub report: Report,
    /// By the clock of the store.
    pub seen_ms: u64,
    /// It has said something a moment ago.
    pub is_active: bool,
    pub is_me: bool,
}

/// This process among the others.
#[derive(Debug)]
pub struct Member {
    objects: Arc<dyn Objects>,
    clock: Arc<StoreClock>,
    id: NodeId,
    others: Mutex<Others>,
}

#[derive(Debug, Default)]
struct Others {
    nodes: BTreeMap<NodeId, (u64, Report)>,
    me: Option<(u64, Report)>,
    listed_ms: u64,
}

impl Member {
    /// A process that nobody knows of yet.
    pub fn new(objects: Arc<dyn Objects>, clock: Arc<StoreClock>, random: &dyn Random) -> Member {
        let id = NodeId(u128::from_le_bytes(random::uuid_bytes(random)));
        Member { objects, clock, id, others: Mutex::default() }
    }

    pub fn id(&self) -> NodeId {
        self.id
    }

    /// An error of the store, with where it is.
    pub(crate) fn unreachable(&self, source: io::Error) -> SharedError {
        SharedError::Unreachable { place: self.objects.place(""), source }
    }

    /// Says what there is to say, and reads what the others say.
    ///
    /// # Errors
    /// The store fails; what was known stays known, and grows old.
    pub fn beat(&self, report: Report) -> io::Result<()> {
        self.objects.put(&self.key(), encode(&report))?;
        let listed = self.objects.list(FOLDER, "")?;
        let mine = match listed.iter().find(|object| object.key == self.key()) {
            Some(object) => object.clone(),
            // The listing lags behind.
            None => match self.objects.head(&self.key())? {
                Some(object) => object,
                None => return Ok(()),
            },
        };
        self.clock.hear(mine.modified_ms);
        let now_ms = mine.modified_ms;
        for object in listed.iter().filter(|object| object.key != self.key()) {
            self.hear_of(object, now_ms)?;
        }
        let mut others = self.others.lock();
        let is_listed = |id: &NodeId| listed.iter().any(|object| id_of(&object.key) == Some(*id));
        // One that is not listed any more has left, unless the listing lags behind.
        others.nodes.retain(|id, (seen_ms, _)| {
            let age = now_ms.saturating_sub(*seen_ms);
            age <= FORGOTTEN_MS && (age <= 2 * BEAT_MS || is_listed(id))
        });
        others.me = Some((now_ms, report));
        others.listed_ms = now_ms;
        Ok(())
    }

    fn hear_of(&self, object: &Object, now_ms: u64) -> io::Result<()> {
        let Some(id) = id_of(&object.key) else { return Ok(()) };
        let age = now_ms.saturating_sub(object.modified_ms);
        if age > DELETED_MS {
            return self.objects.delete(&object.key);
        }
        let known = self.others.lock().nodes.get(&id).map(|(seen_ms, _)| *seen_ms);
        if age > FORGOTTEN_MS || known == Some(object.modified_ms) {
            return Ok(());
        }
        let said = match self.objects.get(&object.key) {
            Ok(said) => decode(&said),
            // It has left.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut others = self.others.lock();
        // What cannot be read is of another version, and reads who knows what.
        let said = said.unwrap_or_default();
        others.nodes.insert(id, (object.modified_ms, said));
        Ok(())
    }

    /// The last record of the log that any object of another node says was there, however old, and the object.
    ///
    /// # Errors
    /// The store fails.
    pub fn last_known(&self) -> io::Result<Option<(u64, String)>> {
        last_known(&*self.objects, &self.key())
    }

    /// The process ends, and says so.
    ///
    /// # Errors
    /// The store fails; the others find out.
    pub fn leave(&self) -> io::Result<()> {
        self.objects.delete(&self.key())
    }

    /// All that were seen lately, this process among them.
    pub fn nodes(&self) -> Vec<Node> {
        let now_ms = host::Clock::now_ms(&*self.clock);
        let others = self.others.lock();
        let node = |id: NodeId, seen_ms: u64, report: &Report| Node {
            id,
            report: report.clone(),
            seen_ms,
            is_active: now_ms.saturating_sub(seen_ms) <= ACTIVE_MS,
            is_me: id == self.id,
        };
        let mut nodes: Vec<Node> =
            others.nodes.iter().map(|(id, (seen_ms, report))| node(*id, *seen_ms, report)).collect();
        nodes.extend(others.me.iter().map(|(seen_ms, report)| node(self.id, *seen_ms, report)));
        nodes.sort_by_key(|node| node.id);
        nodes
    }

    /// The oldest seq that others read; `None` if there are no others.
    pub fn others_horizon(&self) -> Option<u64> {
        self.others.lock().nodes.values().map(|(_, report)| report.horizon).min()
    }

    /// What others are writing was begun at or after this time, as far as they have said; `None` if there are no others. What
    /// one that does not say so writes is as old as it is.
    pub fn others_write_since(&self) -> Option<u64> {
        let since = |seen_ms: u64, report: &Report| match report.writes_since_ms {
            0 => report.started_ms,
            // It may have begun something else since it said so.
            since_ms => since_ms.min(seen_ms.saturating_sub(BEAT_MS)),
        };
        self.others.lock().nodes.values().map(|(seen_ms, report)| since(*seen_ms, report)).min()
    }

    /// What the others say, one after the other.
    pub fn of_others<T>(&self, read: impl Fn(&Report) -> Vec<T>) -> Vec<T> {
        self.others.lock().nodes.values().flat_map(|(_, report)| read(report)).collect()
    }

    /// Whether it was heard a moment ago who is there: only then is it known what nobody reads.
    pub fn is_informed(&self) -> bool {
        let listed_ms = self.others.lock().listed_ms;
        listed_ms > 0 && host::Clock::now_ms(&*self.clock).saturating_sub(listed_ms) <= ACTIVE_MS
    }

    fn key(&self) -> String {
        format!("{FOLDER}{}", self.id)
    }
}

/// The last record that any object of a node but `mine` says was there, and the object.
///
/// # Errors
/// The store fails.
pub(crate) fn last_known(objects: &dyn Objects, mine: &str) -> io::Result<Option<(u64, String)>> {
    let mut last = None;
    for object in objects.list(FOLDER, "")?.iter().filter(|object| object.key != mine) {
        let said = match objects.get(&object.key) {
            Ok(said) => decode(&said).unwrap_or_default(),
            // It has left.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        last = last.max(Some((said.applied, objects.place(&object.key))));
    }
    Ok(last)
}

fn id_of(key: &str) -> Option<NodeId> {
    u128::from_str_radix(key.strip_prefix(FOLDER)?, 16).ok().map(NodeId)
}

/// A line for each word, so that people can read it.
fn encode(report: &Report) -> Bytes {
    let mut text = String::new();
    let line = |text: &mut String, name: &str, value: &dyn fmt::Display| {
        let value = value.to_string().replace('\n', " ");
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{name} {value}");
    };
    line(&mut text, "host", &report.host);
    line(&mut text, "addresses", &report.addresses);
    if !report.peer.is_empty() {
        line(&mut text, "peer", &report.peer);
    }
    line(&mut text, "version", &report.version);
    line(&mut text, "started_ms", &report.started_ms);
    line(&mut text, "applied", &report.applied);
    line(&mut text, "horizon", &report.horizon);
    line(&mut text, "writes_since_ms", &report.writes_since_ms);
    line(&mut text, "queries", &report.queries);
    line(&mut text, "works", &report.works);
    line(&mut text, "is_outrun", &report.is_outrun);
    line(&mut text, "broken", &report.broken);
    report.exports.iter().for_each(|export| line(&mut text, "export", export));
    report.damaged.iter().for_each(|table| line(&mut text, "damaged", table));
    report.resting.iter().for_each(|table| line(&mut text, "resting", table));
    text.into()
}

fn decode(bytes: &[u8]) -> Option<Report> {
    let mut report = Report::default();
    for line in std::str::from_utf8(bytes).ok()?.lines() {
        let (name, value) = line.split_once(' ')?;
        match name {
            "host" => value.clone_into(&mut report.host),
            "addresses" => value.clone_into(&mut report.addresses),
            "peer" => value.clone_into(&mut report.peer),
            "version" => value.clone_into(&mut report.version),
            "started_ms" => report.started_ms = value.parse().ok()?,
            "applied" => report.applied = value.parse().ok()?,
            "horizon" => report.horizon = value.parse().ok()?,
            "writes_since_ms" => report.writes_since_ms = value.parse().ok()?,
            "queries" => report.queries = value.parse().ok()?,
            "broken" => value.clone_into(&mut report.broken),
            "works" => report.works = value.parse().ok()?,
            "is_outrun" => report.is_outrun = value.parse().ok()?,
            "export" => report.exports.push(value.to_owned()),
            "damaged" => report.damaged.push(value.to_owned()),
            "resting" => report.resting.push(value.to_owned()),
            // Of a newer version.
            _ => {}
        }
    }
    Some(report)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use host::{Host, SimHost, SimStore, SimWorld};

    fn member(store: &SimStore, seed: u64) -> (Member, Host, SimWorld) {
        let (host, world) = SimHost::new(seed);
        let clock = Arc::new(StoreClock::new(Arc::clone(&host.clock), store.now_ms()));
        let member = Member::new(Arc::new(store.client()), clock, &*host.random);
        (member, host, world)
    }

    fn report(horizon: u64) -> Report {
        Report {
            host: "a b".to_owned(),
            horizon,
            exports: vec!["1".to_owned(), "2".to_owned()],
            ..Report::default()
        }
    }

    #[test]
    fn nodes_hear_of_each_other_and_forget_the_silent() {
        let store = SimStore::new(1);
        let ((first, _, _first), (second, ..)) = (member(&store, 1), member(&store, 2));
        assert!(!first.is_informed() && first.others_horizon().is_none());
        second.beat(report(7)).unwrap();
        first.beat(report(9)).unwrap();
        assert!(first.is_informed());
        assert_eq!(first.others_horizon(), Some(7));
        let nodes = first.nodes();
        assert_eq!(nodes.len(), 2);
        assert!(
            nodes
                .iter()
                .all(|node| node.is_active && node.report.host == "a b" && node.report.exports.len() == 2)
        );
        assert_eq!(nodes.iter().filter(|node| node.is_me).count(), 1);
        store.advance(Duration::from_millis(ACTIVE_MS + 2_000));
        first.beat(report(9)).unwrap();
        assert_eq!(first.nodes().iter().filter(|node| node.is_active).count(), 1);
        assert_eq!(first.others_horizon(), Some(7), "what it reads is still kept");
        store.advance(Duration::from_millis(FORGOTTEN_MS));
        first.beat(report(9)).unwrap();
        assert_eq!((first.others_horizon(), first.nodes().len()), (None, 1));
        store.advance(Duration::from_millis(DELETED_MS));
        first.beat(report(9)).unwrap();
        assert_eq!(store.keys().len(), 1);
        first.leave().unwrap();
        assert!(store.keys().is_empty());
    }
}
