//! Addresses of the internet protocol from and to text, numbers and each other.
//!
//! Invariant: only the conversions that ClickHouse has; an IPv4 address becomes the IPv6 one that maps it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray};
use arrow::buffer::Buffer;
use arrow::datatypes::UInt32Type;
use model::ColumnType;
use model::address::{V6_BYTES, mapped, parse_v4, parse_v6, unmapped};
use model::raw_text;

use super::caster::{Caster, Column};
use super::problem::{CastError, Problem};
use crate::columns::number::{Number, with_number};

impl Caster {
    /// Text, numbers -> IPv4, IPv6. A FixedString(16) is the bytes of an IPv6 address.
    pub(super) fn to_address(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        let array = column.array;
        match (column.from, column.to) {
            (ColumnType::String | ColumnType::FixedString(_), ColumnType::Ipv4) => {
                let read = |text: &str| parse_v4(text.as_bytes()).ok_or(Problem::Ipv4);
                Ok(Arc::new(self.try_map::<_, UInt32Type>(column, array.as_string_view(), read)?))
            }
            (ColumnType::FixedString(16), _) => {
                let text = array.as_string_view();
                self.octets(column, text, |row| {
                    let mut octets = [0; V6_BYTES];
                    let bytes = raw_text::bytes(text.value(row));
                    octets.get_mut(..bytes.len()).ok_or(Problem::Ipv6)?.copy_from_slice(&bytes);
                    Ok(octets)
                })
            }
            (ColumnType::String | ColumnType::FixedString(_), _) => {
                let text = array.as_string_view();
                self.octets(column, text, |row| parse_v6(text.value(row).as_bytes()).ok_or(Problem::Ipv6))
            }
            (ColumnType::UInt128, ColumnType::Ipv6) => Ok(Arc::clone(array)),
            (from, ColumnType::Ipv4) if is_small_unsigned(from) => with_number!(from, S => {
                let bits = array.as_primitive::<S>().unary::<_, UInt32Type>(|value| Number::wrap_int(value.int()));
                Ok(Arc::new(bits))
            }, else Err(column.not_implemented())),
            _ => Err(column.not_implemented()),
        }
    }

    /// IPv4, IPv6 -> each other, and the numbers that ClickHouse takes them for.
    pub(super) fn address_as(&self, column: &Column<'_>) -> Result<ArrayRef, CastError> {
        match (column.from, column.to) {
            (ColumnType::Ipv4, ColumnType::Ipv6) => {
                let bits = column.array.as_primitive::<UInt32Type>();
                self.octets(column, bits, |row| Ok(mapped(bits.value(row))))
            }
            (ColumnType::Ipv6, ColumnType::Ipv4) => {
                let octets = column.array.as_fixed_size_binary();
                let bits = |octets: &[u8]| unmapped(octets).ok_or(Problem::NotMapped);
                Ok(Arc::new(self.try_map::<_, UInt32Type>(column, octets, bits)?))
            }
            // Both are 16 bytes, the highest first.
            (ColumnType::Ipv6, ColumnType::UInt128) => Ok(Arc::clone(column.array)),
            (
                ColumnType::Ipv4,
                ColumnType::UInt32 | ColumnType::UInt64 | ColumnType::UInt128 | ColumnType::UInt256,
            ) => self.step(column.array, &ColumnType::UInt32, column.to),
            _ => Err(column.not_implemented()),
        }
    }

    /// The bytes of each row that is not NULL.
    fn octets(
        &self,
        column: &Column<'_>,
        array: &dyn Array,
        convert: impl Fn(usize) -> Result<[u8; V6_BYTES], Problem>,
    ) -> Result<ArrayRef, CastError> {
        let mut bytes = Vec::with_capacity(array.len() * V6_BYTES);
        let mut failed = Vec::new();
        for row in 0..array.len() {
            let converted = if array.is_null(row) { Ok([0; V6_BYTES]) } else { convert(row) };
            bytes.extend(match converted {
                Ok(octets) => octets,
                Err(problem) => {
                    self.check(problem, row, column)?;
                    failed.push(row);
                    [0; V6_BYTES]
                }
            });
        }
        let nulls = self.nulls_with(array, &failed);
        Ok(Arc::new(FixedSizeBinaryArray::new(16, Buffer::from(bytes), nulls)))
    }
}

fn is_small_unsigned(column_type: &ColumnType) -> bool {
    use ColumnType::{UInt8, UInt16, UInt32, UInt64};
    matches!(column_type, UInt8 | UInt16 | UInt32 | UInt64)
}
