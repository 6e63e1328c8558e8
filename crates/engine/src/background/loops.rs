//! Work that nobody waits for: merges, flushes, collection of old files, checkpoints.
//!
//! Invariant: each loop is snapshot, choose, run. An error never reaches a statement, and never keeps the work of another
//! table, or another kind of work, from being done: it only delays its own next try.

use std::sync::{Arc, Weak};
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::errors::Whose;
use boundary::ledgers::part_log::Removed;
use catalog::{Catalog, Snapshot, TableState};
use mergetree::TableError;
use mergetree::merge::{MergeLimits, choose_for};
use model::TableId;
use physical::provider::checked_file::part_path;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::background::merging::{flush_table, run_merge};
use crate::background::{abandoned, following, refreshing, scrub};
use crate::context::services::Services;
use crate::export::journal;
use sources::schema_file;

/// How long a loop sleeps when nobody wakes it.
const IDLE: Duration = Duration::from_secs(5);
/// Views are refreshed by the second.
const REFRESH_IDLE: Duration = Duration::from_millis(250);
/// Views that are refreshed at a time.
const REFRESHES: usize = 2;
/// A large merge shall not keep small ones waiting.
const MERGES_MIN: usize = 2;
/// A process on a shared root merges nothing before it has run for so long.
const MERGES_AFTER_MS: u64 = 10_000;
/// After an error.
const AFTER_ERROR: Duration = Duration::from_secs(30);

/// Starts the loops of an opened database. A round of TTLs runs statements, of which this knows nothing.
pub(crate) fn start(services: &Arc<Services>, ttl_round: Round) -> Vec<JoinHandle<()>> {
    let mut tasks = Vec::new();
    let merges = services.config.background_pool_size.unwrap_or(services.threads / 2).max(MERGES_MIN);
    for number in 0..merges {
        tasks.push(start_loop(services, format!("merge {number}"), (merge_round, IDLE), |services| {
            Arc::clone(&services.wake)
        }));
    }
    for number in 0..REFRESHES {
        let round = (refreshing::round as Round, REFRESH_IDLE);
        tasks.push(start_loop(services, format!("refresh {number}"), round, |services| {
            Arc::clone(&services.wake)
        }));
    }
    tasks.push(start_loop(services, "flush".to_owned(), (flush_round, IDLE), |services| {
        services.flushing.due()
    }));
    tasks.push(start_loop(services, "scrub".to_owned(), (scrub::round, IDLE), |services| {
        Arc::clone(&services.wake)
    }));
    tasks.push(start_loop(services, "ttl".to_owned(), (ttl_round, IDLE), |services| {
        Arc::clone(&services.wake)
    }));
    tasks.push(start_loop(services, "housekeeping".to_owned(), (housekeeping_round, IDLE), |services| {
        Arc::clone(&services.wake)
    }));
    tasks
}

/// What ends a loop's sleep.
type Bell = fn(&Services) -> Arc<Notify>;

/// A round answers whether it did something, so that there may be more to do at once.
pub(crate) type Round = fn(&Arc<Services>) -> Result<bool, Error>;

/// `idle`: how long it sleeps when nobody wakes it.
fn start_loop(
    services: &Arc<Services>,
    name: String,
    (round, idle): (Round, Duration),
    bell: Bell,
) -> JoinHandle<()> {
    let weak = Arc::downgrade(services);
    let (closing, runtimes) = (services.closing.clone(), services.runtimes.clone());
    let task_name = name.clone();
    services.runtimes.spawn_io(&name, async move {
        while !closing.is_cancelled() {
            // Held while there is work only: a database that nobody has any more is closed.
            let Some(working) = weak.upgrade() else { return };
            let rings = bell(&working);
            let done = runtimes.spawn_blocking(&task_name, move || round(&working)).await;
            let pause = match done {
                Ok(Ok(true)) => Duration::ZERO,
                Ok(Ok(false)) => idle,
                Ok(Err(error)) => noted(&weak, &error),
                Err(task) => noted(&weak, &Error::ended_early(task).in_context(&task_name)),
            };
            tokio::select! {
                () = closing.cancelled() => return,
                () = rings.notified(), if pause == idle => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    })
}

/// Nobody waits for the round, so its error is seen in `system.errors` alone; the pause until the next one.
fn noted(services: &Weak<Services>, error: &Error) -> Duration {
    if let Some(services) = services.upgrade() {
        services.note_error(error, &Whose::default());
    }
    AFTER_ERROR
}

fn all_tables(catalog: &Catalog) -> Vec<Arc<TableState>> {
    let snapshot = catalog.snapshot();
    let parted = |table: &&Arc<TableState>| table.def.engine.keeps_parts();
    snapshot.all_tables().filter(parted).cloned().collect()
}

/// One merge, of the next table in turn that has something to merge.
fn merge_round(services: &Arc<Services>) -> Result<bool, Error> {
    if services.catalog.is_poisoned() {
        // Whatever is merged could not be committed.
        return Ok(false);
    }
    let age_ms = services.now_ms().saturating_sub(services.started_ms);
    if services.sharing.is_some() && age_ms < MERGES_AFTER_MS {
        // Inputs are fetched whole, which does not pay for a process of one statement.
        return Ok(false);
    }
    let limits = MergeLimits { bytes_max: services.config.merge_bytes_max, ..MergeLimits::default() };
    let (now_ms, now) = (services.host.clock.now_ms(), services.host.clock.monotonic());
    let mut tables = all_tables(&services.catalog);
    tables.sort_by_key(|table| services.merges.turn(table.def.id));
    for table in tables {
        let id = table.def.id;
        let rests_for_others = || services.sharing.as_ref().is_some_and(|sharing| sharing.is_resting(id));
        if !services.merges.may_run(id) || services.merges.is_resting(id, now) || rests_for_others() {
            continue;
        }
        let mut busy = services.merges.busy();
        busy.extend(services.store.health().damaged(id));
        let mut chosen = choose_for(&table, &busy, &limits.of_table(&table.def), now_ms).into_iter();
        let chosen = chosen.find(|plan| services.is_mine(id, plan.partition.name()));
        let Some(plan) = chosen else { continue };
        match run_merge(services, &table, plan) {
            Ok(true) => {
                services.merges.served(id);
                return Ok(true);
            }
            Ok(false) => {}
            // A full disk must not end the merging of every other table. A damaged part is left as it is from now on, and
            // the other parts of its table are merged.
            Err(error) => {
                services.note_error(&error, &Whose::default());
                if error.kind != ErrorKind::Corruption {
                    services.merges.rest(id, now + AFTER_ERROR);
                }
            }
        }
    }
    Ok(false)
}

/// Deleting comes first: on a full disk it is what lets the rest succeed.
fn housekeeping_round(services: &Arc<Services>) -> Result<bool, Error> {
    let (catalog, host) = (&services.catalog, &services.host);
    let snapshot = catalog.snapshot();
    let removed = Removed::of(&snapshot);
    forget_what_is_gone(services, &snapshot, &removed);
    drop(snapshot);
    if services.sharing.is_some() {
        // Others delete files, too.
        let newest = catalog.snapshot();
        services
            .store
            .health()
            .retain(|table, part| newest.table_by_id(table).is_some_and(|table| table.part(part).is_some()));
    }
    let lifetime_ms = services.config.old_parts_lifetime_ms;
    // Who is not informed of the others does not know what they read.
    // Nor is it known what is needed while somebody has found the log not to be what it should be.
    let is_informed = services
        .sharing
        .as_ref()
        .is_none_or(|sharing| sharing.member.is_informed() && sharing.doubts_log().is_none());
    let is_mine = services.is_root_mine();
    let collected = match is_mine && is_informed {
        true => mergetree::collect::run(catalog, &services.store, host, lifetime_ms).map(drop),
        false => Ok(()),
    };
    removed.log_gone(&services.part_log, &catalog.snapshot(), host.clock.now_ms());
    let swept = sweep_nameless(services, is_mine);
    if services.temporary.is_none() {
        schema_file::save(host.disk.as_ref(), services.root(), &services.sources.schemas);
    }
    let mut first_error = collected.err().or(swept.err()).map(Error::from);
    if let Err(error) = abandoned::round(services) {
        first_error.get_or_insert(error);
    }
    if services.sharing.is_some() && is_mine {
        journal::finish_leftovers(services);
    }
    if is_mine && let Err(error) = following::checkpoint(services, Catalog::checkpoint_if_due) {
        first_error.get_or_insert(error);
    }
    first_error.map_or(Ok(false), Err)
}

/// Deletes files that no record names when they are old enough.
fn sweep_nameless(services: &Services, is_mine: bool) -> Result<(), TableError> {
    let (now, now_ms) = (services.host.clock.monotonic(), services.now_ms());
    let lifetime_ms = services.config.orphans_lifetime_ms;
    let before_ms = match &services.sharing {
        _ if now_ms < services.catalog.held_until_ms() => return Ok(()),
        None => return mergetree::lost::sweep(&services.store, lifetime_ms).map(drop),
        Some(sharing) if !is_mine || sharing.doubts_log().is_some() => return Ok(()),
        Some(sharing) => {
            let own_since_ms = following::writes_since_ms(services);
            sharing.sweep_before(Duration::from_millis(lifetime_ms), (now, now_ms), own_since_ms)
        }
    };
    before_ms.map_or(Ok(()), |before_ms| {
        mergetree::sweep::run(&services.catalog, &services.store, before_ms).map(drop)
    })
}

/// Lets go of what is kept in memory for tables and parts that are no more: each of these would be made again if a statement
/// that began before still asked for it.
fn forget_what_is_gone(services: &Services, snapshot: &Snapshot, removed: &Removed) {
    let is_live = |table: TableId| snapshot.table_by_id(table).is_some();
    services.memory_tables.retain(is_live);
    services.tables.retain(|table, schema_version| {
        snapshot.table_by_id(table).is_some_and(|state| state.def.schema_version == schema_version)
    });
    // Of the newest snapshot: merges of a table that was just created may be stopped already.
    services.merges.retain(|table| services.catalog.snapshot().table_by_id(table).is_some());
    let footers = services.runtime_env.cache_manager.get_file_metadata_cache();
    for part in removed.parts() {
        footers.remove(&part_path(part));
    }
}

/// Makes rows of the log into parts where there are enough of them.
fn flush_round(services: &Arc<Services>) -> Result<bool, Error> {
    if services.catalog.is_poisoned() {
        return Ok(false);
    }
    let now = services.host.clock.monotonic();
    let tables = all_tables(&services.catalog);
    services.masks.kept().retain(|id| tables.iter().any(|table| table.def.id == id));
    services.memtables.retain(|id| tables.iter().any(|table| table.def.id == id && table.inline_count() > 0));
    let mut flushed = false;
    let due = services.flushing.choose(&tables, now);
    for table in due.into_iter().filter(|table| services.is_mine(*table, "")) {
        match flush_table(services, table) {
            Ok(()) => flushed = true,
            // Tried again later; until then its rows are in the log, and readable.
            Err(_) => services.flushing.rest(table, services.host.clock.monotonic() + AFTER_ERROR),
        }
    }
    if flushed {
        services.wake.notify_waiters();
    }
    Ok(flushed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::database::Database;
    use boundary::config::Config;
    use boundary::request::Request;

    #[test]
    fn nothing_is_kept_of_tables_and_parts_that_are_gone() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let config = Config { threads: Some(2), background: false, ..Config::default() };
            let database = Database::open(config).unwrap();
            let (services, session) = (&database.services, database.session());
            let done = async |sql: &str| {
                session.execute(Request::new(sql)).await.unwrap().collect().await.unwrap();
            };
            for table in ["dropped", "emptied", "kept"] {
                done(&format!("CREATE TABLE {table} (a UInt64) ENGINE = MergeTree ORDER BY a")).await;
                // Too many rows for the log: they are a part, whose footer the SELECT reads.
                done(&format!("INSERT INTO {table} SELECT number FROM numbers(1000000)")).await;
                done(&format!("SELECT sum(a) FROM {table}")).await;
            }
            let footers = services.runtime_env.cache_manager.get_file_metadata_cache();
            let live_parts =
                || services.catalog.snapshot().all_tables().map(|table| table.part_count()).sum::<usize>();
            let all = live_parts();
            housekeeping_round(services).unwrap();
            assert_eq!((footers.len(), format!("{:?}", services.tables)), (all, "Tables(3)".to_owned()));
            done("DROP TABLE dropped").await;
            done("TRUNCATE TABLE emptied").await;
            housekeeping_round(services).unwrap();
            assert!(0 < live_parts() && live_parts() < all);
            assert_eq!(
                (footers.len(), format!("{:?}", services.tables)),
                (live_parts(), "Tables(2)".to_owned())
            );
            drop(session);
            database.close().await;
        });
    }
}
