//! Arrays as a file has them, made into arrays of the column's type.
//!
//! Invariant: the result has exactly the layout and the nullability of the field; a value that does not fit is an
//! error, never another value. NULL where the column knows none becomes the default, as in ClickHouse
//! (`input_format_null_as_default`). Must not know: files, the names of columns; whoever calls adds them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, FixedSizeBinaryArray, ListArray, MapArray, Scalar,
    StringViewArray, StringViewBuilder, StructArray, new_null_array,
};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::compute::{CastOptions, cast_with_options, is_null, kernels::zip::zip};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field, FieldRef, Fields, Float64Type, Int8Type, Int16Type,
    TimeUnit, TimestampSecondType,
};
use arrow::util::display::FormatOptions;
use model::type_arrow::from_field;
use model::{ColumnType, ErrorCode, WideInteger, raw_text};

use crate::columns::builder::TypedColumnBuilder;
use crate::columns::text::{ColumnText, Style};
use crate::error::ValueError;
use crate::settings::FormatSettings;
use crate::values::cell::TextForm;
use model::calendar::zone::DATE_TIME_SECONDS_MAX;

/// The last day of ClickHouse's Date, 2149-06-06.
const DATE_DAYS_MAX: i32 = 65_535;
const SECONDS_PER_DAY: i64 = 86_400;

fn problem(text: impl Into<String>) -> ValueError {
    ValueError::new(ErrorCode::CANNOT_PARSE_TEXT, text)
}

fn broken(error: impl std::fmt::Display) -> ValueError {
    problem(error.to_string())
}

/// Makes `array`, which is of a foreign file, fit `field`.
pub fn conform(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ValueError> {
    conform_from(array, None, field)
}

/// Makes `array`, which is of the type that `source` says, fit `field`.
pub(crate) fn conform_from(
    array: &ArrayRef,
    source: Option<&Field>,
    field: &Field,
) -> Result<ArrayRef, ValueError> {
    let in_days = matches!(array.data_type(), DataType::Date32 | DataType::Date64);
    let shaped = if let Some(kind) = foreign_wide(array, source, field) {
        turned(array, kind)?
    } else if same_layout(array.data_type(), field.data_type()) {
        Arc::clone(array)
    } else {
        reshape(array, field)?
    };
    if matches!(shaped.data_type(), DataType::Int8 | DataType::Int16 | DataType::Utf8View | DataType::Date32)
    {
        check_values(&shaped, &from_field(field))?;
    }
    let shaped = within_seconds(shaped, in_days, field)?;
    if field.is_nullable() || shaped.null_count() == 0 {
        return Ok(shaped);
    }
    without_nulls(&shaped, field)
}

/// A column that the file does not have: NULL, or the type's default.
pub fn missing(field: &Field, rows: usize) -> Result<ArrayRef, ValueError> {
    if field.is_nullable() {
        return Ok(new_null_array(field.data_type(), rows));
    }
    defaults(field, rows)
}

/// Files of others have wide integers with the lowest byte first.
fn foreign_wide(array: &ArrayRef, source: Option<&Field>, field: &Field) -> Option<WideInteger> {
    let DataType::FixedSizeBinary(width) = array.data_type() else { return None };
    let kind = WideInteger::of(&from_field(field)).filter(|kind| i32::try_from(kind.bytes) == Ok(*width))?;
    let is_ours = source.is_some_and(|source| WideInteger::of(&from_field(source)) == Some(kind));
    (!is_ours).then_some(kind)
}

fn turned(array: &ArrayRef, kind: WideInteger) -> Result<ArrayRef, ValueError> {
    let values = array.as_fixed_size_binary();
    let bytes: Vec<u8> = (0..values.len()).flat_map(|row| values.value(row)).copied().collect();
    let stored = Buffer::from_vec(kind.turn(&bytes, true));
    FixedSizeBinaryArray::try_new(values.value_length(), stored, values.nulls().cloned())
        .map(|values| Arc::new(values) as ArrayRef)
        .map_err(broken)
}

/// Equal down to the metadata of nested fields, which a batch checks.
fn same_layout(from: &DataType, to: &DataType) -> bool {
    from == to && !matches!(to, DataType::List(_) | DataType::Map(..) | DataType::Struct(_))
}

fn reshape(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ValueError> {
    let to = field.data_type();
    match (array.data_type(), to) {
        (DataType::BinaryView, DataType::Utf8View) => Ok(carried_text(array.as_binary_view())),
        (DataType::FixedSizeBinary(_), DataType::Utf8View) if is_fixed_text(field) => {
            let bytes = array.as_fixed_size_binary();
            let unpadded = BinaryViewArray::from_iter(bytes.iter().map(|value| value.map(without_padding)));
            Ok(carried_text(&unpadded))
        }
        (DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_), DataType::Utf8View) => {
            let views = cast(array, &DataType::BinaryView)?;
            Ok(carried_text(views.as_binary_view()))
        }
        (DataType::Utf8 | DataType::LargeUtf8, other) if *other != DataType::Utf8View => {
            parsed(cast(array, &DataType::Utf8View)?.as_string_view(), field)
        }
        (DataType::Dictionary(_, values), other)
            if *other != DataType::Utf8View && matches!(**values, DataType::Utf8 | DataType::LargeUtf8) =>
        {
            parsed(cast(array, &DataType::Utf8View)?.as_string_view(), field)
        }
        (DataType::Binary | DataType::LargeBinary, DataType::BinaryView) => cast(array, to),
        (DataType::Utf8View, DataType::BinaryView) => {
            Ok(Arc::new(raw_text::bytes_of_all(array.as_string_view())))
        }
        (DataType::BinaryView, _) => {
            let text = carried_text(array.as_binary_view());
            parsed(text.as_string_view(), field)
        }
        (DataType::Utf8View, _) => parsed(array.as_string_view(), field),
        // Arrow casts only 32 bits of days to dates.
        (
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::Int8 | DataType::Int16,
            DataType::Date32,
        ) => cast(&cast(array, &DataType::Int32)?, to),
        (DataType::Date32 | DataType::Date64, DataType::UInt16) => cast(&cast(array, &DataType::Int32)?, to),
        (from, DataType::FixedSizeBinary(_))
            if from.is_integer() && WideInteger::of(&from_field(field)).is_some() =>
        {
            parsed(cast(array, &DataType::Utf8View)?.as_string_view(), field)
        }
        (DataType::Timestamp(..), DataType::Utf8View) => {
            let own = from_field(&Field::new("", array.data_type().clone(), true));
            written(array, &own, &FormatSettings::default())
        }
        (DataType::Decimal128(_, from_scale), DataType::Decimal128(precision, scale))
            if scale < from_scale =>
        {
            let dropped = 10_i128.pow(u32::from(from_scale.abs_diff(*scale)));
            let cut =
                array.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(|value| value / dropped);
            cast(
                &(Arc::new(cut.with_precision_and_scale(38, *scale).map_err(broken)?) as ArrayRef),
                &DataType::Decimal128(*precision, *scale),
            )
        }
        (DataType::List(own), DataType::List(item)) => list(array.as_list(), own, item),
        (DataType::Map(..), DataType::Map(entries, _)) => map(array.as_map(), entries),
        (DataType::Struct(_), DataType::Struct(_)) => tuple(array.as_struct(), field),
        _ => of_time(array, field),
    }
}

/// Times as numbers, numbers as times; else what Arrow makes of it. Digits that the type does not have are cut off, as in ClickHouse.
fn of_time(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ValueError> {
    let to = field.data_type();
    match (array.data_type(), to) {
        // A time without a zone is one of UTC, wherever it is shown.
        (DataType::Timestamp(unit, None), DataType::Timestamp(_, Some(_))) => {
            let utc = cast(&cast(array, &DataType::Int64)?, &DataType::Timestamp(*unit, Some("UTC".into())))?;
            cast(&utc, to)
        }
        // A time as a number is its seconds, whatever the file counts in.
        (DataType::Timestamp(..), number) if number.is_integer() => {
            let seconds = cast(array, &DataType::Timestamp(TimeUnit::Second, None))?;
            cast(&cast(&seconds, &DataType::Int64)?, to)
        }
        (DataType::Time32(unit) | DataType::Time64(unit), DataType::Timestamp(..)) => {
            let ticks = match array.data_type() {
                DataType::Time32(_) => cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?,
                _ => cast(array, &DataType::Int64)?,
            };
            cast(&cast(&ticks, &DataType::Timestamp(*unit, None))?, to)
        }
        (DataType::Timestamp(unit, _), DataType::Float32 | DataType::Float64) => {
            let ticks = cast(&cast(array, &DataType::Int64)?, &DataType::Float64)?;
            let per_second = 10_f64.powi(i32::from(digits_of(*unit)));
            cast(
                &(Arc::new(ticks.as_primitive::<Float64Type>().unary::<_, Float64Type>(|n| n / per_second))
                    as _),
                to,
            )
        }
        (DataType::Timestamp(unit, _), DataType::Decimal128(..) | DataType::Decimal256(..)) => {
            let ticks = cast(&cast(array, &DataType::Int64)?, &DataType::Decimal128(38, 0))?;
            let seconds = ticks.as_primitive::<Decimal128Type>().clone();
            let digits = digits_of(*unit).cast_signed();
            reshape(&(Arc::new(seconds.with_precision_and_scale(38, digits).map_err(broken)?) as _), field)
        }
        // A number as a time is its seconds, whatever the type counts in.
        (number, DataType::Timestamp(TimeUnit::Second, _)) if number.is_integer() => cast(array, to),
        (number, DataType::Timestamp(unit, _)) if number.is_floating() => {
            let per_second = 10_f64.powi(i32::from(digits_of(*unit)));
            let seconds = cast(array, &DataType::Float64)?;
            let ticks =
                seconds.as_primitive::<Float64Type>().unary::<_, Float64Type>(|n| (n * per_second).trunc());
            cast(&cast(&(Arc::new(ticks) as _), &DataType::Int64)?, to)
        }
        (number, DataType::Timestamp(unit, _)) if number.is_numeric() => {
            let digits = digits_of(*unit).cast_signed();
            let seconds = reshape(array, &Field::new("", DataType::Decimal128(38, digits), true))?;
            let ticks = seconds.as_primitive::<Decimal128Type>().clone();
            let ticks = ticks.with_precision_and_scale(38, 0).map_err(broken)?;
            cast(&cast(&(Arc::new(ticks) as _), &DataType::Int64)?, to)
        }
        _ => cast(array, to),
    }
}

/// Decimal digits behind the seconds.
fn digits_of(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// The values of a type as text.
pub(crate) fn written(
    array: &ArrayRef,
    column_type: &ColumnType,
    settings: &FormatSettings,
) -> Result<ArrayRef, ValueError> {
    let mut text = ColumnText::new(array, column_type, settings).map_err(broken)?;
    let mut builder = StringViewBuilder::new();
    let mut scratch = Vec::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
            continue;
        }
        scratch.clear();
        text.write(row, Style::Plain, &mut scratch);
        builder.append_value(String::from_utf8_lossy(&scratch));
    }
    Ok(Arc::new(builder.finish()))
}

/// Seconds of a DateTime are 32 bits: a day out of its range is an error, a time stops at its ends.
fn within_seconds(array: ArrayRef, in_days: bool, field: &Field) -> Result<ArrayRef, ValueError> {
    let Some(seconds) = array.as_primitive_opt::<TimestampSecondType>() else { return Ok(array) };
    let range = 0..=DATE_TIME_SECONDS_MAX;
    let out_of_range = |value: &i64| !range.contains(value);
    // NULLs may lie over anything.
    if !seconds.values().iter().fold(false, |found, value| found | out_of_range(value))
        || !matches!(from_field(field).value_type(), ColumnType::DateTime { .. })
    {
        return Ok(array);
    }
    if in_days && let Some(value) = seconds.iter().flatten().find(out_of_range) {
        let day = value.div_euclid(SECONDS_PER_DAY);
        let message = format!("has the day {day} since 1970, which is out of the range of DateTime");
        return Err(ValueError::new(ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, message));
    }
    let inside = seconds.unary::<_, TimestampSecondType>(|value| value.clamp(0, DATE_TIME_SECONDS_MAX));
    Ok(Arc::new(inside.with_data_type(array.data_type().clone())))
}

fn is_fixed_text(field: &Field) -> bool {
    matches!(from_field(field).value_type(), ColumnType::FixedString(_))
}

/// FixedString is held without the zero bytes that fill it up.
fn without_padding(padded: &[u8]) -> &[u8] {
    let end = padded.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &padded[..end]
}

/// Text read as values, by the rules of the text formats: names of enums, dates, UUIDs.
fn parsed(text: &StringViewArray, field: &Field) -> Result<ArrayRef, ValueError> {
    let column_type = from_field(field).nullable();
    let failed = |error: String, code: ErrorCode| {
        ValueError::new(code, format!("cannot be read as {column_type}: {error}"))
    };
    let mut builder =
        TypedColumnBuilder::new(&column_type).map_err(|error| failed(error.to_string(), error.code))?;
    for value in text {
        let (bytes, form) = match value {
            Some(value) => (raw_text::bytes(value), TextForm::Raw),
            None => (Cow::Borrowed(&[][..]), TextForm::Null),
        };
        builder.append_text(&bytes, form).map_err(|error| failed(error.to_string(), error.code))?;
    }
    let values = builder.finish().map_err(|error| failed(error.to_string(), error.code))?;
    if values.data_type() == field.data_type() { Ok(values) } else { cast(&values, field.data_type()) }
}

/// Values that the layout could hold and the type does not know.
fn check_values(array: &ArrayRef, column_type: &ColumnType) -> Result<(), ValueError> {
    let unfit = match (column_type.value_type(), array.data_type()) {
        (ColumnType::Enum8(names), DataType::Int8) => {
            first_unfit(array.as_primitive::<Int8Type>().iter(), |n| names.name(i16::from(n)).is_some())
        }
        (ColumnType::Enum16(names), DataType::Int16) => {
            first_unfit(array.as_primitive::<Int16Type>().iter(), |n| names.name(n).is_some())
        }
        (ColumnType::Date, DataType::Date32) => {
            first_unfit(array.as_primitive::<Date32Type>().iter(), |days| (0..=DATE_DAYS_MAX).contains(&days))
        }
        (ColumnType::FixedString(bytes), DataType::Utf8View) => {
            let bytes_max = usize::try_from(*bytes).unwrap_or(usize::MAX);
            first_unfit(array.as_string_view().iter(), |text| raw_text::bytes(text).len() <= bytes_max)
        }
        _ => None,
    };
    match unfit {
        Some(value) if *column_type.value_type() == ColumnType::Date => {
            let message =
                format!("has the day {value} since 1970, which is out of the range of {column_type}");
            Err(ValueError::new(ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, message))
        }
        Some(value) => Err(problem(format!("has the value {value}, which is none of {column_type}"))),
        None => Ok(()),
    }
}

fn first_unfit<V: ToString + Copy>(
    mut values: impl Iterator<Item = Option<V>>,
    fits: impl Fn(V) -> bool,
) -> Option<String> {
    values.find_map(|value| value.filter(|value| !fits(*value))).map(|value| value.to_string())
}

/// Bytes as text; those that are no UTF-8 are carried.
fn carried_text(bytes: &BinaryViewArray) -> ArrayRef {
    Arc::new(raw_text::carry_all(bytes))
}

fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ValueError> {
    let options = CastOptions { safe: false, format_options: FormatOptions::default() };
    cast_with_options(array, to, &options).map_err(|error| {
        ValueError::new(ErrorCode::TYPE_MISMATCH, format!("cannot be read as {to}: {error}"))
    })
}

/// A NULL list is an empty one: our arrays know no NULL. The reader gives NULL lists no items, so only the validity
/// has to go.
fn list(array: &ListArray, own: &FieldRef, item: &FieldRef) -> Result<ArrayRef, ValueError> {
    let values = conform_from(array.values(), Some(own), item)?;
    ListArray::try_new(Arc::clone(item), array.offsets().clone(), values, None)
        .map(|list| Arc::new(list) as ArrayRef)
        .map_err(broken)
}

fn map(array: &MapArray, entries: &FieldRef) -> Result<ArrayRef, ValueError> {
    let pairs: ArrayRef = Arc::new(array.entries().clone());
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(problem(format!("cannot be read as {entries}")));
    };
    // Each writer calls keys and values as it likes.
    let pairs = elements(pairs.as_struct(), fields, |at, _| Some(at))?;
    let offsets = OffsetBuffer::new(array.offsets().inner().clone());
    MapArray::try_new(Arc::clone(entries), offsets, pairs.as_struct().clone(), None, false)
        .map(|map| Arc::new(map) as ArrayRef)
        .map_err(broken)
}

/// Elements by their names where both sides have names, else by position; one that the file does not have is missing, and
/// one that nobody asked for is left out.
fn tuple(array: &StructArray, to: &Field) -> Result<ArrayRef, ValueError> {
    let DataType::Struct(fields) = to.data_type() else {
        return Err(problem(format!("cannot be read as {to}")));
    };
    let are_named = has_names(fields) && has_names(array.fields());
    let place = |at: usize, field: &Field| match are_named {
        true => array.fields().find(field.name()).map(|(at, _)| at),
        false => Some(at),
    };
    let read = elements(array, fields, place)?;
    match array.nulls().filter(|_| to.is_nullable()) {
        Some(nulls) => {
            let columns = read.as_struct().columns().to_vec();
            StructArray::try_new_with_length(fields.clone(), columns, Some(nulls.clone()), array.len())
                .map(|tuple| Arc::new(tuple) as ArrayRef)
                .map_err(broken)
        }
        None => Ok(read),
    }
}

/// Elements without names are called by their numbers.
fn has_names(fields: &Fields) -> bool {
    fields.iter().enumerate().any(|(at, field)| *field.name() != (at + 1).to_string())
}

/// `source` says where an element is in the array. Elements of a NULL tuple are NULLs or defaults.
fn elements(
    array: &StructArray,
    fields: &Fields,
    source: impl Fn(usize, &Field) -> Option<usize>,
) -> Result<ArrayRef, ValueError> {
    let element = |(at, field): (usize, &FieldRef)| {
        let Some(from) = source(at, field) else { return missing(field, array.len()) };
        let Some((own, column)) = array.fields().get(from).zip(array.columns().get(from)) else {
            let text = format!("has {} elements, {} are expected", array.num_columns(), fields.len());
            return Err(ValueError::new(ErrorCode::TYPE_MISMATCH, text));
        };
        // Children carry the parent's NULLs after `logical` masking, so that they turn into defaults too.
        let masked = match array.nulls() {
            Some(nulls) => {
                arrow::compute::nullif(column, &arrow::array::BooleanArray::new(!nulls.inner(), None))
                    .map_err(broken)?
            }
            None => Arc::clone(column),
        };
        conform_from(&masked, Some(own), field)
    };
    let columns = fields.iter().enumerate().map(element).collect::<Result<Vec<ArrayRef>, _>>()?;
    StructArray::try_new_with_length(fields.clone(), columns, None, array.len())
        .map(|tuple| Arc::new(tuple) as ArrayRef)
        .map_err(broken)
}

/// `rows` times the type's default: the first name of an enum, else zero, the empty text, nothing.
fn defaults(field: &Field, rows: usize) -> Result<ArrayRef, ValueError> {
    let mut builder = TypedColumnBuilder::new(from_field(field).value_type()).map_err(broken)?;
    (0..rows).for_each(|_| builder.append_default());
    let values = builder.finish().map_err(broken)?;
    if values.data_type() == field.data_type() { Ok(values) } else { cast(&values, field.data_type()) }
}

fn without_nulls(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ValueError> {
    let default = Scalar::new(defaults(field, 1)?);
    zip(&is_null(array).map_err(broken)?, &default, array).map_err(broken)
}
