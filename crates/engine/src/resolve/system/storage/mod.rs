//! System tables about parts: which there are, and what becomes of them.
//!
//! Invariant: a part is shown by the name that it has in the snapshot of the statement. Must not know: other system tables.

pub(super) mod part_log;
pub(super) mod merges;
pub(super) mod mutations;

use ::tables::system_rows::parts::Parts;
use ::tables::system_rows::{detached_parts, kept, parts, parts_columns};

use super::SystemTable;
use crate::context::execution::Execution;
use crate::context::services::Services;

pub(super) const PARTS: SystemTable = SystemTable {
    columns: parts::COLUMNS,
    fill: |services, execution, rows| parts::fill(&of(services, execution), rows),
};

pub(super) const PARTS_COLUMNS: SystemTable = SystemTable {
    columns: parts_columns::COLUMNS,
    fill: |services, execution, rows| parts_columns::fill(&of(services, execution), rows),
};

pub(super) const DETACHED_PARTS: SystemTable = SystemTable {
    columns: detached_parts::COLUMNS,
    fill: |services, execution, rows| detached_parts::fill(&services.store, &execution.snapshot, rows),
};

pub(super) const INDEXES: SystemTable = SystemTable {
    columns: kept::INDEXES,
    fill: |_, execution, rows| kept::fill_indexes(&execution.snapshot, rows),
};

pub(super) const PROJECTIONS: SystemTable = SystemTable {
    columns: kept::PROJECTIONS,
    fill: |_, execution, rows| kept::fill_projections(&execution.snapshot, rows),
};

fn of<'a>(services: &'a Services, execution: &'a Execution) -> Parts<'a> {
    Parts {
        store: &services.store,
        snapshot: &execution.snapshot,
        tables: &services.tables,
        now_ms: services.now_ms(),
    }
}
