//! A set of integers, as states of `groupBitmap` hold it.
//!
//! Invariant: up to [`SMALL_MAX`] values come out in the order in which they came in, more of them sorted, as in ClickHouse; a
//! set that was made of large ones stays sorted, however few values are left. Values are the bits of their type without a
//! sign. Must not know: functions.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "values are the bits of their type"
)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, ListArray, PrimitiveArray, UInt64Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::take;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::common::{Result, internal_err};
use model::saturating::{place_of, u64_of};
use model::type_arrow::to_data_type;
use model::{ColumnType, StateType};

use crate::bytes::{decode, encode};

/// A set with more values is sorted from then on.
pub(crate) const SMALL_MAX: usize = 32;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap {
    values: Vec<u64>,
    is_large: bool,
}

impl Bitmap {
    /// Of values as they come.
    pub(crate) fn collect(values: impl IntoIterator<Item = u64>) -> Bitmap {
        let (mut few, mut rest) = (Vec::new(), values.into_iter());
        while let Some(value) = rest.next() {
            if few.contains(&value) {
                continue;
            }
            few.push(value);
            if few.len() > SMALL_MAX {
                few.extend(rest);
                return Bitmap::large(few);
            }
        }
        Bitmap { values: few, is_large: false }
    }

    /// Sorted, however few there are.
    pub(crate) fn large(mut values: Vec<u64>) -> Bitmap {
        // Two sorted runs, of which most are made, are merged by a stable sort.
        values.sort();
        values.dedup();
        Bitmap { values, is_large: true }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn values(&self) -> &[u64] {
        &self.values
    }

    pub(crate) fn sorted(&self) -> Vec<u64> {
        let mut values = self.values.clone();
        values.sort_unstable();
        values
    }

    pub(crate) fn contains(&self, value: u64) -> bool {
        if self.is_large { self.values.binary_search(&value).is_ok() } else { self.values.contains(&value) }
    }

    pub(crate) fn or(&self, other: &Bitmap) -> Bitmap {
        let both = self.values.iter().chain(&other.values).copied();
        if self.is_large || other.is_large { Bitmap::large(both.collect()) } else { Bitmap::collect(both) }
    }

    /// Of a large set and a small one the small one stays.
    pub(crate) fn and(&self, other: &Bitmap) -> Bitmap {
        let (kept, by) = if self.is_large && !other.is_large { (other, self) } else { (self, other) };
        kept.filtered(|value| by.contains(value))
    }

    pub(crate) fn andnot(&self, other: &Bitmap) -> Bitmap {
        self.filtered(|value| !other.contains(value))
    }

    pub(crate) fn xor(&self, other: &Bitmap) -> Bitmap {
        Bitmap::large([self.andnot(other).values, other.andnot(self).values].concat())
    }

    /// Those that `keep` says, in a set of the same kind.
    fn filtered(&self, keep: impl Fn(u64) -> bool) -> Bitmap {
        let values = self.values.iter().copied().filter(|value| keep(*value)).collect();
        Bitmap { values, is_large: self.is_large }
    }
}

/// The type of the values of a state: `None` for states of other functions, and where values may be NULL.
pub(crate) fn values_of(column_type: &ColumnType) -> Option<ColumnType> {
    let state = column_type.state().filter(|state| state.function.as_ref() == "groupBitmap")?;
    let [values] = state.arguments.as_slice() else { return None };
    let values = match values {
        ColumnType::LowCardinality(inner) => inner.as_ref(),
        other => other,
    };
    bytes_of(values).map(|_| values.clone())
}

/// The type of states of values.
pub(crate) fn state_of(values: ColumnType) -> ColumnType {
    let state = StateType { function: "groupBitmap".into(), parameters: Vec::new(), arguments: vec![values] };
    ColumnType::AggregateFunction(Arc::new(state))
}

/// Bytes of an integer of a machine.
pub(crate) fn bytes_of(values: &ColumnType) -> Option<u32> {
    Some(match values {
        ColumnType::UInt8 | ColumnType::Int8 => 1,
        ColumnType::UInt16 | ColumnType::Int16 => 2,
        ColumnType::UInt32 | ColumnType::Int32 => 4,
        ColumnType::UInt64 | ColumnType::Int64 => 8,
        _ => return None,
    })
}

/// The largest value without a sign.
pub(crate) fn largest(values: &ColumnType) -> u64 {
    match bytes_of(values) {
        Some(bytes @ 1..8) => (1 << (8 * bytes)) - 1,
        _ => u64::MAX,
    }
}

/// The sets of a column of states; no bytes are no values.
///
/// # Errors
/// `CORRUPTED_DATA`: these are no states.
pub(crate) fn read(states: &BinaryViewArray, values: &ColumnType) -> Result<Vec<Bitmap>> {
    let mut sets = vec![Bitmap::default(); states.len()];
    let there = |row: &usize| states.is_valid(*row) && !states.value(*row).is_empty();
    let rows: Vec<usize> = (0..states.len()).filter(there).collect();
    let places: UInt64Array = rows.iter().map(|row| Some(u64_of(*row))).collect();
    let some = take(states, &places, None)?;
    let layout = DataType::List(item(values).into());
    let decoded = decode(some.as_binary_view(), &[layout])?;
    let lists = decoded[0].as_list::<i32>();
    let Some(bits) = bits(lists.values()) else { return internal_err!("a bitmap of {values}") };
    let mask = largest(values);
    for (at, row) in rows.into_iter().enumerate().filter(|(at, _)| lists.is_valid(*at)) {
        let own = place_of(lists.value_offsets()[at])..place_of(lists.value_offsets()[at + 1]);
        // `written` marks a set by a NULL that is sorted though it is small.
        let is_large = own.clone().any(|place| lists.values().is_null(place));
        let own = own.filter(|place| lists.values().is_valid(*place)).map(|place| bits[place] & mask);
        sets[row] = if is_large { Bitmap::large(own.collect()) } else { Bitmap::collect(own) };
    }
    Ok(sets)
}

/// States of sets.
///
/// # Errors
/// None of values of [`bytes_of`].
pub(crate) fn written(sets: &[Bitmap], values: &ColumnType) -> Result<ArrayRef> {
    let (mut bits, mut valid, mut lengths) = (Vec::new(), Vec::new(), Vec::with_capacity(sets.len()));
    for set in sets {
        let before = bits.len();
        bits.extend_from_slice(&set.values);
        valid.resize(bits.len(), true);
        if set.is_large && set.len() <= SMALL_MAX {
            // Whoever collects rows passes over a NULL.
            bits.push(0);
            valid.push(false);
        }
        lengths.push(bits.len() - before);
    }
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    let column = column_of(&bits, nulls, values)?;
    let list = ListArray::try_new(Arc::new(item(values)), OffsetBuffer::from_lengths(lengths), column, None)?;
    Ok(Arc::new(encode(&[Arc::new(list) as ArrayRef])?))
}

/// As `own::Rows` has it in its states.
fn item(values: &ColumnType) -> Field {
    Field::new_list_field(to_data_type(values), true)
}

/// Integers as 64 bits, with the sign of their type; `None` for all else.
pub(crate) fn bits(array: &ArrayRef) -> Option<Vec<u64>> {
    fn of<T: ArrowPrimitiveType>(array: &ArrayRef, wide: impl Fn(T::Native) -> u64) -> Vec<u64> {
        array.as_primitive::<T>().values().iter().map(|value| wide(*value)).collect()
    }
    Some(match array.data_type() {
        DataType::UInt8 => of::<UInt8Type>(array, u64::from),
        DataType::UInt16 => of::<UInt16Type>(array, u64::from),
        DataType::UInt32 => of::<UInt32Type>(array, u64::from),
        DataType::UInt64 => of::<UInt64Type>(array, |value| value),
        DataType::Int8 => of::<Int8Type>(array, |value| i64::from(value) as u64),
        DataType::Int16 => of::<Int16Type>(array, |value| i64::from(value) as u64),
        DataType::Int32 => of::<Int32Type>(array, |value| i64::from(value) as u64),
        DataType::Int64 => of::<Int64Type>(array, |value| value as u64),
        _ => return None,
    })
}

/// A column of integers of their bits.
///
/// # Errors
/// None of types of [`bytes_of`].
pub(crate) fn column_of(bits: &[u64], nulls: Option<NullBuffer>, values: &ColumnType) -> Result<ArrayRef> {
    fn of<T: ArrowPrimitiveType>(
        bits: &[u64],
        nulls: Option<NullBuffer>,
        narrow: impl Fn(u64) -> T::Native,
    ) -> ArrayRef {
        let values: Vec<T::Native> = bits.iter().map(|value| narrow(*value)).collect();
        Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
    }
    Ok(match values {
        ColumnType::UInt8 => of::<UInt8Type>(bits, nulls, |value| value as u8),
        ColumnType::UInt16 => of::<UInt16Type>(bits, nulls, |value| value as u16),
        ColumnType::UInt32 => of::<UInt32Type>(bits, nulls, |value| value as u32),
        ColumnType::UInt64 => of::<UInt64Type>(bits, nulls, |value| value),
        ColumnType::Int8 => of::<Int8Type>(bits, nulls, |value| value as i8),
        ColumnType::Int16 => of::<Int16Type>(bits, nulls, |value| value as i16),
        ColumnType::Int32 => of::<Int32Type>(bits, nulls, |value| value as i32),
        ColumnType::Int64 => of::<Int64Type>(bits, nulls, |value| value as i64),
        other => return internal_err!("a bitmap of {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_keep_their_order_and_kind_in_states() {
        let large = Bitmap::collect([5, 3, 1, 3]).xor(&Bitmap::collect([9]));
        let sets = [Bitmap::collect([5, 3, 1, 3]), large, Bitmap::default(), Bitmap::collect((0..40).rev())];
        let states = written(&sets, &ColumnType::Int16).unwrap();
        let back = read(states.as_binary_view(), &ColumnType::Int16).unwrap();
        let shown = |sets: &[Bitmap]| sets.iter().map(|set| format!("{set:?}")).collect::<Vec<_>>();
        assert_eq!(shown(&back), shown(&sets));
        assert_eq!(back[0].values(), [5, 3, 1]);
        assert_eq!(back[1].values(), [1, 3, 5, 9]);
        assert!(back[1].is_large && back[3].is_large);
    }
}
