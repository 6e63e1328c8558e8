//! One change over the rows of a part, or of a Memory table.
//!
//! Rows that a condition is about are found by their numbers; all rows are then read once more, as they are, and those that
//! were found are left out or get their new values. Invariant: rows stay in their order, each is there once or was found to be
//! deleted. Must not know: where rows come from and where they go.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{cast, filter_record_batch, interleave, not};
use arrow::datatypes::{DataType, UInt64Type};
use boundary::error::{Error, ErrorKind};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use futures::stream::BoxStream;
use model::saturating::usize_of;
use model::{ErrorCode, TableDef};
use physical::nodes::running::metered::metered;
use sql::{Expr, Query};

use crate::context::execution::{Execution, Rewritten};
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::query::select::{PlannedQuery, plan};
use tables::changes::Kind;
use tables::mutation_queries as queries;
use tables::new_values::{NewValues, broken};

/// Batches of all rows, as they are and in their order.
pub(super) type AllRows = BoxStream<'static, Result<RecordBatch, Error>>;

/// What reads and changes rows of one table in one statement.
pub(super) struct Changing {
    pub services: Arc<Services>,
    pub execution: Arc<Execution>,
    pub def: Arc<TableDef>,
}

impl Changing {
    /// Refuses conditions and values that cannot be planned, whether or not there are rows.
    pub(super) async fn check(&self, kind: &Kind, nothing: &Rewritten) -> Result<(), Error> {
        match kind {
            Kind::Delete { condition, .. } => {
                self.planned(&queries::count(&self.def.name, condition)?, nothing).await
            }
            Kind::Update { condition, .. } => self.planned(&self.values(kind, condition)?, nothing).await,
            Kind::Drop | Kind::Renew => return Ok(()),
        }?
        .physical()
        .await
        .map(drop)
    }

    /// How many rows a condition is about.
    pub(super) async fn count(&self, condition: &Expr, of: &Rewritten) -> Result<u64, Error> {
        let mut rows = 0;
        let mut counts = self.stream(&queries::count(&self.def.name, condition)?, of).await?;
        while let Some(batch) = counts.next().await {
            rows += numbers_of(batch.map_err(Error::from)?.column(0))?.iter().sum::<u64>();
        }
        Ok(rows)
    }

    /// All rows as they are.
    pub(super) async fn all(&self, of: &Rewritten) -> Result<AllRows, Error> {
        let rows = self.stream(&queries::all(&self.def)?, of).await?;
        Ok(rows.map(|batch| batch.map_err(Error::from)).boxed())
    }

    /// Gives the rows as they are to be, batch by batch; `count` is that of all rows. `known` is which of them are deleted, if
    /// that was found out.
    pub(super) async fn change(
        &self,
        kind: &Kind,
        of: &Rewritten,
        (count, known): (u64, Option<BooleanBuffer>),
        rows: AllRows,
        take: &mut (dyn FnMut(RecordBatch) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        let asking = || statement_state(&self.services, &self.execution);
        let defaults = self.services.tables.defaults(&self.def, &asking)?;
        let (constraints, _) = self.services.tables.constraints(&self.def, &asking)?;
        let constraints = constraints.filter(|_| !matches!(kind, Kind::Update { is_checked: false, .. }));
        let new_values = NewValues::new(&self.def, kind, &defaults, constraints);
        match kind {
            Kind::Drop => Ok(()),
            Kind::Renew => self.each(rows, |batch, _| take(new_values.as_stored(&batch)?)).await,
            Kind::Delete { condition, .. } => {
                let deleted = match known {
                    Some(known) => known,
                    None => self.found(condition, of, count).await?,
                };
                self.each(rows, |batch, before| {
                    let gone = BooleanArray::new(deleted.slice(usize_of(before), batch.num_rows()), None);
                    let stays = not(&gone).map_err(broken)?;
                    take(filter_record_batch(&new_values.as_stored(&batch)?, &stays).map_err(broken)?)
                })
                .await
            }
            Kind::Update { values, condition, .. } => {
                let places: Vec<usize> = values
                    .iter()
                    .filter_map(|(id, _)| self.def.stored_columns().position(|column| column.id == *id))
                    .collect();
                let changes = self.stream(&self.values(kind, condition)?, of).await?;
                let mut changes = Changes { changes, current: None, next: 0, last: None };
                let (mut rows, mut before) = (rows, 0);
                while let Some(batch) = rows.next().await {
                    self.check_cancelled()?;
                    let batch = new_values.as_stored(&batch?)?;
                    let found = changes.until(before, before + batch.num_rows() as u64).await?;
                    take(found.applied(&batch, &places, &new_values, before)?)?;
                    before += batch.num_rows() as u64;
                }
                changes.end().await
            }
        }
    }

    async fn each(
        &self,
        mut rows: AllRows,
        mut change: impl FnMut(RecordBatch, u64) -> Result<(), Error> + Send,
    ) -> Result<(), Error> {
        let mut before = 0;
        while let Some(batch) = rows.next().await {
            self.check_cancelled()?;
            let batch = batch?;
            let count = batch.num_rows() as u64;
            change(batch, before)?;
            before += count;
        }
        Ok(())
    }

    fn check_cancelled(&self) -> Result<(), Error> {
        if self.execution.progress.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Which of `count` rows a condition is about.
    pub(super) async fn found(
        &self,
        condition: &Expr,
        of: &Rewritten,
        count: u64,
    ) -> Result<BooleanBuffer, Error> {
        let mut found = vec![false; usize_of(count)];
        let mut numbers = self.stream(&queries::numbers(&self.def.name, condition)?, of).await?;
        while let Some(batch) = numbers.next().await {
            for number in numbers_of(batch.map_err(Error::from)?.column(0))? {
                match found.get_mut(usize_of(number)) {
                    Some(row) if !*row => *row = true,
                    _ => return Err(doubled()),
                }
            }
        }
        Ok(BooleanBuffer::from(found))
    }

    fn values(&self, kind: &Kind, condition: &Expr) -> Result<Query, Error> {
        let Kind::Update { values, .. } = kind else { return Err(Error::internal("values of no update")) };
        let typed =
            values.iter().filter_map(|(id, value)| Some((value, &self.def.column_by_id(*id)?.column_type)));
        queries::values(&self.def.name, condition, typed)
    }

    /// A SELECT over what is written anew, by one thread.
    async fn planned(&self, query: &Query, of: &Rewritten) -> Result<PlannedQuery, Error> {
        let execution = self.execution.rewriting(of.clone());
        let mut planned = plan(&self.services, &execution, query, None).await?;
        planned.state.config_mut().options_mut().execution.target_partitions = 1;
        Ok(planned)
    }

    async fn stream(&self, query: &Query, of: &Rewritten) -> Result<SendableRecordBatchStream, Error> {
        let planned = self.planned(query, of).await?;
        let physical = metered(planned.physical().await?)?;
        self.execution.progress.watch(&physical);
        Ok(execute_stream(physical, planned.state.task_ctx())?)
    }
}

fn numbers_of(column: &ArrayRef) -> Result<Vec<u64>, Error> {
    let numbers = cast(column, &DataType::UInt64).map_err(broken)?;
    Ok(numbers.as_primitive::<UInt64Type>().values().to_vec())
}

fn doubled() -> Error {
    let message = "the condition or a value of the mutation makes several rows of one";
    Error::new(ErrorKind::BadInput, ErrorCode::UNEXPECTED_EXPRESSION, message)
}

/// The rows that change, in order.
struct Changes {
    changes: SendableRecordBatchStream,
    current: Option<(Vec<u64>, RecordBatch)>,
    /// In the current batch.
    next: usize,
    last: Option<u64>,
}

/// Those of them that are in one batch of all rows.
struct Found {
    batches: Vec<RecordBatch>,
    /// Row of the batch, and where its values are.
    rows: Vec<(usize, (usize, usize))>,
}

impl Changes {
    async fn until(&mut self, begin: u64, end: u64) -> Result<Found, Error> {
        let mut found = Found { batches: Vec::new(), rows: Vec::new() };
        let mut is_listed = false;
        loop {
            if self.current.as_ref().is_none_or(|(numbers, _)| self.next == numbers.len()) {
                let Some(batch) = self.changes.next().await.transpose().map_err(Error::from)? else {
                    self.current = None;
                    return Ok(found);
                };
                (self.current, self.next, is_listed) =
                    (Some((numbers_of(batch.column(0))?, batch)), 0, false);
                continue;
            }
            let Some((numbers, batch)) = &self.current else { return Ok(found) };
            let number = numbers[self.next];
            if self.last.is_some_and(|last| last >= number) {
                return Err(doubled());
            }
            if number >= end {
                return Ok(found);
            }
            if !is_listed {
                found.batches.push(batch.clone());
                is_listed = true;
            }
            found.rows.push((usize_of(number - begin), (found.batches.len() - 1, self.next)));
            (self.last, self.next) = (Some(number), self.next + 1);
        }
    }

    /// All of them were rows.
    async fn end(mut self) -> Result<(), Error> {
        match self.until(0, u64::MAX).await?.rows.is_empty() {
            true => Ok(()),
            false => Err(Error::internal("values of rows that are not there")),
        }
    }
}

impl Found {
    fn applied(
        &self,
        rows: &RecordBatch,
        places: &[usize],
        new_values: &NewValues,
        rows_before: u64,
    ) -> Result<RecordBatch, Error> {
        let mut changed = vec![false; rows.num_rows()];
        self.rows.iter().for_each(|(row, _)| changed[*row] = true);
        let mut columns = Vec::with_capacity(places.len());
        for (nth, at) in places.iter().enumerate() {
            let mut sources = vec![Arc::clone(rows.column(*at))];
            for batch in &self.batches {
                // Behind the numbers.
                let schema = batch.schema();
                sources.push(new_values.value(*at, batch.column(nth + 1), schema.field(nth + 1))?);
            }
            let mut from: Vec<(usize, usize)> = (0..rows.num_rows()).map(|row| (0, row)).collect();
            self.rows.iter().for_each(|(row, (batch, at))| from[*row] = (batch + 1, *at));
            let arrays: Vec<&dyn Array> = sources.iter().map(AsRef::as_ref).collect();
            columns.push((*at, interleave(&arrays, &from).map_err(broken)?));
        }
        new_values.changed(rows, columns, &BooleanArray::from(changed), rows_before)
    }
}
