//! The transactions that wait for the next record.
//!
//! One record is written at a time; whatever comes meanwhile waits here and is the next one. Invariant: first come,
//! first served; of what is submitted a bounded number of bytes waits, and who commits by itself is one thread each.
//! Must not know: states, the log.

use std::collections::VecDeque;
use std::time::Duration;

use model::{SealedPart, StagedFile};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use super::{CatalogError, CommitReport};
use crate::op::{Op, Transaction};

/// Bytes of transactions in one record, unless the first alone has more.
const GROUP_BYTES_MAX: u64 = 8 << 20;
/// Bytes of transactions that wait; whoever comes then waits outside.
const QUEUE_BYTES_MAX: u64 = 64 << 20;
/// Unit in which the bytes of the queue are counted.
const PERMIT_BYTES: u64 = 1 << 10;

/// How long an answer that is being given is waited for before looking again.
const ANSWER_WAIT: Duration = Duration::from_millis(1);

pub(crate) type Reply = Result<CommitReport, CatalogError>;

/// A transaction and who wants to know.
pub(crate) struct Waiting {
    pub transaction: Transaction,
    /// On the host's monotonic clock.
    pub since: Duration,
    pub reply: oneshot::Sender<Reply>,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    /// A thread takes groups from here, in [`Queue::wait`].
    served: bool,
    closed: bool,
}

pub(crate) struct Queue {
    line: Mutex<Line>,
    arrived: Condvar,
    answered: Condvar,
    room: Semaphore,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            line: Mutex::default(),
            arrived: Condvar::new(),
            answered: Condvar::new(),
            room: Semaphore::new(usize::try_from(QUEUE_BYTES_MAX / PERMIT_BYTES).unwrap_or(1)),
        }
    }
}

impl Queue {
    /// Waits until there is room for a transaction; it keeps its room until the permit is dropped.
    pub(crate) async fn room_for(&self, transaction: &Transaction) -> Option<SemaphorePermit<'_>> {
        let permits = bytes_of(transaction).min(QUEUE_BYTES_MAX).div_ceil(PERMIT_BYTES);
        // Never closed.
        self.room.acquire_many(u32::try_from(permits).unwrap_or(u32::MAX)).await.ok()
    }

    /// For whoever goes on to lead the next group itself.
    pub(crate) fn push(&self, transaction: Transaction, since: Duration) -> oneshot::Receiver<Reply> {
        let (reply, receiver) = oneshot::channel();
        self.line.lock().waiting.push_back(Waiting { transaction, since, reply });
        receiver
    }

    /// For whoever only waits: the transaction comes back if no thread serves the queue.
    pub(crate) fn push_if_served(
        &self,
        transaction: Transaction,
        since: Duration,
    ) -> Result<oneshot::Receiver<Reply>, Transaction> {
        let mut line = self.line.lock();
        if !line.served || line.closed {
            return Err(transaction);
        }
        let (reply, receiver) = oneshot::channel();
        line.waiting.push_back(Waiting { transaction, since, reply });
        drop(line);
        self.arrived.notify_one();
        Ok(receiver)
    }

    /// The next record's transactions: at least one if any waits.
    pub(crate) fn take_group(&self) -> Vec<Waiting> {
        let mut line = self.line.lock();
        let (mut group, mut bytes) = (Vec::new(), 0);
        while let Some(next) = line.waiting.pop_front() {
            bytes += bytes_of(&next.transaction);
            if bytes > GROUP_BYTES_MAX && !group.is_empty() {
                line.waiting.push_front(next);
                break;
            }
            group.push(next);
        }
        group
    }

    /// Sleeps until a transaction waits; false once the queue is closed and empty.
    pub(crate) fn wait(&self) -> bool {
        let mut line = self.line.lock();
        line.served = true;
        while line.waiting.is_empty() && !line.closed {
            self.arrived.wait(&mut line);
        }
        !line.waiting.is_empty()
    }

    /// Somebody has been answered.
    pub(crate) fn ring_answered(&self) {
        self.answered.notify_all();
    }

    /// Sleeps until somebody is answered, or a moment: nobody tells who.
    pub(crate) fn wait_for_answers(&self) {
        self.answered.wait_for(&mut self.line.lock(), ANSWER_WAIT);
    }

    /// The thread that served the queue is gone; who still waits hears so.
    pub(crate) fn leave(&self) {
        let mut line = self.line.lock();
        line.served = false;
        let left = std::mem::take(&mut line.waiting);
        drop(line);
        drop(left);
    }

    pub(crate) fn close(&self) {
        self.line.lock().closed = true;
        self.arrived.notify_all();
    }
}

/// Bytes a transaction will about have in the log, rather too many.
pub(crate) fn bytes_of(transaction: &Transaction) -> u64 {
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX >> 16);
    let of_part = |part: &SealedPart| 512 + 256 * count(part.descriptor().bounds.len());
    let of_file = |file: &StagedFile| 128 + count(file.path.len());
    let of_op = |op: &Op| match op {
        Op::InlineRows { bytes, .. } => 64 + count(bytes.len()),
        Op::AddPart(part) => of_part(part),
        Op::StageAdd { parts, units, .. } => {
            parts.iter().map(of_part).sum::<u64>() + 64 + 8 * count(units.len())
        }
        Op::StageOpen { files, units, statement, input, .. } => {
            let columns = input.as_ref().map_or(0, |input| input.columns.len() + input.settings.len());
            let few = count(statement.len()) + 128 * count(columns);
            few + 64 * count(units.len()) + files.iter().map(of_file).sum::<u64>()
        }
        Op::StageUnits { units, .. } => 64 + 64 * count(units.len()),
        Op::CreateTable(_) | Op::AlterTable(_) => 16 << 10,
        Op::ForgetParts { parts, .. } => 64 + 24 * count(parts.len()),
        _ => 256,
    };
    64 + transaction.ops.iter().map(of_op).sum::<u64>()
}
