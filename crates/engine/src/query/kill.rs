//! KILL QUERY, and [`Database::kill`] for doors.
//!
//! Invariant: a statement never kills itself; one that is killed answers QUERY_WAS_CANCELLED, or what it has
//! committed. Must not know: how statements stop.

use std::sync::Arc;

use arrow::array::AsArray;
use boundary::error::{Error, ErrorKind};
use boundary::request::Rows;
use boundary::text_rows::text_rows;
use datafusion::physical_plan::collect;
use model::ErrorCode;
use sql::{KillMode, Query};

use crate::context::database::Database;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::query::select::plan;

impl Database {
    /// Asks the running statement of this id to stop; false when there is none. It stops within a batch or a network
    /// request, unless it is already committing.
    pub fn kill(&self, query_id: &str) -> bool {
        self.services.processes.cancel(query_id).is_some()
    }
}

/// What `system.processes` said of a statement that is meant.
struct Victim {
    query_id: String,
    user: String,
    query: String,
}

pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    victims: &Query,
    mode: &KillMode,
) -> Result<Rows, Error> {
    let victims = found(services, execution, victims).await?;
    let others = |victim: &&Victim| victim.user != execution.user.as_ref();
    if let Some(victim) = victims.iter().find(others)
        && execution.settings.get_u64("readonly") > 0
    {
        let message = format!("query \"{}\" is of user \"{}\"", victim.query_id, victim.user);
        return Err(Error::new(ErrorKind::Denied, ErrorCode::ACCESS_DENIED, message)
            .with_hint("a user with readonly set may only kill queries of their own"));
    }
    if victims.is_empty() {
        return Ok(Rows::none());
    }
    let processes = &services.processes;
    let mut numbers = Vec::new();
    let mut rows = Vec::with_capacity(victims.len());
    for victim in victims {
        let status = match mode {
            KillMode::Test => "unknown_status",
            KillMode::Async | KillMode::Sync => match processes.cancel(&victim.query_id) {
                Some(number) => {
                    numbers.push(number);
                    if *mode == KillMode::Sync { "finished" } else { "waiting" }
                }
                // It was faster.
                None => "finished",
            },
        };
        rows.push([status.to_owned(), victim.query_id, victim.user, victim.query]);
    }
    if *mode == KillMode::Sync {
        processes.until_ended(&numbers).await;
    }
    text_rows(["kill_status", "query_id", "user", "query"], rows)
}

/// The running statements that the condition names, without this one.
async fn found(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    victims: &Query,
) -> Result<Vec<Victim>, Error> {
    let planned = plan(services, execution, victims, None).await?;
    let batches = collect(planned.physical().await?, planned.state.task_ctx()).await?;
    let mut found = Vec::new();
    for batch in &batches {
        let texts: Vec<_> = batch.columns().iter().filter_map(|column| column.as_string_view_opt()).collect();
        let [query_id, user, query] = texts.as_slice() else {
            return Err(Error::internal("system.processes has other columns than KILL QUERY knows"));
        };
        for row in 0..batch.num_rows() {
            found.push(Victim {
                query_id: query_id.value(row).to_owned(),
                user: user.value(row).to_owned(),
                query: query.value(row).to_owned(),
            });
        }
    }
    found.retain(|victim| victim.query_id != execution.query_id);
    Ok(found)
}
