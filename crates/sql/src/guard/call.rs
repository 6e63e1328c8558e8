//! What a function call may carry: parameters, DISTINCT, FILTER, OVER.

use sqlparser::ast::{
    Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, NullTreatment,
    WindowFrame, WindowFrameBound, WindowSpec, WindowType,
};

use crate::guard::expression::{all, expression, some};
use crate::guard::{Depth, order_item, refuse_if};
use lexer::error::{Result, SqlError};

pub(crate) fn function(checked: &Function, depth: Depth) -> Result<()> {
    let Function { name, uses_odbc_syntax, parameters, args, filter, null_treatment, over, within_group } =
        checked;
    refuse_if(name.0.len() != 1, &format!("function name {name}"))?;
    refuse_if(*uses_odbc_syntax, "{fn ..}")?;
    refuse_if(!within_group.is_empty(), "WITHIN GROUP")?;
    match null_treatment {
        None | Some(NullTreatment::IgnoreNulls | NullTreatment::RespectNulls) => {}
    }
    arguments(parameters, "a parameter", depth)?;
    arguments(args, &format!("an argument of {name}"), depth)?;
    some(filter.as_deref(), depth)?;
    match over {
        None | Some(WindowType::NamedWindow(_)) => Ok(()),
        Some(WindowType::WindowSpec(spec)) => window(spec, depth),
    }
}

fn arguments(checked: &FunctionArguments, what: &str, depth: Depth) -> Result<()> {
    match checked {
        FunctionArguments::None => Ok(()),
        FunctionArguments::Subquery(_) => Err(SqlError::not_implemented(format!("a query as {what}"))),
        FunctionArguments::List(FunctionArgumentList { duplicate_treatment: _, args, clauses }) => {
            refuse_if(!clauses.is_empty(), &format!("a clause behind {what}"))?;
            args.iter().try_for_each(|arg| argument(arg, depth))
        }
    }
}

/// Named arguments are for table functions; `planner` refuses them elsewhere.
pub(crate) fn argument(checked: &FunctionArg, depth: Depth) -> Result<()> {
    match checked {
        FunctionArg::Named { name: _, arg, operator: _ } | FunctionArg::Unnamed(arg) => value(arg, depth),
        FunctionArg::ExprNamed { name, arg, operator: _ } => {
            expression(name, depth)?;
            value(arg, depth)
        }
    }
}

fn value(checked: &FunctionArgExpr, depth: Depth) -> Result<()> {
    match checked {
        FunctionArgExpr::Expr(expr) => expression(expr, depth),
        FunctionArgExpr::Wildcard => Ok(()),
        FunctionArgExpr::QualifiedWildcard(_) => Err(SqlError::not_implemented("table.* as an argument")),
        FunctionArgExpr::WildcardWithOptions(_) => {
            Err(SqlError::not_implemented("* with options as an argument"))
        }
    }
}

pub(crate) fn window(checked: &WindowSpec, depth: Depth) -> Result<()> {
    let WindowSpec { window_name, partition_by, order_by, window_frame } = checked;
    // The rewrite puts in what it names.
    let _ = window_name;
    all(partition_by, depth)?;
    order_by.iter().try_for_each(|item| order_item(item, depth))?;
    let Some(WindowFrame { units: _, start_bound, end_bound }) = window_frame else { return Ok(()) };
    bound(start_bound, depth)?;
    end_bound.iter().try_for_each(|end| bound(end, depth))
}

fn bound(checked: &WindowFrameBound, depth: Depth) -> Result<()> {
    match checked {
        WindowFrameBound::CurrentRow => Ok(()),
        WindowFrameBound::Preceding(rows) | WindowFrameBound::Following(rows) => some(rows.as_deref(), depth),
    }
}
