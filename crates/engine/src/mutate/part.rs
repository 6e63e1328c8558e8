//! One part under the commands of a mutation: what it counts, and what is written in its place.
//!
//! Invariant: the part itself is only read. What is written is durable, and named by nobody yet. Must not know: other parts,
//! and whether the result is committed.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use boundary::error::Error;
use catalog::TableState;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use mergetree::Table;
use mergetree::write::PartRewriter;
use model::{PartDescriptor, SealedPart};
use physical::nodes::metered::metered;

use super::checked::{Change, Kind};
use super::new_values::NewValues;
use super::queries::{self, From};
use crate::context::execution::{Execution, Rewritten};
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::query::select::{PlannedQuery, plan};

/// What works on the parts of one table in one statement.
pub(super) struct Rewriting {
    pub services: Arc<Services>,
    /// At the snapshot that the statement was decided on.
    pub execution: Arc<Execution>,
    pub state: Arc<TableState>,
    pub table: Table,
    pub changes: Vec<Change>,
    /// The part that is read, as it stands in FROM.
    pub source: String,
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
            self.planned(&queries::rows(&change.kind, &self.state.def, &self.from(true)), None, true)
                .await?
                .physical()
                .await?;
        }
        Ok(())
    }

    /// Whether a change is about rows of a live part.
    pub(super) async fn touches(&self, part: &Arc<PartDescriptor>) -> Result<bool, Error> {
        for change in &self.changes {
            if change.concerns(part) && self.matching(&change.kind, part).await? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Carries out all changes, one after the other. Runs on a thread of its own: it encodes.
    pub(super) async fn rewrite(&self, live: &Arc<PartDescriptor>) -> Result<Outcome, Error> {
        let mut written: Option<Scratch> = None;
        for change in self.changes.iter().filter(|change| change.concerns(live)) {
            let part = written.as_ref().map_or(live, |scratch| &scratch.part);
            let matching = self.matching(&change.kind, part).await?;
            if matching == 0 {
                continue;
            }
            if matches!(change.kind, Kind::Drop | Kind::Delete { .. }) && matching == part.rows {
                return Ok(Outcome::Goes);
            }
            match self.write(&change.kind, part, live).await? {
                None => return Ok(Outcome::Goes),
                Some(sealed) => written = Some(Scratch::new(&self.table, sealed)),
            }
        }
        Ok(written
            .and_then(Scratch::keep)
            .map_or(Outcome::Stays, |sealed| Outcome::Becomes(Box::new(sealed))))
    }

    /// How many rows of the part a change is about.
    async fn matching(&self, kind: &Kind, part: &Arc<PartDescriptor>) -> Result<u64, Error> {
        let Some(text) = queries::count(kind, &self.from(false)) else {
            let is_older = part.schema_version < self.state.def.schema_version;
            return Ok(if *kind == Kind::Drop || is_older { part.rows } else { 0 });
        };
        let planned = self.planned(&text, Some(part), false).await?;
        let mut rows = 0;
        let mut counts = self.stream(&planned).await?;
        while let Some(batch) = counts.next().await {
            let batch = batch.map_err(Error::from)?;
            let counted =
                cast(batch.column(0), &DataType::UInt64).map_err(|e| Error::internal(e.to_string()))?;
            rows += counted.as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
        }
        Ok(rows)
    }

    async fn write(
        &self,
        kind: &Kind,
        part: &Arc<PartDescriptor>,
        live: &Arc<PartDescriptor>,
    ) -> Result<Option<SealedPart>, Error> {
        let def = &self.state.def;
        let asking = || statement_state(&self.services, &self.execution);
        let defaults = self.services.tables.defaults(def, &asking)?;
        let (constraints, _) = self.services.tables.constraints(def, &asking)?;
        let new_values = NewValues::new(def, kind, &defaults, constraints);
        let planned = self.planned(&queries::rows(kind, def, &self.from(true)), Some(part), true).await?;
        let mut rewriter = PartRewriter::new(&self.table, part, live.id)?;
        let mut rows = self.stream(&planned).await?;
        let mut read = 0;
        while let Some(batch) = rows.next().await {
            if self.execution.progress.is_cancelled() {
                return Err(Error::cancelled());
            }
            let batch = new_values.of(&batch.map_err(Error::from)?, read)?;
            read += batch.num_rows() as u64;
            rewriter.write(&batch)?;
            self.execution
                .progress
                .add_written(batch.num_rows() as u64, batch.get_array_memory_size() as u64);
        }
        Ok(rewriter.finish()?)
    }

    fn from(&self, is_numbered: bool) -> From<'_> {
        From { source: &self.source, name: &self.state.def.name, is_numbered }
    }

    /// A SELECT over one part, or over none, by one thread.
    async fn planned(
        &self,
        text: &str,
        part: Option<&Arc<PartDescriptor>>,
        is_numbered: bool,
    ) -> Result<PlannedQuery, Error> {
        let query = sql::Query::from(Box::new(sql::parse_query(text)?));
        let rewritten = Rewritten { state: Arc::new(self.state.only(part)), is_numbered };
        let execution = self.execution.rewriting(rewritten);
        let mut planned = plan(&self.services, &execution, &query, None).await?;
        planned.state.config_mut().options_mut().execution.target_partitions = 1;
        Ok(planned)
    }

    async fn stream(&self, planned: &PlannedQuery) -> Result<SendableRecordBatchStream, Error> {
        let physical = metered(planned.physical().await?)?;
        self.execution.progress.watch(&physical);
        Ok(execute_stream(physical, planned.state.task_ctx())?)
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
