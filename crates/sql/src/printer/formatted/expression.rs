//! Recursive: expressions as ClickHouse writes them, operators between their operands or as functions.
//!
//! Invariant: an operator inside an operator stands in parentheses; parentheses that were written stay, once. Must not
//! know: clauses of a query.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, Ident, LambdaFunction, OneOrManyWithParens, Query, Subscript,
    UnaryOperator, Value, ValueWithSpan,
};

use super::calls::function;
use super::literals::{is_literal, kind};
use super::page::Page;
use super::plain::plain;
use super::select::subquery;
use crate::dialect::{call, text};
use crate::printer::label::{literal, operator_function};
use lexer::constants::{list_of, shown};
use lexer::escape::quote_text;

/// An expression that stands for itself: in a list, as an argument, behind a keyword.
pub(super) fn expression(page: &mut Page, expr: &Expr) {
    written(page, expr, false);
}

/// An item or a key. Among functions its parentheses stay around a name.
pub(super) fn item(page: &mut Page, expr: &Expr, is_named: bool) {
    match expr {
        Expr::Nested(inner) if matches!(inner.as_ref(), Expr::Nested(_)) => item(page, inner, is_named),
        Expr::Nested(inner) if page.layout.as_functions => {
            let stay = match inner.as_ref() {
                Expr::Subquery(_) => false,
                Expr::Tuple(_) => is_named && !is_literal(inner),
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => true,
                _ => is_named,
            };
            page.grouped(stay, |page| expression(page, inner));
        }
        other => expression(page, other),
    }
}

/// A key of GROUP BY.
pub(super) fn key(page: &mut Page, expr: &Expr) {
    item(page, expr, false);
}

/// An operand of an operator.
pub(super) fn operand(page: &mut Page, expr: &Expr) {
    written(page, expr, !page.layout.as_functions);
}

fn written(page: &mut Page, expr: &Expr, grouped: bool) {
    if let Some(plain) = plain(expr) {
        return written(page, &plain, grouped);
    }
    match expr {
        Expr::Nested(inner) => nested(page, inner, grouped),
        Expr::Identifier(name) => page.name(&name.value),
        Expr::CompoundIdentifier(names) => path(page, names),
        Expr::Value(_) => cast_literal(page, expr),
        Expr::Named { expr, name } => page.grouped(grouped, |page| {
            expression(page, expr);
            page.push(" AS ");
            page.name(&name.value);
        }),
        Expr::BinaryOp { left, op, right } => binary(page, (left, op, right), grouped),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => written(page, expr, grouped),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => negated(page, expr, grouped),
        Expr::UnaryOp { expr, .. } => prefixed(page, "not", "NOT ", expr, grouped),
        Expr::IsNull(inner) => postfixed(page, "isNull", " IS NULL", inner, grouped),
        Expr::IsNotNull(inner) => postfixed(page, "isNotNull", " IS NOT NULL", inner, grouped),
        Expr::IsNotDistinctFrom(left, right) => {
            infixed(page, ("isNotDistinctFrom", " <=> "), &[left, right], grouped);
        }
        Expr::IsDistinctFrom(left, right) => {
            infixed(page, ("isDistinctFrom", " IS DISTINCT FROM "), &[left, right], grouped);
        }
        Expr::Like { negated, expr, pattern, escape_char, .. } => {
            let operator = if *negated { ("notLike", " NOT LIKE ") } else { ("like", " LIKE ") };
            like(page, operator, [expr, pattern], escape_char.as_ref(), grouped);
        }
        Expr::ILike { negated, expr, pattern, escape_char, .. } => {
            let operator = if *negated { ("notILike", " NOT ILIKE ") } else { ("ilike", " ILIKE ") };
            like(page, operator, [expr, pattern], escape_char.as_ref(), grouped);
        }
        Expr::Between { expr, negated, low, high } => between(page, *negated, [expr, low, high], grouped),
        Expr::InList { expr, list, negated } => {
            member(page, expr, *negated, grouped, |page| in_list(page, list));
        }
        Expr::InSubquery { expr, subquery, negated } => {
            member(page, expr, *negated, grouped, |page| in_query(page, subquery));
        }
        Expr::Tuple(_) | Expr::Array(_) if is_literal(expr) => cast_literal(page, expr),
        Expr::Tuple(parts) => sequence(page, "tuple", ("(", ")"), parts),
        Expr::Array(array) => sequence(page, "array", ("[", "]"), &array.elem),
        Expr::Subquery(query) => subquery(page, query),
        Expr::Exists { subquery, negated } => exists(page, subquery, *negated, grouped),
        Expr::CompoundFieldAccess { root, access_chain } => accessed(page, root, access_chain, grouped),
        Expr::Lambda(lambda) => self::lambda(page, lambda, grouped),
        Expr::Function(called) => function(page, called, grouped),
        other => page.push(&other.to_string()),
    }
}

/// `t.a`.
pub(super) fn path(page: &mut Page, names: &[Ident]) {
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            page.push(".");
        }
        page.name(&name.value);
    }
}

/// A literal; among functions one that does not tell its type is cast to it.
fn cast_literal(page: &mut Page, expr: &Expr) {
    let tells = matches!(expr, Expr::Value(value) if !matches!(value.value, Value::Null));
    if tells || !page.layout.as_tree {
        return plain_literal(page, expr, false);
    }
    let kind = kind(expr);
    page.push("_CAST(");
    plain_literal(page, expr, kind.is_of_floats());
    page.push(&format!(", {})", quote_text(&kind.name())));
}

/// The right side of IN as a function has it.
pub(super) fn set_of(page: &mut Page, set: &Expr) {
    match set {
        Expr::Tuple(_) if is_literal(set) => plain_literal(page, set, false),
        _ => expression(page, set),
    }
}

fn plain_literal(page: &mut Page, expr: &Expr, floats: bool) {
    let (ends, parts) = match expr {
        Expr::Tuple(parts) => (("(", ")"), parts),
        Expr::Array(array) => (("[", "]"), &array.elem),
        Expr::Value(value) => {
            let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
            return match list_of(&value.value) {
                Some(list) => page.push(&format!("({})", shown(list))),
                None => {
                    let text = literal(&value.value);
                    page.push(&text);
                    if floats && is_whole(&text) {
                        page.push(".");
                    }
                }
            };
        }
        other => return expression(page, other),
    };
    page.push(ends.0);
    page.separated(parts, |page, part| plain_literal(page, part, floats));
    page.push(ends.1);
}

/// Parentheses that were written; two are one, and what has its own needs none.
fn nested(page: &mut Page, inner: &Expr, grouped: bool) {
    match inner {
        Expr::Nested(_) | Expr::Subquery(_) => written(page, inner, grouped),
        Expr::Tuple(_) if is_literal(inner) => written(page, inner, grouped),
        // A name goes into the parentheses of an operand, and stands behind others.
        Expr::Named { .. } if grouped => written(page, inner, grouped),
        Expr::Named { expr, name } => {
            nested(page, expr, false);
            page.push(" AS ");
            page.name(&name.value);
        }
        _ if page.layout.as_functions => written(page, inner, grouped),
        _ => page.grouped(true, |page| expression(page, inner)),
    }
}

fn called(page: &mut Page, name: &str, args: &[&Expr]) {
    page.push(name);
    page.push("(");
    page.separated(args, |page, arg| expression(page, arg));
    page.push(")");
}

/// `a + b`, or `plus(a, b)`.
pub(super) fn infixed(page: &mut Page, operator: (&str, &str), operands: &[&Expr], grouped: bool) {
    let (function, symbol) = operator;
    if page.layout.as_functions {
        return called(page, function, operands);
    }
    page.grouped(grouped, |page| {
        for (at, part) in operands.iter().enumerate() {
            if at > 0 {
                page.push(symbol);
            }
            operand(page, part);
        }
    });
}

/// `a LIKE b`, with what stands behind ESCAPE.
fn like(
    page: &mut Page,
    operator: (&str, &str),
    operands: [&Expr; 2],
    escape: Option<&ValueWithSpan>,
    grouped: bool,
) {
    let Some(escape) = escape else { return infixed(page, operator, &operands, grouped) };
    let escape = Expr::Value(escape.clone());
    if page.layout.as_functions {
        return called(page, operator.0, &[operands[0], operands[1], &escape]);
    }
    page.grouped(grouped, |page| {
        infixed(page, operator, &operands, false);
        page.push(" ESCAPE ");
        expression(page, &escape);
    });
}

fn prefixed(page: &mut Page, function: &str, symbol: &str, expr: &Expr, grouped: bool) {
    if page.layout.as_functions {
        return called(page, function, &[expr]);
    }
    page.grouped(grouped, |page| {
        page.push(symbol);
        operand(page, expr);
    });
}

fn postfixed(page: &mut Page, function: &str, symbol: &str, expr: &Expr, grouped: bool) {
    if page.layout.as_functions {
        return called(page, function, &[expr]);
    }
    page.grouped(grouped, |page| {
        operand(page, expr);
        page.push(symbol);
    });
}

/// AND and OR take any number of operands, others nest.
fn binary(page: &mut Page, (left, op, right): (&Expr, &BinaryOperator, &Expr), grouped: bool) {
    let Some(function) = operator_function(op) else {
        return page.push(&format!("{left} {op} {right}"));
    };
    let symbol = match op {
        BinaryOperator::NotEq => " != ".to_owned(),
        BinaryOperator::Spaceship => " <=> ".to_owned(),
        op => format!(" {op} "),
    };
    if !matches!(op, BinaryOperator::And | BinaryOperator::Or) {
        return infixed(page, (function, &symbol), &[left, right], grouped);
    }
    let (mut operands, mut rest) = (vec![right], left);
    while let Expr::BinaryOp { left, op: next, right } = rest {
        if next != op {
            break;
        }
        operands.push(right);
        rest = left;
    }
    operands.push(rest);
    operands.reverse();
    infixed(page, (function, &symbol), &operands, grouped);
}

/// A minus before digits is one with them; behind another it stands in parentheses.
fn negated(page: &mut Page, expr: &Expr, grouped: bool) {
    let number = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(literal(&Value::Number(digits.clone(), false))),
            _ => None,
        },
        _ => None,
    };
    match number.as_deref() {
        Some("nan") => page.push("nan"),
        Some(digits) if digits.starts_with('-') && !page.layout.as_functions => {
            page.push(&format!("-({digits})"))
        }
        Some(digits) if !digits.starts_with('-') => page.push(&format!("-{digits}")),
        _ => prefixed(
            page,
            "negate",
            "-",
            expr,
            grouped && !matches!(expr, Expr::Nested(one) if is_number(one)),
        ),
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Number(..)))
}

/// One within another, which would be written out twice.
fn between(page: &mut Page, negated: bool, parts: [&Expr; 3], grouped: bool) {
    if page.layout.as_functions {
        return called(page, if negated { "notBetween" } else { "between" }, &parts);
    }
    let [expr, low, high] = parts;
    page.grouped(grouped, |page| {
        operand(page, expr);
        page.push(if negated { " NOT BETWEEN " } else { " BETWEEN " });
        operand(page, low);
        page.push(" AND ");
        operand(page, high);
    });
}

/// `a IN ..`.
fn member(page: &mut Page, expr: &Expr, negated: bool, grouped: bool, set: impl FnOnce(&mut Page)) {
    if page.layout.as_functions {
        page.push(if negated { "notIn(" } else { "in(" });
        expression(page, expr);
        page.push(", ");
        set(page);
        return page.push(")");
    }
    page.grouped(grouped, |page| {
        operand(page, expr);
        page.push(if negated { " NOT IN " } else { " IN " });
        set(page);
    });
}

fn in_list(page: &mut Page, list: &[Expr]) {
    let bare = |expr: &Expr| match expr {
        Expr::Nested(inner) => inner.as_ref().clone(),
        other => other.clone(),
    };
    match list {
        [] => page.push("tuple()"),
        // Carried so, for `IN [1, 2]` is not `IN ([1, 2])`.
        [Expr::Nested(array)] if matches!(array.as_ref(), Expr::Array(_)) => expression(page, array),
        [one @ Expr::Value(value)] if list_of(&value.value).is_some() => plain_literal(page, one, false),
        [Expr::Nested(inner)] if matches!(inner.as_ref(), Expr::Subquery(_)) => expression(page, inner),
        [one @ Expr::Tuple(_)] if is_literal(one) => plain_literal(page, one, false),
        [Expr::Tuple(parts)] => sequence(page, "tuple", ("(", ")"), parts),
        [one] if page.layout.as_functions => match bare(one) {
            value @ Expr::Value(_) => plain_literal(page, &value, false),
            other => expression(page, &other),
        },
        parts => {
            let parts = Expr::Tuple(parts.iter().map(bare).collect());
            match &parts {
                literal if is_literal(literal) => plain_literal(page, literal, false),
                Expr::Tuple(parts) => sequence(page, "tuple", ("(", ")"), parts),
                _ => {}
            }
        }
    }
}

/// A SELECT, or the table that one stands for.
fn in_query(page: &mut Page, query: &Query) {
    match query.body.as_ref() {
        sqlparser::ast::SetExpr::Table(table) => {
            let names = [&table.schema_name, &table.table_name].into_iter().flatten();
            let names: Vec<Ident> = names.map(|name| Ident::new(name.as_str())).collect();
            let wanted = !page.layout.as_functions;
            page.grouped(wanted, |page| path(page, &names));
        }
        _ => subquery(page, query),
    }
}

/// `(a, b)` and `[a, b]`.
fn sequence(page: &mut Page, function: &str, (open, close): (&str, &str), parts: &[Expr]) {
    if page.layout.as_functions {
        return called(page, function, &parts.iter().collect::<Vec<_>>());
    }
    page.push(open);
    page.separated(parts, expression);
    page.push(close);
}

fn exists(page: &mut Page, query: &Query, negated: bool, grouped: bool) {
    let called = |page: &mut Page| {
        page.push("exists(");
        subquery(page, query);
        page.push(")");
    };
    match (negated, page.layout.as_functions) {
        (false, _) => called(page),
        (true, true) => {
            page.push("not(");
            called(page);
            page.push(")");
        }
        (true, false) => page.grouped(grouped, |page| {
            page.push("NOT ");
            called(page);
        }),
    }
}

/// `a.b` before an index.
fn written_path(root: &Expr, chain: &[AccessExpr]) -> Option<Vec<Ident>> {
    let mut path = match root {
        Expr::Identifier(name) => vec![name.clone()],
        Expr::CompoundIdentifier(names) => names.clone(),
        _ => return None,
    };
    for step in chain {
        match step {
            AccessExpr::Dot(Expr::Identifier(name)) => path.push(name.clone()),
            _ => return None,
        }
    }
    Some(path)
}

/// `a[1].b`, a step at a time from the left.
fn accessed(page: &mut Page, root: &Expr, chain: &[AccessExpr], grouped: bool) {
    if let Some(names) = written_path(root, chain) {
        return path(page, &names);
    }
    let Some((last, before)) = chain.split_last() else { return written(page, root, grouped) };
    let inner = match before {
        [] => root.clone(),
        before => Expr::CompoundFieldAccess { root: Box::new(root.clone()), access_chain: before.to_vec() },
    };
    match last {
        AccessExpr::Subscript(Subscript::Index { index }) => element(page, &inner, index, grouped),
        AccessExpr::Dot(name) => {
            let name = match name {
                Expr::Identifier(name) => name.value.clone(),
                other => other.to_string(),
            };
            written(page, &call("tupleElement", vec![inner, text(name)]), grouped);
        }
        AccessExpr::Subscript(slice) => {
            operand(page, &inner);
            page.push(&format!("[{slice}]"));
        }
    }
}

/// `a[i]`.
pub(super) fn element(page: &mut Page, array: &Expr, index: &Expr, grouped: bool) {
    if page.layout.as_functions {
        return called(page, "arrayElement", &[array, index]);
    }
    page.grouped(grouped, |page| {
        operand(page, array);
        page.push("[");
        expression(page, index);
        page.push("]");
    });
}

/// `t.1`. What is called stands in parentheses.
pub(super) fn tuple_element(page: &mut Page, tuple: &Expr, position: &Expr, grouped: bool) {
    if page.layout.as_functions {
        return called(page, "tupleElement", &[tuple, position]);
    }
    let is_call =
        |function| crate::dialect::name_of(function) != "tuple" && !super::calls::is_operator(function);
    page.grouped(grouped, |page| {
        let around = matches!(tuple, Expr::Function(function) if is_call(function));
        page.grouped(around, |page| operand(page, tuple));
        page.push(".");
        expression(page, position);
    });
}

fn lambda(page: &mut Page, lambda: &LambdaFunction, grouped: bool) {
    let names: Vec<&Ident> = match &lambda.params {
        OneOrManyWithParens::One(name) => vec![&name.name],
        OneOrManyWithParens::Many(names) => names.iter().map(|name| &name.name).collect(),
    };
    if page.layout.as_functions {
        page.push("lambda(tuple(");
        page.separated(names, |page, name| page.name(&name.value));
        page.push("), ");
        expression(page, &lambda.body);
        return page.push(")");
    }
    page.grouped(grouped, |page| {
        let around = names.len() != 1;
        page.grouped(around, |page| page.separated(names, |page, name| page.name(&name.value)));
        page.push(" -> ");
        operand(page, &lambda.body);
    });
}
