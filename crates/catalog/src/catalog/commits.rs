//! The way of a transaction into the log: alone or in a group, by the caller's thread or by one that does nothing else.
//!
//! Whoever holds the writer leads: it takes those who wait, up to a number of bytes, makes one record of them (or one
//! of each, if they might not fit), and answers each when its record is durable and visible. Invariant: nobody is
//! answered before that, not even who was refused because of a transaction of the same group; one record is written
//! at a time. Records of other writers that come first are followed, and the group is decided on again: what anybody hears
//! is from the last round.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use commitlog::{AppendError, AppendRefused, Appended, ReplayedRecord};
use parking_lot::MutexGuard;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::open_group::{Became, Known, Open};
use super::queue::{Queue, Reply, Waiting};
use super::{
    Catalog, CatalogError, CommitOutcome, CommitReport, CommitTimes, Replayed, Writer, bytes_of,
    replay_record,
};
use crate::admit::RefusedWhy;
use crate::group::Group;
use crate::op::{Op, Precondition, Transaction};
use crate::op_format::{encode_transaction, stored_time};
use crate::state::{Moment, State};
use model::{Seq, TxnId};

/// Rounds of a group that others outrun. Each is a record of somebody, so the database goes on; who loses that often is told.
const ROUNDS_MAX: u32 = 512;
/// Whoever lost so often asks for his turn, and again after as many.
const ROUNDS_PATIENT: u32 = 4;
/// How often rows that others outran are handed to whoever did.
const HANDED_MAX: u32 = 8;

/// What a leader leaves to be done without a lock.
#[derive(Default)]
pub(super) struct Left {
    /// Taking a large old state apart takes time.
    garbage: Vec<Arc<State>>,
    answers: Vec<(oneshot::Sender<Reply>, Reply)>,
}

impl Left {
    fn answer(&mut self, queue: &Queue) {
        for (waiting, answer) in self.answers.drain(..) {
            // Whoever asked may have gone.
            let _ = waiting.send(answer);
        }
        queue.ring_answered();
    }
}

impl Catalog {
    /// Checks the transaction against everything committed before it and makes it durable, then visible. A transaction
    /// without ops writes nothing; its preconditions are checked all the same. Blocks for one fsync, and for the one
    /// before it: call it where blocking is allowed.
    pub fn commit(&self, transaction: Transaction) -> Result<CommitOutcome, CatalogError> {
        Ok(self.commit_reported(transaction)?.outcome)
    }

    /// [`Catalog::commit`], and where its time went.
    pub fn commit_reported(&self, transaction: Transaction) -> Reply {
        let mut reply = self.queue.push(transaction, self.host.clock.monotonic());
        // A place where tests wait until somebody stands in line. Whoever does cannot fail any more.
        let _passed = self.host.faults.hit("catalog.queued");
        let mut left = Left::default();
        let mut writer = self.writer.lock();
        let answer = loop {
            match reply.try_recv() {
                Ok(answer) => break answer,
                Err(TryRecvError::Empty) if self.lead(&mut writer, &mut left) => left.answer(&self.queue),
                // Another leader had this one in its group, and is about to answer.
                Err(TryRecvError::Empty) => {
                    MutexGuard::unlocked(&mut writer, || self.queue.wait_for_answers());
                }
                Err(TryRecvError::Closed) => break gone(),
            }
        };
        drop(writer);
        answer
    }

    /// [`Catalog::commit`] for whoever must not block, once a thread runs [`Catalog::committer`]; without one it
    /// blocks. Dropping the future does not take the transaction back.
    pub async fn submit(&self, transaction: Transaction) -> Reply {
        let mut transaction = transaction;
        for _ in 0..HANDED_MAX {
            transaction = match self.elsewhere(transaction).await {
                Ok(report) => return Ok(report),
                Err(transaction) => transaction,
            };
            if !self.may_go_elsewhere(&transaction) {
                break;
            }
            let returning = Transaction { returns: true, ..transaction.clone() };
            match self.submit_known(returning).await {
                Err(CatalogError::Faster) => {}
                reply => return reply,
            }
        }
        self.submit_known(transaction).await
    }

    /// [`Catalog::submit`] to this process.
    pub(super) async fn submit_here(&self, transaction: Transaction) -> Reply {
        let _room = self.queue.room_for(&transaction).await;
        match self.queue.push_if_served(transaction, self.host.clock.monotonic()) {
            Ok(reply) => reply.await.unwrap_or_else(|_| gone()),
            Err(transaction) => self.commit_reported(transaction),
        }
    }

    /// What commits whatever is submitted, until the catalog is dropped: for a thread of its own.
    pub fn committer(self: &Arc<Self>) -> impl FnOnce() + Send + use<> {
        let (queue, catalog) = (Arc::clone(&self.queue), Arc::downgrade(self));
        move || {
            let _leaves = Leaves(&queue);
            while queue.wait()
                && let Some(catalog) = catalog.upgrade()
            {
                let mut left = Left::default();
                catalog.lead(&mut catalog.writer.lock(), &mut left);
                // Let go before anybody is answered: who then closes the last of it may open it again at once.
                drop(catalog);
                left.answer(&queue);
            }
        }
    }

    /// False if nobody waited.
    fn lead(&self, writer: &mut Writer, left: &mut Left) -> bool {
        let group = self.queue.take_group();
        if group.is_empty() {
            return false;
        }
        if group.len() > 1 && self.exceeds_a_record(writer, &group) {
            // Each by itself, so that only who is too long is refused.
            group.into_iter().for_each(|one| self.lead_group(writer, vec![one], left));
        } else {
            self.lead_group(writer, group, left);
        }
        true
    }

    /// Whether the group may be longer than a record, judged by the ops as they stand.
    fn exceeds_a_record(&self, writer: &Writer, group: &[Waiting]) -> bool {
        let bytes: u64 = group.iter().map(|one| super::queue::bytes_of(&one.transaction)).sum();
        bytes > writer.log.record_bytes_limit() / 2
    }

    fn lead_group(&self, writer: &mut Writer, group: Vec<Waiting>, left: &mut Left) {
        let started = self.host.clock.monotonic();
        if let Some(why) = &writer.stopped {
            let failure = Failure::Poisoned(why.to_string());
            let replies = group.into_iter().map(|one| (one.reply, failure.reply(CommitTimes::default())));
            left.answers.extend(replies);
            return;
        }
        // Until the end of this function: a panic in it leaves nobody knowing whether state and log agree.
        writer.stopped = Some(Cow::Borrowed("an earlier commit broke off"));
        let times = CommitTimes { statements: group.len(), ..CommitTimes::default() };
        let (waiting, transactions): (Vec<_>, Vec<_>) =
            group.into_iter().map(|one| ((one.reply, one.since), one.transaction)).unzip();
        let settled = self.settle(writer, transactions, times, left);
        let stopped: Option<Cow<'static, str>> = match &settled {
            Err(Failure::Poisoned(why)) => Some(Cow::Owned(why.clone())),
            _ => None,
        };
        if stopped.is_some() {
            self.poisoned.store(true, Ordering::Release);
        }
        self.note_log(writer);
        match settled {
            Ok(Settled { times, outcomes }) => {
                for ((reply, since), became) in waiting.into_iter().zip(outcomes) {
                    let times = CommitTimes { queued: started.saturating_sub(since), ..times };
                    let outcome = match became {
                        Became::Decided(decided) => {
                            decided.map_or_else(CommitOutcome::Refused, CommitOutcome::Committed)
                        }
                        Became::Forgotten => CommitOutcome::Unknown(
                            "it was sent to another server, and what the log listed since then is forgotten"
                                .to_owned(),
                        ),
                        Became::Returned => {
                            left.answers.push((reply, Err(CatalogError::Faster)));
                            continue;
                        }
                    };
                    left.answers.push((reply, Ok(CommitReport { outcome, times })));
                }
            }
            Err(failure) => {
                left.answers.extend(waiting.into_iter().map(|(reply, _)| (reply, failure.reply(times))));
            }
        }
        writer.stopped = stopped;
    }

    /// Decides on a group and writes it: at once if nobody else appends to the log, or else again after every record that
    /// came first.
    fn settle(
        &self,
        writer: &mut Writer,
        transactions: Vec<Transaction>,
        times: CommitTimes,
        left: &mut Left,
    ) -> Result<Settled, Failure> {
        let mut open = Open::new(transactions);
        for round in 0..ROUNDS_MAX {
            let transactions = match writer.log.others_append() {
                true => open.transactions.clone(),
                false => mem::take(&mut open.transactions),
            };
            let current = Arc::clone(&self.published.read());
            let at_ms = self.host.clock.now_ms().max(writer.last_ms);
            let moment = Moment { seq: Seq(writer.log.next_seq()), at_ms };
            let mut next = Group::new(State::clone(&current), moment);
            let mut defined = writer.defined;
            let mut admit = |one: Transaction| {
                let defines = one.ops.iter().any(Op::defines);
                kept_definitions(&one, defined)?;
                next.admit(one)?;
                defined = if defines { moment.seq } else { defined };
                Ok(())
            };
            let known = self.known_of(&transactions);
            open.set_aside(&known);
            let decide = |(one, known): (Transaction, Known)| match known {
                Known::In(seq) => Ok(seq),
                Known::Forgotten => Ok(Seq::ZERO),
                Known::Open => admit(one).map(|()| moment.seq),
            };
            let outcomes: Vec<_> = transactions.into_iter().zip(known).map(decide).collect();
            let is_granted = round > 0 && self.host.faults.planted("catalog.no_new_admission");
            let outcomes =
                if is_granted { outcomes.iter().map(|_| Ok(moment.seq)).collect() } else { outcomes };
            let (state, stored) = next.finish().map_err(|why| {
                self.poisoned.store(true, Ordering::Release);
                Failure::Unknown(why.to_string())
            })?;
            if stored.is_empty() {
                // Who changed nothing holds in the state that is there.
                let seq = current.seq();
                let outcomes = outcomes.into_iter().map(|one| one.map(|at: Seq| at.min(seq))).collect();
                return Ok(Settled { times, outcomes: open.settle(outcomes) });
            }
            let puts = if writer.log.others_append() { round + 1 } else { 0 };
            let times = CommitTimes { puts, ..times };
            let records = match self.write(writer, state, &stored, moment, times, left)? {
                Written::Committed(times) => {
                    writer.defined = defined;
                    return Ok(Settled { times, outcomes: open.settle(outcomes) });
                }
                Written::After(records) => records,
            };
            self.follow(writer, &records, left)?;
            if !writer.log.others_append() {
                return Err(Failure::Poisoned("somebody else appends to a log with one writer".to_owned()));
            }
            if self.is_accompanied() {
                open.hand_back();
            }
            if (round + 1) % ROUNDS_PATIENT == 0 {
                self.ask_for_turn();
            }
        }
        Err(Failure::Outrun)
    }

    /// What the log says of each transaction by now; of most that nobody but this process knows them.
    fn known_of(&self, transactions: &[Transaction]) -> Vec<Known> {
        let listed = self.listed.lock();
        let known = |one: &Transaction| match one.sent_at {
            None => Known::Open,
            Some(_) if self.host.faults.planted("catalog.listed_ignored") => Known::Open,
            Some(since) => match listed.seq_of(one.id) {
                Some(seq) => Known::In(seq),
                None if listed.knows_since(since) => Known::Open,
                None => Known::Forgotten,
            },
        };
        transactions.iter().map(known).collect()
    }

    /// Makes the record durable, then the state visible; or says which records came first.
    fn write(
        &self,
        writer: &mut Writer,
        state: State,
        stored: &[Transaction],
        moment: Moment,
        times: CommitTimes,
        left: &mut Left,
    ) -> Result<Written, Failure> {
        let started = self.host.clock.monotonic();
        let encode = |transaction| encode_transaction(transaction, stored_time(transaction, moment.at_ms));
        let encoded: Vec<_> = stored.iter().map(encode).collect();
        let synced = match writer.log.append(&encoded).map_err(Failure::of)? {
            Appended::Committed { seq, times } => {
                debug_assert_eq!(Seq(seq), moment.seq);
                times.sync
            }
            Appended::Conflict(records) => return Ok(Written::After(records)),
            Appended::Unresolved { seq, source } => {
                return Err(Failure::Unknown(format!("outcome of record {seq} unknown: {source}")));
            }
        };
        let appended = self.host.clock.monotonic();
        writer.logged_bytes += bytes_of(&encoded);
        writer.last_ms = moment.at_ms;
        self.publish(state, left);
        let listed: Vec<TxnId> = stored.iter().flat_map(|one| one.listed.iter().copied()).collect();
        self.note_listed(moment.seq, &listed, None, true);
        Ok(Written::Committed(CommitTimes {
            written: appended.saturating_sub(started).saturating_sub(synced),
            synced,
            applied: self.host.clock.monotonic().saturating_sub(appended),
            ..times
        }))
    }

    /// Takes in the records that others appended. If one does not fit, this process has lost its way.
    pub(super) fn follow(
        &self,
        writer: &mut Writer,
        records: &[ReplayedRecord],
        left: &mut Left,
    ) -> Result<(), Failure> {
        let current = Arc::clone(&self.published.read());
        let mut state = State::clone(&current);
        let mut noted = Vec::new();
        for record in records {
            let expected = state.seq().next();
            if Seq(record.seq) != expected {
                let why = format!("the log gave record {} where {expected} should be", record.seq);
                return Err(Failure::Poisoned(why));
            }
            let replayed =
                replay_record(&mut state, record).map_err(|error| Failure::Poisoned(error.to_string()))?;
            if self.host.faults.planted("catalog.follow_twice") {
                let _applied = replay_record(&mut state, record);
            }
            writer.last_ms = writer.last_ms.max(replayed.last_ms);
            if replayed.defines {
                writer.defined = state.seq();
            }
            writer.logged_bytes += bytes_of(&record.transactions);
            noted.push((state.seq(), record.uuid, replayed));
        }
        let (end, next) = (state.seq(), Seq(writer.log.next_seq()));
        if records.is_empty() || end.next() != next {
            let why = format!("the log goes on with record {next}, and its records are known up to {end}");
            return Err(Failure::Poisoned(why));
        }
        self.publish(state, left);
        for (seq, uuid, Replayed { listed, has_unlisted, .. }) in noted {
            let others = uuid.first_chunk().copied();
            self.note_listed(seq, &listed, others, has_unlisted);
        }
        Ok(())
    }

    fn publish(&self, state: State, left: &mut Left) {
        let seq = state.seq();
        // Freed by whoever has no lock: taking a large old state apart takes time.
        left.garbage.push(mem::replace(&mut *self.published.write(), Arc::new(state)));
        self.newest.send_replace(seq);
    }
}

/// [`Precondition::DefinitionsKept`]: `defined` is the newest record that changed a definition.
fn kept_definitions(transaction: &Transaction, defined: Seq) -> Result<(), RefusedWhy> {
    let asks = transaction.preconditions.contains(&Precondition::DefinitionsKept);
    if asks && defined > transaction.read_seq { Err(RefusedWhy::DefinitionsChanged) } else { Ok(()) }
}

/// What became of a group.
struct Settled {
    times: CommitTimes,
    /// In the order of its transactions.
    outcomes: Vec<Became>,
}

/// What became of a record.
enum Written {
    Committed(CommitTimes),
    /// These were appended by others, in its place.
    After(Vec<ReplayedRecord>),
}

/// Why no record was written, for everybody who waited for it.
pub(super) enum Failure {
    Refused(AppendRefused),
    /// Nothing was written, and nothing more is.
    Poisoned(String),
    Unknown(String),
    /// Nothing was written.
    Outrun,
}

impl Failure {
    pub(super) fn of(error: AppendError) -> Failure {
        match error {
            AppendError::Refused(why) => Failure::Refused(why),
            AppendError::Poisoned(why) => Failure::Poisoned(why),
        }
    }

    /// For who asked for nothing to be written.
    pub(super) fn into_error(self) -> CatalogError {
        match self {
            Failure::Refused(why) => CatalogError::NotFollowed(why),
            Failure::Poisoned(why) | Failure::Unknown(why) => CatalogError::Poisoned(why),
            Failure::Outrun => CatalogError::Outrun(ROUNDS_MAX),
        }
    }

    /// Who was refused hears the same: the reason may lie in a transaction that is lost now.
    fn reply(&self, times: CommitTimes) -> Reply {
        match self {
            Failure::Refused(why) => Err(CatalogError::NotLogged(again(why))),
            Failure::Poisoned(why) => Err(CatalogError::Poisoned(why.clone())),
            Failure::Outrun => Err(CatalogError::Outrun(ROUNDS_MAX)),
            Failure::Unknown(why) => Ok(CommitReport { outcome: CommitOutcome::Unknown(why.clone()), times }),
        }
    }
}

/// An error of the operating system cannot be cloned.
fn again(why: &AppendRefused) -> AppendRefused {
    match why {
        AppendRefused::TooLarge { bytes, limit } => AppendRefused::TooLarge { bytes: *bytes, limit: *limit },
        AppendRefused::Empty => AppendRefused::Empty,
        AppendRefused::Space(error) => AppendRefused::Space(same(error)),
        AppendRefused::Unread { seq, source } => AppendRefused::Unread { seq: *seq, source: same(source) },
        AppendRefused::Denied(error) => AppendRefused::Denied(same(error)),
        AppendRefused::Unreachable { seq, source } => {
            AppendRefused::Unreachable { seq: *seq, source: same(source) }
        }
    }
}

fn same(error: &std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => std::io::Error::new(error.kind(), error.to_string()),
    }
}

/// Whoever led broke off: the record may be there.
fn gone() -> Reply {
    let outcome = CommitOutcome::Unknown("the thread that wrote the record broke off".to_owned());
    Ok(CommitReport { outcome, times: CommitTimes::default() })
}

/// The committing thread is there; when it goes, however it does, nobody waits for it.
struct Leaves<'a>(&'a Queue);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}
