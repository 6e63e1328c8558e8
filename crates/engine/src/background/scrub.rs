//! Old parts are read again now and then, so that damage is found while another copy of them still exists.
//!
//! One part after the other, the one that was not looked at for the longest time first, and slowly: whoever works with the
//! disk shall not notice. Invariant: a part is compared with the checksum of its whole file at least once in
//! `scrub_interval`, as far as the pace allows; what is found stands in `system.parts`. Must not know: what is done about it.

use std::sync::Arc;
use std::time::Duration;

use boundary::error::Error;
use boundary::ledgers::errors::Whose;
use catalog::Catalog;
use model::PartDescriptor;

use crate::context::services::Services;

/// Bytes read in a second: a hundredth of what a disk gives.
const BYTES_PER_SECOND: u64 = 32 << 20;

/// Compares the part that is due first; false if none is.
pub(crate) fn round(services: &Arc<Services>) -> Result<bool, Error> {
    let now_ms = services.host.clock.now_ms();
    let Some(part) = due(services, now_ms) else { return Ok(false) };
    let (store, clock) = (&services.store, &services.host.clock);
    let compared = store.compare_slowly(&part, |bytes| {
        clock.sleep(Duration::from_micros(bytes.saturating_mul(1_000_000) / BYTES_PER_SECOND));
        !services.closing.is_cancelled()
    });
    match compared {
        Ok(true) => store.health().note_sound(&part, clock.now_ms()),
        // The database is about to close.
        Ok(false) => return Ok(false),
        // Its file went with it meanwhile.
        Err(_) if !is_live(&services.catalog, &part) => {}
        Err(error) => {
            store.health().note_error(part.table, &error);
            store.health().note_looked(&part, clock.now_ms());
            let snapshot = services.catalog.snapshot();
            if let Some(table) = snapshot.table_by_id(part.table) {
                let error = Error::from(error).of_part(&table.def.name, &part);
                services.note_error(&error, &Whose::default());
            }
        }
    }
    Ok(true)
}

/// The live part that was looked at first of those that are due. One that this process has not looked at counts from when
/// it was written.
fn due(services: &Services, now_ms: u64) -> Option<Arc<PartDescriptor>> {
    let interval_ms = services.config.scrub_interval_ms;
    if interval_ms == 0 {
        return None;
    }
    let snapshot = services.catalog.snapshot();
    let tables = snapshot
        .all_tables()
        .filter(|table| table.def.engine.keeps_parts() && services.is_mine(table.def.id, ""));
    let parts = tables.flat_map(|table| table.parts());
    let looked = |part: &PartDescriptor| services.store.health().of(part).0.unwrap_or(part.created_ms);
    let first = parts.map(|part| (looked(part), part)).min_by_key(|(looked_ms, _)| *looked_ms);
    first
        .filter(|(looked_ms, _)| looked_ms.saturating_add(interval_ms) <= now_ms)
        .map(|(_, part)| Arc::clone(part))
}

fn is_live(catalog: &Catalog, part: &PartDescriptor) -> bool {
    catalog.snapshot().table_by_id(part.table).is_some_and(|table| table.part(part.id).is_some())
}
