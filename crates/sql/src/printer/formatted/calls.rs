//! Recursive: calls of functions, what stands behind them, and windows.
//!
//! Invariant: a function keeps the name it was called by. Must not know: clauses of a query.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArgumentClause,
    FunctionArguments, NullTreatment, WindowFrame, WindowFrameBound, WindowSpec, WindowType,
};

use super::expression::{element, expression, operand, set_of, tuple_element};
use super::order::key_with;
use super::page::Page;
use super::select::query_inside;
use crate::dialect::{APPLY, COLUMNS, EXCEPT, PARAMETER_FUNCTION, REPLACE, name_of, plain_args, text_of};

/// Whether the grammar made the call of an operator: it quotes the name.
pub(super) fn is_operator(function: &Function) -> bool {
    let is_quoted = |part: &sqlparser::ast::ObjectNamePart| {
        part.as_ident().is_some_and(|name| name.quote_style.is_some())
    };
    ["arrayElement", "tupleElement"].contains(&name_of(function).as_str())
        && function.name.0.iter().all(is_quoted)
}

pub(super) fn function(page: &mut Page, function: &Function, grouped: bool) {
    let (name, args) = (name_of(function), plain_args(function));
    match (name.as_str(), args.as_slice()) {
        ("arrayElement", [array, index]) if is_operator(function) => element(page, array, index, grouped),
        ("tupleElement", [tuple, position])
            if is_operator(function) && matches!(position, Expr::Value(_)) =>
        {
            match text_of(position) {
                None => tuple_element(page, tuple, position, grouped),
                Some(_) => called(page, &name, function, grouped),
            }
        }
        (PARAMETER_FUNCTION, [name, kind]) => {
            let shown = |expr| text_of(expr).unwrap_or_default();
            page.push(&format!("{{{}:{}}}", shown(name), shown(kind)));
        }
        ("not", [one]) if !page.layout.as_functions => page.grouped(grouped, |page| {
            page.push("NOT ");
            page.grouped(true, |page| expression(page, one));
        }),
        (COLUMNS | APPLY | EXCEPT | REPLACE, _) => matcher(page, &name, &args),
        _ => called(page, &name, function, grouped),
    }
}

fn called(page: &mut Page, name: &str, function: &Function, grouped: bool) {
    page.name(name);
    if !matches!(function.parameters, FunctionArguments::None) {
        arguments(page, name, &function.parameters);
    }
    arguments(page, name, &function.args);
    let clause = match &function.args {
        FunctionArguments::List(list) => list.clauses.iter().find_map(|clause| match clause {
            FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => Some(treatment),
            _ => None,
        }),
        _ => None,
    };
    match function.null_treatment.as_ref().or(clause) {
        Some(NullTreatment::IgnoreNulls) => page.push(" IGNORE NULLS"),
        Some(NullTreatment::RespectNulls) => page.push(" RESPECT NULLS"),
        None => {}
    }
    match &function.over {
        None => {}
        Some(WindowType::NamedWindow(name)) => {
            page.push(" OVER ");
            page.name(&name.value);
        }
        Some(WindowType::WindowSpec(spec)) => {
            page.push(" OVER ");
            window(page, spec, grouped);
        }
    }
}

pub(super) fn arguments(page: &mut Page, name: &str, arguments: &FunctionArguments) {
    match arguments {
        FunctionArguments::None => {}
        FunctionArguments::Subquery(query) => query_inside(page, query),
        FunctionArguments::List(list) => argument_list(page, name, &list.args),
    }
}

/// What stands in the parentheses of a call. A query that `view` has is no argument in parentheses of its own.
pub(super) fn argument_list(page: &mut Page, name: &str, args: &[FunctionArg]) {
    if let ("view", [FunctionArg::Unnamed(FunctionArgExpr::Expr(query @ Expr::Subquery(_)))]) =
        (name.to_ascii_lowercase().as_str(), args)
    {
        return expression(page, query);
    }
    page.push("(");
    page.separated(args.iter().enumerate(), |page, (at, arg)| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(set)) if at == 1 && TAKE_SETS.contains(&name) => {
            set_of(page, set);
        }
        other => argument(page, other),
    });
    page.push(")");
}

/// Functions whose second argument is a set, which is cast to nothing.
const TAKE_SETS: &[&str] = &["in", "notIn", "globalIn", "globalNotIn", "nullIn", "notNullIn"];

fn argument(page: &mut Page, argument: &FunctionArg) {
    match argument {
        FunctionArg::Unnamed(value) => argument_value(page, value),
        FunctionArg::Named { name, arg, operator } => {
            page.name(&name.value);
            named(page, operator, arg);
        }
        FunctionArg::ExprNamed { name, arg, operator } => {
            expression(page, name);
            named(page, operator, arg);
        }
    }
}

fn named(page: &mut Page, operator: &FunctionArgOperator, value: &FunctionArgExpr) {
    page.push(&format!(" {operator} "));
    argument_value(page, value);
}

fn argument_value(page: &mut Page, value: &FunctionArgExpr) {
    match value {
        FunctionArgExpr::Expr(expr) => expression(page, expr),
        FunctionArgExpr::Wildcard => page.push("*"),
        other => page.push(&other.to_string()),
    }
}

/// `COLUMNS('a') EXCEPT b`; of all columns it is `*`.
fn matcher(page: &mut Page, name: &str, args: &[Expr]) {
    let Some((first, rest)) = args.split_first() else { return };
    if name == COLUMNS {
        return match (text_of(first), rest) {
            (Some(""), []) => page.push("*"),
            (Some(""), [table]) => {
                expression(page, table);
                page.push(".*");
            }
            _ => {
                page.push("COLUMNS(");
                page.separated(args, expression);
                page.push(")");
            }
        };
    }
    expression(page, first);
    match name {
        APPLY => {
            page.push(" APPLY ");
            let is_lambda = |expr: &Expr| matches!(expr, Expr::Lambda(_));
            rest.iter().for_each(|function| {
                let as_functions = page.layout.as_functions;
                page.grouped(is_lambda(function) && !as_functions, |page| expression(page, function));
                if as_functions && matches!(function, Expr::Identifier(_)) {
                    page.push("()");
                }
            });
        }
        EXCEPT => {
            page.push(" EXCEPT ");
            page.grouped(rest.len() > 1, |page| page.separated(rest, expression));
        }
        _ => {
            page.push(" REPLACE (");
            page.separated(rest.chunks(2), |page, pair| {
                if let [expr, name] = pair {
                    expression(page, expr);
                    page.push(" AS ");
                    expression(page, name);
                }
            });
            page.push(")");
        }
    }
}

/// `(PARTITION BY a ORDER BY b ASC ROWS ..)`.
///
/// In an operand the keys are operands, too.
pub(super) fn window(page: &mut Page, spec: &WindowSpec, grouped: bool) {
    let key = if grouped { operand } else { expression };
    let WindowSpec { window_name, partition_by, order_by, window_frame } = spec;
    page.push("(");
    let mut space = "";
    if let Some(name) = window_name {
        page.name(&name.value);
        space = " ";
    }
    if !partition_by.is_empty() {
        page.push(std::mem::replace(&mut space, " "));
        page.push("PARTITION BY ");
        page.separated(partition_by, key);
    }
    if !order_by.is_empty() {
        page.push(std::mem::replace(&mut space, " "));
        page.push("ORDER BY ");
        page.separated(order_by, |page, one| key_with(page, one, key));
    }
    if let Some(WindowFrame { units, start_bound, end_bound }) = window_frame {
        page.push(space);
        page.push(&format!("{units} BETWEEN "));
        bound(page, start_bound);
        page.push(" AND ");
        bound(page, end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow));
    }
    page.push(")");
}

fn bound(page: &mut Page, bound: &WindowFrameBound) {
    let (rows, word) = match bound {
        WindowFrameBound::CurrentRow => return page.push("CURRENT ROW"),
        WindowFrameBound::Preceding(rows) => (rows, " PRECEDING"),
        WindowFrameBound::Following(rows) => (rows, " FOLLOWING"),
    };
    match rows {
        None => page.push("UNBOUNDED"),
        Some(rows) => operand(page, rows),
    }
    page.push(word);
}
