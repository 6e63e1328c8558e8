//! Expressions: the nodes that `planner` knows, and the operators among them.

use model::ErrorCode;
use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, CeilFloorKind, Expr, LambdaFunction, Subscript,
    UnaryOperator, Value, ValueWithSpan,
};

use crate::guard::{Depth, call, query, refuse_if};
use lexer::constants::list_of;
use lexer::error::{Result, SqlError};

pub(crate) fn all(checked: &[Expr], depth: Depth) -> Result<()> {
    checked.iter().try_for_each(|expr| expression(expr, depth))
}

pub(crate) fn some(checked: Option<&Expr>, depth: Depth) -> Result<()> {
    checked.map_or(Ok(()), |expr| expression(expr, depth))
}

fn both(first: &Expr, second: &Expr, depth: Depth) -> Result<()> {
    expression(first, depth)?;
    expression(second, depth)
}

pub(crate) fn expression(checked: &Expr, depth: Depth) -> Result<()> {
    let depth = depth.deeper()?;
    match checked {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => Ok(()),
        Expr::Value(ValueWithSpan { value, span: _ }) => literal(value),
        Expr::Nested(inner)
        | Expr::IsTrue(inner)
        | Expr::IsNotTrue(inner)
        | Expr::IsFalse(inner)
        | Expr::IsNotFalse(inner)
        | Expr::IsNull(inner)
        | Expr::IsNotNull(inner)
        | Expr::Named { expr: inner, name: _ } => expression(inner, depth),
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => both(left, right, depth),
        Expr::BinaryOp { .. } => chain(checked, depth),
        Expr::UnaryOp { op, expr } => {
            unary(*op)?;
            expression(expr, depth)
        }
        Expr::InList { expr, list, negated: _ } => {
            expression(expr, depth)?;
            all(list, depth)
        }
        Expr::InSubquery { expr, subquery, negated: _ } => {
            expression(expr, depth)?;
            query(subquery, depth)
        }
        Expr::Between { expr, negated: _, low, high } => {
            expression(expr, depth)?;
            both(low, high, depth)
        }
        Expr::Like { negated: _, any, expr, pattern, escape_char: _ }
        | Expr::ILike { negated: _, any, expr, pattern, escape_char: _ } => {
            refuse_if(*any, "LIKE ANY")?;
            both(expr, pattern, depth)
        }
        Expr::RLike { negated: _, expr, pattern, regexp: _ } => both(expr, pattern, depth),
        Expr::Function(function) => call::function(function, depth),
        Expr::Tuple(parts) => all(parts, depth),
        Expr::Array(Array { elem, named: _ }) => all(elem, depth),
        Expr::Subquery(inner) => query(inner, depth),
        Expr::Exists { subquery, negated: _ } => query(subquery, depth),
        Expr::CompoundFieldAccess { root, access_chain } => {
            expression(root, depth)?;
            access_chain.iter().try_for_each(|access| self::access(access, depth))
        }
        Expr::Lambda(LambdaFunction { params: _, body, syntax: _ }) => expression(body, depth),
        other => special(other, depth),
    }
}

/// SQL's forms with words between the arguments.
fn special(checked: &Expr, depth: Depth) -> Result<()> {
    match checked {
        Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
            some(operand.as_deref(), depth)?;
            some(else_result.as_deref(), depth)?;
            conditions.iter().try_for_each(|when| {
                let CaseWhen { condition, result } = when;
                both(condition, result, depth)
            })
        }
        Expr::Extract { field: _, syntax: _, expr } => expression(expr, depth),
        Expr::Ceil { expr, field } | Expr::Floor { expr, field } => {
            match field {
                CeilFloorKind::DateTimeField(sqlparser::ast::DateTimeField::NoDateTime) => {}
                CeilFloorKind::Scale(_) => {}
                CeilFloorKind::DateTimeField(_) => {
                    return Err(SqlError::not_implemented("rounding TO a unit"));
                }
            }
            expression(expr, depth)
        }
        Expr::Position { expr, r#in } => both(expr, r#in, depth),
        Expr::Substring { expr, substring_from, substring_for, special: _, shorthand: _ } => {
            expression(expr, depth)?;
            some(substring_from.as_deref(), depth)?;
            some(substring_for.as_deref(), depth)
        }
        Expr::AnyOp { left, compare_op, right, is_some: _ } | Expr::AllOp { left, compare_op, right } => {
            binary(compare_op)?;
            both(left, right, depth)
        }
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            both(expr, overlay_what, depth)?;
            expression(overlay_from, depth)?;
            some(overlay_for.as_deref(), depth)
        }
        Expr::Trim { trim_where: _, trim_what, expr, trim_characters } => {
            some(trim_what.as_deref(), depth)?;
            all(trim_characters.as_deref().unwrap_or_default(), depth)?;
            expression(expr, depth)
        }
        other => Err(SqlError::not_implemented(format!("expression {other}"))),
    }
}

/// A chain of operators is walked along its left side, so that long ones do not count as deep.
fn chain(checked: &Expr, depth: Depth) -> Result<()> {
    let mut left_most = checked;
    while let Expr::BinaryOp { left, op, right } = left_most {
        binary(op)?;
        expression(right, depth)?;
        left_most = left;
    }
    expression(left_most, depth)
}

fn binary(op: &BinaryOperator) -> Result<()> {
    match op {
        BinaryOperator::Plus
        | BinaryOperator::Minus
        | BinaryOperator::Multiply
        | BinaryOperator::Divide
        | BinaryOperator::Modulo
        | BinaryOperator::StringConcat
        | BinaryOperator::Gt
        | BinaryOperator::Lt
        | BinaryOperator::GtEq
        | BinaryOperator::LtEq
        | BinaryOperator::Spaceship
        | BinaryOperator::Eq
        | BinaryOperator::NotEq
        | BinaryOperator::And
        | BinaryOperator::Or
        | BinaryOperator::Xor => Ok(()),
        other => Err(SqlError::not_implemented(format!("operator {other}"))),
    }
}

fn unary(op: UnaryOperator) -> Result<()> {
    match op {
        UnaryOperator::Plus | UnaryOperator::Minus | UnaryOperator::Not => Ok(()),
        other => Err(SqlError::not_implemented(format!("operator {other}"))),
    }
}

fn access(checked: &AccessExpr, depth: Depth) -> Result<()> {
    match checked {
        AccessExpr::Subscript(Subscript::Index { index }) => expression(index, depth),
        AccessExpr::Subscript(Subscript::Slice { lower_bound: _, upper_bound: _, stride: _ }) => {
            Err(SqlError::not_implemented("a slice of an array"))
        }
        AccessExpr::Dot(Expr::Identifier(_)) => Ok(()),
        AccessExpr::Dot(Expr::Value(value)) if value.value == Value::Null => Ok(()),
        AccessExpr::Dot(other) => Err(SqlError::not_implemented(format!("access .{other}"))),
    }
}

fn literal(value: &Value) -> Result<()> {
    match value {
        Value::Number(..) | Value::SingleQuotedString(_) | Value::Boolean(_) | Value::Null => Ok(()),
        Value::HexStringLiteral(_) => Ok(()),
        constants if list_of(constants).is_some() => Ok(()),
        Value::Placeholder(mark) => {
            let message = format!("parameter {mark} has no place in the dialect: write {{name:Type}}");
            Err(SqlError::new(ErrorCode::SYNTAX_ERROR, message))
        }
        other => Err(SqlError::not_implemented(format!("literal {other}"))),
    }
}
