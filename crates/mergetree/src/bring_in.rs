//! Rows of a part that was found without its record, written as new parts of a table.
//!
//! The part is read as a merge reads its inputs, through the sums of its pages, and written as an INSERT writes: partitions,
//! order and bounds are made anew, because the old ones are what no record says any more.
//! Invariant: all rows of the part are committed at once, or none. Must not know: which parts are to be taken.

use catalog::Op;
use host::MemoryBudget;
use model::TableDef;
use model::table_def::column_id_of;
use model::type_arrow::to_data_type;
use parts::{FoundPart, PartError, PartReader, PartStore};

use crate::error::TableError;
use crate::merge::rows::InputRows;
use crate::table::Table;
use crate::write::{PartSink, SinkSettings};

/// Rows decoded at once.
const BATCH_ROWS: usize = 8192;

/// Brings the rows of `found`, a file of `from` written for `def`, into `table`, which may have other columns by now. Returns
/// how many.
///
/// # Errors
/// The part is not what it says it is, its rows do not fit the table, or the disk refuses.
pub fn bring_in(
    table: &Table,
    from: &PartStore,
    (found, def): (&FoundPart, &TableDef),
    memory: &MemoryBudget,
) -> Result<u64, TableError> {
    let reader = found.open(from)?;
    check_columns(&reader, def)?;
    let mut sink = PartSink::new(table.clone(), SinkSettings::within(memory))?;
    let columns = (&table.def.arrow_schema(), &table.keys.evolution);
    let mut rows = InputRows::new(&reader, 0..reader.rows(), columns, BATCH_ROWS);
    let mut written = 0;
    while let Some(batch) = rows.next()? {
        written += batch.num_rows() as u64;
        sink.write(batch)?;
    }
    let ops: Vec<Op> = sink.finish()?.into_iter().map(Op::AddPart).collect();
    table.commit(table.catalog.seq(), Vec::new(), ops)?;
    Ok(written)
}

/// The names and layouts of columns stand in the footer where no sum covers them.
fn check_columns(reader: &PartReader, def: &TableDef) -> Result<(), TableError> {
    let found = reader.schema().fields();
    let expected: Vec<_> = def.stored_columns().collect();
    let is_same = found.len() == expected.len()
        && found.iter().zip(expected).all(|(field, column)| {
            column_id_of(field) == Some(column.id) && *field.data_type() == to_data_type(&column.column_type)
        });
    if is_same {
        return Ok(());
    }
    let message = "its columns are not those of its definition".to_owned();
    Err(PartError::Damaged { part: reader.part(), message }.into())
}
