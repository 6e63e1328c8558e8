//! Which partition a row belongs to, and the partition's name.
//!
//! Invariant: equal values give equal names and unequal values unequal names. Names follow ClickHouse: `all` without a
//! key, integers in decimal, dates as `YYYYMMDD`, several values joined by `-`, anything else 32 hex digits of a hash.

use std::sync::Arc;

use arrow::datatypes::DataType;

use crate::calendar;
use crate::value::Value;

/// The values of the partition key, and the `partition_id` people see.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionValue {
    values: Vec<Value>,
    name: Arc<str>,
}

impl PartitionValue {
    /// The only partition of a table without PARTITION BY.
    pub fn all() -> PartitionValue {
        PartitionValue { values: Vec::new(), name: "all".into() }
    }

    /// `types` are the layouts of the key expressions, one per value.
    pub fn new(values: Vec<Value>, types: &[DataType]) -> PartitionValue {
        if values.is_empty() {
            return PartitionValue::all();
        }
        let name = plain_name(&values, types).unwrap_or_else(|| hashed_name(&values));
        PartitionValue { values, name: name.into() }
    }

    /// Puts back together what a log record kept.
    pub fn from_stored(values: Vec<Value>, name: Arc<str>) -> PartitionValue {
        PartitionValue { values, name }
    }

    pub fn values(&self) -> &[Value] {
        &self.values
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Eq for PartitionValue {}

impl PartialOrd for PartitionValue {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PartitionValue {
    /// By name: equal names are equal partitions, and the order only has to be stable.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name.cmp(&other.name)
    }
}

impl std::hash::Hash for PartitionValue {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

fn plain_name(values: &[Value], types: &[DataType]) -> Option<String> {
    let mut pieces = Vec::with_capacity(values.len());
    for (value, data_type) in values.iter().zip(types) {
        pieces.push(match (value, data_type) {
            (Value::Int(days), DataType::Date32) => yyyymmdd(*days)?,
            (Value::Int(number), _) => number.to_string(),
            (Value::UInt(number), _) => number.to_string(),
            (Value::Bool(flag), _) => u8::from(*flag).to_string(),
            _ => return None,
        });
    }
    Some(pieces.join("-"))
}

/// `None` for a day number that has no room for what the calendar adds to it.
fn yyyymmdd(days: i64) -> Option<String> {
    days.checked_add(calendar::DAYS_BEFORE_1970)?;
    let (year, month, day) = calendar::civil_of(days);
    Some(format!("{year:04}{month:02}{day:02}"))
}

/// FNV-1a over 128 bits of a tagged rendering: stable across versions, and collisions are out of reach for
/// the number of partitions a table can have.
fn hashed_name(values: &[Value]) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash = OFFSET;
    let mut feed = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    };
    for value in values {
        match value {
            Value::Null => feed(b"n"),
            Value::Bool(flag) => feed(&[b'b', u8::from(*flag)]),
            Value::Int(number) => feed(&[b"i".as_slice(), &number.to_le_bytes()].concat()),
            Value::UInt(number) => feed(&[b"u".as_slice(), &number.to_le_bytes()].concat()),
            Value::Float(number) => feed(&[b"f".as_slice(), &number.to_le_bytes()].concat()),
            Value::Decimal(number) => feed(&[b"d".as_slice(), &number.to_le_bytes()].concat()),
            Value::Text(text) => feed_sized(&mut feed, b's', text.as_bytes()),
            Value::Bytes(bytes) => feed_sized(&mut feed, b'x', bytes),
        }
    }
    format!("{hash:032x}")
}

/// The length goes in front, so that ("ab", "c") and ("a", "bc") differ.
fn feed_sized(feed: &mut impl FnMut(&[u8]), tag: u8, bytes: &[u8]) {
    feed(&[tag]);
    feed(&bytes.len().to_string().into_bytes());
    feed(b":");
    feed(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_clickhouse() {
        let name =
            |values: Vec<Value>, types: &[DataType]| PartitionValue::new(values, types).name().to_owned();
        assert_eq!(name(vec![], &[]), "all");
        assert_eq!(name(vec![Value::UInt(202_008)], &[DataType::UInt32]), "202008");
        assert_eq!(name(vec![Value::Int(18_475)], &[DataType::Date32]), "20200801");
        assert_eq!(name(vec![Value::UInt(1), Value::Int(-2)], &[DataType::UInt8, DataType::Int8]), "1--2");
        assert_eq!(name(vec![Value::Text("x".into())], &[DataType::Utf8View]).len(), 32);
    }
}
