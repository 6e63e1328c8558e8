//! Exports of this process and of those before it: who works on which, and what a crash left to be done.
//!
//! Invariant: an export that nobody works on is completed if it is committed and aborted if not, as soon as there are
//! credentials for it: those of the environment at open, those of a statement when one brings them. Its record goes when
//! it is done. Must not know: how objects are written.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use catalog::{Catalog, ExportState, Op, Precondition};
use host::Host;
use model::{ErrorCode, ExportId, ExportStore};
use sources::export::finish::{abort, complete_left, store_without_statement};
use sources::export::{Destination, Reachable};
use stores::clients::store::Store;
use stores::{SourceError, SourceSettings};

use crate::context::services::Services;
use sinks::commit::commit;

/// Finishes in the background what a crash has left. What cannot be finished stays in `system.exports`.
pub(crate) fn finish_leftovers(services: &Arc<Services>) {
    let snapshot = services.catalog.snapshot();
    let left: Vec<Arc<ExportState>> =
        snapshot.exports().filter(|export| services.is_abandoned(export)).cloned().collect();
    if left.is_empty() {
        return;
    }
    let (finishing, handle) = (Arc::clone(services), services.runtimes.cpu().clone());
    let work = move || {
        for export in left {
            let settings = SourceSettings::default().bounded();
            let caches = &finishing.sources;
            let store_of = |place: &ExportStore| {
                store_without_statement(place, &caches.stores, &caches.environment, &settings)
            };
            // Best effort: what fails is tried again at the next open. What is gone is left to a statement, which can
            // tell somebody.
            let _ = handle.block_on(finish(&finishing, export.id, &store_of, false));
        }
    };
    // Without a thread it is the next open's to do, too.
    let _ended = services.runtimes.spawn_thread("export", work);
}

/// Finishes what waits where a statement is about to write. Answers what people should know of the rest.
///
/// # Errors
/// What could not be finished is committed, and the statement may write its keys: completed later, it would replace
/// newer rows, and its label says that its rows are there.
pub(crate) async fn finish_waiting(
    services: &Services,
    destination: &Destination,
) -> Result<Vec<String>, Error> {
    let snapshot = services.catalog.snapshot();
    let waiting: Vec<Arc<ExportState>> =
        snapshot.exports().filter(|export| services.is_abandoned(export)).cloned().collect();
    let mut warnings = Vec::new();
    for export in waiting {
        if !export.objects.iter().any(|object| destination.can_finish(&object.store)) {
            continue;
        }
        let store_of =
            |place: &ExportStore| destination.can_finish(place).then(|| destination.store_of(place));
        match finish(services, export.id, &store_of, true).await {
            Ok(gone) => warnings.extend(gone.iter().map(|gone| {
                format!("the INSERT {} is committed, and not all of it is there: {gone}", export.query_id)
            })),
            Err(error)
                if export.is_committed && export.objects.iter().any(|one| destination.may_write(one)) =>
            {
                return Err(unfinished(&export, &error.to_string()));
            }
            Err(error) => warnings.push(format!(
                "export {} of the INSERT {} could not be finished and stays in system.exports: {error}",
                export.id, export.query_id
            )),
        }
    }
    Ok(warnings)
}

/// The error of a statement that would write what `export` still has to make visible.
pub(crate) fn unfinished(export: &ExportState, why: &str) -> Error {
    let shown = export.objects.first().map(|object| object.shown()).unwrap_or_default();
    let message = format!(
        "the INSERT {} is committed, and its {} object(s) (\"{shown}\") could not be completed yet: {why}",
        export.query_id,
        export.objects.len()
    );
    Error::new(ErrorKind::Unavailable, ErrorCode::S3_ERROR, message).with_hint(
        "repeat the statement when the place can be written with its credentials; system.exports shows what is left",
    )
}

/// Blocks for the record that says it is over. Objects that nobody can complete any more are answered; with `ends_gone`
/// the export is over all the same.
async fn finish(
    services: &Services,
    export: ExportId,
    store_of: &(dyn Fn(&ExportStore) -> Option<stores::error::Result<Arc<Store>>> + Sync),
    ends_gone: bool,
) -> Result<Vec<SourceError>, Error> {
    let Some(_working) = services.exports.begin(export) else { return Ok(Vec::new()) };
    // As it is now that nobody else works on it: whoever did may have committed or ended it.
    let Some(export) = to_finish(&services.catalog, export) else { return Ok(Vec::new()) };
    let mut objects: Vec<Reachable> = Vec::new();
    for object in &export.objects {
        let store = match object.store.is_files() {
            true => None,
            false => match store_of(&object.store) {
                Some(store) => Some(store?),
                // All of it waits.
                None => return Err(no_credentials(&object.store)),
            },
        };
        objects.push((store, object.clone()));
    }
    let disk = &services.host.disk;
    let mut gone = Vec::new();
    if services.sharing.is_some() && !export.is_committed {
        // Whoever began it may be about to commit it: it is over for all, and only then its objects go.
        end_uncommitted(&services.catalog, &services.host, export.id)?;
        abort(disk, objects).await?;
        return Ok(gone);
    }
    match export.is_committed {
        true => gone = complete_left(disk, objects).await?,
        false => abort(disk, objects).await?,
    }
    if gone.is_empty() || ends_gone {
        end(&services.catalog, &services.host, export.id)?;
    }
    Ok(gone)
}

/// The export as the log has it; `None` if it is over, or if a record whose outcome is not known may say more about it
/// than what is published: then only the next open can tell.
fn to_finish(catalog: &Catalog, export: ExportId) -> Option<Arc<ExportState>> {
    let newest = catalog.snapshot();
    // Asked after the snapshot was taken: whoever left an unknown outcome poisoned the catalog before he left.
    match catalog.is_poisoned() || catalog.may_have_open_record() {
        true => None,
        false => newest.exports().find(|newest| newest.id == export).cloned(),
    }
}

fn no_credentials(place: &ExportStore) -> Error {
    let message = format!("it waits for credentials of bucket \"{}\"", place.bucket);
    Error::new(ErrorKind::Unavailable, ErrorCode::S3_ERROR, message)
}

/// The record that an export is over. Blocks.
pub(crate) fn end(catalog: &Catalog, host: &Host, export: ExportId) -> Result<(), Error> {
    let read_seq = catalog.snapshot().seq();
    commit(catalog, host, read_seq, Vec::new(), vec![Op::ExportEnd { export }], None).map(drop)
}

/// The same, refused if it was committed meanwhile. Blocks.
fn end_uncommitted(catalog: &Catalog, host: &Host, export: ExportId) -> Result<(), Error> {
    let read_seq = catalog.snapshot().seq();
    let still = vec![Precondition::ExportUncommitted { export }];
    commit(catalog, host, read_seq, still, vec![Op::ExportEnd { export }], None).map(drop)
}

#[cfg(test)]
mod tests {
    use catalog::CatalogConfig;
    use host::FaultAction;
    use model::ExportObject;

    use super::*;

    #[test]
    fn an_export_whose_commit_is_not_known_is_left_to_the_next_open() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::system(1 << 30).unwrap();
        let catalog = Catalog::open(&host, folder.path(), CatalogConfig::default()).unwrap();
        let (known, unknown) = (ExportId::from_bytes([1; 16]), ExportId::from_bytes([2; 16]));
        let object = ExportObject {
            store: Arc::new(ExportStore::files()),
            key: "/a.csv".into(),
            upload: "/.a.csv.tmp".into(),
            parts: Vec::new(),
            bytes: 3,
        };
        let write = |op: Op| commit(&catalog, &host, catalog.snapshot().seq(), Vec::new(), vec![op], None);
        for export in [known, unknown] {
            let (query_id, objects) = ("q".into(), vec![object.clone()]);
            write(Op::ExportOpen { export, query_id, objects }).unwrap();
            assert!(!to_finish(&catalog, export).unwrap().is_committed);
        }
        let committed = |export| Op::ExportCommit { export, objects: vec![object.clone()], rows: 1 };
        // Whoever saw it before this record would abort what it names.
        write(committed(known)).unwrap();
        assert!(to_finish(&catalog, known).unwrap().is_committed);
        host.faults.arm("commitlog.record.sync", 0, FaultAction::Fail);
        assert_eq!(write(committed(unknown)).unwrap_err().kind, ErrorKind::OutcomeUnknown);
        assert!(!catalog.snapshot().exports().any(|one| one.id == unknown && one.is_committed));
        for export in [known, unknown] {
            assert_eq!(to_finish(&catalog, export), None);
        }
    }
}
