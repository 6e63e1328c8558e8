//! Arguments of functions over states, row by row.
//!
//! Invariant: a constant is read once. Must not know: functions.

use arrow::array::{Array, ArrayRef, AsArray};
use functions::allowance::reserve;
use functions::{Arg, Call, CastMode, FunctionError, cast_column};
use model::saturating::place_of;
use model::{ColumnType, ErrorCode};

use crate::kernels::bitmap::{Bitmap, bits, bytes_of, read, values_of};
use crate::typing::internal;

/// An argument that the type rule let through and the kernel does not know.
pub(super) fn unexpected(arg: &Arg) -> FunctionError {
    FunctionError::new(ErrorCode::LOGICAL_ERROR, format!("an argument of type {}", arg.column_type))
}

/// Whether the row is NULL because an argument is.
pub(super) fn is_null(call: &Call<'_>, row: usize) -> bool {
    call.args.iter().any(|arg| arg.is_null(row))
}

/// A value of a state takes so much while it is read: as a column, as bits, and in its set.
const READ_BYTES: usize = 3 * size_of::<u64>();

/// Sets of an argument, one for each row.
pub(super) struct Sets<'a> {
    arg: &'a Arg,
    sets: Vec<Bitmap>,
}

impl<'a> Sets<'a> {
    pub(super) fn of(call: &'a Call<'_>, index: usize) -> Result<Sets<'a>, FunctionError> {
        let arg = &call.args[index];
        let values = values_of(&arg.column_type).ok_or_else(|| unexpected(arg))?;
        let states = arg.array.as_binary_view_opt().ok_or_else(|| unexpected(arg))?;
        let bytes = bytes_of(&values).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(1);
        let read_bytes = states.total_buffer_bytes_used() / bytes * READ_BYTES;
        let _room = reserve("of states of groupBitmap", read_bytes)?;
        Ok(Sets { arg, sets: read(states, &values).map_err(internal)? })
    }

    pub(super) fn get(&self, row: usize) -> &Bitmap {
        &self.sets[self.arg.row(row)]
    }
}

/// Integers of an argument as 64 bits, with their sign.
pub(super) struct Integers<'a> {
    arg: &'a Arg,
    bits: Vec<u64>,
}

impl<'a> Integers<'a> {
    pub(super) fn of(call: &'a Call<'_>, index: usize) -> Result<Integers<'a>, FunctionError> {
        let arg = &call.args[index];
        let plain = plain_integers(&arg.array, &arg.column_type)?;
        Ok(Integers { arg, bits: bits(&plain).ok_or_else(|| unexpected(arg))? })
    }

    pub(super) fn get(&self, row: usize) -> u64 {
        self.bits[self.arg.row(row)]
    }
}

/// The column without a dictionary.
fn plain_integers(array: &ArrayRef, column_type: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let from = match array.null_count() {
        0 => column_type.clone(),
        _ => column_type.clone().nullable(),
    };
    let to = match array.null_count() {
        0 => column_type.value_type().clone(),
        _ => column_type.value_type().clone().nullable(),
    };
    Ok(cast_column(array, &from, &to, CastMode::Strict)?)
}

/// Arrays of integers of an argument, as 64 bits each.
pub(super) struct Lists<'a> {
    arg: &'a Arg,
    offsets: Vec<usize>,
    bits: Vec<u64>,
}

impl<'a> Lists<'a> {
    pub(super) fn of(call: &'a Call<'_>, index: usize) -> Result<Lists<'a>, FunctionError> {
        let arg = &call.args[index];
        let ColumnType::Array(element) = &arg.column_type else { return Err(unexpected(arg)) };
        let list = arg.array.as_list_opt::<i32>().ok_or_else(|| unexpected(arg))?;
        let plain = plain_integers(list.values(), element)?;
        let offsets = list.value_offsets().iter().map(|offset| place_of(*offset)).collect();
        Ok(Lists { arg, offsets, bits: bits(&plain).ok_or_else(|| unexpected(arg))? })
    }

    pub(super) fn get(&self, row: usize) -> &[u64] {
        let row = self.arg.row(row);
        &self.bits[self.offsets[row]..self.offsets[row + 1]]
    }
}
