//! OPTIMIZE .. DEDUPLICATE: of rows that are equal in the columns of BY, the first one of each part stays.
//!
//! Behind the merges that OPTIMIZE is otherwise, as one mutation. Invariant: rows of different keys or partitions are never
//! taken for equal: BY has all columns of the keys. Must not know: how parts are merged.

use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use model::{ColumnDef, ErrorCode, TableDef, TableEngine};
use sql::escape::always_quote_name;
use sql::{Mutation, Optimize, RowChange, RowCommand, TableName};
use tables::mutation_queries::repeated;

use crate::background::optimize::table_of;
use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::query::select::plan;

/// The mutation that takes repeated rows away, if the statement asks for it.
pub(crate) async fn mutation_of(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    optimize: &Optimize,
) -> Result<Option<Mutation>, Error> {
    let Some(by) = &optimize.deduplicate else { return Ok(None) };
    let state = table_of(execution, &optimize.table)?;
    if state.def.engine != TableEngine::MergeTree {
        let message = format!("table \"{}\" has no parts whose rows could be repeated", optimize.table);
        return Err(Error::new(ErrorKind::Unsupported, ErrorCode::NOT_IMPLEMENTED, message));
    }
    let def = &state.def;
    let database = execution.snapshot.database_by_id(def.database).map(|found| found.name.to_string());
    let from = [database.as_deref().unwrap_or_default(), &def.name].map(always_quote_name).join(".");
    let table = TableName { database, table: def.name.to_string() };
    let columns: Vec<&ColumnDef> = match by.as_str() {
        "" => def.stored_columns().collect(),
        by => {
            let query = sql::parse_query(&format!("SELECT {by} FROM {from}"))?;
            let planned = plan(services, execution, &sql::Query::from(Box::new(query)), None).await;
            let planned = planned.map_err(|error| match error.code {
                ErrorCode::UNKNOWN_IDENTIFIER => Error { code: ErrorCode::NO_SUCH_COLUMN_IN_TABLE, ..error },
                _ => error,
            })?;
            let found = planned.result_schema()?;
            found.fields().iter().map(|field| stored(def, field.name())).collect::<Result<_, Error>>()?
        }
    };
    check(def, &columns)?;
    let change = RowChange::Delete { condition: Box::new(repeated(&columns)?) };
    // Without a text it is nobody's mutation.
    let command = RowCommand { change, partition: optimize.partition.clone(), text: String::new() };
    Ok(Some(Mutation { table, commands: vec![command] }))
}

fn stored<'a>(def: &'a TableDef, name: &str) -> Result<&'a ColumnDef, Error> {
    def.column(name).filter(|column| column.is_stored()).ok_or_else(|| {
        let message = format!("there is no column {name} in table \"{}\" that is stored", def.name);
        Error::new(ErrorKind::UnknownObject, ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
    })
}

fn check(def: &TableDef, columns: &[&ColumnDef]) -> Result<(), Error> {
    for (place, column) in columns.iter().enumerate() {
        if columns[..place].iter().any(|before| before.id == column.id) {
            let message = format!("column {} stands twice in DEDUPLICATE BY", column.name);
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::COLUMN_QUERIED_MORE_THAN_ONCE, message));
        }
    }
    let is_there = |key: &ColumnDef| columns.iter().any(|column| column.id == key.id);
    match def.columns.iter().find(|column| def.is_in_key(column.id) && !is_there(column)) {
        None => Ok(()),
        Some(key) => {
            let message = format!(
                "DEDUPLICATE BY must have all columns of ORDER BY and PARTITION BY, and {} is missing",
                key.name
            );
            Err(Error::new(ErrorKind::BadInput, ErrorCode::THERE_IS_NO_COLUMN, message))
        }
    }
}
