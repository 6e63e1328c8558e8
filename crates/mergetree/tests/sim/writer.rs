//! Clients that insert: through the log or through parts, with a label or without.
//!
//! A statement through parts takes several steps, and others work between them. A client with labels repeats what
//! it has no answer to. Invariant: every answer is in the journal before the next step.

use std::collections::VecDeque;

use catalog::{CatalogError, CommitOutcome, Op, RefusedWhy, Transaction, default_database_id};
use mergetree::inline;
use mergetree::write::PartSink;
use model::SealedPart;

use crate::checker::{Answer, Journal};
use crate::machine::Database;
use crate::statement::{Dice, StatementId, batch};
use crate::tables::sink_settings;
use crate::tally::Tally;

pub(crate) struct Writer {
    client: u32,
    labelled: bool,
    through_parts: bool,
    next: u32,
    stage: Stage,
    /// Statements to be repeated.
    again: VecDeque<StatementId>,
}

enum Stage {
    Idle,
    Writing(StatementId, Box<PartSink>),
    Sealed(StatementId, Vec<SealedPart>),
}

impl Writer {
    pub(crate) fn new(client: u32, labelled: bool, through_parts: bool) -> Writer {
        Writer { client, labelled, through_parts, next: 1, stage: Stage::Idle, again: VecDeque::new() }
    }

    pub(crate) fn step(
        &mut self,
        db: &Database,
        journal: &mut Journal,
        dice: &mut Dice,
        tally: &mut Tally,
    ) -> Result<(), String> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Idle if self.through_parts => {
                let id = self.choose(journal, dice);
                self.begin(id, db, journal, dice)
            }
            Stage::Idle => {
                let id = self.choose(journal, dice);
                self.commit(self.inline(id, db, journal)?, db, journal, tally)
            }
            Stage::Writing(id, sink) => match sink.finish() {
                Ok(parts) => {
                    self.stage = Stage::Sealed(id, parts);
                    Ok(())
                }
                Err(error) => self.fail(id, "sealing parts", error, db, journal),
            },
            Stage::Sealed(_, parts) if dice.one_in(12) => {
                // The client went away.
                discard(db, &parts);
                Ok(())
            }
            Stage::Sealed(id, parts) => {
                self.commit(self.of_parts(id, parts, db, journal), db, journal, tally)
            }
        }
    }

    /// The next statement, if it is ready to be committed together with others.
    pub(crate) fn prepare(
        &mut self,
        db: &Database,
        journal: &mut Journal,
        dice: &mut Dice,
    ) -> Result<Option<Prepared>, String> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Idle if !self.through_parts => {
                let id = self.choose(journal, dice);
                self.inline(id, db, journal).map(Some)
            }
            Stage::Sealed(id, parts) => Ok(Some(self.of_parts(id, parts, db, journal))),
            other => {
                self.stage = other;
                Ok(None)
            }
        }
    }

    /// Takes note of the answer to a prepared statement.
    pub(crate) fn conclude(
        &mut self,
        prepared: Prepared,
        answer: Answer,
        db: &Database,
        journal: &mut Journal,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let Prepared { id, parts, .. } = prepared;
        journal.answer(id, answer)?;
        match answer {
            Answer::Ok => tally.acknowledged += 1,
            Answer::Recognised => tally.recognised += 1,
            Answer::Failed | Answer::Unknown if self.labelled => self.again.push_back(id),
            Answer::Failed | Answer::Unknown => {}
        }
        if matches!(answer, Answer::Failed | Answer::Recognised) {
            discard(db, &parts);
        }
        Ok(())
    }

    /// The connection is lost; a statement that was being prepared leaves no files and gets no answer.
    pub(crate) fn disconnect(&mut self, db: &Database) {
        let id = match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Idle => return,
            Stage::Writing(id, sink) => {
                sink.abort();
                id
            }
            Stage::Sealed(id, parts) => {
                discard(db, &parts);
                id
            }
        };
        if self.labelled {
            self.again.push_back(id);
        }
    }

    /// Repeats what is still to be repeated; each must be in at last.
    pub(crate) fn settle(
        &mut self,
        db: &Database,
        journal: &mut Journal,
        tally: &mut Tally,
    ) -> Result<(), String> {
        for id in std::mem::take(&mut self.again) {
            self.commit(self.inline(id, db, journal)?, db, journal, tally)?;
        }
        match self.again.front() {
            Some(id) => Err(format!("{id:?} cannot be repeated")),
            None => Ok(()),
        }
    }

    fn choose(&mut self, journal: &mut Journal, dice: &mut Dice) -> StatementId {
        if dice.one_in(2)
            && let Some(id) = self.again.pop_front()
        {
            return id;
        }
        let id = StatementId { client: self.client, number: self.next };
        self.next += 1;
        let rows = 1 + dice.below(if self.through_parts { 40 } else { 6 });
        journal.add(id, rows as u32, self.labelled);
        id
    }

    fn begin(
        &mut self,
        id: StatementId,
        db: &Database,
        journal: &mut Journal,
        dice: &mut Dice,
    ) -> Result<(), String> {
        let mut settings = sink_settings(&db.host().memory);
        if dice.one_in(3) {
            settings.block_rows_min = 8;
        }
        let rows = journal.rows(id);
        let written = PartSink::new(db.table.clone(), settings).and_then(|mut sink| {
            for piece in rows.chunks(10) {
                sink.write(batch(&db.table.def, piece))?;
            }
            Ok(sink)
        });
        match written {
            Ok(sink) => {
                self.stage = Stage::Writing(id, Box::new(sink));
                Ok(())
            }
            Err(error) => self.fail(id, "writing parts", error, db, journal),
        }
    }

    fn fail(
        &mut self,
        id: StatementId,
        what: &str,
        error: impl std::fmt::Display,
        db: &Database,
        journal: &mut Journal,
    ) -> Result<(), String> {
        db.excuse(what, error)?;
        if self.labelled {
            self.again.push_back(id);
        }
        journal.answer(id, Answer::Failed)
    }

    fn inline(&self, id: StatementId, db: &Database, journal: &Journal) -> Result<Prepared, String> {
        let def = &db.table.def;
        let rows = journal.rows(id);
        let bytes = inline::encode(def, &batch(def, &rows)).map_err(|error| error.to_string())?;
        let (table, schema_version, rows) = (def.id, def.schema_version, rows.len() as u64);
        let ops = vec![Op::InlineRows { table, schema_version, rows, bytes }];
        Ok(Prepared { id, rows, ops: self.named(id, rows, ops, db, journal), parts: Vec::new() })
    }

    fn of_parts(
        &self,
        id: StatementId,
        parts: Vec<SealedPart>,
        db: &Database,
        journal: &Journal,
    ) -> Prepared {
        let rows = journal.rows(id).len() as u64;
        let ops = parts.iter().cloned().map(Op::AddPart).collect();
        Prepared { id, rows, ops: self.named(id, rows, ops, db, journal), parts }
    }

    /// With the label in front, if the client uses labels.
    fn named(
        &self,
        id: StatementId,
        rows: u64,
        mut ops: Vec<Op>,
        db: &Database,
        journal: &Journal,
    ) -> Vec<Op> {
        let forgets = journal.tried(id) && db.host().faults.planted("statement.repeated_without_label");
        if self.labelled && !forgets {
            let (database, label, fingerprint) = (default_database_id(), id.label(), id.fingerprint());
            ops.insert(0, Op::Label { database, label, fingerprint, rows });
        }
        ops
    }

    fn commit(
        &mut self,
        prepared: Prepared,
        db: &Database,
        journal: &mut Journal,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let outcome = db.catalog().commit(transaction(db, prepared.ops.clone()));
        let answer = prepared.answer(db, outcome)?;
        self.conclude(prepared, answer, db, journal, tally)
    }
}

/// A statement on its way into the log.
#[derive(Clone)]
pub(crate) struct Prepared {
    id: StatementId,
    rows: u64,
    pub(crate) ops: Vec<Op>,
    parts: Vec<SealedPart>,
}

impl Prepared {
    /// Whether it could be sent once more at the same time and be recognised.
    pub(crate) fn may_be_doubled(&self) -> bool {
        self.parts.is_empty() && matches!(self.ops.first(), Some(Op::Label { .. }))
    }

    /// Takes note of the answer to the same statement, sent once more at the same time.
    pub(crate) fn conclude_repetition(self, answer: Answer, journal: &mut Journal) -> Result<(), String> {
        journal.answer(self.id, answer)
    }

    /// What the client is told.
    pub(crate) fn answer(&self, db: &Database, outcome: Outcome) -> Result<Answer, String> {
        match outcome {
            Ok(CommitOutcome::Refused(RefusedWhy::LabelExists { same_statement: true, rows, .. })) => {
                match rows == self.rows {
                    true => Ok(Answer::Recognised),
                    false => Err(format!("{:?} is remembered with {rows} rows, not {}", self.id, self.rows)),
                }
            }
            other => answer(db, &format!("{:?}", self.id), other),
        }
    }
}

/// What the catalog says of a transaction.
pub(crate) type Outcome = Result<CommitOutcome, CatalogError>;

pub(crate) fn transaction(db: &Database, ops: Vec<Op>) -> Transaction {
    Transaction::new(db.catalog().transaction_id(), db.catalog().seq(), ops)
}

/// What a client is told who does not repeat anything.
pub(crate) fn answer(db: &Database, what: &str, outcome: Outcome) -> Result<Answer, String> {
    match outcome {
        Ok(CommitOutcome::Committed(_)) => Ok(Answer::Ok),
        Ok(CommitOutcome::Refused(why)) => Err(format!("{what} was refused: {why}")),
        Ok(CommitOutcome::Unknown(why)) => db.excuse(what, why).map(|()| Answer::Unknown),
        Err(error) => db.excuse(what, error).map(|()| Answer::Failed),
    }
}

/// What a failed statement wrote; what cannot be deleted is found at the next open.
fn discard(db: &Database, parts: &[SealedPart]) {
    for part in parts {
        let _ = db.table.store.delete(part.descriptor());
    }
}
