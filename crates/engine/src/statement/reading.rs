//! A share of another server's query, read here.
//!
//! The plan is made from the statement's text, on the newest state; what it is to be is told by a digest. Invariant: rows are given only if the piece of the plan is
//! the one that was meant. Must not know: what the rows are for.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::stack_room::Roomy;
use cluster::{Coordinator, PieceOfPart, Read, ReadOrder, RowSender, RowWriter};
use datafusion::physical_plan::execute_stream;
use futures::{FutureExt, StreamExt};
use model::{ErrorCode, PartId};
use parts::compact::compacted;
use physical::nodes::running::metered::metered;
use physical::spread::digest::digest;
use physical::spread::fragment::Fragment;
use physical::spread::leaf::PartPiece;
use physical::spread::share::{Share, as_one, over};
use sources::{NextSourceUnit, SourceUnit, UnitFeed};
use sql::Statement;
use stores::error::{SourceError, SourceErrorKind};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::query::elsewhere::unit_of_wire;
use crate::query::select;

/// Reads the share, and gives its rows.
pub(super) async fn read(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    (text, order): (&str, &ReadOrder),
    coordinator: &Arc<Coordinator>,
    rows: &RowSender,
) -> Result<(), Error> {
    let parsed = sql::parse_one(text)?;
    let execution = execution.with_settings(&parsed.output.settings)?;
    let run = read_parsed(services, &execution, (&parsed.statement, order), coordinator, rows);
    Roomy::new(parsed.measure, run.boxed()).await
}

async fn read_parsed(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    (statement, order): (&Statement, &ReadOrder),
    coordinator: &Arc<Coordinator>,
    rows: &RowSender,
) -> Result<(), Error> {
    let defined = match execution.has_functions() {
        true => planner::user_functions::defined_with_functions(statement, &|name| execution.lambda(name))?,
        false => None,
    };
    let query = match defined.as_ref().unwrap_or(statement) {
        Statement::Query(query) => query,
        Statement::Explain(explain) => match explain.statement.as_ref() {
            Statement::Query(query) => query,
            _ => return Err(Error::internal("the statement is no query")),
        },
        _ => return Err(Error::internal("the statement is no query")),
    };
    let (planned, physical, _) = select::plan_to_run(services, execution, query).await?;
    let fragment = Fragment::of(&physical).map_err(|why| other(&why))?;
    if digest(&fragment.plan)? != order.digest {
        return Err(other("it reads another state of the tables or files"));
    }
    let share = Share {
        pieces: order.pieces.iter().map(piece_of).collect::<Result<_, Error>>()?,
        has_inline: false,
        feed: fragment.reads_files.then(|| {
            let units = order.units.iter().map(unit_of_wire).collect();
            Arc::new(Leased { coordinator: Arc::clone(coordinator), units }) as _
        }),
    };
    let plan = metered(over(&fragment.plan, &share)?)?;
    execution.progress.watch(&plan);
    let progress = Arc::clone(&execution.progress);
    coordinator.watch(move || Read {
        rows: progress.read_rows(),
        bytes: progress.read_bytes(),
        ..Read::default()
    });
    let plan = as_one(plan, None);
    let mut writer = RowWriter::new(&plan.schema()).map_err(unsent)?;
    let mut batches = execute_stream(plan, planned.state.task_ctx())?;
    while let Some(batch) = batches.next().await {
        let batch = compacted(&batch?).map_err(|error| Error::internal(error.to_string()))?;
        let bytes = writer.rows(&batch).map_err(unsent)?;
        if !rows.send(bytes).await {
            return Err(Error::cancelled());
        }
    }
    match rows.send(writer.end().map_err(unsent)?).await {
        true => Ok(()),
        false => Err(Error::cancelled()),
    }
}

fn other(why: &str) -> Error {
    let message = format!("the plan of the query is another one here: {why}");
    Error::new(ErrorKind::Conflict, ErrorCode::UNKNOWN_EXCEPTION, message)
}

fn unsent(error: arrow::error::ArrowError) -> Error {
    Error::internal(format!("rows cannot be sent: {error}"))
}

fn piece_of(piece: &PieceOfPart) -> Result<PartPiece, Error> {
    let part = <[u8; 16]>::try_from(piece.part.as_slice());
    let part = part.map_err(|_| Error::internal("a part is named by 16 bytes"))?;
    Ok(PartPiece { leaf: piece.leaf, part: PartId::from_bytes(part), begin: piece.begin, end: piece.end })
}

/// Units that the coordinator hands out.
#[derive(Debug)]
struct Leased {
    coordinator: Arc<Coordinator>,
    units: Vec<SourceUnit>,
}

impl UnitFeed for Leased {
    fn next(&self) -> NextSourceUnit<'_> {
        Box::pin(async move {
            let lost = || SourceError::new(SourceErrorKind::Unavailable, "nobody waits for the rows");
            let unit = self.coordinator.next_unit().await.map_err(|_| lost())?;
            let Some(unit) = unit else { return Ok(None) };
            let unit = self.units.get(unit as usize).cloned();
            unit.map(Some)
                .ok_or_else(|| SourceError::new(SourceErrorKind::Changed, "a unit that is not listed"))
        })
    }
}
