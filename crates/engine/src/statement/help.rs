//! What this server does for others that share its root: it helps with a load that one of them coordinates, and reads a share
//! of its query.
//!
//! The statement is planned here as RESUME LOAD plans it, on the state in which the load is open. It stands among the running
//! statements under the id it has there. Invariant: it ends, with nothing staged that is not in the log, when the coordinator is
//! gone. Must not know: how units are handed out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use boundary::error::{Error, ErrorKind};
use boundary::ledgers::errors::Whose;
use boundary::ledgers::processes::Process;
use boundary::once::names::Once;
use boundary::request::Caller;
use boundary::secrets::text::masked;
use catalog::StagedLoad;
use cluster::{CommitAnswer, CommitRequest, Coordinator, PeerWork, RowSender, WorkFailed, WorkOrder};
use futures::FutureExt;
use host::meter;
use model::{ErrorCode, LoadId, Seq};
use parking_lot::Mutex;
use sql::{InsertSource, SettingChange, SettingText, Settings, Statement};

use crate::background::following;
use crate::context::execution::{Execution, Helping, Whence};
use crate::context::servers::failure;
use crate::context::services::Services;
use crate::statement::answer::Listed;
use crate::statement::{create_select, execute, forward, newest, reading};
use boundary::stack_room::Roomy;

/// Calls that are refused are noted so often at most.
const NOTED_APART: Duration = Duration::from_secs(60);
/// Who is there is asked for again so often at most.
const ASKED_APART: Duration = Duration::from_secs(1);

/// See the module.
pub(crate) struct ForPeers {
    services: Weak<Services>,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    noted: Option<Duration>,
    asked: Option<Duration>,
}

/// Whether it was so long ago; if it was, it is now.
fn is_due(last: &mut Option<Duration>, now: Duration, apart: Duration) -> bool {
    let is_due = last.is_none_or(|last| now.saturating_sub(last) >= apart);
    if is_due {
        *last = Some(now);
    }
    is_due
}

impl ForPeers {
    pub(crate) fn new(services: &Arc<Services>) -> ForPeers {
        ForPeers { services: Arc::downgrade(services), last: Mutex::default() }
    }
}

#[async_trait]
impl PeerWork for ForPeers {
    async fn is_peer(&self, id: u128) -> bool {
        let Some(services) = self.services.upgrade() else { return false };
        if knows(&services, id) {
            return true;
        }
        // It may have come a moment ago.
        let now = services.host.clock.monotonic();
        if !is_due(&mut self.last.lock().asked, now, ASKED_APART) {
            return false;
        }
        let asking = Arc::clone(&services);
        let told = services.runtimes.spawn_blocking("beat", move || {
            asking.sharing.as_ref().map(|sharing| following::tell(&asking, sharing))
        });
        // Without an answer of the store nobody new is known.
        let _told = told.await;
        knows(&services, id)
    }

    fn refused(&self, from: &str, why: &str) {
        let Some(services) = self.services.upgrade() else { return };
        if is_due(&mut self.last.lock().noted, services.host.clock.monotonic(), NOTED_APART) {
            let message = format!("a call from {from} on the port for peers was refused: {why}");
            let error = Error::new(ErrorKind::Denied, ErrorCode::AUTHENTICATION_FAILED, message);
            services.note_error(&error, &Whose::default());
        }
    }

    async fn commit(&self, request: CommitRequest) -> Result<CommitAnswer, String> {
        let services = self.services.upgrade().ok_or("this server stops")?;
        forward::committed(&services, request).await
    }

    async fn read(
        &self,
        order: WorkOrder,
        coordinator: Arc<Coordinator>,
        rows: RowSender,
    ) -> Result<(), WorkFailed> {
        let Some(services) = self.services.upgrade() else { return Err(failure(&Error::cancelled(), false)) };
        help(&services, order, coordinator, Some(rows)).await
    }

    async fn work(&self, order: WorkOrder, coordinator: Arc<Coordinator>) -> Result<(), WorkFailed> {
        let Some(services) = self.services.upgrade() else { return Err(failure(&Error::cancelled(), false)) };
        help(&services, order, coordinator, None).await
    }
}

fn knows(services: &Services, id: u128) -> bool {
    let Some(sharing) = &services.sharing else { return false };
    sharing.member.nodes().iter().any(|node| node.id.0 == id && !node.is_me)
}

async fn help(
    services: &Arc<Services>,
    order: WorkOrder,
    coordinator: Arc<Coordinator>,
    rows: Option<RowSender>,
) -> Result<(), WorkFailed> {
    let begun = begin(services, &order, &coordinator).await;
    let (execution, listed) = begun.map_err(|error| failure(&error, false))?;
    let account = Some(Arc::clone(&execution.account));
    let progress = Arc::clone(&execution.progress);
    let working = async {
        match (&order.read, &rows) {
            (Some(read), Some(rows)) => {
                reading::read(services, &execution, (&order.statement, read), &coordinator, rows).await
            }
            _ => work(services, &execution, &order).await,
        }
    };
    let done = tokio::select! {
        done = meter::metered(account, working) => done,
        () = coordinator.gone().cancelled() => {
            progress.cancel();
            Err(Error::cancelled())
        }
        () = progress.cancellation().cancelled() => Err(Error::cancelled()),
    };
    let done = done.map_err(|error| execution.without_secrets(&services.config, error));
    if done.is_err() {
        progress.give_up();
    }
    listed.end(0, done.as_ref().err().cloned());
    // What another server makes of the statement before it reads is no news of the rows.
    let reads = execution.helping.as_ref().is_some_and(|helping| helping.reads.load(Ordering::Acquire));
    done.map_err(|error| failure(&error, reads))
}

/// The statement in the list of those that run, on the state in which the load is open.
async fn begin(
    services: &Arc<Services>,
    order: &WorkOrder,
    coordinator: &Arc<Coordinator>,
) -> Result<(Arc<Execution>, Listed), Error> {
    newest::wait_for(services, Seq(order.seq)).await?;
    if order.read.is_some() {
        let execution = execution_of(services, order, None)?;
        let listed = list(services, &execution, "Select")?;
        return Ok((execution, listed));
    }
    let id = <[u8; 16]>::try_from(order.load.as_slice()).map(LoadId::from_bytes);
    let id = id.map_err(|_| Error::internal("a load is named by 16 bytes"))?;
    let open = services.catalog.snapshot().load(id);
    let open = open.ok_or_else(|| Error::internal(format!("load {id} is not open")))?;
    let execution = execution_of(services, order, Some((&open, coordinator)))?;
    let listed = list(services, &execution, "Insert")?;
    Ok((execution, listed))
}

/// The statement with all the settings it was given, also those that are as by default: a table outside may say otherwise.
fn execution_of(
    services: &Services,
    order: &WorkOrder,
    load: Option<(&StagedLoad, &Arc<Coordinator>)>,
) -> Result<Arc<Execution>, Error> {
    let mut settings = Settings::session();
    let given = order.settings.iter().map(|setting| SettingChange {
        name: setting.name.clone(),
        value: SettingText::Quoted(setting.value.clone()),
    });
    let given: Vec<SettingChange> = given.filter(|change| change.name != "readonly").collect();
    settings.apply_all(&given)?;
    let input = load.and_then(|(open, _)| open.input.as_ref());
    let database = input.map_or(&*order.database, |input| &*input.current_database).to_owned();
    let whence = Whence {
        user: order.user.as_str().into(),
        query_id: order.query_id.clone(),
        logged: order.statement.as_str().into(),
        database,
        now_ms: order.now_ms,
        helping: load.map(|(open, coordinator)| Helping {
            once: Once {
                database: open.database,
                table: open.table,
                label: Some(open.label.clone()),
                token: None,
                fingerprint: open.fingerprint,
                token_text: None,
            },
            coordinator: Arc::clone(coordinator),
            servers: usize::try_from(order.servers).unwrap_or(1),
            reads: AtomicBool::new(false),
        }),
    };
    Ok(Execution::of_peer(services, services.catalog.snapshot(), settings, whence))
}

/// Puts it among the running statements.
fn list(services: &Arc<Services>, execution: &Execution, kind: &'static str) -> Result<Listed, Error> {
    let number = services.processes.begin(Process {
        query_id: execution.query_id.clone(),
        user: Arc::clone(&execution.user),
        client: Caller { name: "peer".to_owned(), ..Caller::default() },
        query: masked(&execution.logged),
        kind,
        database: execution.current_database.clone(),
        started_ms: services.now_ms(),
        started: services.host.clock.monotonic(),
        memory: execution.memory.clone(),
        progress: Arc::clone(&execution.progress),
        profile: Arc::clone(&execution.profile),
        settings: Arc::clone(&execution.settings),
    })?;
    Ok(Listed { services: Arc::clone(services), number, deadline: None })
}

/// The way of any statement, to where its rows are taken.
async fn work(services: &Arc<Services>, execution: &Arc<Execution>, order: &WorkOrder) -> Result<(), Error> {
    let parsed = sql::parse_one(&order.statement)?;
    let filling = match &parsed.statement {
        Statement::CreateTable(create) => create_select::filling(create, &execution.current_database),
        _ => None,
    };
    let statement = match (filling, &parsed.statement) {
        (Some(insert), _) => Statement::Insert(Box::new(insert)),
        (None, Statement::Insert(insert)) if matches!(insert.source, InsertSource::Select(_)) => {
            parsed.statement.clone()
        }
        _ => return Err(Error::internal("the statement of a load is no INSERT SELECT")),
    };
    let execution = execution.with_settings(&parsed.output.settings)?;
    let run = execute::once(services, &execution, &statement, &order.statement, None);
    Roomy::new(parsed.measure, run.boxed()).await.map(drop)
}
