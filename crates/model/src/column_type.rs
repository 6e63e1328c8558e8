//! Our SQL types, in ClickHouse's vocabulary.
//!
//! Invariant: a `ColumnType` prints as ClickHouse prints it, and `type_name::parse` reads that text back to an
//! equal value. How a type is laid out in memory is `type_arrow`'s business.

mod state_type;

use std::fmt;
use std::sync::Arc;

pub use state_type::StateType;

/// The type of a column or of an expression.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ColumnType {
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Int8,
    Int16,
    Int32,
    Int64,
    /// The four wide integers: see `wide`.
    Int128,
    UInt128,
    Int256,
    UInt256,
    Float32,
    Float64,
    Bool,
    /// UTF-8 text. Other bytes are a named error for now.
    String,
    /// Text of at most this many bytes, shown padded with zero bytes; held in memory without the padding.
    FixedString(u32),
    /// Precision 1..=76 and scale 0..=precision.
    Decimal {
        precision: u8,
        scale: u8,
    },
    /// Days since 1970-01-01, 1970-01-01..=2149-06-06.
    Date,
    /// Days since 1970-01-01, 1900-01-01..=2299-12-31.
    Date32,
    /// Seconds since the epoch; the zone only decides how it is shown and read.
    DateTime {
        time_zone: Option<Arc<str>>,
    },
    /// Ticks of 10^-precision seconds since the epoch, precision 0..=9.
    DateTime64 {
        precision: u8,
        time_zone: Option<Arc<str>>,
    },
    Uuid,
    /// Ordered as the number it is.
    Ipv4,
    /// 16 bytes, the first of the address first; an IPv4 address is in it as `::ffff:a.b.c.d`.
    Ipv6,
    Enum8(Arc<EnumValues>),
    Enum16(Arc<EnumValues>),
    Nullable(Box<ColumnType>),
    /// A hint that values repeat; same values, same order as the inner type.
    LowCardinality(Box<ColumnType>),
    Array(Box<ColumnType>),
    Map(Box<ColumnType>, Box<ColumnType>),
    Tuple(Vec<TupleElement>),
    /// States of an aggregate function: bytes that only it understands.
    AggregateFunction(Arc<StateType>),
    /// The type of a bare NULL.
    Nothing,
}

/// One element of a tuple; unnamed elements are addressed by position, from 1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TupleElement {
    pub name: Option<Arc<str>>,
    pub column_type: ColumnType,
}

/// The names of an Enum8 or Enum16, ordered by number; numbers and names are unique.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EnumValues {
    by_number: Vec<(i16, Arc<str>)>,
}

impl EnumValues {
    /// `None` when a name or a number appears twice, or there is no value at all.
    pub fn new(mut values: Vec<(i16, Arc<str>)>) -> Option<Self> {
        values.sort_by_key(|(number, _)| *number);
        let mut names: Vec<&str> = values.iter().map(|(_, name)| name.as_ref()).collect();
        names.sort_unstable();
        let unique = values.windows(2).all(|w| w[0].0 != w[1].0) && names.windows(2).all(|w| w[0] != w[1]);
        (unique && !values.is_empty()).then_some(Self { by_number: values })
    }

    pub fn iter(&self) -> impl Iterator<Item = (i16, &Arc<str>)> {
        self.by_number.iter().map(|(number, name)| (*number, name))
    }

    pub fn name(&self, number: i16) -> Option<&Arc<str>> {
        let found = self.by_number.binary_search_by_key(&number, |(n, _)| *n).ok()?;
        Some(&self.by_number[found].1)
    }

    pub fn number(&self, name: &str) -> Option<i16> {
        self.by_number.iter().find(|(_, n)| n.as_ref() == name).map(|(number, _)| *number)
    }
}

/// 1900-01-01, ClickHouse's default of Date32, in days since 1970-01-01.
const FIRST_DAY_OF_DATE32: i32 = -25_567;

impl ColumnType {
    /// The number that the default of the type is stored as: the least of an enum, the first day of Date32, else 0.
    pub fn default_number(&self) -> i32 {
        match self {
            ColumnType::Enum8(values) | ColumnType::Enum16(values) => {
                values.iter().next().map_or(0, |(number, _)| i32::from(number))
            }
            ColumnType::Date32 => FIRST_DAY_OF_DATE32,
            _ => 0,
        }
    }

    pub fn nullable(self) -> ColumnType {
        match self {
            // The state of nothing stands for NULL.
            ColumnType::AggregateFunction(_) => self,
            ColumnType::Nullable(_) | ColumnType::Nothing => self,
            // ClickHouse nests it this way round: LowCardinality(Nullable(String)).
            ColumnType::LowCardinality(inner) => ColumnType::LowCardinality(Box::new(inner.nullable())),
            other => ColumnType::Nullable(Box::new(other)),
        }
    }

    /// The type of a part of a value that may be NULL: an array, a map and an interval are the default of their type then.
    pub fn within_null(self) -> ColumnType {
        match self {
            ColumnType::Array(_) | ColumnType::Map(..) => self,
            interval if interval.is_interval() => interval,
            other => other.nullable(),
        }
    }

    /// Types in each other: 1 for UInt8, 3 for Array(Nullable(UInt8)).
    pub fn nesting(&self) -> usize {
        1 + match self {
            ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) | ColumnType::Array(inner) => {
                inner.nesting()
            }
            ColumnType::Map(key, value) => key.nesting().max(value.nesting()),
            ColumnType::Tuple(elements) => {
                elements.iter().map(|element| element.column_type.nesting()).max().unwrap_or(0)
            }
            ColumnType::AggregateFunction(state) => {
                state.arguments.iter().map(ColumnType::nesting).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Whether a tuple within has an element of this name.
    pub fn has_element(&self, name: &str) -> bool {
        match self {
            ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) | ColumnType::Array(inner) => {
                inner.has_element(name)
            }
            ColumnType::Map(key, value) => key.has_element(name) || value.has_element(name),
            ColumnType::Tuple(elements) => elements.iter().any(|element| {
                element.name.as_deref() == Some(name) || element.column_type.has_element(name)
            }),
            _ => false,
        }
    }

    /// The function whose states these are.
    pub fn state(&self) -> Option<&Arc<StateType>> {
        match self {
            ColumnType::AggregateFunction(state) => Some(state),
            _ => None,
        }
    }

    /// Whether this is how an interval is carried.
    pub fn is_interval(&self) -> bool {
        self.interval().is_some_and(|(_, number)| *number == ColumnType::Int64)
    }

    /// The number of an interval that may be NULL.
    pub fn nullable_interval(&self) -> Option<&ColumnType> {
        self.interval().map(|(_, number)| number).filter(|number| number.is_nullable())
    }

    /// Whether Nullable may stand around it.
    pub(crate) fn takes_null(&self) -> bool {
        use ColumnType::{AggregateFunction, Array, LowCardinality, Map, Nullable};
        !matches!(self, Array(_) | Map(..) | Nullable(_) | LowCardinality(_) | AggregateFunction(_))
            && self.nullable_interval().is_none()
    }

    /// Nullable around it, as it is written; an interval is NULL where its number is.
    pub(crate) fn with_null(self) -> ColumnType {
        match self {
            ColumnType::Tuple(elements) if interval_of(&elements).is_some() => {
                let number =
                    |part: TupleElement| TupleElement { column_type: part.column_type.nullable(), ..part };
                ColumnType::Tuple(elements.into_iter().map(number).collect())
            }
            other => ColumnType::Nullable(Box::new(other)),
        }
    }

    /// The name of an interval's type, and the type of its number.
    fn interval(&self) -> Option<(&str, &ColumnType)> {
        let ColumnType::Tuple(elements) = self else { return None };
        interval_of(elements)
    }

    pub fn is_nullable(&self) -> bool {
        match self {
            ColumnType::Nullable(_) | ColumnType::Nothing => true,
            ColumnType::LowCardinality(inner) => inner.is_nullable(),
            _ => false,
        }
    }

    /// The type of the values: without Nullable and LowCardinality around it.
    pub fn value_type(&self) -> &ColumnType {
        match self {
            ColumnType::Nullable(inner) | ColumnType::LowCardinality(inner) => inner.value_type(),
            other => other,
        }
    }

    /// Whether it is an integer of a machine, of at most 64 bits.
    pub fn is_integer(&self) -> bool {
        use ColumnType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
        matches!(self.value_type(), UInt8 | UInt16 | UInt32 | UInt64 | Int8 | Int16 | Int32 | Int64)
    }

    /// Whether it is an integer of 128 or 256 bits.
    pub fn is_wide_integer(&self) -> bool {
        use ColumnType::{Int128, Int256, UInt128, UInt256};
        matches!(self.value_type(), Int128 | UInt128 | Int256 | UInt256)
    }

    pub fn is_number(&self) -> bool {
        use ColumnType::{Decimal, Float32, Float64};
        self.is_integer()
            || self.is_wide_integer()
            || matches!(self.value_type(), Float32 | Float64 | Decimal { .. })
    }

    pub fn is_string(&self) -> bool {
        matches!(self.value_type(), ColumnType::String | ColumnType::FixedString(_))
    }

    /// Whether it is an address of the internet protocol, also behind Nullable.
    pub fn is_address(&self) -> bool {
        matches!(self.value_type(), ColumnType::Ipv4 | ColumnType::Ipv6)
    }

    /// The type of the numbers of an enum that is not Nullable; any other type itself.
    #[must_use]
    pub fn without_names(&self) -> ColumnType {
        match self {
            ColumnType::Enum8(_) => ColumnType::Int8,
            ColumnType::Enum16(_) => ColumnType::Int16,
            other => other.clone(),
        }
    }

    /// Names of an enum type, also behind Nullable.
    pub fn enum_values(&self) -> Option<&Arc<EnumValues>> {
        match self.value_type() {
            ColumnType::Enum8(values) | ColumnType::Enum16(values) => Some(values),
            _ => None,
        }
    }
}

/// Escapes for a single-quoted literal as ClickHouse prints it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        let escaped = match c {
            '\'' | '\\' => c,
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\0' => '0',
            plain => {
                out.push(plain);
                continue;
            }
        };
        out.extend(['\\', escaped]);
    }
    out.push('\'');
    out
}

/// What a backslash and a character say in a text of SQL; one that says nothing keeps its backslash.
pub(crate) fn push_escaped(escaped: char, out: &mut String) {
    let said = match escaped {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '0' => '\0',
        '\\' | '\'' | '"' | '`' | '/' | '=' => escaped,
        _ => {
            out.push('\\');
            escaped
        }
    };
    out.push(said);
}

/// The units that intervals count, as the names of their types have them.
pub const INTERVAL_UNITS: [&str; 11] = [
    "Nanosecond",
    "Microsecond",
    "Millisecond",
    "Second",
    "Minute",
    "Hour",
    "Day",
    "Week",
    "Month",
    "Quarter",
    "Year",
];

/// Whether a word is the name of an interval's type, `IntervalDay` and its kind.
pub(crate) fn is_interval_name(name: &str) -> bool {
    name.strip_prefix("Interval").is_some_and(|unit| INTERVAL_UNITS.contains(&unit))
}

/// An interval is carried as a tuple of one number that has the name of its type.
fn interval_of(elements: &[TupleElement]) -> Option<(&str, &ColumnType)> {
    let [TupleElement { name: Some(name), column_type }] = elements else { return None };
    let is_number = match column_type {
        ColumnType::Nullable(number) => **number == ColumnType::Int64,
        number => *number == ColumnType::Int64,
    };
    (is_number && is_interval_name(name)).then_some((name.as_ref(), column_type))
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnType::FixedString(bytes) => write!(f, "FixedString({bytes})"),
            ColumnType::Decimal { precision, scale } => write!(f, "Decimal({precision}, {scale})"),
            ColumnType::DateTime { time_zone: None } => f.write_str("DateTime"),
            ColumnType::DateTime { time_zone: Some(zone) } => write!(f, "DateTime({})", quoted(zone)),
            ColumnType::DateTime64 { precision, time_zone: None } => write!(f, "DateTime64({precision})"),
            ColumnType::DateTime64 { precision, time_zone: Some(zone) } => {
                write!(f, "DateTime64({precision}, {})", quoted(zone))
            }
            ColumnType::Uuid => f.write_str("UUID"),
            ColumnType::Ipv4 => f.write_str("IPv4"),
            ColumnType::Ipv6 => f.write_str("IPv6"),
            ColumnType::Enum8(values) => write!(f, "Enum8({values})"),
            ColumnType::Enum16(values) => write!(f, "Enum16({values})"),
            ColumnType::Nullable(inner) => write!(f, "Nullable({inner})"),
            ColumnType::LowCardinality(inner) => write!(f, "LowCardinality({inner})"),
            ColumnType::Array(inner) => write!(f, "Array({inner})"),
            ColumnType::Map(key, value) => write!(f, "Map({key}, {value})"),
            ColumnType::Tuple(elements) => write_tuple(f, elements),
            ColumnType::AggregateFunction(state) => write!(f, "AggregateFunction({state})"),
            // The rest are words that Debug spells as ClickHouse does: UInt8, String, Date32, ...
            word => write!(f, "{word:?}"),
        }
    }
}

fn write_tuple(f: &mut fmt::Formatter<'_>, elements: &[TupleElement]) -> fmt::Result {
    match interval_of(elements) {
        Some((name, number)) if number.is_nullable() => return write!(f, "Nullable({name})"),
        Some((name, _)) => return f.write_str(name),
        None => {}
    }
    f.write_str("Tuple(")?;
    for (i, element) in elements.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write_element_name(f, element)?;
        write!(f, "{}", element.column_type)?;
    }
    f.write_str(")")
}

impl fmt::Display for EnumValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (number, name)) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{} = {number}", quoted(name))?;
        }
        Ok(())
    }
}

/// Words that would be read as something else where names stand.
const QUOTED_NAMES: [&str; 11] =
    ["all", "distinct", "false", "from", "inf", "nan", "null", "select", "table", "true", "values"];

/// The name of a tuple's element and a blank; nothing where it has none.
fn write_element_name(f: &mut fmt::Formatter<'_>, element: &TupleElement) -> fmt::Result {
    let Some(name) = &element.name else { return Ok(()) };
    let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_bare = is_word && !name.is_empty() && !QUOTED_NAMES.iter().any(|q| q.eq_ignore_ascii_case(name));
    match (is_bare, name.contains('`')) {
        (true, _) => write!(f, "{name} "),
        (false, false) => write!(f, "`{name}` "),
        // Names have no escapes.
        (false, true) => write!(f, "\"{name}\" "),
    }
}

/// A type as DESCRIBE shows it: each element of a named tuple on a line of its own, four blanks deeper.
#[derive(Clone, Copy, Debug)]
pub struct Indented<'t> {
    column_type: &'t ColumnType,
    depth: usize,
}

impl<'t> Indented<'t> {
    /// The type, its first line without blanks before it.
    #[must_use]
    pub fn new(column_type: &'t ColumnType) -> Self {
        Self { column_type, depth: 0 }
    }
}

impl fmt::Display for Indented<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = |column_type| Indented { column_type, depth: self.depth };
        match self.column_type {
            ColumnType::Array(inner) => write!(f, "Array({})", within(inner)),
            ColumnType::Map(key, value) => write!(f, "Map({}, {})", within(key), within(value)),
            ColumnType::Tuple(elements) if interval_of(elements).is_none() => {
                let is_named = elements.iter().any(|element| element.name.is_some());
                f.write_str("Tuple(")?;
                for (at, element) in elements.iter().enumerate() {
                    let depth = self.depth + usize::from(is_named);
                    match (is_named, at) {
                        (true, 0) => write!(f, "\n{:1$}", "", depth * 4)?,
                        (true, _) => write!(f, ",\n{:1$}", "", depth * 4)?,
                        (false, 0) => {}
                        (false, _) => f.write_str(", ")?,
                    }
                    write_element_name(f, element)?;
                    write!(f, "{}", Indented { column_type: &element.column_type, depth })?;
                }
                f.write_str(")")
            }
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_named_tuples_stand_on_their_own_lines() {
        // Answers of DESCRIBE in ClickHouse 26.9.
        for (written, shown) in [
            ("UInt8", "UInt8"),
            ("Tuple(UInt8, String)", "Tuple(UInt8, String)"),
            ("Tuple(a UInt8, b String)", "Tuple(\n    a UInt8,\n    b String)"),
            (
                "Array(Tuple(a Map(UInt8, Tuple(b Int8)), `c d` Tuple(Int8, Tuple(e Int8))))",
                "Array(Tuple(\n    a Map(UInt8, Tuple(\n        b Int8)),\n    `c d` Tuple(Int8, Tuple(\n        e Int8))))",
            ),
        ] {
            let column_type = crate::type_name::parse(written).unwrap();
            assert_eq!(Indented::new(&column_type).to_string(), shown);
        }
    }
}
