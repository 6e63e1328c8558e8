//! Statements that were decided on a state that is not the newest one are decided again.
//!
//! A definition that lost a race hears what it would have heard had it come later: CREATE IF NOT EXISTS finds what another one has
//! just created. Where others commit, a statement that misses something looks at the end of the log before it says so.
//! Invariant: only what has changed nothing is run again, and only if something was committed since. Must not know: what statements
//! do.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::request::{BodyStream, Rows};
use sql::{CreateSource, Insert, InsertSource, InsertTarget, Materialized, Statement};

use crate::context::execution::Execution;
use crate::context::limits;
use crate::context::services::Services;
use crate::statement::execute;

/// How often a statement is decided again.
const TRIES_MAX: usize = 10;

/// Runs a statement that is not about the session itself, as far as the settings let it.
pub(crate) async fn execute(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &Statement,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    limits::check_readonly(execution, statement)?;
    limits::within_time(
        &services.runtimes,
        &execution.settings,
        &execution.progress,
        Box::pin(run(services, execution, statement, text, body)),
    )
    .await
}

/// Runs a statement; again if it failed for what others have changed meanwhile.
async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &Statement,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    let mut execution = informed(services, execution, statement).await;
    if body.is_some() || !can_repeat(services, statement) {
        return Box::pin(execute::once(services, &execution, statement, text, body)).await;
    }
    execution = execution.repeating(true);
    for _ in 1..TRIES_MAX {
        let error = match Box::pin(execute::once(services, &execution, statement, text, None)).await {
            Ok(rows) => return Ok(rows),
            Err(error) => error,
        };
        let is_about_others =
            matches!(error.kind, ErrorKind::UnknownObject | ErrorKind::AlreadyExists | ErrorKind::Conflict);
        if !is_about_others || execution.progress.is_cancelled() || !is_outdated(services, &execution).await {
            return Err(error);
        }
        execution = execution.at_newest_snapshot(&services.catalog);
    }
    // Whatever changes now, others do not stop changing things.
    let last = execution.repeating(false);
    Box::pin(execute::once(services, &last, statement, text, None)).await
}

/// Whether a statement changes something by what it sees, so that it must see the newest state. An INSERT of values finds out when
/// it commits, at no price.
pub(crate) fn decides_on_newest(statement: &Statement, has_body: bool) -> bool {
    match statement {
        Statement::Insert(insert) => has_body || !has_values(insert),
        Statement::Query(_)
        | Statement::Show(_)
        | Statement::Describe(_)
        | Statement::Exists { .. }
        | Statement::Explain(_)
        | Statement::CheckTable { .. }
        | Statement::System(_)
        | Statement::KillQuery { .. }
        | Statement::DropTemporaryTables { .. }
        | Statement::Use { .. }
        | Statement::Set(_) => false,
        _ => true,
    }
}

/// Whether the rows of an INSERT stand in its text, if it has no body.
fn has_values(insert: &Insert) -> bool {
    matches!(insert.source, InsertSource::Values(_) | InsertSource::Format { .. })
}

/// Whether running it again does once what was to be done once, and costs little.
fn can_repeat(services: &Services, statement: &Statement) -> bool {
    match statement {
        // The rows are a transaction of their own, after that of the table.
        Statement::CreateTable(create) => !matches!(create.source, CreateSource::Select { empty: false, .. }),
        Statement::CreateView(create) => {
            !matches!(create.materialized, Some(Materialized::Own { populate: true, .. }))
        }
        Statement::CreateDatabase { .. }
        | Statement::DropDatabase { .. }
        | Statement::DropTable { .. }
        | Statement::DropView { .. }
        | Statement::CreateDictionary(_)
        | Statement::DropDictionary { .. }
        | Statement::Function(_)
        | Statement::Collection(_)
        | Statement::Truncate { .. }
        | Statement::Rename(_)
        | Statement::RenameDatabase { .. }
        | Statement::Exchange(..)
        | Statement::Detach { .. }
        | Statement::Attach { .. } => true,
        Statement::Insert(insert) => services.sharing.is_some() || has_values(insert),
        Statement::Query(_)
        | Statement::Show(_)
        | Statement::Describe(_)
        | Statement::Exists { .. }
        | Statement::Explain(_)
        | Statement::Mutate(_)
        | Statement::Optimize(_) => services.sharing.is_some(),
        _ => false,
    }
}

/// Whether something was committed since the snapshot of the statement. Where others commit, they are asked first.
async fn is_outdated(services: &Arc<Services>, execution: &Execution) -> bool {
    if services.sharing.is_some() {
        let (asking, now) = (Arc::clone(services), services.host.clock.monotonic());
        let followed = services.runtimes.spawn_blocking("follow", move || asking.catch_up(now, None));
        // Without an answer what is known counts.
        let _ = followed.await;
    }
    services.catalog.seq() > execution.snapshot.seq()
}

/// A body is read once: whether its table is there is found out before.
async fn informed(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &Statement,
) -> Arc<Execution> {
    if services.sharing.is_some()
        && let Statement::Insert(insert) = statement
        && let InsertTarget::Table(name) = &insert.target
        && execution.table(name).is_err()
        && is_outdated(services, execution).await
    {
        return execution.at_newest_snapshot(&services.catalog);
    }
    Arc::clone(execution)
}
