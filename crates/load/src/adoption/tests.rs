//! Cases of the decision.

use super::*;

const MIB: u64 = 1 << 20;

fn parsed(name: &str) -> ColumnType {
    model::type_name::parse(name).unwrap()
}

fn stored(physical: StoredType, meaning: StoredMeaning) -> StoredColumn {
    StoredColumn {
        physical,
        meaning,
        is_nested: false,
        is_optional: false,
        codec: StoredCodec::Zstd,
        has_pages_v2: false,
        compressed_bytes: 1000,
        decoded_bytes: 4000,
        nulls: None,
    }
}

fn number() -> StoredColumn {
    stored(StoredType::Int64, StoredMeaning::Plain)
}

fn terms() -> AdoptionTerms {
    AdoptionTerms {
        is_sorted: true,
        takes_unsorted: true,
        is_filtered: false,
        unsorted_bytes: 0,
        merge_memory_bytes: 256 * MIB,
        merges_stopped: false,
    }
}

fn column(name: &str, stored: &StoredColumn) -> ColumnDecision {
    let column_type = parsed(name);
    decide_column(&WantedColumn { column_type: &column_type, origin: ColumnOrigin::Stored(stored) })
}

#[test]
fn types_that_are_stored_as_ours_are_spliced() {
    use StoredMeaning::{Date, Decimal, Integer, Plain, Text, Timestamp, Uuid};
    use StoredType::{Boolean, Bytes, Double, FixedBytes, Float, Int32, Int64};
    let unsigned = |bits| Integer { bits, signed: false };
    let signed = |bits| Integer { bits, signed: true };
    for (name, physical, meaning) in [
        ("UInt8", Int32, unsigned(8)),
        ("UInt16", Int32, unsigned(16)),
        ("UInt32", Int32, unsigned(32)),
        ("UInt64", Int64, unsigned(64)),
        ("Int8", Int32, signed(8)),
        ("Int16", Int32, signed(16)),
        ("Int32", Int32, signed(32)),
        ("Int32", Int32, Plain),
        ("Int64", Int64, signed(64)),
        ("Int64", Int64, Plain),
        ("Float32", Float, Plain),
        ("Float64", Double, Plain),
        ("Bool", Boolean, Plain),
        ("String", Bytes, Text),
        ("String", Bytes, Plain),
        ("LowCardinality(String)", Bytes, Text),
        ("LowCardinality(Nullable(String))", Bytes, Text),
        ("Date", Int32, Date),
        ("Date32", Int32, Date),
        ("DateTime64(3)", Int64, Timestamp(TimeTick::Milliseconds)),
        ("DateTime64(6, 'UTC')", Int64, Timestamp(TimeTick::Microseconds)),
        ("Nullable(DateTime64(9))", Int64, Timestamp(TimeTick::Nanoseconds)),
        ("Decimal(9, 2)", Int32, Decimal { precision: 9, scale: 2 }),
        ("Decimal(18, 4)", Int64, Decimal { precision: 12, scale: 4 }),
        ("UUID", FixedBytes(16), Uuid),
    ] {
        assert_eq!(column(name, &stored(physical, meaning)), ColumnDecision::Splice, "{name}");
    }
}

#[test]
fn types_that_are_stored_otherwise_are_encoded_anew() {
    use ReencodeReason::{Enum, FixedString, Nested, TimeUnit, Type};
    use StoredMeaning::{Date, Decimal, Integer, Other, Plain, Text, Timestamp};
    use StoredType::{Bytes, FixedBytes, Int32, Int64, Int96};
    let millis = Timestamp(TimeTick::Milliseconds);
    for (name, physical, meaning, reason) in [
        ("Int32", Int64, Plain, Type),
        ("UInt8", Int32, Plain, Type),
        ("UInt32", Int32, Plain, Type),
        ("UInt64", Int64, Plain, Type),
        ("Int8", Int32, Integer { bits: 16, signed: true }, Type),
        ("Int64", Int64, Integer { bits: 64, signed: false }, Type),
        ("Int64", Int64, millis, Type),
        ("Float64", StoredType::Float, Plain, Type),
        ("String", Bytes, Other, Type),
        ("String", FixedBytes(3), Plain, Type),
        ("FixedString(3)", FixedBytes(3), Plain, FixedString),
        ("Enum8('a' = 1)", Bytes, Text, Enum),
        ("Enum16('a' = 500)", Int32, Integer { bits: 16, signed: true }, Enum),
        ("DateTime", Int64, millis, TimeUnit),
        ("DateTime", Int32, Integer { bits: 32, signed: false }, Type),
        ("DateTime64(3)", Int64, Timestamp(TimeTick::Microseconds), TimeUnit),
        ("DateTime64(2)", Int64, millis, TimeUnit),
        ("DateTime64(9)", Int96, Plain, TimeUnit),
        ("DateTime64(3)", Int32, Date, Type),
        ("Date", Int64, millis, Type),
        ("Decimal(9, 2)", Int32, Decimal { precision: 9, scale: 3 }, Type),
        ("Decimal(9, 2)", Int32, Decimal { precision: 10, scale: 2 }, Type),
        ("Decimal(9, 2)", Int64, Decimal { precision: 9, scale: 2 }, Type),
        ("Decimal(18, 2)", FixedBytes(8), Decimal { precision: 18, scale: 2 }, Type),
        ("Decimal(38, 2)", FixedBytes(16), Decimal { precision: 38, scale: 2 }, Type),
        ("UUID", FixedBytes(16), Plain, Type),
        ("IPv4", Int32, Integer { bits: 32, signed: false }, Type),
        ("IPv6", FixedBytes(16), Plain, Type),
        ("Int128", FixedBytes(16), Plain, Type),
        ("Array(Int64)", Int64, Plain, Nested),
    ] {
        assert_eq!(
            column(name, &stored(physical, meaning)),
            ColumnDecision::Reencode(reason),
            "{name} from {physical:?} {meaning:?}"
        );
    }
}

#[test]
fn pages_that_parts_do_not_have_are_encoded_anew() {
    for (changed, name, decision) in [
        (StoredColumn { codec: StoredCodec::None, ..number() }, "Int64", ColumnDecision::Splice),
        (StoredColumn { codec: StoredCodec::Snappy, ..number() }, "Int64", ColumnDecision::Splice),
        (StoredColumn { codec: StoredCodec::Lz4Raw, ..number() }, "Int64", ColumnDecision::Splice),
        (
            StoredColumn { codec: StoredCodec::Other, ..number() },
            "Int64",
            ColumnDecision::Reencode(ReencodeReason::Codec),
        ),
        (
            StoredColumn { has_pages_v2: true, ..number() },
            "Int64",
            ColumnDecision::Reencode(ReencodeReason::PageVersion),
        ),
        (
            StoredColumn { is_nested: true, ..number() },
            "Int64",
            ColumnDecision::Reencode(ReencodeReason::Nested),
        ),
        (StoredColumn { is_optional: true, ..number() }, "Int64", ColumnDecision::Splice),
        (StoredColumn { is_optional: true, nulls: Some(0), ..number() }, "Int64", ColumnDecision::Splice),
        (
            StoredColumn { is_optional: true, nulls: Some(1), ..number() },
            "Int64",
            ColumnDecision::Reencode(ReencodeReason::Nulls),
        ),
        (
            StoredColumn { is_optional: true, nulls: Some(1), ..number() },
            "Nullable(Int64)",
            ColumnDecision::Splice,
        ),
    ] {
        assert_eq!(column(name, &changed), decision, "{changed:?}");
    }
}

#[test]
fn row_groups_that_do_not_fit_go_to_the_sink() {
    let column_type = parsed("Int64");
    let decided = |rows: u64, stored: &StoredColumn, terms: AdoptionTerms| {
        let origin = ColumnOrigin::Stored(stored);
        decide(rows, &[WantedColumn { column_type: &column_type, origin }], terms)
    };
    let adopted = RowGroupDecision::Adopt(vec![ColumnDecision::Splice]);
    let large = StoredColumn { decoded_bytes: 513 * MIB, ..number() };
    let text = stored(StoredType::Bytes, StoredMeaning::Text);
    let in_debt = AdoptionTerms { unsorted_bytes: 1025 * MIB, ..terms() };
    let stopped = AdoptionTerms { merges_stopped: true, ..terms() };
    for (rows, stored, terms, expected) in [
        (1, number(), terms(), None),
        (MIB, number(), terms(), None),
        (MIB + 1, number(), terms(), Some(SinkReason::Rows)),
        (0, number(), terms(), Some(SinkReason::Empty)),
        (1, large, terms(), Some(SinkReason::DecodedBytes)),
        (1, text, terms(), Some(SinkReason::NothingFits)),
        (1, number(), AdoptionTerms { is_filtered: true, ..terms() }, Some(SinkReason::Filter)),
        (1, number(), AdoptionTerms { unsorted_bytes: 1024 * MIB, ..terms() }, None),
        (1, number(), in_debt, Some(SinkReason::Debt)),
        (1, number(), AdoptionTerms { is_sorted: false, ..in_debt }, None),
        (1, number(), stopped, Some(SinkReason::MergesStopped)),
        (1, number(), AdoptionTerms { is_sorted: false, ..stopped }, None),
    ] {
        let expected = expected.map_or(adopted.clone(), RowGroupDecision::Sink);
        assert_eq!(decided(rows, &stored, terms), expected, "{rows} rows, {stored:?}, {terms:?}");
    }
}

#[test]
fn one_column_that_fits_is_enough() {
    let (number_type, text_type) = (parsed("Int64"), parsed("String"));
    let stored = number();
    let wanted = [
        WantedColumn { column_type: &number_type, origin: ColumnOrigin::Stored(&stored) },
        WantedColumn { column_type: &text_type, origin: ColumnOrigin::Computed },
        WantedColumn { column_type: &text_type, origin: ColumnOrigin::Missing },
    ];
    let decisions = vec![
        ColumnDecision::Splice,
        ColumnDecision::Reencode(ReencodeReason::Computed),
        ColumnDecision::Reencode(ReencodeReason::Missing),
    ];
    assert_eq!(decide(10, &wanted, terms()), RowGroupDecision::Adopt(decisions));
}

#[test]
fn values_that_were_found_may_refuse() {
    let nothing =
        FoundValues { nulls: 0, least: None, greatest: None, has_raw_bytes: false, largest_page_bytes: 1 };
    let refused = |name: &str, found: FoundValues<'_>| match confirm(&parsed(name), found) {
        ColumnDecision::Splice => None,
        ColumnDecision::Reencode(reason) => Some(reason),
    };
    assert_eq!(refused("Int64", nothing), None);
    assert_eq!(refused("Int64", FoundValues { nulls: 1, ..nothing }), Some(ReencodeReason::Nulls));
    assert_eq!(refused("Nullable(Int64)", FoundValues { nulls: 1, ..nothing }), None);
    let raw = FoundValues { has_raw_bytes: true, ..nothing };
    assert_eq!(refused("String", raw), Some(ReencodeReason::Bytes));
    let paged = |bytes| FoundValues { largest_page_bytes: bytes, ..nothing };
    assert_eq!(refused("Int64", paged(8 * MIB)), None);
    assert_eq!(refused("Int64", paged(8 * MIB + 1)), Some(ReencodeReason::PageBytes));
    for (name, value, fits) in [
        ("Date", Value::Int(0), true),
        ("Date", Value::Int(-1), false),
        ("Date", Value::Int(65_535), true),
        ("Date", Value::Int(65_536), false),
        ("Nullable(Date32)", Value::Int(-25_567), true),
        ("Nullable(Date32)", Value::Int(-25_568), false),
        ("Date32", Value::Int(120_529), true),
        ("Date32", Value::Int(120_530), false),
        ("DateTime64(3)", Value::Int(-2_208_988_800_000), true),
        ("DateTime64(3)", Value::Int(-2_208_988_800_001), false),
        ("DateTime64(3)", Value::Int(10_413_791_999_999), true),
        ("DateTime64(3)", Value::Int(10_413_792_000_000), false),
        ("Decimal(3, 1)", Value::Decimal(-999), true),
        ("Decimal(3, 1)", Value::Decimal(1000), false),
        ("Int64", Value::Int(i64::MIN), true),
    ] {
        let expected = (!fits).then_some(ReencodeReason::Range);
        assert_eq!(
            refused(name, FoundValues { least: Some(&value), ..nothing }),
            expected,
            "{name} {value:?}"
        );
        assert_eq!(
            refused(name, FoundValues { greatest: Some(&value), ..nothing }),
            expected,
            "{name} {value:?}"
        );
    }
}

#[test]
fn keys_that_were_found_decide_the_part() {
    let keys = |in_order: bool, partitions: usize| FoundKeys { in_order, partitions };
    let in_debt = AdoptionTerms { unsorted_bytes: u64::MAX, ..terms() };
    let any_order = AdoptionTerms { is_sorted: false, ..in_debt };
    let ordered_only = AdoptionTerms { takes_unsorted: false, ..terms() };
    for (keys, terms, expected) in [
        (keys(true, 1), terms(), Ok(AdoptedAs::Sorted)),
        (keys(false, 1), terms(), Ok(AdoptedAs::Unsorted)),
        (keys(true, 2), terms(), Err(SinkReason::Partitions)),
        (keys(true, 1), in_debt, Ok(AdoptedAs::Sorted)),
        (keys(false, 1), in_debt, Err(SinkReason::Debt)),
        (keys(false, 1), any_order, Ok(AdoptedAs::Sorted)),
        (keys(true, 1), ordered_only, Ok(AdoptedAs::Sorted)),
        (keys(false, 1), ordered_only, Err(SinkReason::Order)),
    ] {
        assert_eq!(settle(keys, terms), expected, "{keys:?} {terms:?}");
    }
}

#[test]
fn every_reason_has_a_text_of_its_own() {
    use ReencodeReason::*;
    let columns = [
        Computed,
        Missing,
        Nested,
        Type,
        TimeUnit,
        Enum,
        FixedString,
        Codec,
        PageVersion,
        PageBytes,
        Pages,
        Nulls,
        Range,
        Bytes,
    ];
    let groups = [
        SinkReason::Filter,
        SinkReason::Order,
        SinkReason::Debt,
        SinkReason::MergesStopped,
        SinkReason::Empty,
        SinkReason::Rows,
        SinkReason::DecodedBytes,
        SinkReason::NothingFits,
        SinkReason::Partitions,
    ];
    let texts = columns.into_iter().map(ReencodeReason::text).chain(groups.into_iter().map(SinkReason::text));
    let mut texts: Vec<&str> = texts.collect();
    let count = texts.len();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), count);
}
