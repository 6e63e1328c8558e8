//! The elements a lambda runs over, without the rows they came from.
//!
//! Invariant: all columns have one value for each element, the elements of a row stand together and rows in order.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{interleave, take};
use model::saturating::{place_of, u64_of};
use model::{ColumnType, ErrorCode};

use super::{LambdaFunction, Over, entry};
use crate::columns::container::{list_of, map_of, range};
use crate::error::FunctionError;
use crate::kernel::call::Arg;
use crate::memory::allowance::reserve;
use crate::memory::row_bytes::row_bytes;

/// Most elements a lambda runs over in one batch: what 32-bit offsets of lists can say.
const ELEMENTS_MAX: usize = 0x7FFF_FFFF;

/// See the module.
#[derive(Debug)]
pub struct Elements {
    offsets: OffsetBuffer<i32>,
    sources: Vec<Source>,
    apart: bool,
}

/// An array or a map, its elements compact.
#[derive(Debug)]
struct Source {
    column_type: ColumnType,
    /// One column, or the keys and the values.
    columns: Vec<ArrayRef>,
}

impl Elements {
    /// The elements of the arguments behind a lambda, which must be of one size in each row.
    pub fn new(
        function: &LambdaFunction,
        args: &[Arg],
        rows: usize,
        apart: bool,
    ) -> Result<Self, FunctionError> {
        let folded = if function.over == Over::Fold { args.len().saturating_sub(1) } else { args.len() };
        let containers = args.get(function.plain..folded).unwrap_or_default();
        let mut offsets: Option<OffsetBuffer<i32>> = None;
        let mut sources = Vec::with_capacity(containers.len());
        for (index, arg) in containers.iter().enumerate() {
            let (own, source) = source(arg, rows)?;
            match &offsets {
                None => offsets = Some(own),
                Some(first) if *first == own => {}
                Some(_) => {
                    let message = format!(
                        "arrays passed to {} must have equal size: argument {} has another one than the first array",
                        function.name,
                        function.plain + index + 2
                    );
                    return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
                }
            }
            sources.push(source);
        }
        let offsets = offsets.unwrap_or_else(|| OffsetBuffer::new_zeroed(rows));
        Ok(Self { offsets, sources, apart })
    }

    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Where the elements of each row are.
    pub fn offsets(&self) -> &OffsetBuffer<i32> {
        &self.offsets
    }

    /// The row of each element: what a value of the row is repeated by.
    pub fn row_of_each(&self) -> UInt64Array {
        let mut places = Vec::new();
        for row in 0..self.rows() {
            places.extend(std::iter::repeat_n(u64_of(row), range(&self.offsets, row).len()));
        }
        UInt64Array::from(places)
    }

    /// The values of the lambda's parameters, but for what is folded.
    pub fn parameters(&self) -> Vec<ArrayRef> {
        let mut columns = Vec::new();
        for source in &self.sources {
            match (source.columns.as_slice(), &source.column_type) {
                ([column], ColumnType::Array(_)) if self.apart => {
                    columns.extend(
                        column.as_struct_opt().into_iter().flat_map(|parts| parts.columns().to_vec()),
                    );
                }
                ([keys, values], ColumnType::Map(key, value)) if !self.apart => {
                    columns.extend(entries(key, value, keys, values));
                }
                (all, _) => columns.extend(all.iter().cloned()),
            }
        }
        columns
    }

    /// The arrays as arguments of a kernel.
    pub(super) fn arguments(&self) -> Result<Vec<Arg>, FunctionError> {
        let mut arguments = Vec::with_capacity(self.sources.len());
        for Source { column_type, columns } in &self.sources {
            let array = match (column_type, columns.as_slice()) {
                (ColumnType::Array(element), [values]) => {
                    list_of(element, self.offsets.clone(), Arc::clone(values), None)?
                }
                (ColumnType::Map(key, value), [keys, values]) => {
                    map_of(key, value, self.offsets.clone(), Arc::clone(keys), Arc::clone(values), None)?
                }
                (other, _) => return Err(FunctionError::illegal_type(other, "with a lambda")),
            };
            arguments.push(Arg { array, is_constant: false, column_type: column_type.clone() });
        }
        Ok(arguments)
    }

    /// The steps of a fold over these elements.
    pub fn steps(&self) -> Steps<'_> {
        Steps { elements: self, place: 0, active: (0..self.rows()).collect() }
    }
}

fn entries(key: &ColumnType, value: &ColumnType, keys: &ArrayRef, values: &ArrayRef) -> Option<ArrayRef> {
    let ColumnType::Tuple(parts) = entry(key, value) else { return None };
    crate::columns::container::tuple_of(&parts, vec![Arc::clone(keys), Arc::clone(values)], None, keys.len())
        .ok()
}

/// The elements of an array or map of `rows` rows, those of other rows and of slices left out.
fn source(arg: &Arg, rows: usize) -> Result<(OffsetBuffer<i32>, Source), FunctionError> {
    let (offsets, columns) = match &arg.column_type {
        ColumnType::Array(_) => {
            let lists = arg.array.as_list::<i32>();
            (lists.offsets().clone(), vec![Arc::clone(lists.values())])
        }
        ColumnType::Map(..) => {
            let maps = arg.array.as_map();
            (maps.offsets().clone(), vec![Arc::clone(maps.keys()), Arc::clone(maps.values())])
        }
        other => return Err(FunctionError::illegal_type(other, "with a lambda")),
    };
    let column_type = arg.column_type.clone();
    if !arg.is_constant {
        let first = offsets.first().copied().unwrap_or(0);
        let (start, end) = (place_of(first), place_of(offsets.last().copied().unwrap_or(0)));
        let compact: Vec<i32> = offsets.iter().map(|at| at - first).collect();
        let columns = columns.iter().map(|column| column.slice(start, end - start)).collect();
        return Ok((OffsetBuffer::new(compact.into()), Source { column_type, columns }));
    }
    let own = range(&offsets, 0);
    if own.len().saturating_mul(rows) > ELEMENTS_MAX {
        let message = format!("{rows} rows of an array of {} elements are too many for a lambda", own.len());
        return Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message));
    }
    // Places in a buffer that grows by doubling, and the elements.
    let each = columns.iter().map(|column| row_bytes(&column.slice(own.start, own.len()))).sum::<usize>();
    let _taken =
        reserve("of a lambda", rows.saturating_mul(own.len().saturating_mul(16).saturating_add(each)))?;
    let places: UInt64Array = (0..rows).flat_map(|_| own.clone().map(u64_of)).collect::<Vec<_>>().into();
    let columns = columns.iter().map(|column| take(column, &places, None)).collect::<Result<_, _>>()?;
    Ok((OffsetBuffer::from_lengths(std::iter::repeat_n(own.len(), rows)), Source { column_type, columns }))
}

/// A fold, place by place: all rows that have an element there take one step together.
#[derive(Debug)]
pub struct Steps<'a> {
    elements: &'a Elements,
    place: usize,
    /// Rows that have not ended, in order.
    active: Vec<usize>,
}

impl Steps<'_> {
    /// Folds: `step` gets the rows, what they have folded so far and their elements, and answers with what they have
    /// folded then.
    pub fn fold<E: From<FunctionError>>(
        mut self,
        start: &ArrayRef,
        mut step: impl FnMut(&UInt64Array, ArrayRef, Vec<ArrayRef>) -> Result<ArrayRef, E>,
    ) -> Result<ArrayRef, E> {
        let parameters = self.elements.parameters();
        let offsets = &self.elements.offsets;
        let failed = |error: arrow::error::ArrowError| E::from(FunctionError::from(error));
        // What rows have folded that ended after so many steps.
        let mut ended: Vec<ArrayRef> = vec![];
        let mut found = vec![(0, 0); self.elements.rows()];
        let mut folded = Arc::clone(start);
        while !self.active.is_empty() {
            let (mut going, mut kept) = (vec![], vec![]);
            for (at, row) in self.active.iter().enumerate() {
                if range(offsets, *row).len() > self.place {
                    going.push(*row);
                    kept.push(u64_of(at));
                } else {
                    found[*row] = (ended.len(), at);
                }
            }
            if going.len() < self.active.len() {
                ended.push(Arc::clone(&folded));
                folded = take(&folded, &UInt64Array::from(kept), None).map_err(failed)?;
            }
            self.active = going;
            if self.active.is_empty() {
                break;
            }
            let rows: UInt64Array = self.active.iter().map(|row| u64_of(*row)).collect::<Vec<_>>().into();
            let places = self.active.iter().map(|row| u64_of(range(offsets, *row).start + self.place));
            let places: UInt64Array = places.collect::<Vec<_>>().into();
            let now = parameters.iter().map(|column| take(column, &places, None));
            let now = now.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            folded = step(&rows, folded, now)?;
            self.place += 1;
        }
        if ended.is_empty() {
            return Ok(folded);
        }
        let pieces: Vec<&dyn Array> = ended.iter().map(AsRef::as_ref).collect();
        interleave(&pieces, &found).map_err(failed)
    }
}
