//! The value of a key in the rows of a dictionary: of the key itself, of the longest prefix of an address, or of a range.
//!
//! Invariant: a NULL is no key; where none is found a value stands that the call gives. Must not know: how a dictionary is read,
//! and what its calls are named.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray, UInt8Array, UInt64Array};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{cast, is_not_null, take};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, internal_err};
use model::ColumnType;
use model::saturating::u64_of;

use super::lookup::Lookup;
use super::over_rows::AsksRows;

/// Bits of an address.
const BITS: u8 = 128;

/// What is asked of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// Its value, or another one.
    Value,
    OrNull,
    Has,
}

/// How the row of a key is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Find {
    /// By all columns of the key, of which there are so many.
    Key(usize),
    /// By the longest network that the address is in: rows have the network, and how many bits it has.
    Prefix,
    /// By the key, and by a range around a point. Values are arrays of ranges, ordered, with what they mean.
    Range { keys: usize, takes_last: bool },
}

/// `_found_in(rows are there, key[, point][, value of no key])`.
#[derive(Debug)]
pub(super) struct FoundIn {
    pub(super) wanted: Wanted,
    pub(super) find: Find,
}

impl AsksRows for FoundIn {
    fn name(&self) -> &'static str {
        match self.wanted {
            Wanted::Value => "_found_in",
            Wanted::OrNull => "_found_in_or_null",
            Wanted::Has => "_is_in",
        }
    }

    fn values(&self, lookup: &Lookup, given: &[ArrayRef], result: &ColumnType) -> Result<ArrayRef> {
        let key = &given[0];
        let (places, values) = match self.find {
            Find::Key(columns) => lookup.places_of(&columns_of(key, columns)?)?,
            Find::Prefix => of_longest_prefix(lookup, key)?,
            Find::Range { keys, takes_last } => match given.get(1) {
                Some(point) => of_range(lookup, &columns_of(key, keys)?, point, takes_last)?,
                None => return internal_err!("{} of ranges without a point", self.name()),
            },
        };
        let missing = given.get(1 + usize::from(matches!(self.find, Find::Range { .. })));
        match (self.wanted, missing) {
            (Wanted::Has, _) => Ok(is_there(&places, key, result)),
            (Wanted::OrNull, _) => Ok(values),
            (Wanted::Value, Some(missing)) => or_missing((&places, &values), missing, key, result),
            (Wanted::Value, None) => internal_err!("{} without a value of no key", self.name()),
        }
    }
}

/// The columns of the key.
fn columns_of(key: &ArrayRef, wanted: usize) -> Result<Vec<ArrayRef>> {
    let columns = match key.data_type() {
        DataType::Struct(_) => key.as_struct().columns().to_vec(),
        _ => vec![Arc::clone(key)],
    };
    if columns.len() != wanted {
        return internal_err!("a key of {} columns, where {wanted} belong", columns.len());
    }
    Ok(columns)
}

fn of_longest_prefix(lookup: &Lookup, key: &ArrayRef) -> Result<(UInt64Array, ArrayRef)> {
    let Some(addresses) = key.as_fixed_size_binary_opt() else {
        return internal_err!("an address is laid out as {}", key.data_type());
    };
    let bits = |address: Option<&[u8]>| {
        let bytes = address.and_then(|address| <[u8; 16]>::try_from(address).ok());
        bytes.map(u128::from_be_bytes)
    };
    let addresses: Vec<Option<u128>> = addresses.iter().map(bits).collect();
    let mut places: Vec<Option<u64>> = vec![None; addresses.len()];
    for length in (0..=BITS).rev() {
        if places.iter().zip(&addresses).all(|(place, address)| place.is_some() || address.is_none()) {
            break;
        }
        let mask = u128::MAX.checked_shl(u32::from(BITS - length)).unwrap_or_default();
        let networks = addresses.iter().map(|address| (address.unwrap_or_default() & mask).to_be_bytes());
        let networks: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(networks)?);
        let lengths: ArrayRef = Arc::new(UInt8Array::from(vec![length; addresses.len()]));
        let found = lookup.places(&[networks, lengths])?;
        for (row, place) in found.iter().enumerate().filter(|(row, _)| addresses[*row].is_some()) {
            places[row] = places[row].or(place);
        }
    }
    let places = UInt64Array::from(places);
    let values = lookup.values_at(&places)?;
    Ok((places, values))
}

/// Places are those of ranges among all ranges of the keys.
fn of_range(
    lookup: &Lookup,
    keys: &[ArrayRef],
    point: &ArrayRef,
    takes_last: bool,
) -> Result<(UInt64Array, ArrayRef)> {
    let (_, ranges) = lookup.places_of(keys)?;
    let Some(ranges) = ranges.as_list_opt::<i32>() else {
        return internal_err!("ranges are laid out as {}", ranges.data_type());
    };
    let Some(parts) = ranges.values().as_struct_opt() else {
        return internal_err!("a range is laid out as {}", ranges.values().data_type());
    };
    let [from, to, values] = parts.columns() else {
        return internal_err!("a range has {} parts", parts.num_columns());
    };
    let layout = from.data_type().clone();
    let point = if *point.data_type() == layout { Arc::clone(point) } else { cast(point, &layout)? };
    let order = RowConverter::new(vec![SortField::new(layout)])?;
    let (from, to) = (order.convert_columns(&[Arc::clone(from)])?, order.convert_columns(&[Arc::clone(to)])?);
    let points = order.convert_columns(&[Arc::clone(&point)])?;
    let place = |row: usize| {
        if ranges.is_null(row) || point.is_null(row) {
            return None;
        }
        let offsets = ranges.value_offsets();
        let (start, end) = (usize::try_from(offsets[row]).ok()?, usize::try_from(offsets[row + 1]).ok()?);
        let is_around = |at: &usize| from.row(*at) <= points.row(row) && points.row(row) <= to.row(*at);
        let at = match takes_last {
            false => (start..end).find(is_around),
            true => (start..end).rev().find(is_around),
        };
        at.map(u64_of)
    };
    let places: UInt64Array = (0..ranges.len()).map(place).collect();
    let values = take(values, &places, None)?;
    Ok((places, values))
}

/// Whether there is a place; a NULL is asked about nothing.
fn is_there(places: &UInt64Array, key: &ArrayRef, result: &ColumnType) -> ArrayRef {
    let found: UInt8Array = places.iter().map(|place| Some(u8::from(place.is_some()))).collect();
    match key.logical_nulls().filter(|_| result.is_nullable()) {
        Some(nulls) => Arc::new(UInt8Array::new(found.values().clone(), Some(nulls))),
        None => Arc::new(found),
    }
}

/// The values of the rows that have a place, and of others what is given for them.
fn or_missing(
    (places, values): (&UInt64Array, &ArrayRef),
    missing: &ArrayRef,
    key: &ArrayRef,
    result: &ColumnType,
) -> Result<ArrayRef> {
    let layout = values.data_type();
    let missing = if missing.data_type() == layout { Arc::clone(missing) } else { cast(missing, layout)? };
    let is_chosen = is_not_null(places)?;
    // The row of a NULL has no value, whatever stands for those of no key.
    let nulls = key.logical_nulls().filter(|_| result.is_nullable());
    let is_chosen = match nulls {
        Some(nulls) if !matches!(key.data_type(), DataType::Struct(_)) => {
            BooleanArray::new(is_chosen.values() | &!nulls.inner(), None)
        }
        _ => is_chosen,
    };
    Ok(zip(&is_chosen, values, &missing)?)
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;
    use arrow::datatypes::UInt8Type;

    use super::super::lookup::LookupBuilder;
    use super::*;

    #[test]
    fn the_longest_network_is_found_and_no_null() {
        let lookup = Lookup::default();
        let mut rows = LookupBuilder::new([DataType::FixedSizeBinary(16), DataType::UInt8]).unwrap();
        let networks = [0u128, 0xff << 120, 0xffaa << 112].map(u128::to_be_bytes);
        let networks: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(networks.into_iter()).unwrap());
        let lengths: ArrayRef = Arc::new(UInt8Array::from(vec![0, 8, 16]));
        rows.push(&[networks, lengths], Arc::new(UInt8Array::from(vec![1, 2, 3]))).unwrap();
        let none: ArrayRef = Arc::new(UInt8Array::from(vec![9]));
        lookup.fill(rows, &none, ()).unwrap();
        let asked = [Some(1u128), Some(0xff << 120), Some(0x00ff_aaff << 104), None];
        let asked = asked.map(|address| address.map(u128::to_be_bytes));
        let asked: ArrayRef =
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(asked.into_iter(), 16).unwrap());
        let (_, values) = of_longest_prefix(&lookup, &asked).unwrap();
        assert_eq!(
            values.as_primitive::<UInt8Type>(),
            &UInt8Array::from(vec![Some(1), Some(2), Some(3), None])
        );
    }

    #[test]
    fn a_key_of_other_columns_is_refused() {
        let key: ArrayRef = Arc::new(StringViewArray::from(vec!["a"]));
        assert!(columns_of(&key, 2).is_err());
    }
}
