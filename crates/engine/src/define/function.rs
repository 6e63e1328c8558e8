//! CREATE FUNCTION and DROP FUNCTION.
//!
//! Invariant: no function that is built in is hidden by one of a statement. What a lambda says is looked at where it is
//! called: as in ClickHouse, it may name what is not there yet.

use boundary::error::{Error, ErrorKind};
use catalog::Op;
use model::ErrorCode;
use sql::FunctionChange;

use crate::context::execution::Execution;
use crate::context::services::Services;
use crate::define::commit::commit_ops;

pub(crate) async fn run(
    services: &Services,
    execution: &Execution,
    change: &FunctionChange,
) -> Result<(), Error> {
    let known = |name: &str| execution.snapshot.state().functions().get(name).is_some();
    let exists = |message: String| {
        Err(Error::new(ErrorKind::AlreadyExists, ErrorCode::FUNCTION_ALREADY_EXISTS, message))
    };
    let op = match change {
        FunctionChange::Create { name, if_not_exists, or_replace, lambda } => {
            if is_built_in(name) {
                return exists(format!("the function \"{name}\" already exists"));
            }
            if known(name) && *if_not_exists {
                return Ok(());
            }
            if known(name) && !*or_replace {
                return exists(format!("function \"{name}\" already exists"));
            }
            sql::guard_expression(lambda)?;
            Op::CreateFunction { name: name.as_str().into(), lambda: sql::printed(lambda).into() }
        }
        FunctionChange::Drop { name, if_exists } => {
            if is_built_in(name) {
                let message = format!("function \"{name}\" is built in");
                return Err(Error::new(ErrorKind::Denied, ErrorCode::CANNOT_DROP_FUNCTION, message));
            }
            if !known(name) && *if_exists {
                return Ok(());
            }
            Op::DropFunction { name: name.as_str().into() }
        }
    };
    commit_ops(services, execution, Vec::new(), vec![op]).await
}

fn is_built_in(name: &str) -> bool {
    planner::documented_functions()
        .iter()
        .any(|known| known.name == name || known.case_insensitive && known.name.eq_ignore_ascii_case(name))
}
