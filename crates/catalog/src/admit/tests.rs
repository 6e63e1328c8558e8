//! A table of cases: what is refused, and with which words.

use model::{BlockRange, ColumnType, Label, PartId, SealedPart, Seq, StagedUnit, TableEngine, TxnId};

use super::*;
use crate::generated::{column, inline_rows, part, sealed, stage_open, table_def};
use crate::state::default_database_id;

fn table_id(id: u8) -> TableId {
    TableId::from_bytes([id; 16])
}

fn part_id(id: u8) -> PartId {
    PartId::from_bytes([id; 16])
}

fn database_id(id: u8) -> DatabaseId {
    DatabaseId::from_bytes([id; 16])
}

fn added(id: u8) -> Op {
    sealed(part(part_id(id), table_id(1), 0))
}

fn removed(id: u8) -> Op {
    Op::RemovePart { table: table_id(1), part: part_id(id) }
}

fn transaction(read_seq: Seq, ops: Vec<Op>) -> Transaction {
    Transaction::new(TxnId::from_bytes([0; 16]), read_seq, ops)
}

fn then(state: &State, ops: Vec<Op>) -> Result<State, RefusedWhy> {
    let moment = Moment { seq: state.seq().next(), at_ms: 1000 };
    admit(state, &transaction(state.seq(), ops), moment)
}

fn altered(change: impl FnOnce(&mut TableDef)) -> Op {
    let mut def = table_def(table_id(1), "t");
    def.schema_version = 2;
    change(&mut def);
    Op::AlterTable(def)
}

/// Seq 1: database `db`, tables `default.t` and `default.m`; 2: parts of blocks 1, 2, 3 in `t`; 3: an inline statement.
fn start() -> State {
    let mut memory = table_def(table_id(2), "m");
    memory.engine = TableEngine::Memory;
    let create = vec![
        Op::CreateDatabase { id: database_id(9), name: "db".into() },
        Op::CreateTable(table_def(table_id(1), "t")),
        Op::CreateTable(memory),
    ];
    let state = then(&State::default(), create).unwrap();
    let state = then(&state, vec![added(1), added(2), added(3)]).unwrap();
    let label = Label::new("seen").unwrap();
    let labelled = Op::Label { database: default_database_id(), label, fingerprint: 4, rows: 5 };
    then(&state, vec![inline_rows(table_id(1), 5), labelled]).unwrap()
}

#[track_caller]
fn check(ops: Vec<Op>, message: &str) {
    assert_eq!(then(&start(), ops).unwrap_err().to_string(), message);
}

#[test]
fn definitions_are_refused() {
    let database = |name: &str| Op::CreateDatabase { id: database_id(8), name: name.into() };
    let create = |change: &dyn Fn(&mut TableDef)| {
        let mut def = table_def(table_id(3), "t3");
        change(&mut def);
        vec![Op::CreateTable(def)]
    };
    check(vec![database("db")], "database \"db\" already exists");
    check(vec![database("default")], "database \"default\" already exists");
    check(vec![database("")], "a database needs a name");
    let system = || system_database_id();
    check(
        vec![Op::DropDatabase { id: system() }],
        "database \"system\" is built in and cannot be changed this way",
    );
    check(
        vec![Op::RenameDatabase { id: default_database_id(), name: "d".into() }],
        "database \"default\" is built in and cannot be changed this way",
    );
    check(
        vec![Op::DropDatabase { id: database_id(7) }],
        "database \"07070707-0707-0707-0707-070707070707\" does not exist",
    );
    check(create(&|def| def.name = "t".into()), "table \"default.t\" already exists");
    check(
        create(&|def| def.database = system()),
        "database \"system\" is built in and cannot be changed this way",
    );
    check(
        create(&|def| def.id = table_id(1)),
        "table id 01010101-0101-0101-0101-010101010101 is already taken",
    );
    check(
        create(&|def| def.columns.push(column(5, "a", ColumnType::Int8))),
        "table \"default.t3\" cannot be defined so: column \"a\" appears twice",
    );
    check(
        create(&|def| def.columns.push(column(1, "c", ColumnType::Int8))),
        "table \"default.t3\" cannot be defined so: its column ids are not unique and below the next id",
    );
    check(
        create(&|def| def.primary_key_len = 2),
        "table \"default.t3\" cannot be defined so: its primary key is longer than its sort key",
    );
    check(create(&|def| def.columns.clear()), "table \"default.t3\" cannot be defined so: it has no columns");
    let rename = |database| vec![Op::RenameTable { table: table_id(1), database, name: "m".into() }];
    check(rename(default_database_id()), "table \"default.m\" already exists");
    assert!(then(&start(), rename(database_id(9))).is_ok());
    let table = table_id(4);
    check(vec![Op::DropTable { table }], "table \"04040404-0404-0404-0404-040404040404\" does not exist");
}

#[test]
fn alterations_follow_each_other() {
    check(
        vec![altered(|def| def.schema_version = 3)],
        "the columns of table \"default.t\" have changed since version 3: another change came first",
    );
    let reuse = |def: &mut TableDef| def.columns[1].id = model::ColumnId(2);
    let next = then(&start(), vec![altered(|def| def.next_column_id = 5)]).unwrap();
    let reused = altered(|def| {
        reuse(def);
        (def.schema_version, def.next_column_id) = (3, 5);
    });
    assert_eq!(then(&next, vec![reused]).unwrap_err().to_string(), "a column id cannot be used again");
    check(
        vec![altered(|def| def.order_by.clear())],
        "the engine stays, and a changed sort key counts its version up",
    );
}

#[test]
fn rows_survive_added_and_dropped_columns_but_no_changed_type() {
    let compatible = |change: &dyn Fn(&mut TableDef)| {
        let state = then(&start(), vec![altered(change)]).unwrap();
        then(&state, vec![inline_rows(table_id(1), 1)]).and_then(|state| then(&state, vec![added(7)]))
    };
    let add = |def: &mut TableDef| {
        def.columns.push(column(2, "c", ColumnType::Date));
        def.next_column_id = 3;
    };
    assert!(compatible(&add).is_ok());
    assert!(compatible(&|def| def.columns.truncate(1)).is_ok());
    assert!(compatible(&|def| def.columns[0].name = "z".into()).is_ok());
    assert_eq!(
        compatible(&|def| def.columns[0].column_type = ColumnType::Int8).unwrap_err().to_string(),
        "the columns of table \"default.t\" have changed since version 1: column \"a\" has another type"
    );
    assert_eq!(
        compatible(&|def| def.partition_by.clear()).unwrap_err().to_string(),
        "the columns of table \"default.t\" have changed since version 1: the partition key is another"
    );
}

#[test]
fn parts_and_rows_are_refused() {
    let one = "01010101-0101-0101-0101-010101010101";
    check(vec![added(1)], &format!("part {one} of table \"default.t\" is already there"));
    check(vec![removed(1), added(1)], &format!("part {one} of table \"default.t\" is already there"));
    check(vec![removed(1), removed(1)], &format!("part {one} of table \"default.t\" is not live"));
    check(
        vec![removed(1), removed(3), added(9)],
        "part 0_2_2_0 of table \"default.t\" lies between the parts to be replaced by one",
    );
    check(vec![inline_rows(table_id(2), 1)], "table \"default.m\" of engine Memory keeps no rows");
    check(vec![inline_rows(table_id(1), 0)], "an inline statement needs at least one row");
    check(
        vec![Op::ForgetParts { table: table_id(1), parts: vec![part_id(2)] }],
        "part 0_2_2_0 is live and cannot be forgotten",
    );
    let dropped = then(&start(), vec![Op::DropTable { table: table_id(1) }]).unwrap();
    assert_eq!(then(&dropped, vec![added(9)]).unwrap_err().to_string(), "table \"default.t\" does not exist");
}

#[test]
fn block_numbers_follow_what_a_part_replaces() {
    let blocks = |state: &State, id: u8| {
        let blocks = state.table_by_id(table_id(1)).unwrap().part(part_id(id)).unwrap().blocks;
        (blocks.min, blocks.max)
    };
    let state = then(&start(), vec![added(9), removed(1), removed(2)]).unwrap();
    assert_eq!(blocks(&state, 9), (1, 2), "a merge covers its inputs");
    let state = then(&start(), vec![added(9)]).unwrap();
    assert_eq!(blocks(&state, 9), (5, 5), "the inline statement took 4");
    let state = then(&state, vec![inline_rows(table_id(1), 1)]).unwrap();
    let flushed = Op::Flushed { table: table_id(1), up_to: state.seq() };
    let mut older = part(part_id(10), table_id(1), 0);
    older.blocks = BlockRange { min: 4, max: 4 };
    let mut newer = older.clone();
    (newer.id, newer.blocks) = (part_id(11), BlockRange { min: 6, max: 6 });
    let split = then(&state, vec![sealed(older), sealed(newer), flushed.clone()]).unwrap();
    assert_eq!(
        (blocks(&split, 10), blocks(&split, 11)),
        ((4, 4), (6, 6)),
        "a flush around a live part is split"
    );
    let whole = then(&state, vec![added(12), flushed.clone()]).unwrap();
    assert_eq!(blocks(&whole, 12), (7, 7), "4..=6 would span part 5, so it counts as inserted now");
    let apart = then(&state, vec![sealed(part(part_id(13), table_id(1), 1)), flushed]).unwrap();
    assert_eq!(blocks(&apart, 13), (4, 6), "no other part in its partition");
}

#[test]
fn a_flush_is_outdated_by_what_took_its_rows() {
    let state = start();
    let flush = |up_to| vec![added(9), Op::Flushed { table: table_id(1), up_to }];
    assert!(then(&state, flush(state.seq())).is_ok());
    let truncated = then(&state, vec![Op::TruncateTable { table: table_id(1) }]).unwrap();
    let moment = Moment { seq: truncated.seq().next(), at_ms: 0 };
    let late = admit(&truncated, &transaction(state.seq(), flush(state.seq())), moment);
    assert_eq!(
        late.unwrap_err().to_string(),
        "the rows to be flushed of table \"default.t\" have been flushed or truncated already"
    );
    assert!(then(&state, flush(Seq(99))).is_err(), "the future cannot be flushed");
}

#[test]
fn preconditions_and_labels() {
    let state = start();
    let with = |precondition: Precondition| {
        let preconditions = vec![precondition];
        let wish = Transaction { preconditions, ..transaction(state.seq(), Vec::new()) };
        let refused = admit(&state, &wish, Moment { seq: state.seq().next(), at_ms: 0 });
        refused.map(drop).map_err(|why| why.to_string())
    };
    let table = table_id(1);
    assert_eq!(with(Precondition::TableExists { table }), Ok(()));
    assert_eq!(with(Precondition::PartLive { table, part: part_id(2) }), Ok(()));
    assert_eq!(with(Precondition::SchemaCompatible { table, schema_version: 1 }), Ok(()));
    assert!(with(Precondition::SchemaCompatible { table, schema_version: 4 }).is_err());
    assert!(with(Precondition::PartLive { table, part: part_id(5) }).is_err());
    assert!(with(Precondition::TableExists { table: table_id(5) }).is_err());
    let (database, label) = (default_database_id(), Label::new("seen").unwrap());
    assert_eq!(
        with(Precondition::LabelUnseen { database, label: label.clone() }),
        Err("label \"seen\" was already used in database \"default\"".to_owned())
    );
    assert_eq!(with(Precondition::LabelUnseen { database: database_id(9), label: label.clone() }), Ok(()));
    let repeated = |fingerprint| {
        then(&state, vec![Op::Label { database, label: label.clone(), fingerprint, rows: 8 }]).unwrap_err()
    };
    let expected = |same_statement| {
        let (database, label) = ("default".to_owned(), "seen".to_owned());
        RefusedWhy::LabelExists { database, label, seq: 3, same_statement, rows: 5 }
    };
    assert_eq!(repeated(4), expected(true));
    assert_eq!(repeated(5), expected(false));
}

fn load_id(id: u8) -> LoadId {
    LoadId::from_bytes([id; 16])
}

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

fn open(id: u8, text: &str) -> Op {
    stage_open(load_id(id), table_id(1), label(text), 3)
}

fn add(id: u8, units: &[u32], parts: &[u8]) -> Op {
    let parts = parts.iter().map(|id| SealedPart::attest_durable(part(part_id(*id), table_id(1), 0)));
    Op::StageAdd { load: load_id(id), units: units.to_vec(), parts: parts.collect(), rows: 10 }
}

fn publish(id: u8, text: &str) -> Vec<Op> {
    let (database, label) = (default_database_id(), label(text));
    vec![Op::StagePublish { load: load_id(id) }, Op::Label { database, label, fingerprint: 77, rows: 10 }]
}

/// Of file `file`, which has 5,000 bytes.
fn range(file: u32, range: std::ops::Range<u64>) -> StagedUnit {
    StagedUnit { file, row_groups: None, bytes: range.end - range.start, range: Some(range), rows: None }
}

#[test]
fn units_found_later_follow_each_other_to_the_end_of_every_file() {
    let mut unsealed = open(1, "l");
    if let Op::StageOpen { is_sealed, units, .. } = &mut unsealed {
        (*is_sealed, *units) = (false, Vec::new());
    }
    let (load, name) = (load_id(1), "load 01010101-0101-0101-0101-010101010101");
    let found = |units: Vec<StagedUnit>| vec![Op::StageUnits { load, units }];
    let mut state = then(&start(), vec![unsealed]).unwrap();
    let refused = |state: &State, ops: Vec<Op>| then(state, ops).unwrap_err().to_string();
    let apart = |file: u32| format!("a unit of {name} does not follow what is cut of file {file}");
    for units in [
        vec![range(0, 1..10)],
        vec![range(0, 0..0)],
        vec![range(0, 0..5001)],
        vec![range(0, 0..10), range(0, 11..20)],
        vec![range(0, 0..10), range(0, 9..20)],
        vec![StagedUnit { range: None, ..range(0, 0..10) }],
    ] {
        assert_eq!(refused(&state, found(units.clone())), apart(0), "{units:?}");
    }
    assert_eq!(refused(&state, found(vec![range(2, 0..10)])), apart(2), "there are two files");
    assert_eq!(
        refused(&state, vec![Op::StageSeal { load }]),
        format!("file 0 of {name} is not cut to its end")
    );
    state = then(&state, found(vec![range(0, 0..10), range(1, 0..7), range(0, 10..5000)])).unwrap();
    assert_eq!(refused(&state, found(vec![range(0, 0..10)])), apart(0), "it is cut");
    state = then(&state, vec![add(1, &[0, 1, 2], &[20])]).unwrap();
    let more = format!("{name} has loaded 3 of 3 units and of more to come");
    assert_eq!(refused(&state, publish(1, "l")), more);
    assert_eq!(
        refused(&state, vec![Op::StageSeal { load }]),
        format!("file 1 of {name} is not cut to its end")
    );
    state = then(&state, [found(vec![range(1, 7..5000)]), vec![Op::StageSeal { load }]].concat()).unwrap();
    let all = format!("{name} has all its units");
    assert_eq!(refused(&state, found(vec![range(1, 7..5000)])), all);
    assert_eq!(refused(&state, vec![Op::StageSeal { load }]), all);
    assert_eq!(refused(&state, publish(1, "l")), format!("{name} has loaded 3 of 4 units"));
    state = then(&state, vec![add(1, &[3], &[21])]).unwrap();
    then(&state, publish(1, "l")).unwrap();
}

#[test]
fn loads_are_refused() {
    let (one, two) = ("01010101-0101-0101-0101-010101010101", "02020202-0202-0202-0202-020202020202");
    let state = then(&start(), vec![open(1, "l"), add(1, &[1], &[20])]).unwrap();
    let refused = |ops: Vec<Op>| then(&state, ops).unwrap_err().to_string();
    assert_eq!(refused(vec![open(2, "seen")]), "label \"seen\" was already used in database \"default\"");
    let taken = format!("label \"l\" of database \"default\" belongs to load {one}, which is not finished");
    assert_eq!(refused(vec![open(2, "l")]), taken);
    assert_eq!(refused(publish(1, "l")[1..].to_vec()), taken, "no load that does it publishes");
    assert_eq!(refused(vec![open(1, "other")]), format!("load id {one} is already taken"));
    let elsewhere = stage_open(load_id(2), table_id(2), label("m"), 1);
    assert_eq!(refused(vec![elsewhere]), "table \"default.m\" of engine Memory keeps no rows");
    let nowhere = stage_open(load_id(2), table_id(7), label("m"), 1);
    assert_eq!(refused(vec![nowhere]), "table \"07070707-0707-0707-0707-070707070707\" does not exist");
    assert_eq!(refused(vec![add(2, &[0], &[21])]), format!("load {two} is not open"));
    assert_eq!(refused(vec![add(1, &[3], &[21])]), format!("load {one} has no unit 3"));
    assert_eq!(refused(vec![add(1, &[0, 1], &[21])]), format!("unit 1 of load {one} is already loaded"));
    assert_eq!(refused(vec![add(1, &[0, 0], &[21])]), format!("unit 0 of load {one} is already loaded"));
    let there = |part: u8| format!("part {} of table \"default.t\" is already there", part_id(part));
    assert_eq!(refused(vec![add(1, &[0], &[1])]), there(1), "a live part");
    assert_eq!(refused(vec![add(1, &[0], &[20])]), there(20), "a staged part");
    assert_eq!(refused(vec![add(1, &[0], &[21, 21])]), there(21));
    assert_eq!(refused(vec![added(20)]), there(20), "a staged part cannot be added beside its load");
    assert_eq!(refused(publish(1, "l")), format!("load {one} has loaded 1 of 3 units"));
    assert_eq!(refused(vec![Op::StageAbort { load: load_id(2) }]), format!("load {two} is not open"));
    let retyped = altered(|def| def.columns[0].column_type = ColumnType::Int8);
    let state = then(&state, vec![add(1, &[0, 2], &[21]), retyped]).unwrap();
    assert_eq!(
        then(&state, publish(1, "l")).unwrap_err().to_string(),
        "the columns of table \"default.t\" have changed since version 1: column \"a\" has another type"
    );
}

#[test]
fn a_load_is_seen_when_it_is_published_and_not_before() {
    let counts = |state: &State| {
        let table = state.table_by_id(table_id(1)).unwrap();
        (table.part_count(), table.removed().count(), table.rows(), state.loads().iter().count())
    };
    let staged = then(&start(), vec![open(1, "l")]).unwrap();
    let staged = then(&staged, vec![add(1, &[1], &[20]), add(1, &[2, 0], &[21])]).unwrap();
    assert_eq!(counts(&staged), (3, 0, 35, 1));
    let load = staged.loads().labelled(default_database_id(), &label("l")).unwrap();
    assert_eq!((load.covered().collect::<Vec<_>>(), load.rows(), load.part_count()), (vec![0, 1, 2], 20, 2));
    let published = then(&staged, publish(1, "l")).unwrap();
    assert_eq!(counts(&published), (5, 0, 55, 0));
    let table = published.table_by_id(table_id(1)).unwrap();
    let blocks = |id: u8| table.part(part_id(id)).unwrap().blocks;
    assert_eq!((blocks(20).min, blocks(21).min), (5, 6), "after the parts and the inline statement");
    assert_eq!(published.label(default_database_id(), &label("l")).unwrap().rows, 10);
    assert!(then(&published, vec![open(2, "l")]).is_err(), "the label is used up");

    let aborted = then(&staged, vec![Op::StageAbort { load: load_id(1) }]).unwrap();
    assert_eq!(counts(&aborted), (3, 2, 35, 0));
    assert!(then(&aborted, vec![open(2, "l")]).is_ok(), "the label is free again");
    assert_eq!(counts(&then(&staged, vec![Op::TruncateTable { table: table_id(1) }]).unwrap()), (0, 5, 0, 0));
    let dropped = then(&staged, vec![Op::DropTable { table: table_id(1) }]).unwrap();
    assert_eq!(dropped.dropped_table(table_id(1)).unwrap().state.removed().count(), 5);
    assert_eq!(dropped.loads().iter().count(), 0);
}

#[test]
fn a_load_goes_with_its_table_or_the_database_of_its_label() {
    let moved = Op::RenameTable { table: table_id(1), database: database_id(9), name: "t".into() };
    let state = then(&start(), vec![open(1, "l"), add(1, &[1], &[20]), moved]).unwrap();
    let dropped = then(&state, vec![Op::DropDatabase { id: database_id(9) }]).unwrap();
    assert_eq!(dropped.loads().iter().count(), 0);
    let mut labelled = open(2, "l");
    if let Op::StageOpen { database, .. } = &mut labelled {
        *database = database_id(9);
    }
    let state = then(&start(), vec![labelled, add(2, &[1], &[20])]).unwrap();
    let dropped = then(&state, vec![Op::DropDatabase { id: database_id(9) }]).unwrap();
    let table = dropped.table_by_id(table_id(1)).unwrap();
    assert_eq!((dropped.loads().iter().count(), table.removed().count()), (0, 1));
}

#[test]
fn tokens_are_known_until_the_table_is_emptied() {
    let token = |fingerprint| Op::DedupToken { table: table_id(1), token: 6, fingerprint, rows: 2 };
    let state = then(&start(), vec![token(1), inline_rows(table_id(1), 2)]).unwrap();
    let seen = |same_statement| RefusedWhy::TokenExists {
        table: "default.t".to_owned(),
        seq: 4,
        same_statement,
        rows: 2,
    };
    assert_eq!(then(&state, vec![token(1)]).unwrap_err(), seen(true));
    assert_eq!(then(&state, vec![token(2)]).unwrap_err(), seen(false));
    let other = Op::DedupToken { table: table_id(2), token: 6, fingerprint: 1, rows: 2 };
    assert!(then(&state, vec![other]).is_ok(), "another table");
    let emptied = then(&state, vec![Op::TruncateTable { table: table_id(1) }]).unwrap();
    assert!(then(&emptied, vec![token(1)]).is_ok());
    let dropped = then(&state, vec![Op::DropTable { table: table_id(1) }]).unwrap();
    assert_eq!(dropped.tokens().iter().count(), 0);
}

#[test]
fn a_dropped_table_is_remembered_until_its_files_are_forgotten() {
    let state = then(&start(), vec![Op::DropTable { table: table_id(1) }]).unwrap();
    let dropped = state.dropped_table(table_id(1)).unwrap();
    assert_eq!((dropped.state.removed().count(), dropped.seq, dropped.dropped_ms), (3, Seq(4), 1000));
    let forget = |parts: &[u8]| {
        let parts = parts.iter().map(|id| part_id(*id)).collect();
        vec![Op::ForgetParts { table: table_id(1), parts }]
    };
    let state = then(&state, forget(&[1, 3])).unwrap();
    assert!(state.dropped_table(table_id(1)).is_some());
    let state = then(&state, forget(&[2])).unwrap();
    assert!(state.dropped_table(table_id(1)).is_none());
    let again = then(&state, vec![Op::CreateTable(table_def(table_id(5), "t"))]).unwrap();
    assert_eq!(again.table(default_database_id(), "t").unwrap().def.id, table_id(5));
}

#[test]
fn collections_are_refused() {
    let entries = |keys: &[&str]| -> crate::collections::Collection {
        let value = crate::collections::CollectionValue { text: "s3cr3t".into(), overridable: None };
        keys.iter().map(|key| (Arc::from(*key), value.clone())).collect()
    };
    let create =
        |name: &str, keys: &[&str]| Op::CreateCollection { name: name.into(), entries: entries(keys) };
    let alter = |set: &[&str], deleted: &[&str]| Op::AlterCollection {
        name: "n".into(),
        set: entries(set),
        deleted: deleted.iter().map(|key| Arc::from(*key)).collect(),
    };
    let drop = || Op::DropCollection { name: "n".into() };
    let made = || create("n", &["a", "b"]);
    check(vec![create("", &["a"])], "a named collection needs a name");
    check(vec![create("n", &[])], "named collection \"n\" cannot be empty");
    check(vec![create("n", &[""])], "named collection \"n\" cannot have a key without a name");
    check(vec![made(), made()], "named collection \"n\" already exists");
    check(vec![drop()], "named collection \"n\" does not exist");
    check(vec![alter(&["a"], &[])], "named collection \"n\" does not exist");
    check(vec![made(), alter(&[], &["c"])], "key \"c\" of named collection \"n\" does not exist");
    check(vec![made(), alter(&[], &["a", "b"])], "named collection \"n\" cannot be empty");
    let many: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(vec![made(), alter(&many, &[])], "named collection \"n\" can have 1000 keys at most");
    let state = then(&start(), vec![made(), alter(&["c"], &["a"])]).unwrap();
    assert_eq!(*state.collections().get("n").unwrap().as_ref(), entries(&["b", "c"]));
    assert!(then(&state, vec![drop()]).unwrap().collections().is_empty());
    // The name is free again in the same transaction.
    assert!(then(&state, vec![drop(), made()]).is_ok());
}

#[test]
fn a_part_that_was_begun_before_a_sweep_comes_too_late() {
    let at = |made_ms: u64| {
        let part = part(PartId::made_at(made_ms, [9; 16]), table_id(1), 0);
        Op::AddPart(SealedPart::attest_durable(part))
    };
    let staged = |made_ms: u64, load: u8| {
        let Op::AddPart(part) = at(made_ms) else { unreachable!() };
        Op::StageAdd { load: load_id(load), units: vec![0, 1, 2], parts: vec![part], rows: 1 }
    };
    let loaded = then(&then(&start(), vec![open(1, "a")]).unwrap(), vec![staged(4_000, 1)]).unwrap();
    let swept = then(&loaded, vec![Op::PartsSwept { before_ms: 5_000 }]).unwrap();
    for late in [at(4_999), staged(4_999, 2)] {
        let opened = then(&swept, vec![open(2, "b")]).unwrap();
        assert!(matches!(then(&opened, vec![late]), Err(RefusedWhy::PartSwept { .. })));
    }
    // Of an id without a time nobody knows how old it is.
    assert!(matches!(then(&swept, vec![added(9)]), Err(RefusedWhy::PartSwept { .. })));
    assert!(then(&swept, vec![at(5_000)]).is_ok());
    // What is named already stays.
    assert!(then(&swept, publish(1, "a")).is_ok());
}

#[test]
fn detached_parts_are_removed_ones_that_are_not_forgotten() {
    let detached = |ids: &[u8]| {
        let ids = ids.iter().map(|id| part_id(*id)).collect();
        Op::AlterTable(table_def(table_id(1), "t").with_detached_parts(&ids))
    };
    let refused = then(&start(), vec![detached(&[1])]).unwrap_err();
    assert!(matches!(refused, RefusedWhy::PartNotLive { .. }), "{refused}");
    let state = then(&start(), vec![removed(1), removed(2), detached(&[1])]).unwrap();
    let table = state.table_by_id(table_id(1)).unwrap();
    let ids = |parts: Vec<&Arc<crate::RemovedPart>>| -> Vec<PartId> {
        parts.iter().map(|removed| removed.descriptor.id).collect()
    };
    assert_eq!(ids(table.detached().collect()), [part_id(1)]);
    assert_eq!(ids(table.outdated().collect()), [part_id(2)]);
    let forget = |id| Op::ForgetParts { table: table_id(1), parts: vec![part_id(id)] };
    assert!(matches!(then(&state, vec![forget(1)]), Err(RefusedWhy::Invalid(_))));
    assert!(then(&state, vec![forget(2)]).is_ok());
    // With the table they go.
    let dropped = then(&state, vec![Op::DropTable { table: table_id(1) }]).unwrap();
    assert!(then(&dropped, vec![forget(1)]).is_ok());
}

#[test]
fn several_parts_may_take_the_place_of_others() {
    let replaces = vec![removed(1), removed(2), removed(3), added(4), added(5)];
    let state = then(&start(), replaces).unwrap();
    let blocks: Vec<BlockRange> =
        state.table_by_id(table_id(1)).unwrap().parts().map(|part| part.blocks).collect();
    assert_eq!(blocks, [BlockRange { min: 1, max: 3 }, BlockRange { min: 5, max: 5 }]);
    // But not around one that stays.
    let around = then(&start(), vec![removed(1), removed(3), added(4), added(5)]).unwrap_err();
    assert!(matches!(around, RefusedWhy::PartBetween { .. }), "{around}");
}
