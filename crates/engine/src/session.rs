//! A client's state: current database, settings; and the life of one statement.
//!
//! Invariant: a failed statement leaves no trace in the session. A statement runs on the computing threads, whatever
//! thread asked for it, and stops when nobody reads its answer any more.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use formats::FormatKind;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use host::guarded::message_of;
use parking_lot::Mutex;
use sql::{CollectionChange, InsertSource, ParsedStatement, Settings, Statement};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::StatementContext;
use crate::database::Database;
use crate::error::Error;
use crate::execute::execute;
use crate::outfile::{Outfile, output_format};
use crate::processes::Process;
use crate::profile::{Span, StatementProfile};
use crate::progress::QueryProgress;
use crate::request::{Outcome, Request, Rows};
use crate::schemas_name::SYSTEM;
use crate::secret_urls::masked_urls;
use crate::secrets::Secrets;
use crate::source_settings::{format_settings, unchanged_format_settings};
use crate::staged_load::ending::left;
use crate::statement_text::{masked, with_parameters};

/// Batches computed ahead of whoever reads them.
const BATCHES_AHEAD: usize = 2;

/// The database a session starts in.
pub const DEFAULT_DATABASE: &str = "default";

#[derive(Clone)]
struct Variables {
    current_database: String,
    /// Shared with the statements that change nothing of it.
    settings: Arc<Settings>,
}

/// One client's session. Cheap; statements of one session may run at the same time.
pub struct Session {
    database: Arc<Database>,
    variables: Mutex<Variables>,
}

impl Database {
    /// A new session in the database `default` with default settings.
    pub fn session(self: &Arc<Self>) -> Session {
        let variables = Variables {
            current_database: DEFAULT_DATABASE.to_owned(),
            settings: Arc::new(Settings::session()),
        };
        Session { database: Arc::clone(self), variables: Mutex::new(variables) }
    }
}

/// What is decided before a statement runs.
struct Prepared {
    context: Arc<StatementContext>,
    parsed: ParsedStatement,
    text: String,
    outfile: Option<Outfile>,
}

/// A statement in the list of running ones. Left alone, as by a client that goes away, it ends as cancelled.
struct Listed {
    database: Arc<Database>,
    number: u64,
    /// Lets the task that waits for the deadline go, when the statement is over.
    deadline: Option<DropGuard>,
}

impl Listed {
    fn end(&self, result_rows: u64, error: Option<Error>) {
        let now = self.database.host.clock.monotonic();
        self.database.processes.end(self.number, now, result_rows, error);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // Nothing happens to one that has ended.
        self.end(0, Some(Error::cancelled()));
    }
}

impl Session {
    pub fn current_database(&self) -> String {
        self.variables.lock().current_database.clone()
    }

    /// Sets a setting of the session, as `SET` does; answers with a warning if it has no effect.
    pub fn set(&self, name: &str, value: &str) -> Result<Option<String>, Error> {
        Ok(Arc::make_mut(&mut self.variables.lock().settings).set(name, value)?)
    }

    /// Makes a database the current one, as `USE` does.
    ///
    /// # Errors
    /// It does not exist.
    pub fn use_database(&self, name: &str) -> Result<(), Error> {
        if name != SYSTEM && self.database.catalog.snapshot().database(name).is_none() {
            return Err(Error::unknown_database(name));
        }
        self.variables.lock().current_database = name.to_owned();
        Ok(())
    }

    /// Runs one statement. The answer's stream must be read to its end, or dropped to cancel.
    pub async fn execute(&self, request: Request) -> Result<Outcome, Error> {
        let body = request.body;
        let deadline = request.deadline;
        let (prepared, mut listed) = self.prepare(Request { body: None, ..request })?;
        let context = Arc::clone(&prepared.context);
        let output = Shown { format: format_of(&prepared), outfile: prepared.outfile.clone() };
        listed.deadline = deadline.map(|deadline| cancel_later(&self.database, &context.progress, deadline));
        match self.session_statement(&prepared) {
            Ok(None) => {}
            Ok(Some(rows)) => return Ok(outcome(&context, listed, rows, output)),
            Err(error) => {
                let error = context.without_secrets(error);
                listed.end(0, Some(error.clone()));
                return Err(error);
            }
        }
        // Statements run on the computing threads. Dropping this future cancels the statement.
        let stop = context.progress.cancellation().clone().drop_guard();
        let task = self.database.runtimes.spawn_cpu("statement", async move {
            let Prepared { context, parsed, text, .. } = prepared;
            let cancelled = context.progress.cancellation().clone();
            let mut rows = Box::pin(execute(&context, &parsed.statement, &text, body));
            tokio::select! {
                biased;
                rows = &mut rows => return rows,
                () = cancelled.cancelled() => {}
            }
            if context.progress.give_up() { Err(Error::cancelled()) } else { rows.await }
        });
        let result = task.await.unwrap_or_else(|e| Err(Error::internal(format!("the statement broke: {e}"))));
        stop.disarm();
        match result {
            Ok(rows) => Ok(outcome(&context, listed, rows, output)),
            Err(error) => {
                // It may have been stopped wherever it was, with a load open.
                let stopped = context.progress.is_cancelled() || context.progress.is_given_up();
                let error = if stopped { left(&context, error) } else { error };
                let error = context.without_secrets(error);
                listed.end(0, Some(error.clone()));
                Err(error)
            }
        }
    }

    fn now(&self) -> std::time::Duration {
        self.database.host.clock.monotonic()
    }

    fn prepare(&self, request: Request) -> Result<(Prepared, Listed), Error> {
        let started = self.now();
        let text = match request.params.is_empty() {
            true => request.sql,
            false => with_parameters(&request.sql, &request.params)?,
        };
        let parsed = sql::parse_one(&text).map_err(|error| Secrets::of(&text).scrub_error(error.into()))?;
        let parsed_at = self.now();
        if let Some(format) = &parsed.output.format {
            output_format(format)?;
        }
        let mut variables = self.variables.lock().clone();
        if let Some(name) = request.database {
            if name != SYSTEM && self.database.catalog.snapshot().database(&name).is_none() {
                return Err(Error::unknown_database(&name));
            }
            variables.current_database = name;
        }
        let mut warnings = parsed.warnings.clone();
        for (name, value) in &request.settings {
            warnings.extend(Arc::make_mut(&mut variables.settings).set(name, value)?);
        }
        if !parsed.output.settings.is_empty() {
            warnings.extend(Arc::make_mut(&mut variables.settings).apply_all(&parsed.output.settings)?);
        }
        let default_format = variables.settings.get_text("default_format");
        // SET must stay possible, or nobody could put a bad one right.
        if !default_format.is_empty() && !matches!(parsed.statement, Statement::Set(_)) {
            output_format(&default_format)?;
        }
        let outfile = parsed.output.outfile.as_ref().map(|clause| {
            Outfile::of(clause, &parsed.statement, parsed.output.format.as_deref(), &variables.settings)
        });
        let outfile = outfile.transpose()?;
        let limit = match variables.settings.get_u64("max_memory_usage") {
            0 => self.database.host.memory.limit(),
            limit => limit,
        };
        let host = &self.database.host;
        let query_id = request.query_id.unwrap_or_else(|| {
            model::TxnId::from_random_bytes(host::random::uuid_bytes(host.random.as_ref())).to_string()
        });
        let profile = StatementProfile::new(&host.clock, query_id.clone(), started, &variables.settings);
        profile.add(Span::Parse, parsed_at.saturating_sub(started));
        let logged: Arc<str> = logged_text(&parsed.statement, &text).into();
        let context = Arc::new(StatementContext {
            database: Arc::clone(&self.database),
            settings: variables.settings,
            current_database: variables.current_database,
            progress: request.progress,
            memory: host.memory.child_named("query", limit),
            snapshot: self.database.catalog.snapshot(),
            query_id,
            warnings: Arc::new(Mutex::new(warnings)),
            profile: Arc::new(profile),
            rolls_back: false,
            logged: Arc::clone(&logged),
        });
        let number = self.database.processes.begin(Process {
            query_id: context.query_id.clone(),
            query: masked(&logged),
            kind: kind_of(&parsed.statement),
            database: context.current_database.clone(),
            started_ms: context.now_ms(),
            started,
            memory: context.memory.clone(),
            progress: Arc::clone(&context.progress),
            profile: Arc::clone(&context.profile),
        });
        let listed = Listed { database: Arc::clone(&self.database), number, deadline: None };
        Ok((Prepared { context, parsed, text, outfile }, listed))
    }

    /// USE and SET change the session and nothing else.
    fn session_statement(&self, prepared: &Prepared) -> Result<Option<Rows>, Error> {
        match &prepared.parsed.statement {
            Statement::Use { database } => match prepared.context.snapshot.database(database) {
                Some(_) => {
                    self.variables.lock().current_database.clone_from(database);
                    Ok(Some(Rows::none()))
                }
                None => Err(Error::unknown_database(database)),
            },
            Statement::Set(changes) => {
                let mut changed = Arc::clone(&self.variables.lock().settings);
                match Arc::make_mut(&mut changed).apply_all(changes) {
                    Ok(warnings) => {
                        self.variables.lock().settings = changed;
                        warnings.into_iter().for_each(|warning| prepared.context.warn(warning));
                        Ok(Some(Rows::none()))
                    }
                    Err(error) => Err(error.into()),
                }
            }
            _ => Ok(None),
        }
    }
}

/// How the answer is wanted.
struct Shown {
    format: Option<FormatKind>,
    outfile: Option<Outfile>,
}

/// The FORMAT clause, or the session's word.
fn format_of(prepared: &Prepared) -> Option<FormatKind> {
    let said = prepared.parsed.output.format.as_deref().and_then(FormatKind::parse);
    said.or_else(|| FormatKind::parse(&prepared.context.settings.get_text("default_format")))
}

fn outcome(context: &Arc<StatementContext>, listed: Listed, rows: Rows, output: Shown) -> Outcome {
    let (stream, format_settings) = if rows.schema.fields().is_empty() {
        let skipped = context.progress.rejects.rows();
        if skipped > 0 {
            let what = "row(s) could not be read and were skipped";
            context.warn(format!("{skipped} {what}: system.load_rejected_rows has them"));
        }
        // Nothing will come: nobody needs to wait for another task to say so.
        listed.end(0, None);
        (futures::stream::empty().boxed(), unchanged_format_settings())
    } else {
        (pump(Arc::clone(context), listed, rows.stream), format_settings(&context.settings))
    };
    Outcome {
        schema: rows.schema,
        stream,
        format: output.format,
        format_settings,
        outfile: output.outfile,
        warnings: context.warnings.lock().iter().map(|warning| masked_urls(warning)).collect(),
        already_loaded: context.progress.already_loaded().cloned(),
        progress: Arc::clone(&context.progress),
        query_id: context.query_id.clone(),
    }
}

/// Computes batches on the computing threads, a few ahead of the reader, and writes the query log at the end.
fn pump(
    context: Arc<StatementContext>,
    listed: Listed,
    mut rows: BoxStream<'static, Result<RecordBatch, Error>>,
) -> BoxStream<'static, Result<RecordBatch, Error>> {
    let (sender, receiver) = tokio::sync::mpsc::channel(BATCHES_AHEAD);
    let runtimes = context.database.runtimes.clone();
    let task = runtimes.spawn_cpu("result", async move {
        let (mut result_rows, mut failed) = (0, None);
        // A panic must not look like the end of the rows.
        while let Some(batch) = AssertUnwindSafe(rows.next()).catch_unwind().await.unwrap_or_else(broke) {
            let batch = batch.map_err(|error| context.without_secrets(error));
            match &batch {
                Ok(batch) => result_rows += batch.num_rows() as u64,
                Err(error) => failed = Some(error.clone()),
            }
            if sender.send(batch).await.is_err() {
                failed = Some(Error::cancelled());
            }
            if failed.is_some() {
                break;
            }
        }
        drop(rows);
        listed.end(result_rows, failed);
        drop(context);
    });
    let stop = task.abort_handle();
    let batches =
        futures::stream::unfold((receiver, AbortOnDrop(stop)), |(mut receiver, guard)| async move {
            let batch = receiver.recv().await?;
            Some((batch, (receiver, guard)))
        });
    batches.boxed()
}

fn broke(panic: Box<dyn Any + Send>) -> Option<Result<RecordBatch, Error>> {
    let message = message_of(panic.as_ref());
    Some(Err(Error::internal(format!("the statement broke: {message}"))))
}

/// The sender notices a dropped receiver only at its next batch; a long computation is stopped at once.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Until the answer is dropped.
fn cancel_later(
    database: &Database,
    progress: &Arc<QueryProgress>,
    deadline: std::time::Duration,
) -> DropGuard {
    let (progress, over) = (Arc::downgrade(progress), CancellationToken::new());
    let guard = over.clone().drop_guard();
    database.runtimes.spawn_io("deadline", async move {
        tokio::select! {
            () = over.cancelled() => {}
            () = tokio::time::sleep(deadline) => {
                if let Some(progress) = progress.upgrade() {
                    progress.cancel();
                }
            }
        }
    });
    guard
}

/// Characters of a statement that logs keep (`log_queries_cut_to_length` of ClickHouse).
const LOGGED_CHARACTERS_MAX: usize = 100_000;

/// The statement as logs show it: without the rows that an INSERT carries, and cut where it is very long.
fn logged_text<'a>(statement: &Statement, text: &'a str) -> &'a str {
    let end = match statement {
        Statement::Insert(insert) => match &insert.source {
            InsertSource::Values(rows) => rows.start,
            InsertSource::Format { data, .. } => data.start,
            _ => text.len(),
        },
        _ => text.len(),
    };
    let shown = text.get(..end).unwrap_or(text).trim_end();
    match shown.char_indices().nth(LOGGED_CHARACTERS_MAX) {
        Some((cut, _)) => &shown[..cut],
        None => shown,
    }
}

/// ClickHouse's `query_kind`.
fn kind_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) => "Select",
        Statement::Insert(_) => "Insert",
        Statement::CreateTable(_) | Statement::CreateDatabase { .. } => "Create",
        Statement::DropDatabase { .. } | Statement::DropTable { .. } | Statement::Truncate { .. } => "Drop",
        Statement::Collection(CollectionChange::Create { .. }) => "Create",
        Statement::Collection(CollectionChange::Alter { .. }) => "Alter",
        Statement::Collection(CollectionChange::Drop { .. }) => "Drop",
        Statement::Describe(_) => "Describe",
        Statement::Show(_) => "Show",
        Statement::Exists { .. } => "Exists",
        Statement::Use { .. } => "Use",
        Statement::Set(_) => "Set",
        Statement::Optimize(_) => "Optimize",
        Statement::System(_) => "System",
        Statement::Explain(_) => "Explain",
        Statement::Rename(_) | Statement::RenameDatabase { .. } | Statement::Exchange(..) => "Rename",
        Statement::KillQuery { .. } => "KillQuery",
        Statement::CheckTable { .. } => "Check",
        Statement::ResumeLoad { .. } => "Insert",
        Statement::CancelLoad { .. } => "CancelLoad",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;

    #[test]
    fn nothing_waits_for_a_deadline_after_its_statement() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let config = Config { threads: Some(2), background: false, ..Config::default() };
            let database = Database::open(config).unwrap();
            let hour = Duration::from_secs(3600);
            let request = Request { deadline: Some(hour), ..Request::new("SELECT 1") };
            database.session().execute(request).await.unwrap().collect().await.unwrap();
            let ended = async {
                while database.runtimes.running().iter().any(|name| name == "deadline") {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap();
            database.close().await;
        });
    }
}
