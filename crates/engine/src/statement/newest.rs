//! Which state a statement is asked of: the newest one this process knows, all there is, or one that another server named.
//!
//! Invariant: what asks for more than is known waits or fails; it is never answered from less. Must not know: what statements do.

use std::sync::Arc;
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use model::{ErrorCode, Seq};
use sql::Statement;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::statement::repeat::decides_on_newest;

/// So long a statement that reads what is known waits for a look at the end of the log.
const LOOK_PATIENCE: Duration = Duration::from_millis(300);
/// So long a statement waits for a record, and so often it looks.
const SEQ_PATIENCE: Duration = Duration::from_secs(10);
const SEQ_LOOKS: Duration = Duration::from_millis(50);

/// Of a shared root, takes in what others have committed: if nobody looked for a while, or at any rate.
pub(super) async fn look(services: &Arc<Services>, at_any_rate: bool) -> Result<(), Error> {
    let Some(sharing) = &services.sharing else { return Ok(()) };
    let now = services.host.clock.monotonic();
    // Always asked, for it notes that somebody did.
    let is_outdated = sharing.is_outdated(&services.catalog, now);
    if !at_any_rate && !is_outdated && !services.catalog.is_left_behind() {
        return Ok(());
    }
    let looking = Arc::clone(services);
    let patience = (!at_any_rate).then_some(LOOK_PATIENCE);
    let follow = move || looking.catch_up(now, patience);
    let followed = services.runtimes.spawn_blocking("follow", follow);
    let followed = match at_any_rate {
        true => followed.await,
        // A store that is slow to answer is not waited for.
        false => match tokio::time::timeout(LOOK_PATIENCE, followed).await {
            Ok(followed) => followed,
            Err(_) => return Ok(()),
        },
    };
    match followed.unwrap_or_else(|task| Err(Error::ended_early(task))) {
        // What is known can be read without the store, unless it is known to be old.
        Err(error) if at_any_rate || services.catalog.is_left_behind() => Err(error),
        _ => Ok(()),
    }
}

/// The same statement on the state it asks for. What changes anything by what it sees, and what asks for it by
/// `select_sequential_consistency`, sees everything that was committed anywhere before it came; `wait_for_seq` names a record.
pub(super) async fn asked_for(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &Statement,
    has_body: bool,
) -> Result<Arc<Execution>, Error> {
    let seq = Seq(execution.settings.get_u64("wait_for_seq"));
    // Or it could not be set to another one.
    let waits = seq > execution.snapshot.seq() && !matches!(statement, Statement::Set(_));
    if waits {
        wait_for(services, seq).await?;
    }
    let all = || {
        decides_on_newest(statement, has_body) || execution.settings.get_bool("select_sequential_consistency")
    };
    if services.sharing.is_some() && all() {
        look(services, true).await?;
    } else if !waits {
        return Ok(Arc::clone(execution));
    }
    Ok(execution.at_newest_snapshot(&services.catalog))
}

/// Waits until a record is known, here or, of a shared root, anywhere.
pub(super) async fn wait_for(services: &Arc<Services>, seq: Seq) -> Result<(), Error> {
    let clock = &services.host.clock;
    let until = clock.monotonic() + SEQ_PATIENCE;
    loop {
        let known = services.catalog.seq();
        if known >= seq {
            return Ok(());
        }
        if clock.monotonic() >= until {
            let message = format!(
                "wait_for_seq = {seq}: no such record came in {} s, the last one of the log is {known}",
                SEQ_PATIENCE.as_secs()
            );
            return Err(Error::new(ErrorKind::Unavailable, ErrorCode::TIMEOUT_EXCEEDED, message).with_hint(
                "the number is that of X-Gristmill-Seq in an answer of a server of the same root",
            ));
        }
        look(services, true).await?;
        // A commit of this process ends the pause.
        let _ = tokio::time::timeout(SEQ_LOOKS, services.catalog.watch(known)).await;
    }
}
