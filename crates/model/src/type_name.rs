//! Reads type names: `LowCardinality(Nullable(String))`, `Enum8('a' = 1)`, `DateTime64(3, 'UTC')`.
//!
//! Invariant: `parse(&t.to_string()) == Ok(t)` for every `ColumnType`. Nesting is limited, so that hostile text
//! cannot exhaust the stack. SQL standard aliases (`BIGINT`, `VARCHAR(10)`) are understood as ClickHouse does.

pub mod every_type;
pub mod state_names;
mod refusals;

use std::sync::Arc;

use thiserror::Error;

use crate::column_type::{ColumnType, EnumValues, StateType, TupleElement, is_interval_name, push_escaped};
use crate::type_aliases;

/// Deepest nesting of types accepted; see [`ColumnType::nesting`].
pub const NESTING_MAX: usize = 64;

/// The longest FixedString, as in ClickHouse.
pub const FIXED_STRING_BYTES_MAX: u32 = 0xFF_FFFF;

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum TypeNameError {
    #[error("unknown type \"{0}\"")]
    Unknown(String),
    #[error("type \"{type_name}\" needs {expected}")]
    Arguments { type_name: String, expected: &'static str },
    #[error("cannot read type \"{text}\": {problem} at byte {at}")]
    Syntax { text: String, problem: &'static str, at: usize },
}

/// What a FixedString of too many bytes needs.
const SHORTER: &str = "a length of at most 16777215";

const ENUM_RANGE: &str = "enum number out of range";

/// Reads one type name; the whole text must be consumed.
pub fn parse(text: &str) -> Result<ColumnType, TypeNameError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let parsed = reader.column_type()?;
    reader.skip_space();
    if reader.at < text.len() { Err(reader.syntax("unexpected text")) } else { Ok(parsed) }
}

/// Reads a type and, of `SimpleAggregateFunction(max, UInt32)`, the function by which values of equal key are combined; such
/// a column is of the other type in every expression.
///
/// # Errors
/// As [`parse`].
pub fn parse_declared(text: &str) -> Result<(ColumnType, Option<Arc<str>>), TypeNameError> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let is_combined = reader.word().is_ok_and(|word| word == "SimpleAggregateFunction");
    if !is_combined {
        return parse(text).map(|column_type| (column_type, None));
    }
    let (function, column_type) = reader.combined()?;
    reader.skip_space();
    match reader.rest().is_empty() {
        true => Ok((column_type, Some(function))),
        false => Err(reader.syntax("unexpected text")),
    }
}

/// The text of a constant in quotes, as parameters of functions stand in types; `None` for other constants.
pub fn quoted_text(constant: &str) -> Option<String> {
    let mut reader = Reader { text: constant, at: 0, depth: 0 };
    reader.string().ok().filter(|_| reader.rest().is_empty())
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn syntax(&self, problem: &'static str) -> TypeNameError {
        TypeNameError::Syntax { text: self.text.to_owned(), problem, at: self.at }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, symbol: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    fn expect(&mut self, symbol: char, problem: &'static str) -> Result<(), TypeNameError> {
        if self.take(symbol) { Ok(()) } else { Err(self.syntax(problem)) }
    }

    /// A word, or a name in backticks or double quotes.
    fn word(&mut self) -> Result<&'a str, TypeNameError> {
        self.skip_space();
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '`' | '"')) {
            let end = rest[1..].find(quote).ok_or_else(|| self.syntax("unclosed name"))?;
            self.at += end + 2;
            return Ok(&rest[1..=end]);
        }
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if length == 0 {
            return Err(self.syntax("expected a name"));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn string(&mut self) -> Result<String, TypeNameError> {
        self.expect('\'', "expected a quoted string")?;
        let mut out = String::new();
        let mut chars = self.rest().char_indices().peekable();
        while let Some((offset, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, escaped)) => push_escaped(escaped, &mut out),
                    None => break,
                },
                '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                    chars.next();
                    out.push('\'');
                }
                '\'' => {
                    self.at += offset + 1;
                    return Ok(out);
                }
                other => out.push(other),
            }
        }
        Err(self.syntax("unclosed string"))
    }

    fn number<N: std::str::FromStr>(&mut self) -> Result<N, TypeNameError> {
        self.skip_space();
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        let number = rest[..length].parse().map_err(|_| self.syntax("expected a number in range"))?;
        self.at += length;
        Ok(number)
    }

    fn column_type(&mut self) -> Result<ColumnType, TypeNameError> {
        self.depth += 1;
        if self.depth > NESTING_MAX {
            return Err(self.syntax("nested too deep"));
        }
        let name = self.word()?;
        let parsed = match plain(name) {
            Some(plain) => {
                let plain = self.with_tail(name, plain);
                self.ignored_length(name)?;
                // `INT(11) UNSIGNED`
                self.with_tail(name, plain)
            }
            None => self.with_arguments(name)?,
        };
        self.depth -= 1;
        Ok(parsed)
    }

    /// `VARCHAR(10)` and `INT(11)` carry a length that ClickHouse ignores; our own names take none.
    fn ignored_length(&mut self, name: &str) -> Result<(), TypeNameError> {
        if type_aliases::plain(name).is_some() && self.take('(') && !self.take(')') {
            self.number::<u32>()?;
            self.expect(')', "expected )")?;
        }
        Ok(())
    }

    /// The type of an alias with the words that follow it: `BIGINT UNSIGNED`, `CHAR VARYING`, `DOUBLE PRECISION`.
    fn with_tail(&mut self, name: &str, plain: ColumnType) -> ColumnType {
        let is_integer =
            !matches!(name.to_ascii_lowercase().as_str(), "signed" | "unsigned" | "bit" | "set" | "year");
        let unsigned = match plain {
            _ if type_aliases::plain(name).is_none() => return plain,
            ColumnType::Int8 => ColumnType::UInt8,
            ColumnType::Int16 => ColumnType::UInt16,
            ColumnType::Int32 => ColumnType::UInt32,
            ColumnType::Int64 => ColumnType::UInt64,
            ColumnType::Float64 => {
                self.take_words("precision");
                return plain;
            }
            ColumnType::String => {
                let _ = type_aliases::TEXT_TAILS.iter().any(|tail| self.take_words(tail));
                return plain;
            }
            _ => return plain,
        };
        match is_integer && !self.take_words("signed") && self.take_words("unsigned") {
            true => unsigned,
            false => plain,
        }
    }

    /// Goes on behind these words, if they are next.
    fn take_words(&mut self, words: &str) -> bool {
        let before = self.at;
        for word in words.split(' ') {
            match self.word() {
                Ok(found) if found.eq_ignore_ascii_case(word) => {}
                _ => {
                    self.at = before;
                    return false;
                }
            }
        }
        true
    }

    fn with_arguments(&mut self, name: &str) -> Result<ColumnType, TypeNameError> {
        let lower = name.to_ascii_lowercase();
        match (name, lower.as_str()) {
            ("DateTime", _) | (_, "timestamp" | "datetime") if !self.has_precision() => {
                Ok(ColumnType::DateTime { time_zone: self.zone()? })
            }
            (_, "datetime64" | "datetime" | "timestamp") => self.date_time64(),
            (_, "decimal" | "dec" | "numeric" | "fixed") => self.decimal(),
            ("Decimal32", _) => self.decimal_of(9),
            ("Decimal64", _) => self.decimal_of(18),
            ("Decimal128", _) => self.decimal_of(38),
            ("Decimal256", _) => self.decimal_of(76),
            ("FixedString", _) => self.fixed_string(),
            (_, "binary") if ["varying", "large object"].iter().any(|tail| self.take_words(tail)) => {
                Ok(ColumnType::String)
            }
            (_, "binary") => self.fixed_string(),
            ("Enum8", _) => {
                Ok(ColumnType::Enum8(Arc::new(self.enum_values(i16::from(i8::MIN), i16::from(i8::MAX))?)))
            }
            ("Enum16", _) => Ok(ColumnType::Enum16(Arc::new(self.enum_values(i16::MIN, i16::MAX)?))),
            _ if name.eq_ignore_ascii_case("Enum") => self.enum_of_fitting_size(),
            ("Nullable", _) => self.wrapped("Nullable").map(ColumnType::with_null),
            ("LowCardinality", _) => {
                self.wrapped("LowCardinality").map(|t| ColumnType::LowCardinality(Box::new(t)))
            }
            ("Array", _) => self.wrapped("Array").map(|inner| ColumnType::Array(Box::new(inner))),
            ("Map", _) => self.map(),
            ("Tuple", _) => self.tuple(),
            ("AggregateFunction", _) => self.state(),
            ("SimpleAggregateFunction", _) => self.combined().map(|(_, column_type)| column_type),
            // What flattens it into columns looks at the word.
            ("Nested", _) => self.tuple().map(|rows| ColumnType::Array(Box::new(rows))),
            _ => Err(TypeNameError::Unknown(name.to_owned())),
        }
    }

    /// `DateTime(6)` is a DateTime64.
    fn has_precision(&self) -> bool {
        let rest = self.rest().trim_start().strip_prefix('(').map(str::trim_start);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    }

    fn zone(&mut self) -> Result<Option<Arc<str>>, TypeNameError> {
        if !self.take('(') {
            return Ok(None);
        }
        let zone = if self.take(')') { return Ok(None) } else { self.string()? };
        self.expect(')', "expected )")?;
        Ok(Some(zone.into()))
    }

    fn date_time64(&mut self) -> Result<ColumnType, TypeNameError> {
        let (mut precision, mut time_zone) = (3, None);
        if self.take('(') {
            precision = self.number::<u8>()?;
            if self.take(',') {
                time_zone = Some(self.string()?.into());
            }
            self.expect(')', "expected )")?;
        }
        if precision > 9 {
            return Err(arguments("DateTime64", "a precision of 0 to 9"));
        }
        Ok(ColumnType::DateTime64 { precision, time_zone })
    }

    fn decimal(&mut self) -> Result<ColumnType, TypeNameError> {
        let (mut precision, mut scale) = (10, 0);
        if self.take('(') {
            precision = self.number::<u8>()?;
            if self.take(',') {
                scale = self.number::<u8>()?;
            }
            self.expect(')', "expected )")?;
        }
        if precision == 0 || precision > 76 || scale > precision {
            return Err(arguments("Decimal", "a precision of 1 to 76 and a scale no larger"));
        }
        Ok(ColumnType::Decimal { precision, scale })
    }

    fn decimal_of(&mut self, precision: u8) -> Result<ColumnType, TypeNameError> {
        self.expect('(', "expected (scale)")?;
        let scale = self.number::<u8>()?;
        self.expect(')', "expected )")?;
        if scale > precision {
            return Err(arguments("Decimal", "a scale no larger than its precision"));
        }
        Ok(ColumnType::Decimal { precision, scale })
    }

    fn fixed_string(&mut self) -> Result<ColumnType, TypeNameError> {
        self.expect('(', "expected (length)")?;
        let bytes = self.number::<u32>()?;
        self.expect(')', "expected )")?;
        match bytes {
            0 => Err(arguments("FixedString", "a positive length")),
            1..=FIXED_STRING_BYTES_MAX => Ok(ColumnType::FixedString(bytes)),
            _ => Err(arguments("FixedString", SHORTER)),
        }
    }

    fn enum_of_fitting_size(&mut self) -> Result<ColumnType, TypeNameError> {
        let values = Arc::new(self.enum_values(i16::MIN, i16::MAX)?);
        let small = values.iter().all(|(number, _)| i8::try_from(number).is_ok());
        Ok(if small { ColumnType::Enum8(values) } else { ColumnType::Enum16(values) })
    }

    /// Values without a number continue from the one before, the first from 1.
    fn enum_values(&mut self, least: i16, most: i16) -> Result<EnumValues, TypeNameError> {
        self.expect('(', "expected ('name' = number, ...)")?;
        let mut values: Vec<(i16, Arc<str>)> = Vec::new();
        loop {
            let name = self.string()?;
            let following = values.last().map_or(1, |(number, _)| number.saturating_add(1));
            let number = if self.take('=') { self.number::<i16>()? } else { following };
            if number < least || number > most {
                return Err(self.syntax(ENUM_RANGE));
            }
            values.push((number, name.into()));
            if !self.take(',') {
                break;
            }
        }
        self.expect(')', "expected )")?;
        EnumValues::new(values).ok_or_else(|| arguments("Enum", "each name and each number once"))
    }

    fn wrapped(&mut self, name: &'static str) -> Result<ColumnType, TypeNameError> {
        self.expect('(', "expected (type)")?;
        let inner = self.column_type()?;
        self.expect(')', "expected )")?;
        let fits = match (name, &inner) {
            ("LowCardinality", ColumnType::AggregateFunction(_)) => false,
            ("Nullable", inner) => inner.takes_null(),
            ("LowCardinality", inner) => !matches!(
                inner.value_type(),
                ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_)
            ),
            _ => true,
        };
        if fits { Ok(inner) } else { Err(arguments(name, "a plain inner type")) }
    }

    /// A function's name, and the constants behind it as they are written.
    fn function(&mut self) -> Result<(&'a str, Vec<Arc<str>>), TypeNameError> {
        let name = self.word()?;
        let mut parameters = Vec::new();
        if self.take('(') && !self.take(')') {
            loop {
                self.skip_space();
                let start = self.at;
                if self.rest().starts_with('\'') {
                    self.string()?;
                } else {
                    let length = self.rest().find([',', ')', '(', '\'']).unwrap_or(self.rest().len());
                    self.at += length;
                }
                let constant = self.text[start..self.at].trim_end();
                if constant.is_empty() {
                    return Err(self.syntax("expected a constant"));
                }
                parameters.push(StateType::parameter(constant));
                if !self.take(',') {
                    break;
                }
            }
            self.expect(')', "expected , or )")?;
        }
        Ok((name, parameters))
    }

    /// What stands behind `AggregateFunction`; a number in front is a version of ClickHouse's.
    fn state(&mut self) -> Result<ColumnType, TypeNameError> {
        self.expect('(', "expected (function, types)")?;
        self.skip_space();
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            self.number::<u32>()?;
            self.expect(',', "expected , and a function")?;
        }
        let (function, parameters) = self.function()?;
        let mut arguments = Vec::new();
        while self.take(',') {
            arguments.push(self.column_type()?);
        }
        self.expect(')', "expected , or )")?;
        let function = state_names::canonical(function).into();
        let state = StateType { function, parameters, arguments };
        Ok(ColumnType::AggregateFunction(Arc::new(state)))
    }

    /// What stands behind `SimpleAggregateFunction`.
    fn combined(&mut self) -> Result<(Arc<str>, ColumnType), TypeNameError> {
        self.expect('(', "expected (function, type)")?;
        self.skip_space();
        let start = self.at;
        self.function()?;
        let function = self.text[start..self.at].trim_end().into();
        self.expect(',', "expected , and a type")?;
        let column_type = self.column_type()?;
        self.expect(')', "expected )")?;
        Ok((function, column_type))
    }

    fn map(&mut self) -> Result<ColumnType, TypeNameError> {
        self.expect('(', "expected (key, value)")?;
        let key = self.column_type()?;
        self.expect(',', "expected , and the value type")?;
        let value = self.column_type()?;
        self.expect(')', "expected )")?;
        if key.is_nullable() {
            return Err(arguments("Map", "a key type that is not Nullable"));
        }
        Ok(ColumnType::Map(Box::new(key), Box::new(value)))
    }

    fn tuple(&mut self) -> Result<ColumnType, TypeNameError> {
        self.expect('(', "expected (types)")?;
        let mut elements = Vec::new();
        while !self.take(')') {
            elements.push(self.tuple_element()?);
            if !self.take(',') {
                self.expect(')', "expected , or )")?;
                break;
            }
        }
        Ok(ColumnType::Tuple(elements))
    }

    /// `name Type` or `Type`: a word followed by another word is a name.
    fn tuple_element(&mut self) -> Result<TupleElement, TypeNameError> {
        let start = self.at;
        let name = self.word()?;
        self.skip_space();
        let named = self.rest().starts_with(|c: char| c.is_alphabetic() || c == '_');
        if named {
            return Ok(TupleElement { name: Some(name.into()), column_type: self.column_type()? });
        }
        self.at = start;
        Ok(TupleElement { name: None, column_type: self.column_type()? })
    }
}

fn arguments(type_name: &str, expected: &'static str) -> TypeNameError {
    TypeNameError::Arguments { type_name: type_name.to_owned(), expected }
}

fn plain(name: &str) -> Option<ColumnType> {
    let own = match name {
        "UInt8" => ColumnType::UInt8,
        "UInt16" => ColumnType::UInt16,
        "UInt32" => ColumnType::UInt32,
        "UInt64" => ColumnType::UInt64,
        "Int8" => ColumnType::Int8,
        "Int16" => ColumnType::Int16,
        "Int32" => ColumnType::Int32,
        "Int64" => ColumnType::Int64,
        "Int128" => ColumnType::Int128,
        "UInt128" => ColumnType::UInt128,
        "Int256" => ColumnType::Int256,
        "UInt256" => ColumnType::UInt256,
        "Float32" => ColumnType::Float32,
        "Float64" => ColumnType::Float64,
        "String" => ColumnType::String,
        "Date32" => ColumnType::Date32,
        "UUID" => ColumnType::Uuid,
        "IPv4" => ColumnType::Ipv4,
        "IPv6" => ColumnType::Ipv6,
        "Nothing" => ColumnType::Nothing,
        interval if is_interval_name(interval) => ColumnType::Tuple(vec![TupleElement {
            name: Some(interval.into()),
            column_type: ColumnType::Int64,
        }]),
        _ => return type_aliases::plain(name),
    };
    Some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_names_survive() {
        for name in [
            "UInt8",
            "Int64",
            "Bool",
            "Date",
            "Date32",
            "UUID",
            "Int128",
            "Nullable(UInt256)",
            "IPv4",
            "IPv6",
            "String",
            "FixedString(16)",
            "Decimal(18, 4)",
            "DateTime",
            "DateTime('Europe/Berlin')",
            "DateTime64(3)",
            "DateTime64(3, 'UTC')",
            "Enum8('Question' = 1, 'An\\'swer' = 2)",
            "Enum16('a' = -300, 'b' = 1000)",
            "Nullable(Int32)",
            "LowCardinality(Nullable(String))",
            "Array(Array(UInt8))",
            "Map(String, Array(Int8))",
            "Tuple(Int8, String)",
            "Tuple(a Int8, b Nullable(String))",
            "Tuple(`Content-Type` String, \"a`b\" Int8)",
            "Nothing",
            "IntervalDay",
            "Nullable(IntervalDay)",
            "AggregateFunction(count)",
            "AggregateFunction(quantiles(0.5, 0.9), Nullable(UInt64))",
            "Array(AggregateFunction(groupConcat(',)'), String))",
        ] {
            assert_eq!(parse(name).map(|t| t.to_string()), Ok(name.to_owned()));
        }
    }

    #[test]
    fn aliases_and_defaults() {
        for (name, canonical) in [
            ("bigint", "Int64"),
            ("VARCHAR(255)", "String"),
            ("boolean", "Bool"),
            ("Decimal(9)", "Decimal(9, 0)"),
            ("Decimal64(2)", "Decimal(18, 2)"),
            ("DateTime64", "DateTime64(3)"),
            ("datetime64(6, 'UTC')", "DateTime64(6, 'UTC')"),
            ("DateTime(3)", "DateTime64(3)"),
            ("TIMESTAMP", "DateTime"),
            ("BIGINT UNSIGNED", "UInt64"),
            ("int(11) unsigned", "UInt32"),
            ("Nullable(TINYINT SIGNED)", "Nullable(Int8)"),
            ("DOUBLE PRECISION", "Float64"),
            ("NATIONAL CHARACTER VARYING(10)", "String"),
            ("NATIONAL CHARACTER", "String"),
            (
                "Tuple(a BINARY LARGE OBJECT, b BINARY(3), c unsigned)",
                "Tuple(a String, b FixedString(3), c UInt64)",
            ),
            (
                "AggregateFunction( 1, sumMap , Array(INT), Array(UInt8))",
                "AggregateFunction(sumMap, Array(Int32), Array(UInt8))",
            ),
            ("SimpleAggregateFunction(max, UInt8)", "UInt8"),
            ("Enum('x', 'y')", "Enum8('x' = 1, 'y' = 2)"),
        ] {
            assert_eq!(parse(name).map(|t| t.to_string()), Ok(canonical.to_owned()), "{name}");
        }
    }

    #[test]
    fn a_declaration_names_the_function_that_combines() {
        let declared = |text: &str| {
            parse_declared(text).map(|(column_type, function)| (column_type.to_string(), function))
        };
        assert_eq!(declared("UInt8"), Ok(("UInt8".to_owned(), None)));
        let combined = declared("SimpleAggregateFunction(groupArrayLastArray(3), Array(UInt8))");
        assert_eq!(combined, Ok(("Array(UInt8)".to_owned(), Some("groupArrayLastArray(3)".into()))));
        assert!(declared("SimpleAggregateFunction(max)").is_err());
        assert!(declared("SimpleAggregateFunction(max, UInt8) x").is_err());
    }

    #[test]
    fn wrong_names_say_what_is_wrong() {
        for (name, message) in [
            ("Strng", "unknown type \"Strng\""),
            ("uint8", "unknown type \"uint8\""),
            ("DateTime64(10)", "type \"DateTime64\" needs a precision of 0 to 9"),
            ("Enum8('a' = 1, 'a' = 2)", "type \"Enum\" needs each name and each number once"),
            ("Nullable(Array(Int8))", "type \"Nullable\" needs a plain inner type"),
            ("Int8 unsigned", "cannot read type \"Int8 unsigned\": unexpected text at byte 5"),
            ("Int8 x", "cannot read type \"Int8 x\": unexpected text at byte 5"),
        ] {
            assert_eq!(parse(name).map_err(|e| e.to_string()), Err(message.to_owned()));
        }
        assert!(parse(&"Array(".repeat(10_000)).is_err());
    }
}
