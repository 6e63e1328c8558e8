//! Kernels over lists: taking, joining, reversing, sorting elements of each row.
//!
//! Invariant: elements are never copied one by one as values; a kernel makes a list of indices and gathers once.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DynComparator, ListArray, StructArray, UInt64Array, make_comparator,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, concat, take};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use model::ColumnType;
use model::saturating::u64_of;

use crate::columns::container::{list_of, offsets_of, range};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, Call};

/// The lists of an argument.
pub(crate) struct Lists {
    pub(crate) array: ListArray,
    pub(crate) element: ColumnType,
    is_constant: bool,
}

impl Lists {
    /// Where the elements of a row are in [`Self::values`].
    pub(crate) fn range(&self, row: usize) -> std::ops::Range<usize> {
        range(self.array.value_offsets(), if self.is_constant { 0 } else { row })
    }

    pub(crate) fn values(&self) -> &ArrayRef {
        self.array.values()
    }
}

impl Call<'_> {
    /// An argument that is an Array.
    pub(crate) fn lists(&self, index: usize) -> Result<Lists, FunctionError> {
        let arg = self.arg(index)?;
        match &arg.column_type {
            ColumnType::Array(element) => Ok(Lists {
                array: arg.array.as_list::<i32>().clone(),
                element: (**element).clone(),
                is_constant: arg.is_constant,
            }),
            other => Err(FunctionError::illegal_type(other, "that takes an array")),
        }
    }
}

/// Bytes of an index in a buffer that grows by doubling.
const INDEX_BYTES: usize = 16;

/// Bytes that an element takes in the result, on average.
fn element_bytes(values: &ArrayRef) -> usize {
    match values.data_type().primitive_width() {
        Some(width) => width,
        // A view, and of texts the bytes stay where they are.
        None if values.as_string_view_opt().is_some() => 16,
        None => values.get_array_memory_size() / values.len().max(1),
    }
}

impl Call<'_> {
    /// Asks for the indices of elements that a pick of [`gather`] makes in one go, in front of all others.
    pub(crate) fn reserve_indices(&self, elements: usize) -> Result<(), FunctionError> {
        self.allowance.check_elements(elements)?;
        self.reserve(elements.saturating_mul(INDEX_BYTES))
    }
}

/// Lists of the elements that `pick` names for each row, by their place in `values`.
pub(crate) fn gather(
    call: &Call<'_>,
    element: &ColumnType,
    values: &ArrayRef,
    mut pick: impl FnMut(usize, &mut Vec<u64>) -> Result<(), FunctionError>,
) -> Result<ArrayRef, FunctionError> {
    let mut indices = Vec::new();
    let mut lengths = Vec::with_capacity(call.rows);
    let each = element_bytes(values);
    for row in 0..call.rows {
        let before = indices.len();
        if !call.is_null(row) {
            pick(row, &mut indices)?;
        }
        let picked = indices.len() - before;
        call.reserve(picked.saturating_mul(each))?;
        call.allowance.check_elements(indices.len())?;
        lengths.push(picked);
    }
    let taken = take(values, &UInt64Array::from(indices), None)?;
    Ok(list_of(element, offsets_of(lengths), taken, None)?)
}

/// The order of elements within one list.
pub(crate) fn element_order(values: &ArrayRef) -> Result<DynComparator, FunctionError> {
    Ok(make_comparator(values, values, SortOptions { descending: false, nulls_first: false })?)
}

/// The order of elements within their lists: NULL and NaN last in both directions, NULL inside of tuples and arrays, too.
pub(crate) struct ElementOrder {
    values: ArrayRef,
    order: DynComparator,
    falling: DynComparator,
    nan: Option<Vec<bool>>,
}

impl ElementOrder {
    pub(crate) fn new(values: &ArrayRef) -> Result<Self, FunctionError> {
        let (order, nan) = (element_order(values)?, nan_flags(values));
        let falling = make_comparator(values, values, SortOptions { descending: true, nulls_first: false })?;
        Ok(Self { values: Arc::clone(values), order, falling, nan })
    }

    /// Places in order; with a limit only so many of them, the others as they were.
    pub(crate) fn sorted(
        &self,
        own: std::ops::Range<usize>,
        descending: bool,
        limit: Option<usize>,
    ) -> Vec<usize> {
        let mut places: Vec<usize> = own.collect();
        places.sort_by(|a, b| self.compare(*a, *b, descending));
        match limit {
            Some(limit) if limit > 0 && limit < places.len() => places[limit..].sort_unstable(),
            _ => {}
        }
        places
    }

    fn compare(&self, a: usize, b: usize, descending: bool) -> Ordering {
        let is_last = |at: usize| self.values.is_null(at) || self.nan.as_ref().is_some_and(|nan| nan[at]);
        match (is_last(a), is_last(b)) {
            (false, false) if descending => (self.falling)(a, b),
            (false, false) => (self.order)(a, b),
            (true, true) => self.values.is_null(a).cmp(&self.values.is_null(b)),
            (a_last, b_last) => a_last.cmp(&b_last),
        }
    }
}

/// Equality of an element of one column and an element of another; NULL equals NULL.
pub(crate) fn equality(
    a: &ArrayRef,
    b: &ArrayRef,
) -> Result<impl Fn(usize, usize) -> bool + use<>, FunctionError> {
    let order = make_comparator(a, b, SortOptions { descending: false, nulls_first: false })?;
    Ok(move |x, y| order(x, y) == Ordering::Equal)
}

/// As [`equality`], as numbers are equal: NaN equals nothing, and 0 has no sign.
pub(crate) fn number_equality(
    a: &ArrayRef,
    b: &ArrayRef,
) -> Result<impl Fn(usize, usize) -> bool + use<>, FunctionError> {
    let (a, b) = (unsigned_zeros(a), unsigned_zeros(b));
    let (nan, equal) = (nan_flags(&a), equality(&a, &b)?);
    Ok(move |x: usize, y: usize| equal(x, y) && !nan.as_ref().is_some_and(|nan| nan[x]))
}

/// Floats in which -0 is 0 and every NaN the same; also those inside of arrays and tuples.
pub fn unsigned_zeros(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            let plain = |x: f64| if x.is_nan() { f64::NAN } else { x + 0.0 };
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(plain))
        }
        DataType::Float32 => {
            let plain = |x: f32| if x.is_nan() { f32::NAN } else { x + 0.0 };
            Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(plain))
        }
        DataType::List(field) => {
            let list = array.as_list::<i32>();
            let values = unsigned_zeros(list.values());
            let made =
                ListArray::try_new(Arc::clone(field), list.offsets().clone(), values, list.nulls().cloned());
            made.map_or_else(|_| Arc::clone(array), |list| Arc::new(list))
        }
        DataType::Struct(fields) => {
            let parts = array.as_struct();
            let columns = parts.columns().iter().map(unsigned_zeros).collect();
            let made = StructArray::try_new(fields.clone(), columns, parts.nulls().cloned());
            made.map_or_else(|_| Arc::clone(array), |parts| Arc::new(parts))
        }
        _ => Arc::clone(array),
    }
}

/// The entries of a map argument that `pick` names for each row: their offsets, keys and values.
pub(crate) fn take_entries(
    call: &Call<'_>,
    map: &Arg,
    mut pick: impl FnMut(usize, std::ops::Range<usize>, &mut Vec<u64>),
) -> Result<(OffsetBuffer<i32>, ArrayRef, ArrayRef), FunctionError> {
    let entries = map.array.as_map();
    let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(call.rows));
    let each = element_bytes(entries.keys()) + element_bytes(entries.values()) + INDEX_BYTES;
    for row in 0..call.rows {
        let (before, own) = (places.len(), range(entries.value_offsets(), map.row(row)));
        // Entries of one map are shared by all rows where it is a constant.
        call.reserve(own.len().saturating_mul(each))?;
        call.allowance.check_elements(before.saturating_add(own.len()))?;
        pick(row, own, &mut places);
        lengths.push(places.len() - before);
    }
    let places = UInt64Array::from(places);
    let (keys, values) = (take(entries.keys(), &places, None)?, take(entries.values(), &places, None)?);
    Ok((offsets_of(lengths), keys, values))
}

pub(crate) fn reverse_lists(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    gather(call, &lists.element, lists.values(), |row, out| {
        out.extend(lists.range(row).rev().map(u64_of));
        Ok(())
    })
}

/// All arguments, each an array, as one array per row.
pub(crate) fn concat_lists(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayConcat"));
    };
    let mut sources = Vec::with_capacity(call.args.len());
    let mut columns = Vec::with_capacity(call.args.len());
    let mut base = 0;
    for index in 0..call.args.len() {
        let lists = Lists {
            array: call.converted(index, call.result_type)?.as_list::<i32>().clone(),
            element: (**element).clone(),
            is_constant: call.arg(index)?.is_constant,
        };
        columns.push(Arc::clone(lists.values()));
        let own = base;
        base += lists.values().len();
        sources.push((lists, own));
    }
    let views: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
    let values = concat(&views)?;
    gather(call, element, &values, |row, out| {
        for (lists, base) in &sources {
            out.extend(lists.range(row).map(|at| u64_of(at + base)));
        }
        Ok(())
    })
}

/// Which elements are NaN; `None` where the type has none.
pub(crate) fn nan_flags(values: &ArrayRef) -> Option<Vec<bool>> {
    if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
        return Some(floats.values().iter().map(|value| value.is_nan()).collect());
    }
    let floats = values.as_primitive_opt::<Float32Type>()?;
    Some(floats.values().iter().map(|value| value.is_nan()).collect())
}
