//! What a person sees of records and checkpoints.

use host::SimHost;
use model::{Seq, TableId, TxnId};

use super::*;
use crate::generated::{inline_rows, part, sealed, stage_open, table_def};
use crate::op::Transaction;
use crate::op_format::encode_transaction;
use crate::state::{Moment, State};

fn ops() -> Vec<Op> {
    let table = TableId::from_bytes([1; 16]);
    vec![
        Op::CreateTable(table_def(table, "t")),
        sealed(part(model::PartId::from_bytes([2; 16]), table, 202_008)),
        inline_rows(table, 3),
    ]
}

#[test]
fn a_record_is_one_line_per_op() {
    let transaction = Transaction::new(TxnId::from_bytes([7; 16]), Seq(1), ops());
    let lines = record_lines(&[encode_transaction(&transaction, 1234)]).unwrap();
    assert!(lines[0].starts_with("transaction 07070707-0707-0707-0707-070707070707 bytes="), "{}", lines[0]);
    assert!(lines[0].ends_with(" at_ms=1234"));
    assert_eq!(
        lines[1],
        "  CreateTable 01010101-0101-0101-0101-010101010101 database=00000000-0000-0000-0000-000000000001 \"t\" \
         engine=MergeTree schema_version=1 columns=[#0 \"a\" UInt64, #1 \"b\" Nullable(String)] \
         partition_by=[\"`#0`\"] order_by=[\"`#0`\"]"
    );
    assert!(
        lines[2].starts_with("  AddPart 02020202-0202-0202-0202-020202020202 table=01010101-"),
        "{}",
        lines[2]
    );
    assert_eq!(
        lines[3],
        "  InlineRows table=01010101-0101-0101-0101-010101010101 schema_version=1 rows=3 bytes=20"
    );
    assert_eq!(
        record_lines(&[Bytes::from_static(b"\x01")]).unwrap_err().to_string(),
        "transaction ends early"
    );
}

#[test]
fn loads_and_tokens_are_shown() {
    let (table, load) = (TableId::from_bytes([1; 16]), model::LoadId::from_bytes([4; 16]));
    let part = model::SealedPart::attest_durable(part(model::PartId::from_bytes([2; 16]), table, 7));
    let steps = vec![
        Op::CreateTable(table_def(table, "t")),
        stage_open(load, table, model::Label::new("l").unwrap(), 3),
        Op::StageAdd { load, units: vec![2, 0], parts: vec![part], rows: 10 },
        Op::DedupToken { table, token: 255, fingerprint: 1, rows: 4 },
    ];
    let id = "04040404-0404-0404-0404-040404040404";
    assert!(op_line(&steps[1]).starts_with(&format!("StageOpen {id} label=\"l\" database=")));
    assert!(op_line(&steps[1]).ends_with("files=2 units=3"));
    assert_eq!(
        op_line(&steps[2]),
        format!("StageAdd {id} units=[2, 0] rows=10 parts=[02020202-0202-0202-0202-020202020202]")
    );
    assert_eq!(op_line(&Op::StagePublish { load }), format!("StagePublish {id}"));
    let (host, _world) = SimHost::new(1);
    let mut state = State::default();
    state.apply(Moment { seq: Seq(6), at_ms: 9 }, &steps).unwrap();
    let dir = Path::new("/ckpt");
    checkpoint::write(&host, dir, &state).unwrap();
    let path = checkpoint::path_of(dir, Seq(6));
    assert_eq!(checkpoint::read(&*host.disk, &path).unwrap(), state);
    let lines = checkpoint_lines(&*host.disk, &path).unwrap();
    assert!(
        lines[2].starts_with("Token seq=6 ") && lines[2].ends_with("committed_ms=9 rows=4"),
        "{}",
        lines[2]
    );
    assert!(lines[3].ends_with("files=2 units=3 covered=2 rows=10 opened_ms=9 changed_ms=9"), "{}", lines[3]);
    assert!(lines[4].contains(&format!(" load={id} 02020202-")), "{}", lines[4]);
}

#[test]
fn a_checkpoint_is_one_line_per_fact() {
    let (host, _world) = SimHost::new(1);
    let mut state = State::default();
    state.apply(Moment { seq: Seq(6), at_ms: 9 }, &ops()).unwrap();
    let dir = Path::new("/ckpt");
    checkpoint::write(&host, dir, &state).unwrap();
    let lines = checkpoint_lines(&*host.disk, &checkpoint::path_of(dir, Seq(6))).unwrap();
    assert_eq!(lines[0], "checkpoint seq=6 rows=3");
    assert!(lines[1].starts_with("Table seq=0 bytes=") && lines[1].ends_with("next_block=3"), "{}", lines[1]);
    assert!(lines[2].contains("name=202008_1_1_0"), "{}", lines[2]);
    assert!(
        lines[3].starts_with("Inline seq=6 ")
            && lines[3].ends_with("block=2 schema_version=1 rows=3 row_bytes=20")
    );
}
