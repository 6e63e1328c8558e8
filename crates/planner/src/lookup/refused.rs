//! What a function says of arguments it does not take, as an error of the statement.
//!
//! Invariant: the code that the function chose arrives. Must not know: which function it was.

use datafusion::common::DataFusionError;
use functions::FunctionError;
use sql::SqlError;

/// What a function refused, as a problem of the statement.
pub fn of_function(error: DataFusionError) -> SqlError {
    match &error {
        DataFusionError::External(inner) => match inner.downcast_ref::<FunctionError>() {
            Some(own) => SqlError::new(own.code, own.message.clone()),
            None => SqlError::bad_arguments(error.to_string()),
        },
        _ => SqlError::bad_arguments(error.to_string()),
    }
}
