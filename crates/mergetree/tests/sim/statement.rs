//! The statements of the simulation: who wrote which rows, and what a row must look like.
//!
//! Invariant: a row is decided by its statement and its place in it, so that loss, doubling, tearing and mixing can
//! be told apart by reading.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray, UInt8Array, UInt32Array};
use arrow::datatypes::{UInt8Type, UInt32Type};
use model::mix64::{self, mix64};
use model::{Label, TableDef};

use crate::tables::definition;

/// A generator whose numbers depend on nothing else.
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        mix64::next(&mut self.0)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}

/// A statement of one client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct StatementId {
    pub(crate) client: u32,
    pub(crate) number: u32,
}

impl StatementId {
    pub(crate) fn label(self) -> Label {
        Label::new(&format!("load-{}-{}", self.client, self.number)).unwrap()
    }

    pub(crate) fn fingerprint(self) -> u128 {
        u128::from(mix64(u64::from(self.client) << 32 | u64::from(self.number)))
    }
}

/// A row as it is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    pub(crate) statement: StatementId,
    /// Its place in the statement.
    pub(crate) row: u32,
    pub(crate) key: u8,
    pub(crate) partition: u8,
    payload: String,
}

impl Row {
    /// The row as its writer made it.
    pub(crate) fn of(statement: StatementId, row: u32) -> Row {
        let seed = u64::from(statement.client) << 48 | u64::from(statement.number) << 20 | u64::from(row);
        let hash = mix64(seed.wrapping_mul(mix64::STEP));
        let payload = format!("{hash:016x}{}", "-".repeat((hash >> 40) as usize % 24));
        Row { statement, row, key: (hash % 3) as u8, partition: (hash >> 8) as u8 % 2, payload }
    }
}

/// Client, statement, row, key, partition, payload; few keys, so that the order of equal ones is seen often.
pub(crate) fn table_definition() -> TableDef {
    let mut def = definition(&["UInt32", "UInt32", "UInt32", "UInt8", "UInt8", "String"], &[4]);
    def.partition_by = vec!["`#5`".into()];
    def
}

pub(crate) fn batch(def: &TableDef, rows: &[Row]) -> RecordBatch {
    let numbers =
        |of: fn(&Row) -> u32| -> ArrayRef { Arc::new(UInt32Array::from_iter_values(rows.iter().map(of))) };
    let bytes =
        |of: fn(&Row) -> u8| -> ArrayRef { Arc::new(UInt8Array::from_iter_values(rows.iter().map(of))) };
    let columns: Vec<ArrayRef> = vec![
        numbers(|row| row.statement.client),
        numbers(|row| row.statement.number),
        numbers(|row| row.row),
        bytes(|row| row.key),
        bytes(|row| row.partition),
        Arc::new(StringViewArray::from_iter_values(rows.iter().map(|row| row.payload.as_str()))),
    ];
    RecordBatch::try_new(def.arrow_schema(), columns).unwrap()
}

pub(crate) fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let number = |column: usize, row: usize| batch.column(column).as_primitive::<UInt32Type>().value(row);
    let byte = |column: usize, row: usize| batch.column(column).as_primitive::<UInt8Type>().value(row);
    let row = |at: usize| Row {
        statement: StatementId { client: number(0, at), number: number(1, at) },
        row: number(2, at),
        key: byte(3, at),
        partition: byte(4, at),
        payload: batch.column(5).as_string_view().value(at).to_owned(),
    };
    (0..batch.num_rows()).map(row).collect()
}
