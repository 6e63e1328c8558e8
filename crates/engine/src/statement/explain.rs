//! EXPLAIN: what a statement would do, without doing it; with ANALYZE what it did, and an INSERT is undone.
//!
//! Invariant: no row of an explained INSERT is ever visible, and no file of it stays.

use std::sync::Arc;

use boundary::error::Error;
use boundary::ledgers::processes::Processes;
use boundary::request::Rows;
use boundary::secrets::text::masked;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use model::{ByteSize, TableDef};
use physical::nodes::running::metered::metered;
use physical::profile::State;
use planner::lines_of_plan;
use sources::ObjectTable;
use sql::{Explain, ExplainKind, Insert, InsertSource, InsertTarget, Query, Statement};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::insert::into_table::adoption_lines;
use crate::load::workers::{cut_for, enough_for, helpers_of};
use crate::query::explain_sources::source_lines;
use crate::query::load_source::{UNIT_BYTES, plain_source, unit_of};
use crate::query::select::plan;
use crate::query::show::lines;
use crate::query::spreading::{self, spread};
use crate::resolve::materialized::views_of;
use crate::statement::insert;
use tables::calls::explained;

/// StarRocks' words.
const ROLLS_BACK: &str =
    "Attention: The transaction of the statement will be aborted, and no data will be actually inserted!!!";

/// The statement with what EXPLAIN says where its query reads from EXPLAIN; `None` where it does not.
pub(crate) async fn in_queries(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    statement: &Statement,
) -> Result<Option<Statement>, Error> {
    let mut said: Option<Statement> = None;
    while let Some(query) = said.as_ref().unwrap_or(statement).query()
        && let Some(explain) = explained::first(&query.ast)?
    {
        let lines = explanation(services, execution, &explain, "").await?;
        let query = said.get_or_insert_with(|| statement.clone()).query_mut();
        query.into_iter().for_each(|query| explained::put(&mut query.ast, &lines));
    }
    Ok(said)
}

/// `text` is the statement's text, which an INSERT's ranges point into.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    explain: &Explain,
    text: &str,
) -> Result<Rows, Error> {
    lines("explain", explanation(services, execution, explain, text).await?)
}

/// Boxed, because what is explained may read from EXPLAIN.
fn explanation<'a>(
    services: &'a Arc<Services>,
    execution: &'a Arc<Execution>,
    explain: &'a Explain,
    text: &'a str,
) -> BoxFuture<'a, Result<Vec<String>, Error>> {
    explained_lines(services, execution, explain, text).boxed()
}

async fn explained_lines(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    explain: &Explain,
    text: &str,
) -> Result<Vec<String>, Error> {
    if !matches!(explain.kind, ExplainKind::Ast | ExplainKind::Syntax)
        && let Some(statement) = in_queries(services, execution, &explain.statement).await?
    {
        let explain = Explain { statement: Box::new(statement), ..explain.clone() };
        return explanation(services, execution, &explain, text).await;
    }
    if let (ExplainKind::Analyze, Statement::Insert(insert)) = (explain.kind, explain.statement.as_ref()) {
        return analyze_insert(services, execution, insert, text).await;
    }
    let (query, target) = match explain.statement.as_ref() {
        Statement::Query(query) => (query, None),
        Statement::Insert(insert) => match &insert.source {
            InsertSource::Select(query) => (query, Some(insert.as_ref())),
            _ => return Err(Error::unsupported("EXPLAIN of INSERT without SELECT")),
        },
        _ => return Err(Error::unsupported("EXPLAIN of this statement")),
    };
    let text: Vec<String> = match explain.kind {
        // Scrubbed as a whole: a secret may have several lines.
        ExplainKind::Ast => {
            lines_of(&execution.secrets(&services.config).scrub(&format!("{:#?}", query.ast)))
        }
        ExplainKind::Syntax => {
            let is_distinct = |name: &str| execution.settings.get_text(name) == "DISTINCT";
            vec![masked(&sql::explained_syntax(explain, query, target, is_distinct))]
        }
        ExplainKind::Plan => plan_lines(services, execution, query, target).await?,
        ExplainKind::Pipeline => physical_lines(services, execution, query).await?,
        ExplainKind::Estimate => estimate(services, execution, query).await?,
        ExplainKind::Analyze => analyze(services, execution, query).await?,
        ExplainKind::Load => load_lines(services, execution, query, target).await?,
    };
    let secrets = execution.secrets(&services.config);
    Ok(text.iter().map(|line| secrets.scrub(line)).collect())
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

async fn plan_lines(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &Query,
    target: Option<&Insert>,
) -> Result<Vec<String>, Error> {
    let planned = plan(services, execution, query, None).await?;
    let (optimized, _) = planned.optimized(&planned.logical)?;
    let mut out = Vec::new();
    if let Some(insert) = target {
        out.push(format!("Insert: {}", shown_target(&insert.target)));
    }
    out.extend(lines_of_plan(&optimized));
    out.push(String::new());
    let physical = planned.physical_from(&optimized).await?;
    let servers = spreading::explained(services, execution, &planned.titles, &physical);
    let physical = spread(services, execution, &planned.titles, physical)?;
    out.extend(rendered(physical.as_ref()));
    out.extend(servers);
    out.extend(source_lines(&planned, &optimized).await?);
    Ok(out)
}

fn rendered(plan: &dyn ExecutionPlan) -> Vec<String> {
    DisplayableExecutionPlan::new(plan).indent(false).to_string().lines().map(str::to_owned).collect()
}

/// The table, or the function without its credentials.
fn shown_target(target: &InsertTarget) -> String {
    match target {
        InsertTarget::Table(name) => name.to_string(),
        InsertTarget::Function(call) => masked(&sql::printed(&sql::Expr::Function(call.as_ref().clone()))),
    }
}

async fn physical_lines(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &Query,
) -> Result<Vec<String>, Error> {
    let planned = plan(services, execution, query, None).await?;
    let physical = spread(services, execution, &planned.titles, planned.physical().await?)?;
    Ok(rendered(physical.as_ref()))
}

async fn estimate(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &Query,
) -> Result<Vec<String>, Error> {
    let planned = plan(services, execution, query, None).await?;
    execution.progress.watch(&planned.physical().await?);
    let progress = &execution.progress;
    Ok(vec![format!("rows: {}, bytes: {}", progress.total_rows_approx(), ByteSize(progress.total_bytes()))])
}

async fn analyze(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &Query,
) -> Result<Vec<String>, Error> {
    let planned = plan(services, execution, query, None).await?;
    let physical = spread(services, execution, &planned.titles, planned.physical().await?)?;
    let physical = metered(physical)?;
    execution.progress.watch(&physical);
    let mut stream = execute_stream(Arc::clone(&physical), planned.state.task_ctx())?;
    while let Some(batch) = stream.next().await {
        batch.map_err(Error::from)?;
    }
    Ok(profile_lines(&services.processes, execution, State::Finished))
}

/// Does all of an INSERT but the commit.
async fn analyze_insert(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    text: &str,
) -> Result<Vec<String>, Error> {
    let done = Box::pin(insert::run(services, &execution.rolling_back(), insert, text, None)).await;
    let mut out = vec![ROLLS_BACK.to_owned()];
    out.extend(profile_lines(&services.processes, execution, State::RolledBack));
    execution.progress.undo_written();
    done.map(|_| out)
}

/// The profile of the statement itself, up to now.
fn profile_lines(processes: &Processes, execution: &Execution, state: State) -> Vec<String> {
    let running = processes.running();
    let own = running.iter().find(|process| Arc::ptr_eq(&process.profile, &execution.profile));
    own.map(|process| process.report(execution.profile.elapsed(), state).lines()).unwrap_or_default()
}

/// Which servers would work on a load, and if it is one, why; and what is cut for them.
async fn server_lines(
    services: &Services,
    execution: &Execution,
    def: &TableDef,
    source: &ObjectTable,
) -> Result<Vec<String>, Error> {
    let helpers = match views_of(execution, def).is_empty() {
        true => helpers_of(services, execution, def, source, &execution.logged),
        false => Err("materialized views see the rows".to_owned()),
    };
    let helpers = match helpers {
        Err(why) => return Ok(vec![format!("Servers: this one; {why}")]),
        Ok(helpers) => helpers,
    };
    let cut = cut_for(source, helpers.len()).await?;
    let helpers = enough_for(cut.count, helpers);
    if helpers.is_empty() {
        return Ok(vec![format!("Servers: this one; {} unit(s) are too few for more", cut.count)]);
    }
    let others: Vec<String> = helpers.into_iter().map(|peer| peer.address).collect();
    let mut lines = vec![format!("Servers: {}, this one and {}", others.len() + 1, others.join(", "))];
    if !cut.to_cut.is_empty() {
        let (files, each) = (cut.to_cut.len(), ByteSize(source.range_bytes()));
        lines.push(format!(
            "Ranges: {files} file(s) are cut as they are read, {each} each, {} unit(s)",
            cut.count
        ));
    }
    Ok(lines)
}

/// How a load would cut its input.
async fn load_lines(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &Query,
    target: Option<&Insert>,
) -> Result<Vec<String>, Error> {
    let planned = plan(services, execution, query, None).await?;
    let mut out = source_lines(&planned, &planned.optimized(&planned.logical)?.0).await?;
    let table = match target.map(|insert| &insert.target) {
        Some(InsertTarget::Table(name)) => Some(execution.table(name)?),
        _ => None,
    };
    if let Some(source) = plain_source(&planned) {
        let units = source.units(UNIT_BYTES).await?;
        let load = load::LoadPlan::new(units.iter().enumerate().map(unit_of).collect());
        out.push(format!(
            "Load: {} unit(s), {}, rows: {}",
            load.units().len(),
            ByteSize(load.bytes_total),
            load.rows_total.map_or_else(|| "unknown".to_owned(), |rows| rows.to_string())
        ));
        if let (Some(insert), Some(table)) = (target, table)
            && table.def.engine.keeps_parts()
        {
            if services.peers.get().is_some() {
                out.extend(server_lines(services, execution, &table.def, &source).await?);
            }
            let columns = insert.columns.as_deref();
            out.extend(adoption_lines(services, execution, &table, columns, query).await?);
        }
    } else {
        out.push("Load: the query is run as a whole; it is not a plain scan of one source".to_owned());
    }
    Ok(out)
}
