//! Cells into the store of a column, a run of them at a time.
//!
//! Invariant: the match on the type stands outside the loop over cells; a scalar that fails leaves nothing behind.

use std::cell::Cell as Flag;

use arrow::datatypes::i256;
use model::address::{parse_v4, parse_v6};
use model::calendar::date_text::{date, time};
use model::{ColumnType, ErrorCode};

use super::column::{Column, plain_text};
use super::refusal::Manner;
use super::store::Store;
use super::texts::texts;
use super::truth::{may_be_truth, truth};
use super::{CellError, bare, csv, nested, unreadable};
use crate::error::{ValueError, excerpt};
use crate::values::cell::{Cell, TextForm};
use model::value::uuid_text;
use scan::number::{self, NumberError};

/// Appends every cell, or stops at the first that fails.
pub(super) fn append<'a>(
    mut column: Column<'_>,
    store: &mut Store,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), CellError> {
    let column = &mut column;
    match store {
        Store::UInt8(values) => scalars(column, values, 0, cells, number::unsigned),
        Store::UInt16(values) => scalars(column, values, 0, cells, number::unsigned),
        Store::UInt32(values) => scalars(column, values, 0, cells, number::unsigned),
        Store::UInt64(values) => scalars(column, values, 0, cells, number::unsigned),
        Store::Int8(values) => scalars(column, values, 0, cells, number::signed),
        Store::Int16(values) => scalars(column, values, 0, cells, number::signed),
        Store::Int32(values) => scalars(column, values, 0, cells, number::signed),
        Store::Int64(values) => scalars(column, values, 0, cells, number::signed),
        Store::Float32(values) => scalars(column, values, 0.0, cells, number::float),
        Store::Float64(values) => scalars(column, values, 0.0, cells, number::float),
        Store::Bool(values) => truths(column, values, cells),
        Store::Decimal128(values, precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            scalars(column, values, 0, cells, |text| number::decimal128(text, precision, scale))
        }
        Store::Decimal256(values, precision, scale) => {
            let (precision, scale) = (*precision, *scale);
            scalars(column, values, i256::ZERO, cells, |text| number::decimal256(text, precision, scale))
        }
        Store::Date(values, range) => {
            let ((first, last), is_bare) = (*range, Flag::new(false));
            let cells = cells.inspect(|cell| is_bare.set(bare::is_bare(*cell) || bare::are_days(*cell)));
            scalars(column, values, 0, cells, |text| {
                let days = if is_bare.get() { bare::days(text, first) } else { date(text) };
                let days = days.ok_or(NumberError::NotANumber)?.clamp(first, last);
                i32::try_from(days).map_err(|_| NumberError::OutOfRange)
            })
        }
        Store::Time(values, of_column) => {
            let (input, is_bare) = (column.options.time_input, Flag::new(false));
            let cells = cells.inspect(|cell| is_bare.set(bare::is_bare(*cell)));
            scalars(column, values, 0, cells, |text| {
                let found = if is_bare.get() { bare::seconds(text, input) } else { time(text, input) };
                of_column.ticks(found.ok_or(NumberError::NotANumber)?)
            })
        }
        Store::Uuid(_) | Store::Wide(..) | Store::Ipv4(_) | Store::Ipv6(_) => words(column, store, cells),
        Store::Enum8(values, lookup) => {
            let least = i8::try_from(lookup.least()).unwrap_or(0);
            let (numbers, is_bare) = (column.options.enums_as_numbers, Flag::new(false));
            let cells = cells.inspect(|cell| is_bare.set(bare::is_bare(*cell)));
            scalars(column, values, least, cells, |text| {
                lookup
                    .find_as(text, numbers || is_bare.get())
                    .and_then(|n| i8::try_from(n).ok())
                    .ok_or(NumberError::NotANumber)
            })
        }
        Store::Enum16(values, lookup) => {
            let (least, numbers) = (lookup.least(), column.options.enums_as_numbers);
            let is_bare = Flag::new(false);
            let cells = cells.inspect(|cell| is_bare.set(bare::is_bare(*cell)));
            scalars(column, values, least, cells, |text| {
                lookup.find_as(text, numbers || is_bare.get()).ok_or(NumberError::NotANumber)
            })
        }
        Store::Text { .. } => texts(column, store, cells),
        Store::List { .. } | Store::Map { .. } | Store::Tuple { .. } | Store::Nothing(_) => {
            nested_values(column, store, cells)
        }
    }
}

fn nested_values<'a>(
    column: &mut Column<'_>,
    store: &mut Store,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), CellError> {
    for (index, cell) in cells.enumerate() {
        let at = |error| CellError { index, error };
        if column.is_default(cell).map_err(at)? {
            store.push_default();
            continue;
        }
        if csv::nested_list(cell, column.options, store).map_err(at)? {
            column.valid();
            continue;
        }
        let bracketed = csv::bracketed(cell, column.options, store).map_err(at)?;
        let cell = bracketed.as_deref().map_or(cell, |text| Cell { text, form: TextForm::Raw });
        let read = nested::append(column.column_type, store, cell, column.scratch, column.options.json);
        read.map_err(|error| at(column.refused(cell, error)))?;
        column.valid();
    }
    Ok(())
}

fn truths<'a>(
    column: &mut Column<'_>,
    values: &mut Vec<bool>,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), CellError> {
    let words = column.options.bool_words.clone();
    for (index, cell) in cells.enumerate() {
        let at = |error| CellError { index, error };
        if !may_be_truth(cell) && !cell.is_empty_default(column.column_type, column.options.json) {
            return Err(at(column.refused(cell, unreadable(column.column_type, cell.text))));
        }
        let value = other_scalar(column, false, cell, &mut |text| truth(text, &words));
        values.push(value.map_err(at)?);
    }
    Ok(())
}

/// Values that are read from one word and are no numbers of the machine.
fn words<'a>(
    column: &mut Column<'_>,
    store: &mut Store,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), CellError> {
    match store {
        Store::Uuid(values) => {
            scalars(column, values, 0, cells, |text| uuid_text::parse(text).ok_or(NumberError::NotANumber))
        }
        Store::Wide(values, kind) => {
            let kind = *kind;
            scalars(column, values, i256::ZERO, cells, |text| match kind.parse(text) {
                Some((value, true)) => Ok(value),
                Some(_) => Err(NumberError::OutOfRange),
                None => Err(NumberError::NotANumber),
            })
        }
        Store::Ipv4(values) => {
            scalars(column, values, 0, cells, |text| parse_v4(text).ok_or(NumberError::NotANumber))
        }
        Store::Ipv6(values) => scalars(column, values, 0, cells, |text| {
            parse_v6(text).map(u128::from_be_bytes).ok_or(NumberError::NotANumber)
        }),
        _ => Ok(()),
    }
}

fn scalars<'a, T: Copy>(
    column: &mut Column<'_>,
    values: &mut Vec<T>,
    default: T,
    cells: impl Iterator<Item = Cell<'a>>,
    mut read: impl FnMut(&[u8]) -> Result<T, NumberError>,
) -> Result<(), CellError> {
    let rows = cells.size_hint().0;
    values.reserve(if values.is_empty() { rows.max(column.rows_expected) } else { rows });
    // Rows that were not yet counted as valid.
    let mut uncounted = 0;
    for (index, cell) in cells.enumerate() {
        if let Some(text) = plain_text(cell)
            && let Ok(value) = read(text)
        {
            values.push(value);
            uncounted += 1;
            continue;
        }
        column.all_valid(std::mem::take(&mut uncounted));
        let error = |error| CellError { index, error };
        values.push(other_scalar(column, default, cell, &mut read).map_err(error)?);
    }
    column.all_valid(uncounted);
    Ok(())
}

/// Reads a scalar that is not plain text, or says why it cannot be read.
fn other_scalar<T: Copy>(
    column: &mut Column<'_>,
    default: T,
    cell: Cell<'_>,
    read: &mut impl FnMut(&[u8]) -> Result<T, NumberError>,
) -> Result<T, ValueError> {
    checked_scalar(column, default, cell, read).or_else(|error| {
        if column.options.manner == Manner::Expression {
            let constant = bare::constant(cell, column.column_type.value_type());
            if let Some(value) = constant.and_then(|text| read(&text).ok()) {
                column.valid();
                return Ok(value);
            }
            if column.becomes_null(cell, &error) {
                return Ok(default);
            }
        }
        Err(column.refused(cell, error))
    })
}

fn checked_scalar<T>(
    column: &mut Column<'_>,
    default: T,
    cell: Cell<'_>,
    read: &mut impl FnMut(&[u8]) -> Result<T, NumberError>,
) -> Result<T, ValueError> {
    if matches!(cell.form, TextForm::Raw | TextForm::CsvQuoted) {
        let value = match (read(cell.text), csv::in_single_quotes(cell, column.column_type, column.options)) {
            (Ok(value), _) => value,
            (Err(_), Some(b"")) if column.column_type.value_type().is_number() => default,
            (Err(why), None) => return Err(column.error(why, cell.text)),
            (Err(_), Some(text)) => read(text).map_err(|why| column.error(why, cell.text))?,
        };
        column.valid();
        return Ok(value);
    }
    // No value but text is written with escapes.
    if cell.form == TextForm::Escaped && !csv::is_enum(column.column_type) {
        return Err(unreadable(column.column_type, cell.text));
    }
    if column.is_default(cell)? {
        return Ok(default);
    }
    let decimal = bare::decimal(cell).filter(|_| column.options.manner == Manner::Expression);
    let cell = decimal.as_deref().map_or(cell, |text| Cell { text, ..cell });
    column.check_quotes(cell)?;
    if bare::is_bare(cell) && cell.text.first() == Some(&b'n') {
        return Err(unreadable(column.column_type, cell.text));
    }
    let takes_truth = !matches!(
        column.column_type.value_type(),
        ColumnType::Decimal { .. }
            | ColumnType::DateTime { .. }
            | ColumnType::DateTime64 { .. }
            | ColumnType::Enum8(_)
            | ColumnType::Enum16(_)
    );
    let truth_counts = match cell.form {
        TextForm::Literal => column.options.manner == Manner::Expression,
        _ => column.options.json.bools_as_numbers && takes_truth,
    };
    let value = escaped_scalar(column.scratch, cell, truth_counts, read)
        .map_err(|error| error.unwrap_or_else(|| column.error(NumberError::NotANumber, cell.text)))?;
    column.valid();
    Ok(value)
}

/// Reads a scalar that has quotes or escapes around it; JSON's `true` and `false` may count as 1 and 0.
fn escaped_scalar<T>(
    scratch: &mut Vec<u8>,
    cell: Cell<'_>,
    truth_counts: bool,
    read: &mut impl FnMut(&[u8]) -> Result<T, NumberError>,
) -> Result<T, Option<ValueError>> {
    let text = cell.content(scratch).map_err(Some)?;
    let why = match read(text) {
        Ok(value) => return Ok(value),
        Err(why) => why,
    };
    let truth = match (cell.form, text) {
        _ if !truth_counts => Err(why),
        (TextForm::Json | TextForm::JsonPlain | TextForm::Literal, b"true") => read(b"1"),
        (TextForm::Json | TextForm::JsonPlain | TextForm::Literal, b"false") => read(b"0"),
        _ => Err(why),
    };
    truth.map_err(|why| match why {
        NumberError::OutOfRange => {
            let message = format!("value {} is out of range", excerpt(text));
            Some(ValueError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message))
        }
        NumberError::NotANumber => None,
    })
}
