//! What a query asks of the tables that it names, beside their rows: FINAL, and the tables of joinGet.
//!
//! Invariant: names are those of the statement's snapshot. Must not know: how rows are found.

use std::sync::Arc;

use boundary::error::Error;
use datafusion::sql::sqlparser::ast::Query;
use sql::TableName;
use tables::finals::{Known, with_finals};
use tables::joined::JoinsOfStatement;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::resolve::schemas::provider_of;

/// Names what is read with FINAL.
pub(super) fn name_finals(execution: &Execution, asts: &mut [Query]) -> Result<(), Error> {
    let find = |name: &TableName| execution.table(name).ok().map(|state| Arc::clone(&state.def));
    let everywhere = execution.settings.get_bool("final");
    let known = Known { find: &find, current_database: &execution.current_database, everywhere };
    asts.iter_mut().try_for_each(|ast| with_finals(known, ast))
}

/// The tables that joinGet may ask.
pub(super) fn joins_of(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
) -> Arc<dyn planner::AskedTables> {
    let (finding, services, reading) = (Arc::clone(execution), Arc::clone(services), Arc::clone(execution));
    let find = move |name: &TableName| finding.table(name);
    JoinsOfStatement::over(find, move |state| provider_of(&services, &reading, state, None))
}
