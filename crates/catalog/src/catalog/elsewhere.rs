//! Rows of this process that another one commits, together with its own: in one record instead of two that race.
//!
//! While records of somebody else come, whoever only adds rows asks that one to commit them. What became of them is not heard from the
//! answer but found in the log, where their ids stand: an answer that is lost, or late, changes nothing. Whatever is not there this
//! process commits itself, under the same id; whoever comes second finds it. Invariant: an id is in the log once. Must not know: how
//! the other one is reached.

use std::fmt::Debug;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::{Seq, TableId, TxnId};

use super::commits::Left;
use super::queue::{Reply, bytes_of};
use super::{Catalog, CatalogError, CommitOutcome, CommitReport, CommitTimes};
use crate::group::only_adds_rows;
use crate::op::{Precondition, Transaction};
use crate::op_format::fields::FormatError;
use crate::op_format::{decode_transaction, encode_transaction};

/// Records of somebody else that are older say nothing of what comes.
const COMPANY: Duration = Duration::from_secs(1);
/// Whoever was asked to let others go first does so for longer than two times that others say how they are doing.
const COURTESY: Duration = Duration::from_secs(12);
/// Rows of more bytes are not sent around.
const SENT_BYTES_MAX: u64 = 1 << 20;

/// Who appended a record: the first bytes of its uuid.
pub type RecordWriter = [u8; 8];

/// A transaction that only adds rows, for another process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentRows {
    /// As it stands in records.
    pub transaction: Bytes,
    pub read_seq: Seq,
    /// The log ended with it when the id was given out.
    pub since: Seq,
    /// Tables, and the versions of their columns that the rows were made for.
    pub schemas: Vec<(TableId, u32)>,
    /// No definition may have changed.
    pub keeps_definitions: bool,
}

/// Asks other processes.
pub trait Elsewhere: Send + Sync + Debug {
    /// Whether whoever appends with this mark can be asked.
    fn reaches(&self, writer: RecordWriter) -> bool;

    /// Has whoever appends with this mark commit the rows, and takes in the records that it tells of ([`Catalog::take_told`]). False
    /// if it could not be asked; whatever the answer is, the log says what became of them.
    fn commit(&self, writer: RecordWriter, rows: SentRows) -> BoxFuture<'_, bool>;

    /// Asks whoever appends with this mark to let others go first ([`Catalog::give_way`]), in whatever way there is. Called on the
    /// thread that commits, which waits for nobody.
    fn outrun_by(&self, writer: RecordWriter);
}

/// Who appended last, if it was not this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Company {
    pub writer: RecordWriter,
    /// On the monotonic clock.
    pub seen: Duration,
}

impl SentRows {
    fn of(transaction: &Transaction, since: Seq) -> SentRows {
        let (mut schemas, mut keeps_definitions) = (Vec::new(), false);
        for one in &transaction.preconditions {
            match one {
                Precondition::SchemaCompatible { table, schema_version } => {
                    schemas.push((*table, *schema_version));
                }
                _ => keeps_definitions = true,
            }
        }
        let bytes = encode_transaction(transaction, 0);
        SentRows { transaction: bytes, read_seq: transaction.read_seq, since, schemas, keeps_definitions }
    }

    fn into_transaction(self) -> Result<Transaction, FormatError> {
        let stored = decode_transaction(&self.transaction)?;
        let compatible = |(table, schema_version)| Precondition::SchemaCompatible { table, schema_version };
        let kept = self.keeps_definitions.then_some(Precondition::DefinitionsKept);
        Ok(Transaction {
            preconditions: self.schemas.into_iter().map(compatible).chain(kept).collect(),
            sent_at: Some(self.since),
            ..Transaction::new(stored.id, self.read_seq, stored.ops)
        })
    }
}

/// Somebody waits for what another process was asked to commit.
struct Sending<'a> {
    catalog: &'a Catalog,
    id: TxnId,
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.catalog.listed.lock().answered(self.id);
    }
}

/// Whether another process could commit it: it only adds rows, and asks for nothing that cannot be said there.
fn is_sendable(transaction: &Transaction) -> bool {
    let is_said = |one: &Precondition| {
        matches!(one, Precondition::SchemaCompatible { .. } | Precondition::DefinitionsKept)
    };
    only_adds_rows(&transaction.ops)
        && transaction.preconditions.iter().all(is_said)
        && bytes_of(transaction) <= SENT_BYTES_MAX
}

fn unknown(why: String) -> CommitReport {
    CommitReport { outcome: CommitOutcome::Unknown(why), times: CommitTimes::default() }
}

impl Catalog {
    /// From now on others may be asked to commit, and ask this one.
    pub fn ask_elsewhere(&self, elsewhere: Box<dyn Elsewhere>) {
        // Whoever is there first stays.
        let _first = self.elsewhere.set(elsewhere);
    }

    /// Somebody else has something to append, and does not get his turn.
    pub fn give_way(&self) {
        if let Some(courtesy) = &self.courtesy {
            courtesy.extend(self.host.clock.monotonic() + COURTESY);
        }
    }

    /// Asks for a turn, of whoever appended last.
    pub(super) fn ask_for_turn(&self) {
        if let (Some(elsewhere), Some(writer)) = (self.elsewhere.get(), self.company()) {
            elsewhere.outrun_by(writer);
        }
    }

    /// Has another process commit it, if one is appending; else, or if it did not, the transaction comes back.
    pub(super) async fn elsewhere(&self, mut transaction: Transaction) -> Result<CommitReport, Transaction> {
        let (Some(elsewhere), Some(writer)) = (self.elsewhere.get(), self.company()) else {
            return Err(transaction);
        };
        if !is_sendable(&transaction) || !elsewhere.reaches(writer) {
            return Err(transaction);
        }
        let id = transaction.id;
        // From here on somebody may commit it at any time; of who was asked before nobody knows that he did not.
        let since = *transaction.sent_at.get_or_insert(self.seq());
        let rows = SentRows::of(&transaction, since);
        let started = self.host.clock.monotonic();
        self.listed.lock().send(id);
        let sending = Sending { catalog: self, id };
        if !elsewhere.commit(writer, rows).await {
            self.company.lock().take_if(|company| company.writer == writer);
        }
        drop(sending);
        let seq = self.listed.lock().seq_of(id);
        match seq {
            Some(seq) => {
                // Its record was made after it was sent: what was there before stands before it, and is known.
                self.note_known(started);
                let queued = self.host.clock.monotonic().saturating_sub(started);
                let times = CommitTimes { queued, statements: 1, ..CommitTimes::default() };
                Ok(CommitReport { outcome: CommitOutcome::Committed(seq), times })
            }
            None => Err(transaction),
        }
    }

    /// [`Catalog::submit_here`] of what another process was asked to commit, and may commit as late as it likes: whoever hears that
    /// nothing happened can rely on it.
    async fn submit_sent(&self, transaction: Transaction) -> Reply {
        let id = transaction.id;
        let report = match self.submit_here(transaction).await {
            Ok(report) => report,
            Err(CatalogError::Faster) => return Err(CatalogError::Faster),
            Err(error) => return Ok(unknown(error.to_string())),
        };
        match &report.outcome {
            CommitOutcome::Refused(why) if !why.is_lasting() => {}
            _ => return Ok(report),
        }
        // Its id is used up, and whoever still has it finds that.
        let spent =
            Transaction { listed: vec![id], ..Transaction::new(self.transaction_id(), self.seq(), vec![]) };
        match self.submit_here(spent).await.map(|spent| spent.outcome) {
            Ok(CommitOutcome::Committed(seq)) => match self.listed.lock().seq_of(id) {
                Some(first) if first != seq => {
                    Ok(CommitReport { outcome: CommitOutcome::Committed(first), times: report.times })
                }
                _ => Ok(report),
            },
            Ok(outcome) => {
                Ok(unknown(format!("it was refused here, and another server may commit it: {outcome:?}")))
            }
            Err(error) => Ok(unknown(error.to_string())),
        }
    }

    /// [`Catalog::submit_here`], whoever knows of it.
    pub(super) async fn submit_known(&self, transaction: Transaction) -> Reply {
        match transaction.sent_at {
            None => self.submit_here(transaction).await,
            Some(_) => self.submit_sent(transaction).await,
        }
    }

    /// Whether another process could be asked to commit it.
    pub(super) fn may_go_elsewhere(&self, transaction: &Transaction) -> bool {
        self.elsewhere.get().is_some() && is_sendable(transaction)
    }

    /// Whether somebody else appends who can be asked.
    pub(super) fn is_accompanied(&self) -> bool {
        let (Some(elsewhere), Some(writer)) = (self.elsewhere.get(), self.company()) else { return false };
        elsewhere.reaches(writer)
    }

    /// Who is appending, if it is not this process.
    fn company(&self) -> Option<RecordWriter> {
        let company = (*self.company.lock())?;
        let age = self.host.clock.monotonic().saturating_sub(company.seen);
        (age < COMPANY).then_some(company.writer)
    }

    /// Commits rows of other processes, each by itself, and gives the records after `seq` that they, or others, are in, as far as they
    /// are at hand.
    ///
    /// # Errors
    /// What was sent is no transaction.
    pub async fn commit_for_others(&self, seq: Seq, rows: Vec<SentRows>) -> Result<Vec<Bytes>, FormatError> {
        let transactions: Result<Vec<_>, _> = rows.into_iter().map(SentRows::into_transaction).collect();
        let all = transactions?.into_iter().filter(|one| only_adds_rows(&one.ops));
        // Whoever asked finds in the log what became of each.
        let _settled = futures::future::join_all(all.map(|one| self.submit_here(one))).await;
        Ok(self.recent.as_ref().map_or_else(Vec::new, |recent| recent.after(seq.0)))
    }

    /// Takes in records that another process says are in the log; those that do not follow what is known are passed over. Blocks.
    ///
    /// # Errors
    /// One of them does not fit the state.
    pub fn take_told(&self, frames: Vec<Bytes>) -> Result<(), CatalogError> {
        let mut left = Left::default();
        let mut writer = self.writer.lock();
        if writer.stopped.is_some() {
            return Ok(());
        }
        let records = writer.log.take_told(frames);
        if records.is_empty() {
            return Ok(());
        }
        self.follow_or_stop(&mut writer, &records, &mut left)?;
        drop(writer);
        drop(left);
        Ok(())
    }

    /// These ids are in the record `seq`, which `writer` appended.
    pub(super) fn note_listed(
        &self,
        seq: Seq,
        ids: &[TxnId],
        others: Option<RecordWriter>,
        has_unlisted: bool,
    ) {
        let mut listed = self.listed.lock();
        let is_mine = !has_unlisted && listed.are_mine(ids);
        listed.note(seq, ids.iter().copied());
        drop(listed);
        let mut company = self.company.lock();
        match others {
            // It has nothing of its own to commit.
            Some(writer) if is_mine => company.take_if(|company| company.writer == writer).map_or((), drop),
            Some(writer) => *company = Some(Company { writer, seen: self.host.clock.monotonic() }),
            None => *company = None,
        }
    }
}
