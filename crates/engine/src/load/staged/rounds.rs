//! One round of a load: a plan that reads whatever units it is given, and sinks that stage them.
//!
//! A round ends when no unit is free; units that others held may become free later, and then there is another. Invariant: what a
//! round has read is staged when it ends, or it fails. Must not know: who else works on the load.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::ledgers::loads::LoadAttempt;
use catalog::StagedLoad;
use datafusion::common::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use load::{Unit, UnitSource};
use mergetree::write::SinkSettings;
use model::LoadId;
use physical::adopt::AdoptExec;
use physical::nodes::unit_ends::UnitEnds;
use physical::nodes::unit_list::UnitList;
use physical::nodes::unit_table::UnitTable;
use sources::SourceUnit;
use tokio_util::sync::CancellationToken;

use super::StagedInsert;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::load::adopting::adoption_of;
use crate::query::load_source::{UNIT_BYTES, read_instead, unit_of};
use crate::query::select::PlannedQuery;
use sinks::frozen::{Places, outlook, piece_of, thaw, uncut_of};
use sinks::staging::{Staging, adopt_units, write_units};
use sinks::target::SinkTarget;
use sinks::uncommitted::UncommittedParts;

/// The units of a load, as this process reads them.
pub(super) struct LoadUnits {
    /// All that are known, by number.
    pub all: Arc<UnitList>,
    /// Those that are not staged.
    pub left: Vec<Unit>,
    /// What is in no unit yet, a piece a file.
    pub uncut: Vec<SourceUnit>,
    /// The log says that there are no more; it may not say so yet of files that are cut to their ends.
    pub is_sealed: bool,
    pub places: Arc<Places>,
}

/// The units of the open load, or of one that is about to be opened.
pub(super) async fn units_of(
    insert: &StagedInsert<'_>,
    open: Option<&StagedLoad>,
) -> Result<LoadUnits, Error> {
    let files = insert.source.files();
    let (all, uncut, places) = match open {
        Some(load) => {
            let places = Places::find(load, files)?;
            (thaw(load, &places, 0)?, uncut_of(load, &places)?, places)
        }
        None => {
            let units = match insert.units.is_empty() && insert.to_cut.is_empty() {
                // Given up since this statement found it open.
                true => insert.source.units(UNIT_BYTES).await?,
                false => insert.units.clone(),
            };
            let whole = |file: &usize| Some(piece_of(*file, 0..files.get(*file)?.bytes));
            (units, insert.to_cut.iter().filter_map(whole).collect(), Places::same(files.len()))
        }
    };
    let is_sealed = open.map_or_else(|| uncut.is_empty(), |open| open.is_sealed);
    let covered = |unit: &Unit| open.is_some_and(|load| load.is_covered(unit.id.0));
    let left = all.iter().enumerate().map(unit_of).filter(|unit| !covered(unit)).collect();
    let more = outlook(&all, &uncut, insert.source.range_bytes());
    let all = Arc::new(UnitList::growing(all, more));
    Ok(LoadUnits { all, left, uncut, is_sealed, places: Arc::new(places) })
}

/// Who hands out the units of a round, to how many servers.
#[derive(Clone)]
pub(super) struct HandOut {
    pub source: Arc<dyn UnitSource>,
    pub servers: usize,
}

/// What a round is going to do.
pub(super) struct Round {
    ends: Arc<UnitEnds>,
    physical: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    source: Arc<dyn UnitSource>,
}

/// Plans a round. Nothing is written yet.
pub(super) async fn plan_round(
    insert: &StagedInsert<'_>,
    planned: &mut PlannedQuery,
    all: &Arc<UnitList>,
    hand_out: &HandOut,
    attempt: &LoadAttempt,
) -> Result<Round, Error> {
    let ends = Arc::new(UnitEnds::new(insert.sinks, Arc::clone(&attempt.read)));
    let streams = (insert.sinks, insert.sinks * hand_out.servers.max(1));
    let source = Arc::clone(&hand_out.source);
    let table = UnitTable::leased(Arc::clone(&insert.source), Arc::clone(all), Arc::clone(&source), streams);
    read_instead(planned, table.with_ends(Arc::clone(&ends)))?;
    let physical = planned.physical().await?;
    if !keeps_streams(physical.as_ref(), insert.sinks) {
        return Err(Error::internal("the plan of a load mixes the rows of its streams"));
    }
    Ok(Round { ends, physical, task: planned.state.task_ctx(), source })
}

/// Whether every stream of the scan reaches one sink.
fn keeps_streams(plan: &dyn ExecutionPlan, streams: usize) -> bool {
    let same = plan.properties().partitioning.partition_count() == streams;
    same && plan.name() != "RepartitionExec"
        && match plan.children().as_slice() {
            [] => true,
            [child] => keeps_streams(&***child, streams),
            _ => false,
        }
}

/// Reads and stages until no unit is free.
pub(super) async fn run_round(
    services: &Services,
    execution: &Execution,
    insert: &StagedInsert<'_>,
    (id, attempt): (LoadId, &Arc<LoadAttempt>),
    round: Round,
) -> Result<(), Error> {
    let Round { ends, physical, task, source } = round;
    let stop = execution.progress.cancellation().child_token();
    // Sinks stop at their next batch when this future goes away.
    let stopping = stop.clone().drop_guard();
    let staging = Arc::new(Staging {
        load: id,
        target: Arc::new(target(services, execution, insert, (id, &stop))),
        ends,
        stage_bytes_min: execution.settings.get_u64("load_stage_min_bytes"),
        stop,
        attempt: Arc::clone(attempt),
        source,
    });
    let written = write(services, execution, insert, &staging, &physical, &task).await?;
    let failed: Vec<Error> = written.into_iter().filter_map(Result::err).collect();
    let cause = failed.iter().find(|error| error.kind != ErrorKind::Cancelled).or(failed.first());
    if let Some(error) = cause {
        return Err(error.clone());
    }
    stopping.disarm();
    Ok(())
}

/// Runs all sinks, by copying what can be copied. All of them, also after an error: the answer says what is staged. A statement that is
/// given up is answered at once; a sink that is just committing then still adds its units, which a later statement waits for.
async fn write(
    services: &Services,
    execution: &Execution,
    insert: &StagedInsert<'_>,
    staging: &Arc<Staging>,
    physical: &Arc<dyn ExecutionPlan>,
    task: &Arc<TaskContext>,
) -> Result<Vec<Result<(), Error>>, Error> {
    let into = (&insert.table, insert.conform.as_ref());
    if let Ok(adoption) = adoption_of(services, execution, physical, into, None)
        && adoption.is_worth_a_try().await?
    {
        let plan = Arc::new(AdoptExec::new(Arc::clone(&staging.target) as _, Arc::new(adoption)));
        execution.progress.watch(&(Arc::clone(&plan) as _));
        let batch_rows = task.session_config().batch_size();
        let sinks = (0..insert.sinks)
            .map(|stream| adopt_units(Arc::clone(&plan), Arc::clone(staging), stream, batch_rows));
        return Ok(futures::future::join_all(sinks).await);
    }
    execution.progress.watch(physical);
    let inputs = (0..insert.sinks)
        .map(|stream| physical.execute(stream, Arc::clone(task)))
        .collect::<Result<Vec<_>, DataFusionError>>()?;
    let sinks =
        inputs.into_iter().enumerate().map(|(stream, input)| write_units(input, Arc::clone(staging), stream));
    Ok(futures::future::join_all(sinks).await)
}

fn target(
    services: &Services,
    execution: &Execution,
    insert: &StagedInsert<'_>,
    (id, stop): (LoadId, &CancellationToken),
) -> SinkTarget {
    SinkTarget {
        uncommitted: Arc::new(UncommittedParts::new(insert.table.store.clone())),
        table: insert.table.clone(),
        conform: Arc::clone(&insert.conform),
        settings: SinkSettings { load: Some(id), ..insert.settings.clone() },
        claim: None,
        progress: Arc::clone(&execution.progress),
        stop: stop.clone(),
        runtimes: services.runtimes.clone(),
        profile: Arc::clone(&execution.profile),
        part_log: Arc::clone(&services.part_log),
        started: services.host.clock.monotonic(),
        rolls_back: false,
    }
}
