//! The object `root`: which database this is, and in which format. The first process makes it, after it has seen that the store
//! keeps the one promise that commits stand on.
//!
//! Invariant: a root keeps its id for ever; whatever is kept of it elsewhere is kept under that id. Nothing is written below a
//! prefix that holds something else. Must not know: what else is below it.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use bytes::Bytes;
use host::random::{self, Random};
use host::{Created, Objects};

use crate::error::SharedError;

const KEY: &str = "root";
const MAGIC: &str = "gristmill shared root";
/// Format this program writes, and the newest it knows.
const FORMAT: u64 = 1;

/// How many create one object at once when a store is tried out, and how often.
const RACERS: usize = 8;
const ROUNDS: usize = 5;
/// How often the root is made before it is given up.
const CREATIONS: u32 = 5;

/// Which database a root is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RootId([u8; 16]);

impl fmt::Display for RootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The id of the root, which is made if there is nothing below the prefix.
///
/// # Errors
/// The store cannot be used for it, or holds something else; nothing was written then but what a probe deletes again.
pub fn open_root(objects: &Arc<dyn Objects>, random: &dyn Random) -> Result<RootId, SharedError> {
    let place = || objects.place("");
    match objects.get(KEY) {
        Ok(bytes) => {
            let id = read(&bytes, objects.place(KEY))?;
            return probe_again(objects).map(|()| id);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(SharedError::unreachable(place())(error)),
    }
    let found = objects.list("", "").map_err(SharedError::unreachable(place()))?;
    let ours = |key: &str| ["probe/", "unfinished/"].iter().any(|folder| key.starts_with(folder));
    if let Some(other) = found.iter().find(|object| !ours(&object.key)) {
        // Somebody may have made it just now.
        return match objects.get(KEY) {
            Ok(bytes) => read(&bytes, objects.place(KEY)),
            Err(_) if other.key.starts_with("stream/") || other.key.starts_with("data/") => {
                Err(without_root(place(), &other.key))
            }
            Err(_) => Err(SharedError::NotARoot { place: place(), found: other.key.clone() }),
        };
    }
    probe(objects, random)?;
    let id = RootId(random::uuid_bytes(random));
    let text = Bytes::from(format!("{MAGIC}\nformat {FORMAT}\nid {id}\n"));
    let mut last = None;
    for _ in 0..CREATIONS {
        match objects.create(KEY, text.clone()) {
            Created::New => return Ok(id),
            Created::Refused(error) => return Err(SharedError::unreachable(place())(error)),
            Created::Exists => {}
            Created::Unknown(error) => last = Some(error),
        }
        // Whoever was first, it is the same root for both.
        match objects.get(KEY) {
            Ok(bytes) => return read(&bytes, objects.place(KEY)),
            Err(error) => last = last.or(Some(error)),
        }
    }
    let never = || io::Error::new(ErrorKind::TimedOut, "the object that says so was not made");
    Err(SharedError::unreachable(place())(last.unwrap_or_else(never)))
}

/// The id of a root that somebody else made; nothing is written.
///
/// # Errors
/// There is none, or it is damaged or too new.
pub fn known_root(objects: &dyn Objects) -> Result<RootId, SharedError> {
    let place = || objects.place("");
    match objects.get(KEY) {
        Ok(bytes) => read(&bytes, objects.place(KEY)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let found = objects.list("stream/", "").map_err(SharedError::unreachable(place()))?;
            Err(match found.first() {
                Some(other) => without_root(place(), &other.key),
                None => SharedError::NoRoot { place: place() },
            })
        }
        Err(error) => Err(SharedError::unreachable(place())(error)),
    }
}

fn without_root(place: String, found: &str) -> SharedError {
    let problem = format!("the object \"{KEY}\" is missing, and there is {found}");
    SharedError::Damaged { place, problem }
}

fn read(bytes: &[u8], place: String) -> Result<RootId, SharedError> {
    let damaged = |problem: &str| SharedError::Damaged { place: place.clone(), problem: problem.to_owned() };
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is no text"))?;
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return Err(damaged("it does not begin like a root of a database"));
    }
    let format = lines.next().and_then(|line| line.strip_prefix("format ")?.parse().ok());
    let format: u64 = format.ok_or_else(|| damaged("it names no format"))?;
    if format > FORMAT {
        return Err(SharedError::TooNew { place, found: format, known: FORMAT });
    }
    let id = lines.next().and_then(|line| id_of(line.strip_prefix("id ")?));
    id.ok_or_else(|| damaged("it names no id"))
}

fn id_of(text: &str) -> Option<RootId> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32)?;
    Some(RootId(number.to_be_bytes()))
}

/// Tries whether this way to the store, which may be another one, refuses to create what is there.
fn probe_again(objects: &Arc<dyn Objects>) -> Result<(), SharedError> {
    let bytes = objects.get(KEY).map_err(SharedError::unreachable(objects.place("")))?;
    match objects.create(KEY, bytes) {
        Created::New => Err(SharedError::NoConditions { place: objects.place(""), racers: 2, winners: 2 }),
        Created::Exists | Created::Unknown(_) => Ok(()),
        Created::Refused(error) => Err(SharedError::unreachable(objects.place(""))(error)),
    }
}

/// Tries whether of many who create an object at once exactly one succeeds.
fn probe(objects: &Arc<dyn Objects>, random: &dyn Random) -> Result<(), SharedError> {
    for _ in 0..ROUNDS {
        let key = format!("probe/{:016x}", random::u64(random));
        let answers: Vec<Created> =
            host::at_once(RACERS, |number| objects.create(&key, Bytes::from(format!("racer {number}"))));
        let winners = answers.iter().filter(|answer| matches!(answer, Created::New)).count();
        let in_doubt = answers.iter().filter(|answer| matches!(answer, Created::Unknown(_))).count();
        // A request that nobody heard of again may have won.
        let holds = winners == 1 || (winners == 0 && in_doubt > 0);
        if winners == 0
            && in_doubt == RACERS
            && let Some(Created::Unknown(error)) = answers.into_iter().next()
        {
            return Err(SharedError::unreachable(objects.place(""))(error));
        }
        // What is left of it is in nobody's way.
        let _ = objects.delete(&key);
        if !holds {
            return Err(SharedError::NoConditions { place: objects.place(""), racers: RACERS, winners });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::{SimHost, SimStore};

    #[test]
    fn a_root_is_made_once_and_known_again() {
        let (host, _world) = SimHost::new(1);
        let store = SimStore::new(1);
        let open = || open_root(&(Arc::new(store.client()) as Arc<dyn Objects>), &*host.random);
        let first = open().unwrap();
        assert_eq!((open().unwrap(), known_root(&store.client()).unwrap()), (first, first));
        assert_eq!(store.keys(), ["root"], "the probe leaves nothing");
        let client = store.client();
        client.put("root", Bytes::from_static(b"gristmill shared root\nformat 2\nid 0\n")).unwrap();
        assert!(matches!(open(), Err(SharedError::TooNew { found: 2, known: 1, .. })));
        client.put("root", Bytes::from_static(b"<html>")).unwrap();
        assert!(matches!(open(), Err(SharedError::Damaged { .. })));
        client.delete("root").unwrap();
        client.put("stream/0/log/00000000000000000001", Bytes::new()).unwrap();
        let missing = open().unwrap_err().to_string();
        assert!(missing.contains("the object \"root\" is missing"), "{missing}");
        assert_eq!(known_root(&client).unwrap_err().to_string(), missing);
    }

    #[test]
    fn a_prefix_of_something_else_is_left_alone() {
        let (host, _world) = SimHost::new(1);
        let store = SimStore::new(1);
        store.client().put("photos/1.jpg", Bytes::new()).unwrap();
        let error = open_root(&(Arc::new(store.client()) as Arc<dyn Objects>), &*host.random).unwrap_err();
        assert!(error.to_string().contains("there is photos/1.jpg; choose an empty prefix"), "{error}");
        assert!(matches!(known_root(&store.client()), Err(SharedError::NoRoot { .. })));
        assert_eq!(store.keys(), ["photos/1.jpg"]);
    }
}
