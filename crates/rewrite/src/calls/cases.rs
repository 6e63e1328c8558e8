//! `caseWithExpression(x, when, then, .., else)`: CASE by its name.
//!
//! Must not know: what a CASE becomes.

use model::ErrorCode;
use sql::{Result, SqlError};
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{CaseWhen, Expr};

/// Whether a function is CASE.
pub(super) fn is_case(name: &str) -> bool {
    ["caseWithExpression", "caseWithExpr"].contains(&name)
}

/// The CASE that a call says.
pub(super) fn case_of(args: &[Expr]) -> Result<Expr> {
    let [operand, rest @ .., otherwise] = args else { return Err(uneven(args)) };
    let (whens, []) = rest.as_chunks::<2>() else { return Err(uneven(args)) };
    if whens.is_empty() {
        return Err(uneven(args));
    }
    let when =
        |[condition, result]: &[Expr; 2]| CaseWhen { condition: condition.clone(), result: result.clone() };
    Ok(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: Some(Box::new(operand.clone())),
        conditions: whens.iter().map(when).collect(),
        else_result: Some(Box::new(otherwise.clone())),
    })
}

fn uneven(args: &[Expr]) -> SqlError {
    if args.is_empty() {
        let message = "function caseWithExpression expects at least 1 argument";
        return SqlError::new(ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION, message);
    }
    SqlError::bad_arguments(
        "function caseWithExpression expects an even number of arguments: (expr, when1, then1, ..., else)",
    )
}
