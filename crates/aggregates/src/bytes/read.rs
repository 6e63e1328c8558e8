//! Bytes to states.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, BooleanArray, ListArray,
    MapArray, StructArray, make_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use functions::FunctionError;
use model::ErrorCode;

use super::write::width;
use super::{ALL_NULL, ALL_THERE, SHORT_NULLS_MAX, SOME_NULL, VERSION};
use crate::typing::external;

/// The columns of an accumulator's state, of as many rows as there are values; none of them may be empty.
///
/// # Errors
/// `CORRUPTED_DATA` where bytes are not those of a state of these layouts.
pub(crate) fn decode(states: &BinaryViewArray, layouts: &[DataType]) -> Result<Vec<ArrayRef>> {
    let mut cursors = Vec::with_capacity(states.len());
    for state in states {
        match state.and_then(<[u8]>::split_first) {
            Some((&VERSION, rest)) => cursors.push(rest),
            Some((version, _)) => return Err(broken(&format!("its version is {version}, not {VERSION}"))),
            None => return Err(broken("it has no bytes")),
        }
    }
    let ones = vec![1; cursors.len()];
    let columns = layouts.iter().map(|layout| column(layout, &mut cursors, &ones)).collect::<Result<_>>()?;
    match cursors.iter().find(|rest| !rest.is_empty()) {
        Some(rest) => Err(broken(&format!("{} bytes too many", rest.len()))),
        None => Ok(columns),
    }
}

fn broken(why: &str) -> DataFusionError {
    let message = format!("the state of an aggregate function cannot be read: {why}");
    external(FunctionError::new(ErrorCode::CORRUPTED_DATA, message))
}

fn short() -> DataFusionError {
    broken("it is cut off")
}

fn take<'a>(cursor: &mut &'a [u8], bytes: usize) -> Result<&'a [u8]> {
    let (taken, rest) = cursor.split_at_checked(bytes).ok_or_else(short)?;
    *cursor = rest;
    Ok(taken)
}

fn take_length(cursor: &mut &[u8]) -> Result<usize> {
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let byte = take(cursor, 1)?[0];
        if shift > 28 {
            return Err(broken("a length is too large"));
        }
        length |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(length);
        }
        shift += 7;
    }
}

/// Which values are there, and of each cursor whether any is.
struct There {
    values: Vec<bool>,
    rows: Vec<bool>,
}

fn there(cursors: &mut [&[u8]], counts: &[usize]) -> Result<There> {
    let mut there = There { values: Vec::new(), rows: Vec::with_capacity(counts.len()) };
    for (cursor, count) in cursors.iter_mut().zip(counts) {
        if *count == 0 {
            there.rows.push(false);
            continue;
        }
        match take(cursor, 1)?[0] {
            // What follows has a byte a value at least.
            ALL_THERE if *count <= cursor.len() => there.values.extend(std::iter::repeat_n(true, *count)),
            ALL_NULL if *count <= SHORT_NULLS_MAX => {
                there.values.extend(std::iter::repeat_n(false, *count));
                there.rows.push(false);
                continue;
            }
            SOME_NULL => there.values.extend(take(cursor, *count)?.iter().map(|flag| *flag != 0)),
            ALL_THERE => return Err(short()),
            _ => return Err(broken("a mark of NULL is unknown")),
        }
        there.rows.push(true);
    }
    Ok(there)
}

impl There {
    fn nulls(&self) -> Option<NullBuffer> {
        self.values.contains(&false).then(|| NullBuffer::from(self.values.clone()))
    }
}

/// Reads `counts` values from each cursor.
fn column(layout: &DataType, cursors: &mut [&[u8]], counts: &[usize]) -> Result<ArrayRef> {
    if let DataType::Dictionary(_, value) = layout {
        return Ok(cast(&column(value, cursors, counts)?, layout)?);
    }
    let there = there(cursors, counts)?;
    let nulls = there.nulls();
    let each = cursors.iter_mut().zip(counts).zip(&there.rows);
    match layout {
        DataType::Boolean => {
            let mut values = Vec::with_capacity(there.values.len());
            for ((cursor, count), has_values) in each {
                match has_values {
                    true => values.extend(take(cursor, *count)?.iter().map(|byte| *byte != 0)),
                    false => values.extend(std::iter::repeat_n(false, *count)),
                }
            }
            Ok(Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls)))
        }
        DataType::List(item) => {
            let (lengths, elements) = lengths(each)?;
            let values = column(item.data_type(), cursors, &elements)?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, nulls)?))
        }
        DataType::Map(entries, sorted) => {
            let (lengths, elements) = lengths(each)?;
            let values = column(entries.data_type(), cursors, &elements)?.as_struct().clone();
            let offsets = OffsetBuffer::from_lengths(lengths);
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, values, nulls, *sorted)?))
        }
        DataType::LargeList(item) => {
            let (lengths, elements) = lengths(each)?;
            let values = column(item.data_type(), cursors, &elements)?;
            let offsets = OffsetBuffer::from_lengths(lengths);
            let list = ListArray::try_new(Arc::clone(item), offsets, values, nulls)?;
            Ok(cast(&list, layout)?)
        }
        DataType::Struct(fields) => {
            let members = fields.iter().map(|field| column(field.data_type(), cursors, counts));
            let members = members.collect::<Result<Vec<_>>>()?;
            let rows = there.values.len();
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), members, nulls, rows)?))
        }
        fixed => match width(fixed) {
            Some(width) => {
                let mut bytes = Vec::with_capacity(there.values.len() * width);
                for ((cursor, count), has_values) in each {
                    match has_values {
                        true => bytes.extend_from_slice(take(cursor, count.saturating_mul(width))?),
                        false => bytes.resize(bytes.len() + count * width, 0),
                    }
                }
                let data = ArrayData::builder(fixed.clone()).len(there.values.len()).nulls(nulls);
                Ok(make_array(data.add_buffer(Buffer::from_vec(bytes)).align_buffers(true).build()?))
            }
            None => texts(layout, each, nulls),
        },
    }
}

/// The lengths of all lists, and how many elements follow at each cursor.
fn lengths<'a, 'b: 'a>(
    each: impl Iterator<Item = ((&'a mut &'b [u8], &'a usize), &'a bool)>,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let (mut lengths, mut totals) = (Vec::new(), Vec::new());
    for ((cursor, count), has_values) in each {
        let mut total = 0_usize;
        for _ in 0..*count {
            let length = if *has_values { take_length(cursor)? } else { 0 };
            total = total.saturating_add(length);
            lengths.push(length);
        }
        if total > SHORT_NULLS_MAX && total > cursor.len() {
            return Err(short());
        }
        totals.push(total);
    }
    Ok((lengths, totals))
}

fn texts<'a, 'b: 'a>(
    layout: &DataType,
    each: impl Iterator<Item = ((&'a mut &'b [u8], &'a usize), &'a bool)>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let mut values = BinaryViewBuilder::new();
    for ((cursor, count), has_values) in each {
        let mut lengths = Vec::new();
        for _ in 0..*count {
            lengths.push(if *has_values { take_length(cursor)? } else { 0 });
        }
        for length in lengths {
            values.append_value(take(cursor, length)?);
        }
    }
    let values = values.finish();
    let buffers: Arc<[Buffer]> = values.data_buffers().into();
    let values = BinaryViewArray::try_new(values.views().clone(), buffers, nulls)?;
    match layout {
        DataType::BinaryView => Ok(Arc::new(values)),
        DataType::Utf8View => Ok(Arc::new(values.to_string_view()?)),
        other => Ok(cast(&values, other)?),
    }
}
