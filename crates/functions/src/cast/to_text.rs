//! Columns of any type -> String columns.
//!
//! Invariant: NULL stays NULL at the top; inside arrays, maps and tuples it is the word NULL and texts are quoted.

use std::borrow::Cow;

use arrow::array::{
    Array, ArrayRef, AsArray, PrimitiveArray, StringViewArray, StringViewBuilder, downcast_integer_array,
};
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type,
    Int16Type, UInt32Type,
};
use model::address::{V4, V6};
use model::{ColumnType, EnumValues, WideInteger, raw_text};

use super::caster::Caster;
use super::write;
use crate::columns::container::range;
use crate::time::temporal::{digits_of, power_of_ten, precision_of, ticks, zone_of};
use crate::time::zone::Zone;

/// Inside of others a text of fixed length has the zero bytes that it is stored without.
fn with_zero_bytes<'a>(text: &'a str, column_type: &ColumnType) -> Cow<'a, str> {
    let ColumnType::FixedString(length) = column_type else { return Cow::Borrowed(text) };
    let missing = (*length as usize).saturating_sub(raw_text::bytes(text).len());
    if missing == 0 { Cow::Borrowed(text) } else { Cow::Owned(text.to_owned() + &"\0".repeat(missing)) }
}

impl Caster {
    /// The column as text; `from` is a plain type.
    pub(crate) fn to_text(&self, array: &ArrayRef, from: &ColumnType) -> StringViewArray {
        match from {
            ColumnType::Float32 => {
                let array = array.as_primitive::<Float32Type>();
                each(array, |row, out| write::float32(array.value(row), out))
            }
            ColumnType::Float64 => {
                let array = array.as_primitive::<Float64Type>();
                each(array, |row, out| write::float64(array.value(row), out))
            }
            ColumnType::Bool => {
                let array = array.as_boolean();
                each(array, |row, out| out.push_str(if array.value(row) { "true" } else { "false" }))
            }
            ColumnType::Decimal { scale, .. } => decimal_text(array, *scale),
            ColumnType::Date | ColumnType::Date32 => {
                let array = array.as_primitive::<Date32Type>();
                each(array, |row, out| write::date(array.value(row), out))
            }
            ColumnType::DateTime { .. } | ColumnType::DateTime64 { .. } => self.time_text(array, from),
            ColumnType::Uuid => {
                let array = array.as_fixed_size_binary();
                each(array, |row, out| write::uuid(array.value(row), out))
            }
            ColumnType::Ipv4 => {
                let array = array.as_primitive::<UInt32Type>();
                each(array, |row, out| write::shown(V4(array.value(row)), out))
            }
            ColumnType::Ipv6 => {
                let array = array.as_fixed_size_binary();
                each(array, |row, out| write::shown(V6(array.value(row)), out))
            }
            ColumnType::Enum8(values) => enum_text(array.as_primitive::<Int8Type>(), values),
            ColumnType::Enum16(values) => enum_text(array.as_primitive::<Int16Type>(), values),
            ColumnType::Array(inner) => self.list_text(array, inner),
            ColumnType::Map(key, value) => self.map_text(array, key, value),
            ColumnType::Tuple(_) => self.tuple_text(array, from),
            ColumnType::Nullable(_) | ColumnType::LowCardinality(_) => self.to_text(array, from.value_type()),
            ColumnType::AggregateFunction(_) => raw_text::carry_all(array.as_binary_view()),
            ColumnType::Nothing => StringViewArray::new_null(array.len()),
            wide if wide.is_wide_integer() => wide_text(array, wide),
            _ => downcast_integer_array!(
                array => integer_text(array),
                _ => array.as_string_view().clone(),
            ),
        }
    }

    fn time_text(&self, array: &ArrayRef, from: &ColumnType) -> StringViewArray {
        let zone = Zone::new(zone_of(from, self.time_zone));
        let ticks = ticks(array);
        let per_second = power_of_ten(digits_of(from));
        let precision = precision_of(from);
        let dropped = power_of_ten(digits_of(from) - precision.min(digits_of(from)));
        each(array, |row, out| {
            let tick = ticks.value(row);
            write::date_time(zone.to_local(tick.div_euclid(per_second)), out);
            write::fraction(tick.rem_euclid(per_second) / dropped, precision, out);
        })
    }

    /// Elements as they stand inside brackets: quoted unless they are numbers, NULL as a word.
    fn element_text(&self, array: &ArrayRef, element: &ColumnType) -> StringViewArray {
        let text = self.to_text(array, element.value_type());
        let quote = quotes(element.value_type());
        let nulls = array.logical_nulls();
        let mut buffer = String::new();
        let mut builder = StringViewBuilder::with_capacity(text.len());
        for row in 0..text.len() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                builder.append_value("NULL");
            } else if quote {
                buffer.clear();
                write::quoted(&with_zero_bytes(text.value(row), element.value_type()), &mut buffer);
                builder.append_value(&buffer);
            } else {
                builder.append_value(text.value(row));
            }
        }
        builder.finish()
    }

    fn list_text(&self, array: &ArrayRef, inner: &ColumnType) -> StringViewArray {
        let list = array.as_list::<i32>();
        let elements = self.element_text(list.values(), inner);
        let offsets = list.value_offsets();
        each(array, |row, out| {
            out.push('[');
            for at in range(offsets, row) {
                if at > range(offsets, row).start {
                    out.push(',');
                }
                out.push_str(elements.value(at));
            }
            out.push(']');
        })
    }

    fn map_text(&self, array: &ArrayRef, key: &ColumnType, value: &ColumnType) -> StringViewArray {
        let map = array.as_map();
        let keys = self.element_text(map.keys(), key);
        let values = self.element_text(map.values(), value);
        let offsets = map.value_offsets();
        each(array, |row, out| {
            out.push('{');
            for at in range(offsets, row) {
                if at > range(offsets, row).start {
                    out.push(',');
                }
                out.push_str(keys.value(at));
                out.push(':');
                out.push_str(values.value(at));
            }
            out.push('}');
        })
    }

    fn tuple_text(&self, array: &ArrayRef, from: &ColumnType) -> StringViewArray {
        let ColumnType::Tuple(elements) = from else { return StringViewArray::new_null(array.len()) };
        // An interval is carried as a tuple, and shown as its number.
        if let (true, Some(number)) = (from.is_interval(), elements.first()) {
            return self.to_text(array.as_struct().column(0), &number.column_type);
        }
        let columns = array.as_struct().columns();
        let texts: Vec<StringViewArray> = columns
            .iter()
            .zip(elements)
            .map(|(column, e)| self.element_text(column, &e.column_type))
            .collect();
        each(array, |row, out| {
            out.push('(');
            for (index, text) in texts.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(text.value(row));
            }
            out.push(')');
        })
    }
}

/// Whether values of a type stand in quotes inside arrays.
fn quotes(element: &ColumnType) -> bool {
    !(element.is_number()
        || matches!(
            element,
            ColumnType::Bool | ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Tuple(_)
        ))
}

/// One text per row that is not NULL, written by `write` into an empty buffer.
fn each(array: &dyn Array, mut write: impl FnMut(usize, &mut String)) -> StringViewArray {
    let mut buffer = String::new();
    let mut builder = StringViewBuilder::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
        } else {
            buffer.clear();
            write(row, &mut buffer);
            builder.append_value(&buffer);
        }
    }
    builder.finish()
}

fn integer_text<T: ArrowPrimitiveType<Native: itoa::Integer>>(array: &PrimitiveArray<T>) -> StringViewArray {
    let mut digits = itoa::Buffer::new();
    let mut builder = StringViewBuilder::with_capacity(array.len());
    for value in array {
        builder.append_option(value.map(|value| digits.format(value)));
    }
    builder.finish()
}

fn wide_text(array: &ArrayRef, column_type: &ColumnType) -> StringViewArray {
    let Some(kind) = WideInteger::of(column_type) else { return StringViewArray::new_null(array.len()) };
    let stored = array.as_fixed_size_binary();
    each(array, |row, out| write::shown(kind.shown(kind.decode(stored.value(row))), out))
}

fn enum_text<T: ArrowPrimitiveType<Native: Into<i16>>>(
    array: &PrimitiveArray<T>,
    values: &EnumValues,
) -> StringViewArray {
    each(array, |row, out| {
        if let Some(name) = values.name(array.value(row).into()) {
            out.push_str(name);
        }
    })
}

fn decimal_text(array: &ArrayRef, scale: u8) -> StringViewArray {
    if let Some(array) = array.as_primitive_opt::<Decimal128Type>() {
        return each(array, |row, out| {
            write::decimal(itoa::Buffer::new().format(array.value(row)), scale, out)
        });
    }
    let array = array.as_primitive::<Decimal256Type>();
    each(array, |row, out| write::decimal(&array.value(row).to_string(), scale, out))
}
