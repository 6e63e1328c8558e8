//! `groupBitmapAnd`, `groupBitmapOr` and `groupBitmapXor`: one set of many.
//!
//! Invariant: their states are those of `groupBitmap`, as in ClickHouse; so `-State` of them is a function of its own here.

use arrow::array::{ArrayRef, AsArray};
use datafusion::common::Result;
use functions::FunctionError;
use functions::aggregates::{AggregateFunction, Group, Parameters, illegal};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use super::bitmap::{Bitmap, column_of, read, state_of, values_of, written};
use crate::typing::internal;

type Way = fn(&Bitmap, &Bitmap) -> Bitmap;

const WAYS: &[(&str, &str, Way)] = &[
    ("groupBitmapAnd", "groupBitmapAndState", Bitmap::and),
    ("groupBitmapOr", "groupBitmapOrState", Bitmap::or),
    ("groupBitmapXor", "groupBitmapXorState", Bitmap::xor),
];

fn values(args: &[ColumnType], parameters: Parameters<'_>) -> Result<ColumnType, FunctionError> {
    match args {
        [state] => values_of(state).ok_or_else(|| illegal(state, parameters.function)),
        _ => Err(FunctionError::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "one state is needed")),
    }
}

fn combined(group: &Group<'_>, way: Way) -> Result<(Bitmap, ColumnType), FunctionError> {
    let states = &group.call.args[0];
    let values = values(std::slice::from_ref(&states.column_type), group.parameters)?;
    let sets = read(states.array.as_binary_view(), &values).map_err(internal)?;
    let mut sets = sets.into_iter();
    let first = sets.next().unwrap_or_default();
    Ok((sets.fold(first, |made, set| way(&made, &set)), values))
}

/// How many values are left, in their type: more than it holds wrap, as in ClickHouse.
fn cardinality(group: &Group<'_>, way: Way) -> Result<ArrayRef, FunctionError> {
    let (made, values) = combined(group, way)?;
    column_of(&[u64_of(made.len())], None, &values).map_err(internal)
}

fn state(group: &Group<'_>, way: Way) -> Result<ArrayRef, FunctionError> {
    let (made, values) = combined(group, way)?;
    written(&[made], &values).map_err(internal)
}

pub(super) fn functions() -> Vec<AggregateFunction> {
    let docs: [[&'static str; 6]; 3] = [
        [
            "groupBitmapAnd(state)",
            "How many values are in all sets, in the type of the values.",
            "groupBitmapAnd(visitors)",
            "groupBitmapAndState(state)",
            "The set of the values that are in all sets, as a state of groupBitmap.",
            "bitmapToArray(groupBitmapAndState(visitors))",
        ],
        [
            "groupBitmapOr(state)",
            "How many values are in any set, in the type of the values.",
            "groupBitmapOr(visitors)",
            "groupBitmapOrState(state)",
            "The set of the values that are in any set, as a state of groupBitmap.",
            "bitmapToArray(groupBitmapOrState(visitors))",
        ],
        [
            "groupBitmapXor(state)",
            "How many values are in an odd number of sets, in the type of the values.",
            "groupBitmapXor(visitors)",
            "groupBitmapXorState(state)",
            "The set of the values that are in an odd number of sets, as a state of groupBitmap.",
            "bitmapToArray(groupBitmapXorState(visitors))",
        ],
    ];
    let mut out = Vec::new();
    for ((name, state_name, way), doc) in WAYS.iter().copied().zip(docs) {
        let plain = AggregateFunction::new(name, 1..=1, values, move |group| cardinality(group, way));
        out.push(plain.never_null().doc(doc[0], doc[1], doc[2]));
        let rule = |args: &[ColumnType], parameters: Parameters<'_>| values(args, parameters).map(state_of);
        let stated = AggregateFunction::new(state_name, 1..=1, rule, move |group| state(group, way));
        out.push(stated.never_null().doc(doc[3], doc[4], doc[5]));
    }
    out
}
