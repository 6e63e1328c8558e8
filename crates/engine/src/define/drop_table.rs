//! DROP TABLE, of several tables at once.
//!
//! Invariant: the stored ones go by one transaction or not at all; a temporary one comes before a stored one of its name.

use boundary::error::{Error, ErrorKind};
use catalog::Op;
use model::TableId;
use sql::TableName;
use tables::dictionaries::refuse_as_table;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;
use crate::resolve::materialized::own_table_of;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    names: &[TableName],
    if_exists: bool,
) -> Result<(), Error> {
    let (mut ops, mut temporary) = (Vec::with_capacity(names.len()), Vec::new());
    for name in names {
        if execution.temporary_table(name).is_some() {
            temporary.push(name.table.as_str());
            continue;
        }
        match execution.stored_table(name) {
            Ok(table) => {
                refuse_as_table(&table.def)?;
                // What a materialized view has of its own goes with it.
                let own = own_table_of(execution, &table.def);
                for table in [Some(table.def.id), own].into_iter().flatten() {
                    if !ops.iter().any(|op: &Op| op.table() == Some(table)) {
                        ops.push(Op::DropTable { table });
                    }
                }
            }
            Err(error) if if_exists && error.kind == ErrorKind::UnknownObject => {}
            Err(error) => return Err(error),
        }
    }
    let dropped: Vec<TableId> = ops.iter().filter_map(Op::table).collect();
    if !ops.is_empty() {
        commit_ops(services, execution, Vec::new(), ops).await?;
    }
    dropped.into_iter().for_each(|table| services.memory_tables.clear(table));
    for name in temporary {
        execution.temporary.drop_table(name);
    }
    Ok(())
}
