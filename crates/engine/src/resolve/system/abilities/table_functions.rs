//! `system.table_functions`: what may be called in FROM and INSERT INTO FUNCTION.

use boundary::error::Error;

use super::SystemTable;
use ::tables::calls::known::TABLE_FUNCTIONS;
use ::tables::system_rows::rows::RowBuilder;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[("name", "String"), ("description", "String"), ("allow_readonly", "UInt8")],
    fill: |_, _, rows| fill(rows),
};

fn fill(rows: &mut RowBuilder) -> Result<(), Error> {
    for function in TABLE_FUNCTIONS {
        rows.push([function.name.into(), function.description.into(), function.is_internal.into()])?;
    }
    Ok(())
}
