//! When TTLs are carried out: in the background now and then, behind OPTIMIZE, and when a TTL is given.
//!
//! Each of these is one mutation, under the settings of the server: nobody's session decides what is too old. Invariant: an
//! error of one table keeps no other from its turn. Must not know: what a TTL says.

use std::sync::Arc;
use std::time::Duration;

use boundary::error::Error;
use boundary::ledgers::errors::Whose;
use catalog::{Snapshot, TableState};
use host::meter;
use model::TableEngine;
use sql::definition::ttl::has_ttl;
use sql::{Mutation, Optimize, Partition, RowChange, RowCommand, TableName};

use super::run::run;
use crate::background::optimize::table_of;
use crate::context::execution::Execution;
use crate::context::services::Services;

/// Seconds between two turns of a table, unless its definition says otherwise: ClickHouse's `merge_with_ttl_timeout`.
const TIMEOUT_S: u64 = 14_400;
/// After an error.
const AFTER_ERROR: Duration = Duration::from_secs(60);

/// Behind OPTIMIZE FINAL: what is too old goes, if the table has a TTL.
pub(crate) async fn after_optimize(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    optimize: &Optimize,
) -> Result<(), Error> {
    if !optimize.is_final {
        return Ok(());
    }
    let execution = execution.at_newest_snapshot(&services.catalog);
    let Ok(state) = table_of(&execution, &optimize.table) else { return Ok(()) };
    if !is_due_one_day(&state) || services.expiries.is_stopped(state.def.id) {
        return Ok(());
    }
    let Some(table) = name_of(&execution.snapshot, &state) else { return Ok(()) };
    run(services, &execution, &mutation(&table, optimize.partition.clone(), FORCED)).await
}

/// Behind ALTER TABLE: a TTL that was given holds for the rows that are there, too.
pub(crate) async fn after_alter(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    table: &TableName,
) -> Result<(), Error> {
    if !execution.settings.get_bool("materialize_ttl_after_modify") {
        return Ok(());
    }
    let state = execution.at_newest_snapshot(&services.catalog).table(table)?;
    if !is_due_one_day(&state) {
        return Ok(());
    }
    run(services, execution, &mutation(table, None, SAID)).await
}

/// What `system.mutations` says, nothing of what is no mutation of anybody; and whether single rows go, whatever the table says.
type Manner = (&'static str, bool);
/// OPTIMIZE FINAL writes all parts anew, and so do we.
const FORCED: Manner = ("", true);
const UNASKED: Manner = ("", false);
const SAID: Manner = ("MATERIALIZE TTL", false);

fn mutation(table: &TableName, partition: Option<Partition>, (text, is_forced): Manner) -> Mutation {
    let change = RowChange::MaterializeTtl { is_forced };
    let command = RowCommand { change, partition, text: text.to_owned() };
    Mutation { table: table.clone(), commands: vec![command] }
}

fn name_of(snapshot: &Snapshot, table: &TableState) -> Option<TableName> {
    let database = snapshot.database_by_id(table.def.database)?;
    Some(TableName { database: Some(database.name.to_string()), table: table.def.name.to_string() })
}

fn is_due_one_day(state: &TableState) -> bool {
    state.def.engine == TableEngine::MergeTree && has_ttl(&state.def)
}

/// One table whose turn it is; false if none is.
pub(crate) fn round(services: &Arc<Services>) -> Result<bool, Error> {
    if services.catalog.is_poisoned() {
        return Ok(false);
    }
    let now = services.host.clock.monotonic();
    // Asked of the newest snapshot: a table that was just created may be stopped already.
    services.expiries.retain(|id| services.catalog.snapshot().table_by_id(id).is_some());
    let snapshot = services.catalog.snapshot();
    // One that is detached waits until it is there again.
    let is_there = |table: &TableState| {
        let named = snapshot.table(table.def.database, &table.def.name);
        named.is_some_and(|named| named.def.id == table.def.id)
    };
    let has_rows = |table: &TableState| table.part_count() > 0 || table.inline_count() > 0;
    let due = snapshot.all_tables().find(|table| {
        let id = table.def.id;
        is_due_one_day(table)
            && has_rows(table)
            && is_there(table)
            && services.is_mine(id, "")
            && services.merges.may_run(id)
            && services.expiries.is_due(id, now)
    });
    let Some(table) = due else { return Ok(false) };
    let pause = table.def.setting("merge_with_ttl_timeout").unwrap_or(TIMEOUT_S);
    // Before it is tried: rows that come meanwhile wait for the next turn.
    services.expiries.rest(table.def.id, now.saturating_add(Duration::from_secs(pause)));
    if let Err(error) = expire(services, table) {
        services.note_error(&error, &Whose::default());
        services.expiries.rest(table.def.id, services.host.clock.monotonic() + AFTER_ERROR);
    }
    Ok(true)
}

fn expire(services: &Arc<Services>, table: &TableState) -> Result<(), Error> {
    let snapshot = services.catalog.snapshot();
    let Some(name) = name_of(&snapshot, table) else { return Ok(()) };
    let execution = Execution::of_server(services, snapshot);
    let account = Some(Arc::clone(&execution.account));
    let mutation = mutation(&name, None, UNASKED);
    let work = meter::metered(account, run(services, &execution, &mutation));
    tokio::runtime::Handle::current().block_on(work)
}

#[cfg(test)]
mod tests {
    use boundary::config::Config;
    use boundary::request::Request;

    use crate::context::database::Database;

    use super::*;

    /// How long the background may take until it is called missing.
    const PATIENCE: Duration = Duration::from_secs(120);

    #[test]
    fn rows_that_are_too_old_go_in_the_background_and_stay_where_that_is_stopped() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let database = Database::open(Config { threads: Some(2), ..Config::default() }).unwrap();
            let session = database.session();
            let rows = async |sql: &str| {
                session.execute(Request::new(sql)).await.unwrap().collect().await.unwrap();
                let snapshot = database.services.catalog.snapshot();
                let mut tables = snapshot.all_tables();
                let kept =
                    tables.find(|table| *table.def.name == *"kept").map_or(0, |table| table.part_count());
                let gone = snapshot.all_tables().find(|table| *table.def.name == *"gone");
                (kept, gone.map_or(1, |table| table.part_count() + usize::from(table.inline_count() > 0)))
            };
            for table in ["kept", "gone"] {
                rows(&format!("CREATE TABLE {table} (d Date) ENGINE = MergeTree ORDER BY d TTL d + 1")).await;
            }
            rows("SYSTEM STOP TTL MERGES kept").await;
            // One that is detached is nobody's error.
            rows("CREATE TABLE away (d Date) ENGINE = MergeTree ORDER BY d TTL d + 1").await;
            rows("SYSTEM STOP TTL MERGES away").await;
            for table in ["away", "kept", "gone"] {
                let insert = format!("INSERT INTO {table} SELECT '2020-01-01' FROM numbers(1000000)");
                rows(&insert).await;
            }
            rows("DETACH TABLE away").await;
            let detached = database.services.catalog.snapshot();
            let away =
                detached.all_tables().find(|table| *table.def.name == *"away").map(|table| table.def.id);
            database.services.expiries.start(Some(away.unwrap()));
            let clock = &database.services.host.clock;
            let began = clock.monotonic();
            while rows("SELECT 1").await.1 > 0 && clock.monotonic() - began < PATIENCE {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(rows("SELECT 1").await, (1, 0));
            let services = Arc::clone(&database.services);
            let round = move || while round(&services).unwrap() {};
            database.services.runtimes.spawn_blocking("ttl", round).await.unwrap();
            let errors = Request::new("SELECT name FROM system.errors WHERE name = 'UNKNOWN_TABLE'");
            let errors = session.execute(errors).await.unwrap().collect().await.unwrap();
            assert_eq!(errors.iter().map(|batch| batch.num_rows()).sum::<usize>(), 0);
            drop(session);
            database.close().await;
        });
    }
}
