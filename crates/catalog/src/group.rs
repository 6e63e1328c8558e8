//! Transactions that wait together become one record: who joins, and what is written.
//!
//! Each is admitted by itself against everything before it, those of its own group among them, so a bad one fails
//! alone. Rows that neighbouring statements of a group put into one table, for one version of its columns, are stored
//! as one op: the envelope of a transaction is longer than a row. Invariant: the state a group gives is the state
//! that replaying its stored transactions gives. Pure: no clock, no lock, no log.

use std::mem;

use bytes::{Bytes, BytesMut};
use model::{TableId, TxnId};

use crate::admit::{RefusedWhy, admit, check_op, check_precondition};
use crate::blocks::Replaced;
use crate::op::{Op, Transaction};
use crate::state::{Moment, State};

/// A record in the making.
pub(crate) struct Group {
    state: State,
    moment: Moment,
    stored: Vec<Transaction>,
    rows: Option<Rows>,
}

/// Neighbouring transactions that only add rows and names of loads, to be stored as one.
#[derive(Default)]
struct Rows {
    ids: Vec<TxnId>,
    /// Other processes may commit one of them.
    is_sent: bool,
    names: Vec<Op>,
    tables: Vec<TableRows>,
}

struct TableRows {
    table: TableId,
    schema_version: u32,
    rows: u64,
    statements: Vec<Bytes>,
}

impl Group {
    /// A group that follows `state`; all of it happens at one moment.
    pub(crate) fn new(state: State, moment: Moment) -> Group {
        Group { state, moment, stored: Vec::new(), rows: None }
    }

    /// Takes a transaction in, or says why it may not happen; then the group is as it was.
    pub(crate) fn admit(&mut self, transaction: Transaction) -> Result<(), RefusedWhy> {
        if only_adds_rows(&transaction.ops) {
            return self.admit_rows(transaction);
        }
        self.close_rows()?;
        self.state = admit(&self.state, &transaction, self.moment)?;
        if !transaction.ops.is_empty() || !transaction.listed.is_empty() {
            self.stored.push(transaction);
        }
        Ok(())
    }

    /// The state after the group, and what of it is written: nothing if nobody changed anything.
    pub(crate) fn finish(mut self) -> Result<(State, Vec<Transaction>), RefusedWhy> {
        self.close_rows()?;
        self.state.advance(self.moment.seq);
        Ok((self.state, self.stored))
    }

    /// What rows need of the state (their table, its columns, an unused name) does not depend on rows before them, so
    /// those are applied later, all at once.
    fn admit_rows(&mut self, transaction: Transaction) -> Result<(), RefusedWhy> {
        for precondition in &transaction.preconditions {
            check_precondition(&self.state, precondition)?;
        }
        let nothing = Replaced::default();
        for op in &transaction.ops {
            check_op(&self.state, op, &transaction, self.moment, &nothing)?;
        }
        let pending = self.rows.get_or_insert_with(Rows::default);
        pending.ids.push(transaction.id);
        pending.is_sent |= transaction.sent_at.is_some();
        for op in transaction.ops {
            match op {
                Op::InlineRows { table, schema_version, rows, bytes } => {
                    pending.add(table, schema_version, rows, bytes);
                }
                name => {
                    self.state.apply_op(self.moment, &name, &nothing).map_err(unfit)?;
                    pending.names.push(name);
                }
            }
        }
        Ok(())
    }

    fn close_rows(&mut self) -> Result<(), RefusedWhy> {
        let Some(rows) = self.rows.take() else { return Ok(()) };
        let nothing = Replaced::default();
        let added: Vec<Op> = rows.tables.into_iter().map(TableRows::into_op).collect();
        for op in &added {
            self.state.apply_op(self.moment, op, &nothing).map_err(unfit)?;
        }
        let ops = rows.names.into_iter().chain(added).collect();
        let Some(id) = rows.ids.first().copied() else { return Ok(()) };
        // All of them: whoever reads the record sees whose rows are in it.
        let listed = if rows.is_sent { rows.ids } else { Vec::new() };
        self.stored.push(Transaction { listed, ..Transaction::new(id, self.state.seq(), ops) });
        Ok(())
    }
}

impl Rows {
    fn add(&mut self, table: TableId, schema_version: u32, rows: u64, bytes: Bytes) {
        let same = |of: &&mut TableRows| (of.table, of.schema_version) == (table, schema_version);
        match self.tables.iter_mut().find(same) {
            Some(of) => {
                of.rows += rows;
                of.statements.push(bytes);
            }
            None => self.tables.push(TableRows { table, schema_version, rows, statements: vec![bytes] }),
        }
    }
}

impl TableRows {
    fn into_op(mut self) -> Op {
        let bytes = match self.statements.as_mut_slice() {
            [only] => mem::take(only),
            several => {
                let mut joined = BytesMut::with_capacity(several.iter().map(Bytes::len).sum());
                several.iter().for_each(|bytes| joined.extend_from_slice(bytes));
                joined.freeze()
            }
        };
        Op::InlineRows { table: self.table, schema_version: self.schema_version, rows: self.rows, bytes }
    }
}

/// A transaction with two names of one kind could contradict itself, which only applying it op by op would show.
pub(crate) fn only_adds_rows(ops: &[Op]) -> bool {
    let count = |is_kind: fn(&Op) -> bool| ops.iter().filter(|op| is_kind(op)).count();
    let labels = count(|op| matches!(op, Op::Label { .. }));
    let tokens = count(|op| matches!(op, Op::DedupToken { .. }));
    let rows = count(|op| matches!(op, Op::InlineRows { .. }));
    rows > 0 && labels <= 1 && tokens <= 1 && labels + tokens + rows == ops.len()
}

fn unfit(error: crate::state::ApplyError) -> RefusedWhy {
    RefusedWhy::Invalid(error.problem)
}

#[cfg(test)]
mod tests;
