//! Hashes of whole rows: any number of arguments of any type, combined as ClickHouse combines them.
//!
//! Invariant: a hash runs over a value's memory, least byte first, a fixed string with its padding; an array is its
//! length and its elements, a tuple its elements one after the other. Must not know: which hash it is.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use model::ColumnType;
use model::saturating::u64_of;

use crate::cast::{CastMode, Caster};
use crate::columns::container::range;
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::raw::{in_memory, memory};
use crate::kernel::rows::expanded;

/// The hash of bytes, and of two hashes.
pub(super) type OfBytes<W> = dyn Fn(&[u8]) -> W + Send + Sync;
pub(super) type OfTwo<W> = dyn Fn(W, W) -> W + Send + Sync;

/// What one hash function is made of; hashes of 32 and 64 bits are words, those of 128 bits twice as long.
#[derive(Clone)]
pub(super) struct Family<W> {
    pub(super) bytes: Arc<OfBytes<W>>,
    /// What numbers of 64 bits and less go through instead of `bytes`.
    pub(super) number: Option<fn(u64) -> W>,
    /// The hash of the length of an array.
    pub(super) length: fn(u64) -> W,
    pub(super) combine: Arc<OfTwo<W>>,
    /// Of no arguments.
    pub(super) nothing: W,
    /// Of a NULL inside of a tuple, an array or a map.
    pub(super) null: W,
}

/// The number of each row.
type Words = Box<dyn Fn(usize) -> u64>;

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
            ColumnType::Nothing => {
                hashes.iter_mut().for_each(|hash| self.join(hash, self.null));
                return Ok(());
            }
            // An interval is its number, as bytes.
            interval if interval.is_interval() => {
                let numbers = array.as_struct().column(0);
                return self.add_bytes(numbers, &ColumnType::Int64, caster, hashes);
            }
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
                self.join(hash, if array.is_null(row) { self.null } else { number(words(row)) });
            }
            return Ok(());
        }
        self.add_bytes(array, column_type, caster, hashes)
    }

    fn add_bytes(
        &self,
        array: &ArrayRef,
        column_type: &ColumnType,
        caster: &Caster,
        hashes: &mut [Option<W>],
    ) -> Result<(), FunctionError> {
        let memory = memory(array, column_type, caster)?;
        let mut buffer = Vec::new();
        for (row, hash) in hashes.iter_mut().enumerate() {
            if array.is_null(row) {
                self.join(hash, self.null);
                continue;
            }
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
