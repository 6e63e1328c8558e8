//! One part under the commands of a mutation: whether it is touched, and what is written in its place.
//!
//! Invariant: the part itself is only read. What is written is durable, and named by nobody yet. Must not know: other parts,
//! and whether the result is committed.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;
use boundary::error::Error;
use catalog::TableState;
use mergetree::Table;
use mergetree::write::PartRewriter;
use model::{PartDescriptor, SealedPart};

use super::rows::Changing;
use crate::context::execution::Rewritten;
use tables::changes::{Change, Kind};
use tables::mutation_queries::is_by_number;

/// What works on the parts of one table in one statement.
pub(super) struct Rewriting {
    /// At the snapshot that the statement was decided on.
    pub changing: Changing,
    pub state: Arc<TableState>,
    pub table: Table,
    pub changes: Vec<Change>,
}

/// What becomes of a part.
pub(super) enum Outcome {
    Stays,
    Goes,
    Becomes(Box<SealedPart>),
}

impl Rewriting {
    /// Refuses conditions and values that cannot be planned, whether or not there are rows.
    pub(super) async fn check(&self) -> Result<(), Error> {
        for change in &self.changes {
            self.changing.check(&change.kind, &self.of(None, true)).await?;
        }
        Ok(())
    }

    /// Whether a change is about rows of a live part.
    pub(super) async fn touches(&self, part: &Arc<PartDescriptor>) -> Result<bool, Error> {
        for change in self.changes.iter().filter(|change| change.concerns(part)) {
            let touches = match &change.kind {
                Kind::Drop => true,
                Kind::Renew => self.is_older(part),
                Kind::Delete { condition, only_whole: true } => {
                    self.changing.count(condition, &self.of(Some(part), false)).await? == part.rows
                }
                Kind::Delete { condition, .. } | Kind::Update { condition, .. } => {
                    let of = self.of(Some(part), is_by_number(condition));
                    self.changing.count(condition, &of).await? > 0
                }
            };
            if touches {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_older(&self, part: &PartDescriptor) -> bool {
        part.schema_version < self.state.def.schema_version
    }

    /// Carries out all changes, one after the other. Runs on a thread of its own: it encodes.
    pub(super) async fn rewrite(&self, live: &Arc<PartDescriptor>) -> Result<Outcome, Error> {
        let mut written: Option<Scratch> = None;
        for change in self.changes.iter().filter(|change| change.concerns(live)) {
            let part = written.as_ref().map_or(live, |scratch| &scratch.part);
            let mut deleted = None;
            match &change.kind {
                Kind::Drop => return Ok(Outcome::Goes),
                Kind::Renew if !self.is_older(part) => continue,
                Kind::Delete { condition, only_whole } => {
                    let of = self.of(Some(part), true);
                    let found = self.changing.found(condition, &of, part.rows).await?;
                    match found.count_set_bits() as u64 {
                        0 => continue,
                        all if all == part.rows => return Ok(Outcome::Goes),
                        _ if *only_whole => continue,
                        _ => deleted = Some(found),
                    }
                }
                // That nothing changes would be found out as late.
                Kind::Renew | Kind::Update { .. } => {}
            }
            match self.write(&change.kind, deleted, part, live).await? {
                None => return Ok(Outcome::Goes),
                Some(sealed) => written = Some(Scratch::new(&self.table, sealed)),
            }
        }
        let sealed = written.and_then(Scratch::keep);
        Ok(sealed.map_or(Outcome::Stays, |sealed| Outcome::Becomes(Box::new(sealed))))
    }

    async fn write(
        &self,
        kind: &Kind,
        deleted: Option<BooleanBuffer>,
        part: &Arc<PartDescriptor>,
        live: &Arc<PartDescriptor>,
    ) -> Result<Option<SealedPart>, Error> {
        let mut rewriter = PartRewriter::new(&self.table, part, live.id)?;
        let of = self.of(Some(part), true);
        let rows = self.changing.all(&of).await?;
        let progress = &self.changing.execution.progress;
        let mut take = |batch: RecordBatch| {
            rewriter.write(&batch)?;
            progress.add_written(batch.num_rows() as u64, batch.get_array_memory_size() as u64);
            Ok(())
        };
        self.changing.change(kind, &of, (part.rows, deleted), rows, &mut take).await?;
        Ok(rewriter.finish()?)
    }

    fn of(&self, part: Option<&Arc<PartDescriptor>>, is_numbered: bool) -> Rewritten {
        Rewritten::Part { state: Arc::new(self.state.only(part)), is_numbered }
    }
}

/// A part that was written and may be followed by another: deleted, unless it is kept.
struct Scratch {
    table: Table,
    part: Arc<PartDescriptor>,
    sealed: Option<SealedPart>,
}

impl Scratch {
    fn new(table: &Table, sealed: SealedPart) -> Scratch {
        let part = Arc::new(sealed.descriptor().clone());
        Scratch { table: table.clone(), part, sealed: Some(sealed) }
    }

    fn keep(mut self) -> Option<SealedPart> {
        self.sealed.take()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(sealed) = &self.sealed {
            // Best effort: what stays is an orphan, and orphans are collected at open.
            let _ = self.table.store.delete(sealed.descriptor());
        }
    }
}
