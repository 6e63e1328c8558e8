//! The binary operators of arithmetic.
//!
//! Invariant: plain data; what they mean is decided by the modules of numbers, decimals and times.

use model::ErrorCode;

use crate::error::FunctionError;

pub(crate) fn division_by_zero() -> FunctionError {
    FunctionError::new(ErrorCode::ILLEGAL_DIVISION, "division by zero")
}

pub(crate) fn division_of_smallest() -> FunctionError {
    let message = "division of minimal signed number by minus one";
    FunctionError::new(ErrorCode::ILLEGAL_DIVISION, message)
}

/// A binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Multiply,
    Divide,
    IntDiv,
    IntDivOrZero,
    Modulo,
    ModuloOrZero,
    PositiveModulo,
}

impl Operator {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operator::Plus => "plus",
            Operator::Minus => "minus",
            Operator::Multiply => "multiply",
            Operator::Divide => "divide",
            Operator::IntDiv => "intDiv",
            Operator::IntDivOrZero => "intDivOrZero",
            Operator::Modulo => "modulo",
            Operator::ModuloOrZero => "moduloOrZero",
            Operator::PositiveModulo => "positiveModulo",
        }
    }

    /// Division by zero gives zero.
    pub(crate) fn or_zero(self) -> bool {
        matches!(self, Operator::IntDivOrZero | Operator::ModuloOrZero)
    }
}
