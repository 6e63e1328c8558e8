//! `sumStateIf(x, c)`: an If outside of the state leaves out the rows in which `x` is NULL, so that the state is one of plain values,
//! as in ClickHouse.
//!
//! Invariant: an If inside of the state, `sumIfState`, keeps the types as they are. Must not know: which arguments may be NULL.

use aggregates::naming::{Aggregate, Kind};
use sql::dialect::call;
use sqlparser::ast::{BinaryOperator, Expr};

use crate::lower::{nested, operation};

/// The arguments without NULL, and the filter that keeps the rows in which none of them is.
pub(super) fn over_present(
    aggregate: &Aggregate,
    args: Vec<Expr>,
    filter: Option<Expr>,
) -> (Vec<Expr>, Option<Expr>) {
    if !aggregate.filtered || !matches!(aggregate.stateful, Some((Kind::State, _))) {
        return (args, filter);
    }
    let tests = args.iter().map(|arg| call("isNotNull", vec![arg.clone()]));
    let both = |one, other| operation(one, BinaryOperator::And, other);
    let filter = filter.into_iter().map(nested).chain(tests).reduce(both);
    (args.into_iter().map(|arg| call("assumeNotNull", vec![arg])).collect(), filter)
}
