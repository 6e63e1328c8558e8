//! Elements in an order that is drawn.
//!
//! Invariant: every order is as likely as any other, and with a seed it is the same each time. Must not know: what elements are.

use std::ops::Range;

use arrow::array::ArrayRef;
use model::saturating::{u64_of, usize_of};
use model::{ColumnType, ErrorCode};

use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call, RandomStream};
use crate::kernel::list::gather;
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::integer_shape;

/// An array, and behind it whole numbers.
fn rule(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        let array = match &args[0].column_type {
            array @ ColumnType::Array(_) => array.clone(),
            other => return Err(FunctionError::illegal_type(other, name)),
        };
        match args.iter().skip(1).find(|arg| !arg.column_type.is_integer()) {
            Some(other) => Err(FunctionError::illegal_type(&other.column_type, name)),
            None => Ok(array),
        }
    }
}

/// The places of a list, of which the first `most` are drawn from all of them.
fn draw(own: Range<usize>, most: usize, stream: &RandomStream, out: &mut Vec<u64>) {
    let start = out.len();
    out.extend(own.map(u64_of));
    let drawn = &mut out[start..];
    for at in 0..most.min(drawn.len()) {
        let left = u64_of(drawn.len() - at);
        drawn.swap(at, at + usize_of(stream.next_u64() % left));
    }
}

/// Lists of which the first elements are drawn, and the others left out or not.
fn drawn(
    call: &Call<'_>,
    most: usize,
    seed: Option<i64>,
    keeps_rest: bool,
) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let start = match seed {
        Some(seed) => u64::from_le_bytes(seed.to_le_bytes()),
        None => call.session.random.next_u64(),
    };
    let stream = RandomStream::new(start);
    gather(call, &lists.element, lists.values(), |row, out| {
        let own = lists.range(row);
        let (before, count) = (out.len(), own.len());
        call.reserve_indices(before.saturating_add(count))?;
        draw(own, most, &stream, out);
        if !keeps_rest {
            out.truncate(before + most.min(count));
        }
        Ok(())
    })
}

/// A number that is the same for all rows.
fn number(call: &Call<'_>, index: usize) -> Result<Option<i64>, FunctionError> {
    match call.args.get(index) {
        None => Ok(None),
        Some(arg) if arg.is_constant => Ok(Some(call.ints(index)?.get(0))),
        Some(_) => {
            let message = "a seed or a number of elements that are drawn is a constant";
            Err(FunctionError::new(ErrorCode::ILLEGAL_COLUMN, message))
        }
    }
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let sample_type = |args: &[ArgType]| {
        let array = rule("arrayRandomSample")(args)?;
        match integer_shape(&args[1].column_type) {
            Some((_, false)) => Ok(array),
            _ => Err(FunctionError::illegal_type(&args[1].column_type, "arrayRandomSample")),
        }
    };
    vec![
        ScalarFunction::new("arrayShuffle", 1..=2, rule("arrayShuffle"), |call| {
            drawn(call, usize::MAX, number(call, 1)?, true)
        })
        .any_case()
        .volatile()
        .doc(
            "arrayShuffle(array[, seed])",
            "The elements in an order that is drawn.",
            "arraySort(arrayShuffle([3, 1, 2])) -> [1,2,3]",
        ),
        ScalarFunction::new("arrayPartialShuffle", 1..=3, rule("arrayPartialShuffle"), |call| {
            let most = number(call, 1)?.and_then(|most| usize::try_from(most).ok()).filter(|most| *most > 0);
            drawn(call, most.unwrap_or(usize::MAX), number(call, 2)?, true)
        })
        .any_case()
        .volatile()
        .doc(
            "arrayPartialShuffle(array[, limit[, seed]])",
            "The array with its first elements drawn from all of them.",
            "arraySort(arrayPartialShuffle([3, 1, 2], 1)) -> [1,2,3]",
        ),
        ScalarFunction::new("arrayRandomSample", 2..=2, sample_type, |call| {
            let most = number(call, 1)?.and_then(|most| usize::try_from(most).ok()).unwrap_or(0);
            drawn(call, most, None, false)
        })
        .volatile()
        .doc(
            "arrayRandomSample(array, n)",
            "n elements that are drawn, all of them where there are fewer.",
            "length(arrayRandomSample([3, 1, 2], 2)) -> 2",
        ),
    ]
}
