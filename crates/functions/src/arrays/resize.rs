//! Arrays of another size: resized, repeated, with one more element, of any size at all.
//!
//! Invariant: what is put in is the default of the element's type, unless another value is given.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use arrow::compute::{concat, take};
use arrow::datatypes::UInt64Type;
use model::saturating::{u64_of, usize_of};
use model::{ColumnType, ErrorCode};

use crate::cast::{CastMode, default_array};
use crate::columns::container::{list_of, offsets_of, range, tuple_of, unnamed};
use crate::error::FunctionError;
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::{Lists, gather};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::types::{contained, supertype};
use crate::memory::row_bytes::row_bytes;

/// A place that may be none.
const PLACE_BYTES: usize = std::mem::size_of::<Option<u64>>();

/// Most elements an array is made of out of nothing, as in ClickHouse.
const ELEMENTS_MAX: usize = 1 << 30;

pub(super) fn size_of(n: i64) -> usize {
    usize_of(n.unsigned_abs())
}

pub(super) fn element_of<'a>(
    args: &'a [ArgType],
    index: usize,
    name: &str,
) -> Result<&'a ColumnType, FunctionError> {
    match args.get(index).map(|arg| &arg.column_type) {
        Some(ColumnType::Array(element)) => Ok(element),
        Some(other) => Err(FunctionError::illegal_type(other, name)),
        None => Err(FunctionError::bad_argument(format!("function {name} needs an array"))),
    }
}

pub(super) fn integer(args: &[ArgType], index: usize, name: &str) -> Result<(), FunctionError> {
    match args.get(index).map(|arg| &arg.column_type) {
        Some(found) if !found.value_type().is_integer() => Err(FunctionError::illegal_type(found, name)),
        _ => Ok(()),
    }
}

/// The array of argument 0 with the value of another argument, or the default, among its elements.
pub(super) struct Filled {
    pub(super) lists: Lists,
    /// The elements, then what is filled in.
    pub(super) values: ArrayRef,
    elements: usize,
    filler_is_constant: bool,
}

impl Filled {
    pub(super) fn of(
        call: &Call<'_>,
        filler: Option<usize>,
        default: fn(&ColumnType, usize) -> ArrayRef,
    ) -> Result<Self, FunctionError> {
        let ColumnType::Array(element) = call.result_type else {
            return Err(FunctionError::illegal_type(call.result_type, "that fills an array"));
        };
        let caster = call.caster(CastMode::Strict);
        let lists = call.lists(0)?;
        let own = caster.column(lists.values(), &lists.element, element)?;
        let (filling, filler_is_constant) = match filler {
            Some(index) => {
                let arg = call.arg(index)?;
                (caster.column(&arg.array, &arg.column_type, element)?, arg.is_constant)
            }
            None => (default(element, 1), true),
        };
        let values = concat(&[own.as_ref(), filling.as_ref()])?;
        Ok(Self { lists, values, elements: own.len(), filler_is_constant })
    }

    pub(super) fn filler(&self, row: usize) -> u64 {
        u64_of(self.elements + if self.filler_is_constant { 0 } else { row })
    }
}

fn resize_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let element = element_of(args, 0, "arrayResize")?;
    integer(args, 1, "arrayResize")?;
    let filled = match args.get(2) {
        Some(filler) => supertype([element, &contained(filler.column_type.clone())])?,
        None => element.clone(),
    };
    Ok(ColumnType::Array(Box::new(filled)))
}

fn resize(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayResize"));
    };
    let filled = Filled::of(call, (call.args.len() > 2).then_some(2), default_array)?;
    let sizes = call.ints(1)?;
    gather(call, element, &filled.values, |row, out| {
        let (own, size) = (filled.lists.range(row), sizes.get(row));
        let wanted = size_of(size);
        check_size(wanted, "arrayResize")?;
        let missing = wanted.saturating_sub(own.len());
        call.reserve_indices(wanted)?;
        let fill = std::iter::repeat_n(filled.filler(row), missing);
        if size < 0 {
            out.extend(fill);
            out.extend((own.end - wanted.min(own.len())..own.end).map(u64_of));
        } else {
            out.extend((own.start..own.start + wanted.min(own.len())).map(u64_of));
            out.extend(fill);
        }
        Ok(())
    })
}

fn check_size(size: usize, name: &str) -> Result<(), FunctionError> {
    if size <= ELEMENTS_MAX {
        return Ok(());
    }
    let message = format!("too large array size {size} in function {name}: at most {ELEMENTS_MAX} are made");
    Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message))
}

/// Most bytes of an array of one element, as in ClickHouse, where a text has eight beside its own.
const CONSTANT_BYTES_MAX: usize = 1 << 30;

fn check_bytes(count: usize, one: &ArrayRef) -> Result<(), FunctionError> {
    let bytes = one.as_string_view_opt().map_or_else(|| row_bytes(one), |text| text.value(0).len() + 8);
    if count.saturating_mul(bytes) <= CONSTANT_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "array size {count} with element size {bytes} bytes is too large: while executing function arrayWithConstant"
    );
    Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message))
}

fn with_constant_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    integer(args, 0, "arrayWithConstant")?;
    Ok(ColumnType::Array(Box::new(contained(args[1].column_type.clone()))))
}

fn with_constant(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayWithConstant"));
    };
    let (sizes, value) = (call.ints(0)?, call.arg(1)?);
    let values = call.caster(CastMode::Strict).column(&value.array, &value.column_type, element)?;
    gather(call, element, &values, |row, out| {
        let size = sizes.get(row);
        let Ok(count) = usize::try_from(size) else {
            let message =
                format!("array size {size} cannot be negative: while executing function arrayWithConstant");
            return Err(FunctionError::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message));
        };
        check_size(out.len().saturating_add(count), "arrayWithConstant")?;
        check_bytes(count, &values.slice(value.row(row), 1))?;
        call.reserve_indices(count)?;
        out.extend(std::iter::repeat_n(u64_of(value.row(row)), count));
        Ok(())
    })
}

/// The first argument as often as the arrays have elements.
fn replicate(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "replicate"));
    };
    let (value, lists) = (call.arg(0)?, call.lists(1)?);
    let values = call.caster(CastMode::Strict).column(&value.array, &value.column_type, element)?;
    gather(call, element, &values, |row, out| {
        call.reserve_indices(lists.range(row).len())?;
        out.extend(std::iter::repeat_n(u64_of(value.row(row)), lists.range(row).len()));
        Ok(())
    })
}

fn pushed_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        element_of(args, 0, name)?;
        // As arrays, because the empty one takes any element.
        let pushed = ColumnType::Array(Box::new(contained(args[1].column_type.clone())));
        supertype([&args[0].column_type, &pushed])
    }
}

fn push(call: &Call<'_>, in_front: bool) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayPushBack"));
    };
    let filled = Filled::of(call, Some(1), default_array)?;
    gather(call, element, &filled.values, |row, out| {
        let own = filled.lists.range(row).map(u64_of);
        if in_front {
            out.extend(std::iter::once(filled.filler(row)).chain(own));
        } else {
            out.extend(own.chain(std::iter::once(filled.filler(row))));
        }
        Ok(())
    })
}

fn single(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "emptyArrayToSingle"));
    };
    let filled = Filled::of(call, None, default_array)?;
    gather(call, element, &filled.values, |row, out| {
        let own = filled.lists.range(row);
        if own.is_empty() {
            out.push(filled.filler(row));
        }
        out.extend(own.map(u64_of));
        Ok(())
    })
}

/// How many elements are in all the arrays that are nested.
fn flattened_length(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    fn count(array: &ArrayRef, column_type: &ColumnType, own: Range<usize>) -> usize {
        match column_type {
            ColumnType::Array(element) => {
                let lists = array.as_list::<i32>();
                own.map(|at| count(lists.values(), element, range(lists.value_offsets(), at))).sum()
            }
            _ => own.len(),
        }
    }
    let arg = call.arg(0)?;
    call.each::<UInt64Type>(|row| {
        let at = arg.row(row);
        Ok(u64_of(count(&arg.array, &arg.column_type, at..at + 1)))
    })
}

fn unaligned_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let mut parts = vec![];
    for index in 0..args.len() {
        parts.push(element_of(args, index, "arrayZipUnaligned")?.clone().nullable());
    }
    Ok(ColumnType::Array(Box::new(unnamed(parts))))
}

fn zip_unaligned(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(pair) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayZipUnaligned"));
    };
    let ColumnType::Tuple(parts) = &**pair else {
        return Err(FunctionError::illegal_type(pair, "arrayZipUnaligned"));
    };
    let lists = (0..call.args.len()).map(|index| call.lists(index)).collect::<Result<Vec<_>, _>>()?;
    let lengths: Vec<usize> =
        (0..call.rows).map(|row| lists.iter().map(|list| list.range(row).len()).max().unwrap_or(0)).collect();
    let all = lengths.iter().sum();
    let mut columns = vec![];
    for (list, part) in lists.iter().zip(parts) {
        // Places that say whether there is one, and the same as a column; then what they show, and its type's copy of that.
        let own = row_bytes(list.values()) / list.values().len().max(1);
        call.reserve_indices(all)?;
        call.reserve(all.saturating_mul(own.saturating_mul(2).saturating_add(PLACE_BYTES)))?;
        let mut places: Vec<Option<u64>> = Vec::with_capacity(all);
        for (row, length) in lengths.iter().enumerate() {
            let own = list.range(row);
            places.extend((0..*length).map(|step| (step < own.len()).then(|| u64_of(own.start + step))));
        }
        let taken = take(list.values(), &UInt64Array::from(places), None)?;
        columns.push(arrow::compute::cast(&taken, &model::type_arrow::to_data_type(&part.column_type))?);
    }
    let tuples = tuple_of(parts, columns, None, all)?;
    Ok(list_of(pair, offsets_of(lengths), tuples, None)?)
}

macro_rules! empty {
    ($name:literal, $element:expr) => {
        ($name, concat!($name, "()"), concat!($name, "() -> []"), $element)
    };
}

const EMPTY: &[(&str, &str, &str, ColumnType)] = &[
    empty!("emptyArrayUInt8", ColumnType::UInt8),
    empty!("emptyArrayUInt16", ColumnType::UInt16),
    empty!("emptyArrayUInt32", ColumnType::UInt32),
    empty!("emptyArrayUInt64", ColumnType::UInt64),
    empty!("emptyArrayInt8", ColumnType::Int8),
    empty!("emptyArrayInt16", ColumnType::Int16),
    empty!("emptyArrayInt32", ColumnType::Int32),
    empty!("emptyArrayInt64", ColumnType::Int64),
    empty!("emptyArrayFloat32", ColumnType::Float32),
    empty!("emptyArrayFloat64", ColumnType::Float64),
    empty!("emptyArrayDate", ColumnType::Date),
    empty!("emptyArrayDateTime", ColumnType::DateTime { time_zone: None }),
    empty!("emptyArrayString", ColumnType::String),
];

pub(super) fn functions() -> Vec<ScalarFunction> {
    let mut all: Vec<ScalarFunction> = EMPTY
        .iter()
        .map(|(name, signature, example, element)| {
            let result = ColumnType::Array(Box::new(element.clone()));
            let kernel = |call: &Call<'_>| Ok(default_array(call.result_type, call.rows));
            ScalarFunction::new(name, 0..=0, move |_| Ok(result.clone()), kernel).doc(
                signature,
                "An empty array of elements of this type.",
                example,
            )
        })
        .collect();
    all.extend(sized());
    all
}

fn sized() -> Vec<ScalarFunction> {
    vec![
        ScalarFunction::new("arrayResize", 2..=3, resize_type, resize).own_nulls().doc(
            "arrayResize(array, size[, filler])",
            "The array cut or filled to a size; a negative one works from the end.",
            "arrayResize([1, 2], 3, 7) -> [1,2,7]",
        ),
        ScalarFunction::new("arrayWithConstant", 2..=2, with_constant_type, with_constant).own_nulls().doc(
            "arrayWithConstant(size, x)",
            "An array of so many times x.",
            "arrayWithConstant(2, 'a') -> ['a','a']",
        ),
        ScalarFunction::new(
            "replicate",
            2..=usize::MAX,
            |args| {
                element_of(args, 1, "replicate")?;
                Ok(ColumnType::Array(Box::new(contained(args[0].column_type.clone()))))
            },
            replicate,
        )
        .own_nulls()
        .doc(
            "replicate(x, array, ...)",
            "An array of x as often as the array has elements.",
            "replicate(1, ['a', 'b']) -> [1,1]",
        ),
        ScalarFunction::new("arrayPushBack", 2..=2, pushed_type("arrayPushBack"), |call| push(call, false))
            .own_nulls()
            .doc("arrayPushBack(array, x)", "The array with x behind it.", "arrayPushBack([1], 2) -> [1,2]"),
        ScalarFunction::new("arrayPushFront", 2..=2, pushed_type("arrayPushFront"), |call| push(call, true))
            .own_nulls()
            .doc(
                "arrayPushFront(array, x)",
                "The array with x in front of it.",
                "arrayPushFront([1], 2) -> [2,1]",
            ),
        ScalarFunction::new(
            "emptyArrayToSingle",
            1..=1,
            |args| element_of(args, 0, "emptyArrayToSingle").map(|_| args[0].column_type.clone()),
            single,
        )
        .doc(
            "emptyArrayToSingle(array)",
            "An array of the default value instead of an empty one.",
            "emptyArrayToSingle([1]) -> [1]",
        ),
        ScalarFunction::new(
            "arrayFlattenedLength",
            1..=1,
            |args| element_of(args, 0, "arrayFlattenedLength").map(|_| ColumnType::UInt64),
            flattened_length,
        )
        .doc(
            "arrayFlattenedLength(array)",
            "How many elements are in the arrays that are nested.",
            "arrayFlattenedLength([[1], [2, 3]]) -> 3",
        ),
        ScalarFunction::new("arrayZipUnaligned", 1..=usize::MAX, unaligned_type, zip_unaligned).doc(
            "arrayZipUnaligned(a, b, ...)",
            "Tuples of the elements at the same place, with NULL where an array has ended.",
            "arrayZipUnaligned([1, 2], ['a']) -> [(1,'a'),(2,NULL)]",
        ),
    ]
}
