//! Other servers that help with a load: who may, what they are told, and what becomes of their units.
//!
//! A helper plans the statement itself, takes units one by one, and stages what it read by records of its own, which this server
//! sees in the log. Invariant: a helper that is gone, silent or fails costs its unstaged units and nothing else; they are read by
//! others. An error about the rows themselves ends the load, as it would here. Must not know: how this server reads its units.

use std::sync::Arc;
use std::time::Duration;

use boundary::error::Error;
use boundary::ledgers::loads::Given;
use boundary::secrets::text::masked;
use cluster::{Peer, PeerError, Peers, Read, Report, WorkFailed, WorkOrder};
use load::Holder;
use model::saturating::{u64_of, usize_of};
use model::{LoadId, Seq, TableDef, TableEngine};
use sources::{ObjectTable, SourceUnit};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::context::execution::Execution;
use crate::context::servers::{active, error_of, given_settings};
use crate::context::services::Services;
use crate::query::load_source::UNIT_BYTES;
use sinks::leases::SharedLeases;
use tables::temporary::is_temporary;

/// A load is shared if there are more units for each server.
const UNITS_EACH: usize = 2;

/// Units of a load for each server that is to help, if they are not too small.
const SHARED_UNITS_EACH: u64 = 8;
const SHARED_UNIT_BYTES_MIN: u64 = 8 << 20;

/// One that is not there yet when all is staged is not waited for.
const END_MAX: Duration = Duration::from_secs(1);

/// What only one server can keep to.
const COUNTED_SETTINGS: [&str; 8] = [
    "input_format_allow_errors_num",
    "input_format_allow_errors_ratio",
    "max_rows_to_read",
    "max_bytes_to_read",
    "max_rows_to_read_leaf",
    "max_bytes_to_read_leaf",
    "max_insert_threads",
    "insert_deduplicate",
];

/// Servers that may help, if the statement and its table allow it; or why it stays here, for people.
pub(crate) fn helpers_of(
    services: &Services,
    execution: &Execution,
    def: &TableDef,
    source: &ObjectTable,
    text: &str,
) -> Result<Vec<Peer>, String> {
    let Some(peers) = services.peers.get() else { return Err("no port for peers is open".to_owned()) };
    if execution.settings.get_u64("parallel_distributed_insert_select") == 0 {
        return Err("parallel_distributed_insert_select is 0".to_owned());
    }
    if !def.mode.is_plain() || def.engine != TableEngine::MergeTree {
        return Err(format!("the order of rows counts in table \"{}\"", def.name));
    }
    if is_temporary(def) {
        return Err("the table is of this session alone".to_owned());
    }
    if source.is_local() {
        return Err("the files are on this machine".to_owned());
    }
    if let Some(name) = COUNTED_SETTINGS.into_iter().find(|name| execution.settings.is_changed(name)) {
        return Err(format!("{name} is counted by one server"));
    }
    let servers = active(services);
    let has_secrets = masked(text) != text;
    let most = usize::try_from(execution.settings.get_u64("max_parallel_replicas")).unwrap_or(usize::MAX);
    let may_hear = |peer: &Peer| !has_secrets || peers.is_private(peer);
    let count = servers.len();
    let helpers: Vec<Peer> = servers.into_iter().filter(may_hear).take(most.saturating_sub(1)).collect();
    match (helpers.is_empty(), count) {
        (false, _) => Ok(helpers),
        (true, 0) => Err("no other server has a port for peers".to_owned()),
        (true, _) if most <= 1 => Err("max_parallel_replicas is 1".to_owned()),
        (true, _) => Err("it has credentials, and the servers have no TLS between them".to_owned()),
    }
}

/// What a load over a source is cut into: units, and files whose units are found while it runs.
pub(crate) struct Cut {
    pub units: Vec<SourceUnit>,
    pub to_cut: Vec<usize>,
    /// About how many units there will be in all.
    pub count: usize,
}

/// The cut of a load that so many others may help with.
///
/// # Errors
/// A footer, or the start of a text file, cannot be read.
pub(crate) async fn cut_for(source: &ObjectTable, helpers: usize) -> Result<Cut, Error> {
    let mut units = source.units(unit_bytes(source.bytes(), helpers)).await?;
    let to_cut = match helpers {
        0 => Vec::new(),
        _ => source.files_to_cut(UNITS_EACH * (helpers + 1)).await?,
    };
    units.retain(|unit| !to_cut.contains(&unit.file));
    let bytes = to_cut.iter().filter_map(|file| source.files().get(*file)).map(|file| file.bytes);
    let ranges = bytes.map(|bytes| usize_of(bytes.div_ceil(source.range_bytes().max(1))));
    let count = units.len() + ranges.sum::<usize>();
    Ok(Cut { units, to_cut, count })
}

/// Bytes of one unit: small enough that every server has some, and that the last one is soon done.
fn unit_bytes(bytes: u64, helpers: usize) -> u64 {
    let servers = u64_of(helpers) + 1;
    match servers {
        1 => UNIT_BYTES,
        _ => (bytes / (SHARED_UNITS_EACH * servers)).clamp(SHARED_UNIT_BYTES_MIN, UNIT_BYTES),
    }
}

/// As many of the helpers as have enough to do.
pub(crate) fn enough_for(units: usize, mut helpers: Vec<Peer>) -> Vec<Peer> {
    helpers.truncate((units.saturating_sub(1) / UNITS_EACH).saturating_sub(1));
    helpers
}

/// What a helper is told.
pub(crate) struct Help<'a> {
    pub load: LoadId,
    /// The load is open at it.
    pub seq: Seq,
    /// With its credentials.
    pub text: &'a str,
    pub helpers: Vec<Peer>,
    /// Remembers who was given what.
    pub given: Given,
}

/// Other servers at work. Dropped, they stop.
pub(crate) struct RemoteWorkers {
    running: Vec<JoinHandle<()>>,
    _stop: DropGuard,
}

/// Asks the helpers, and gives them units until all are staged.
pub(crate) fn start(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    leases: &Arc<SharedLeases>,
    help: Help<'_>,
) -> RemoteWorkers {
    let stop = CancellationToken::new();
    let order = WorkOrder {
        load: help.load.as_bytes().to_vec(),
        statement: help.text.to_owned(),
        user: execution.user.to_string(),
        query_id: execution.query_id.clone(),
        settings: given_settings(execution),
        seq: help.seq.0,
        servers: u32::try_from(help.helpers.len() + 1).unwrap_or(u32::MAX),
        database: execution.current_database.clone(),
        now_ms: execution.now_ms,
        read: None,
    };
    let running = (1..).zip(help.helpers).filter_map(|(holder, peer)| {
        let peers = Arc::clone(services.peers.get()?);
        let helped = Helped {
            services: Arc::clone(services),
            execution: Arc::clone(execution),
            leases: Arc::clone(leases),
            load: help.load,
            holder,
            name: peer.address.as_str().into(),
            given: Arc::clone(&help.given),
        };
        let (order, stop) = (order.clone(), stop.clone());
        Some(services.runtimes.spawn_io("helper", async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = helped.by(&peers, &peer, order) => {}
            }
        }))
    });
    RemoteWorkers { running: running.collect(), _stop: stop.clone().drop_guard() }
}

impl RemoteWorkers {
    /// Everything is staged: waits a moment for those that have something to say, and stops the others, who have nothing to stage.
    pub(crate) async fn end(self) {
        let _late = tokio::time::timeout(END_MAX, futures::future::join_all(self.running)).await;
    }
}

/// One helper's part of the load.
struct Helped {
    services: Arc<Services>,
    execution: Arc<Execution>,
    leases: Arc<SharedLeases>,
    load: LoadId,
    holder: Holder,
    name: Arc<str>,
    given: Given,
}

/// How a helper stopped before the load was over.
enum Stopped {
    Lost(PeerError),
    Failed(WorkFailed),
}

impl From<PeerError> for Stopped {
    fn from(error: PeerError) -> Self {
        Stopped::Lost(error)
    }
}

impl Helped {
    async fn by(self, peers: &Peers, peer: &Peer, order: WorkOrder) {
        let stopped = self.work(peers, peer, order).await.err();
        // What it staged last is not free.
        self.look().await;
        self.leases.lost(self.holder);
        let why = match stopped {
            None => return,
            Some(Stopped::Failed(failed)) if failed.is_about_rows => {
                return self.leases.fail(error_of(&failed, &peer.address));
            }
            Some(Stopped::Failed(failed)) => format!("server {}: {}", peer.address, failed.message),
            Some(Stopped::Lost(error)) => error.to_string(),
        };
        self.execution.warn(format!("{why}; what it had not staged is read by others"));
    }

    async fn work(&self, peers: &Peers, peer: &Peer, order: WorkOrder) -> Result<(), Stopped> {
        let mut helper = peers.begin(peer, order).await?;
        let mut changes = self.leases.changes();
        // The question that is still to be answered: whether all it read is staged.
        let (mut owed, mut heard) = (None, Read::default());
        loop {
            let report = tokio::select! {
                report = helper.next() => report?,
                // Whoever sends lives as long as the leases.
                _ = changes.changed(), if owed.is_some() => {
                    if let Some(is_staged) = owed {
                        owed = self.owes(&mut helper, is_staged).await?;
                    }
                    continue;
                }
            };
            match report {
                Some(Report::Ask(is_staged)) => {
                    if is_staged {
                        // What it still holds it does not know of.
                        self.look().await;
                        self.leases.lost(self.holder);
                    }
                    changes.mark_unchanged();
                    owed = self.owes(&mut helper, is_staged).await?;
                }
                Some(Report::Alive(said)) => {
                    let source = &self.execution.progress.source;
                    source.add_bytes(said.bytes.saturating_sub(heard.bytes));
                    source.add_rows(usize_of(said.rows.saturating_sub(heard.rows)));
                    heard = said;
                }
                Some(Report::Rows(_)) => {}
                Some(Report::Back(back)) => self.leases.give_back(&back.units),
                Some(Report::Failed(failed)) => return Err(Stopped::Failed(failed)),
                Some(Report::Done(_)) => {
                    // How many rows those are the log says.
                    self.execution.progress.add_written(0, heard.written_bytes);
                    return Ok(());
                }
                None => {
                    let why = "it ended without a word".to_owned();
                    return Err(PeerError::Gone { peer: peer.address.clone(), why }.into());
                }
            }
        }
    }

    /// Answers a helper that wants a unit, and has staged all it read or not; what it was asked if there is no answer yet.
    async fn owes(&self, helper: &mut cluster::Worker, is_staged: bool) -> Result<Option<bool>, Stopped> {
        // Looked at first: the last unit may be found in between.
        let grows = self.leases.grows();
        match self.lease() {
            Some(unit) => helper.give(vec![unit]).await?,
            None if is_staged && self.leases.is_over() => helper.release(),
            None if is_staged || grows => return Ok(Some(is_staged)),
            None => helper.give(Vec::new()).await?,
        }
        Ok(None)
    }

    fn lease(&self) -> Option<u32> {
        let unit = self.leases.lease(self.holder)?;
        self.given.lock().insert(unit, Arc::clone(&self.name));
        Some(unit)
    }

    /// Takes in what is staged by now.
    async fn look(&self) {
        look(&self.services, self.load, &self.leases).await;
    }
}

/// How long a look at the log may take: the store may be slow, and is asked again.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// Takes in what is in the log by now.
pub(crate) async fn catch_up(services: &Arc<Services>) {
    let (looking, now) = (Arc::clone(services), services.host.clock.monotonic());
    let looked = services.runtimes.spawn_blocking("follow", move || looking.catch_up(now, Some(LOOK_MAX)));
    // Without an answer less is known than there is.
    let _looked = looked.await;
}

/// Takes in what has been staged anywhere by now. What is read again, for want of an answer, is refused when it is to be staged again.
pub(crate) async fn look(services: &Arc<Services>, load: LoadId, leases: &SharedLeases) {
    catch_up(services).await;
    if let Some(open) = services.catalog.snapshot().load(load) {
        leases.settle(&open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_more_than_two_units() {
        let peers =
            |count: u128| (0..count).map(|id| Peer { id, address: String::new() }).collect::<Vec<_>>();
        for (units, others, helpers) in
            [(0, 2, 0), (4, 2, 0), (5, 2, 1), (6, 2, 1), (7, 2, 2), (100, 2, 2), (100, 0, 0)]
        {
            assert_eq!(enough_for(units, peers(others)).len(), helpers, "{units} units");
        }
    }
}
