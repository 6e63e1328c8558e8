//! What a server that shares its root does all the time: it follows the log, and tells the others that it is there.
//!
//! Invariant: an error is noted once while it lasts, and everything goes on when the store answers again. Must not know: what is in
//! the log.

use std::sync::{Arc, Weak};
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::errors::Whose;
use catalog::{Catalog, CatalogError};
use model::{ErrorCode, TableId};
use shared::node::BEAT_MS;
use shared::sharing::LOOKED_MAX;
use shared::sharing::Resting;
use shared::{Report, Sharing};
use tokio::task::JoinHandle;

use crate::context::services::Services;

/// Starts both loops, if the root is shared.
pub(crate) fn start(services: &Arc<Services>) -> Vec<JoinHandle<()>> {
    match services.sharing {
        None => Vec::new(),
        Some(_) => vec![start_loop(services, "follow", follow), start_loop(services, "beat", beat)],
    }
}

/// A server does not listen at once, and tells soon where it does.
const OPENING_MS: u64 = 2_000;
const SOON: Duration = Duration::from_millis(250);

/// One round, and how long the pause after it is.
type Round = fn(&Arc<Services>) -> (Result<(), Error>, Duration);

fn start_loop(services: &Arc<Services>, name: &'static str, round: Round) -> JoinHandle<()> {
    let weak: Weak<Services> = Arc::downgrade(services);
    let (closing, runtimes) = (services.closing.clone(), services.runtimes.clone());
    services.runtimes.spawn_io(name, async move {
        let mut last_error = None;
        while !closing.is_cancelled() {
            let Some(working) = weak.upgrade() else { return };
            let done = runtimes.spawn_blocking(name, move || round(&working)).await;
            let (done, pause) = done.unwrap_or_else(|task| (Err(Error::ended_early(task)), LOOKED_MAX));
            let error = done.err();
            let text = error.as_ref().map(ToString::to_string);
            if let (Some(error), Some(services)) = (error, weak.upgrade())
                && last_error != text
            {
                services.note_error(&error, &Whose::default());
            }
            last_error = text;
            tokio::select! {
                () = closing.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    })
}

fn follow(services: &Arc<Services>) -> (Result<(), Error>, Duration) {
    let Some(sharing) = &services.sharing else { return (Ok(()), LOOKED_MAX) };
    // Whoever commits knows the end of the log without a look.
    let since = services.host.clock.monotonic().saturating_sub(LOOKED_MAX);
    let followed = services.catch_up(since, None);
    if sharing.has_news() {
        // Who hears of it later, with the next beat, has perhaps written a checkpoint before.
        let _told = tell(services, sharing);
    }
    (followed, sharing.pause(services.host.clock.monotonic()))
}

fn beat(services: &Arc<Services>) -> (Result<(), Error>, Duration) {
    let pause = Duration::from_millis(BEAT_MS);
    let Some(sharing) = &services.sharing else { return (Ok(()), pause) };
    let is_silent = sharing.addresses.lock().is_empty();
    let told = tell(services, sharing);
    let age_ms = services.now_ms().saturating_sub(services.started_ms);
    match is_silent && age_ms < OPENING_MS {
        // Where it listens is about to be known.
        true => (told, SOON),
        false => (told, pause),
    }
}

/// Tells the others, and takes in what they say; blocks.
pub(crate) fn tell(services: &Services, sharing: &Sharing) -> Result<(), Error> {
    sharing.beat(&services.catalog, report(services))?;
    let damaged = sharing.member.of_others(|report| report.damaged.clone());
    let tables = damaged.iter().filter_map(|table| TableId::parse(table));
    services.store.health().set_damaged_elsewhere(tables.collect());
    if sharing.outruns_others() {
        services.catalog.give_way();
    }
    Ok(())
}

/// Writes a checkpoint, unless some server has found that the log is not what it should be: a checkpoint would hide that.
///
/// # Errors
/// The store fails, or there is such a doubt.
pub(crate) fn checkpoint<T>(
    services: &Services,
    write: impl FnOnce(&Catalog) -> Result<T, CatalogError>,
) -> Result<(), Error> {
    match services.sharing.as_ref().and_then(Sharing::doubts_log) {
        Some(why) => Err(Error::new(
            ErrorKind::Corruption,
            ErrorCode::CORRUPTED_DATA,
            format!("no checkpoint is written while a server cannot follow the log: {why}"),
        )
        .with_hint("put back from a copy what was deleted or changed below stream/")),
        None => Ok(write(&services.catalog).map(drop)?),
    }
}

/// Lets the merges of a table rest on the other servers, who hear of it within two beats; `None` without others. Blocks until
/// most have heard.
pub(crate) fn rest_elsewhere(services: &Services, table: TableId) -> Option<Resting> {
    let sharing = services.sharing.as_ref().filter(|sharing| sharing.member.nodes().len() > 1)?;
    let resting = sharing.rest(table);
    // Who could not be told merges on, and is lost against as before.
    let _told = tell(services, sharing);
    services.host.clock.sleep(Duration::from_millis(BEAT_MS));
    Some(resting)
}

/// What this process says of itself.
pub(crate) fn report(services: &Services) -> Report {
    let addresses = services.sharing.as_ref().map(|sharing| sharing.addresses.lock().clone());
    let peer = services.sharing.as_ref().map(|sharing| sharing.peer.lock().clone());
    Report {
        host: services.host_name.to_string(),
        addresses: addresses.unwrap_or_default(),
        peer: peer.unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_ms: services.started_ms,
        writes_since_ms: writes_since_ms(services),
        exports: services.exports.ids().iter().map(ToString::to_string).collect(),
        damaged: services.store.health().damaged_tables().iter().map(ToString::to_string).collect(),
        resting: services.sharing.as_ref().map_or_else(Vec::new, Sharing::resting),
        is_outrun: services
            .sharing
            .as_ref()
            .is_some_and(|sharing| sharing.is_outrun(services.host.clock.monotonic())),
        works: services.config.background && !services.catalog.is_poisoned(),
        queries: model::saturating::u64_of(services.processes.running().len()),
        ..Report::default()
    }
}

/// When the oldest of what this process may be writing was begun, milliseconds since 1970 UTC; `u64::MAX` if there is nothing.
pub(crate) fn writes_since_ms(services: &Services) -> u64 {
    let (now, now_ms) = (services.host.clock.monotonic(), services.now_ms());
    let began =
        |started: Duration| now_ms.saturating_sub(model::saturating::millis_of(now.saturating_sub(started)));
    let statements = services.processes.running().into_iter().map(|process| began(process.started));
    let merges = services.merges.running().into_iter().map(|merge| began(merge.started));
    statements.chain(merges).min().unwrap_or(u64::MAX)
}
