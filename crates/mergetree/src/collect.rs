//! Deletes files of parts removed long enough ago, and puts files aside that no record ever named.
//!
//! Detached parts stay as long as their table. Invariant: after records may have been lost nothing is deleted or moved for as long as what is put aside is kept, and of a
//! table with a damaged part no file that was merged away: it may be all there is of the damaged one. A file is deleted only
//! if no snapshot that is held can see it, no open load has staged it and no record may still name it. The file goes first, the memory of it after; a crash between the two repeats the deletion, which is
//! idempotent.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, CommitOutcome, Finding, HELD_UNTIL_TOLD, RemovedPart, Snapshot, TableState};
use host::Host;
use model::saturating::u64_of;
use model::{PartDescriptor, PartId, Seq, TableDef, TableId};
use parts::{PartError, PartFile, PartStore};

use crate::error::TableError;
pub use crate::lost::Collected;
use crate::lost::{self, FREE_BYTES_LOW};

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
    // A full disk stops everything, so there what may be needed goes all the same.
    let has_room = store.free_bytes()? >= FREE_BYTES_LOW;
    if now_ms < catalog.held_until_ms() && has_room {
        return Ok(collected);
    }
    let ignore_snapshots = host.faults.planted("mergetree.collect_ignores_snapshots");
    let horizon = if ignore_snapshots { snapshot.seq() } else { horizon };
    let expired = Expired { horizon, now_ms, lifetime_ms };
    // A file that cannot be deleted must not be in the way of the other tables.
    let mut first_error = None;
    let is_whole = |table: &&Arc<TableState>| !has_room || store.health().is_whole(table.def.id);
    for table in snapshot.all_tables().filter(is_whole) {
        let outdated = table.outdated();
        if let Err(error) = collect_table(catalog, store, (table, outdated), &expired, &mut collected) {
            first_error.get_or_insert(error);
        }
    }
    for (id, dropped) in snapshot.dropped_tables() {
        let all = dropped.state.removed();
        let left = collect_table(catalog, store, (&dropped.state, all), &expired, &mut collected);
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

/// Returns how many of these removed parts must stay.
fn collect_table<'a>(
    catalog: &Catalog,
    store: &PartStore,
    (table, parts): (&TableState, impl Iterator<Item = &'a Arc<RemovedPart>>),
    expired: &Expired,
    collected: &mut Collected,
) -> Result<usize, TableError> {
    let (mut gone, mut left): (Vec<PartId>, usize) = (Vec::new(), 0);
    let lifetime_ms = lifetime_ms(&table.def).unwrap_or(expired.lifetime_ms);
    for removed in parts {
        let old = expired.now_ms.saturating_sub(removed.removed_ms) >= lifetime_ms;
        if !old || removed.seq > expired.horizon {
            left += 1;
            continue;
        }
        pass(store, table, "mergetree.collect.delete")?;
        store.delete(&removed.descriptor)?;
        collected.add(removed.descriptor.bytes);
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

/// What was found beside the log when it was opened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FoundAtOpen {
    /// Files no record names, now in [`lost`].
    pub put_aside: Collected,
    /// Such files that were deleted: never finished, or in the way on a full disk.
    pub deleted: Collected,
    /// Files of live parts that were found in [`lost`].
    pub brought_back: u64,
    /// Live parts whose files are not there, or have another length.
    pub missing: Vec<PathBuf>,
    /// Nothing is deleted or put aside before, milliseconds since 1970 UTC; 0 if nothing is held.
    pub held_until_ms: u64,
    /// Files no record names that stay where they are for that long, or because a live part is missing.
    pub left: u64,
}

/// Puts files aside that no record names, for `lifetime_ms`, and looks whether live parts have theirs. Only right after
/// opening, before the first statement: later on, a file without a name may be one that is about to get it.
///
/// # Errors
/// The disk refuses; or there are parts beside a log without a record.
pub fn orphans_at_open(
    catalog: &Catalog,
    store: &PartStore,
    lifetime_ms: u64,
) -> Result<FoundAtOpen, TableError> {
    let snapshot = catalog.snapshot();
    let named = Named::of(&snapshot);
    let mut files = Vec::new();
    let tables = store.list_tables()?;
    for table in &tables {
        files.extend(store.list_files(*table)?);
    }
    let mut parts = files.iter().filter(|file| file.part.is_some());
    if let (Seq::ZERO, Some(file)) = (catalog.seq(), parts.next()) {
        let (root, example) = (store.root(), store.storage().place(&file.key));
        return Err(TableError::LogMissing { root, files: 1 + parts.count(), example });
    }
    let mut found = FoundAtOpen::default();
    let now_ms = store.host().clock.now_ms();
    let is_lost = catalog.findings().iter().any(Finding::may_have_lost);
    if is_lost || catalog.held_until_ms() == HELD_UNTIL_TOLD {
        catalog.hold_collection(now_ms.saturating_add(lifetime_ms))?;
    }
    let lengths: HashMap<&str, u64> = files.iter().map(|file| (file.key.as_str(), file.bytes)).collect();
    for part in &named.live {
        let key: &str = &part.location.key;
        if lengths.get(key) == Some(&part.bytes) {
            continue;
        }
        match lost::bring_back(store, part)? {
            true => found.brought_back += 1,
            false => {
                let message = "its file is missing, or has another length".to_owned();
                store.health().note_error(part.table, &PartError::Damaged { part: part.id, message });
                found.missing.push(store.path(part));
            }
        }
    }
    let orphans: Vec<&PartFile> = files.iter().filter(|file| !named.knows(file)).collect();
    if now_ms < catalog.held_until_ms() {
        found.held_until_ms = catalog.held_until_ms();
    }
    if found.held_until_ms > 0 || !found.missing.is_empty() {
        found.left = u64_of(orphans.len());
        return Ok(found);
    }
    (found.put_aside, found.deleted) = lost::put_aside(store, &orphans, now_ms)?;
    for table in tables.iter().filter(|table| !named.tables.contains(table)) {
        if store.storage().list(&PartStore::table_folder(*table)).is_ok_and(|left| left.is_empty()) {
            store.delete_table(*table)?;
        }
    }
    lost::sweep(store, lifetime_ms)?;
    Ok(found)
}

/// What records name.
#[derive(Default)]
pub(crate) struct Named<'a> {
    tables: HashSet<TableId>,
    parts: HashSet<PartId>,
    /// Those that must be there: live, detached, or staged.
    live: Vec<&'a PartDescriptor>,
}

impl<'a> Named<'a> {
    pub(crate) fn of(snapshot: &'a Snapshot) -> Named<'a> {
        let mut named = Named::default();
        for table in snapshot.all_tables() {
            named.live.extend(table.parts().map(AsRef::<PartDescriptor>::as_ref));
            named.live.extend(table.detached().map(|detached| detached.descriptor.as_ref()));
            named.add(table);
        }
        for (_, dropped) in snapshot.dropped_tables() {
            named.add(&dropped.state);
        }
        // Nobody sees them yet: a load that is resumed publishes them.
        named
            .live
            .extend(snapshot.loads().flat_map(|load| load.parts().map(AsRef::<PartDescriptor>::as_ref)));
        let live = named.live.iter().map(|part| part.id);
        named.parts.extend(live);
        named
    }

    fn add(&mut self, table: &TableState) {
        self.tables.insert(table.def.id);
        self.parts.extend(table.parts().map(|part| part.id));
        self.parts.extend(table.removed().map(|removed| removed.descriptor.id));
    }

    pub(crate) fn knows(&self, file: &PartFile) -> bool {
        self.tables.contains(&file.table) && file.part.is_some_and(|part| self.parts.contains(&part))
    }
}
