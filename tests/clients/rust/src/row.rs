//! Two rows of every type, as the Rust client has them; `types.tsv` has them as text.

use std::net::{Ipv4Addr, Ipv6Addr};

use chrono::{DateTime, NaiveDate, Utc};
use clickhouse::Row;
use clickhouse::types::{Int256, UInt256};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Maps are lists of entries: a `HashMap` would send them in an order of its own. Decimals are their unscaled integers; the
/// client has none of 256 bits, so `d76` is left to its default.
#[derive(Debug, Clone, PartialEq, Row, Serialize, Deserialize)]
pub struct EveryType {
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    i128: i128,
    i256: Int256,
    pub u8: u8,
    u16: u16,
    u32: u32,
    u64: u64,
    u128: u128,
    u256: UInt256,
    f32: f32,
    f64: f64,
    d9: i32,
    d18: i64,
    d38: i128,
    s: String,
    fs: [u8; 4],
    #[serde(with = "clickhouse::serde::chrono::date")]
    d: NaiveDate,
    #[serde(with = "clickhouse::serde::chrono::date32")]
    d32: NaiveDate,
    #[serde(with = "clickhouse::serde::chrono::datetime")]
    dt: DateTime<Utc>,
    #[serde(with = "clickhouse::serde::chrono::datetime")]
    dtz: DateTime<Utc>,
    #[serde(with = "clickhouse::serde::chrono::datetime64::millis")]
    dt3: DateTime<Utc>,
    #[serde(with = "clickhouse::serde::chrono::datetime64::nanos")]
    dt9: DateTime<Utc>,
    #[serde(with = "clickhouse::serde::uuid")]
    id: Uuid,
    #[serde(with = "clickhouse::serde::ipv4")]
    ip4: Ipv4Addr,
    ip6: Ipv6Addr,
    e8: i8,
    e16: i16,
    b: bool,
    ni: Option<i32>,
    ns: Option<String>,
    lc: String,
    lcn: Option<String>,
    au: Vec<u32>,
    an: Vec<Option<String>>,
    aa: Vec<Vec<i8>>,
    m: Vec<(String, u64)>,
    ma: Vec<(String, Vec<String>)>,
    t: (i32, String),
    tn: (u8, Option<String>),
    at: Vec<(u8, String)>,
}

/// The names of the columns that the struct has.
pub fn has(column: &str) -> bool {
    column != "d76"
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a moment")
}

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).expect("a day")
}

fn wide(low: [u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (place, word) in bytes.chunks_exact_mut(8).zip(low) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

pub fn rows() -> [EveryType; 2] {
    [ordinary(), extreme()]
}

fn ordinary() -> EveryType {
    EveryType {
        i8: i8::MIN,
        i16: i16::MIN,
        i32: i32::MIN,
        i64: i64::MIN,
        i128: i128::MIN,
        i256: Int256::from_le_bytes(wide([0, 0, 0, 1 << 63])),
        u8: 0,
        u16: 0,
        u32: 0,
        u64: 0,
        u128: 0,
        u256: UInt256::from_le_bytes(wide([0; 4])),
        f32: 1.5,
        f64: 0.1,
        d9: 123_456_789,
        d18: 123_456_789_012_345_678,
        d38: 12_345_678_901_234_567_890_123_456_780_123_456_789,
        s: "naïve 'quoted' \t \\ ☃".to_owned(),
        fs: *b"abcd",
        d: day(2024, 2, 29),
        d32: day(1900, 1, 1),
        dt: at("2024-02-29T12:34:56Z"),
        dtz: at("2024-07-01T10:00:00Z"),
        dt3: at("2024-02-29T12:34:56.789Z"),
        dt9: at("2024-07-01T16:00:00.123456789Z"),
        id: "61f0c404-5cb3-11e7-907b-a6006ad3dba0".parse().expect("a UUID"),
        ip4: Ipv4Addr::new(192, 168, 1, 2),
        ip6: "2001:db8::8a2e:370:7334".parse().expect("an address"),
        e8: -3,
        e16: -1000,
        b: true,
        ni: Some(7),
        ns: Some("there".to_owned()),
        lc: "often".to_owned(),
        lcn: Some("often".to_owned()),
        au: vec![1, 2, 3],
        an: vec![Some("a".to_owned()), None],
        aa: vec![vec![1], vec![], vec![-2, 3]],
        m: vec![("k".to_owned(), 1), ("l".to_owned(), 2)],
        ma: vec![("k".to_owned(), vec!["a".to_owned(), "b".to_owned()])],
        t: (-1, "one".to_owned()),
        tn: (1, Some("one".to_owned())),
        at: vec![(1, "one".to_owned()), (2, "two".to_owned())],
    }
}

fn extreme() -> EveryType {
    EveryType {
        i8: i8::MAX,
        i16: i16::MAX,
        i32: i32::MAX,
        i64: i64::MAX,
        i128: i128::MAX,
        i256: Int256::from_le_bytes(wide([u64::MAX, u64::MAX, u64::MAX, u64::MAX >> 1])),
        u8: u8::MAX,
        u16: u16::MAX,
        u32: u32::MAX,
        u64: u64::MAX,
        u128: u128::MAX,
        u256: UInt256::from_le_bytes(wide([u64::MAX; 4])),
        f32: -0.25,
        f64: -1e300,
        d9: -1,
        d18: -1,
        d38: -10_000_000_000,
        s: String::new(),
        fs: *b"wxyz",
        d: day(1970, 1, 2),
        d32: day(2299, 12, 31),
        dt: at("1970-01-02T00:00:00Z"),
        dtz: at("2024-01-01T11:00:00Z"),
        dt3: at("1960-01-01T00:00:00.001Z"),
        dt9: at("2024-01-01T17:00:00.000000001Z"),
        id: Uuid::from_u128(1),
        ip4: Ipv4Addr::UNSPECIFIED,
        ip6: Ipv6Addr::LOCALHOST,
        e8: 4,
        e16: 1000,
        b: false,
        ni: None,
        ns: None,
        lc: String::new(),
        lcn: None,
        au: vec![],
        an: vec![],
        aa: vec![vec![]],
        m: vec![],
        ma: vec![],
        t: (0, String::new()),
        tn: (2, None),
        at: vec![],
    }
}
