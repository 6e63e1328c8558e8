//! Hashes of whole rows: any number of arguments of any type, combined as ClickHouse combines them.
//!
//! Invariant: a hash runs over a value's memory, least byte first, a fixed string with its padding; an array is its
//! length and its elements, a tuple its elements one after the other. Must not know: which hash it is.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use model::saturating::u64_of;
use model::{ColumnType, ErrorCode};

use crate::cast::{CastMode, Caster};
use crate::columns::container::range;
use crate::error::FunctionError;
use crate::kernel::call::Call;
use crate::kernel::raw::{in_memory, memory};
use crate::kernel::rows::expanded;

/// What one hash function is made of; hashes of 32 and 64 bits are words, those of 128 bits twice as long.
#[derive(Clone)]
pub(super) struct Family<W> {
    pub(super) bytes: Arc<dyn Fn(&[u8]) -> W + Send + Sync>,
    /// What numbers of 64 bits and less go through instead of `bytes`.
    pub(super) number: Option<fn(u64) -> W>,
    /// The hash of the length of an array.
    pub(super) length: fn(u64) -> W,
    pub(super) combine: Arc<dyn Fn(W, W) -> W + Send + Sync>,
    /// Of no arguments.
    pub(super) nothing: W,
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
        refuse_nulls(array, column_type)?;
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
    refuse_nulls(array, column_type)?;
    let memory = memory(array, column_type, caster)?;
    Ok(Some(Box::new(move |row| {
        let mut bytes = Vec::with_capacity(8);
        memory(row, &mut bytes);
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
    })))
}
