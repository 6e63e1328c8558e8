//! Rows found by their keys, all columns of keys together: what joinGet asks.
//!
//! The rows are read once, before the first row of the query asks for them; until then a lookup is empty, and asking it is an
//! error. Invariant: of rows of equal key one is there; a key with a NULL in it is never found. Must not know: which table
//! the rows are of, and who reads them.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, UInt64Array};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, internal_err};
use model::saturating::u64_of;

/// Bytes of a place beside its key.
const PLACE_BYTES: usize = 64;

/// See the module.
#[derive(Default)]
pub struct Lookup {
    found: OnceLock<Found>,
}

struct Found {
    converter: RowConverter,
    layouts: Vec<DataType>,
    places: HashMap<Box<[u8]>, u64>,
    values: ArrayRef,
    /// The memory that this was granted.
    _held: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found.get() {
            Some(found) => write!(f, "Lookup({} keys)", found.places.len()),
            None => f.write_str("Lookup"),
        }
    }
}

/// Rows on their way into a [`Lookup`].
pub struct LookupBuilder {
    converter: RowConverter,
    layouts: Vec<DataType>,
    places: HashMap<Box<[u8]>, u64>,
    values: Vec<ArrayRef>,
    rows: u64,
    /// Of rows of equal key the last stays.
    keeps_last: bool,
}

/// The layout in which keys are compared: a Bool is a number, and so it is not another key than the number.
fn compared(layout: &DataType) -> DataType {
    if *layout == DataType::Boolean { DataType::UInt8 } else { layout.clone() }
}

impl LookupBuilder {
    /// For keys of these layouts.
    ///
    /// # Errors
    /// Values of a layout cannot be keys.
    pub fn new(layouts: impl IntoIterator<Item = DataType>) -> Result<LookupBuilder> {
        let layouts: Vec<DataType> = layouts.into_iter().map(|layout| compared(&layout)).collect();
        let converter = RowConverter::new(layouts.iter().cloned().map(SortField::new).collect())?;
        let (places, values) = (HashMap::new(), Vec::new());
        Ok(LookupBuilder { converter, layouts, places, values, rows: 0, keeps_last: false })
    }

    /// The same, where of rows of equal key the last stays.
    pub fn keeping_last(self, keeps_last: bool) -> LookupBuilder {
        LookupBuilder { keeps_last, ..self }
    }

    /// Takes rows in, and says how many bytes their keys have; of rows of equal key one stays.
    ///
    /// # Errors
    /// They are not laid out as was said.
    pub fn push(&mut self, keys: &[ArrayRef], values: ArrayRef) -> Result<usize> {
        let keys = laid_out(keys, &self.layouts)?;
        let nulls: Vec<_> = keys.iter().filter_map(|key| key.logical_nulls()).collect();
        let (encoded, mut bytes) = (self.converter.convert_columns(&keys)?, 0);
        for (row, key) in encoded.iter().enumerate() {
            if nulls.iter().any(|nulls| nulls.is_null(row)) {
                continue;
            }
            if let Some(place) = self.places.get_mut(key.data()) {
                if self.keeps_last {
                    *place = self.rows + u64_of(row);
                }
                continue;
            }
            bytes += key.data().len() + PLACE_BYTES;
            self.places.insert(key.data().into(), self.rows + u64_of(row));
        }
        self.rows += u64_of(values.len());
        self.values.push(values);
        Ok(bytes)
    }
}

fn laid_out(keys: &[ArrayRef], layouts: &[DataType]) -> Result<Vec<ArrayRef>> {
    let laid_out = |(key, layout): (&ArrayRef, &DataType)| match key.data_type() == layout {
        true => Ok(Arc::clone(key)),
        false => Ok(cast(key, layout)?),
    };
    keys.iter().zip(layouts).map(laid_out).collect()
}

impl Lookup {
    /// Whether its rows are there.
    pub fn is_filled(&self) -> bool {
        self.found.get().is_some()
    }

    /// Puts the rows in; `missing` has one row, the value of keys that are not there. `held` lives as long as they do. Who comes
    /// second has read the same rows, which are dropped.
    ///
    /// # Errors
    /// The values are too many for one column.
    pub fn fill(&self, rows: LookupBuilder, missing: &ArrayRef, held: impl Any + Send + Sync) -> Result<()> {
        let mut values: Vec<&dyn Array> = rows.values.iter().map(AsRef::as_ref).collect();
        let layout =
            values.first().map_or_else(|| missing.data_type().clone(), |first| first.data_type().clone());
        let missing = cast(missing, &layout)?;
        values.push(&missing);
        let values = concat(&values)?;
        let LookupBuilder { converter, layouts, places, .. } = rows;
        // Another of the same was faster.
        let _ = self.found.set(Found { converter, layouts, places, values, _held: Box::new(held) });
        Ok(())
    }

    /// Of each key its place, and its value: NULL where it is not there.
    ///
    /// # Errors
    /// The rows are not there yet, or keys are none of theirs.
    pub fn places_of(&self, keys: &[ArrayRef]) -> Result<(UInt64Array, ArrayRef)> {
        let places = self.places(keys)?;
        let values = self.values_at(&places)?;
        Ok((places, values))
    }

    /// Of each key its place.
    ///
    /// # Errors
    /// As [`Lookup::places_of`].
    pub(super) fn places(&self, keys: &[ArrayRef]) -> Result<UInt64Array> {
        let Some(found) = self.found.get() else {
            return internal_err!("a dictionary was asked before it was read");
        };
        let keys = laid_out(keys, &found.layouts)?;
        let nulls: Vec<_> = keys.iter().filter_map(|key| key.logical_nulls()).collect();
        let encoded = found.converter.convert_columns(&keys)?;
        let place =
            |(row, key): (usize, arrow::row::Row<'_>)| match nulls.iter().any(|nulls| nulls.is_null(row)) {
                true => None,
                false => found.places.get(key.data()).copied(),
            };
        Ok(encoded.iter().enumerate().map(place).collect())
    }

    /// The values at places, NULL where there is none.
    ///
    /// # Errors
    /// The rows are not there yet.
    pub(super) fn values_at(&self, places: &UInt64Array) -> Result<ArrayRef> {
        match self.found.get() {
            Some(found) => Ok(take(&found.values, places, None)?),
            None => internal_err!("a dictionary was asked before it was read"),
        }
    }

    /// The value of each key.
    ///
    /// # Errors
    /// As [`Lookup::places_of`].
    pub(super) fn values_of(&self, keys: &[ArrayRef]) -> Result<ArrayRef> {
        let Some(found) = self.found.get() else {
            return internal_err!("a table was asked before it was read");
        };
        let keys = laid_out(keys, &found.layouts)?;
        let missing = u64_of(found.values.len()) - 1;
        let encoded = found.converter.convert_columns(&keys)?;
        // A NULL is among no keys.
        let places = encoded.iter().map(|key| found.places.get(key.data()).copied().unwrap_or(missing));
        let places: UInt64Array = places.collect::<Vec<u64>>().into();
        Ok(take(&found.values, &places, None)?)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, BooleanArray, StringViewArray, UInt8Array};
    use arrow::datatypes::UInt8Type;

    use super::*;

    fn values(lookup: &Lookup, keys: &[ArrayRef]) -> Vec<u8> {
        lookup.values_of(keys).unwrap().as_primitive::<UInt8Type>().values().to_vec()
    }

    #[test]
    fn the_first_row_of_a_key_is_found_and_no_null() {
        let lookup = Lookup::default();
        let mut rows = LookupBuilder::new([DataType::Utf8View, DataType::Boolean]).unwrap();
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None, Some("a"), Some("b")]));
        let bools: ArrayRef = Arc::new(BooleanArray::from(vec![true, true, true, false]));
        let numbers: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2, 3, 4]));
        assert!(rows.push(&[texts, bools], numbers).unwrap() > 2 * PLACE_BYTES);
        let missing: ArrayRef = Arc::new(UInt8Array::from(vec![9]));
        lookup.fill(rows, &missing, ()).unwrap();
        let asked: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), Some("b"), None, Some("b")]));
        let bits: ArrayRef = Arc::new(UInt8Array::from(vec![1, 0, 1, 5]));
        assert_eq!(values(&lookup, &[asked, bits]), [1, 4, 9, 9]);
    }

    #[test]
    fn what_was_not_read_cannot_be_asked() {
        let keys: ArrayRef = Arc::new(UInt8Array::from(vec![1]));
        assert!(Lookup::default().values_of(&[keys]).is_err());
    }
}
