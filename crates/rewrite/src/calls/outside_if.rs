//! `-OrNull` and `-OrDefault`: what is given when there was nothing to aggregate. Behind `-If`, as in `avgIfOrDefault(x, c)`, they
//! ask whether there was a row at all: where rows are there and none passes, the function over nothing has the word, as in ClickHouse.
//!
//! Invariant: over no rows both are what they are without `-If`. Must not know: which arguments may be NULL.

use aggregates::naming::{Aggregate, OverNothing};
use sql::dialect::{call, number, plain_args};
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Value,
};

use crate::lower::{nested, operation};
use crate::manner::over_nothing::is_zero_of_none;

/// The call over the rows that pass, and what stands for it where there are no rows. `None` where rows that do not pass are none.
pub(super) fn outside_if(written: &str, aggregate: &Aggregate, function: &Function) -> Option<Expr> {
    if !aggregate.is_outside_if || aggregate.stateful.is_some() {
        return None;
    }
    let args = plain_args(function);
    let (condition, values) = args.split_last()?;
    let counted = values.first().cloned().into_iter().collect();
    let mut rows = renamed(function, "count", counted);
    rows.parameters = FunctionArguments::None;
    rows.null_treatment = None;
    if let FunctionArguments::List(list) = &mut rows.args {
        list.duplicate_treatment = None;
    }
    let rows = Expr::Function(rows);
    match aggregate.over_nothing {
        OverNothing::Null if is_zero_of_none(aggregate) => {
            let inner = renamed(function, written.strip_suffix("OrNull")?, args.clone());
            Some(unless_empty(rows, Expr::Function(inner)))
        }
        OverNothing::Default => {
            let name = written.strip_suffix("OrDefault")?;
            // Without NULL the function is that of plain values, which has something to say over nothing.
            let tests = values.iter().map(|value| call("isNotNull", vec![value.clone()]));
            let both = |one, other| operation(one, BinaryOperator::And, other);
            let passes = tests.fold(nested(condition.clone()), both);
            let present = values.iter().map(|value| call("assumeNotNull", vec![value.clone()]));
            let present = renamed(function, name, present.chain([passes]).collect());
            let nothing = Expr::Function(renamed(function, name, args.clone()));
            let nothing = call("defaultValueOfArgumentType", vec![nothing]);
            Some(call("if", vec![some(rows), Expr::Function(present), nothing]))
        }
        _ => None,
    }
}

/// `-OrNull`: NULL when there was nothing to aggregate.
pub(super) fn unless_empty(rows: Expr, value: Expr) -> Expr {
    call("if", vec![some(rows), value, Expr::Value(Value::Null.into())])
}

/// `-OrDefault`: the default of its type when there was nothing to aggregate.
pub(super) fn default_if_empty(rows: Expr, value: Expr) -> Expr {
    let nothing = call("defaultValueOfArgumentType", vec![value.clone()]);
    call("if", vec![some(rows), value, nothing])
}

fn some(rows: Expr) -> Expr {
    operation(rows, BinaryOperator::Gt, number("0"))
}

fn renamed(function: &Function, name: &str, args: Vec<Expr>) -> Function {
    let mut renamed = function.clone();
    renamed.name = ObjectName::from(vec![Ident::with_quote('`', name)]);
    if let FunctionArguments::List(list) = &mut renamed.args {
        list.args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    }
    renamed
}
