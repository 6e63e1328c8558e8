//! Statements that wait, or are refused, because merges and flushes cannot keep up with them.
//!
//! Invariant: asked once, before anything of the statement is written; in the middle of a statement nothing is refused.
//! How long is decided in `mergetree`; here is only the waiting.

use boundary::error::Error;
use boundary::ledgers::flushing::Flushing;
use boundary::progress::QueryProgress;
use catalog::{Snapshot, TableState};
use mergetree::pressure::{PartCounts, PartLimits, part_delay};

/// Waits before the first part is written while the table has more parts than merges can keep up with.
///
/// # Errors
/// It has far too many.
pub(crate) async fn wait_for_merges(
    snapshot: &Snapshot,
    progress: &QueryProgress,
    table: &TableState,
) -> Result<(), Error> {
    let name = snapshot.state().table_name(table.def.id);
    let limits = PartLimits::default().of_table(&table.def);
    let delay = part_delay(&name, PartCounts::of(table), &limits)?;
    if !delay.is_zero() {
        progress.add_delay(delay);
        // A cancelled statement is dropped, and its sleep with it.
        tokio::time::sleep(delay).await;
    }
    Ok(())
}

/// Waits before rows go into the log while flushes cannot keep up with what is there.
///
/// # Errors
/// There is far too much.
pub(crate) async fn wait_for_flushes(
    flushing: &Flushing,
    snapshot: &Snapshot,
    progress: &QueryProgress,
    table: &TableState,
) -> Result<(), Error> {
    let name = || snapshot.state().table_name(table.def.id);
    let delay = flushing.delay(name)?;
    if !delay.is_zero() {
        progress.add_delay(delay);
        tokio::time::sleep(delay).await;
    }
    Ok(())
}
