//! Values as MsgPack.
//!
//! Invariant: what MsgPack has no type for is its bytes, as in ClickHouse. Must not know: styles.

use model::raw_text;
use model::value::packed;

use super::ColumnText;
use super::nested::range;
use super::opening::Values;

impl ColumnText {
    /// Appends the value of `row` as MsgPack.
    pub(crate) fn pack(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return packed::null(out);
        }
        match &self.values {
            Values::Bool(array) => packed::unsigned(array.value(row).into(), out),
            Values::UInt8(array) => packed::unsigned(array.value(row).into(), out),
            Values::UInt16(array) => packed::unsigned(array.value(row).into(), out),
            Values::UInt32(array) | Values::Ipv4(array) => packed::unsigned(array.value(row).into(), out),
            Values::UInt64(array) => packed::unsigned(array.value(row), out),
            Values::Int8(array) => packed::signed(array.value(row).into(), out),
            Values::Int16(array) => packed::signed(array.value(row).into(), out),
            Values::Int32(array) => packed::signed(array.value(row).into(), out),
            Values::Int64(array) => packed::signed(array.value(row), out),
            Values::Date(array) => packed::signed(array.value(row).into(), out),
            Values::Enum(numbers, _) => packed::signed(numbers[row].into(), out),
            Values::Float32(array) => packed::float32(array.value(row), out),
            Values::Float64(array) => packed::float64(array.value(row), out),
            Values::Decimal128(array, _) => match i64::try_from(array.value(row)) {
                Ok(number) if array.precision() <= 18 => packed::signed(number, out),
                _ => packed::bytes(&array.value(row).to_le_bytes(), out),
            },
            Values::Decimal256(array, _) => packed::bytes(&array.value(row).to_le_bytes(), out),
            Values::Wide(array, kind) => {
                packed::bytes(&kind.decode(array.value(row)).to_le_bytes()[..kind.bytes], out);
            }
            // A moment before 1970 is the number of its bits.
            Values::Time { ticks, per_digit, .. } => {
                let number = ticks[row].div_euclid(*per_digit);
                packed::unsigned(u64::from_ne_bytes(number.to_ne_bytes()), out);
            }
            Values::Uuid(array) => packed::uuid(array.value(row), out),
            Values::Ipv6(array) | Values::Bytes(array) => packed::bytes(array.value(row), out),
            Values::Text(array, fixed) => {
                let mut text = raw_text::bytes(array.value(row)).into_owned();
                text.resize(text.len().max(*fixed), 0);
                packed::bytes(&text, out);
            }
            Values::Shown(shown) => packed::bytes(shown[row].as_bytes(), out),
            Values::List(offsets, items) => {
                packed::list(range(offsets, row).len(), out);
                range(offsets, row).for_each(|at| items.pack(at, out));
            }
            Values::Map(offsets, keys, values) => {
                packed::map(range(offsets, row).len(), out);
                for at in range(offsets, row) {
                    keys.pack(at, out);
                    values.pack(at, out);
                }
            }
            Values::Tuple(_, children) => {
                packed::list(children.len(), out);
                children.iter().for_each(|child| child.pack(row, out));
            }
            Values::Nothing => packed::null(out),
        }
    }
}
