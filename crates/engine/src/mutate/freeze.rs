//! ALTER TABLE .. FREEZE and UNFREEZE: copies of parts that no statement changes.
//!
//! Invariant: what is copied is what one snapshot shows, which is held until all of it is copied. Must not know: where copies are
//! (`mergetree/frozen.rs`).

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::request::Rows;
use boundary::text_rows::text_rows;
use catalog::TableState;
use mergetree::TableError;
use mergetree::frozen::{self, Frozen};
use model::{ErrorCode, TableEngine};
use sql::{PartsChange, PartsChangeKind};

use super::run::flush;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::context::session_state::statement_state;
use crate::resolve::materialized::destination_of;
use tables::changes::Within;
use tables::parts_change::{check_engine, chosen, within};

/// The table that the statement names; of a materialized view that which its rows are in.
pub(super) fn with_rows(execution: &Execution, change: &PartsChange) -> Result<Arc<TableState>, Error> {
    let named = execution.table(&change.table)?;
    match named.def.engine {
        TableEngine::MaterializedView => execution.table(&destination_of(&named.def)?),
        _ => Ok(named),
    }
}

/// Runs the statement. It has one command.
pub(super) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    change: &PartsChange,
) -> Result<Rows, Error> {
    let state = with_rows(&execution.at_newest_snapshot(&services.catalog), change)?;
    check_engine(&state.def)?;
    if services.sharing.is_some() {
        let message = "FREEZE and UNFREEZE are not supported where servers share a root";
        return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message)
            .with_hint("its store copies objects: see the versions or snapshots it offers"));
    }
    let freezes = matches!(change.kind, PartsChangeKind::Freeze { .. });
    if freezes {
        flush(services, &state).await?;
    }
    let execution = execution.at_newest_snapshot(&services.catalog);
    let state = with_rows(&execution, change)?;
    let (table, _) = services.tables.handle(&state.def)?;
    let asking = statement_state(services, &execution)?;
    let named = change.parts.first().ok_or_else(|| Error::internal("FREEZE of nothing"))?;
    let within = within(&asking, &state.def, &table.keys, named)?;
    let given = match &change.kind {
        PartsChangeKind::Freeze { name } => name.clone(),
        PartsChangeKind::Unfreeze { name } => Some(name.clone()),
        _ => None,
    };
    let given = given.filter(|name| !name.is_empty()).map(|name| frozen::folder_name(&name));
    let chosen = chosen(&state, &change.kind, std::slice::from_ref(&within))?;
    let store = services.store.clone();
    let work = move || -> Result<_, TableError> {
        let name = given.map_or_else(|| frozen::next_number(&store), Ok)?;
        let parts: Vec<_> = chosen.into_iter().map(|(_, part)| part).collect();
        let is_asked_for = |partition: &str| match &within {
            Within::Partition(id) => partition == id,
            Within::All | Within::Part(_) => true,
        };
        let frozen = match freezes {
            true => frozen::freeze(&store, &name, &parts)?,
            false => frozen::unfreeze(&store, &name, state.def.id, is_asked_for)?,
        };
        Ok((name, frozen))
    };
    let done = services.runtimes.spawn_blocking("freeze", work).await.map_err(Error::ended_early)?;
    let (name, frozen) = done?;
    if !execution.settings.get_bool("alter_partition_verbose_result") {
        return Ok(Rows::none());
    }
    answer(&change.kind.command_type(named), &name, frozen)
}

fn answer(command_type: &str, name: &str, frozen: Vec<Frozen>) -> Result<Rows, Error> {
    if frozen.is_empty() {
        return text_rows(["command_type", "partition_id", "part_name"], Vec::new());
    }
    let columns =
        ["command_type", "partition_id", "part_name", "backup_name", "backup_path", "part_backup_path"];
    let row = |copy: Frozen| {
        let (folder, path) = (format!("{}/", copy.folder.display()), copy.path.display().to_string());
        [command_type.to_owned(), copy.partition, copy.name, name.to_owned(), folder, path]
    };
    text_rows(columns, frozen.into_iter().map(row).collect())
}
