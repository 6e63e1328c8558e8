//! A call of a table function outside of a query, as INSERT INTO FUNCTION and DESCRIBE have it.
//!
//! Invariant: its arguments are computed as those of a call that a query reads. Must not know: what a table function does.

use std::sync::Arc;

use boundary::error::Error;
use datafusion::sql::sqlparser::ast::Function;
use sql::TableFunctionCall;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::query::select::with_computed;
use tables::calls::computed;

/// The call with values in the place of all arguments that have to be computed.
pub(crate) async fn constant_call(
    services: &Arc<Services>,
    execution: &Arc<Execution>,
    call: &Function,
) -> Result<TableFunctionCall, Error> {
    let Some(query) = computed::query_over(call)? else { return Ok(sql::table_function_call(call)?) };
    let query = with_computed(services, execution, &query).await?.unwrap_or(query);
    computed::call_of(*query.ast)
}
