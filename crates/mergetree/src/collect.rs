//! Deletes files that nobody needs: parts removed long enough ago, and files no record ever named.
//!
//! Invariant: a file is deleted only if no snapshot that is held can see it, no open load has staged it and no record
//! may still name it. The file goes first, the memory of it after; a crash between the two repeats the deletion, which is
//! idempotent.

use std::collections::HashSet;
use std::time::Duration;

use catalog::{Catalog, CommitOutcome, TableState};
use host::Host;
use model::{PartId, Seq, TableDef, TableId};
use parts::{PartError, PartStore};

use crate::error::TableError;

/// What was deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    pub files: u64,
    pub bytes: u64,
}

/// Deletes the files of parts that were removed at least `lifetime_ms` ago, or what the table's `old_parts_lifetime` says,
/// and that no snapshot sees.
///
/// # Errors
/// The disk or the log refuses; what is left is tried again next time.
pub fn run(
    catalog: &Catalog,
    store: &PartStore,
    host: &Host,
    lifetime_ms: u64,
) -> Result<Collected, TableError> {
    let horizon = catalog.horizon();
    let snapshot = catalog.snapshot();
    let now_ms = host.clock.now_ms();
    let mut collected = Collected::default();
    let ignore_snapshots = host.faults.planted("mergetree.collect_ignores_snapshots");
    let horizon = if ignore_snapshots { snapshot.seq() } else { horizon };
    let expired = Expired { horizon, now_ms, lifetime_ms };
    // A file that cannot be deleted must not be in the way of the other tables.
    let mut first_error = None;
    for table in snapshot.all_tables() {
        if let Err(error) = collect_table(catalog, store, table, &expired, &mut collected) {
            first_error.get_or_insert(error);
        }
    }
    for (id, dropped) in snapshot.dropped_tables() {
        let left = collect_table(catalog, store, &dropped.state, &expired, &mut collected);
        let done = left.and_then(|left| if left == 0 { Ok(store.delete_table(id)?) } else { Ok(()) });
        if let Err(error) = done {
            first_error.get_or_insert(error);
        }
    }
    first_error.map_or(Ok(collected), Err)
}

struct Expired {
    horizon: Seq,
    now_ms: u64,
    lifetime_ms: u64,
}

/// Returns how many removed parts must stay.
fn collect_table(
    catalog: &Catalog,
    store: &PartStore,
    table: &TableState,
    expired: &Expired,
    collected: &mut Collected,
) -> Result<usize, TableError> {
    let (mut gone, mut left): (Vec<PartId>, usize) = (Vec::new(), 0);
    let lifetime_ms = lifetime_ms(&table.def).unwrap_or(expired.lifetime_ms);
    for removed in table.removed() {
        let old = expired.now_ms.saturating_sub(removed.removed_ms) >= lifetime_ms;
        if !old || removed.seq > expired.horizon {
            left += 1;
            continue;
        }
        pass(store, table, "mergetree.collect.delete")?;
        store.delete(&removed.descriptor)?;
        collected.files += 1;
        collected.bytes += removed.descriptor.bytes;
        gone.push(removed.descriptor.id);
    }
    if !gone.is_empty() {
        pass(store, table, "mergetree.collect.forget")?;
        match catalog.forget_removed(table.def.id, gone)? {
            CommitOutcome::Committed(_) => {}
            CommitOutcome::Refused(why) => return Err(why.into()),
            CommitOutcome::Unknown(why) => return Err(TableError::OutcomeUnknown(why)),
        }
    }
    Ok(left)
}

/// Passes a fault point between two steps.
fn pass(store: &PartStore, table: &TableState, point: &'static str) -> Result<(), TableError> {
    store.host().faults.hit(point).map_err(|source| {
        PartError::Disk { action: "collect parts of", path: store.table_dir(table.def.id), source }.into()
    })
}

fn lifetime_ms(def: &TableDef) -> Option<u64> {
    let lifetime = Duration::try_from_secs_f64(def.setting("old_parts_lifetime")?).ok()?;
    u64::try_from(lifetime.as_millis()).ok()
}

/// Deletes files that no record names. Only right after opening, before the first statement: later on, a file without a
/// name may be one that is about to get it.
///
/// # Errors
/// The disk refuses.
pub fn orphans_at_open(catalog: &Catalog, store: &PartStore) -> Result<Collected, TableError> {
    let snapshot = catalog.snapshot();
    let (mut tables, mut parts): (HashSet<TableId>, HashSet<PartId>) = (HashSet::new(), HashSet::new());
    let dropped = snapshot.dropped_tables().map(|(_, dropped)| dropped.state.as_ref());
    for table in snapshot.all_tables().map(AsRef::as_ref).chain(dropped) {
        tables.insert(table.def.id);
        parts.extend(table.parts().map(|part| part.id));
        parts.extend(table.removed().map(|removed| removed.descriptor.id));
    }
    // Nobody sees them yet: a load that is resumed publishes them.
    parts.extend(snapshot.loads().flat_map(|load| load.parts().map(|part| part.id)));
    let mut collected = Collected::default();
    for table in store.list_tables()? {
        let known = tables.contains(&table);
        for file in store.list_files(table)? {
            if known && file.part.is_some_and(|part| parts.contains(&part)) {
                continue;
            }
            store.delete_file(&file)?;
            collected.files += 1;
            collected.bytes += file.bytes;
        }
        if !known {
            store.delete_table(table)?;
        }
    }
    Ok(collected)
}
