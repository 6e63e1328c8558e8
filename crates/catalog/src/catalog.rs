//! `Catalog`: open, snapshot, commit, watch, checkpoint.
//!
//! ```text
//! commit: wait in `queue` -> whoever has the writer takes all who wait: `group` admits them one by one ->
//!         encode -> log.append (one record, durable) -> publish -> answer each        (`commits`)
//!         if records of other writers came first: publish those and admit again
//! read:   copy the pointer to the newest state; no writer's disk is waited for
//! ```
//! Invariant: what is published is durable, and equals what replaying the log gives. After a commit whose outcome the log
//! cannot find out nothing more is committed until the catalog is opened again. Must not know: SQL, rows, part files; which
//! log it stands on, but for [`Catalog::open`].

use std::borrow::Cow;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use commitlog::{
    AppendRefused, CommitLog, Courtesy, Deliver, LocalLog, LogConfig, LogError, LogFolder, LogTail,
    OpenedLog, RecentRecords, ReplayedRecord,
};
use host::{Host, random};
use model::saturating::u64_of;
use model::{PartId, Seq, TableId, TxnId};
use parking_lot::{Mutex, RwLock};
use thiserror::Error;
use tokio::sync::watch;

use crate::admit::RefusedWhy;
use crate::checkpoint::CheckpointError;
use crate::checkpoint_home::CheckpointHome;
use crate::finding::Finding;
use crate::op::{Op, Transaction};
use crate::op_format::decode_transaction;
use crate::pins::Pins;
use crate::snapshot::Snapshot;
use crate::state::{Moment, State};
use queue::Queue;

/// What is given at open.
#[derive(Clone, Copy, Debug)]
pub struct CatalogConfig {
    pub log: LogConfig,
    /// Bytes of log after which [`Catalog::checkpoint_if_due`] writes one.
    pub checkpoint_log_bytes: u64,
}

impl Default for CatalogConfig {
    /// 64 MiB of log between checkpoints: replaying as much takes well under a second.
    fn default() -> CatalogConfig {
        CatalogConfig { log: LogConfig::default(), checkpoint_log_bytes: 64 << 20 }
    }
}

/// What became of a transaction, and where its time went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitReport {
    pub outcome: CommitOutcome,
    pub times: CommitTimes,
}

/// Where the time of a commit went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CommitTimes {
    /// Waiting for the record before.
    pub queued: Duration,
    /// Admission, encoding, and the write.
    pub written: Duration,
    /// `fdatasync`, or the request that created the record in a store.
    pub synced: Duration,
    /// Requests that tried to create a record in a store, those that lost against other writers among them; 0 in a folder.
    pub puts: u32,
    /// Making the new state visible.
    pub applied: Duration,
    /// Transactions that shared the record.
    pub statements: usize,
}

/// What became of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommitOutcome {
    /// Durable and visible to every snapshot taken from now on.
    Committed(Seq),
    /// Nothing of it happened.
    Refused(RefusedWhy),
    /// The disk failed while the record was written, or the answer of a store got lost. Whether it is there shows at the next
    /// open, or at the next commit if the log can find out.
    Unknown(String),
}

#[derive(Debug, Error)]
pub enum CatalogError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The record was not written, and other transactions may go on.
    #[error("the transaction cannot be logged: {0}")]
    NotLogged(AppendRefused),
    /// What others have committed cannot be taken in now.
    #[error("what other servers have committed cannot be read: {0}")]
    NotFollowed(AppendRefused),
    /// Nothing was written, because other writers of the log were always faster. The transaction can be tried again.
    #[error("the transaction was not logged: records of other writers came first {0} times")]
    Outrun(u32),
    /// Others append; of this transaction nothing was written.
    #[error("other servers append to the log")]
    Faster,
    /// An earlier commit had an unknown outcome; open the catalog again.
    #[error("nothing can be committed after an earlier failure of the log: {0}")]
    Poisoned(String),
    /// No checkpoint can be read, or the log does not reach as far as the newest of them.
    #[error("{0}")]
    Unrecoverable(String),
}

pub struct Catalog {
    host: Host,
    root: PathBuf,
    config: CatalogConfig,
    queue: Arc<Queue>,
    writer: Mutex<Writer>,
    /// The end of the log, where others append to it.
    tail: Option<Arc<dyn LogTail>>,
    /// One looks at the end of the log at a time.
    following: Mutex<()>,
    /// When all there was is known to have been known: microseconds of the monotonic clock.
    known_at: AtomicU64,
    /// A record was sent of which nobody knows what became.
    open_record: AtomicBool,
    /// Records that this process does not know were deleted.
    left_behind: AtomicBool,
    /// The oldest seq that other processes still read.
    others_horizon: AtomicU64,
    home: CheckpointHome,
    /// Held for the time it takes to copy or set a pointer.
    published: RwLock<Arc<State>>,
    newest: watch::Sender<Seq>,
    poisoned: AtomicBool,
    pins: Pins,
    checkpoints: Mutex<Checkpoints>,
    findings: Vec<Finding>,
    /// Transactions that other processes know.
    listed: Mutex<Listed>,
    /// Who else appends.
    company: Mutex<Option<Company>>,
    elsewhere: OnceLock<Box<dyn Elsewhere>>,
    /// The newest records as bytes.
    recent: Option<Arc<RecentRecords>>,
    courtesy: Option<Arc<Courtesy>>,
    /// As the log has written it down.
    held_until_ms: AtomicU64,
}

struct Writer {
    log: Box<dyn CommitLog>,
    /// Why nothing more is committed. While a commit is under way, what is true if it breaks off in the middle.
    stopped: Option<Cow<'static, str>>,
    /// Bytes of transactions logged since the checkpoint this process began with.
    logged_bytes: u64,
    /// The newest record that changed a definition, or the first this process took in.
    defined: Seq,
    /// The latest time that a transaction of the log has: time in it does not go back, whoever appends.
    last_ms: u64,
}

/// What is known of checkpoints on disk.
#[derive(Clone, Copy, Debug)]
struct Checkpoints {
    /// The newest one that was read or written by this process; `None` before the first.
    newest: Option<Seq>,
    /// `Writer::logged_bytes` when it was taken.
    covered_bytes: u64,
    /// When records of a shared log were deleted last, by this process.
    dropped: Option<Duration>,
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("root", &self.root).field("seq", &self.seq()).finish_non_exhaustive()
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Catalog {
    /// Reads the newest readable checkpoint, then the log from there on. Creates no record.
    pub fn open(host: &Host, root: &Path, config: CatalogConfig) -> Result<Catalog, CatalogError> {
        let folder = LogFolder::below(root);
        let home = CheckpointHome::folder(host, root);
        Catalog::open_on(host, root, home, config, |after, deliver| {
            let log = LocalLog::open(host, &folder, after, deliver, config.log)?;
            let (findings, anchor) = (log.findings().to_vec(), *log.anchor());
            let (checkpoint_seq, held_until_ms) = (anchor.checkpoint_seq, anchor.held_until_ms);
            Ok(OpenedLog { log: Box::new(log), findings, checkpoint_seq, held_until_ms })
        })
    }

    /// [`Catalog::open`] on any log: `open_log` is given a seq and delivers the records after it.
    fn open_on(
        host: &Host,
        root: &Path,
        home: CheckpointHome,
        config: CatalogConfig,
        open_log: impl FnOnce(u64, Deliver<'_>) -> Result<OpenedLog, LogError>,
    ) -> Result<Catalog, CatalogError> {
        let mut recovered = recover(&home)?;
        let after = recovered.after();
        let (mut logged_bytes, mut last_ms) = (0, 0);
        let mut deliver = |record: ReplayedRecord| {
            logged_bytes += bytes_of(&record.transactions);
            last_ms = replay_record(&mut recovered.state, &record)?.last_ms.max(last_ms);
            Ok(())
        };
        let opened = open_log(after, &mut deliver);
        let opened = opened.map_err(|error| recovered.because(error))?;
        let OpenedLog { log, findings: of_log, checkpoint_seq, held_until_ms } = opened;
        let findings = recovered.findings(&home, &of_log, Seq(checkpoint_seq))?;
        let Recovered { state, from, .. } = recovered;
        // The lock is ours now: nobody is writing these.
        home.remove_leftovers()?;
        let (tail, recent, courtesy) = (log.tail(), log.recent(), log.courtesy());
        let seq = state.seq();
        Ok(Catalog {
            host: host.clone(),
            root: root.to_owned(),
            config,
            queue: Arc::default(),
            writer: Mutex::new(Writer { log, stopped: None, logged_bytes, defined: seq, last_ms }),
            tail,
            following: Mutex::default(),
            known_at: AtomicU64::new(0),
            open_record: AtomicBool::new(false),
            left_behind: AtomicBool::new(false),
            others_horizon: AtomicU64::new(u64::MAX),
            home,
            published: RwLock::new(Arc::new(state)),
            newest: watch::Sender::new(seq),
            poisoned: AtomicBool::new(false),
            pins: Pins::default(),
            checkpoints: Mutex::new(Checkpoints { newest: from, covered_bytes: 0, dropped: None }),
            findings,
            listed: Mutex::new(Listed::after(seq)),
            company: Mutex::default(),
            elsewhere: OnceLock::new(),
            recent,
            courtesy,
            held_until_ms: AtomicU64::new(held_until_ms),
        })
    }

    /// Everything committed so far, pinned until dropped.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.pins, || Arc::clone(&self.published.read()))
    }

    /// The seq of the newest published state.
    pub fn seq(&self) -> Seq {
        self.published.read().seq()
    }

    /// Commits that the files of removed parts are gone.
    pub fn forget_removed(&self, table: TableId, parts: Vec<PartId>) -> Result<CommitOutcome, CatalogError> {
        let ops = if parts.is_empty() { Vec::new() } else { vec![Op::ForgetParts { table, parts }] };
        self.commit(Transaction::new(self.transaction_id(), self.seq(), ops))
    }

    /// A fresh id, from the host's dice.
    pub fn transaction_id(&self) -> TxnId {
        TxnId::from_random_bytes(random::uuid_bytes(&*self.host.random))
    }

    /// Resolves to the newest seq once it is above `after`.
    pub async fn watch(&self, after: Seq) -> Seq {
        let mut newest = self.newest.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        newest.wait_for(|seq| *seq > after).await.map_or(after, |seq| *seq)
    }

    /// Whether nothing can be committed any more until the catalog is opened again.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    /// The oldest seq a snapshot still reads; what was removed at or below it is invisible to all.
    pub fn horizon(&self) -> Seq {
        if self.host.faults.planted("catalog.others_pins_ignored") {
            return self.own_horizon();
        }
        self.own_horizon().min(Seq(self.others_horizon.load(Ordering::Acquire)))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    /// What the open came across, and went on after.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Writes down that everything committed so far is durable. Done at the end of a process, it makes anything that is
    /// missing at the next open damage, and no torn end.
    pub fn pin(&self) -> Result<(), CatalogError> {
        let pinned = self.writer.lock().log.pin();
        Ok(pinned.map_err(|source| LogError::Io { path: self.root.clone(), source })?)
    }

    /// Nothing is to be deleted before `until_ms`, in this process or, unless the disk is full, a later one.
    pub fn hold_collection(&self, until_ms: u64) -> Result<(), CatalogError> {
        self.held_until_ms.store(until_ms, Ordering::Release);
        match self.writer.lock().log.hold_until(until_ms) {
            Err(source) if source.kind() != ErrorKind::StorageFull => {
                Err(LogError::Io { path: self.root.clone(), source }.into())
            }
            _ => Ok(()),
        }
    }

    /// Milliseconds since 1970 UTC; in the past if nothing is held.
    pub fn held_until_ms(&self) -> u64 {
        self.held_until_ms.load(Ordering::Acquire)
    }
}

/// What a record that was replayed tells of the log.
#[derive(Default)]
struct Replayed {
    /// The latest time in it, 0 if it has none.
    last_ms: u64,
    /// Whether it changed a definition.
    defines: bool,
    /// Ids that it lists.
    listed: Vec<TxnId>,
    /// Something of it is not listed.
    has_unlisted: bool,
}

fn replay_record(state: &mut State, record: &ReplayedRecord) -> Result<Replayed, LogError> {
    let (seq, mut replayed) = (Seq(record.seq), Replayed::default());
    for bytes in &record.transactions {
        let unreadable = |source| LogError::Replay { seq: record.seq, source };
        let transaction = decode_transaction(bytes).map_err(|error| unreadable(error.into()))?;
        let moment = Moment { seq, at_ms: transaction.at_ms };
        replayed.last_ms = replayed.last_ms.max(transaction.at_ms);
        replayed.defines |= transaction.ops.iter().any(Op::defines);
        replayed.listed.extend(&transaction.listed);
        replayed.has_unlisted |= transaction.listed.is_empty();
        state.apply(moment, &transaction.ops).map_err(|error| unreadable(error.into()))?;
    }
    Ok(replayed)
}

fn bytes_of(transactions: &[bytes::Bytes]) -> u64 {
    transactions.iter().map(|bytes| u64_of(bytes.len())).sum()
}

mod listed;
mod queue;
mod open_group;
mod commits;
mod recovery;
mod checkpoints;
mod shared;
mod elsewhere;

use elsewhere::Company;
pub use elsewhere::{Elsewhere, RecordWriter, SentRows};
use listed::Listed;
pub use recovery::{ReadRoot, read_root, read_shared_root};
use recovery::{Recovered, recover};
pub use shared::SharedRoot;

#[cfg(test)]
mod tests;
