//! A client's state: current database, settings; and the life of one statement.
//!
//! Invariant: a failed statement leaves no trace in the session. A statement runs on the computing threads, whatever
//! thread asked for it, and stops when nobody reads its answer any more.

use std::sync::Arc;
use std::time::Duration;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::errors::Whose;
use boundary::ledgers::processes::Process;
use boundary::outfile::{Outfile, output_format};
use boundary::progress::QueryProgress;
use boundary::request::{BodyStream, DEFAULT_USER, Outcome, Request, Rows};
use boundary::secrets::redaction::Secrets;
use boundary::secrets::text::{masked, with_parameters};
use formats::FormatKind;
use futures::{FutureExt, StreamExt};
use host::{Account, Runtimes, meter};
use parking_lot::Mutex;
use physical::profile::{Keep, Span, StatementProfile};
use sql::{
    CollectionChange, FunctionChange, InsertSource, ParsedStatement, SettingChange, SettingText, Settings,
    Statement,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::database::Database;
use crate::context::execution::Execution;
use crate::context::limits::{check_tree, stopped};
use crate::context::services::Services;
use crate::load::staged::ending::left;
use crate::statement::answer::{Listed, Shown, outcome};
use crate::statement::newest;
use crate::statement::repeat::execute;
use boundary::planners::is_large;
use boundary::stack_room::Roomy;
use tables::reserved::is_derived;
use tables::temporary::TemporaryTables;

/// The database a session starts in.
pub const DEFAULT_DATABASE: &str = "default";

#[derive(Clone)]
struct Variables {
    current_database: String,
    /// Shared with the statements that change nothing of it.
    settings: Arc<Settings>,
    /// Values of `{name:Type}`, which `SET param_name` gave.
    parameters: Vec<(String, String)>,
}

/// What stands before the name of a parameter.
const PARAMETER: &str = "param_";

impl Variables {
    fn set_parameter(&mut self, change: &SettingChange) {
        let name = change.name.trim_start_matches(PARAMETER);
        self.parameters.retain(|(known, _)| known != name);
        self.parameters.push((name.to_owned(), change.value.text().unwrap_or_default().to_owned()));
    }
}

/// One client's session, with its temporary tables. Cheap; statements of one session may run at the same time.
pub struct Session {
    services: Arc<Services>,
    variables: Mutex<Variables>,
    temporary: Arc<TemporaryTables>,
}

impl Database {
    /// A new session in the database `default` with default settings.
    pub fn session(self: &Arc<Self>) -> Session {
        let variables = Variables {
            current_database: DEFAULT_DATABASE.to_owned(),
            settings: Arc::new(Settings::session()),
            parameters: vec![],
        };
        let temporary = Arc::new(TemporaryTables::new(self.services.host.memory.clone()));
        Session { services: Arc::clone(&self.services), variables: Mutex::new(variables), temporary }
    }
}

/// What is decided before a statement runs.
struct Prepared {
    execution: Arc<Execution>,
    parsed: ParsedStatement,
    text: String,
    outfile: Option<Outfile>,
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
        if !is_derived(name) && self.services.catalog.snapshot().database(name).is_none() {
            return Err(Error::unknown_database(name));
        }
        self.variables.lock().current_database = name.to_owned();
        Ok(())
    }

    /// Lets a temporary table go, if there is one of this name.
    pub fn forget_temporary(&self, name: &str) {
        self.temporary.drop_table(name);
    }

    /// Runs one statement. The answer's stream must be read to its end, or dropped to cancel.
    pub async fn execute(&self, request: Request) -> Result<Outcome, Error> {
        let body = request.body;
        let deadline = request.deadline;
        let (query_id, user) = (request.query_id.clone().unwrap_or_default(), request.user.clone());
        newest::look(&self.services, false).await?;
        let prepared = self.prepare(Request { body: None, ..request });
        let (prepared, mut listed) = prepared.inspect_err(|error| {
            self.services.note_error(error, &Whose { query_id: &query_id, user: &user })
        })?;
        let execution = newest::asked_for(
            &self.services,
            &prepared.execution,
            &prepared.parsed.statement,
            body.is_some(),
        )
        .await?;
        let prepared = Prepared { execution, ..prepared };
        let execution = Arc::clone(&prepared.execution);
        let output = Shown { format: format_of(&prepared), outfile: prepared.outfile.clone() };
        listed.deadline =
            deadline.map(|deadline| cancel_later(&self.services.runtimes, &execution.progress, deadline));
        match self.session_statement(&prepared) {
            Ok(None) => {}
            Ok(Some(rows)) => return Ok(outcome(&execution, listed, rows, output)),
            Err(error) => {
                let error = execution.without_secrets(&self.services.config, error);
                listed.end(0, Some(error.clone()));
                return Err(error);
            }
        }
        // Statements run on the computing threads. Dropping this future cancels the statement.
        let stop = execution.progress.cancellation().clone().drop_guard();
        let measure = prepared.parsed.measure;
        let account = Some(Arc::clone(&execution.account));
        let work = meter::metered(account, run(Arc::clone(&self.services), prepared, body));
        let result = match is_large(measure) {
            true => {
                let whose = (&execution.progress, execution.account.as_ref());
                let planned = self.services.planners.run(&self.services.runtimes, whose, work.boxed());
                let stopped = |error: Error| match error.kind {
                    ErrorKind::Cancelled => stopped(&execution.settings, &execution.profile),
                    _ => error,
                };
                planned.await.map_err(stopped)
            }
            false => {
                let task = self.services.runtimes.spawn_cpu("statement", work);
                task.await.unwrap_or_else(|task| Err(Error::ended_early(task)))
            }
        };
        stop.disarm();
        match result {
            Ok(rows) => Ok(outcome(&execution, listed, rows, output)),
            Err(error) => {
                // It may have been stopped wherever it was, with a load open.
                let stopped = execution.progress.is_cancelled() || execution.progress.is_given_up();
                let error = if stopped { left(&self.services, &execution.query_id, error) } else { error };
                let error = execution.without_secrets(&self.services.config, error);
                listed.end(0, Some(error.clone()));
                Err(error)
            }
        }
    }

    fn now(&self) -> Duration {
        self.services.host.clock.monotonic()
    }

    /// The session's database and settings under those of the request, under those of the statement; and warnings.
    fn layered(
        &self,
        database: Option<String>,
        settings: Vec<(String, String)>,
        parsed: &ParsedStatement,
    ) -> Result<(Variables, Vec<String>), Error> {
        let mut variables = self.variables.lock().clone();
        if let Some(name) = database {
            if !is_derived(&name) && self.services.catalog.snapshot().database(&name).is_none() {
                return Err(Error::unknown_database(&name));
            }
            variables.current_database = name;
        }
        let mut warnings = parsed.warnings.clone();
        let written = &parsed.output.settings;
        for changes in [as_changes(settings).as_slice(), written.as_slice()] {
            if !changes.is_empty() {
                warnings.extend(Arc::make_mut(&mut variables.settings).apply_all(changes)?);
            }
        }
        Ok((variables, warnings))
    }

    fn prepare(&self, request: Request) -> Result<(Prepared, Listed), Error> {
        let started = self.now();
        let mut params = request.params;
        params.extend(self.variables.lock().parameters.iter().cloned());
        let text = if params.is_empty() { request.sql } else { with_parameters(&request.sql, &params)? };
        let parsed = sql::parse_one(&text).map_err(|error| Secrets::of(&text).scrub_error(error.into()))?;
        let parsed_at = self.now();
        parsed.output.format.as_deref().map(output_format).transpose()?;
        let (variables, warnings) = self.layered(request.database, request.settings, &parsed)?;
        check_tree(&variables.settings, parsed.measure)?;
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
            0 => self.services.host.memory.limit(),
            limit => limit,
        };
        let host = &self.services.host;
        let query_id = request.query_id.filter(|id| !id.is_empty()).unwrap_or_else(|| {
            model::TxnId::from_random_bytes(host::random::uuid_bytes(host.random.as_ref())).to_string()
        });
        let (settings, clock) = (&variables.settings, &host.clock);
        let seconds = settings.get_f64("big_query_profile_threshold");
        let keep = Keep::of(settings.get_bool("enable_profile"), seconds);
        let profile = StatementProfile::new(clock, query_id.clone(), started, keep);
        profile.add(Span::Parse, parsed_at.saturating_sub(started));
        let logged: Arc<str> = logged_text(&parsed.statement, &text).into();
        let execution = Arc::new(Execution {
            settings: variables.settings,
            current_database: variables.current_database,
            user: if request.user.is_empty() { DEFAULT_USER.into() } else { request.user.into() },
            sees_own_only: request.sees_own_only,
            temporary: Arc::clone(&self.temporary),
            now_ms: self.services.now_ms(),
            progress: request.progress,
            memory: host.memory.child_named("query", limit),
            account: Account::open(limit, &host.memory),
            snapshot: self.services.catalog.snapshot(),
            query_id,
            warnings: Arc::new(Mutex::new(warnings)),
            profile: Arc::new(profile),
            rolls_back: false,
            repeats: false,
            rewritten: None,
            helping: None,
            is_query: is_query(&parsed.statement) && logged.len() == text.trim_end().len(),
            dictionaries: Vec::new(),
            logged: Arc::clone(&logged),
        });
        let number = self.services.processes.begin(Process {
            query_id: execution.query_id.clone(),
            user: Arc::clone(&execution.user),
            client: request.client,
            query: masked(&logged),
            kind: kind_of(&parsed.statement),
            database: execution.current_database.clone(),
            started_ms: self.services.now_ms(),
            started,
            memory: execution.memory.clone(),
            progress: Arc::clone(&execution.progress),
            profile: Arc::clone(&execution.profile),
            settings: Arc::clone(&execution.settings),
        })?;
        let listed = Listed { services: Arc::clone(&self.services), number, deadline: None };
        Ok((Prepared { execution, parsed, text, outfile }, listed))
    }

    /// USE and SET change the session and nothing else.
    fn session_statement(&self, prepared: &Prepared) -> Result<Option<Rows>, Error> {
        match &prepared.parsed.statement {
            Statement::Use { database } => {
                if !is_derived(database) && prepared.execution.snapshot.database(database).is_none() {
                    return Err(Error::unknown_database(database));
                }
                self.variables.lock().current_database.clone_from(database);
                Ok(Some(Rows::none()))
            }
            Statement::Set(changes) => {
                let mut changed = Arc::clone(&self.variables.lock().settings);
                let (values, changes): (Vec<_>, Vec<_>) =
                    changes.iter().cloned().partition(|change| change.name.starts_with(PARAMETER));
                match Arc::make_mut(&mut changed).apply_all(&changes) {
                    Ok(warnings) => {
                        let mut variables = self.variables.lock();
                        variables.settings = changed;
                        values.iter().for_each(|value| variables.set_parameter(value));
                        drop(variables);
                        warnings.into_iter().for_each(|warning| prepared.execution.warn(warning));
                        Ok(Some(Rows::none()))
                    }
                    Err(error) => Err(error.into()),
                }
            }
            _ => Ok(None),
        }
    }
}

/// A statement until its rows come, or until it is stopped.
async fn run(services: Arc<Services>, prepared: Prepared, body: Option<BodyStream>) -> Result<Rows, Error> {
    let Prepared { execution, parsed, text, .. } = prepared;
    let (cancelled, measure) = (execution.progress.cancellation().clone(), parsed.measure);
    let mut rows =
        Roomy::new(measure, execute(&services, &execution, &parsed.statement, &text, body).boxed());
    let rows = tokio::select! {
        biased;
        rows = &mut rows => rows?,
        () = cancelled.cancelled() => match execution.progress.give_up() {
            true => return Err(Error::cancelled()),
            false => rows.await?,
        },
    };
    // Operators wait for each other recursively, too.
    let stream = if is_large(measure) { Roomy::new(measure, rows.stream).boxed() } else { rows.stream };
    Ok(Rows { schema: rows.schema, stream })
}

/// Settings of a request, which obey `readonly` as those of a statement do.
fn as_changes(settings: Vec<(String, String)>) -> Vec<SettingChange> {
    let change = |(name, value)| SettingChange { name, value: SettingText::Quoted(value) };
    settings.into_iter().map(change).collect()
}

/// The FORMAT clause, or the session's word.
fn format_of(prepared: &Prepared) -> Option<FormatKind> {
    let said = prepared.parsed.output.format.as_deref().and_then(FormatKind::parse);
    said.or_else(|| FormatKind::parse(&prepared.execution.settings.get_text("default_format")))
}

/// Until the answer is dropped.
fn cancel_later(runtimes: &Runtimes, progress: &Arc<QueryProgress>, deadline: Duration) -> DropGuard {
    let (progress, over) = (Arc::downgrade(progress), CancellationToken::new());
    let guard = over.clone().drop_guard();
    runtimes.spawn_io("deadline", async move {
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

/// Whether the statement is a SELECT, or asks about one.
fn is_query(statement: &Statement) -> bool {
    match statement {
        Statement::Query(_) => true,
        Statement::Explain(explain) => matches!(*explain.statement, Statement::Query(_)),
        _ => false,
    }
}

/// ClickHouse's `query_kind`.
fn kind_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) => "Select",
        Statement::Insert(_) => "Insert",
        Statement::CreateTable(_) | Statement::CreateView(_) | Statement::CreateDatabase { .. } => "Create",
        Statement::CreateDictionary(_) => "Create",
        Statement::DropDictionary { .. } => "Drop",
        Statement::DropDatabase { .. }
        | Statement::DropTable { .. }
        | Statement::DropTemporaryTables { .. }
        | Statement::DropView { .. }
        | Statement::TruncateDatabase { .. }
        | Statement::Truncate { .. } => "Drop",
        Statement::Collection(CollectionChange::Create { .. }) => "Create",
        Statement::Function(FunctionChange::Create { .. }) | Statement::Attach { .. } => "Create",
        Statement::Function(FunctionChange::Drop { .. }) | Statement::Detach { .. } => "Drop",
        Statement::Mutate(_) | Statement::TransferPartition(_) | Statement::ChangeParts(_) => "Alter",
        Statement::Alter(_) | Statement::Collection(CollectionChange::Alter { .. }) => "Alter",
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
    use Duration;

    use super::*;
    use boundary::config::Config;

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
                while database.services.runtimes.running().iter().any(|name| name == "deadline") {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap();
            database.close().await;
        });
    }
}
