//! Cells into the store of a column, a run of them at a time.
//!
//! Invariant: the match on the type stands outside the loop over cells; a scalar that fails leaves nothing behind.

use std::borrow::Cow;
use std::cell::Cell as Flag;

use arrow::array::{NullBufferBuilder, StringViewBuilder};
use arrow::datatypes::i256;
use model::address::{parse_v4, parse_v6};
use model::{ColumnType, ErrorCode, raw_text};

use super::refusal::Manner;
use super::store::Store;
use super::truth::{may_be_truth, truth};
use super::{BuilderOptions, CellError, bare, csv, nested, refusal, unreadable};
use crate::error::{ValueError, excerpt};
use crate::settings::JsonReading;
use crate::values::cell::{Cell, TextForm, bare_value};
use crate::values::date_text::{date, time};
use crate::values::uuid_text;
use scan::number::{self, NumberError};

/// The column around a store.
pub(super) struct Column<'b> {
    pub(super) column_type: &'b ColumnType,
    pub(super) options: &'b BuilderOptions,
    pub(super) nulls: &'b mut Option<NullBufferBuilder>,
    pub(super) scratch: &'b mut Vec<u8>,
    /// Text that most cells are parts of: what lies within need not be checked again.
    pub(super) plain: &'b str,
    /// Rows of the array before.
    pub(super) rows_expected: usize,
}

impl Column<'_> {
    fn valid(&mut self) {
        self.all_valid(1);
    }

    fn all_valid(&mut self, rows: usize) {
        if let Some(nulls) = self.nulls {
            nulls.append_n_non_nulls(rows);
        }
    }

    /// Handles the forms without text. `Ok(true)` when the default is to be stored for this row.
    fn is_default(&mut self, cell: Cell<'_>) -> Result<bool, ValueError> {
        let form = match cell.is_empty_default(self.column_type, self.options.json) {
            true => TextForm::Default,
            false => cell.form,
        };
        match form {
            TextForm::Default | TextForm::Null => match self.nulls {
                Some(nulls) => nulls.append(false),
                None if form == TextForm::Null && !self.options.null_as_default => {
                    let message = format!("NULL does not fit type {}", self.column_type);
                    return Err(ValueError::new(ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, message));
                }
                None => {}
            },
            TextForm::Empty if self.has_empty() => self.valid(),
            // Of a string in JSON a whole number reads the digits that are there.
            TextForm::Json | TextForm::JsonPlain
                if cell.text == b"\"\"" && self.has_empty() && !self.column_type.is_string() =>
            {
                self.valid();
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether nothing at all is a value: a float needs a digit.
    fn has_empty(&self) -> bool {
        let is_float = matches!(self.column_type.value_type(), ColumnType::Float32 | ColumnType::Float64);
        let may_be_empty = self.column_type.is_number() && !is_float && self.options.manner != Manner::Whole;
        self.column_type.is_string() || may_be_empty
    }

    /// Whether the value lacks the quotes that its type has in SQL: a bare word there is an expression.
    fn check_quotes(&self, cell: Cell<'_>) -> Result<(), ValueError> {
        if cell.form != TextForm::Literal || cell.text.first() == Some(&b'\'') {
            return Ok(());
        }
        let mut inner = self.column_type;
        while let ColumnType::Nullable(within) | ColumnType::LowCardinality(within) = inner {
            inner = within;
        }
        let fits = match inner {
            ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => {
                let digits = cell.text.strip_prefix(b"-").unwrap_or(cell.text);
                digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
            }
            _ if self.options.manner != Manner::Expression => !is_quoted(inner),
            ColumnType::Enum8(_) | ColumnType::Enum16(_) => number::signed::<i16>(cell.text).is_ok(),
            ColumnType::Date | ColumnType::Date32 => bare::are_days(cell),
            other => !is_quoted(other),
        };
        if fits {
            return Ok(());
        }
        let message = format!("{} stands without quotes, for type {}", excerpt(cell.text), self.column_type);
        Err(ValueError::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message))
    }

    /// The error of a cell with the code that it has in the format.
    fn refused(&self, cell: Cell<'_>, error: ValueError) -> ValueError {
        refusal::coded(cell, self.column_type, self.options.manner, error)
    }

    fn error(&self, why: NumberError, text: &[u8]) -> ValueError {
        match why {
            NumberError::NotANumber => unreadable(self.column_type, text),
            NumberError::OutOfRange => {
                let message = format!("value {} does not fit type {}", excerpt(text), self.column_type);
                ValueError::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message)
            }
        }
    }
}

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
                let days = if is_bare.get() { bare::days(text) } else { date(text) };
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

/// The text of a value where it stands in the input as it is, and its quotes can be told without a search.
#[inline]
fn plain_text(cell: Cell<'_>) -> Option<&[u8]> {
    match (cell.form, cell.text) {
        (TextForm::Raw | TextForm::CsvQuoted, text) => Some(text),
        (TextForm::JsonPlain, [_, text @ .., _]) => Some(text),
        // What begins with an `n` is null, or wrong.
        (TextForm::Json, text) if !matches!(text.first(), Some(b'"' | b'n')) => Some(text),
        _ => None,
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
fn other_scalar<T>(
    column: &mut Column<'_>,
    default: T,
    cell: Cell<'_>,
    read: &mut impl FnMut(&[u8]) -> Result<T, NumberError>,
) -> Result<T, ValueError> {
    checked_scalar(column, default, cell, read).map_err(|error| column.refused(cell, error))
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
    column.check_quotes(cell)?;
    if bare::is_bare(cell) && cell.text.first() == Some(&b'n') {
        return Err(unreadable(column.column_type, cell.text));
    }
    let is_decimal = matches!(column.column_type.value_type(), ColumnType::Decimal { .. });
    let truth_counts = column.options.json.bools_as_numbers && !is_decimal;
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
        (TextForm::Json | TextForm::JsonPlain, _) if !truth_counts => Err(why),
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

fn texts<'a>(
    column: &mut Column<'_>,
    store: &mut Store,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), CellError> {
    let Store::Text { values, fixed, rows, .. } = store else { return Ok(()) };
    let json_is_text = column.options.json.any_value_is_text();
    if *rows == 0 && column.rows_expected > 0 {
        **values = StringViewBuilder::with_capacity(column.rows_expected);
    }
    let (column_type, manner, mut uncounted) = (column.column_type, column.options.manner, 0);
    let computes = manner == Manner::Expression && fixed.is_none() && column_type.is_string();
    for (index, cell) in cells.enumerate() {
        let at = |error| CellError { index, error: refusal::coded(cell, column_type, manner, error) };
        let computed = computes.then(|| refusal::as_text(cell)).flatten();
        let cell = computed.as_deref().map_or(cell, |text| Cell { text, form: TextForm::Raw });
        let bytes = match plain_text(cell) {
            Some(bytes) if cell.form != TextForm::Json => bytes,
            _ => {
                column.all_valid(std::mem::take(&mut uncounted));
                if column.is_default(cell).map_err(at)? {
                    values.append_value("");
                    *rows += 1;
                    continue;
                }
                if cell.form == TextForm::Json {
                    bare_value(cell.text).map_err(at)?;
                    if !json_is_text {
                        text_of_json(cell.text, column.options.json).map_err(at)?;
                    }
                    if fixed.is_some() && cell.text.first() != Some(&b'"') {
                        let message = format!(
                            "{} stands without quotes, for type {}",
                            excerpt(cell.text),
                            column.column_type
                        );
                        return Err(at(ValueError::new(ErrorCode::CANNOT_PARSE_QUOTED_STRING, message)));
                    }
                }
                column.check_quotes(cell).map_err(at)?;
                cell.content(column.scratch).map_err(at)?
            }
        };
        if fixed.is_none()
            && let Some(text) = part_of(column.plain, bytes)
        {
            values.append_value(text);
            *rows += 1;
            uncounted += 1;
            continue;
        }
        let text = match checked_text(bytes, *fixed, column.column_type) {
            Ok(text) => text,
            Err(error) => {
                column.all_valid(uncounted);
                return Err(at(error));
            }
        };
        values.append_value(text);
        *rows += 1;
        uncounted += 1;
    }
    column.all_valid(uncounted);
    Ok(())
}

/// Bytes that are a part of a text, as text.
#[inline]
fn part_of<'t>(whole: &'t str, bytes: &[u8]) -> Option<&'t str> {
    let start = bytes.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    whole.get(start..start.checked_add(bytes.len())?)
}

/// The bytes as text that fits the column; `fixed` is the length of a FixedString. Bytes that are no UTF-8 are carried.
#[inline]
fn checked_text<'t>(
    bytes: &'t [u8],
    fixed: Option<usize>,
    column_type: &ColumnType,
) -> Result<Cow<'t, str>, ValueError> {
    if let Some(limit) = fixed
        && bytes.len() > limit
    {
        let message = format!("text of {} bytes does not fit type {column_type}", bytes.len());
        return Err(ValueError::new(ErrorCode::TOO_LARGE_STRING_SIZE, message));
    }
    let text = raw_text::carry(bytes);
    match (fixed, text) {
        (Some(_), Cow::Borrowed(text)) => Ok(Cow::Borrowed(text.trim_end_matches('\0'))),
        (Some(_), Cow::Owned(mut text)) => {
            text.truncate(text.trim_end_matches('\0').len());
            Ok(Cow::Owned(text))
        }
        (None, text) => Ok(text),
    }
}

/// Whether SQL writes values of the type in quotes.
fn is_quoted(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    column_type.is_string()
        || column_type.state().is_some()
        || matches!(
            column_type,
            T::Enum8(_) | T::Enum16(_) | T::Uuid | T::Ipv4 | T::Ipv6 | T::Date | T::Date32
        )
}

/// Whether the settings let a JSON value that is no string be read as text.
fn text_of_json(value: &[u8], json: JsonReading) -> Result<(), ValueError> {
    let (allowed, what, setting) = match value.first() {
        Some(b'"') => return Ok(()),
        Some(b'{') => (json.objects_as_strings, "an object", "objects"),
        Some(b'[') => (json.arrays_as_strings, "an array", "arrays"),
        Some(b't' | b'f') => (json.bools_as_strings, "a Bool", "bools"),
        _ => (json.numbers_as_strings, "a number", "numbers"),
    };
    if allowed {
        return Ok(());
    }
    let message = format!(
        "{what} is given for a String: {}; input_format_json_read_{setting}_as_strings = 1 reads it as text",
        excerpt(value)
    );
    Err(ValueError::new(ErrorCode::INCORRECT_DATA, message))
}
