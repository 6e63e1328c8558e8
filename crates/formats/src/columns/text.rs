//! Columns as text, value by value, in every style of escaping.
//!
//! Invariant: what is written here, the builders read back to the same value. An array in another layout than its
//! type's is cast once, when the column is opened; what cannot be cast is shown as Arrow shows it.

mod opening;
mod nested;
mod packed;
mod members;
mod elements;
mod word;

pub(crate) mod indented;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use model::address::{V4, V6};
use model::{ColumnType, raw_text};

use crate::error::FormatError;
use crate::settings::{DateTimeOutput, FormatSettings, Writing};
use model::value::print;
use opening::{Values, open};
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
    /// Elements, and text in which nothing begins one.
    Xml,
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
    writing: Writing,
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
            writing: settings.writing,
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
                Style::Escaped | Style::Csv | Style::Xml => b"\\N",
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
                if bytes.len() < *fixed && !options.writing.trims_fixed {
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
                bare(style, quote, out, |out| {
                    print::decimal(digits, *scale, options.writing.decimal_zeros, out)
                });
            }
            Values::Decimal256(array, scale) => {
                let digits = array.value(row).to_string();
                let quote = options.quote_decimals;
                bare(style, quote, out, |out| {
                    print::decimal(&digits, *scale, options.writing.decimal_zeros, out)
                });
            }
            Values::Date(array) => {
                plain_word(style, out, |out| print::date(i64::from(array.value(row)), out))
            }
            Values::Time { ticks, per_second, per_digit, precision, zone } => {
                let ticks = ticks[row];
                let seconds = ticks.div_euclid(*per_second);
                let part = ticks.rem_euclid(*per_second) / *per_digit;
                let mut moment = print::Moment { seconds, part, precision: *precision };
                if options.writing.cuts_fractions {
                    moment.cut();
                }
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
            Values::List(..) | Values::Map(..) | Values::Tuple(..) if style == Style::Xml => {
                self.write_elements(row, out);
            }
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
        Style::Quoted if options.writing.doubles_quotes => print::doubled(text, out),
        Style::Quoted => print::quoted(text, out),
        Style::Json => print::json_string(text, options.escape_slashes, out),
        Style::Xml => print::xml(text, out),
    }
}
