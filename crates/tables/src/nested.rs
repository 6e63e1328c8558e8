//! The arrays of a Nested: columns `n.a` and `n.b` have as many elements in each row.
//!
//! Invariant: rows that are stored keep to it; a part that an INSERT leaves out has as many defaults as the others have
//! elements. Must not know: where the rows come from.

pub mod declared;
pub mod named;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};
use boundary::error::{Error, ErrorKind};
use functions::cast::default_array;
use model::{ColumnDef, ColumnType, ErrorCode};

use self::declared::nested_name;

/// Columns of one Nested, by their places among the columns that are written.
pub type Parts = Vec<usize>;

/// Every Nested of more than one part.
pub fn nested_of<'a>(columns: impl Iterator<Item = &'a ColumnDef>) -> Vec<Parts> {
    let mut found: Vec<(&str, Parts)> = Vec::new();
    for (place, column) in columns.enumerate() {
        let Some(name) = nested_name(column) else { continue };
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, parts)) => parts.push(place),
            None => found.push((name, vec![place])),
        }
    }
    found.into_iter().map(|(_, parts)| parts).filter(|parts| parts.len() > 1).collect()
}

/// Compares the parts that have values, and gives those that are left out as many defaults.
pub fn complete(
    parts: &Parts,
    arrays: &mut [Option<ArrayRef>],
    columns: &[&ColumnDef],
    is_left_out: &dyn Fn(usize) -> bool,
) -> Result<(), Error> {
    let given = |place: &&usize| !is_left_out(**place) && arrays[**place].is_some();
    let Some(first) = parts.iter().find(given).copied() else { return Ok(()) };
    let Some(sizes) = arrays[first].clone() else { return Ok(()) };
    let sizes = sizes.as_list::<i32>();
    for place in parts.iter().copied().filter(|place| *place != first) {
        let Some(array) = &arrays[place] else { continue };
        if is_left_out(place) {
            arrays[place] = Some(defaults(columns[place], sizes)?);
            continue;
        }
        let other = array.as_list::<i32>();
        if (0..sizes.len()).any(|row| sizes.value_length(row) != other.value_length(row)) {
            let message = format!(
                "elements {} and {} of a Nested have arrays of different sizes",
                columns[first].name, columns[place].name
            );
            return Err(Error::new(ErrorKind::BadInput, ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
        }
    }
    Ok(())
}

fn defaults(column: &ColumnDef, sizes: &ListArray) -> Result<ArrayRef, Error> {
    let ColumnType::Array(element) = &column.column_type else {
        return Err(Error::internal(format!("column {} is no array", column.name)));
    };
    let lengths: Vec<usize> =
        (0..sizes.len()).map(|row| usize::try_from(sizes.value_length(row)).unwrap_or_default()).collect();
    let offsets = arrow::buffer::OffsetBuffer::from_lengths(lengths.iter().copied());
    let values = default_array(element, lengths.iter().sum());
    let field = match default_array(&column.column_type, 0).data_type() {
        arrow::datatypes::DataType::List(field) => Arc::clone(field),
        other => return Err(Error::internal(format!("an array is stored as {other}"))),
    };
    let list = ListArray::try_new(field, offsets, values, None);
    list.map(|list| Arc::new(list) as ArrayRef).map_err(|e| Error::internal(e.to_string()))
}
