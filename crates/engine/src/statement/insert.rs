//! Where the rows of an INSERT go: into a table of ours, into a table outside, or through a table function.
//!
//! Invariant: what a table outside is sent goes exactly the way of INSERT INTO FUNCTION. Must not know: how rows are
//! read or written.

use std::borrow::Cow;
use std::sync::Arc;

use boundary::error::{Error, ErrorKind};
use boundary::request::{BodyStream, Rows};
use catalog::TableState;
use model::{ColumnDef, ErrorCode, TableDef, TableEngine, TableId};
use sql::{Insert, InsertTarget};

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::export::write;
use crate::insert::into_table;
use crate::mutate::overwrite;
use crate::query::constant_calls::constant_call;
use crate::resolve::function_tables::null_columns;
use crate::resolve::materialized::destination_of;
use crate::resolve::merged::{behind, destination};
use crate::resolve::outside::{call_of, with_own_settings};
use crate::resolve::views::refuse_view;
use sinks::arriving::infile::{as_select, is_infile};
use tables::conform::insert_columns;
use tables::reserved::is_derived;

/// Runs an INSERT. `text` is the statement's text, which the ranges in `insert` point into.
pub(crate) async fn run(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    let name = match &insert.target {
        InsertTarget::Table(name) => name,
        InsertTarget::Function(function) => {
            let call = constant_call(services, execution, function).await?;
            if call.name.eq_ignore_ascii_case("null") {
                return Box::pin(into_null(services, execution, insert, &call, text, body)).await;
            }
            return into_call(services, execution, insert, (&call, None), text, body).await;
        }
    };
    let temporary = execution.temporary_table(name).is_some();
    if !temporary && is_derived(execution.resolve(name).0) {
        return Err(Error::new(
            ErrorKind::BadInput,
            ErrorCode::NOT_IMPLEMENTED,
            format!("table \"{name}\" takes no INSERT"),
        ));
    }
    let table = execution.table(name)?;
    let (database, table_name) = execution.resolve(name);
    execution.progress.set_target(if temporary { "" } else { database }, table_name);
    if table.def.engine.names_another() {
        // Its rows are those of the other table, which they reach at once.
        behind(execution, &table)?;
        let listed = insert_columns(&table.def, insert.columns.as_deref())?;
        let columns = Some(listed.into_iter().map(|column| column.name.to_string()).collect());
        let target =
            InsertTarget::Table(destination(execution, table.def.engine, &table.def.engine_arguments)?);
        let insert = Insert { target, columns, ..insert.clone() };
        return Box::pin(run(services, execution, &insert, text, body)).await;
    }
    if table.def.engine == TableEngine::MaterializedView {
        // Its rows are those of the table that it fills.
        let listed = insert_columns(&table.def, insert.columns.as_deref())?;
        let columns = Some(listed.into_iter().map(|column| column.name.to_string()).collect());
        let target = InsertTarget::Table(destination_of(&table.def)?);
        let insert = Insert { target, columns, ..insert.clone() };
        return Box::pin(run(services, execution, &insert, text, body)).await;
    }
    refuse_view(&table.def, "Method write")?;
    let insert = &with_columns(insert, &table.def)?;
    if table.def.engine.is_external() {
        return into_table_outside(services, execution, insert, &table, text, body).await;
    }
    if is_infile(insert) {
        let insert = as_select(insert, &table.def)?;
        return Box::pin(into_ours(services, execution, &insert, table, text, body)).await;
    }
    into_ours(services, execution, insert, table, text, body).await
}

async fn into_ours(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    table: Arc<TableState>,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    if !insert.partitions.is_empty() {
        return Box::pin(overwrite::run(services, execution, insert, &table, (text, body))).await;
    }
    into_table::into_table(services, execution, insert, table, text, body).await
}

/// The INSERT with the columns that `(* EXCEPT (a))` leaves.
fn with_columns<'a>(insert: &'a Insert, def: &TableDef) -> Result<Cow<'a, Insert>, Error> {
    if insert.except.is_empty() {
        return Ok(Cow::Borrowed(insert));
    }
    let all = insert_columns(def, None)?;
    // A name that is none of them is an error as in any list.
    insert_columns(def, Some(&insert.except))?;
    let names = all.into_iter().map(|column| column.name.to_string());
    let columns = names.filter(|name| !insert.except.contains(name)).collect();
    Ok(Cow::Owned(Insert { columns: Some(columns), except: vec![], ..insert.clone() }))
}

/// Rows that are read, converted and counted, and go nowhere.
async fn into_null(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    call: &sql::TableFunctionCall,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    if insert.partition_by.is_some() || insert.label.is_some() {
        return Err(Error::unsupported("PARTITION BY or a label of INSERT INTO FUNCTION null"));
    }
    let columns = (1..).zip(null_columns(call)?);
    let columns = columns.map(|(id, (name, column_type))| ColumnDef::plain(id, &name, column_type)).collect();
    // Of its own, so that nothing that is known of another such call is taken for it.
    let id = TableId::from_random_bytes(host::random::uuid_bytes(services.host.random.as_ref()));
    let def = TableDef::plain(id, "null", TableEngine::Null, columns);
    let state = Arc::new(TableState::new(Arc::new(def)));
    if is_infile(insert) {
        let insert = as_select(insert, &state.def)?;
        return into_table::into_table(services, execution, &insert, state, text, body).await;
    }
    into_table::into_table(services, execution, insert, state, text, body).await
}

async fn into_call(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    target: (&sql::TableFunctionCall, Option<&TableDef>),
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    if execution.rolls_back {
        return Err(Error::unsupported("EXPLAIN ANALYZE of an INSERT that writes outside"));
    }
    Box::pin(write::run(services, execution, insert, target, text, body)).await
}

/// Rows for a table outside: what INSERT INTO FUNCTION of its call would do, partitioned as the table says.
async fn into_table_outside(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    insert: &Insert,
    table: &TableState,
    text: &str,
    body: Option<BodyStream>,
) -> Result<Rows, Error> {
    let def = &table.def;
    if insert.overwrites {
        return Err(Error::unsupported("INSERT OVERWRITE of a table outside"));
    }
    let call = call_of(def)?;
    let mut insert = insert.clone();
    // The definition names columns by their ids; INSERT INTO FUNCTION by their names, a tuple in parentheses.
    let keys: Vec<String> = def.partition_by.iter().map(|key| sql::named_expression(key, def)).collect();
    insert.partition_by = match keys.as_slice() {
        [] => None,
        [one] => Some(Box::new(sql::parse_expression(one)?)),
        several => Some(Box::new(sql::parse_expression(&format!("({})", several.join(", ")))?)),
    };
    let execution = with_own_settings(execution, def)?;
    let declared = Some(def.as_ref()).filter(|def| !def.columns.is_empty());
    into_call(services, &execution, &insert, (&call, declared), text, body).await
}
