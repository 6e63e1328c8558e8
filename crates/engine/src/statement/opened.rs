//! The storage of a database: a folder of this machine, or a root in a store that others use, too.
//!
//! Invariant: once it is open everything acknowledged before is there, or it is said what is missing. In a folder files that no record
//! names are put aside; in a store they may be about to be named by another server, and stay. Must not know: statements.

use std::path::Path;
use std::sync::Arc;

use boundary::config::Config;
use boundary::error::{Error, ErrorKind};
use boundary::found_at_open::{self, OpenNotice};
use catalog::{Catalog, CatalogConfig};
use host::{Host, Runtimes};
use mergetree::collect::FoundAtOpen;
use model::ErrorCode;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use parts::PartStore;
use shared::{OpenedRoot, Sharing};

/// What was opened.
pub(super) struct Opened {
    /// The machine, with the time of the store if the root is shared.
    pub host: Host,
    pub catalog: Arc<Catalog>,
    pub store: PartStore,
    /// Statements read parts through this, all others through `store`: the same keys below the same root.
    pub files: Arc<dyn ObjectStore>,
    pub notices: Vec<OpenNotice>,
    pub sharing: Option<Sharing>,
    /// Nobody else uses the folder of this process while it is held.
    pub lock: Option<Box<dyn Send + Sync>>,
}

/// Opens what the configuration names; `folder` is the database, or what this process keeps of it.
pub(super) fn open(config: &Config, host: Host, runtimes: &Runtimes, folder: &Path) -> Result<Opened, Error> {
    let Some(place) = &config.shared else { return in_folder(config, host, folder) };
    let OpenedRoot { host, catalog, store, files, sharing, lock } =
        shared::open(place, &host, runtimes, folder)?;
    let notices = found_at_open::notices(&catalog, &FoundAtOpen::default());
    let (catalog, sharing, lock) = (Arc::new(catalog), Some(sharing), Some(lock));
    Ok(Opened { host, catalog, store, files, notices, sharing, lock })
}

fn in_folder(config: &Config, host: Host, root: &Path) -> Result<Opened, Error> {
    host.disk.create_dir_all(root)?;
    let catalog = Arc::new(Catalog::open(&host, root, CatalogConfig::default())?);
    let store = PartStore::local(host.clone(), root.to_owned());
    let found = mergetree::collect::orphans_at_open(&catalog, &store, config.orphans_lifetime_ms)?;
    let notices = found_at_open::notices(&catalog, &found);
    let files = LocalFileSystem::new_with_prefix(root)
        .map_err(|e| Error::new(ErrorKind::Unavailable, ErrorCode::CANNOT_OPEN_FILE, e.to_string()))?;
    Ok(Opened { host, catalog, store, files: Arc::new(files), notices, sharing: None, lock: None })
}
