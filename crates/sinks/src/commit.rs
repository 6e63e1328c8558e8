//! Transactions of the engine: built here, committed in one place.
//!
//! Invariant: an outcome that is not known is reported as not known; nothing that a durable record may name is
//! deleted then.

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::part_log::{PartEvent, PartEventKind, committed_part};
use boundary::once::names::settled;
use catalog::{Catalog, CommitOutcome, CommitReport, Op, Precondition, Transaction};
use host::Host;
use model::{ErrorCode, SealedPart, Seq, TxnId};
use physical::profile::StatementProfile;

use crate::target::SinkTarget;

/// Commits `ops` decided on `read_seq`. Blocks for one fsync. Of commits that run beside each other none is the
/// statement's own time, and they have no `profile`.
pub fn commit(
    catalog: &Catalog,
    host: &Host,
    read_seq: Seq,
    preconditions: Vec<Precondition>,
    ops: Vec<Op>,
    profile: Option<&StatementProfile>,
) -> Result<Seq, Error> {
    let transaction = transaction(host, read_seq, preconditions, ops);
    committed(&catalog.commit_reported(transaction)?, profile)
}

/// [`commit`] for whoever must not block: together with whatever else waits, in one fsync.
pub async fn submit(
    catalog: &Catalog,
    host: &Host,
    read_seq: Seq,
    preconditions: Vec<Precondition>,
    ops: Vec<Op>,
    profile: &StatementProfile,
) -> Result<Seq, Error> {
    let transaction = transaction(host, read_seq, preconditions, ops);
    committed(&catalog.submit(transaction).await?, Some(profile))
}

fn transaction(host: &Host, read_seq: Seq, preconditions: Vec<Precondition>, ops: Vec<Op>) -> Transaction {
    let id = TxnId::from_random_bytes(host::random::uuid_bytes(host.random.as_ref()));
    Transaction { preconditions, ..Transaction::new(id, read_seq, ops) }
}

fn committed(report: &CommitReport, profile: Option<&StatementProfile>) -> Result<Seq, Error> {
    if let Some(profile) = profile {
        profile.committed(&report.times);
    }
    match &report.outcome {
        CommitOutcome::Committed(seq) => Ok(*seq),
        CommitOutcome::Refused(why) => Err(why.clone().into()),
        CommitOutcome::Unknown(why) => {
            let message = format!("it is not known whether the statement was committed: {why}");
            Err(Error::new(ErrorKind::OutcomeUnknown, ErrorCode::UNKNOWN_EXCEPTION, message)
                .with_hint(
                    "what was committed is complete: repeat it with the same label, or look whether it is there; a database in a \
                     folder says so after it was opened again",
                ))
        }
    }
}

/// Makes the parts of every sink of a statement visible at one `Seq`, and its names known. A statement that repeats an
/// earlier one succeeds without them.
pub fn commit_parts(target: &SinkTarget) -> Result<(), Error> {
    let table = &target.table;
    if target.rolls_back {
        target.uncommitted.discard();
        return Ok(());
    }
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
    let profile = Some(target.profile.as_ref());
    let committed = commit(&table.catalog, &table.host, read_seq, vec![precondition], ops, profile);
    log_new_parts(target, &parts, committed.as_ref().err());
    if let Err(error) = &committed
        && error.kind != ErrorKind::OutcomeUnknown
    {
        // Given back, they are deleted with the statement.
        target.uncommitted.add(parts);
    }
    settled(committed, once.as_ref(), &table.catalog, &target.progress)
}

/// One event for each part. The parts of a statement are written side by side, so they share its time.
fn log_new_parts(target: &SinkTarget, parts: &[SealedPart], error: Option<&Error>) {
    let host = &target.table.host;
    let (now_ms, duration) = (host.clock.now_ms(), host.clock.monotonic().saturating_sub(target.started));
    let snapshot = target.table.catalog.snapshot();
    let state = snapshot.table_by_id(target.table.def.id);
    for part in parts {
        let sealed = part.descriptor();
        // Only the committed one has its block numbers, and so its name.
        let named = state.as_ref().and_then(|state| committed_part(state, sealed.id));
        let part = named.as_deref().unwrap_or(sealed);
        target.part_log.push(PartEvent {
            duration,
            memory_peak: target.settings.memory.peak(),
            query_id: target.profile.query_id.clone(),
            error: error.cloned(),
            ..PartEvent::of(PartEventKind::NewPart, &snapshot, &target.table.def, part, now_ms)
        });
    }
}
