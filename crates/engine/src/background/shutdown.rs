//! What a database does before it is closed on purpose, so that the next open has little to replay.
//!
//! Invariant: nothing depends on it: without it the log holds everything that is acknowledged.

use std::sync::Arc;

use boundary::error::Error;
use catalog::Catalog;

use crate::background::following;
use crate::background::merging::flush_table;
use crate::context::database::Database;

impl Database {
    /// Makes rows of the log into parts and writes a checkpoint. Statements may run meanwhile.
    ///
    /// # Errors
    /// Whatever the disk says; nothing is lost then.
    pub async fn settle(self: &Arc<Self>) -> Result<(), Error> {
        let services = Arc::clone(&self.services);
        let work = move || {
            if services.catalog.is_poisoned() {
                return Ok(());
            }
            let snapshot = services.catalog.snapshot();
            let waits = |table: &&Arc<catalog::TableState>| {
                table.def.engine.keeps_parts() && table.inline_count() > 0
            };
            let waiting: Vec<_> = snapshot.all_tables().filter(waits).map(|table| table.def.id).collect();
            drop(snapshot);
            for table in waiting {
                flush_table(&services, table)?;
            }
            if let Some(sharing) = &services.sharing {
                // What the others have found is to be known; who does not say has found nothing.
                let _heard = following::tell(&services, sharing);
            }
            following::checkpoint(&services, Catalog::checkpoint)
        };
        let done = self.services.runtimes.spawn_blocking("settle", work).await;
        done.map_err(|e| Error::internal(e.to_string()))?
    }
}
