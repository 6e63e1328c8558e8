//! Values as members of BSON documents.
//!
//! Invariant: what BSON has no type for is its bytes, as in ClickHouse; the bits of a UInt64 are those of an Int64. Must not
//! know: styles other than that of keys.

use model::ColumnType;
use model::raw_text;
use model::value::bson::{self, Tag};

use super::nested::range;
use super::opening::Values;
use super::{ColumnText, Style};

/// The bytes of a UUID in the order of ClickHouse's memory: each half turned around.
fn turned(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(8).flat_map(|half| half.iter().rev().copied()).collect()
}

fn place(number: usize) -> Vec<u8> {
    number.to_string().into_bytes()
}

impl ColumnText {
    /// Appends the value of `row`, which is of this type, as the member `key` of a document.
    pub(crate) fn put_member(&mut self, row: usize, of: &ColumnType, key: &[u8], out: &mut Vec<u8>) {
        if self.is_null(row) {
            return bson::head(Tag::Null, key, out);
        }
        match &self.values {
            Values::Bool(array) => {
                bson::head(Tag::Bool, key, out);
                out.push(array.value(row).into());
            }
            Values::UInt8(array) => bson::int32(array.value(row).into(), key, out),
            Values::UInt16(array) => bson::int32(array.value(row).into(), key, out),
            Values::Int8(array) => bson::int32(array.value(row).into(), key, out),
            Values::Int16(array) => bson::int32(array.value(row).into(), key, out),
            Values::Int32(array) => bson::int32(array.value(row), key, out),
            Values::Date(array) => bson::int32(array.value(row), key, out),
            Values::Enum(numbers, _) => bson::int32(numbers[row].into(), key, out),
            Values::Ipv4(array) => bson::int32(array.value(row).cast_signed(), key, out),
            Values::UInt32(array) => bson::int64(Tag::Int64, array.value(row).into(), key, out),
            Values::UInt64(array) => bson::int64(Tag::Int64, array.value(row).cast_signed(), key, out),
            Values::Int64(array) => bson::int64(Tag::Int64, array.value(row), key, out),
            Values::Time { ticks, per_digit, .. } => {
                let has_digits = matches!(of.value_type(), ColumnType::DateTime64 { .. });
                let tag = if has_digits { Tag::DateTime } else { Tag::Int64 };
                bson::int64(tag, ticks[row].div_euclid(*per_digit), key, out);
            }
            Values::Float32(array) => bson::double(array.value(row).into(), key, out),
            Values::Float64(array) => bson::double(array.value(row), key, out),
            Values::Decimal128(array, _) => {
                let (number, digits) = (array.value(row), array.precision());
                match (i32::try_from(number), i64::try_from(number)) {
                    (Ok(number), _) if digits <= 9 => bson::int32(number, key, out),
                    (_, Ok(number)) if digits <= 18 => bson::int64(Tag::Int64, number, key, out),
                    _ => bson::binary(bson::BYTES, &number.to_le_bytes(), key, out),
                }
            }
            Values::Decimal256(array, _) => {
                bson::binary(bson::BYTES, &array.value(row).to_le_bytes(), key, out);
            }
            Values::Wide(array, kind) => {
                let bytes = kind.decode(array.value(row)).to_le_bytes();
                bson::binary(bson::BYTES, &bytes[..kind.bytes], key, out);
            }
            Values::Uuid(array) => bson::binary(bson::UUID, &turned(array.value(row)), key, out),
            Values::Ipv6(array) | Values::Bytes(array) => {
                bson::binary(bson::BYTES, array.value(row), key, out);
            }
            Values::Text(array, fixed) => {
                let mut text = raw_text::bytes(array.value(row)).into_owned();
                text.resize(text.len().max(*fixed), 0);
                match self.options.writing.bson_texts {
                    true => bson::text(&text, key, out),
                    false => bson::binary(bson::BYTES, &text, key, out),
                }
            }
            Values::Shown(shown) => bson::binary(bson::BYTES, shown[row].as_bytes(), key, out),
            Values::Nothing => bson::head(Tag::Null, key, out),
            Values::List(..) | Values::Map(..) | Values::Tuple(..) => {
                self.put_members(row, of.value_type(), key, out);
            }
        }
    }

    /// Lists, maps and tuples.
    fn put_members(&mut self, row: usize, of: &ColumnType, key: &[u8], out: &mut Vec<u8>) {
        match (&mut self.values, of) {
            (Values::List(offsets, items), ColumnType::Array(item)) => {
                bson::head(Tag::List, key, out);
                bson::document(out, |out| {
                    for (number, at) in range(offsets, row).enumerate() {
                        items.put_member(at, item, &place(number), out);
                    }
                });
            }
            (Values::Map(offsets, keys, values), ColumnType::Map(_, value)) => {
                bson::head(Tag::Document, key, out);
                bson::document(out, |out| {
                    for at in range(offsets, row) {
                        let mut name = Vec::new();
                        keys.write(at, Style::Plain, &mut name);
                        values.put_member(at, value, &name, out);
                    }
                });
            }
            (Values::Tuple(names, children), ColumnType::Tuple(elements)) => {
                let named = !names.is_empty() && names.iter().all(Option::is_some);
                bson::head(if named { Tag::Document } else { Tag::List }, key, out);
                bson::document(out, |out| {
                    for (at, (child, element)) in children.iter_mut().zip(elements.iter()).enumerate() {
                        let name = match &names[at] {
                            Some(name) if named => name.as_bytes().to_vec(),
                            _ => place(at + 1),
                        };
                        child.put_member(row, &element.column_type, &name, out);
                    }
                });
            }
            // A column is opened by its type, so there is no other pair.
            _ => bson::head(Tag::Null, key, out),
        }
    }
}
