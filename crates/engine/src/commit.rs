//! Transactions of the engine: built here, committed in one place.
//!
//! Invariant: an outcome that is not known is reported as not known; nothing that a durable record may name is
//! deleted then.

use catalog::{Catalog, CommitOutcome, CommitReport, CommitTimes, Op, Precondition, Transaction};
use host::Host;
use model::{Seq, TxnId};

use crate::error::{Error, ErrorKind};
use crate::once::settled;
use crate::sink_target::SinkTarget;

/// Commits `ops` decided on `read_seq`. Blocks for one fsync.
pub(crate) fn commit(
    catalog: &Catalog,
    host: &Host,
    read_seq: Seq,
    preconditions: Vec<Precondition>,
    ops: Vec<Op>,
) -> Result<Seq, Error> {
    let transaction = transaction(host, read_seq, preconditions, ops);
    Ok(committed(catalog.commit_reported(transaction)?)?.0)
}

/// [`commit`] for whoever must not block: together with whatever else waits, in one fsync.
pub(crate) async fn submit(
    catalog: &Catalog,
    host: &Host,
    read_seq: Seq,
    preconditions: Vec<Precondition>,
    ops: Vec<Op>,
) -> Result<(Seq, CommitTimes), Error> {
    let transaction = transaction(host, read_seq, preconditions, ops);
    committed(catalog.submit(transaction).await?)
}

fn transaction(host: &Host, read_seq: Seq, preconditions: Vec<Precondition>, ops: Vec<Op>) -> Transaction {
    let id = TxnId::from_random_bytes(host::random::uuid_bytes(host.random.as_ref()));
    Transaction { id, read_seq, preconditions, ops }
}

fn committed(report: CommitReport) -> Result<(Seq, CommitTimes), Error> {
    match report.outcome {
        CommitOutcome::Committed(seq) => Ok((seq, report.times)),
        CommitOutcome::Refused(why) => Err(why.into()),
        CommitOutcome::Unknown(why) => {
            let message = format!("it is not known whether the statement was committed: {why}");
            Err(Error::new(ErrorKind::OutcomeUnknown, 1002, message)
                .with_hint("open the database again and look; what was committed is complete"))
        }
    }
}

/// Makes the parts of every sink of a statement visible at one `Seq`, and its names known. A statement that repeats an
/// earlier one succeeds without them.
pub(crate) fn commit_parts(target: &SinkTarget) -> Result<(), Error> {
    let table = &target.table;
    target.progress.begin_commit()?;
    let parts = target.uncommitted.take();
    let rows: u64 = parts.iter().map(|part| part.descriptor().rows).sum();
    let once = target.claim.as_ref().map(|claim| claim.once());
    let mut ops = once.as_ref().map_or_else(Vec::new, |once| once.ops(rows));
    ops.extend(parts.iter().cloned().map(Op::AddPart));
    if ops.is_empty() {
        return Ok(());
    }
    let precondition =
        Precondition::SchemaCompatible { table: table.def.id, schema_version: table.def.schema_version };
    let read_seq = table.catalog.snapshot().seq();
    let committed = commit(&table.catalog, &table.host, read_seq, vec![precondition], ops);
    if let Err(error) = &committed
        && error.kind != ErrorKind::OutcomeUnknown
    {
        // Given back, they are deleted with the statement.
        target.uncommitted.add(parts);
    }
    settled(committed, once.as_ref(), &table.catalog, &target.progress)
}
