//! What settings forbid a statement: to write, to run too long.
//!
//! Invariant: a limit that is not set costs nothing, and a statement that reaches one says which.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use boundary::progress::QueryProgress;
use boundary::request::Rows;
use futures::StreamExt;
use host::Runtimes;
use model::ErrorCode;
use physical::nodes::row_limits::Read;
use physical::nodes::running::interruptible::Stopped;
use physical::profile::StatementProfile;
use sql::{ExplainKind, InsertTarget, Measure, Settings, Statement, TableName};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::execution::Execution;

/// Refuses statements that change something while `readonly` is set. Temporary tables are the session's own matter
/// where it may change its settings.
pub(crate) fn check_readonly(execution: &Execution, statement: &Statement) -> Result<(), Error> {
    let level = execution.settings.get_u64("readonly");
    let is_temporary = |name: &TableName| execution.temporary_table(name).is_some();
    let (reads, is_own) = match statement {
        Statement::Query(_)
        | Statement::Show(_)
        | Statement::Describe(_)
        | Statement::Exists { .. }
        | Statement::CheckTable { .. }
        | Statement::Use { .. }
        | Statement::Set(_)
        // Whose queries it may end, it decides itself.
        | Statement::KillQuery { .. } => (true, false),
        // It writes, though it undoes what it wrote.
        Statement::Explain(explain) => {
            let writes = matches!(*explain.statement, Statement::Insert(_));
            (!(explain.kind == ExplainKind::Analyze && writes), false)
        }
        Statement::Insert(insert) => {
            (false, matches!(&insert.target, InsertTarget::Table(name) if is_temporary(name)))
        }
        Statement::CreateTable(create) => (false, create.temporary),
        Statement::DropTemporaryTables { .. } => (false, true),
        Statement::DropTable { tables, .. } => (false, tables.iter().all(is_temporary)),
        Statement::Truncate { table, .. } => (false, is_temporary(table)),
        _ => (false, false),
    };
    if reads || level == 0 || (is_own && level == 2) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Denied,
        ErrorCode::READONLY,
        "cannot execute the statement in readonly mode: it changes something",
    ))
}

/// Refuses a text whose tree is larger or deeper than the settings allow.
pub(crate) fn check_tree(settings: &Settings, measure: Measure) -> Result<(), Error> {
    let is_over = |setting: &str, found: usize| {
        let most = settings.get_u64(setting);
        (most > 0 && u64::try_from(found).is_ok_and(|found| found > most)).then_some(most)
    };
    if let Some(most) = is_over("max_ast_depth", measure.levels) {
        return Err(Error::new(
            ErrorKind::Limit,
            ErrorCode::TOO_DEEP_AST,
            format!("AST is too deep. Maximum: {most}"),
        )
        .with_hint("the setting max_ast_depth says how deep it may be"));
    }
    match is_over("max_ast_elements", measure.nodes) {
        None => Ok(()),
        Some(most) => Err(Error::new(
            ErrorKind::Limit,
            ErrorCode::TOO_BIG_AST,
            format!("AST is too big. Maximum: {most}"),
        )
        .with_hint(
            "the setting max_ast_elements says how large it may be; lists of constants are one element",
        )),
    }
}

/// Runs a statement for `max_execution_time` at most, to the last row of its result.
pub(crate) async fn within_time(
    runtimes: &Runtimes,
    settings: &Settings,
    progress: &Arc<QueryProgress>,
    work: impl Future<Output = Result<Rows, Error>>,
) -> Result<Rows, Error> {
    let Some(limit) = TimeLimit::start(runtimes, settings, progress) else { return work.await };
    let mut work = Box::pin(work);
    let done = tokio::select! {
        biased;
        done = &mut work => done,
        () = limit.passed.cancelled() => {
            if progress.give_up() {
                return Err(limit.error());
            }
            work.await
        }
    };
    let rows = done.map_err(|error| limit.blame(error))?;
    // What is committed stays committed: an error now would have it done again.
    if progress.has_begun_commit() { Ok(rows) } else { Ok(limit.over(rows)) }
}

/// Why a statement was stopped from outside of its own run.
pub(crate) fn stopped(settings: &Settings, profile: &StatementProfile) -> Error {
    let seconds = settings.get_f64("max_execution_time");
    let is_late = seconds > 0.0 && profile.elapsed().as_secs_f64() >= seconds;
    if is_late { timeout(seconds) } else { Error::cancelled() }
}

fn timeout(seconds: f64) -> Error {
    let message = format!("timeout exceeded: max_execution_time is {seconds} s");
    Error::new(ErrorKind::Limit, ErrorCode::TIMEOUT_EXCEEDED, message)
}

/// `max_execution_time`, counted from where this is made.
struct TimeLimit {
    seconds: f64,
    /// Whether the rows that came in time are the result (`timeout_overflow_mode`).
    breaks: bool,
    passed: CancellationToken,
    /// Lets the task that waits go, when the statement is over.
    _over: DropGuard,
}

impl TimeLimit {
    /// `None` without a limit.
    fn start(runtimes: &Runtimes, settings: &Settings, progress: &Arc<QueryProgress>) -> Option<TimeLimit> {
        let seconds = settings.get_f64("max_execution_time");
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero())?;
        let (passed, over) = (CancellationToken::new(), CancellationToken::new());
        let guard = over.clone().drop_guard();
        let breaks = settings.get_text("timeout_overflow_mode") == "break";
        let (passing, progress) = (passed.clone(), Arc::clone(progress));
        runtimes.spawn_io("max_execution_time", async move {
            tokio::select! {
                () = over.cancelled() => {}
                () = tokio::time::sleep(time) => {
                    // In this order, so that whoever finds the statement cancelled can see why.
                    passing.cancel();
                    progress.cancel();
                }
            }
        });
        Some(TimeLimit { seconds, breaks, passed, _over: guard })
    }

    fn error(&self) -> Error {
        timeout(self.seconds)
    }

    /// What fails after the time has passed fails because of it.
    fn blame(&self, error: Error) -> Error {
        if self.passed.is_cancelled() { self.error() } else { error }
    }

    /// The same rows, as long as there is time.
    fn over(self, rows: Rows) -> Rows {
        let limit = Arc::new(self);
        let (until, blamed) = (limit.passed.clone().cancelled_owned(), Arc::clone(&limit));
        if limit.breaks {
            let in_time = move |batch: &Result<_, Error>| batch.is_ok() || !blamed.passed.is_cancelled();
            let stream =
                rows.stream.take_until(until).take_while(move |batch| std::future::ready(in_time(batch)));
            return Rows { schema: rows.schema, stream: stream.boxed() };
        }
        let stream = rows.stream.map(move |batch| batch.map_err(|error| blamed.blame(error)));
        let end =
            futures::stream::once(async move { limit.passed.is_cancelled().then(|| Err(limit.error())) });
        let stream = stream.take_until(until).chain(end.filter_map(std::future::ready)).boxed();
        Rows { schema: rows.schema, stream }
    }
}

/// Says what a statement has read.
pub(crate) fn reads_of(execution: &Execution) -> Read {
    let progress = Arc::clone(&execution.progress);
    Arc::new(move || (progress.read_rows(), progress.read_bytes()))
}

/// Whether a statement was stopped.
pub(crate) fn stopped_of(execution: &Execution) -> Stopped {
    let progress = Arc::clone(&execution.progress);
    Arc::new(move || progress.is_cancelled())
}
