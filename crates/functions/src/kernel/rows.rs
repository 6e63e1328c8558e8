//! Reading arguments and building results row by row.
//!
//! Invariant: rows that are NULL because an argument is are never handed to a function; they hold a default. Arguments
//! are converted once per call, as columns.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, PrimitiveArray, StringViewArray,
    StringViewBuilder, UInt8Array,
};
use arrow::buffer::{BooleanBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowPrimitiveType, Float64Type, Int64Type, UInt8Type};
use model::{ColumnType, raw_text};

use crate::cast::{CastMode, Caster};
use crate::error::FunctionError;
use crate::kernel::call::{Arg, ArgType, Call};
use crate::kernel::fixed_text::with_padding;

/// A text argument.
pub(crate) struct Texts {
    pub(crate) array: StringViewArray,
    is_constant: bool,
}

impl Texts {
    /// The text; a FixedString has its zero bytes.
    pub(crate) fn get(&self, row: usize) -> &str {
        self.array.value(if self.is_constant { 0 } else { row })
    }

    /// The bytes that the text stands for.
    pub(crate) fn bytes(&self, row: usize) -> Cow<'_, [u8]> {
        raw_text::bytes(self.get(row))
    }

    /// The text, if it is the same in all rows.
    pub(crate) fn constant(&self) -> Option<&str> {
        (self.is_constant && !self.array.is_empty() && self.array.is_valid(0)).then(|| self.array.value(0))
    }
}

/// A number argument, as one Arrow type.
pub(crate) struct Numbers<T: ArrowPrimitiveType> {
    pub(crate) array: PrimitiveArray<T>,
    pub(crate) is_constant: bool,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    pub(crate) fn get(&self, row: usize) -> T::Native {
        self.array.value(if self.is_constant { 0 } else { row })
    }
}

/// What a kernel that asks for nothing itself may allocate for each byte of the row it works on.
const ROW_BYTES_PER_BYTE: usize = 16;

/// Texts of a column that together have fewer bytes are not looked at one by one.
const SMALL_TEXTS_BYTES: usize = 64 << 10;

/// Bytes of the longest text of a column, 0 where all of them are small.
fn longest_text(texts: &StringViewArray) -> usize {
    if texts.data_buffers().iter().map(|buffer| buffer.len()).sum::<usize>() < SMALL_TEXTS_BYTES {
        return 0;
    }
    // The lower half of a view is its length.
    let length = |view: &u128| usize::try_from(view & u128::from(u32::MAX)).unwrap_or(usize::MAX);
    texts.views().iter().map(length).max().unwrap_or(0)
}

impl Call<'_> {
    /// The arguments as they are known before any row is.
    pub(crate) fn types(&self) -> Vec<ArgType> {
        let constant = |arg: &Arg| arg.is_constant.then(|| Arc::clone(&arg.array));
        let known = |arg: &Arg| ArgType { column_type: arg.column_type.clone(), constant: constant(arg) };
        self.args.iter().map(known).collect()
    }

    pub(crate) fn caster(&self, mode: CastMode) -> Caster {
        let settings = crate::cast::CastSettings::new(self.session.time_zone, self.session.now_ns);
        Caster { mode, time_zone: settings.time_zone, today: settings.today }
    }

    /// The argument converted to a type, NULLs kept, still one row if it is constant.
    pub(crate) fn converted(&self, index: usize, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
        let arg = self.arg(index)?;
        let nullable = to.clone().nullable();
        let from = match arg.array.logical_null_count() {
            0 => arg.column_type.clone(),
            _ => arg.column_type.clone().nullable(),
        };
        let target = if arg.array.logical_null_count() == 0 { to } else { &nullable };
        Ok(self.caster(CastMode::Strict).column(&arg.array, &from, target)?)
    }

    pub(crate) fn arg(&self, index: usize) -> Result<&Arg, FunctionError> {
        self.args
            .get(index)
            .ok_or_else(|| FunctionError::bad_argument(format!("argument {} is missing", index + 1)))
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Argument as text; enums by name, everything else as it prints.
    pub(crate) fn texts(&self, index: usize) -> Result<Texts, FunctionError> {
        let arg = self.arg(index)?;
        let array = match arg.column_type.value_type() {
            ColumnType::String | ColumnType::FixedString(_) => arg.array.as_string_view().clone(),
            plain => self.caster(CastMode::Strict).to_text(&arg.array, plain),
        };
        let array = match arg.column_type.value_type() {
            ColumnType::FixedString(length) => {
                let length = usize::try_from(*length).unwrap_or(0);
                self.reserve(array.len().saturating_mul(length))?;
                with_padding(&array, length)
            }
            _ => array,
        };
        Ok(Texts { array, is_constant: arg.is_constant })
    }

    pub(crate) fn ints(&self, index: usize) -> Result<Numbers<Int64Type>, FunctionError> {
        let array: Int64Array = self.converted(index, &ColumnType::Int64)?.as_primitive().clone();
        Ok(Numbers { array, is_constant: self.arg(index)?.is_constant })
    }

    pub(crate) fn floats(&self, index: usize) -> Result<Numbers<Float64Type>, FunctionError> {
        let array: Float64Array = self.converted(index, &ColumnType::Float64)?.as_primitive().clone();
        Ok(Numbers { array, is_constant: self.arg(index)?.is_constant })
    }

    /// A text result.
    pub(crate) fn each_text(
        &self,
        mut write: impl FnMut(usize, &mut String) -> Result<(), FunctionError>,
    ) -> Result<ArrayRef, FunctionError> {
        let mut buffer = String::new();
        let mut builder = StringViewBuilder::with_capacity(self.rows);
        self.reserve_row()?;
        for row in 0..self.rows {
            buffer.clear();
            if !self.is_null(row) {
                write(row, &mut buffer)?;
            }
            self.allowance.check_text(buffer.len())?;
            self.reserve(buffer.len())?;
            builder.append_value(&buffer);
        }
        Ok(Arc::new(builder.finish()))
    }

    /// Asks for the text of one row, of which the bytes are known before any is written, and makes room for it.
    pub(crate) fn reserve_text(&self, bytes: usize, out: &mut String) -> Result<(), FunctionError> {
        if bytes > out.capacity() {
            self.reserve(bytes)?;
            self.allowance.check_text(bytes)?;
            out.reserve_exact(bytes.saturating_sub(out.len()));
        }
        Ok(())
    }

    /// Asks for what `more` bytes take behind those that are written: a buffer that is full becomes twice as large.
    pub(crate) fn reserve_more(&self, more: usize, out: &String) -> Result<(), FunctionError> {
        let bytes = out.len().saturating_add(more);
        if bytes > out.capacity() {
            self.reserve(bytes.saturating_mul(2))?;
        }
        self.allowance.check_text(bytes)
    }

    /// Asks for what one row of text may need that a kernel makes of its arguments without asking: one byte may become
    /// eight, as binary digits do, in a buffer that grows by doubling.
    fn reserve_row(&self) -> Result<(), FunctionError> {
        let longest = |arg: &Arg| match arg.column_type.value_type() {
            // Its zero bytes come with the texts of the call.
            ColumnType::FixedString(bytes) => usize::try_from(*bytes).unwrap_or(usize::MAX),
            _ => arg.array.as_string_view_opt().map_or(0, longest_text),
        };
        self.reserve(self.args.iter().map(longest).max().unwrap_or(0).saturating_mul(ROW_BYTES_PER_BYTE))
    }

    /// A text result whose values are parts of an argument.
    pub(crate) fn each_part<'t>(&self, part: impl Fn(usize) -> &'t str) -> Result<ArrayRef, FunctionError> {
        let mut builder = StringViewBuilder::with_capacity(self.rows);
        for row in 0..self.rows {
            let part = if self.is_null(row) { "" } else { part(row) };
            self.reserve(part.len())?;
            builder.append_value(part);
        }
        Ok(Arc::new(builder.finish()))
    }

    /// A number result.
    pub(crate) fn each<T: ArrowPrimitiveType>(
        &self,
        mut compute: impl FnMut(usize) -> Result<T::Native, FunctionError>,
    ) -> Result<ArrayRef, FunctionError> {
        let mut values = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            values.push(if self.is_null(row) { T::Native::default() } else { compute(row)? });
        }
        Ok(Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), None)))
    }

    /// A UInt8 result that is 0 or 1.
    pub(crate) fn each_flag(&self, mut test: impl FnMut(usize) -> bool) -> Result<ArrayRef, FunctionError> {
        self.each::<UInt8Type>(|row| Ok(u8::from(test(row))))
    }
}

/// 0 and 1 for false and true.
pub(crate) fn flags(values: &BooleanArray) -> UInt8Array {
    let numbers: Vec<u8> = values.values().iter().map(u8::from).collect();
    UInt8Array::new(ScalarBuffer::from(numbers), values.nulls().cloned())
}

/// Whether each row of a number column is not zero; NULLs stay.
pub(crate) fn truths(
    array: &ArrayRef,
    column_type: &ColumnType,
    caster: &Caster,
) -> Result<BooleanArray, FunctionError> {
    if let Some(booleans) = array.as_boolean_opt() {
        return Ok(booleans.clone());
    }
    if *column_type.value_type() == ColumnType::Nothing {
        return Ok(BooleanArray::new_null(array.len()));
    }
    if let Some(numbers) = array.as_primitive_opt::<UInt8Type>() {
        let values = BooleanBuffer::collect_bool(numbers.len(), |row| numbers.value(row) != 0);
        return Ok(BooleanArray::new(values, numbers.nulls().cloned()));
    }
    let plain = column_type.value_type();
    if !plain.is_number() {
        return Err(FunctionError::illegal_type(column_type, "of a condition"));
    }
    let target = if array.null_count() > 0 { ColumnType::Bool.nullable() } else { ColumnType::Bool };
    let from = if array.null_count() > 0 { plain.clone().nullable() } else { plain.clone() };
    Ok(caster.column(array, &from, &target)?.as_boolean().clone())
}

/// A constant repeated, everything else as it is.
pub(crate) fn expanded(arg: &Arg, rows: usize) -> Result<ArrayRef, FunctionError> {
    if !arg.is_constant || rows == 1 {
        return Ok(Arc::clone(&arg.array));
    }
    repeated(&arg.array, rows)
}

/// The one row of an array, `rows` times.
pub(crate) fn repeated(one: &ArrayRef, rows: usize) -> Result<ArrayRef, FunctionError> {
    let indices = UInt64Indices::from(vec![0; rows]);
    Ok(arrow::compute::take(one, &indices, None)?)
}

type UInt64Indices = arrow::array::UInt64Array;

/// The text of a constant argument.
pub(crate) fn constant_text(args: &[ArgType], index: usize) -> Option<String> {
    let arg = args.get(index)?;
    let array = arg.constant.as_ref()?;
    let text = arrow::compute::cast(array, &arrow::datatypes::DataType::Utf8View).ok()?;
    let text = text.as_string_view();
    (arg.column_type.is_string() && text.len() == 1 && text.is_valid(0)).then(|| text.value(0).to_owned())
}

/// The whole number of a constant argument.
pub(crate) fn constant_int(args: &[ArgType], index: usize) -> Option<i64> {
    let arg = args.get(index)?;
    let array = arg.constant.as_ref()?;
    let number = arrow::compute::cast(array, &arrow::datatypes::DataType::Int64).ok()?;
    let number = number.as_primitive::<Int64Type>();
    (number.len() == 1 && number.is_valid(0)).then(|| number.value(0))
}
