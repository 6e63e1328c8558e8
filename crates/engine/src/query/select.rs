//! SELECT: text to plan to batches.
//!
//! Invariant: resolving (which may do I/O), planning (which does none) and running are three steps. The snapshot is
//! held until the last batch.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use boundary::error::Error;
use boundary::extremes::with_extremes;
use boundary::limits::{limit_result, row_limits};
use boundary::request::Rows;
use catalog::TableState;
use datafusion::catalog::CatalogProviderList;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Statement as SqlStatement};
use functions::folding;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use model::saturating::usize_of;
use model::{ColumnDef, ErrorCode};
use physical::budget::sparing::Sparing;
use physical::nodes::cross_of_lists::with_nested_columns;
use physical::nodes::gather::gathered;
use physical::nodes::rounds::limited;
use physical::nodes::row_limits::{RowLimits, with_row_limits};
use physical::nodes::running::early_rows::with_early_rows;
use physical::nodes::running::interruptible::interruptible;
use physical::nodes::running::metered::metered;
use physical::nodes::source_order::in_source_order;
use physical::profile::{Span, StatementProfile};
use physical::provider::part_columns::PartColumn;
use planner::filters::filtered;
use sql::{Settings, TableName};

use crate::context::execution::Execution;
use crate::context::limits::{reads_of, stopped_of};
use crate::context::services::Services;
use crate::context::session_state::{query_state, session_state};
use crate::query::named::{joins_of, name_finals};
use crate::query::spreading::spread;
use crate::resolve::calls::{Resolved, Wanted, resolve_calls};
use crate::resolve::outside::{resolve_tables, tables_in};
use crate::resolve::schemas::{CALLS, Named, StatementCatalog, column_names, external_name, hidden_columns};
use crate::resolve::views::expanded;
use boundary::stack_room::Roomy;
use sinks::frozen::KnownSource;
use tables::calls::columns_asked::with_answers;
use tables::calls::computed;
use tables::calls::file_filters::of_calls;
use tables::calls::setting_calls::with_values;
use tables::calls::target_types::{ask, of_insert};
use tables::dictionaries;
use tables::joined::check_joins;
use tables::labels;
use tables::reserved::{HERE, is_derived};
use tables::virtual_columns::{hide_from_wildcards, names_in, parts_of};

type BatchStream = futures::stream::BoxStream<'static, Result<RecordBatch, Error>>;

/// A SELECT ready to run.
pub(crate) struct PlannedQuery {
    pub state: SessionState,
    pub logical: LogicalPlan,
    /// The one row of WITH TOTALS.
    totals: Option<LogicalPlan>,
    /// Names of the result's columns as the dialect prints them.
    pub labels: Vec<String>,
    /// Files named by table functions, for loads and EXPLAIN.
    pub sources: Vec<Arc<sources::ObjectTable>>,
    /// Of each source how the statement names it, without secrets.
    pub titles: Vec<String>,
    profile: Arc<StatementProfile>,
    /// Rounds of WITH RECURSIVE.
    rounds_max: u64,
}

/// Resolves and plans. `known` is what the sources of a load that goes on were found to be.
pub(crate) async fn plan(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
    known: Option<&KnownSource>,
) -> Result<PlannedQuery, Error> {
    plan_into(services, execution, query, known, &[]).await
}

/// [`plan`] for a SELECT whose rows go to these columns, which may say what types its sources are read in.
pub(crate) async fn plan_into(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
    known: Option<&KnownSource>,
    target: &[ColumnDef],
) -> Result<PlannedQuery, Error> {
    // What stands where views are named may choose its columns, too.
    let planning = execution.profile.timed(Span::Plan);
    let query = filtered(query, &execution.settings, &execution.current_database)?;
    let (query, made) = &expanded(execution, &query)?;
    let query = &filtered(query, &execution.settings, &execution.current_database)?;
    drop(planning);
    Roomy::new(*made, plan_expanded(services, execution, query, known, target)).await
}

/// Boxed, because it plans again what COLUMNS stand for.
fn plan_expanded<'a>(
    services: &'a Arc<Services>,
    execution: &'a Arc<Execution>,
    query: &'a sql::Query,
    known: Option<&'a KnownSource>,
    target: &'a [ColumnDef],
) -> BoxFuture<'a, Result<PlannedQuery, Error>> {
    plan_chosen(services, execution, query, known, target).boxed()
}

async fn plan_chosen(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
    known: Option<&KnownSource>,
    target: &[ColumnDef],
) -> Result<PlannedQuery, Error> {
    if let Some(query) = with_columns(services, execution, query).await? {
        return Box::pin(plan_into(services, execution, &query, known, target)).await;
    }
    if let Some(query) = with_computed(services, execution, query).await? {
        return Box::pin(plan_into(services, execution, &query, known, target)).await;
    }
    match plan_written(services, execution, query, known, target).await {
        Err(error) if error.code == ErrorCode::AMBIGUOUS_IDENTIFIER => {
            match with_left_names(services, execution, query).await? {
                Some(query) => plan_written(services, execution, &query, known, target).await,
                None => Err(error),
            }
        }
        planned => planned,
    }
}

/// The query with values in the place of all arguments of table functions that have to be computed, if there are any.
pub(crate) async fn with_computed(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
) -> Result<Option<sql::Query>, Error> {
    let mut written: Option<Query> = None;
    while let Some(argument) = computed::first(written.as_ref().unwrap_or(&query.ast)) {
        let planned = Box::pin(plan(services, execution, &computed::query_of(argument)?, None)).await?;
        let value = computed::literal_of(&planned.optimized(&planned.logical)?.0)?;
        written = Some(computed::with_value(written.unwrap_or_else(|| query.ast.as_ref().clone()), value));
    }
    Ok(written.map(|ast| sql::Query { ast: Box::new(ast), ..query.clone() }))
}

/// The query with the left table before names that both tables of a join have; `None` where there are none.
async fn with_left_names(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
) -> Result<Option<sql::Query>, Error> {
    let mut written = query.ast.as_ref().clone();
    let mut at = 0;
    while let Some(probe) = tables::leftmost::probe(&written, at) {
        // Tables that cannot be read by themselves, inside of a correlated query, keep their names.
        if let Ok(planned) = plan(services, execution, &sql::Query::from(Box::new(probe)), None).await {
            let columns = planned.logical.schema().fields().iter().map(|field| field.name().clone());
            let columns: Vec<String> =
                columns.chain(PartColumn::names()).chain(PartColumn::names()).collect();
            written = tables::leftmost::qualified(written, at, &columns);
        }
        at += 1;
    }
    Ok((written != *query.ast).then(|| sql::Query { ast: Box::new(written), ..query.clone() }))
}

async fn plan_written(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
    known: Option<&KnownSource>,
    target: &[ColumnDef],
) -> Result<PlannedQuery, Error> {
    let planning = execution.profile.timed(Span::Plan);
    let union_default_mode = execution.settings.get_text("union_default_mode");
    let rules = rewrite::RewriteContext {
        union_default_mode: &union_default_mode,
        current_database: &execution.current_database,
        manner: rewrite::Manner::of(&execution.settings),
        expanded_elements_max: execution.settings.get_u64("max_expanded_ast_elements"),
    };
    let find = |name: &TableName| execution.table(name).ok().map(|state| Arc::clone(&state.def));
    check_joins(&query.ast, (&rules.manner, execution.settings.get_bool("join_use_nulls")), &find)?;
    let mut prepared = rewrite::prepare(query, &rules)?;
    with_values(&mut prepared.ast, &execution.settings)?;
    let columns = |database: &str, table: &str| column_names(execution, database, table);
    with_answers(&mut prepared.ast, &execution.current_database, &columns)?;
    let asts = [Some(&mut prepared.ast), prepared.totals.as_mut()];
    let stored = |name: &TableName| execution.stored_table(name);
    let named = |name: &str| dictionaries::named(name, &execution.current_database, &stored);
    let rows = |name: String, rows: sql::Query| {
        let (services, execution) = (Arc::clone(services), Arc::clone(execution));
        async move { Ok(plan(&services, &execution.inside_dictionary(&name)?, &rows, None).await?.logical) }
            .boxed()
    };
    let seen: (&dictionaries::Columns<'_>, &str) = (&columns, &execution.current_database);
    let dictionaries = Box::pin(dictionaries::read_for(asts, &named, seen, rows)).await?;
    let prepared = (&prepared, dictionaries.as_ref());
    let uses_target = execution.settings.get_u64("use_structure_from_insertion_table_in_table_functions") > 0;
    let columns: Vec<_> = target.iter().map(|c| (c.name.to_string(), c.column_type.clone())).collect();
    let with_default = target.iter().filter(|column| column.default.is_some());
    let defaults = with_default.map(|column| column.name.to_string()).collect();
    let types = match uses_target && !target.is_empty() {
        true => of_insert(&prepared.0.ast, &columns, &defaults),
        false => HashMap::new(),
    };
    let (names, files) = (names_in(&prepared.0.ast), of_calls(&prepared.0.ast));
    let mut wanted = Wanted { names, files, types, defaults };
    let outside = tables_in(execution, &prepared.0.ast);
    drop(planning);
    let mut planned = Box::pin(plan_once(services, execution, prepared, &outside, known, &wanted)).await?;
    let is_unknown = matches!(&planned.logical, Err(error) if error.code == ErrorCode::UNKNOWN_IDENTIFIER);
    if is_unknown && planned.resolved.sources.iter().any(|source| source.is_narrowed()) {
        // Files that the conditions keep from being listed may have the column.
        wanted.files.clear();
        planned = Box::pin(plan_once(services, execution, prepared, &outside, known, &wanted)).await?;
    }
    let Planned { state, logical, totals, resolved } = planned;
    let (logical, totals) = (logical?, totals.transpose()?);
    if !planner::is_query(&logical)? {
        return Err(Error::unsupported("a statement inside a query"));
    }
    let profile = Arc::clone(&execution.profile);
    let Resolved { sources, titles, .. } = resolved;
    let rounds_max = execution.settings.get_u64("max_recursive_cte_evaluation_depth");
    let labels = prepared.0.labels.clone();
    Ok(PlannedQuery { state, logical, totals, labels, sources, titles, profile, rounds_max })
}

/// The query with the columns of its first COLUMNS, if it has any.
pub(crate) async fn with_columns(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
) -> Result<Option<sql::Query>, Error> {
    let Some(probe) = planner::columns::probe(&query.ast) else { return Ok(None) };
    let planned = Box::pin(plan(services, execution, &sql::Query::from(Box::new(probe)), None)).await?;
    let (columns, result) = (planned.logical.schema(), planned.result_schema()?);
    let ast = planner::columns::expanded(query.ast.as_ref().clone(), columns, &result)?;
    Ok(Some(sql::Query { ast: Box::new(ast), ..query.clone() }))
}

/// What one try to plan came to.
struct Planned {
    state: SessionState,
    logical: Result<LogicalPlan, Error>,
    totals: Option<Result<LogicalPlan, Error>>,
    resolved: Resolved,
}

async fn plan_once(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    (prepared, dictionaries): (&rewrite::Prepared, Option<&Arc<dyn planner::AskedDictionaries>>),
    outside: &[Arc<TableState>],
    known: Option<&KnownSource>,
    wanted: &Wanted,
) -> Result<Planned, Error> {
    let mut resolved = resolve(services, execution, (&prepared.calls, outside), known, wanted).await?;
    let _planning = execution.profile.timed(Span::Plan);
    let hidden = |name: &ObjectName| match parts_of(name) {
        (Some(CALLS), call) => resolved.hidden.get(call).cloned().unwrap_or_default(),
        (database, table) => match execution.table(&TableName::new(database, table)) {
            Ok(state) if state.def.engine.is_external() => {
                resolved.hidden.get(&external_name(&state.def)).cloned().unwrap_or_default()
            }
            _ => hidden_columns(execution, (database, table), &wanted.names),
        },
    };
    let mut asts: Vec<Query> =
        [Some(&prepared.ast), prepared.totals.as_ref()].into_iter().flatten().cloned().collect();
    asts.iter_mut().for_each(|ast| hide_from_wildcards(ast, hidden));
    name_finals(execution, &mut asts)?;
    asts.iter_mut().for_each(|ast| ask(ast, &resolved.asked));
    let named = Named { calls: std::mem::take(&mut resolved.tables), columns: wanted.names.clone() };
    let catalog: Arc<dyn CatalogProviderList> =
        Arc::new(StatementCatalog::new(Arc::clone(services), Arc::clone(execution), named));
    let functions = asts.iter().flat_map(planner::named_functions).collect();
    let joins = joins_of(services, execution);
    let mut state = query_state(services, execution, &functions)?;
    let of_dictionaries = dictionaries.map(planner::functions_of_dictionaries).into_iter().flatten();
    let of_tables: Vec<_> = planner::functions_over(&joins).into_iter().chain(of_dictionaries).collect();
    state.scalar_functions().get_or_insert_default().extend(of_tables.clone());
    let mut state = state.with_catalog_list(Arc::clone(&catalog)).build();
    let mut plans = plans_of(execution, &mut state, &asts).await;
    if plans.iter().any(Result::is_err) {
        // A function may be asked for that is written in another way than as a call; and the message names the nearest of all.
        let mut all = session_state(services, execution)?;
        all.scalar_functions().get_or_insert_default().extend(of_tables);
        state = all.with_catalog_list(catalog).build();
        plans = plans_of(execution, &mut state, &asts).await;
    }
    let mut plans = plans.into_iter();
    let logical = plans.next().unwrap_or_else(|| Err(Error::internal("a query without a plan")));
    Ok(Planned { state, logical, totals: plans.next(), resolved })
}

async fn plans_of(
    execution: &Execution,
    state: &mut SessionState,
    asts: &[Query],
) -> Vec<Result<LogicalPlan, Error>> {
    // Without it functions that run would see neither the session's zone nor its source of random numbers.
    state.mark_start_execution();
    let mut plans = Vec::with_capacity(asts.len());
    for ast in asts {
        let statement = SqlStatement::Query(Box::new(ast.clone()));
        let plan = state.statement_to_plan(DataFusionStatement::Statement(Box::new(statement))).await;
        plans.push(plan.map_err(|error| naming_the_database(execution, error.into())));
    }
    plans
}

/// Listing and inference, with their time and what they found noted.
async fn resolve(
    services: &Services,
    execution: &Arc<Execution>,
    (calls, outside): (&[sql::TableFunctionCall], &[Arc<TableState>]),
    known: Option<&KnownSource>,
    wanted: &Wanted,
) -> Result<Resolved, Error> {
    if calls.is_empty() && outside.is_empty() {
        return Ok(Resolved::default());
    }
    let _listing = execution.profile.timed(Span::List);
    let mut resolved = resolve_calls(services, execution, calls, known, wanted).await?;
    resolve_tables(services, execution, outside, known, wanted, &mut resolved).await?;
    resolved.sources.iter().for_each(|source| execution.profile.listed(source.files().len(), source.bytes()));
    Ok(resolved)
}

/// A table may be missing because its database is.
fn naming_the_database(execution: &Execution, mut error: Error) -> Error {
    let here = format!("\"{HERE}.");
    if error.message.contains(&here) {
        error.message = error.message.replace(&here, &format!("\"{}.", execution.current_database));
    }
    let quoted = error.message.split('"').nth(1).and_then(|name| name.split_once('.'));
    match quoted {
        Some((database, _))
            if error.code == ErrorCode::UNKNOWN_TABLE
                && !is_derived(database)
                && execution.snapshot.database(database).is_none() =>
        {
            Error::unknown_database(database)
        }
        _ => error,
    }
}

impl PlannedQuery {
    /// The columns of the result, with the types they have once the plan is analyzed.
    pub(crate) fn result_schema(&self) -> Result<SchemaRef, Error> {
        let (optimized, nullable) = self.optimized(&self.logical)?;
        Ok(self.labelled(optimized.schema().as_arrow(), &nullable))
    }

    /// The plan after DataFusion's rules, and which columns of the result may be NULL by their types: folded constants no
    /// longer say so.
    pub(crate) fn optimized(&self, logical: &LogicalPlan) -> Result<(LogicalPlan, Vec<bool>), Error> {
        let mut room = folding::ROOM_BYTES;
        folding::within(&mut room, || {
            if matches!(logical, LogicalPlan::Explain(_)) {
                return Ok((self.state.optimize(logical)?, vec![]));
            }
            let options = self.state.config_options();
            let analyzed = self.state.analyzer().execute_and_check(logical.clone(), options, |_, _| {})?;
            let nullable = analyzed.schema().fields().iter().map(|field| field.is_nullable()).collect();
            Ok((self.state.optimizer().optimize(analyzed, &self.state, |_, _| {})?, nullable))
        })
    }

    /// Cuts the result as the settings `limit` and `offset` say, after what the statement's own LIMIT leaves.
    fn cut(&mut self, settings: &Settings) -> Result<(), Error> {
        // Plans count rows in signed numbers.
        let rows = |name: &str| usize_of(settings.get_u64(name)).min(usize::MAX >> 1);
        let (limit, offset) = (rows("limit"), rows("offset"));
        if limit > 0 || offset > 0 {
            let whole = LogicalPlanBuilder::from(self.logical.clone());
            self.logical = whole.limit(offset, (limit > 0).then_some(limit))?.build()?;
        }
        Ok(())
    }

    pub(crate) async fn physical(&self) -> Result<Arc<dyn ExecutionPlan>, Error> {
        Ok(self.physical_of(&self.logical).await?.0)
    }

    /// The plan that runs, and which columns of its result may be NULL.
    pub(crate) async fn physical_of(
        &self,
        logical: &LogicalPlan,
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<bool>), Error> {
        let _planning = self.profile.timed(Span::Plan);
        let (optimized, nullable) = self.optimized(logical)?;
        Ok((self.physical_from(&optimized).await?, nullable))
    }

    /// The plan that runs, of one that DataFusion's rules have been over.
    pub(crate) async fn physical_from(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>, Error> {
        let planned = self.state.query_planner().create_physical_plan(plan, &self.state);
        Ok(limited(with_nested_columns(Sparing::new(planned).await?)?, self.rounds_max)?)
    }

    /// The result's schema under the dialect's labels, in the layouts of our types.
    pub(crate) fn labelled(&self, schema: &Schema, nullable: &[bool]) -> SchemaRef {
        labels::labelled(&self.logical, &self.labels, schema, nullable)
    }
}

/// The plan of a SELECT as one server runs it, and which columns of its result may be NULL.
pub(crate) async fn plan_to_run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
) -> Result<(PlannedQuery, Arc<dyn ExecutionPlan>, Vec<bool>), Error> {
    let mut planned = plan(services, execution, query, None).await?;
    planned.cut(&execution.settings)?;
    let (physical, nullable) = planned.physical_of(&planned.logical).await?;
    Ok((planned, in_source_order(physical)?, nullable))
}

/// Runs a SELECT.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    query: &sql::Query,
) -> Result<Rows, Error> {
    let (planned, physical, nullable) = plan_to_run(services, execution, query).await?;
    let physical = spread(services, execution, &planned.titles, physical)?;
    let schema = planned.labelled(&physical.schema(), &nullable);
    let counts_groups =
        planned.totals.is_some() && execution.settings.get_text("totals_mode") != "before_having";
    let limits = RowLimits { has_totals: counts_groups, ..row_limits(&execution.settings) };
    let stream = stream_within(services, execution, &planned.state, physical, Arc::clone(&schema), limits)?;
    let mut rows = limit_result(&execution.settings, Rows { schema, stream });
    if let Some(totals) = &planned.totals {
        let (physical, _) = planned.physical_of(totals).await?;
        let marked = [(formats::TOTALS_KEY.to_owned(), String::new())];
        let schema = Arc::new(rows.schema.as_ref().clone().with_metadata(HashMap::from(marked)));
        rows.stream =
            rows.stream.chain(stream_of(services, execution, &planned.state, physical, schema)?).boxed();
    }
    Ok(with_extremes(&execution.settings, rows))
}

/// Executes a plan; the stream stops when the statement is cancelled.
pub(crate) fn stream_of(
    services: &Services,
    execution: &Arc<Execution>,
    state: &SessionState,
    physical: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
) -> Result<BatchStream, Error> {
    stream_within(services, execution, state, physical, schema, row_limits(&execution.settings))
}

fn stream_within(
    services: &Services,
    execution: &Arc<Execution>,
    state: &SessionState,
    physical: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    limits: RowLimits,
) -> Result<BatchStream, Error> {
    let physical = interruptible(metered(with_early_rows(physical)?)?, &stopped_of(execution))?;
    let physical = with_row_limits(physical, limits, &reads_of(execution))?;
    execution.progress.watch(&physical);
    let batches = match services.processes.running_count() > services.threads {
        true => gathered(physical, state.task_ctx(), Arc::clone(&services.host.clock))?,
        false => execute_stream(physical, state.task_ctx())?,
    };
    let (held, progress) = (Arc::clone(execution), Arc::clone(&execution.progress));
    let relabelled = batches.map(move |batch| {
        let batch = batch.map_err(Error::from)?;
        let _snapshot = &held.snapshot;
        labels::presented(&batch, &schema)
    });
    let cancelled = async move {
        progress.cancellation().cancelled().await;
    };
    let stream = relabelled.take_until(cancelled);
    let progress = Arc::clone(&execution.progress);
    let end = futures::stream::once(async move { progress.is_cancelled().then(|| Err(Error::cancelled())) });
    Ok(stream.chain(end.filter_map(std::future::ready)).boxed())
}
