//! The DataFusion session that one statement plans with.
//!
//! Invariant: it has the settings, the memory and the time zone of its statement, and no tables yet. Must not know: what
//! is planned.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use boundary::error::Error;
use boundary::limits::joined;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use functions::call::{RandomStream, SessionValues};
use physical::budget::pool::BudgetPool;
use physical::nodes::row_limits::SizeLimit;
use physical::provider::checked_file::PartChecks;
use sql::Settings;

use crate::context::execution::Execution;
use crate::context::services::Services;
use tables::reserved::HERE;

/// The catalog name all our databases appear under inside a plan; people never see it.
pub(crate) const CATALOG: &str = "gristmill";

/// Groups a row above which each thread's own table of groups only costs: rows go to the final tables at once.
const PARTIAL_GROUPS_MAX: f64 = 0.5;

/// A DataFusion session of this statement: its threads, its memory; no tables yet.
pub(crate) fn session_state(
    services: &Services,
    execution: &Execution,
) -> Result<SessionStateBuilder, Error> {
    state_of(services, execution, services.base_state.clone())
}

/// [`session_state`] for a query that names no other functions: to enter more than a thousand into a
/// session takes a third of the time of a short statement. What does not plan with it is to be planned with all.
pub(crate) fn query_state(
    services: &Services,
    execution: &Execution,
    functions: &BTreeSet<String>,
) -> Result<SessionStateBuilder, Error> {
    fn named<T>(functions: &BTreeSet<String>, all: &HashMap<String, Arc<T>>) -> Vec<Arc<T>> {
        functions.iter().filter_map(|name| all.get(name).cloned()).collect()
    }
    let all = &services.base_state;
    let mut builder = state_of(services, execution, services.bare_state.clone())?;
    builder.scalar_functions().get_or_insert_default().extend(named(functions, all.scalar_functions()));
    builder.aggregate_functions().get_or_insert_default().extend(named(functions, all.aggregate_functions()));
    builder.window_functions().get_or_insert_default().extend(named(functions, all.window_functions()));
    Ok(builder)
}

fn state_of(
    services: &Services,
    execution: &Execution,
    base: SessionState,
) -> Result<SessionStateBuilder, Error> {
    let schema = if execution.temporary.is_empty() { execution.current_database.as_str() } else { HERE };
    let mut config = SessionConfig::new()
        .with_target_partitions(services.streams_of(&execution.settings))
        .with_batch_size(execution.batch_rows())
        .with_default_catalog_and_schema(CATALOG, schema)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false);
    let options = config.options_mut();
    options.sql_parser.enable_ident_normalization = false;
    // A step above the sort may need its order.
    options.sql_parser.enable_subquery_sort_elimination = false;
    // The rows of the right table are counted, so it has to stay on its side.
    options.optimizer.join_reordering = joined(&execution.settings) == SizeLimit::default();
    // Each scan decides for itself whether its filter runs while it decodes.
    options.execution.parquet.pushdown_filters = false;
    options.execution.parquet.reorder_filters = true;
    options.execution.skip_partial_aggregation_probe_ratio_threshold = PARTIAL_GROUPS_MAX;
    let zone = time_zone(&execution.settings);
    options.execution.time_zone = Some(zone.name().to_owned());
    let config = planner::with_session_values(config, session_values(services, execution, zone));
    let rules = planner::QueryRules { join_use_nulls: execution.settings.get_bool("join_use_nulls") };
    let config = planner::with_query_rules(config, rules);
    let (store, runtimes) = (services.store.clone(), services.runtimes.clone());
    let reads_ahead = execution.settings.get_bool("remote_filesystem_read_prefetch");
    let config = config.with_extension(Arc::new(PartChecks { store, runtimes, reads_ahead }));
    let config = match services.store.unpacked() {
        Some(unpacked) if execution.settings.get_bool("use_uncompressed_cache") => {
            config.with_extension(Arc::clone(unpacked))
        }
        _ => config,
    };
    let pool = BudgetPool::new(execution.memory.clone(), Arc::clone(&execution.account));
    let runtime = RuntimeEnvBuilder::from_runtime_env(&services.runtime_env)
        .with_memory_pool(Arc::new(pool))
        .build_arc()?;
    Ok(SessionStateBuilder::new_from_existing(base).with_config(config).with_runtime_env(runtime))
}

/// What an expression of this statement alone is compiled with.
pub(crate) fn statement_state(services: &Services, execution: &Execution) -> Result<SessionState, Error> {
    let mut state = session_state(services, execution)?.build();
    // Expressions compiled by themselves see the options only of a state that has begun.
    state.mark_start_execution();
    Ok(state)
}

/// `session_timezone`, UTC unless set.
fn time_zone(settings: &Settings) -> chrono_tz::Tz {
    settings.get_text("session_timezone").parse().unwrap_or(chrono_tz::UTC)
}

/// What functions may ask about this statement.
fn session_values(services: &Services, execution: &Execution, time_zone: chrono_tz::Tz) -> SessionValues {
    let now_ns = i64::try_from(execution.now_ms).unwrap_or(0).saturating_mul(1_000_000);
    SessionValues {
        time_zone,
        now_ns,
        process_start_ns: i64::try_from(services.started_ms).unwrap_or(0).saturating_mul(1_000_000),
        user: Arc::clone(&execution.user),
        host_name: Arc::clone(&services.host_name),
        database: execution.current_database.as_str().into(),
        query_id: execution.query_id.as_str().into(),
        random: Arc::new(RandomStream::new(host::random::u64(services.host.random.as_ref()))),
        clock: Some(Arc::clone(&services.host.clock)),
        ..SessionValues::default()
    }
}
