//! CREATE FUNCTION and DROP FUNCTION: a lambda under a name.
//!
//! Invariant: what is kept is a lambda whose parameters are told apart. Must not know: which functions there are.

use sqlparser::ast::Expr;

use crate::reader::head::Head;
use crate::statement::{FunctionChange, Statement};
use lexer::error::{Result, SqlError};

/// Behind CREATE [OR REPLACE] FUNCTION.
pub(crate) fn create(head: &mut Head<'_>, or_replace: bool) -> Result<Statement> {
    let if_not_exists = head.if_not_exists();
    let name = head.name("a function's name")?;
    head.on_cluster()?;
    head.expect_word("AS")?;
    let expression = head.expression()?;
    let Expr::Lambda(lambda) = &expression else {
        return Err(SqlError::bad_arguments(format!("function {name} must be a lambda, such as x -> x + 1")));
    };
    let parameters: Vec<&str> = lambda.params.iter().map(|parameter| parameter.name.value.as_str()).collect();
    let twice = parameters.iter().enumerate().find(|(at, name)| parameters[..*at].contains(name));
    if let Some((_, twice)) = twice {
        let message = format!("parameter {twice} of function {name} is given twice");
        return Err(SqlError::bad_arguments(message));
    }
    Ok(Statement::Function(FunctionChange::Create {
        name,
        if_not_exists,
        or_replace,
        lambda: Box::new(expression),
    }))
}

/// Behind DROP FUNCTION.
pub(crate) fn drop(head: &mut Head<'_>) -> Result<Statement> {
    let if_exists = head.if_exists();
    let name = head.name("a function's name")?;
    head.on_cluster()?;
    Ok(Statement::Function(FunctionChange::Drop { name, if_exists }))
}
