//! Arrays as sets of their elements: what is in all of them, in any, in one only.
//!
//! Invariant: NULL is an element as any other; elements come in the order in which they are met first.

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use arrow::buffer::NullBuffer;
use arrow::compute::concat;
use arrow::datatypes::Field;
use arrow::row::{RowConverter, Rows, SortField};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::columns::container::range;
use crate::error::FunctionError;
use crate::kernel::alike::{self, WHOLE, number_supertype};
use crate::kernel::call::{ArgType, Call};
use crate::kernel::list::{gather, nan_flags, number_equality, unsigned_zeros};
use crate::kernel::registry::ScalarFunction;
use crate::kernel::rows::expanded;
use crate::kernel::types::{integer_shape, supertype};
use crate::memory::row_bytes::row_bytes;

/// What an element takes beside itself: its key in the converted rows, and where that begins.
const KEY_BYTES: usize = 32;

/// What an element of the row that is looked at takes: two places, and entries in two tables that double.
const TOLD_APART_BYTES: usize = 128;

/// All arguments in their common type: the elements of all of them, where those of each begin, and what tells
/// elements apart.
struct Operands {
    element: ColumnType,
    lists: Vec<ListArray>,
    constants: Vec<bool>,
    values: ArrayRef,
    starts: Vec<usize>,
    keys: Rows,
}

impl Operands {
    fn of(call: &Call<'_>, common: &ColumnType) -> Result<Self, FunctionError> {
        Self::told_apart(call, common, converted(call, common)?, Arc::clone)
    }

    /// 0 is told apart from -0 by nothing.
    fn of_numbers(call: &Call<'_>, common: &ColumnType) -> Result<Self, FunctionError> {
        Self::told_apart(call, common, converted(call, common)?, unsigned_zeros)
    }

    /// Numbers that no type holds beside each other, as whole ones.
    fn of_whole(call: &Call<'_>) -> Result<Self, FunctionError> {
        let caster = call.caster(crate::cast::CastMode::Strict);
        let list = |index: usize| {
            let lists = call.lists(index)?;
            let values = alike::whole(&caster, (lists.values(), &lists.element))?;
            let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            let nulls = lists.array.nulls().cloned();
            Ok(ListArray::try_new(field, lists.array.offsets().clone(), values, nulls)?)
        };
        let lists = (0..call.args.len()).map(list).collect::<Result<Vec<_>, FunctionError>>()?;
        Self::told_apart(call, &ColumnType::Array(Box::new(WHOLE.nullable())), lists, Arc::clone)
    }

    fn told_apart(
        call: &Call<'_>,
        common: &ColumnType,
        lists: Vec<ListArray>,
        by: fn(&ArrayRef) -> ArrayRef,
    ) -> Result<Self, FunctionError> {
        let ColumnType::Array(element) = common else {
            return Err(FunctionError::illegal_type(common, "of sets"));
        };
        let (mut starts, mut end) = (vec![], 0);
        for list in &lists {
            starts.push(end);
            end += list.values().len();
        }
        let constants = call.args.iter().map(|arg| arg.is_constant).collect();
        let columns: Vec<&dyn Array> = lists.iter().map(|list| list.values().as_ref()).collect();
        let longest = lists.iter().map(|list| list.offsets().lengths().max().unwrap_or(0)).sum();
        reserve_keys(call, (end, longest), lists.iter().map(|list| row_bytes(list.values())))?;
        let values = concat(&columns)?;
        let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
        let keys = converter.convert_columns(&[by(&values)])?;
        Ok(Self { element: (**element).clone(), lists, constants, values, starts, keys })
    }

    /// The places of an argument's elements in `values`.
    fn places(&self, argument: usize, row: usize) -> std::ops::Range<usize> {
        let row = if self.constants[argument] { 0 } else { row };
        let own = range(self.lists[argument].value_offsets(), row);
        own.start + self.starts[argument]..own.end + self.starts[argument]
    }

    /// In how many arguments each element of a row is, and the elements in the order they are met in.
    fn counted(&self, row: usize) -> (HashMap<&[u8], usize>, Vec<usize>) {
        let (mut counts, mut order) = (HashMap::new(), vec![]);
        for argument in 0..self.lists.len() {
            let mut seen = HashSet::new();
            for at in self.places(argument, row) {
                let key = self.keys.row(at).data();
                if seen.insert(key) {
                    let count = counts.entry(key).or_insert(0);
                    if *count == 0 {
                        order.push(at);
                    }
                    *count += 1;
                }
            }
        }
        (counts, order)
    }
}

/// Asks for what telling so many elements apart takes, at most `longest` of a row, of so many bytes: they are copied, and
/// written as keys.
fn reserve_keys(
    call: &Call<'_>,
    (elements, longest): (usize, usize),
    bytes: impl Iterator<Item = usize>,
) -> Result<(), FunctionError> {
    let bytes = bytes.fold(0, usize::saturating_add).saturating_mul(2);
    let keys = elements.saturating_mul(KEY_BYTES).saturating_add(longest.saturating_mul(TOLD_APART_BYTES));
    call.reserve(keys.saturating_add(bytes))
}

/// All arguments in one type of arrays.
fn converted(call: &Call<'_>, common: &ColumnType) -> Result<Vec<ListArray>, FunctionError> {
    let list = |index: usize| Ok(call.converted(index, common)?.as_list::<i32>().clone());
    (0..call.args.len()).map(list).collect()
}

/// The type that all arguments are compared in.
fn compared_type(call: &Call<'_>) -> Result<ColumnType, FunctionError> {
    number_supertype(&call.args.iter().map(|arg| &arg.column_type).collect::<Vec<_>>())
}

fn common_type(name: &'static str) -> impl Fn(&[ArgType]) -> Result<ColumnType, FunctionError> + Send + Sync {
    move |args| {
        for arg in args {
            if !matches!(arg.column_type, ColumnType::Array(_)) {
                return Err(FunctionError::illegal_type(&arg.column_type, name));
            }
        }
        supertype(args.iter().map(|arg| &arg.column_type))
    }
}

/// The elements that are in so many of the arguments.
fn chosen(call: &Call<'_>, wanted: impl Fn(usize, usize) -> bool) -> Result<ArrayRef, FunctionError> {
    let operands = Operands::of(call, call.result_type)?;
    gather(call, &operands.element, &operands.values, |row, out| {
        let (counts, order) = operands.counted(row);
        let is_wanted = |at: &usize| {
            counts.get(operands.keys.row(*at).data()).is_some_and(|count| wanted(*count, call.args.len()))
        };
        out.extend(order.into_iter().filter(is_wanted).map(u64_of));
        Ok(())
    })
}

/// What is in all arguments fits the type of elements that fits all of theirs, if one of them does, and of numbers otherwise the
/// smallest type of integers.
fn intersect_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    let name = "arrayIntersect";
    let elements: Vec<&ColumnType> = args
        .iter()
        .map(|arg| match &arg.column_type {
            ColumnType::Array(element) => Ok(&**element),
            other => Err(FunctionError::illegal_type(other, name)),
        })
        .collect::<Result<_, _>>()?;
    let plain = |element: &ColumnType| element.value_type().clone();
    let nullable = elements.iter().all(|element| element.is_nullable());
    let element = match common_type(name)(args) {
        Ok(ColumnType::Array(widest)) => {
            let fits = |narrow: &ColumnType, wide: &ColumnType| {
                supertype([narrow, wide]).is_ok_and(|both| both == *wide)
            };
            let narrowest =
                elements.iter().find(|narrow| elements.iter().all(|wide| fits(&plain(narrow), &plain(wide))));
            let smallest = || smallest_integer(&elements).unwrap_or_else(|| plain(&widest));
            narrowest.map_or_else(smallest, |narrowest| plain(narrowest))
        }
        Ok(other) => return Ok(other),
        Err(error) => match smallest_integer(&elements) {
            Some(smallest) => smallest,
            None => return Err(error),
        },
    };
    Ok(ColumnType::Array(Box::new(if nullable { element.nullable() } else { element })))
}

/// The smallest type of integers among types of numbers of a machine.
fn smallest_integer(elements: &[&ColumnType]) -> Option<ColumnType> {
    let are_numbers = elements.iter().all(|element| alike::are_machine_numbers(element, element));
    let plain = elements.iter().map(|element| element.value_type());
    let smallest =
        plain.filter(|plain| integer_shape(plain).is_some()).min_by_key(|plain| integer_shape(plain));
    smallest.filter(|_| are_numbers).cloned()
}

fn intersect(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let ColumnType::Array(element) = call.result_type else {
        return Err(FunctionError::illegal_type(call.result_type, "arrayIntersect"));
    };
    let operands = match compared_type(call) {
        // As whole numbers 0 and -0 are one.
        Ok(common) if integer_shape(element.value_type()).is_some() => Operands::of_numbers(call, &common)?,
        Ok(common) => Operands::of(call, &common)?,
        Err(_) => Operands::of_whole(call)?,
    };
    let lists = gather(call, &operands.element, &operands.values, |row, out| {
        let (counts, order) = operands.counted(row);
        let in_all = |at: &usize| counts.get(operands.keys.row(*at).data()) == Some(&call.args.len());
        out.extend(order.into_iter().filter(in_all).map(u64_of));
        Ok(())
    })?;
    if operands.element == **element {
        return Ok(lists);
    }
    let strict = call.caster(crate::cast::CastMode::Strict);
    Ok(strict.column(&lists, &ColumnType::Array(Box::new(operands.element)), call.result_type)?)
}

fn jaccard(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let common = compared_type(call)?;
    let operands = Operands::of(call, &common)?;
    call.each::<arrow::datatypes::Float64Type>(|row| {
        let (counts, order) = operands.counted(row);
        let both = counts.values().filter(|count| **count == 2).count();
        let float = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        Ok(float(both) / float(order.len()))
    })
}

/// The first array without the elements of the second.
fn except(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let common = compared_type(call)?;
    let operands = Operands::of(call, &common)?;
    let lists = call.lists(0)?;
    gather(call, &lists.element, lists.values(), |row, out| {
        let removed: HashSet<&[u8]> =
            operands.places(1, row).map(|at| operands.keys.row(at).data()).collect();
        let kept = |at: &usize| !removed.contains(operands.keys.row(*at + operands.starts[0]).data());
        out.extend(lists.range(row).filter(kept).map(u64_of));
        Ok(())
    })
}

fn except_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    common_type("arrayExcept")(args)?;
    Ok(args[0].column_type.clone())
}

fn remove_type(args: &[ArgType]) -> Result<ColumnType, FunctionError> {
    match &args[0].column_type {
        ColumnType::Array(element) => {
            alike::check(element, &args[1].column_type)?;
            Ok(args[0].column_type.clone())
        }
        other => Err(FunctionError::illegal_type(other, "arrayRemove")),
    }
}

/// The array without one value.
fn remove(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let lists = call.lists(0)?;
    let (elements, values) = super::contain::compared(call)?;
    let equal = number_equality(&elements, &values)?;
    let unwanted = call.arg(1)?;
    // Whether a tuple equals one that holds a NULL is not known, so nothing is removed for it.
    let unknown = nulls_within(&values);
    let is_unknown = |row: usize| unknown.as_ref().is_some_and(|nulls| nulls.is_null(row));
    gather(call, &lists.element, lists.values(), |row, out| {
        let value = unwanted.row(row);
        let kept = |at: &usize| is_unknown(value) || !equal(*at, value);
        out.extend(lists.range(row).filter(kept).map(u64_of));
        Ok(())
    })
}

/// Which tuples have a NULL as an element, or as one of a tuple in them.
fn nulls_within(tuples: &ArrayRef) -> Option<NullBuffer> {
    let mut nulls = None;
    for element in tuples.as_struct_opt()?.columns() {
        nulls = NullBuffer::union(nulls.as_ref(), element.logical_nulls().as_ref());
        nulls = NullBuffer::union(nulls.as_ref(), nulls_within(element).as_ref());
    }
    nulls
}

/// Whether the second array stands in the first as it is.
fn has_substring(call: &Call<'_>) -> Result<ArrayRef, FunctionError> {
    let common = compared_type(call)?;
    let operands = Operands::of_numbers(call, &common)?;
    let nan = nan_flags(&operands.values);
    let is_nan = |at: usize| nan.as_ref().is_some_and(|nan| nan[at]);
    call.each_flag(|row| {
        let (whole, part) = (operands.places(0, row), operands.places(1, row));
        let same = |start: usize| {
            part.clone()
                .enumerate()
                .all(|(step, at)| !is_nan(at) && operands.keys.row(start + step) == operands.keys.row(at))
        };
        part.is_empty() || (whole.start..(whole.end + 1).saturating_sub(part.len())).any(same)
    })
}

/// Tells elements of one column apart, several columns taken together.
pub(super) fn keys_of(call: &Call<'_>) -> Result<(Rows, Vec<usize>), FunctionError> {
    let mut columns = Vec::with_capacity(call.args.len());
    let mut lengths: Option<Vec<usize>> = None;
    for arg in call.args {
        let array = expanded(arg, call.rows)?;
        let list = array.as_list::<i32>();
        let own: Vec<usize> = (0..call.rows).map(|row| range(list.value_offsets(), row).len()).collect();
        if lengths.as_ref().is_some_and(|known| *known != own) {
            let message = "lengths of all arrays passed to a function of several arrays must be equal";
            return Err(FunctionError::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
        lengths = Some(own);
        let (start, end) = match (list.value_offsets().first(), list.value_offsets().last()) {
            (Some(first), Some(last)) => (usize::try_from(*first), usize::try_from(*last)),
            _ => (Ok(0), Ok(0)),
        };
        let (start, end) = (start.unwrap_or(0), end.unwrap_or(0));
        columns.push(list.values().slice(start, end - start));
    }
    let lengths = lengths.unwrap_or_default();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    reserve_keys(call, (lengths.iter().sum(), longest), columns.iter().map(row_bytes))?;
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let keys = RowConverter::new(fields)?.convert_columns(&columns)?;
    Ok((keys, lengths))
}

pub(super) fn functions() -> Vec<ScalarFunction> {
    let many = 1..=usize::MAX;
    let same = |name: &'static str| common_type(name);
    let flag = |name: &'static str, result: ColumnType| {
        move |args: &[ArgType]| common_type(name)(args).map(|_| result.clone())
    };
    vec![
        ScalarFunction::new("arrayIntersect", many.clone(), intersect_type, intersect).doc(
            "arrayIntersect(a, b, ...)",
            "The different elements that are in all arrays.",
            "arrayIntersect([1, 2], [2, 3]) -> [2]",
        ),
        ScalarFunction::new("arrayUnion", many.clone(), same("arrayUnion"), |call| chosen(call, |_, _| true))
            .doc(
                "arrayUnion(a, b, ...)",
                "The different elements that are in any of the arrays.",
                "arrayUnion([1, 2], [2, 3]) -> [1,2,3]",
            ),
        ScalarFunction::new("arraySymmetricDifference", many, same("arraySymmetricDifference"), |call| {
            chosen(call, |count, all| count < all)
        })
        .doc(
            "arraySymmetricDifference(a, b, ...)",
            "The different elements that are not in all of the arrays.",
            "arraySymmetricDifference([1, 2], [2, 3]) -> [1,3]",
        ),
        ScalarFunction::new("arrayExcept", 2..=2, except_type, except).doc(
            "arrayExcept(a, b)",
            "The elements of the first array that are not in the second.",
            "arrayExcept([1, 2, 3, 2], [2]) -> [1,3]",
        ),
        ScalarFunction::new(
            "arrayJaccardIndex",
            2..=2,
            flag("arrayJaccardIndex", ColumnType::Float64),
            jaccard,
        )
        .doc(
            "arrayJaccardIndex(a, b)",
            "How many elements are in both arrays, of those in any.",
            "arrayJaccardIndex([1, 2], [2, 3]) -> 0.3333333333333333",
        ),
        ScalarFunction::new("arrayRemove", 2..=2, remove_type, remove)
            .own_nulls()
            .any_case()
            .aliases(&["array_remove"])
            .doc(
                "arrayRemove(array, x)",
                "The array without the elements that equal x.",
                "arrayRemove([1, 2, 1], 1) -> [2]",
            ),
        ScalarFunction::new("hasSubstr", 2..=2, flag("hasSubstr", ColumnType::UInt8), has_substring).doc(
            "hasSubstr(array, other)",
            "Whether the other array stands in the first one, element by element.",
            "hasSubstr([1, 2, 3], [2, 3]) -> 1",
        ),
    ]
}
