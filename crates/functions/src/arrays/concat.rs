//! `concat`: arrays join as arrays, maps as maps, tuples as tuples, and all else as text.
//!
//! Invariant: what is no text among texts is written as it prints.

use arrow::array::ArrayRef;
use model::ColumnType;

use super::{algebra, maps};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::concat_lists;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::supertype;

/// The kind of nest that all arguments are.
enum Nest {
    Array,
    Map,
    Tuple,
}

fn nest_of<'a>(types: impl Iterator<Item = &'a ColumnType>) -> Option<Nest> {
    let mut kinds = types.map(|column_type| match column_type {
        ColumnType::Array(_) => Some(0),
        ColumnType::Map(..) => Some(1),
        ColumnType::Tuple(_) if !column_type.is_interval() => Some(2),
        _ => None,
    });
    let first = kinds.next()??;
    // One nest alone is written.
    let mut kinds = kinds.peekable();
    kinds.peek()?;
    kinds.all(|kind| kind == Some(first)).then_some(match first {
        0 => Nest::Array,
        1 => Nest::Map,
        _ => Nest::Tuple,
    })
}

fn rule(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match nest_of(args.iter().map(|arg| &arg.column_type)) {
        Some(Nest::Array) => supertype(args.iter().map(|arg| &arg.column_type)),
        Some(Nest::Map) => maps::joining().result_type(args),
        Some(Nest::Tuple) => algebra::concat().result_type(args),
        None => Ok(ColumnType::String),
    }
}

fn concat(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    match nest_of(call.args.iter().map(|arg| &arg.column_type)) {
        Some(Nest::Array) => concat_lists(call),
        Some(Nest::Map) => maps::joining().evaluate(call),
        Some(Nest::Tuple) => algebra::concat().evaluate(call),
        None => texts(call),
    }
}

fn texts(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let texts: Vec<_> = (0..call.args.len()).map(|index| call.texts(index)).collect::<Result<_, _>>()?;
    call.each_text(|row, out| {
        for text in &texts {
            call.reserve_more(text.get(row).len(), out)?;
            out.push_str(text.get(row));
        }
        Ok(())
    })
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("concatAssumeInjective", 1..=usize::MAX, |_| Ok(ColumnType::String), texts).doc(
            "concatAssumeInjective(a, b, ...)",
            "The texts of all arguments, one after the other.",
            "concatAssumeInjective('a', 1) -> 'a1'",
        ),
        ScalarFunction::new("concat", 0..=usize::MAX, rule, concat).any_case().doc(
            "concat(a, b, ...)",
            "The texts of all arguments, one after the other; arrays, maps and tuples as one of their kind.",
            "concat('a', 1) -> 'a1'",
        ),
    ]
}
