//! A root that many servers share, checked byte by byte, without being one of them.
//!
//! Invariant: reads only, and goes on after the first damage; every problem names its object. Works beside servers that write: what
//! they delete meanwhile is no damage. Must not know: terminals, what the object `root` says.

use std::sync::Arc;

use catalog::inspect::record_lines;
use catalog::read_shared_root;
use commitlog::record;
use host::{Host, Object, Objects, ObjectsDisk};

use crate::folder_check::{FolderCheck, checkpoints_in, found_parts, live_parts, whole_of};

const LOG: &str = "stream/0/log/";
const CHECKPOINTS: &str = "stream/0/checkpoint";
/// Records that are fetched side by side.
const FETCHES: usize = 16;

/// Records, checkpoints, the state they make, and every live part. `known` is a record that somebody says was there, and who does.
pub fn verify_root(
    host: &Host,
    objects: &Arc<dyn Objects>,
    known: Option<&(u64, String)>,
) -> Vec<FolderCheck> {
    let disk = ObjectsDisk::new(Arc::clone(objects));
    let root = disk.root().to_owned();
    let machine = host;
    let host = &Host { disk: Arc::new(disk), ..machine.clone() };
    let mut checks = vec![records(objects), checkpoints_in(host, &root.join(CHECKPOINTS))];
    let (mut whole, state) = whole_of(read_shared_root(machine, objects));
    if let (Some(state), Some((known, witness))) = (&state, known)
        && state.seq().0 < *known
    {
        let end = state.seq();
        whole.damage.push(format!(
            "{}: the log ends at record {end}, and {witness} says that there was record {known}",
            objects.place(LOG)
        ));
    }
    checks.push(whole);
    checks.push(match state {
        Some(state) => {
            let now = || Some(read_shared_root(machine, objects).ok()?.state);
            live_parts(host, &root, &state, &now)
        }
        None => found_parts(host, &root),
    });
    checks
}

/// Every record that is there, also those that a checkpoint covers.
fn records(objects: &Arc<dyn Objects>) -> FolderCheck {
    let mut check = FolderCheck::of("log");
    let listed = match objects.list(LOG, "") {
        Ok(listed) => listed,
        Err(error) => {
            check.damage.push(format!("{}: {error}", objects.place(LOG)));
            return check;
        }
    };
    let mut before: Option<Link> = None;
    for some in listed.chunks(FETCHES) {
        let fetch = |number: usize| match some.get(number) {
            Some(object) => objects.get(&object.key),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        let frames = host::at_once(some.len(), fetch);
        for (object, frame) in some.iter().zip(frames) {
            match frame {
                Ok(frame) => {
                    check.checked += 1;
                    let place = objects.place(&object.key);
                    match link_of(object, &frame, before.as_ref()) {
                        Ok(link) => before = Some(link),
                        Err(why) => {
                            check.damage.push(format!("{place}: {why}"));
                            before = None;
                        }
                    }
                }
                // Servers delete records that are old.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => before = None,
                Err(error) => check.damage.push(format!("{}: {error}", objects.place(&object.key))),
            }
        }
    }
    check.remark = match listed.first().zip(listed.last()) {
        Some((first, last)) => format!("records {} to {}", seq_of(first), seq_of(last)),
        None => "no records".to_owned(),
    };
    check
}

/// What the record after it has to fit to.
struct Link {
    seq: u64,
    hash: [u8; 16],
}

fn link_of(object: &Object, frame: &bytes::Bytes, before: Option<&Link>) -> Result<Link, String> {
    let record = record::decode(frame, 0).map_err(|bad| format!("it is no record: {bad}"))?;
    let seq = seq_of(object);
    if record.envelope.seq != seq {
        return Err(format!("it is record {}", record.envelope.seq));
    }
    record_lines(&record.transactions).map_err(|error| error.to_string())?;
    if let Some(before) = before {
        if before.seq + 1 != seq {
            return Err(format!("record {} is missing before it", before.seq + 1));
        }
        if record.envelope.previous_hash != before.hash {
            return Err("it does not follow the record before it".to_owned());
        }
    }
    Ok(Link { seq, hash: record::hash(frame) })
}

fn seq_of(object: &Object) -> u64 {
    object.key.rsplit('/').next().and_then(|name| name.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use catalog::{Catalog, CatalogConfig, ObjectLogConfig, Op, SharedRoot, Transaction};
    use host::{SimHost, SimStore};

    use super::*;

    fn damage(checks: &[FolderCheck]) -> Vec<&String> {
        checks.iter().flat_map(|check| &check.damage).collect()
    }

    #[test]
    fn a_sound_root_has_no_problem_and_a_wrong_object_is_named() {
        let store = SimStore::new(1);
        let objects: Arc<dyn Objects> = Arc::new(store.client());
        let (host, _world) = SimHost::new(1);
        let root = SharedRoot {
            objects: Arc::clone(&objects),
            scratch: "/scratch".into(),
            log: ObjectLogConfig::default(),
            machine: host.clone(),
        };
        let catalog = Catalog::open_shared(&host, &root, CatalogConfig::default()).unwrap();
        for name in ["a", "b", "c"] {
            let id = model::DatabaseId::from_bytes([name.as_bytes()[0]; 16]);
            let op = Op::CreateDatabase { id, name: name.into() };
            catalog.commit(Transaction::new(catalog.transaction_id(), catalog.seq(), vec![op])).unwrap();
        }
        drop(catalog);
        let before = store.keys();
        let checks = verify_root(&host, &objects, Some(&(3, "a server".to_owned())));
        assert!(damage(&checks).is_empty(), "{checks:?}");
        let remarks: Vec<&str> = checks.iter().map(|check| check.remark.as_str()).collect();
        assert_eq!(&remarks[..3], ["records 1 to 3", "", "opens at record 3, 0 tables"]);
        assert_eq!(store.keys(), before, "it only reads");
        let cut = verify_root(&host, &objects, Some(&(4, "a server".to_owned())));
        assert!(damage(&cut)[0].contains("ends at record 3, and a server says that there was record 4"));
        let key = |seq: u64| format!("{LOG}{seq:020}");
        let second = objects.get(&key(2)).unwrap();
        objects.put(&key(2), second.slice(..second.len() - 1)).unwrap();
        let checks = verify_root(&host, &objects, None);
        let found = damage(&checks);
        assert!(found[0].contains(&key(2)) && found[0].contains("it is no record"), "{found:?}");
        objects.delete(&key(2)).unwrap();
        let checks = verify_root(&host, &objects, None);
        assert!(damage(&checks)[0].contains("record 2 is missing before it"), "{checks:?}");
    }
}
