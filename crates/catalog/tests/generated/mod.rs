//! Generated definitions, parts, ops and whole histories for this crate's tests, which need words that are private: a
//! module of the crate when it is built for them.
//!
//! Invariant: the same seed gives the same history on the same states. Must not know: disks.

use std::sync::Arc;

use bytes::Bytes;
use model::{
    BlockRange, ColumnBounds, ColumnDef, ColumnId, ColumnType, DatabaseId, ExportCredentials, ExportId,
    ExportObject, ExportStore, Label, LoadId, PartDescriptor, PartId, PartLocation, PartitionValue,
    SealedPart, Seq, SortOrder, StagedFile, StagedInput, StagedUnit, TableDef, TableEngine, TableId, TxnId,
    Value, mix64,
};

use crate::collections::{Collection, CollectionValue};
use crate::loads::StagedLoad;
use crate::op::{Op, Transaction};
use crate::state::{State, default_database_id};
use crate::table_state::TableState;

/// A small deterministic generator.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        mix64::next(&mut self.0)
    }

    /// Less than `below`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.next() % below
    }

    pub(crate) fn id(&mut self) -> [u8; 16] {
        (u128::from(self.next()) << 64 | u128::from(self.next())).to_le_bytes()
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let count = u64::try_from(from.len()).ok().filter(|count| *count > 0)?;
        from.get(usize::try_from(self.below(count)).ok()?).cloned()
    }
}

pub(crate) fn column(id: u32, name: &str, column_type: ColumnType) -> ColumnDef {
    ColumnDef {
        id: ColumnId(id),
        name: name.into(),
        column_type,
        default: None,
        comment: "".into(),
        codec: None,
        combined_by: None,
    }
}

/// A MergeTree table of two columns in `default`.
pub(crate) fn table_def(id: TableId, name: &str) -> TableDef {
    TableDef {
        id,
        database: default_database_id(),
        name: name.into(),
        engine: TableEngine::MergeTree,
        engine_arguments: model::EngineArguments::default(),
        mode: model::MergeMode::Plain,
        schema_version: 1,
        columns: vec![column(0, "a", ColumnType::UInt64), column(1, "b", ColumnType::String.nullable())],
        next_column_id: 2,
        partition_by: vec!["`#0`".into()],
        order_by: vec!["`#0`".into()],
        sort_key_version: 0,
        primary_key_len: 1,
        settings: model::TableSettings::new(),
        kept: Vec::new(),
        constraints: Vec::new(),
        comment: "".into(),
    }
}

/// A part of 10 rows in the partition of one number.
pub(crate) fn part(id: PartId, table: TableId, partition: u64) -> PartDescriptor {
    let name: Arc<str> = partition.to_string().into();
    PartDescriptor {
        id,
        table,
        schema_version: 1,
        partition: PartitionValue::from_stored(vec![Value::UInt(partition)], name),
        bucket: 0,
        location: PartLocation {
            store: 0,
            key: format!("data/{table}/{id}.parquet").into(),
            owner_nodes: Vec::new(),
        },
        checksum: 0x0123_4567_89ab_cdef,
        tail: None,
        blocks: BlockRange::default(),
        level: 0,
        data_version: 0,
        sort_order: SortOrder::Key { version: 0 },
        adopted: Vec::new(),
        bounds: vec![ColumnBounds {
            column: ColumnId(0),
            min: Some(Value::UInt(partition)),
            max: Some(Value::UInt(partition + 9)),
            nulls: Some(0),
        }],
        rows: 10,
        bytes: 1000,
        bytes_uncompressed: 3000,
        format: 1,
        load: Some(LoadId::from_bytes([9; 16])),
        created_ms: 1_700_000_000_000,
    }
}

pub(crate) fn sealed(descriptor: PartDescriptor) -> Op {
    Op::AddPart(SealedPart::attest_durable(descriptor))
}

pub(crate) fn inline_rows(table: TableId, rows: u64) -> Op {
    Op::InlineRows { table, schema_version: 1, rows, bytes: Bytes::from(vec![b'r'; 20]) }
}

/// The next transaction of a random history over `state`. Most are admitted; some are refused, as in life.
pub(crate) fn next_transaction(dice: &mut Dice, state: &State) -> Transaction {
    let tables: Vec<Arc<TableState>> = state.all_tables().cloned().collect();
    let ops = match dice.pick(&tables) {
        Some(table) if dice.below(10) < 8 => table_ops(dice, state, &table),
        table => definition_ops(dice, state, table.as_deref(), &tables),
    };
    Transaction::new(TxnId::from_bytes(dice.id()), state.seq(), ops)
}

fn table_ops(dice: &mut Dice, state: &State, table: &TableState) -> Vec<Op> {
    let id = table.def.id;
    let version = table.def.schema_version;
    match dice.below(18) {
        0..=3 => {
            let rows = 1 + dice.below(5);
            let bytes = Bytes::from(vec![7; usize::try_from(dice.below(60)).unwrap_or(0)]);
            vec![Op::InlineRows { table: id, schema_version: version, rows, bytes }]
        }
        4..=6 => (0..=dice.below(3)).map(|_| new_part(dice, table)).collect(),
        7 | 8 => merge(dice, table),
        9 => flush(dice, table),
        10 => {
            let parts = table.removed().map(|removed| removed.descriptor.id).take(3).collect();
            vec![Op::ForgetParts { table: id, parts }]
        }
        11 => {
            let name = label(dice);
            vec![label_op(dice, table.def.database, name), new_part(dice, table)]
        }
        12 => {
            let (token, fingerprint) = (u128::from(dice.below(20)), u128::from(dice.next()));
            let op = Op::DedupToken { table: id, token, fingerprint, rows: dice.below(100) };
            vec![op, new_part(dice, table)]
        }
        _ => load_ops(dice, state, table),
    }
}

fn label(dice: &mut Dice) -> Label {
    Label::new(&format!("l{}", dice.below(20))).unwrap()
}

fn label_op(dice: &mut Dice, database: DatabaseId, label: Label) -> Op {
    Op::Label { database, label, fingerprint: u128::from(dice.next()), rows: dice.below(100) }
}

/// An open load goes on, is published or given up; without one a load is opened.
fn load_ops(dice: &mut Dice, state: &State, table: &TableState) -> Vec<Op> {
    let open: Vec<_> = state.loads().iter().filter(|load| load.table == table.def.id).cloned().collect();
    let Some(load) = dice.pick(&open) else {
        let label = label(dice);
        let mut opened = stage_open(LoadId::from_bytes(dice.id()), table.def.id, label, 2 + dice.below(3));
        if let (Op::StageOpen { units, is_sealed, .. }, 0) = (&mut opened, dice.below(2)) {
            units.clear();
            *is_sealed = false;
        }
        return vec![opened];
    };
    if !load.is_sealed && dice.below(2) == 0 {
        return cut_ops(dice, &load);
    }
    let left: Vec<u32> = (0..5).filter(|unit| !load.is_covered(*unit)).collect();
    match dice.below(8) {
        0 => vec![Op::StageAbort { load: load.id }],
        _ if load.is_complete() => {
            vec![Op::StagePublish { load: load.id }, label_op(dice, load.database, load.label.clone())]
        }
        _ => {
            let units: Vec<u32> = dice.pick(&left).into_iter().collect();
            let parts = [new_part(dice, table), new_part(dice, table)];
            let sealed = parts.into_iter().filter_map(|op| match op {
                Op::AddPart(part) => Some(part),
                _ => None,
            });
            vec![Op::StageAdd { load: load.id, units, parts: sealed.collect(), rows: 20 }]
        }
    }
}

/// More units, or the end of them.
fn cut_ops(dice: &mut Dice, load: &StagedLoad) -> Vec<Op> {
    let Some((file, rest)) = load.uncut().next() else { return vec![Op::StageSeal { load: load.id }] };
    let start = rest.start;
    let end = (start + 1 + dice.below(4000)).min(rest.end);
    let unit = StagedUnit { file, row_groups: None, range: Some(start..end), bytes: end - start, rows: None };
    vec![Op::StageUnits { load: load.id, units: vec![unit] }]
}

/// A load of `units` units of two files.
pub(crate) fn stage_open(load: LoadId, table: TableId, label: Label, units: u64) -> Op {
    let file = |name: &str, version: Option<&str>| StagedFile {
        path: name.into(),
        bytes: 5000,
        version: version.map(Arc::from),
    };
    let unit = |number: u64| StagedUnit {
        file: u32::try_from(number % 2).unwrap(),
        row_groups: (number > 0).then(|| vec![0, 300]),
        range: None,
        bytes: 2000 + number,
        rows: number.checked_sub(2),
    };
    let input = StagedInput {
        format: "Parquet".into(),
        columns: vec![("a".into(), "Array(String)".into()), ("b".into(), "Int8".into())],
        current_database: "default".into(),
        token: Some("".into()),
        settings: vec![("session_timezone".into(), "Asia/Tokyo".into())],
    };
    Op::StageOpen {
        load,
        database: default_database_id(),
        label,
        table,
        fingerprint: 77,
        schema_version: 1,
        statement: "INSERT INTO t SELECT * FROM file('*.parquet')".into(),
        files: vec![file("a.parquet", Some("etag")), file("b.parquet", None)],
        units: (0..units).map(unit).collect(),
        input: (units < 4).then(|| Arc::new(input)),
        is_sealed: true,
    }
}

/// An export that is opened, goes on, is committed or ends.
fn export_ops(dice: &mut Dice, state: &State) -> Vec<Op> {
    let open: Vec<_> = state.exports().iter().cloned().collect();
    let objects = vec![export_object(dice.below(2) > 0)];
    let query_id: Arc<str> = "q".into();
    let Some(export) = dice.pick(&open).map(|export| export.id) else {
        return vec![Op::ExportOpen { export: ExportId::from_bytes(dice.id()), query_id, objects }];
    };
    match dice.below(4) {
        0 => vec![Op::ExportOpen { export, query_id, objects }],
        1 | 2 => vec![Op::ExportCommit { export, objects, rows: dice.below(9) }],
        _ => vec![Op::ExportEnd { export }],
    }
}

/// An object of a bucket whose parts are there, or a file.
pub(crate) fn export_object(in_bucket: bool) -> ExportObject {
    let store = ExportStore {
        endpoint: "http://h".into(),
        bucket: "b".into(),
        virtual_host: true,
        region: Some("eu".into()),
        account: None,
        credentials: ExportCredentials::Statement,
    };
    let (key, upload) = if in_bucket { ("k.csv", "u-1") } else { ("/f/k.csv", "/f/.k.csv.tmp") };
    ExportObject {
        store: Arc::new(if in_bucket { store } else { ExportStore::files() }),
        key: key.into(),
        upload: upload.into(),
        parts: if in_bucket { vec!["e1".into(), "".into()] } else { Vec::new() },
        bytes: 12,
    }
}

fn new_part(dice: &mut Dice, table: &TableState) -> Op {
    let partition = dice.below(3);
    let fresh = part(PartId::from_bytes(dice.id()), table.def.id, partition);
    sealed(PartDescriptor { schema_version: table.def.schema_version, rows: 1 + dice.below(9), ..fresh })
}

/// Two or three neighbours of one partition become one part.
fn merge(dice: &mut Dice, table: &TableState) -> Vec<Op> {
    let groups: Vec<_> =
        table.partitions().map(|(_, group)| group.parts().cloned().collect::<Vec<_>>()).collect();
    let Some(parts) = dice.pick(&groups) else { return vec![inline_rows(table.def.id, 1)] };
    let start = usize::try_from(dice.below(u64::try_from(parts.len()).unwrap_or(1))).unwrap_or(0);
    let inputs = &parts[start..parts.len().min(start + 3)];
    let merged = PartDescriptor {
        id: PartId::from_bytes(dice.id()),
        blocks: BlockRange::default(),
        level: inputs.iter().map(|input| input.level).max().unwrap_or(0) + 1,
        rows: inputs.iter().map(|input| input.rows).sum(),
        ..PartDescriptor::clone(&inputs[0])
    };
    let removals = inputs.iter().map(|input| Op::RemovePart { table: table.def.id, part: input.id });
    std::iter::once(sealed(merged)).chain(removals).collect()
}

/// Rows up to a random statement become parts of two partitions.
fn flush(dice: &mut Dice, table: &TableState) -> Vec<Op> {
    let statements: Vec<_> = table.inline().cloned().collect();
    let Some(last) = dice.pick(&statements) else { return vec![inline_rows(table.def.id, 2)] };
    vec![new_part(dice, table), new_part(dice, table), Op::Flushed { table: table.def.id, up_to: last.seq }]
}

fn definition_ops(
    dice: &mut Dice,
    state: &State,
    table: Option<&TableState>,
    tables: &[Arc<TableState>],
) -> Vec<Op> {
    let databases: Vec<DatabaseId> = state.databases().map(|database| database.id).collect();
    let database = dice.pick(&databases).unwrap_or_else(default_database_id);
    let name: Arc<str> = format!("n{}", dice.below(6)).into();
    let create = |dice: &mut Dice| {
        let def = table_def(TableId::from_bytes(dice.id()), &name);
        vec![Op::CreateTable(TableDef { database, ..def })]
    };
    let Some(table) = table.filter(|_| dice.below(3) > 0) else { return create(dice) };
    let id = table.def.id;
    match dice.below(18) {
        12 | 13 => export_ops(dice, state),
        0 => vec![Op::CreateDatabase { id: DatabaseId::from_bytes(dice.id()), name }],
        1 => vec![Op::DropDatabase { id: database }],
        2 => vec![Op::RenameDatabase { id: database, name }],
        3 => vec![Op::DropTable { table: id }],
        14 => vec![Op::DetachTable { table: id, is_permanent: dice.below(2) > 0 }],
        15 => vec![Op::AttachTable { table: id }],
        16 => vec![Op::CreateFunction { name, lambda: format!("x -> {}", dice.below(9)).into() }],
        17 => vec![Op::DropFunction { name }],
        4 => vec![Op::RenameTable { table: id, database, name }],
        5 => {
            let second = dice.pick(tables).map_or(id, |other| other.def.id);
            vec![Op::ExchangeTables { first: id, second }]
        }
        6 => vec![Op::TruncateTable { table: id }],
        7 => {
            let mut def = TableDef::clone(&table.def);
            def.schema_version += 1;
            def.columns.push(column(
                def.next_column_id,
                &format!("c{}", def.next_column_id),
                ColumnType::Date,
            ));
            def.next_column_id += 1;
            vec![Op::AlterTable(def)]
        }
        8..=10 => vec![collection_op(dice, name)],
        _ => create(dice),
    }
}

/// Often refused: the name is free, or the key is.
fn collection_op(dice: &mut Dice, name: Arc<str>) -> Op {
    let key: Arc<str> = format!("k{}", dice.below(3)).into();
    let overridable = [None, Some(false), Some(true)].get(usize::try_from(dice.below(3)).unwrap()).copied();
    let value =
        CollectionValue { text: dice.below(9).to_string().into(), overridable: overridable.flatten() };
    let entries = Collection::from([(key, value)]);
    match dice.below(5) {
        0 => Op::DropCollection { name },
        1 => Op::AlterCollection { name, set: Collection::new(), deleted: entries.into_keys().collect() },
        2 => Op::AlterCollection { name, set: entries, deleted: Vec::new() },
        _ => Op::CreateCollection { name, entries },
    }
}

/// Recomputes what a state keeps beside its parts and statements, and compares.
pub(crate) fn check_state(state: &State) {
    for table in state.all_tables() {
        let (database, name, id) = (table.def.database, &table.def.name, Some(table.def.id));
        let in_sight = state.table(database, name).map(|found| found.def.id);
        let detached = state.detached_table(database, name).map(|found| found.def.id);
        assert_eq!(in_sight.or(detached), id);
        assert_eq!((in_sight.is_none(), detached), (state.is_detached(table.def.id), id.xor(in_sight)));
        let parts: Vec<_> = table.parts().collect();
        assert_eq!(table.part_count(), parts.len());
        assert!(parts.windows(2).all(|pair| pair[0].blocks.min <= pair[1].blocks.min));
        let inline: u64 = table.inline().map(|statement| statement.rows).sum();
        assert_eq!(table.rows(), inline + parts.iter().map(|part| part.rows).sum::<u64>());
        assert_eq!(table.part_bytes(), parts.iter().map(|part| part.bytes).sum::<u64>());
        let mut in_groups = 0;
        for (key, group) in table.partitions() {
            let parts: Vec<_> = group.parts().collect();
            in_groups += parts.len();
            assert!(!parts.is_empty());
            assert!(parts.windows(2).all(|pair| pair[0].blocks.max < pair[1].blocks.min), "ranges overlap");
            assert_eq!(group.rows, parts.iter().map(|part| part.rows).sum::<u64>());
            assert!(parts.iter().all(|part| (&part.partition, part.bucket) == (&key.0, key.1)));
        }
        assert_eq!(in_groups, parts.len());
        for part in parts {
            assert!(part.blocks.min >= 1 && part.blocks.max < table.next_block());
            assert_eq!(table.part(part.id), Some(part));
            assert!(table.removed_part(part.id).is_none());
        }
    }
    for load in state.loads().iter() {
        let table = state.table_by_id(load.table).unwrap();
        assert!(state.label(load.database, &load.label).is_none(), "a used label");
        assert_eq!(state.loads().labelled(load.database, &load.label).map(|found| found.id), Some(load.id));
        assert!(load.parts().all(|part| {
            load.has_part(part.id) && table.part(part.id).is_none() && table.removed_part(part.id).is_none()
        }));
    }
    assert!(state.dropped_tables().all(|(_, dropped)| dropped.state.removed().next().is_some()));
    assert!(state.collections().iter().all(|(name, entries)| !name.is_empty() && !entries.is_empty()));
    assert!(state.seq() >= Seq::ZERO);
}
