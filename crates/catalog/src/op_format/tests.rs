//! Round trips over generated ops, bytes of version 1 that must never change, and readers of what is not known yet.

use std::sync::Arc;

use model::{
    BlockRange, ColumnBounds, ColumnDef, ColumnId, ConstraintDef, ConstraintKind, DefaultKind,
    EngineArguments, ExportId, FileTail, KeptClause, LoadId, MergeMode, PartDescriptor, PartLocation,
    PartitionValue, SortOrder, StagedFile, StagedInput, StagedUnit, TableDef, TableEngine, Value,
};
use proptest::prelude::*;

use super::*;
use crate::collections::{Collection, CollectionValue};
use crate::generated::{export_object, inline_rows, part, sealed, stage_open, table_def};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn transaction(ops: Vec<Op>) -> Transaction {
    Transaction::new(TxnId::from_bytes([0x11; 16]), Seq(4), ops)
}

fn table_id() -> TableId {
    TableId::from_bytes([0x22; 16])
}

/// One of every op, with every field set somewhere.
fn every_op() -> Vec<Op> {
    let (table, database) = (table_id(), DatabaseId::from_bytes([0x33; 16]));
    let part_id = PartId::from_bytes([0x44; 16]);
    let mut def = table_def(table, "posts");
    def.columns[1].default = Some((DefaultKind::Materialized, "lower(`#0`)".into()));
    def.columns[1].comment = "a comment".into();
    def.columns[1].codec = Some("ZSTD(3)".into());
    def.settings.insert("index_granularity".into(), "8192".into());
    def.kept.push(KeptClause { keyword: "TTL".into(), text: "`#0` + 1".into() });
    def.comment = "all posts".into();
    let mut full = part(part_id, table, 202_008);
    full.location.owner_nodes = vec![0, 300];
    full.blocks = BlockRange { min: 1, max: 4 };
    (full.level, full.data_version, full.bucket) = (1, 5, 2);
    full.bounds.push(ColumnBounds {
        column: ColumnId(1),
        min: Some(Value::Text("a".into())),
        max: None,
        nulls: None,
    });
    vec![
        Op::CreateDatabase { id: database, name: "db".into() },
        Op::DropDatabase { id: database },
        Op::RenameDatabase { id: database, name: "db2".into() },
        Op::CreateTable(def.clone()),
        Op::DropTable { table },
        Op::RenameTable { table, database, name: "t2".into() },
        Op::ExchangeTables { first: table, second: TableId::from_bytes([0x55; 16]) },
        Op::TruncateTable { table },
        Op::AlterTable(def),
        sealed(full),
        Op::RemovePart { table, part: part_id },
        inline_rows(table, 3),
        Op::Flushed { table, up_to: Seq(700) },
        Op::ForgetParts { table, parts: vec![part_id, PartId::from_bytes([0x66; 16])] },
        Op::Label { database, label: Label::new("load-1").unwrap(), fingerprint: u128::MAX - 5, rows: 0 },
    ]
}

/// As [`every_op`], of what version 2 added.
fn every_op_of_version_2() -> Vec<Op> {
    let (table, database, load) =
        (table_id(), DatabaseId::from_bytes([0x33; 16]), LoadId::from_bytes([0x77; 16]));
    let label = Label::new("load-1").unwrap();
    let parts =
        [0x44, 0x45].map(|id| SealedPart::attest_durable(part(PartId::from_bytes([id; 16]), table, 3)));
    vec![
        Op::Label { database, label: label.clone(), fingerprint: 3, rows: 1_000_000 },
        Op::DedupToken { table, token: 1 << 90, fingerprint: 5, rows: 300 },
        stage_open(load, table, label, 4),
        Op::StageAdd { load, units: vec![0, 300], parts: parts.to_vec(), rows: 20 },
        Op::StagePublish { load },
        Op::StageAbort { load },
    ]
}

/// As [`every_op`], of what version 3 added.
fn every_op_of_version_3() -> Vec<Op> {
    let value = |text: &str, overridable| CollectionValue { text: text.into(), overridable };
    let entries: Collection = [
        ("url".into(), value("http://host/bucket/", None)),
        ("access_key_id".into(), value("AKIA", Some(true))),
        ("secret_access_key".into(), value("", Some(false))),
    ]
    .into();
    let mut outside = table_def(table_id(), "outside");
    (outside.engine, outside.order_by, outside.primary_key_len) = (TableEngine::Gcs, Vec::new(), 0);
    outside.engine_arguments = EngineArguments::new("'http://host/bucket/x', 'AKIA', 'it\\'s', CSV");
    let export = ExportId::from_bytes([0x88; 16]);
    let objects = vec![export_object(true), export_object(false)];
    vec![
        Op::CreateCollection { name: "mine".into(), entries: entries.clone() },
        Op::AlterCollection { name: "mine".into(), set: entries, deleted: vec!["a".into(), "b".into()] },
        Op::DropCollection { name: "mine".into() },
        Op::CreateTable(outside.clone()),
        Op::AlterTable(outside),
        Op::ExportOpen { export, query_id: "q1".into(), objects: objects.clone() },
        Op::ExportCommit { export, objects, rows: 300 },
        Op::ExportEnd { export },
    ]
}

/// As [`every_op`], of what version 4 added.
fn every_op_of_version_4() -> Vec<Op> {
    let mut view = table_def(table_id(), "view");
    (view.engine, view.order_by, view.primary_key_len) = (TableEngine::View, Vec::new(), 0);
    view.engine_arguments = EngineArguments::new("SELECT `a` FROM db.t");
    vec![Op::CreateTable(view.clone()), Op::AlterTable(view)]
}

/// As [`every_op`], of what version 5 added.
fn every_op_of_version_5() -> Vec<Op> {
    let tail = Some(FileTail { begin: 123_456, checksum: u64::MAX - 7 });
    let plain = part(PartId::from_bytes([0x44; 16]), table_id(), 3);
    let sealed = SealedPart::attest_durable(PartDescriptor { tail, ..plain });
    let load = LoadId::from_bytes([0x77; 16]);
    vec![
        Op::AddPart(sealed.clone()),
        Op::StageAdd { load, units: vec![0, 300], parts: vec![sealed], rows: 20 },
    ]
}

/// As [`every_op`], of what version 6 added.
fn every_op_of_version_6() -> Vec<Op> {
    let constraint = |name: &str, kind, expression: &str| ConstraintDef {
        name: name.into(),
        kind,
        expression: expression.into(),
    };
    let mut def = table_def(table_id(), "checked");
    def.constraints = vec![
        constraint("c", ConstraintKind::Check, "`#0` < 5"),
        constraint("a", ConstraintKind::Assume, "`#1` = 'x'"),
    ];
    vec![Op::CreateTable(def.clone()), Op::AlterTable(def)]
}

/// As [`every_op`], of what version 7 added.
fn every_op_of_version_7() -> Vec<Op> {
    let table = table_id();
    let log = |engine| {
        let mut def = table_def(table, "log");
        (def.engine, def.partition_by, def.order_by, def.primary_key_len) =
            (engine, Vec::new(), Vec::new(), 0);
        Op::CreateTable(def)
    };
    vec![
        log(TableEngine::Log),
        log(TableEngine::TinyLog),
        log(TableEngine::StripeLog),
        log(TableEngine::Merge),
        log(TableEngine::Buffer),
        log(TableEngine::Set),
        Op::DetachTable { table, is_permanent: false },
        Op::DetachTable { table, is_permanent: true },
        Op::AttachTable { table },
        Op::CreateFunction { name: "f".into(), lambda: "(x, y) -> x + y".into() },
        Op::DropFunction { name: "f".into() },
    ]
}

/// Every mode, with and without what it may have.
fn modes() -> Vec<MergeMode> {
    let (first, second) = (ColumnId(0), ColumnId(300));
    vec![
        MergeMode::Plain,
        MergeMode::Replacing { version: None, is_deleted: None },
        MergeMode::Replacing { version: Some(first), is_deleted: None },
        MergeMode::Replacing { version: Some(second), is_deleted: Some(first) },
        MergeMode::Summing { columns: Vec::new() },
        MergeMode::Summing { columns: vec![second, first] },
        MergeMode::Collapsing { sign: first },
        MergeMode::VersionedCollapsing { sign: second, version: first },
    ]
}

/// As [`every_op`], of what version 8 added.
fn every_op_of_version_8() -> Vec<Op> {
    let of = |mode| Op::CreateTable(TableDef { mode, ..table_def(table_id(), "merged") });
    let view = TableDef { engine: TableEngine::MaterializedView, ..table_def(table_id(), "view") };
    modes().into_iter().skip(1).map(of).chain([Op::CreateTable(view)]).collect()
}

/// As [`every_op`], of what version 9 added.
fn every_op_of_version_9() -> Vec<Op> {
    let aggregating = TableDef { mode: MergeMode::Aggregating, ..table_def(table_id(), "states") };
    let columns = vec![ColumnId(2)];
    let coalescing =
        TableDef { mode: MergeMode::Coalescing { columns }, ..table_def(table_id(), "coalescing") };
    let mut combined = table_def(table_id(), "combined");
    combined.columns[0].combined_by = Some("groupArrayLastArray(3)".into());
    combined.columns[1].column_type =
        model::type_name::parse("AggregateFunction(quantiles(0.5, 0.9), Nullable(UInt64))").unwrap();
    [aggregating, coalescing, combined].map(Op::CreateTable).to_vec()
}

/// As [`every_op`], of what versions 10 and 11 added.
fn every_op_of_version_11() -> Vec<Op> {
    let mut memory = table_def(table_id(), "memory");
    (memory.engine, memory.order_by, memory.primary_key_len) = (TableEngine::SharedMemory, Vec::new(), 0);
    vec![Op::CreateTable(memory), Op::PartsSwept { before_ms: 1_700_000_000_123 }]
}

#[test]
fn bytes_of_version_11_do_not_change() {
    for (op, expected) in every_op_of_version_11().into_iter().zip(include_str!("version_11.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_11.hex").lines().count(), every_op_of_version_11().len());
}

/// As [`every_op`], of what version 12 added.
fn every_op_of_version_12() -> Vec<Op> {
    vec![Op::StageOpen {
        load: LoadId::from_bytes([5; 16]),
        database: DatabaseId::from_bytes([2; 16]),
        label: Label::hidden(0xfeed, LoadId::from_bytes([5; 16])),
        table: table_id(),
        fingerprint: 9,
        schema_version: 1,
        statement: "INSERT".into(),
        files: Vec::new(),
        units: Vec::new(),
        input: None,
        is_sealed: true,
    }]
}

#[test]
fn bytes_of_version_12_do_not_change() {
    for (op, expected) in every_op_of_version_12().into_iter().zip(include_str!("version_12.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_12.hex").lines().count(), every_op_of_version_12().len() + 1);
}

#[test]
fn bytes_of_listed_rows_do_not_change() {
    let expected = include_str!("version_12.hex").lines().last().unwrap();
    let ids = vec![TxnId::from_random_bytes([1; 16]), TxnId::from_random_bytes([2; 16])];
    let listing = Transaction { listed: ids.clone(), ..transaction(vec![inline_rows(table_id(), 3)]) };
    let bytes = encode_transaction(&listing, 1_700_000_000_123);
    assert_eq!(hex(&bytes), expected);
    assert_eq!(decode_transaction(&bytes).unwrap().listed, ids);
}

#[test]
fn bytes_of_version_9_do_not_change() {
    for (op, expected) in every_op_of_version_9().into_iter().zip(include_str!("version_9.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_9.hex").lines().count(), every_op_of_version_9().len());
}

#[test]
fn bytes_of_version_8_do_not_change() {
    for (op, expected) in every_op_of_version_8().into_iter().zip(include_str!("version_8.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_8.hex").lines().count(), every_op_of_version_8().len());
}

#[test]
fn bytes_of_version_7_do_not_change() {
    for (op, expected) in every_op_of_version_7().into_iter().zip(include_str!("version_7.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_7.hex").lines().count(), every_op_of_version_7().len());
}

#[test]
fn bytes_of_version_6_do_not_change() {
    for (op, expected) in every_op_of_version_6().into_iter().zip(include_str!("version_6.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_6.hex").lines().count(), every_op_of_version_6().len());
}

#[test]
fn bytes_of_version_5_do_not_change() {
    for (op, expected) in every_op_of_version_5().into_iter().zip(include_str!("version_5.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
        assert_eq!(bytes[0], 5);
    }
    assert_eq!(include_str!("version_5.hex").lines().count(), every_op_of_version_5().len());
}

#[test]
fn bytes_of_version_4_do_not_change() {
    for (op, expected) in every_op_of_version_4().into_iter().zip(include_str!("version_4.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_4.hex").lines().count(), every_op_of_version_4().len());
}

#[test]
fn bytes_of_version_3_do_not_change() {
    for (op, expected) in every_op_of_version_3().into_iter().zip(include_str!("version_3.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_3.hex").lines().count(), every_op_of_version_3().len());
}

#[test]
fn bytes_of_version_1_do_not_change() {
    for (op, expected) in every_op().into_iter().zip(include_str!("version_1.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
    }
    assert_eq!(include_str!("version_1.hex").lines().count(), every_op().len());
}

#[test]
fn bytes_of_version_2_do_not_change() {
    for (op, expected) in every_op_of_version_2().into_iter().zip(include_str!("version_2.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_2.hex").lines().count(), every_op_of_version_2().len());
}

#[test]
fn a_label_written_before_it_had_rows_is_read() {
    let old: Vec<u8> =
        [&[0x0f, 0x2a, 0x0a][..], &[0x33; 16], &[0x11, 0x06], b"load-1", &[0x1a, 0xfa], &[0xff; 15]].concat();
    let bytes = [&encode_transaction(&transaction(Vec::new()), 0)[..], &old].concat();
    assert_eq!(decode_transaction(&bytes).unwrap().ops, every_op()[14..]);
}

#[test]
fn only_what_is_new_asks_for_a_new_reader() {
    let needs = |ops: Vec<Op>| encode_transaction(&transaction(ops), 0)[0];
    assert!(every_op().into_iter().all(|op| needs(vec![op]) == 1));
    let new: Vec<u8> = every_op_of_version_2().into_iter().map(|op| needs(vec![op])).collect();
    assert_eq!(new, [1, 2, 2, 2, 2, 2]);
    assert_eq!(needs([every_op(), every_op_of_version_2()].concat()), 2);
    assert!(every_op_of_version_3().into_iter().all(|op| needs(vec![op]) == 3));
    assert!(every_op_of_version_5().into_iter().all(|op| needs(vec![op]) == 5));
    assert!(every_op_of_version_6().into_iter().all(|op| needs(vec![op]) == 6));
    assert!(every_op_of_version_7().into_iter().all(|op| needs(vec![op]) == 7));
    assert!(every_op_of_version_8().into_iter().all(|op| needs(vec![op]) == 8));
    assert!(every_op_of_version_9().into_iter().all(|op| needs(vec![op]) == 9));
}

#[test]
fn every_op_is_read_back() {
    let older = [every_op(), every_op_of_version_2(), every_op_of_version_3()].concat();
    let newer = [every_op_of_version_5(), every_op_of_version_6(), every_op_of_version_7()].concat();
    let ops =
        [older, every_op_of_version_4(), newer, every_op_of_version_8(), every_op_of_version_9()].concat();
    let read = decode_transaction(&encode_transaction(&transaction(ops.clone()), 77)).unwrap();
    assert_eq!(read.ops, ops);
    assert_eq!((read.id, read.at_ms), (TxnId::from_bytes([0x11; 16]), 77));
}

/// As [`every_op`], of what version 13 added.
fn every_op_of_version_13() -> Vec<Op> {
    let load = LoadId::from_bytes([0x77; 16]);
    let mut unsealed = stage_open(load, table_id(), Label::new("load-1").unwrap(), 1);
    if let Op::StageOpen { is_sealed, .. } = &mut unsealed {
        *is_sealed = false;
    }
    let range = |start, end| StagedUnit {
        file: 1,
        row_groups: None,
        range: Some(start..end),
        bytes: end - start,
        rows: None,
    };
    let units = vec![range(0, 300), range(300, 1 << 40)];
    vec![unsealed, Op::StageUnits { load, units }, Op::StageSeal { load }]
}

#[test]
fn bytes_of_version_13_do_not_change() {
    for (op, expected) in every_op_of_version_13().into_iter().zip(include_str!("version_13.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_13.hex").lines().count(), every_op_of_version_13().len());
}

/// As [`every_op`], of what version 14 added.
fn every_op_of_version_14() -> Vec<Op> {
    vec![Op::ForgetTokens { table: table_id() }]
}

#[test]
fn bytes_of_version_14_do_not_change() {
    for (op, expected) in every_op_of_version_14().into_iter().zip(include_str!("version_14.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_14.hex").lines().count(), every_op_of_version_14().len());
}

/// As [`every_op`], of what version 15 added.
fn every_op_of_version_15() -> Vec<Op> {
    let mut joined = table_def(table_id(), "log");
    (joined.engine, joined.partition_by, joined.order_by) = (TableEngine::Join, Vec::new(), Vec::new());
    (joined.primary_key_len, joined.engine_arguments) = (0, EngineArguments::new("ANY, LEFT, a"));
    let parts = [0x44, 0x45].map(|id| PartId::from_bytes([id; 16])).into();
    vec![Op::CreateTable(joined), Op::AlterTable(table_def(table_id(), "t").with_detached_parts(&parts))]
}

#[test]
fn bytes_of_version_15_do_not_change() {
    for (op, expected) in every_op_of_version_15().into_iter().zip(include_str!("version_15.hex").lines()) {
        let bytes = encode_transaction(&transaction(vec![op.clone()]), 1_700_000_000_123);
        assert_eq!(hex(&bytes), expected, "{op:?}");
        assert_eq!(decode_transaction(&bytes).unwrap().ops, [op]);
    }
    assert_eq!(include_str!("version_15.hex").lines().count(), every_op_of_version_15().len());
}

#[test]
fn a_single_row_costs_few_bytes_beyond_its_payload() {
    let payload = 20;
    let bytes = encode_transaction(&transaction(vec![inline_rows(table_id(), 1)]), 1_700_000_000_123);
    // Two ids of sixteen bytes; the rest is versions, kinds, lengths and keys.
    assert_eq!(bytes.len() - payload, 32 + 12);
}

#[test]
fn unknown_kinds_are_refused_by_name_and_version() {
    let mut bytes = encode_transaction(&transaction(vec![]), 0).to_vec();
    bytes[0] = 16;
    let with_kind = |kind: u8| [bytes.as_slice(), &[kind, 1, 0]].concat();
    assert_eq!(
        decode_transaction(&with_kind(20)).unwrap_err().to_string(),
        "op of kind 20 (MirrorAt) is not known to format version 15; version 16 is needed"
    );
    assert_eq!(
        decode_transaction(&with_kind(99)).unwrap_err().to_string(),
        "op of kind 99 (unnamed) is not known to format version 15; version 16 is needed"
    );
    assert_eq!(
        decode_transaction(&bytes).unwrap_err().to_string(),
        "transaction needs format version 16, and this program reads up to version 15"
    );
}

#[test]
fn unknown_optional_fields_are_skipped_and_critical_ones_refused() {
    let drop_table = |extra: &dyn Fn(&mut FieldWriter)| {
        let mut fields = FieldWriter::default();
        fields.id(1, &[0x22; 16]);
        extra(&mut fields);
        decode_op(kind::DROP_TABLE, &fields.into_bytes(), VERSION)
    };
    let expected = Ok(Op::DropTable { table: table_id() });
    assert_eq!(drop_table(&|fields| fields.bytes(900, b"later")), expected);
    assert_eq!(drop_table(&|fields| fields.uint(17, 5)), expected);
    assert_eq!(drop_table(&|fields| fields.fixed64(18, 5)), expected);
    let refused = drop_table(&|fields| fields.uint_critical(19, 1));
    assert_eq!(refused, Err(FormatError::UnknownField { what: "op of a table", number: 19, known: VERSION }));
}

#[test]
fn cut_bytes_are_errors() {
    let bytes = encode_transaction(&transaction(every_op()), 9);
    for end in 0..bytes.len() {
        // A cut between two ops reads as fewer ops: lengths are the record's business.
        if let Ok(read) = decode_transaction(&bytes[..end]) {
            assert!(read.ops.len() < every_op().len());
        }
    }
}

fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![Just(Arc::from("")), "[a-zéß`'\" ]{1,12}".prop_map(Arc::from)]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<u64>().prop_map(Value::UInt),
        (-1e300..1e300f64).prop_map(Value::Float),
        any::<i128>().prop_map(Value::Decimal),
        text().prop_map(Value::Text),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Value::Bytes(bytes.into())),
    ]
}

fn bounds() -> impl Strategy<Value = ColumnBounds> {
    (any::<u32>(), prop::option::of(value()), prop::option::of(value()), any::<Option<u64>>())
        .prop_map(|(column, min, max, nulls)| ColumnBounds { column: ColumnId(column), min, max, nulls })
}

fn descriptor() -> impl Strategy<Value = PartDescriptor> {
    let ids = (any::<[u8; 16]>(), any::<[u8; 16]>(), any::<Option<[u8; 16]>>());
    let place = (any::<u16>(), text(), prop::collection::vec(any::<u32>(), 0..3));
    let columns = (prop::collection::vec(bounds(), 0..3), prop::collection::vec(any::<u32>(), 0..3));
    let partition = (prop::collection::vec(value(), 0..3), text());
    let numbers = any::<(u32, u32, u64, u64, u64, u32, u64, Option<u32>)>();
    let sizes = any::<(u64, u64, u64, u16, u64, Option<(u64, u64)>)>();
    (ids, place, partition, numbers, sizes, columns).prop_map(
        |(ids, place, partition, numbers, sizes, columns)| PartDescriptor {
            id: PartId::from_bytes(ids.0),
            table: TableId::from_bytes(ids.1),
            load: ids.2.map(LoadId::from_bytes),
            location: PartLocation { store: place.0, key: place.1, owner_nodes: place.2 },
            partition: PartitionValue::from_stored(partition.0, partition.1),
            schema_version: numbers.0,
            bucket: numbers.1,
            checksum: numbers.2,
            tail: sizes.5.map(|(begin, checksum)| FileTail { begin, checksum }),
            blocks: BlockRange { min: numbers.3, max: numbers.4 },
            level: numbers.5,
            data_version: numbers.6,
            sort_order: numbers.7.map_or(SortOrder::None, |version| SortOrder::Key { version }),
            rows: sizes.0,
            bytes: sizes.1,
            bytes_uncompressed: sizes.2,
            format: sizes.3,
            created_ms: sizes.4,
            adopted: columns.1.into_iter().map(ColumnId).collect(),
            bounds: columns.0,
        },
    )
}

fn column() -> impl Strategy<Value = ColumnDef> {
    let types = [
        "UInt8",
        "LowCardinality(Nullable(String))",
        "Enum8('a' = -1, 'it\\'s' = 3)",
        "DateTime64(3, 'UTC')",
        "Map(String, Array(Decimal(38, 9)))",
        "Tuple(x Int8, y FixedString(3))",
    ];
    let kinds = [DefaultKind::Default, DefaultKind::Materialized, DefaultKind::Alias, DefaultKind::Ephemeral];
    let default = prop::option::of((prop::sample::select(kinds.to_vec()), text()));
    let all = (
        any::<u32>(),
        text(),
        prop::sample::select(types.to_vec()),
        default,
        text(),
        prop::option::of(text()),
    );
    all.prop_map(|(id, name, column_type, default, comment, codec)| ColumnDef {
        id: ColumnId(id),
        name,
        column_type: model::type_name::parse(column_type).unwrap(),
        default,
        comment,
        codec,
        combined_by: None,
    })
}

fn definition() -> impl Strategy<Value = TableDef> {
    let texts = || prop::collection::vec(text(), 0..3);
    let engines = [TableEngine::MergeTree, TableEngine::Memory, TableEngine::Null, TableEngine::Url];
    let names = (any::<[u8; 16]>(), any::<[u8; 16]>(), text(), text(), text());
    let keys = (texts(), texts(), prop::collection::vec((text(), text()), 0..3));
    let kept = prop::collection::vec((text(), text()), 0..2);
    let kinds = prop::sample::select(vec![ConstraintKind::Check, ConstraintKind::Assume]);
    let constraint = (text(), kinds, text());
    let constraint = constraint.prop_map(|(name, kind, expression)| ConstraintDef { name, kind, expression });
    let constraints = prop::collection::vec(constraint, 0..3);
    let columns = prop::collection::vec(column(), 0..4);
    let kept = (kept, constraints);
    (names, keys, kept, columns, any::<[u32; 4]>(), prop::sample::select(engines.to_vec())).prop_map(
        |(names, keys, kept, columns, numbers, engine)| TableDef {
            id: TableId::from_bytes(names.0),
            database: DatabaseId::from_bytes(names.1),
            name: names.2,
            comment: names.3,
            engine,
            engine_arguments: EngineArguments::new(&names.4),
            mode: modes().swap_remove(usize::try_from(numbers[0]).unwrap() % modes().len()),
            schema_version: numbers[0],
            next_column_id: numbers[1],
            sort_key_version: numbers[2],
            primary_key_len: numbers[3],
            columns,
            partition_by: keys.0,
            order_by: keys.1,
            settings: keys.2.into_iter().collect(),
            constraints: kept.1,
            kept: kept.0.into_iter().map(|(keyword, text)| KeptClause { keyword, text }).collect(),
        },
    )
}

type UnitParts = (u32, Option<Vec<u32>>, u64, Option<u64>, Option<(u64, u64)>);

fn staged_unit((file, row_groups, bytes, rows, range): UnitParts) -> StagedUnit {
    StagedUnit { file, row_groups, range: range.map(|(start, end)| start..end), bytes, rows }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn parts_are_read_back(descriptor in descriptor()) {
        let bytes = encode_transaction(&transaction(vec![sealed(descriptor.clone())]), 0);
        prop_assert_eq!(decode_transaction(&bytes).unwrap().ops, vec![sealed(descriptor)]);
    }

    #[test]
    fn definitions_are_read_back(def in definition()) {
        let ops = vec![Op::CreateTable(def.clone()), Op::AlterTable(def)];
        let bytes = encode_transaction(&transaction(ops.clone()), 5);
        prop_assert_eq!(decode_transaction(&bytes).unwrap().ops, ops);
    }

    #[test]
    fn loads_are_read_back(
        files in prop::collection::vec((text(), any::<u64>(), prop::option::of(text())), 0..4),
        units in prop::collection::vec(
            (
                any::<u32>(),
                prop::option::of(prop::collection::vec(any::<u32>(), 0..4)),
                any::<u64>(),
                any::<Option<u64>>(),
                any::<Option<(u64, u64)>>(),
            ),
            0..6,
        ),
        numbers in any::<(u128, u32, u64)>(),
        statement in text(),
        input in prop::option::of((text(), prop::collection::vec((text(), text()), 0..3), prop::option::of(text()))),
        part in descriptor(),
    ) {
        let input = input.map(|(format, pairs, token)| {
            Arc::new(StagedInput {
                current_database: Arc::clone(&format),
                format,
                columns: pairs.clone(),
                token,
                settings: pairs,
            })
        });
        let load = LoadId::from_bytes([7; 16]);
        let numbered = units.iter().map(|unit| unit.0).collect();
        let opened = Op::StageOpen {
            load,
            database: DatabaseId::from_bytes([8; 16]),
            label: Label::new("l").unwrap(),
            table: table_id(),
            fingerprint: numbers.0,
            schema_version: numbers.1,
            statement,
            files: files.into_iter().map(|(path, bytes, version)| StagedFile { path, bytes, version }).collect(),
            units: units
                .into_iter()
                .map(staged_unit)
                .collect(),
            input,
            is_sealed: numbers.2 % 2 == 0,
        };
        let parts = vec![SealedPart::attest_durable(part)];
        let Op::StageOpen { units: more, .. } = opened.clone() else { unreachable!() };
        let more = Op::StageUnits { load, units: more };
        let add = Op::StageAdd { load, units: numbered, parts, rows: numbers.2 };
        let ops = vec![opened, more, Op::StageSeal { load }, add];
        let bytes = encode_transaction(&transaction(ops.clone()), 5);
        prop_assert_eq!(decode_transaction(&bytes).unwrap().ops, ops);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_transaction(&bytes);
        let _ = read_part(FieldReader::new("part", &bytes));
        let _ = read_table(FieldReader::new("table", &bytes));
        let _ = stage_fields::read_open(&bytes);
        let _ = stage_fields::read_add(&bytes);
        let _ = stage_fields::read_units(&bytes);
        let _ = read_collection(FieldReader::new("collection", &bytes));
    }

    #[test]
    fn numbers_are_read_back(number in any::<u64>()) {
        let mut out = Vec::new();
        put_varint(&mut out, number);
        let mut reader = FieldReader::new("number", &out);
        prop_assert_eq!(reader.varint().unwrap(), number);
        prop_assert!(reader.is_empty());
    }
}
