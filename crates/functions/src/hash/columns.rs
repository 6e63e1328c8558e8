//! Hashes of whole rows: any number of arguments of any type, combined as ClickHouse combines them.
//!
//! Invariant: a hash runs over a value's memory, least byte first, a fixed string with its padding; an array is its
//! length and its elements, a tuple its elements one after the other. Must not know: which hash it is.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Decimal128Type, Decimal256Type, ToByteSlice};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode, WideInteger, raw_text};

use crate::cast::{CastMode, Caster};
use crate::columns::container::range;
use crate::columns::number::with_number;
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::rows::expanded;
use crate::time::temporal::{digits_of, power_of_ten, precision_of, ticks};

/// What one hash function is made of; hashes of 32 and 64 bits are words, those of 128 bits twice as long.
#[derive(Clone, Copy)]
pub(super) struct Family<W> {
    pub(super) bytes: fn(&[u8]) -> W,
    /// What numbers of 64 bits and less go through instead of `bytes`.
    pub(super) number: Option<fn(u64) -> W>,
    /// The hash of the length of an array.
    pub(super) length: fn(u64) -> W,
    pub(super) combine: fn(W, W) -> W,
    /// Of no arguments.
    pub(super) nothing: W,
}

/// The number of each row.
type Words = Box<dyn Fn(usize) -> u64>;
/// Appends the memory of a value.
type Memory = Box<dyn Fn(usize, &mut Vec<u8>)>;

impl<W: Copy> Family<W> {
    /// The hash of each row.
    pub(super) fn rows(&self, call: &Call<'_>) -> Result<Vec<W>, FunctionError> {
        let mut hashes = vec![None; call.rows];
        let caster = call.caster(CastMode::Strict);
        for arg in call.args {
            self.add(&expanded(arg, call.rows)?, &arg.column_type, &caster, &mut hashes)?;
        }
        Ok(hashes.into_iter().map(|hash| hash.unwrap_or(self.nothing)).collect())
    }

    fn join(&self, hash: &mut Option<W>, next: W) {
        *hash = Some(hash.map_or(next, |sofar| (self.combine)(sofar, next)));
    }

    fn add(
        &self,
        array: &ArrayRef,
        column_type: &ColumnType,
        caster: &Caster,
        hashes: &mut [Option<W>],
    ) -> Result<(), FunctionError> {
        match column_type.value_type() {
            ColumnType::Tuple(elements) => {
                for (element, column) in elements.iter().zip(array.as_struct().columns()) {
                    self.add(column, &element.column_type, caster, hashes)?;
                }
                hashes.iter_mut().filter(|hash| hash.is_none()).for_each(|hash| *hash = Some(self.nothing));
                return Ok(());
            }
            ColumnType::Array(element) => {
                let list = array.as_list::<i32>();
                return self.add_lists(list.values(), element, list.value_offsets(), caster, hashes);
            }
            ColumnType::Map(key, value) => {
                let map = array.as_map();
                let entry = crate::columns::container::unnamed([(**key).clone(), (**value).clone()]);
                let entries: ArrayRef = Arc::new(map.entries().clone());
                return self.add_lists(&entries, &entry, map.value_offsets(), caster, hashes);
            }
            _ => {}
        }
        if let (Some(number), Some(words)) = (self.number, words(array, column_type, caster)?) {
            for (row, hash) in hashes.iter_mut().enumerate() {
                self.join(hash, number(words(row)));
            }
            return Ok(());
        }
        let memory = memory(array, column_type, caster)?;
        let mut buffer = Vec::new();
        for (row, hash) in hashes.iter_mut().enumerate() {
            buffer.clear();
            memory(row, &mut buffer);
            self.join(hash, (self.bytes)(&buffer));
        }
        Ok(())
    }

    fn add_lists(
        &self,
        values: &ArrayRef,
        element: &ColumnType,
        offsets: &[i32],
        caster: &Caster,
        hashes: &mut [Option<W>],
    ) -> Result<(), FunctionError> {
        let mut inner = vec![None; values.len()];
        if !values.is_empty() {
            self.add(values, element, caster, &mut inner)?;
        }
        for (row, hash) in hashes.iter_mut().enumerate() {
            let own = range(offsets, row);
            self.join(hash, (self.length)(u64_of(own.len())));
            for next in inner[own].iter().flatten() {
                self.join(hash, *next);
            }
        }
        Ok(())
    }
}

/// The number a value is in memory, as ClickHouse's columns have it.
fn in_memory(column_type: &ColumnType) -> ColumnType {
    match column_type.value_type() {
        ColumnType::Date => ColumnType::UInt16,
        ColumnType::Date32 => ColumnType::Int32,
        ColumnType::DateTime { .. } => ColumnType::UInt32,
        ColumnType::Bool => ColumnType::UInt8,
        ColumnType::Ipv4 => ColumnType::UInt32,
        ColumnType::Enum8(_) => ColumnType::Int8,
        ColumnType::Enum16(_) => ColumnType::Int16,
        other => other.clone(),
    }
}

fn refuse_nulls(array: &ArrayRef, column_type: &ColumnType) -> Result<(), FunctionError> {
    if array.logical_null_count() == 0 || !column_type.is_nullable() {
        return Ok(());
    }
    let message = "a hash of NULL inside of an array, tuple or map is not supported: replace it with ifNull";
    Err(FunctionError::new(ErrorCode::NOT_IMPLEMENTED, message))
}

/// Numbers of up to 64 bits as words; `None` for all else.
fn words(
    array: &ArrayRef,
    column_type: &ColumnType,
    caster: &Caster,
) -> Result<Option<Words>, FunctionError> {
    let plain = in_memory(column_type);
    if !plain.is_number() || plain.is_wide_integer() || matches!(plain, ColumnType::Decimal { .. }) {
        return Ok(None);
    }
    let memory = memory(array, column_type, caster)?;
    Ok(Some(Box::new(move |row| {
        let mut bytes = Vec::with_capacity(8);
        memory(row, &mut bytes);
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    })))
}

fn memory(array: &ArrayRef, column_type: &ColumnType, caster: &Caster) -> Result<Memory, FunctionError> {
    refuse_nulls(array, column_type)?;
    let plain = in_memory(column_type);
    match &plain {
        ColumnType::String | ColumnType::FixedString(_) => {
            let texts = array.as_string_view().clone();
            let padded = if let ColumnType::FixedString(length) = plain {
                usize::try_from(length).unwrap_or(0)
            } else {
                0
            };
            Ok(Box::new(move |row, out| {
                out.extend_from_slice(&raw_text::bytes(texts.value(row)));
                out.resize(out.len().max(padded), 0);
            }))
        }
        ColumnType::Uuid => {
            let uuids = array.as_fixed_size_binary().clone();
            // Two words, the high one first.
            Ok(Box::new(move |row, out| {
                let (high, low) = uuids.value(row).split_at(8);
                out.extend(high.iter().rev().chain(low.iter().rev()));
            }))
        }
        wide if wide.is_wide_integer() => {
            let stored = array.as_fixed_size_binary();
            let width = usize::try_from(stored.value_length()).unwrap_or(0);
            let values: Vec<u8> =
                stored.iter().flat_map(|value| value.map_or(vec![0; width], <[u8]>::to_vec)).collect();
            let wire = WideInteger::of(wide).map(|kind| kind.turn(&values, false)).unwrap_or_default();
            Ok(Box::new(move |row, out| out.extend_from_slice(&wire[row * width..(row + 1) * width])))
        }
        ColumnType::Ipv6 => {
            let octets = array.as_fixed_size_binary().clone();
            Ok(Box::new(move |row, out| out.extend_from_slice(octets.value(row))))
        }
        ColumnType::DateTime64 { .. } => {
            let down = power_of_ten(digits_of(&plain) - precision_of(&plain));
            let ticks = ticks(array);
            Ok(Box::new(move |row, out| out.extend_from_slice(&(ticks.value(row) / down).to_le_bytes())))
        }
        ColumnType::Decimal { precision, .. } => {
            let bytes = match precision {
                0..=9 => 4,
                10..=18 => 8,
                19..=38 => 16,
                _ => 32,
            };
            if let Some(wide) = array.as_primitive_opt::<Decimal256Type>() {
                let wide = wide.clone();
                return Ok(Box::new(move |row, out| out.extend_from_slice(&wide.value(row).to_le_bytes())));
            }
            let numbers = array.as_primitive::<Decimal128Type>().clone();
            Ok(Box::new(move |row, out| out.extend_from_slice(&numbers.value(row).to_le_bytes()[..bytes])))
        }
        _ => {
            let typed = |t: &ColumnType| {
                if array.logical_null_count() == 0 { t.clone() } else { t.clone().nullable() }
            };
            let (from, to) = (typed(column_type.value_type()), typed(&plain));
            let numbers = caster.column(array, &from, &to)?;
            with_number!(&plain, T => {
                let numbers = numbers.as_primitive::<T>().clone();
                Ok(Box::new(move |row: usize, out: &mut Vec<u8>| out.extend_from_slice(numbers.value(row).to_byte_slice())))
            }, else Err(FunctionError::illegal_type(&plain, "of a hash")))
        }
    }
}
