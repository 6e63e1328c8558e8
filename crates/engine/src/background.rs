//! Work that nobody waits for: merges, flushes, collection of old files, checkpoints.
//!
//! Invariant: each loop is snapshot, choose, run. An error of one round is logged into the next round's delay, never
//! into a statement.

use std::sync::Arc;
use std::time::Duration;

use catalog::TableState;
use mergetree::merge::{MergeLimits, choose_for};

use crate::database::Database;
use crate::error::Error;
use crate::merging::{flush_table, run_merge};

/// How long a loop sleeps when nobody wakes it.
const IDLE: Duration = Duration::from_secs(5);
/// After an error.
const AFTER_ERROR: Duration = Duration::from_secs(30);
/// Inline rows of one table above which they become a part. When to flush is decided by bytes alone for now.
const FLUSH_BYTES: u64 = 64 << 20;

/// Starts the loops of an opened database.
pub(crate) fn start(database: &Arc<Database>) {
    let mut tasks = database.background.lock();
    for number in 0..database.config.background_pool_size.max(1) {
        tasks.push(start_loop(database, format!("merge {number}"), merge_round));
    }
    tasks.push(start_loop(database, "housekeeping".to_owned(), housekeeping_round));
}

/// A round answers whether it did something, so that there may be more to do at once.
type Round = fn(&Arc<Database>) -> Result<bool, Error>;

fn start_loop(database: &Arc<Database>, name: String, round: Round) -> tokio::task::JoinHandle<()> {
    let weak = Arc::downgrade(database);
    let (closing, runtimes) = (database.closing.clone(), database.runtimes.clone());
    let task_name = name.clone();
    database.runtimes.spawn_io(&name, async move {
        while !closing.is_cancelled() {
            let Some(database) = weak.upgrade() else { return };
            let working = Arc::clone(&database);
            let done = runtimes.spawn_blocking(&task_name, move || round(&working)).await;
            let pause = match done {
                Ok(Ok(true)) => Duration::ZERO,
                Ok(Ok(false)) => IDLE,
                Ok(Err(_)) | Err(_) => AFTER_ERROR,
            };
            tokio::select! {
                () = closing.cancelled() => return,
                () = database.wake.notified(), if pause == IDLE => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    })
}

fn all_tables(database: &Database) -> Vec<Arc<TableState>> {
    let snapshot = database.catalog.snapshot();
    let parted = |table: &&Arc<TableState>| table.def.engine == model::TableEngine::MergeTree;
    snapshot.all_tables().filter(parted).cloned().collect()
}

/// One merge of the table that needs it most.
fn merge_round(database: &Arc<Database>) -> Result<bool, Error> {
    let limits = MergeLimits { bytes_max: database.config.merge_bytes_max, ..MergeLimits::default() };
    let now_ms = database.host.clock.now_ms();
    for table in all_tables(database) {
        if !database.merges.may_run(table.def.id) {
            continue;
        }
        let busy = database.merges.busy();
        if let Some(plan) = choose_for(&table, &busy, &limits, now_ms).into_iter().next()
            && run_merge(database, &table, plan)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn housekeeping_round(database: &Arc<Database>) -> Result<bool, Error> {
    for table in all_tables(database) {
        if table.inline().map(|inline| inline.bytes.len() as u64).sum::<u64>() > FLUSH_BYTES {
            flush_table(database, table.def.id)?;
        }
    }
    mergetree::collect::run(
        &database.catalog,
        &database.store,
        &database.host,
        database.config.old_parts_lifetime_ms,
    )?;
    database.catalog.checkpoint_if_due()?;
    Ok(false)
}
