//! Columns as text, value by value, in every style of escaping.
//!
//! Invariant: what is written here, the builders read back to the same value. An array in another layout than its
//! type's is cast once, when the column is opened; what cannot be cast is shown as Arrow shows it.

pub(crate) mod indented;
mod word;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    PrimitiveArray, StringViewArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use model::address::{V4, V6};
use model::type_arrow::to_data_type;
use model::{ColumnType, EnumValues, WideInteger, raw_text};

use crate::calendar::Zone;
use crate::error::{FormatError, code};
use crate::print;
use crate::settings::{DateTimeOutput, FormatSettings};
use word::plain_word;

/// How a value is escaped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// For people: strings as they are. Strings inside nested values are quoted.
    Plain,
    /// TabSeparated: backslash escapes.
    Escaped,
    /// CSV: what is not a number stands in double quotes.
    Csv,
    /// SQL literals.
    Quoted,
    Json,
}

/// What NULL looks like to people.
pub const NULL_SIGN: &str = "ᴺᵁᴸᴸ";

/// The options values depend on.
#[derive(Clone, Debug)]
struct TextOptions {
    quote_64bit: bool,
    quote_64bit_floats: bool,
    date_time: DateTimeOutput,
    quote_denormals: bool,
    quote_decimals: bool,
    escape_slashes: bool,
    tuples_as_objects: bool,
    trailing_zeros: bool,
    /// Pretty tables show named tuples as indented JSON.
    indent_named_tuples: bool,
    bool_words: [Vec<u8>; 2],
}

/// An array of one type, ready to be written as text.
#[derive(Debug)]
pub struct ColumnText {
    nulls: Option<NullBuffer>,
    values: Values,
    options: Arc<TextOptions>,
}

#[derive(Debug)]
enum Values {
    UInt8(PrimitiveArray<UInt8Type>),
    UInt16(PrimitiveArray<UInt16Type>),
    UInt32(PrimitiveArray<UInt32Type>),
    UInt64(PrimitiveArray<UInt64Type>),
    Int8(PrimitiveArray<Int8Type>),
    Int16(PrimitiveArray<Int16Type>),
    Int32(PrimitiveArray<Int32Type>),
    Int64(PrimitiveArray<Int64Type>),
    Float32(PrimitiveArray<Float32Type>),
    Float64(PrimitiveArray<Float64Type>),
    Bool(BooleanArray),
    Text(StringViewArray, usize),
    Decimal128(Decimal128Array, u8),
    Decimal256(Decimal256Array, u8),
    Date(PrimitiveArray<Date32Type>),
    Time {
        ticks: arrow::buffer::ScalarBuffer<i64>,
        per_second: i64,
        per_digit: i64,
        precision: u8,
        zone: Box<Zone>,
    },
    Uuid(FixedSizeBinaryArray),
    Wide(FixedSizeBinaryArray, WideInteger),
    Ipv4(PrimitiveArray<UInt32Type>),
    Ipv6(FixedSizeBinaryArray),
    Bytes(FixedSizeBinaryArray),
    Enum(Vec<i16>, Arc<EnumValues>),
    List(OffsetBuffer<i32>, Box<ColumnText>),
    Map(OffsetBuffer<i32>, Box<ColumnText>, Box<ColumnText>),
    Tuple(Vec<Option<Arc<str>>>, Vec<ColumnText>),
    Nothing,
    /// A layout we have no type for, as Arrow prints it.
    Shown(Vec<String>),
}

impl ColumnText {
    /// Opens `array`, whose values are of `column_type`.
    pub fn new(
        array: &ArrayRef,
        column_type: &ColumnType,
        settings: &FormatSettings,
    ) -> Result<Self, FormatError> {
        Self::opened(array, column_type, settings, false)
    }

    /// As `new`, for tables that show named tuples as indented JSON.
    pub(crate) fn for_table(
        array: &ArrayRef,
        column_type: &ColumnType,
        settings: &FormatSettings,
    ) -> Result<Self, FormatError> {
        Self::opened(array, column_type, settings, true)
    }

    fn opened(
        array: &ArrayRef,
        column_type: &ColumnType,
        settings: &FormatSettings,
        indent_named_tuples: bool,
    ) -> Result<Self, FormatError> {
        let options = Arc::new(TextOptions {
            quote_64bit: settings.json_quote_64bit_integers,
            quote_64bit_floats: settings.json_quote_64bit_floats,
            date_time: settings.date_time_output,
            quote_denormals: settings.json_quote_denormals,
            quote_decimals: settings.json_quote_decimals,
            escape_slashes: settings.json_escape_forward_slashes,
            tuples_as_objects: settings.json_named_tuples_as_objects,
            trailing_zeros: settings.decimal_trailing_zeros,
            indent_named_tuples,
            bool_words: [settings.bool_false.clone().into_bytes(), settings.bool_true.clone().into_bytes()],
        });
        open(array, column_type, &settings.time_zone, &options)
    }

    pub fn is_null(&self, row: usize) -> bool {
        matches!(self.values, Values::Nothing) || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends the value of `row`; NULL as the style writes it.
    pub fn write(&mut self, row: usize, style: Style, out: &mut Vec<u8>) {
        if self.is_null(row) {
            out.extend_from_slice(match style {
                Style::Plain => NULL_SIGN.as_bytes(),
                Style::Escaped | Style::Csv => b"\\N",
                Style::Quoted => b"NULL",
                Style::Json => b"null",
            });
            return;
        }
        let options = &self.options;
        match &mut self.values {
            Values::Bool(array) if matches!(style, Style::Json | Style::Quoted) => {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
            }
            Values::Bool(array) => out.extend_from_slice(&options.bool_words[usize::from(array.value(row))]),
            Values::Text(array, fixed) => {
                let bytes = raw_text::bytes(array.value(row));
                if bytes.len() < *fixed {
                    let mut padded = bytes.into_owned();
                    padded.resize(*fixed, 0);
                    string(&padded, style, options, out);
                } else {
                    string(&bytes, style, options, out);
                }
            }
            Values::Decimal128(array, scale) => {
                let mut buffer = itoa::Buffer::new();
                let digits = buffer.format(array.value(row));
                let quote = options.quote_decimals;
                bare(style, quote, out, |out| print::decimal(digits, *scale, options.trailing_zeros, out));
            }
            Values::Decimal256(array, scale) => {
                let digits = array.value(row).to_string();
                let quote = options.quote_decimals;
                bare(style, quote, out, |out| print::decimal(&digits, *scale, options.trailing_zeros, out));
            }
            Values::Date(array) => {
                plain_word(style, out, |out| print::date(i64::from(array.value(row)), out))
            }
            Values::Time { ticks, per_second, per_digit, precision, zone } => {
                let ticks = ticks[row];
                let seconds = ticks.div_euclid(*per_second);
                let part = ticks.rem_euclid(*per_second) / *per_digit;
                let moment = print::Moment { seconds, part, precision: *precision };
                let offset = zone.offset_at(seconds);
                plain_word(style, out, |out| moment.write(options.date_time, offset, out));
            }
            Values::Uuid(array) => plain_word(style, out, |out| print::uuid(array.value(row), out)),
            Values::Ipv4(array) => plain_word(style, out, |out| print::shown(V4(array.value(row)), out)),
            Values::Ipv6(array) => plain_word(style, out, |out| print::shown(V6(array.value(row)), out)),
            Values::Bytes(array) => string(array.value(row), style, options, out),
            Values::Enum(numbers, names) => match names.name(numbers[row]) {
                Some(name) => string(name.as_bytes(), style, options, out),
                None => print::integer(numbers[row], out),
            },
            Values::Shown(shown) => string(shown[row].as_bytes(), style, options, out),
            Values::Nothing => {}
            Values::List(..) | Values::Map(..) | Values::Tuple(..) => self.nested(row, style, out),
            _ => self.number(row, style, out),
        }
    }

    fn number(&self, row: usize, style: Style, out: &mut Vec<u8>) {
        let options = &self.options;
        match &self.values {
            Values::UInt8(array) => print::integer(array.value(row), out),
            Values::UInt16(array) => print::integer(array.value(row), out),
            Values::UInt32(array) => print::integer(array.value(row), out),
            Values::Int8(array) => print::integer(array.value(row), out),
            Values::Int16(array) => print::integer(array.value(row), out),
            Values::Int32(array) => print::integer(array.value(row), out),
            Values::UInt64(array) => {
                bare(style, options.quote_64bit, out, |out| print::integer(array.value(row), out))
            }
            Values::Int64(array) => {
                bare(style, options.quote_64bit, out, |out| print::integer(array.value(row), out))
            }
            Values::Wide(array, kind) => bare(style, options.quote_64bit, out, |out| {
                print::shown(kind.shown(kind.decode(array.value(row))), out);
            }),
            Values::Float32(array) => {
                let number = array.value(row);
                float(number, f64::from(number), style, options, out);
            }
            Values::Float64(array) => {
                let number = array.value(row);
                // What is no number gets its quotes below.
                let quote = options.quote_64bit_floats && (number.is_finite() || !options.quote_denormals);
                bare(style, quote, out, |out| float(number, number, style, options, out));
            }
            _ => {}
        }
    }

    /// Lists, maps and tuples. In CSV the literal as a whole is quoted; elsewhere elements are literals or JSON.
    fn nested(&mut self, row: usize, style: Style, out: &mut Vec<u8>) {
        if style == Style::Csv {
            let mut literal = Vec::new();
            self.nested(row, Style::Quoted, &mut literal);
            return print::csv_quoted(&literal, out);
        }
        let inner = if style == Style::Json { Style::Json } else { Style::Quoted };
        let json = inner == Style::Json;
        let options = Arc::clone(&self.options);
        match &mut self.values {
            Values::List(offsets, items) => {
                out.push(b'[');
                for at in range(offsets, row) {
                    comma(at > range(offsets, row).start, out);
                    items.write(at, inner, out);
                }
                out.push(b']');
            }
            Values::Map(offsets, keys, values) => {
                out.push(b'{');
                for at in range(offsets, row) {
                    comma(at > range(offsets, row).start, out);
                    write_key(keys, at, inner, out);
                    out.push(b':');
                    values.write(at, inner, out);
                }
                out.push(b'}');
            }
            Values::Tuple(names, children) => {
                let named = !names.is_empty() && names.iter().all(Option::is_some);
                if named && options.indent_named_tuples {
                    return self.write_indented(row, 0, indented::SPACES, out);
                }
                let object = json && options.tuples_as_objects && named;
                let (open, close) = if object {
                    (b'{', b'}')
                } else if json {
                    (b'[', b']')
                } else {
                    (b'(', b')')
                };
                out.push(open);
                for (at, child) in children.iter_mut().enumerate() {
                    comma(at > 0, out);
                    if object && let Some(name) = &names[at] {
                        print::json_string(name.as_bytes(), options.escape_slashes, out);
                        out.push(b':');
                    }
                    child.write(row, inner, out);
                }
                out.push(close);
            }
            _ => {}
        }
    }

    /// The elements of a tuple column, which CSV writes as columns of their own.
    pub(crate) fn tuple_children(&mut self) -> Option<&mut [ColumnText]> {
        match &mut self.values {
            Values::Tuple(_, children) => Some(children),
            _ => None,
        }
    }
}

fn comma(wanted: bool, out: &mut Vec<u8>) {
    if wanted {
        out.push(b',');
    }
}

fn range(offsets: &OffsetBuffer<i32>, row: usize) -> std::ops::Range<usize> {
    let at = |row: usize| usize::try_from(offsets[row]).unwrap_or(0);
    at(row)..at(row + 1)
}

/// JSON keys are strings, whatever their type.
fn write_key(keys: &mut ColumnText, at: usize, style: Style, out: &mut Vec<u8>) {
    let start = out.len();
    keys.write(at, style, out);
    if style == Style::Json && out.get(start) != Some(&b'"') {
        out.insert(start, b'"');
        out.push(b'"');
    }
}

/// A number; in double quotes when JSON asks for it.
fn bare(style: Style, quote_json: bool, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let quote = quote_json && style == Style::Json;
    if quote {
        out.push(b'"');
    }
    write(out);
    if quote {
        out.push(b'"');
    }
}

fn float<F: ryu::Float>(number: F, as_f64: f64, style: Style, options: &TextOptions, out: &mut Vec<u8>) {
    if style == Style::Json && !as_f64.is_finite() {
        if !options.quote_denormals {
            return out.extend_from_slice(b"null");
        }
        return bare(style, true, out, |out| print::float(number, as_f64, out));
    }
    print::float(number, as_f64, out);
}

fn string(text: &[u8], style: Style, options: &TextOptions, out: &mut Vec<u8>) {
    match style {
        Style::Plain => out.extend_from_slice(text),
        Style::Escaped => print::escaped(text, b'\'', out),
        Style::Csv => print::csv_quoted(text, out),
        Style::Quoted => print::quoted(text, out),
        Style::Json => print::json_string(text, options.escape_slashes, out),
    }
}

fn open(
    array: &ArrayRef,
    column_type: &ColumnType,
    time_zone: &str,
    options: &Arc<TextOptions>,
) -> Result<ColumnText, FormatError> {
    let wanted = to_data_type(column_type);
    let canonical = if *array.data_type() == wanted {
        Some(Arc::clone(array))
    } else if let DataType::FixedSizeBinary(_) = array.data_type() {
        Some(Arc::clone(array))
    } else {
        cast(array, &wanted).ok()
    };
    let (nulls, values) = match canonical {
        Some(array) => (array.logical_nulls(), values_of(&array, column_type, time_zone, options)?),
        None => (array.logical_nulls(), Values::Shown(shown(array)?)),
    };
    Ok(ColumnText { nulls, values, options: Arc::clone(options) })
}

fn shown(array: &ArrayRef) -> Result<Vec<String>, FormatError> {
    let failed = |error: arrow::error::ArrowError| FormatError::new(code::CANNOT_WRITE, error.to_string());
    let format = FormatOptions::new();
    let formatter = ArrayFormatter::try_new(array, &format).map_err(failed)?;
    (0..array.len()).map(|row| formatter.value(row).try_to_string().map_err(failed)).collect()
}

fn fixed_bytes(array: &ArrayRef, column_type: &ColumnType) -> Option<Values> {
    let bytes = array.as_fixed_size_binary_opt()?.clone();
    match (column_type.value_type(), WideInteger::of(column_type)) {
        (ColumnType::Uuid | ColumnType::Ipv6, _) => None,
        (_, Some(kind)) => Some(Values::Wide(bytes, kind)),
        (_, None) => Some(Values::Bytes(bytes)),
    }
}

fn values_of(
    array: &ArrayRef,
    column_type: &ColumnType,
    time_zone: &str,
    options: &Arc<TextOptions>,
) -> Result<Values, FormatError> {
    let child = |array: &ArrayRef, column_type: &ColumnType| {
        open(array, column_type, time_zone, options).map(Box::new)
    };
    if let Some(values) = fixed_bytes(array, column_type) {
        return Ok(values);
    }
    Ok(match column_type.value_type() {
        ColumnType::UInt8 => Values::UInt8(array.as_primitive().clone()),
        ColumnType::UInt16 => Values::UInt16(array.as_primitive().clone()),
        ColumnType::UInt32 => Values::UInt32(array.as_primitive().clone()),
        ColumnType::UInt64 => Values::UInt64(array.as_primitive().clone()),
        ColumnType::Int8 => Values::Int8(array.as_primitive().clone()),
        ColumnType::Int16 => Values::Int16(array.as_primitive().clone()),
        ColumnType::Int32 => Values::Int32(array.as_primitive().clone()),
        ColumnType::Int64 => Values::Int64(array.as_primitive().clone()),
        ColumnType::Float32 => Values::Float32(array.as_primitive().clone()),
        ColumnType::Float64 => Values::Float64(array.as_primitive().clone()),
        ColumnType::Bool => Values::Bool(array.as_boolean().clone()),
        ColumnType::String => Values::Text(array.as_string_view().clone(), 0),
        ColumnType::FixedString(bytes) => {
            Values::Text(array.as_string_view().clone(), usize::try_from(*bytes).unwrap_or(0))
        }
        ColumnType::Decimal { scale, .. } => match array.as_primitive_opt::<Decimal128Type>() {
            Some(narrow) => Values::Decimal128(narrow.clone(), *scale),
            None => Values::Decimal256(array.as_primitive::<Decimal256Type>().clone(), *scale),
        },
        ColumnType::Date | ColumnType::Date32 => Values::Date(array.as_primitive().clone()),
        ColumnType::DateTime { time_zone: own } => time(array, 0, own.as_deref().unwrap_or(time_zone))?,
        ColumnType::DateTime64 { precision, time_zone: own } => {
            time(array, *precision, own.as_deref().unwrap_or(time_zone))?
        }
        ColumnType::Uuid => Values::Uuid(array.as_fixed_size_binary().clone()),
        ColumnType::Ipv4 => Values::Ipv4(array.as_primitive().clone()),
        ColumnType::Ipv6 => Values::Ipv6(array.as_fixed_size_binary().clone()),
        ColumnType::Enum8(names) => {
            let numbers = array.as_primitive::<Int8Type>().values().iter().map(|n| i16::from(*n)).collect();
            Values::Enum(numbers, Arc::clone(names))
        }
        ColumnType::Enum16(names) => {
            Values::Enum(array.as_primitive::<Int16Type>().values().to_vec(), Arc::clone(names))
        }
        ColumnType::Array(item) => {
            let list = array.as_list::<i32>();
            Values::List(list.offsets().clone(), child(list.values(), item)?)
        }
        ColumnType::Map(key, value) => {
            let map = array.as_map();
            Values::Map(map.offsets().clone(), child(map.keys(), key)?, child(map.values(), value)?)
        }
        ColumnType::Tuple(_) if column_type.value_type().is_interval() => {
            return open(array.as_struct().column(0), &ColumnType::Int64, time_zone, options)
                .map(|number| number.values);
        }
        ColumnType::Tuple(elements) => {
            let columns = elements.iter().zip(array.as_struct().columns());
            let children =
                columns.map(|(element, array)| open(array, &element.column_type, time_zone, options));
            let names = elements.iter().map(|e| e.name.clone()).collect();
            Values::Tuple(names, children.collect::<Result<_, _>>()?)
        }
        // Wide integers in another layout than theirs could not be cast to it.
        ColumnType::Int128 | ColumnType::UInt128 | ColumnType::Int256 | ColumnType::UInt256 => {
            Values::Shown(shown(array)?)
        }
        ColumnType::Nothing | ColumnType::Nullable(_) | ColumnType::LowCardinality(_) => Values::Nothing,
    })
}

fn time(array: &ArrayRef, precision: u8, zone: &str) -> Result<Values, FormatError> {
    let unknown = || FormatError::new(code::TYPE_MISMATCH, format!("unknown time zone \"{zone}\""));
    let zone = Box::new(Zone::named(zone).ok_or_else(unknown)?);
    let (ticks, unit_digits) = match array.data_type() {
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            (array.as_primitive::<TimestampMillisecondType>().values().clone(), 3)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            (array.as_primitive::<TimestampMicrosecondType>().values().clone(), 6)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            (array.as_primitive::<TimestampNanosecondType>().values().clone(), 9)
        }
        _ => (array.as_primitive::<TimestampSecondType>().values().clone(), 0),
    };
    let per_second = 10_i64.pow(unit_digits);
    let per_digit = 10_i64.pow(unit_digits.saturating_sub(u32::from(precision)));
    Ok(Values::Time { ticks, per_second, per_digit, precision, zone })
}
