//! Numbers of elements of nested arrays, looked at to a depth: `arrayEnumerateUniqRanked` and its kin.
//!
//! Invariant: the result is nested as deep as numbers are asked for; arrays that are looked at less deep count as values as
//! they are. Must not know: arrays side by side, of which only one is numbered here.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::row::{RowConverter, SortField};
use model::{ColumnType, ErrorCode};

use crate::columns::container::{list_of, offsets_of, range};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::{constant_int, expanded};
use crate::memory::allowance::{Reserved, reserve};

/// One array with the depth to which its elements are told apart, and the depth of the numbers.
struct Asked {
    array: usize,
    depth: usize,
    cleared_at: usize,
}

fn nesting(column_type: &ColumnType) -> usize {
    match column_type {
        ColumnType::Array(element) => 1 + nesting(element),
        _ => 0,
    }
}

/// `([clear depth,] array[, depth])`.
fn asked(args: &[ArgType], name: &str) -> Result<Asked, FunctionError> {
    let array = usize::from(args.first().is_some_and(|arg| arg.column_type.is_integer()));
    let most = args.get(array).map_or(0, |arg| nesting(&arg.column_type));
    if most == 0 || args.len() > array + 2 {
        let message = format!("{name} takes one array here, a depth before it and one behind it");
        return Err(FunctionError::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
    }
    let number = |index: usize, usual: usize| match args.get(index) {
        None => Ok(usual),
        Some(_) => constant_int(args, index)
            .and_then(|depth| usize::try_from(depth).ok())
            .filter(|depth| (1..=most).contains(depth))
            .ok_or_else(|| {
                let message = format!("a depth of {name} is a constant from 1 to the depth of its array");
                FunctionError::bad_argument(message)
            }),
    };
    let cleared_at = if array == 1 { number(0, 1)? } else { 1 };
    Ok(Asked { array, depth: number(array + 1, most)?, cleared_at })
}

fn result_type(args: &[ArgType], name: &str) -> Result<ColumnType, FunctionError> {
    let depth = asked(args, name)?.depth;
    Ok((0..depth).fold(ColumnType::UInt32, |inner, _| ColumnType::Array(Box::new(inner))))
}

/// Bytes of a key that is known, in a table that has some free places.
const KNOWN_BYTES: usize = 32;

/// The numbers of the elements of a list, and of lists in it.
struct Numbering<'k> {
    name: &'static str,
    /// For the table that is filled from the one that is too small.
    room: Option<Reserved>,
    keys: Vec<&'k [u8]>,
    /// How often each element was met, or its own number.
    known: HashMap<&'k [u8], u32>,
    dense: bool,
    numbers: Vec<u32>,
}

impl Numbering<'_> {
    fn number(&mut self, at: usize) -> Result<(), FunctionError> {
        if self.known.len() == self.known.capacity() {
            self.room = None;
            self.room = Some(reserve(self.name, self.known.len().saturating_mul(2 * KNOWN_BYTES))?);
        }
        let next = u32::try_from(self.known.len() + 1).unwrap_or(u32::MAX);
        let count = self.known.entry(self.keys[at]).or_insert(if self.dense { next } else { 0 });
        if !self.dense {
            *count += 1;
        }
        self.numbers.push(*count);
        Ok(())
    }

    /// Goes down to the elements at the depth; what is known is forgotten where an array of the depth of clearing begins.
    fn visit(
        &mut self,
        lists: &[Vec<i32>],
        level: usize,
        own: std::ops::Range<usize>,
        cleared_at: usize,
    ) -> Result<(), FunctionError> {
        if level + 1 == cleared_at {
            self.known.clear();
        }
        for at in own {
            match lists.get(level) {
                Some(offsets) => self.visit(lists, level + 1, range(offsets, at), cleared_at)?,
                None => self.number(at)?,
            }
        }
        Ok(())
    }
}

fn evaluate(call: &Call<'_>, name: &'static str, dense: bool) -> Result<ArrayRef, FunctionError> {
    let asked = asked(&call.types(), name)?;
    let array = expanded(call.arg(asked.array)?, call.rows)?;
    // The offsets of each level below the outermost, and the values at the depth.
    let (mut offsets, mut inner) = (Vec::new(), array);
    for _ in 0..asked.depth {
        let list = inner.as_list::<i32>().clone();
        offsets.push(list.value_offsets().to_vec());
        inner = Arc::clone(list.values());
    }
    let converter = RowConverter::new(vec![SortField::new(inner.data_type().clone())])?;
    call.reserve_indices(inner.len())?;
    // The rows, where each begins, and the keys that point into them.
    call.reserve(inner.get_array_memory_size().saturating_mul(2))?;
    call.reserve(inner.len().saturating_mul(size_of::<usize>() + size_of::<&[u8]>()))?;
    let rows = converter.convert_columns(std::slice::from_ref(&inner))?;
    let keys = (0..inner.len()).map(|at| rows.row(at).data()).collect();
    let mut numbering = Numbering {
        name,
        room: None,
        keys,
        known: HashMap::new(),
        dense,
        numbers: Vec::with_capacity(inner.len()),
    };
    let (outer, below) = offsets.split_at(1);
    for row in 0..call.rows {
        numbering.known.clear();
        numbering.visit(below, 0, range(&outer[0], row), asked.cleared_at)?;
    }
    let lengths = |offsets: &[i32], lists: &[usize]| -> Vec<usize> {
        lists.iter().map(|at| range(offsets, *at).len()).collect()
    };
    // The lists that are reached, level by level, in the order in which they are numbered.
    let (mut reached, mut sizes) = ((0..call.rows).collect::<Vec<usize>>(), Vec::new());
    for level in &offsets {
        sizes.push(lengths(level, &reached));
        reached = reached.iter().flat_map(|at| range(level, *at)).collect();
    }
    let mut made: ArrayRef = Arc::new(UInt32Array::from(numbering.numbers));
    let mut element = ColumnType::UInt32;
    for own in sizes.into_iter().rev() {
        made = list_of(&element, offsets_of(own), made, None)?;
        element = ColumnType::Array(Box::new(element));
    }
    Ok(made)
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let make = |name: &'static str, dense: bool| {
        ScalarFunction::new(
            name,
            1..=3,
            move |args| result_type(args, name),
            move |call| evaluate(call, name, dense),
        )
    };
    vec![
        make("arrayEnumerateUniqRanked", false).doc(
            "arrayEnumerateUniqRanked([clear, ]array[, depth])",
            "For each element of nested arrays how often it has occurred so far.",
            "arrayEnumerateUniqRanked([[1, 2], [2, 1]]) -> [[1,1],[2,2]]",
        ),
        make("arrayEnumerateDenseRanked", true).doc(
            "arrayEnumerateDenseRanked([clear, ]array[, depth])",
            "For each element of nested arrays the number of its value, in the order in which values are met.",
            "arrayEnumerateDenseRanked([[1, 2], [2, 3]]) -> [[1,2],[2,3]]",
        ),
    ]
}
