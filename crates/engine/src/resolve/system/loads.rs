//! `system.loads`, `system.load_units`, `system.load_files`: loads as this process knows them.
//!
//! Must not know: what the rows are made of (`tables`).

use ::tables::system_rows::loads;

use super::SystemTable;

pub(super) const LOADS: SystemTable = SystemTable {
    columns: loads::LOADS,
    fill: |services, execution, rows| {
        let shown = (&execution.snapshot, execution.sees_own_only);
        loads::fill(&services.loads, &services.catalog, shown, rows)
    },
};

pub(super) const UNITS: SystemTable = SystemTable {
    columns: loads::UNITS,
    fill: |services, _, rows| loads::fill_units(&services.loads, &services.catalog, rows),
};

pub(super) const FILES: SystemTable = SystemTable {
    columns: loads::FILES,
    fill: |services, _, rows| loads::fill_files(&services.loads, &services.catalog, rows),
};
