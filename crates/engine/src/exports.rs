//! Exports of this process and of those before it: who works on which, and what a crash left to be done.
//!
//! Invariant: an export that nobody works on is completed if it is committed and aborted if not, as soon as there are
//! credentials for it: those of the environment at open, those of a statement when one brings them. Its record goes when
//! it is done. Must not know: how objects are written.

use std::sync::Arc;

use catalog::{Catalog, ExportState, Op};
use host::Host;
use model::{ExportId, ExportStore};
use sources::SourceSettings;
use sources::export::finish::{abort, complete, store_without_statement};
use sources::export::{Destination, Reachable};
use sources::store::Store;

use crate::commit::commit;
use crate::database::Database;
use crate::error::Error;

/// Finishes in the background what a crash has left. What cannot be finished stays in `system.exports`.
pub(crate) fn finish_leftovers(database: &Arc<Database>) {
    let left: Vec<Arc<ExportState>> = database.catalog.snapshot().exports().cloned().collect();
    if left.is_empty() {
        return;
    }
    let (finishing, handle) = (Arc::clone(database), database.runtimes.cpu().clone());
    let work = move || {
        for export in left {
            let settings = SourceSettings::default().bounded();
            let caches = &finishing.sources;
            let store_of = |place: &ExportStore| {
                store_without_statement(place, &caches.stores, &caches.environment, &settings)
            };
            // Best effort: what fails is tried again at the next open.
            let _ = handle.block_on(finish(&finishing, &export, &store_of));
        }
    };
    // Without a thread it is the next open's to do, too.
    let _ended = database.runtimes.spawn_thread("export", work);
}

/// Finishes what waits for the credentials that a statement has just brought.
pub(crate) async fn finish_waiting(database: &Database, destination: &Destination) -> Result<(), Error> {
    let waiting: Vec<Arc<ExportState>> = database.catalog.snapshot().exports().cloned().collect();
    for export in waiting {
        if export.objects.iter().any(|object| destination.can_finish(&object.store)) {
            let store_of =
                |place: &ExportStore| destination.can_finish(place).then(|| destination.store_of(place));
            finish(database, &export, &store_of).await?;
        }
    }
    Ok(())
}

/// Blocks for the record that says it is over.
async fn finish(
    database: &Database,
    export: &ExportState,
    store_of: &(dyn Fn(&ExportStore) -> Option<sources::error::Result<Arc<Store>>> + Sync),
) -> Result<(), Error> {
    let Some(_working) = database.exports.begin(export.id) else { return Ok(()) };
    // As it is now that nobody else works on it: whoever did may have committed or ended it.
    let Some(export) = to_finish(&database.catalog, export.id) else { return Ok(()) };
    let mut objects: Vec<Reachable> = Vec::new();
    for object in &export.objects {
        let store = match object.store.is_files() {
            true => None,
            false => match store_of(&object.store) {
                Some(store) => Some(store?),
                // Its credentials are not here; all of it waits.
                None => return Ok(()),
            },
        };
        objects.push((store, object.clone()));
    }
    let disk = &database.host.disk;
    match export.is_committed {
        true => complete(disk, objects).await?,
        false => abort(disk, objects).await?,
    }
    end(&database.catalog, &database.host, export.id)
}

/// The export as the log has it; `None` if it is over, or if a record whose outcome is not known may say more about it
/// than what is published: then only the next open can tell.
fn to_finish(catalog: &Catalog, export: ExportId) -> Option<Arc<ExportState>> {
    let newest = catalog.snapshot();
    // Asked after the snapshot was taken: whoever left an unknown outcome poisoned the catalog before he left.
    match catalog.is_poisoned() {
        true => None,
        false => newest.exports().find(|newest| newest.id == export).cloned(),
    }
}

/// The record that an export is over. Blocks.
pub(crate) fn end(catalog: &Catalog, host: &Host, export: ExportId) -> Result<(), Error> {
    let read_seq = catalog.snapshot().seq();
    commit(catalog, host, read_seq, Vec::new(), vec![Op::ExportEnd { export }], None).map(drop)
}
