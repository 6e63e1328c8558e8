//! Values of JSON documents as columns of any type.
//!
//! Invariant: a value that does not convert is the type's default, or NULL where the type has it; ClickHouse raises an
//! error only for a name that an enum does not have. All rows are built together, one type after another inwards.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray, StringViewArray};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{ArrowPrimitiveType, Int16Type, i256};
use model::saturating::u64_of;
use model::type_arrow::to_data_type;
use model::{ColumnType, EnumValues, ErrorCode, TupleElement, WideInteger};

use super::document::{Item, Kind};
use super::write;
use crate::cast::{CastMode, Caster, default_array, read};
use crate::columns::container::{list_of, map_of, offsets_of, tuple_of};
use crate::columns::number::{Number, NumberType, with_number};
use crate::columns::wide;
use crate::error::FunctionError;

/// How values become columns.
pub(super) struct Builder {
    /// Of mode `OrNull`.
    pub(super) caster: Caster,
    /// `true` is 1 where a number is wanted, and a number is a flag as if it were a UInt8.
    pub(super) flags_are_numbers: bool,
}

type Items<'i, 'd> = &'i [Option<Item<'d>>];

/// Seconds of more digits are none.
const SECONDS_DIGITS_MAX: f64 = 1e10;

impl Builder {
    /// The column of a type that has one row for each item.
    pub(super) fn column(&self, items: Items<'_, '_>, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
        let made = self.values(items, to.value_type())?;
        let made = match made.data_type() == &to_data_type(to) {
            true => made,
            false => arrow::compute::cast(&made, &to_data_type(to))?,
        };
        if to.is_nullable() || made.null_count() == 0 {
            return Ok(made);
        }
        // Rows that are NULL take the default, which follows the values.
        let all = arrow::compute::concat(&[made.as_ref(), default_array(to, 1).as_ref()])?;
        let place = |row: usize| if made.is_null(row) { made.len() } else { row };
        let places: Vec<u64> = (0..made.len()).map(|row| u64_of(place(row))).collect();
        Ok(take(&all, &arrow::array::UInt64Array::from(places), None)?)
    }

    /// Values of a plain type; NULL where they do not convert.
    fn values(&self, items: Items<'_, '_>, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
        match to {
            ColumnType::String => Ok(Arc::new(texts(items, |item, out| {
                write::plain(item, out);
                item.kind() != Kind::Null
            }))),
            ColumnType::FixedString(bytes) => {
                let most = usize::try_from(*bytes).unwrap_or(usize::MAX);
                Ok(Arc::new(texts(items, |item, out| {
                    write::plain(item, out);
                    item.kind() != Kind::Null && out.len() <= most
                })))
            }
            ColumnType::Bool => {
                Ok(Arc::new(items.iter().map(|item| self.flag(item.as_ref()?)).collect::<BooleanArray>()))
            }
            ColumnType::Enum8(names) | ColumnType::Enum16(names) => enums(items, names, to),
            ColumnType::Array(element) => self.lists(items, element),
            ColumnType::Tuple(elements) => self.tuples(items, elements),
            ColumnType::Map(key, value) => self.maps(items, key, value),
            ColumnType::Nothing => Ok(arrow::array::new_null_array(&to_data_type(to), items.len())),
            ColumnType::Decimal { .. }
            | ColumnType::Date
            | ColumnType::Date32
            | ColumnType::DateTime { .. }
            | ColumnType::DateTime64 { .. }
            | ColumnType::Uuid
            | ColumnType::Ipv4
            | ColumnType::Ipv6 => self.read(items, to),
            ColumnType::Int128 | ColumnType::UInt128 | ColumnType::Int256 | ColumnType::UInt256 => {
                self.wides(items, to)
            }
            number => with_number!(number, T => {
                Ok(Arc::new(self.numbers::<T>(items)))
            }, else Err(FunctionError::illegal_type(number, "JSONExtract"))),
        }
    }

    fn numbers<T: NumberType>(&self, items: Items<'_, '_>) -> PrimitiveArray<T> {
        items.iter().map(|item| self.number::<T::Native>(item.as_ref()?)).collect()
    }

    fn number<N: Number>(&self, item: &Item<'_>) -> Option<N> {
        let from_float =
            |value: f64| if N::FLOAT { Some(N::wrap_float(value)) } else { N::exact_float(value.trunc()) };
        match item.kind() {
            Kind::Int(value) => integer(i128::from(value)),
            Kind::UInt(value) => integer(i128::from(value)),
            Kind::Double(value) => from_float(value),
            Kind::Whole { .. } => from_float(item.digits().parse().ok()?),
            Kind::Bool(value) if self.flags_are_numbers => integer(i128::from(value)),
            Kind::Text { .. } => {
                let text = item.text()?;
                match text.parse::<i128>() {
                    Ok(value) if !N::FLOAT => N::exact_int(value),
                    _ => from_float(read::float(text).ok()?),
                }
            }
            _ => None,
        }
    }

    /// The function that is named after Bool knows no fractions and no text.
    fn flag(&self, item: &Item<'_>) -> Option<bool> {
        if self.flags_are_numbers {
            return self.number::<u8>(item).map(|value| value != 0);
        }
        match item.kind() {
            Kind::Bool(value) => Some(value),
            Kind::Int(value) => Some(value != 0),
            Kind::UInt(_) => Some(true),
            _ => None,
        }
    }

    fn wides(&self, items: Items<'_, '_>, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
        let Some(kind) = WideInteger::of(to) else {
            return Err(FunctionError::illegal_type(to, "JSONExtract"));
        };
        let numbers: Vec<Option<i256>> = items.iter().map(|item| self.wide(item.as_ref()?, kind)).collect();
        let present: NullBuffer = numbers.iter().map(Option::is_some).collect::<Vec<bool>>().into();
        let numbers: Vec<i256> = numbers.into_iter().map(Option::unwrap_or_default).collect();
        wide::column(&numbers, to, Some(present))
    }

    fn wide(&self, item: &Item<'_>, kind: WideInteger) -> Option<i256> {
        let of_float = |value: f64| {
            let whole = value.trunc();
            let bits = i32::try_from(kind.bytes * 8).ok()?;
            let top = 2_f64.powi(if kind.signed { bits - 1 } else { bits });
            let fits = whole < top && whole >= if kind.signed { -top } else { 0.0 };
            fits.then(|| wide::of_float(whole))
        };
        let of_int = |value: i128| (kind.signed || value >= 0).then(|| i256::from_i128(value));
        match item.kind() {
            Kind::Int(value) => of_int(i128::from(value)),
            Kind::UInt(value) => of_int(i128::from(value)),
            Kind::Bool(value) if self.flags_are_numbers => of_int(i128::from(value)),
            Kind::Double(value) => of_float(value),
            Kind::Whole { .. } => read::wide(item.digits(), kind).ok(),
            Kind::Text { .. } => {
                let text = item.text()?;
                read::wide(text, kind).ok().or_else(|| of_float(read::float(text).ok()?))
            }
            _ => None,
        }
    }

    /// Types whose values are read from text.
    fn read(&self, items: Items<'_, '_>, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
        let numbers = matches!(
            to,
            ColumnType::Decimal { .. } | ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. }
        );
        let is_time = matches!(to, ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. });
        let words: ArrayRef = Arc::new(texts(items, |item, out| {
            match item.kind() {
                // Ten digits are seconds; fewer would be parts of a date.
                Kind::Int(value) if is_time => out.push_str(&format!("{:010}", value.max(0))),
                Kind::Double(value) if is_time && value.abs() < SECONDS_DIGITS_MAX => {
                    let fraction = usize::from(matches!(to, ColumnType::DateTime64 { .. })) * 9;
                    let value = if fraction == 0 { value.max(0.0).trunc() } else { value.max(0.0) };
                    out.push_str(&format!(
                        "{value:0width$.fraction$}",
                        width = 10 + fraction.min(1) + fraction
                    ));
                }
                _ => write::plain(item, out),
            }
            match item.kind() {
                Kind::Text { .. } => true,
                Kind::Int(_) | Kind::UInt(_) | Kind::Whole { .. } | Kind::Double(_) => numbers,
                _ => false,
            }
        }));
        Ok(self.caster.column(&words, &ColumnType::String.nullable(), &to.clone().nullable())?)
    }

    fn lists(&self, items: Items<'_, '_>, element: &ColumnType) -> Result<ArrayRef, FunctionError> {
        let mut elements = Vec::new();
        let mut lengths = Vec::with_capacity(items.len());
        for item in items {
            let before = elements.len();
            if let Some(item) = item {
                elements.extend(item.elements().map(Some));
            }
            lengths.push(elements.len() - before);
        }
        Ok(list_of(element, offsets_of(lengths), self.column(&elements, element)?, None)?)
    }

    /// By name where both have names, else by place.
    fn tuples(&self, items: Items<'_, '_>, elements: &[TupleElement]) -> Result<ArrayRef, FunctionError> {
        let mut columns = Vec::with_capacity(elements.len());
        for (place, element) in elements.iter().enumerate() {
            let found: Vec<_> = items.iter().map(|item| member((*item)?, place, element)).collect();
            columns.push(self.column(&found, &element.column_type)?);
        }
        Ok(tuple_of(elements, columns, None, items.len())?)
    }

    fn maps(
        &self,
        items: Items<'_, '_>,
        key: &ColumnType,
        value: &ColumnType,
    ) -> Result<ArrayRef, FunctionError> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let mut lengths = Vec::with_capacity(items.len());
        for item in items {
            let before = values.len();
            for (key, value) in item.iter().flat_map(|item| item.pairs()) {
                keys.push(key);
                values.push(Some(value));
            }
            lengths.push(values.len() - before);
        }
        let words: ArrayRef = Arc::new(StringViewArray::from_iter_values(keys));
        let keys =
            Caster { mode: CastMode::OrDefault, ..self.caster }.column(&words, &ColumnType::String, key)?;
        Ok(map_of(key, value, offsets_of(lengths), keys, self.column(&values, value)?, None)?)
    }

    /// Which items convert.
    pub(super) fn converts(&self, items: Items<'_, '_>, to: &ColumnType) -> Result<Vec<bool>, FunctionError> {
        let made = self.values(items, to.value_type())?;
        let fits = |row: usize| match (to.value_type(), items[row].map(Item::kind)) {
            (ColumnType::Array(_), kind) => kind == Some(Kind::Array),
            (ColumnType::Map(..), kind) => kind == Some(Kind::Object),
            (ColumnType::Tuple(_), kind) => matches!(kind, Some(Kind::Object | Kind::Array)),
            _ => made.is_valid(row) || to.is_nullable() && items[row].map(Item::kind) == Some(Kind::Null),
        };
        Ok((0..items.len()).map(fits).collect())
    }
}

/// The part of an object or array that is an element of a tuple.
fn member<'d>(item: Item<'d>, place: usize, element: &TupleElement) -> Option<Item<'d>> {
    match (item.kind(), &element.name) {
        (Kind::Object, Some(name)) => {
            item.pairs().find(|(key, _)| *key == name.as_ref()).map(|(_, value)| value)
        }
        (Kind::Object, None) => item.pairs().nth(place).map(|(_, value)| value),
        _ => item.elements().nth(place),
    }
}

fn integer<N: Number>(value: i128) -> Option<N> {
    if N::FLOAT { Some(N::wrap_int(value)) } else { N::exact_int(value) }
}

/// Texts that `write` makes; NULL where it says so.
fn texts(items: Items<'_, '_>, write: impl Fn(Item<'_>, &mut String) -> bool) -> StringViewArray {
    let mut buffer = String::new();
    let mut builder = arrow::array::StringViewBuilder::with_capacity(items.len());
    for item in items {
        buffer.clear();
        match item {
            Some(item) if write(*item, &mut buffer) => builder.append_value(&buffer),
            _ => builder.append_null(),
        }
    }
    builder.finish()
}

fn enums(items: Items<'_, '_>, names: &EnumValues, to: &ColumnType) -> Result<ArrayRef, FunctionError> {
    let mut numbers: Vec<Option<<Int16Type as ArrowPrimitiveType>::Native>> = Vec::with_capacity(items.len());
    for item in items {
        let kind = item.map_or(Kind::Null, Item::kind);
        numbers.push(match kind {
            Kind::Int(number) => i16::try_from(number).ok().filter(|number| names.name(*number).is_some()),
            Kind::Text { .. } => {
                let name = item.and_then(Item::text).unwrap_or("");
                let message = || {
                    FunctionError::new(
                        ErrorCode::UNKNOWN_ELEMENT_OF_ENUM,
                        format!("unknown element '{name}' for type {to}"),
                    )
                };
                Some(names.number(name).ok_or_else(message)?)
            }
            _ => None,
        });
    }
    let numbers: PrimitiveArray<Int16Type> = numbers.into_iter().collect();
    let numbers: ArrayRef = Arc::new(numbers);
    Ok(match to {
        ColumnType::Enum8(_) => arrow::compute::cast(&numbers, &to_data_type(to))?,
        _ => Arc::new(numbers.as_primitive::<Int16Type>().clone()),
    })
}
