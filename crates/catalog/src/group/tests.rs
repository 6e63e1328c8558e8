//! Groups: alone or together, the same is admitted; what is stored gives the same state again.

use model::{Label, TableId};

use super::*;
use crate::generated::{Dice, inline_rows, next_transaction, table_def};
use crate::op_format::{decode_transaction, encode_transaction, stored_time};
use crate::state::default_database_id;
use model::Seq;

fn table(id: u8) -> TableId {
    TableId::from_bytes([id; 16])
}

fn moment(seq: u64) -> Moment {
    Moment { seq: Seq(seq), at_ms: 1000 + seq }
}

fn transaction(ops: Vec<Op>) -> Transaction {
    Transaction::new(TxnId::from_bytes([9; 16]), Seq::ZERO, ops)
}

fn label(name: &str, fingerprint: u128) -> Op {
    let label = Label::new(name).unwrap();
    Op::Label { database: default_database_id(), label, fingerprint, rows: 1 }
}

fn two_tables() -> State {
    let mut group = Group::new(State::default(), moment(1));
    for (id, name) in [(1, "a"), (2, "b")] {
        group.admit(transaction(vec![Op::CreateTable(table_def(table(id), name))])).unwrap();
    }
    group.finish().unwrap().0
}

/// What a restart makes of the stored transactions.
fn replayed(mut state: State, stored: &[Transaction], moment: Moment) -> State {
    for transaction in stored {
        let bytes = encode_transaction(transaction, stored_time(transaction, moment.at_ms));
        let read = decode_transaction(&bytes).unwrap();
        state.apply(Moment { at_ms: read.at_ms, ..moment }, &read.ops).unwrap();
    }
    state
}

#[test]
fn statements_of_a_group_share_one_op_per_table() {
    let start = two_tables();
    let mut group = Group::new(start.clone(), moment(2));
    for (id, rows) in [(1, 1), (2, 5), (1, 2)] {
        group.admit(transaction(vec![inline_rows(table(id), rows)])).unwrap();
    }
    group.admit(transaction(vec![label("l", 1), inline_rows(table(1), 4)])).unwrap();
    let (state, stored) = group.finish().unwrap();
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert_eq!(stored[0].ops.len(), 3, "a name and two tables");
    let of = |id: u8| state.table_by_id(table(id)).unwrap();
    assert_eq!((of(1).inline_rows(), of(1).inline_count()), (7, 1));
    assert_eq!((of(2).inline_rows(), of(2).inline_count()), (5, 1));
    assert_eq!(state.label(default_database_id(), &Label::new("l").unwrap()).unwrap().seq, Seq(2));
    assert_eq!(replayed(start, &stored, moment(2)), state);
}

#[test]
fn a_bad_transaction_fails_alone() {
    let start = two_tables();
    let mut group = Group::new(start.clone(), moment(2));
    group.admit(transaction(vec![label("l", 1), inline_rows(table(1), 1)])).unwrap();
    let again = group.admit(transaction(vec![label("l", 1), inline_rows(table(1), 1)]));
    assert!(matches!(again, Err(RefusedWhy::LabelExists { same_statement: true, .. })), "{again:?}");
    let unknown = group.admit(transaction(vec![label("m", 1), inline_rows(table(7), 1)]));
    assert!(matches!(unknown, Err(RefusedWhy::UnknownTable(_))), "{unknown:?}");
    group.admit(transaction(vec![label("m", 2), inline_rows(table(2), 1)])).unwrap();
    let (state, stored) = group.finish().unwrap();
    let rows = |id: u8| state.table_by_id(table(id)).unwrap().inline_rows();
    assert_eq!((rows(1), rows(2)), (1, 1));
    assert_eq!(replayed(start, &stored, moment(2)), state);
}

#[test]
fn other_changes_keep_their_place_between_rows() {
    let start = two_tables();
    let mut group = Group::new(start.clone(), moment(2));
    group.admit(transaction(vec![inline_rows(table(1), 1)])).unwrap();
    group.admit(transaction(vec![Op::TruncateTable { table: table(1) }])).unwrap();
    group.admit(transaction(vec![inline_rows(table(1), 2)])).unwrap();
    group.admit(transaction(vec![Op::DropTable { table: table(2) }])).unwrap();
    assert!(group.admit(transaction(vec![inline_rows(table(2), 1)])).is_err(), "it was dropped before");
    let (state, stored) = group.finish().unwrap();
    assert_eq!(state.table_by_id(table(1)).unwrap().inline_rows(), 2);
    assert_eq!(stored.len(), 4);
    assert_eq!(replayed(start, &stored, moment(2)), state);
}

#[test]
fn a_flush_of_the_group_leaves_its_rows() {
    let start = two_tables();
    let mut group = Group::new(start, moment(2));
    group.admit(transaction(vec![inline_rows(table(1), 1)])).unwrap();
    let start = group.finish().unwrap().0;
    let mut group = Group::new(start.clone(), moment(3));
    group.admit(transaction(vec![inline_rows(table(1), 5)])).unwrap();
    let flush = vec![Op::Flushed { table: table(1), up_to: Seq(2) }];
    group.admit(Transaction { read_seq: Seq(2), ..transaction(flush) }).unwrap();
    let (state, stored) = group.finish().unwrap();
    assert_eq!(state.table_by_id(table(1)).unwrap().inline_rows(), 5);
    assert_eq!(replayed(start, &stored, moment(3)), state);
}

#[test]
fn nothing_is_stored_of_nothing() {
    let start = two_tables();
    let mut group = Group::new(start, moment(2));
    group.admit(transaction(Vec::new())).unwrap();
    assert!(group.admit(transaction(vec![inline_rows(table(7), 1)])).is_err());
    assert_eq!(group.finish().unwrap().1, []);
}

#[test]
fn replay_gives_the_state_of_any_history_of_groups() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let mut state = State::default();
        for seq in 1..12 {
            let mut group = Group::new(state.clone(), moment(seq));
            for _ in 0..dice.below(6) + 1 {
                // Made for the state before the group: many are refused, none may harm the others.
                let _ = group.admit(next_transaction(&mut dice, &state));
            }
            let (next, stored) = group.finish().unwrap();
            if !stored.is_empty() {
                assert_eq!(replayed(state, &stored, moment(seq)), next, "seed {seed}, record {seq}");
                state = next;
            }
        }
    }
}
