//! Calls of table functions: `s3('url', 'CSV', headers('a' = 'b'))` as plain data with constants for arguments.
//!
//! Invariant: a call in a query is replaced by a table of its own in [`PLACEHOLDER_DATABASE`], so that planning does
//! no I/O. Must not know: what any table function does.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

use crate::dialect::{name_of, plain_args};
use crate::printer::label::label;
use crate::printer::printed::printed;
use crate::reader::head::whole_expression;
use lexer::error::{Result, SqlError};

/// The database in which the tables behind calls are found while a statement is planned.
pub const PLACEHOLDER_DATABASE: &str = "_table_function";

/// A call of a table function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableFunctionCall {
    /// As written.
    pub name: String,
    pub arguments: Vec<CallArgument>,
    /// Name of the table in [`PLACEHOLDER_DATABASE`] that stands for the call.
    pub placeholder: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallArgument {
    /// Of `name = value`; a quoted name, as in `headers('a' = 'b')`, is without its quotes.
    pub name: Option<String>,
    pub value: CallValue,
}

/// A constant. Arithmetic of whole numbers is computed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallValue {
    Text(String),
    Number(String),
    /// A bare word: `NOSIGN`, `auto`, the name of a collection; `db.table` keeps its point.
    Word(String),
    Call {
        name: String,
        arguments: Vec<CallArgument>,
    },
}

/// Reads a call outside of a query, as DESCRIBE and INSERT INTO FUNCTION have it.
pub fn table_function_call(function: &Function) -> Result<TableFunctionCall> {
    let FunctionArguments::List(list) = &function.args else {
        return Err(SqlError::bad_arguments(format!("table function {} needs arguments", function.name)));
    };
    from_parts(&name_of(function), &list.args, 0)
}

/// Reads what stands in the parentheses of a call, or of a table engine, called `name`; also gives it back printed
/// anew, without comments.
///
/// # Errors
/// Syntax, and arguments that are no constants. No message repeats an argument.
pub fn arguments_of_text(name: &str, text: &str) -> Result<(Vec<CallArgument>, String)> {
    let unreadable = || SqlError::bad_arguments(format!("the arguments of {name} cannot be read"));
    // A comment may end the text.
    match whole_expression(&format!("f({text}\n)")) {
        Ok(Expr::Function(call)) => {
            let written = plain_args(&call);
            if !matches!(&call.args, FunctionArguments::List(list) if list.args.len() == written.len()) {
                return Err(unreadable());
            }
            let arguments = written.iter().map(|arg| named(name, arg)).collect::<Result<_>>()?;
            let printed: Vec<String> = written.iter().map(printed).collect();
            Ok((arguments, printed.join(", ")))
        }
        Ok(_) => Err(unreadable()),
        Err(error) => Err(SqlError { code: error.code, ..unreadable() }),
    }
}

/// Reads the `index`-th call of a query.
pub fn from_parts(name: &str, args: &[FunctionArg], index: usize) -> Result<TableFunctionCall> {
    let arguments = args.iter().map(|arg| argument(name, arg)).collect::<Result<Vec<_>>>()?;
    Ok(TableFunctionCall { name: name.to_owned(), arguments, placeholder: format!("{name}_{index}") })
}

fn argument(function: &str, arg: &FunctionArg) -> Result<CallArgument> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => named(function, expr),
        _ => Err(not_constant(function)),
    }
}

/// The argument itself is not shown: a part of it may be a credential.
fn not_constant(function: &str) -> SqlError {
    SqlError::bad_arguments(format!("an argument of table function {function} is not a constant"))
}

fn named(function: &str, expr: &Expr) -> Result<CallArgument> {
    if let Expr::BinaryOp { left, op: BinaryOperator::Eq, right } = expr {
        let name = match left.as_ref() {
            Expr::Identifier(name) => name.value.clone(),
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(name) => name.clone(),
                _ => return Err(not_constant(function)),
            },
            _ => return Err(not_constant(function)),
        };
        return Ok(CallArgument { name: Some(name), value: constant(function, right)? });
    }
    Ok(CallArgument { name: None, value: constant(function, expr)? })
}

fn constant(function: &str, expr: &Expr) -> Result<CallValue> {
    match expr {
        Expr::Nested(inner) => constant(function, inner),
        Expr::Identifier(word) => Ok(CallValue::Word(word.value.clone())),
        Expr::CompoundIdentifier(words) => {
            Ok(CallValue::Word(words.iter().map(|word| word.value.as_str()).collect::<Vec<_>>().join(".")))
        }
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Ok(CallValue::Text(text.clone())),
            Value::Number(..) => {
                Ok(CallValue::Number(whole(expr).map_or_else(|| label(expr), |n| n.to_string())))
            }
            Value::Null => Ok(CallValue::Word("NULL".to_owned())),
            Value::Boolean(flag) => Ok(CallValue::Number(u8::from(*flag).to_string())),
            _ => Err(not_constant(function)),
        },
        Expr::Function(call) => {
            let arguments = plain_args(call).iter().map(|arg| named(function, arg)).collect::<Result<_>>()?;
            Ok(CallValue::Call { name: name_of(call), arguments })
        }
        _ => whole(expr).map(|n| CallValue::Number(n.to_string())).ok_or_else(|| not_constant(function)),
    }
}

/// The value of an expression over whole numbers; `1e6` counts as one.
fn whole(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Nested(inner) => whole(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => whole_literal(&digits.replace('_', "")),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => whole(expr)?.checked_neg(),
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (whole(left)?, whole(right)?);
            match op {
                BinaryOperator::Plus => left.checked_add(right),
                BinaryOperator::Minus => left.checked_sub(right),
                BinaryOperator::Multiply => left.checked_mul(right),
                _ => None,
            }
        }
        _ => None,
    }
}

fn whole_literal(digits: &str) -> Option<i128> {
    if let Some((mantissa, exponent)) = digits.split_once(['e', 'E']) {
        return mantissa.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(exponent.parse().ok()?)?);
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_expression;

    fn check(text: &str, expected: &str) {
        let Expr::Function(function) = parse_expression(text).unwrap() else { panic!("{text}") };
        let shown = match table_function_call(&function) {
            Ok(call) => format!("{:?}", call.arguments),
            Err(e) => e.message,
        };
        assert_eq!(shown.replace("CallArgument ", ""), expected, "{text}");
    }

    #[test]
    fn arguments_are_constants() {
        check(
            "f('a', NOSIGN)",
            "[{ name: None, value: Text(\"a\") }, { name: None, value: Word(\"NOSIGN\") }]",
        );
        check("f(format = 'CSV')", "[{ name: Some(\"format\"), value: Text(\"CSV\") }]");
        check("f(10 * 1000)", "[{ name: None, value: Number(\"10000\") }]");
        check("f(1e6)", "[{ name: None, value: Number(\"1000000\") }]");
        check(
            "f(headers('a' = 'b'))",
            "[{ name: None, value: Call { name: \"headers\", arguments: [{ name: Some(\"a\"), value: Text(\"b\") }] } }]",
        );
        check("f(a + 1)", "an argument of table function f is not a constant");
    }
}
