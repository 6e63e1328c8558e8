//! Opening a root in a store: the store of its URL, the folder of this process, the log.
//!
//! Invariant: a process says that it is there before it reads anything, so that nothing it is about to read is collected. Must not
//! know: statements.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::{Catalog, CatalogConfig, ObjectLogConfig, SharedRoot};
use host::{Clock, FolderObjects, Host, Objects, Runtimes, StoreClock};
use model::Seq;
use parts::PartStore;
use stores::{S3Environment, SharedBucket, StoreCache};

use crate::counted::Counted;
use crate::error::SharedError;
use crate::fetches::Fetches;
use crate::known_seq::KnownSeq;
use crate::local_files::LocalFiles;
use crate::node::{Member, Report, last_known};
use crate::part_files::SharedParts;
use crate::read_through::ReadThrough;
use crate::root::{RootId, known_root, open_root};
use crate::sharing::Sharing;

/// Where all parts are.
const PARTS: &str = "data/";

/// Which root.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RootPlace {
    /// `s3://bucket/prefix`, `gs://`, the URL of an endpoint with bucket and prefix, `az://container/prefix`, or `file:///folder`.
    pub url: String,
    /// Where `s3://` leads; `None` asks the environment, as every S3 tool does.
    pub endpoint: Option<String>,
    /// Likewise.
    pub region: Option<String>,
    /// Bytes of parts that this machine keeps beside the store; `None` takes half of what is free where they are kept.
    pub cache_bytes: Option<u64>,
}

/// A root that was opened.
pub struct OpenedRoot {
    /// The machine with the time of the store.
    pub host: Host,
    pub catalog: Catalog,
    pub store: PartStore,
    /// The same parts, for statements.
    pub files: Arc<ReadThrough>,
    pub sharing: Sharing,
    /// Nobody else uses the folder of this process while it is held.
    pub lock: Box<dyn Send + Sync>,
}

/// Opens a root; `kept` is the folder for what this process keeps of roots.
///
/// # Errors
/// The store cannot hold one, holds something else, or does not answer; the log is damaged; the folder is in use.
pub fn open(
    place: &RootPlace,
    machine: &Host,
    runtimes: &Runtimes,
    kept: &Path,
) -> Result<OpenedRoot, SharedError> {
    let counted = Counted::new(objects(place, machine, runtimes)?);
    let counts = Arc::clone(&counted.counts);
    let objects: Arc<dyn Objects> = Arc::new(counted);
    let id = open_root(&objects, &*machine.random)?;
    let (folder, lock) = own_folder(machine, kept, &id)?;
    // The store's time is that of the first object this process writes.
    let clock = Arc::new(StoreClock::new(Arc::clone(&machine.clock), 0));
    let member = Member::new(Arc::clone(&objects), Arc::clone(&clock), &*machine.random);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let opening = Report { host: host::process::host_name(), version, ..Report::default() };
    member.beat(opening).map_err(|source| member.unreachable(source))?;
    let host = Host { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..machine.clone() };
    let root = SharedRoot {
        objects: Arc::clone(&objects),
        scratch: folder.clone(),
        log: ObjectLogConfig { writer: member.id().mark(), ..ObjectLogConfig::default() },
        machine: machine.clone(),
    };
    let catalog = Catalog::open_shared(&host, &root, CatalogConfig::default())?;
    let known = KnownSeq::open(machine.clone(), &folder);
    check_log(&catalog, &*objects, &member, &known)?;
    let local = |source| SharedError::Folder { path: folder.clone(), source };
    let bytes_max = match place.cache_bytes {
        Some(bytes) => bytes,
        None => host.disk.free_bytes(&folder).map_err(local)? / 2,
    };
    let files = Arc::new(LocalFiles::open(host.clone(), &folder, bytes_max).map_err(local)?);
    let fetches = Fetches::new(host.clone(), Arc::clone(&objects), Arc::clone(&files), runtimes.clone());
    let (stored, kept) = (Arc::clone(&objects), Arc::clone(&files));
    let parts = Arc::new(SharedParts::new(host.clone(), stored, kept, Arc::clone(&fetches)));
    let through = ReadThrough::new(host.clone(), objects, files, fetches, runtimes.clone());
    let store = PartStore::new(host.clone(), parts);
    Ok(OpenedRoot {
        host,
        catalog,
        store,
        files: Arc::new(through),
        sharing: Sharing::new(member, counts, Arc::clone(&machine.clock), known),
        lock,
    })
}

/// A root that somebody looks at who is not one of its servers.
pub struct LookedAt {
    pub objects: Arc<dyn Objects>,
    /// Why it is not known which root it is, if its own object is damaged or missing.
    pub id: Result<RootId, String>,
    /// The last record that a server says was there, and the object in which it does.
    pub known: Option<(u64, String)>,
}

/// Finds a root and writes nothing, also not that somebody looks: what its servers delete may be gone when it is read.
///
/// # Errors
/// There is none, or the store does not answer.
pub fn look_at(place: &RootPlace, machine: &Host, runtimes: &Runtimes) -> Result<LookedAt, SharedError> {
    let objects: Arc<dyn Objects> = match folder_of(&place.url)? {
        Some(path) => {
            let opened = FolderObjects::existing(path, Arc::clone(&machine.random));
            Arc::new(opened.map_err(SharedError::unreachable(place.url.clone()))?)
        }
        None => bucket(place, runtimes)?,
    };
    let id = match known_root(&*objects) {
        Ok(id) => Ok(id),
        Err(damaged @ SharedError::Damaged { .. }) => Err(damaged.to_string()),
        Err(error) => return Err(error),
    };
    let known = last_known(&*objects, "").map_err(SharedError::unreachable(objects.place("")))?;
    Ok(LookedAt { objects, id, known })
}

/// Whether the log goes as far as can be seen from outside of it: its first records, or its last ones, may have been deleted, and what is
/// left would be a sound log of fewer rows.
fn check_log(
    catalog: &Catalog,
    objects: &dyn Objects,
    member: &Member,
    kept: &KnownSeq,
) -> Result<(), SharedError> {
    let here = (kept.get(), kept.place());
    let there = member.last_known().map_err(|source| member.unreachable(source))?;
    let (known, witness) = there.into_iter().chain([here]).max().unwrap_or_default();
    let parts = || objects.list(PARTS, "").map_err(SharedError::unreachable(objects.place("")));
    let named_by_none = match catalog.seq() {
        Seq::ZERO => parts()?.into_iter().next(),
        _ => None,
    };
    if named_by_none.is_none() && catalog.seq().0 >= known {
        return Ok(());
    }
    // Another process may have begun the log, or gone on with it, since it was read.
    let seq = catalog.follow_others(catalog.host().clock.monotonic(), false, None)?.0;
    let place = objects.place("");
    match named_by_none {
        Some(part) if seq == 0 => {
            let problem = format!("its log is missing, and there is {}", part.key);
            Err(SharedError::Damaged { place, problem })
        }
        _ if seq < known => Err(SharedError::Cut { place, seq, known, witness }),
        _ => Ok(()),
    }
}

/// The store of a URL.
fn objects(place: &RootPlace, host: &Host, runtimes: &Runtimes) -> Result<Arc<dyn Objects>, SharedError> {
    if let Some(path) = folder_of(&place.url)? {
        let opened = FolderObjects::open(path, Arc::clone(&host.random));
        return Ok(Arc::new(opened.map_err(SharedError::unreachable(place.url.clone()))?));
    }
    bucket(place, runtimes)
}

fn bucket(place: &RootPlace, runtimes: &Runtimes) -> Result<Arc<dyn Objects>, SharedError> {
    // Whoever starts the server says where its root is: no filter of hosts is for that.
    let stores = StoreCache::new(runtimes.clone());
    let mut environment = S3Environment::of_machine();
    environment.endpoint = place.endpoint.clone().or(environment.endpoint);
    environment.region = place.region.clone().or(environment.region);
    let bucket = SharedBucket::open(&stores, &environment, runtimes, &place.url);
    Ok(Arc::new(bucket.map_err(|error| SharedError::Url(error.message().to_owned()))?))
}

/// The folder of a `file://` URL. One that names a host, or begins wherever the process was started, would be another folder for each
/// server, and nobody would notice.
fn folder_of(url: &str) -> Result<Option<&Path>, SharedError> {
    match url.strip_prefix("file://") {
        Some(path) if path.starts_with('/') => Ok(Some(Path::new(path))),
        Some(_) => {
            let problem =
                format!("URL \"{url}\" has no absolute path behind file://, such as file:///mnt/db");
            Err(SharedError::Url(problem))
        }
        None => Ok(None),
    }
}

/// What is kept of different roots does not mix, and two processes do not share a folder.
fn own_folder(host: &Host, kept: &Path, id: &RootId) -> Result<(PathBuf, Box<dyn Send + Sync>), SharedError> {
    let folder = kept.join(id.to_string());
    let made = host.disk.create_dir_all(&folder);
    match made.and_then(|()| host.disk.lock(&folder.join("LOCK"))) {
        Ok(lock) => Ok((folder, lock)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(SharedError::InUse { path: folder }),
        Err(source) => Err(SharedError::Folder { path: folder, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::{SimHost, SimStore};

    fn opened(store: &SimStore, applied: u64) -> Result<(), SharedError> {
        let (machine, _world) = SimHost::new(applied);
        let objects: Arc<dyn Objects> = Arc::new(store.client());
        let clock = Arc::new(StoreClock::new(Arc::clone(&machine.clock), store.now_ms()));
        let other = Member::new(Arc::clone(&objects), Arc::clone(&clock), &*machine.random);
        other.beat(Report { applied, ..Report::default() }).unwrap();
        let member = Member::new(Arc::clone(&objects), clock, &*machine.random);
        member.beat(Report::default()).unwrap();
        let (scratch, log) = ("/scratch".into(), ObjectLogConfig::default());
        let root = SharedRoot { objects: Arc::clone(&objects), scratch, log, machine: machine.clone() };
        let catalog = Catalog::open_shared(&machine, &root, CatalogConfig::default()).unwrap();
        let kept = KnownSeq::open(machine.clone(), Path::new("/kept"));
        check_log(&catalog, &*objects, &member, &kept)
    }

    #[test]
    fn a_folder_is_named_by_an_absolute_path() {
        assert_eq!(folder_of("file:///mnt/db").unwrap(), Some(Path::new("/mnt/db")));
        assert_eq!(folder_of("s3://bucket/db").unwrap(), None);
        for url in ["file://", "file://host/db", "file://db"] {
            let error = folder_of(url).unwrap_err().to_string();
            assert!(error.contains(&format!("URL \"{url}\" has no absolute path")), "{error}");
        }
    }

    #[test]
    fn a_log_that_lost_its_beginning_or_its_end_is_not_taken_for_all() {
        let store = SimStore::new(1);
        assert!(opened(&store, 0).is_ok());
        let end = opened(&store, 7).unwrap_err().to_string();
        assert!(
            end.contains("its log ends at record 0, and") && end.contains("says that there was record 7"),
            "{end}"
        );
        store.advance(std::time::Duration::from_secs(5 * 3600));
        assert!(opened(&store, 0).is_err(), "however long ago it said so");
        let store = SimStore::new(1);
        store.client().put("data/t/p.parquet", "rows".into()).unwrap();
        let beginning = opened(&store, 0).unwrap_err().to_string();
        assert!(beginning.contains("its log is missing, and there is data/t/p.parquet"), "{beginning}");
    }
}
