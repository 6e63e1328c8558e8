//! Small INSERTs of this server in the records of another one, and those of others in the records of this.
//!
//! Two servers that both append race for each record, and each record has the rows of one. So while another one appends, rows go to
//! it, many statements in one call, and it commits them together with its own. Invariant: as of `catalog/catalog/elsewhere.rs`; a
//! call that fails costs time and nothing else. Must not know: what the rows are.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use catalog::{Elsewhere, RecordWriter, SentRows};
use cluster::{CommitAnswer, CommitRequest, Peer, RowsToCommit, SchemaVersion};
use futures::FutureExt;
use futures::future::BoxFuture;
use model::{Seq, TableId};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::background::following;
use crate::context::services::Services;

/// Calls to one server at a time: while some wait for their record the next is filled.
const CALLS_MAX: usize = 8;
/// Transactions of one call.
const ROWS_MAX: usize = 1024;
/// A server that did not answer is not asked for so long: whoever waits for it waits in vain.
const AFTER_FAILURE: Duration = Duration::from_secs(10);
/// A lane that nobody uses ends.
const IDLE: Duration = Duration::from_secs(30);

/// See the module.
pub(crate) struct Forwarding {
    services: Weak<Services>,
    lanes: Mutex<BTreeMap<RecordWriter, mpsc::UnboundedSender<Parcel>>>,
    /// When a server did not answer last, on the monotonic clock.
    failed: Mutex<BTreeMap<RecordWriter, Duration>>,
}

/// One transaction, and who waits for it.
struct Parcel {
    rows: SentRows,
    told: oneshot::Sender<bool>,
}

impl Forwarding {
    pub(crate) fn new(services: &Arc<Services>) -> Forwarding {
        Forwarding { services: Arc::downgrade(services), lanes: Mutex::default(), failed: Mutex::default() }
    }

    /// The way to a server; `None` if it has no port, or is not there.
    fn lane(&self, writer: RecordWriter) -> Option<mpsc::UnboundedSender<Parcel>> {
        let mut lanes = self.lanes.lock();
        if let Some(lane) = lanes.get(&writer).filter(|lane| !lane.is_closed()) {
            return Some(lane.clone());
        }
        let services = self.services.upgrade()?;
        let now = services.host.clock.monotonic();
        let mut failed = self.failed.lock();
        failed.retain(|_, at| now.saturating_sub(*at) < AFTER_FAILURE);
        if failed.contains_key(&writer) {
            return None;
        }
        drop(failed);
        let peer = peer_of(&services, writer)?;
        let (lane, parcels) = mpsc::unbounded_channel();
        lanes.retain(|_, lane| !lane.is_closed());
        lanes.insert(writer, lane.clone());
        services.runtimes.spawn_io("forward", carry(Weak::clone(&self.services), peer, parcels));
        Some(lane)
    }
}

/// How a server is reached, if it has a port.
fn peer_of(services: &Services, writer: RecordWriter) -> Option<Peer> {
    services.peers.get()?;
    let nodes = services.sharing.as_ref()?.member.nodes();
    let node = nodes.into_iter().find(|node| node.id.mark() == writer && node.is_active && !node.is_me)?;
    let is_same = node.report.version == env!("CARGO_PKG_VERSION") && !node.report.peer.is_empty();
    is_same.then_some(Peer { id: node.id.0, address: node.report.peer })
}

/// Asks a server over its port to let others go first; false if it has none, or does not answer.
async fn ask_for_turn(services: &Services, writer: RecordWriter) -> bool {
    let (Some(peers), Some(peer)) = (services.peers.get(), peer_of(services, writer)) else { return false };
    let nothing = CommitRequest { seq: services.catalog.seq().0, rows: Vec::new() };
    peers.commit(&peer, nothing).await.is_ok()
}

/// Says in the bucket that this server does not get its turn; the others hear of it with their next beat.
fn tell_outrun(services: &Services) {
    let Some(sharing) = &services.sharing else { return };
    if sharing.note_outrun(services.host.clock.monotonic()) {
        // The next beat says it.
        let _told = following::tell(services, sharing);
    }
}

impl std::fmt::Debug for Forwarding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Forwarding({} lanes)", self.lanes.lock().len())
    }
}

impl Elsewhere for Forwarding {
    fn reaches(&self, writer: RecordWriter) -> bool {
        self.lane(writer).is_some()
    }

    fn commit(&self, writer: RecordWriter, rows: SentRows) -> BoxFuture<'_, bool> {
        async move {
            let Some(lane) = self.lane(writer) else { return false };
            let (told, hears) = oneshot::channel();
            // A lane that has just ended gives it back, and whoever asked commits by itself.
            if lane.send(Parcel { rows, told }).is_err() {
                return false;
            }
            let answered = hears.await;
            if let (Ok(false), Some(services)) = (&answered, self.services.upgrade()) {
                self.failed.lock().insert(writer, services.host.clock.monotonic());
                self.lanes.lock().remove(&writer);
            }
            answered.unwrap_or(false)
        }
        .boxed()
    }

    fn outrun_by(&self, writer: RecordWriter) {
        let Some(services) = self.services.upgrade() else { return };
        let runtimes = services.runtimes.clone();
        runtimes.clone().spawn_io("forward", async move {
            if !ask_for_turn(&services, writer).await {
                let _told = runtimes.spawn_blocking("beat", move || tell_outrun(&services)).await;
            }
        });
    }
}

/// Takes whatever waits to one server, again and again.
async fn carry(services: Weak<Services>, peer: Peer, mut parcels: mpsc::UnboundedReceiver<Parcel>) {
    let calls = Arc::new(Semaphore::new(CALLS_MAX));
    while let Ok(Some(first)) = tokio::time::timeout(IDLE, parcels.recv()).await {
        // Never closed.
        let Ok(call) = Arc::clone(&calls).acquire_owned().await else { return };
        let mut all = vec![first];
        while all.len() < ROWS_MAX
            && let Ok(more) = parcels.try_recv()
        {
            all.push(more);
        }
        let Some(sending) = services.upgrade() else { return };
        let (runtimes, peer) = (sending.runtimes.clone(), peer.clone());
        runtimes.spawn_io("forward", async move {
            let (rows, told): (Vec<_>, Vec<_>) = all.into_iter().map(|one| (one.rows, one.told)).unzip();
            let is_answered = send(&sending, &peer, rows).await;
            drop(call);
            for waiting in told {
                // Whoever asked may have gone.
                let _ = waiting.send(is_answered);
            }
        });
    }
}

/// Has the peer commit, and takes in what it says the log has.
async fn send(services: &Arc<Services>, peer: &Peer, rows: Vec<SentRows>) -> bool {
    let Some(peers) = services.peers.get() else { return false };
    let seq = services.catalog.seq().0;
    let request = CommitRequest { seq, rows: rows.into_iter().map(to_commit).collect() };
    let Ok(CommitAnswer { seq, frames }) = peers.commit(peer, request).await else { return false };
    let taking = Arc::clone(services);
    let taken = services.runtimes.spawn_blocking("forward", move || {
        let now = taking.host.clock.monotonic();
        let told = taking.catalog.take_told(frames);
        if told.is_ok() && taking.catalog.seq().0 >= seq {
            taking.has_followed();
            return;
        }
        // Not all of it was at hand. What cannot be read now is found by the commit that follows.
        let _followed = taking.catch_up(now, None);
    });
    taken.await.is_ok()
}

fn to_commit(rows: SentRows) -> RowsToCommit {
    let version =
        |(table, version): (TableId, u32)| SchemaVersion { table: table.as_bytes().to_vec(), version };
    RowsToCommit {
        transaction: rows.transaction,
        read_seq: rows.read_seq.0,
        since: rows.since.0,
        schemas: rows.schemas.into_iter().map(version).collect(),
        keeps_definitions: rows.keeps_definitions,
    }
}

/// Commits rows of a peer.
///
/// # Errors
/// They are not what they should be; said to the peer.
pub(crate) async fn committed(
    services: &Arc<Services>,
    request: CommitRequest,
) -> Result<CommitAnswer, String> {
    let rows: Option<Vec<SentRows>> = request.rows.into_iter().map(sent).collect();
    let rows = rows.ok_or("a table is named by 16 bytes")?;
    let catalog = &services.catalog;
    if rows.is_empty() {
        // Whoever asks for nothing asks for his turn.
        catalog.give_way();
        return Ok(CommitAnswer { seq: catalog.seq().0, frames: Vec::new() });
    }
    let frames =
        catalog.commit_for_others(Seq(request.seq), rows).await.map_err(|error| error.to_string())?;
    services.has_followed();
    Ok(CommitAnswer { seq: catalog.seq().0, frames })
}

fn sent(rows: RowsToCommit) -> Option<SentRows> {
    let version = |one: SchemaVersion| {
        let table = <[u8; 16]>::try_from(one.table.as_slice()).ok()?;
        Some((TableId::from_bytes(table), one.version))
    };
    Some(SentRows {
        transaction: rows.transaction,
        read_seq: Seq(rows.read_seq),
        since: Seq(rows.since),
        schemas: rows.schemas.into_iter().map(version).collect::<Option<_>>()?,
        keeps_definitions: rows.keeps_definitions,
    })
}
