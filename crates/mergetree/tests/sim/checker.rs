//! The journal of what clients were told, and the check of what is there against it.
//!
//! Invariant: a statement that was answered `ok` is there once, whole and in its place; one that failed is not
//! there; one whose outcome is unknown is there whole or not at all, and once it has been looked for after a
//! restart, for good. Must not know: how rows are kept.

use std::collections::BTreeMap;

use crate::statement::{Row, StatementId};

/// What a client was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    Ok,
    /// The label was seen before: the statement is in.
    Recognised,
    Failed,
    Unknown,
}

/// What is known of a statement. The numbers are those of attempts to commit, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Absent,
    Open(u64),
    Present(u64),
    /// It was there until the table was truncated, and its label is still known.
    Truncated,
}

#[derive(Debug)]
struct Statement {
    rows: u32,
    labelled: bool,
    tried: bool,
    fate: Fate,
}

/// Rows that stand together: a part or an inline statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    /// The first and last block number.
    pub(crate) blocks: (u64, u64),
    pub(crate) rows: Vec<Row>,
}

/// How often each row of each statement was read.
type Counts = BTreeMap<StatementId, BTreeMap<u32, u32>>;

/// How many statements whose outcome was unknown were found, and how many not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Settled {
    pub(crate) kept: u64,
    pub(crate) gone: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Journal {
    statements: BTreeMap<StatementId, Statement>,
    attempts: u64,
    /// The attempt of a truncation whose outcome is unknown.
    truncation_open: Option<u64>,
}

impl Journal {
    pub(crate) fn add(&mut self, id: StatementId, rows: u32, labelled: bool) {
        self.statements.insert(id, Statement { rows, labelled, tried: false, fate: Fate::Absent });
    }

    pub(crate) fn rows(&self, id: StatementId) -> Vec<Row> {
        let rows = self.statements.get(&id).map_or(0, |statement| statement.rows);
        (0..rows).map(|row| Row::of(id, row)).collect()
    }

    /// Has the client been told anything of this statement?
    pub(crate) fn tried(&self, id: StatementId) -> bool {
        self.statements.get(&id).is_some_and(|statement| statement.tried)
    }

    /// Labelled statements, and whether they are there for certain, or are not.
    pub(crate) fn labelled(&self) -> impl Iterator<Item = (StatementId, Option<bool>)> {
        let labelled = self.statements.iter().filter(|(_, statement)| statement.labelled);
        labelled.map(|(id, statement)| match statement.fate {
            Fate::Absent => (*id, Some(false)),
            Fate::Present(_) | Fate::Truncated => (*id, Some(true)),
            Fate::Open(_) => (*id, None),
        })
    }

    /// Writes down the answer to an attempt to commit.
    pub(crate) fn answer(&mut self, id: StatementId, answer: Answer) -> Result<(), String> {
        self.attempts += 1;
        let Some(statement) = self.statements.get_mut(&id) else {
            return Err(format!("{id:?} was never begun"));
        };
        statement.tried = true;
        statement.fate = match (answer, statement.fate) {
            // An unknown one may have been refused for its label in a group that failed.
            (Answer::Ok, Fate::Present(_) | Fate::Truncated) => {
                return Err(format!("{id:?} was there and has been written once more"));
            }
            (Answer::Ok, _) => Fate::Present(self.attempts),
            (Answer::Unknown, Fate::Absent) => Fate::Open(self.attempts),
            (Answer::Recognised, Fate::Absent) => {
                return Err(format!("{id:?} is said to be there and is not"));
            }
            (Answer::Recognised, Fate::Open(at)) => Fate::Present(at),
            (_, fate) => fate,
        };
        Ok(())
    }

    /// Writes down the answer to a truncation.
    pub(crate) fn truncate(&mut self, answer: Answer) {
        self.attempts += 1;
        match answer {
            Answer::Ok => self.forget_rows(),
            Answer::Unknown => self.truncation_open = Some(self.attempts),
            Answer::Recognised | Answer::Failed => {}
        }
    }

    fn forget_rows(&mut self) {
        for statement in self.statements.values_mut() {
            if let Fate::Present(_) = statement.fate {
                statement.fate = Fate::Truncated;
            }
        }
    }

    /// Holds what was read against what was answered.
    pub(crate) fn check(&self, sources: &[Source]) -> Result<(), String> {
        let counts = self.count(sources)?;
        for (id, statement) in &self.statements {
            let found = counts.get(id);
            let (wanted, allowed) = match statement.fate {
                Fate::Absent | Fate::Truncated => (false, false),
                Fate::Open(_) => (false, true),
                Fate::Present(_) => (true, true),
            };
            match found {
                None if wanted => return Err(format!("{id:?} was acknowledged and is lost")),
                None => {}
                Some(_) if !allowed => return Err(format!("{id:?} did not happen and is there")),
                Some(rows) => whole(*id, statement.rows, rows)?,
            }
        }
        self.check_order(sources)?;
        check_blocks(sources)
    }

    /// After a restart it is known whether the one record in doubt is there: then everything that waited for it has
    /// happened, for good, and otherwise nothing of it.
    pub(crate) fn settle(&mut self, is_there: bool) -> Settled {
        let truncation = self.truncation_open.take().filter(|_| is_there);
        if truncation.is_some() {
            self.forget_rows();
        }
        let mut settled = Settled::default();
        for statement in self.statements.values_mut() {
            let Fate::Open(at) = statement.fate else { continue };
            settled.kept += u64::from(is_there);
            settled.gone += u64::from(!is_there);
            statement.fate = match is_there {
                true if truncation.is_some_and(|truncation| at < truncation) => Fate::Truncated,
                true => Fate::Present(at),
                false => Fate::Absent,
            };
        }
        settled
    }

    /// How often each row of each statement was read.
    fn count(&self, sources: &[Source]) -> Result<Counts, String> {
        let mut counts = Counts::new();
        for (source, row) in
            sources.iter().flat_map(|source| source.rows.iter().map(move |row| (source, row)))
        {
            if !self.statements.contains_key(&row.statement) || *row != Row::of(row.statement, row.row) {
                return Err(format!("{} has a row nobody wrote: {row:?}", source.name));
            }
            *counts.entry(row.statement).or_default().entry(row.row).or_default() += 1;
        }
        Ok(counts)
    }

    /// Among rows of one partition and key, the earlier statement comes first, and in it the earlier row.
    fn check_order(&self, sources: &[Source]) -> Result<(), String> {
        let mut last: BTreeMap<(u8, u8), (u64, u32)> = BTreeMap::new();
        let rows = sources.iter().flat_map(|source| source.rows.iter().map(move |row| (source, row)));
        for (source, row) in rows {
            let fate = self.statements.get(&row.statement).map(|statement| statement.fate);
            let Some(Fate::Open(at) | Fate::Present(at)) = fate else { continue };
            let place = (at, row.row);
            if last.get(&(row.partition, row.key)).is_some_and(|before| *before >= place) {
                let (name, id) = (&source.name, row.statement);
                return Err(format!("{name} has row {} of {id:?} behind one that came later", row.row));
            }
            last.insert((row.partition, row.key), place);
        }
        Ok(())
    }
}

fn whole(id: StatementId, rows: u32, found: &BTreeMap<u32, u32>) -> Result<(), String> {
    if let Some((row, times)) = found.iter().find(|(_, times)| **times > 1) {
        return Err(format!("row {row} of {id:?} is there {times} times"));
    }
    match found.len() == rows as usize {
        true => Ok(()),
        false => Err(format!("{} of {rows} rows of {id:?} are there", found.len())),
    }
}

/// Sources of a partition, which come by their first block, do not reach into each other.
fn check_blocks(sources: &[Source]) -> Result<(), String> {
    let mut last: BTreeMap<u8, (u64, &str)> = BTreeMap::new();
    for source in sources {
        let mut partitions: Vec<u8> = source.rows.iter().map(|row| row.partition).collect();
        partitions.sort_unstable();
        partitions.dedup();
        for partition in partitions {
            let before = last.insert(partition, (source.blocks.1, &source.name));
            if let Some((_, name)) = before.filter(|(block, _)| *block >= source.blocks.0) {
                return Err(format!("{} reaches into the blocks of {name}", source.name));
            }
        }
    }
    Ok(())
}

#[test]
fn the_checker_tells_loss_doubling_tearing_and_disorder_apart() {
    let id = |number| StatementId { client: 1, number };
    let source = |block: u64, of: &[(u32, u32)]| Source {
        name: format!("block {block}"),
        blocks: (block, block),
        rows: of.iter().map(|(number, row)| Row::of(id(*number), *row)).collect(),
    };
    let mut journal = Journal::default();
    (1..=3).for_each(|number| journal.add(id(number), 2, true));
    journal.answer(id(1), Answer::Ok).unwrap();
    journal.answer(id(2), Answer::Unknown).unwrap();
    journal.answer(id(3), Answer::Failed).unwrap();
    let one = source(1, &[(1, 0), (1, 1)]);
    let check = |sources: &[Source]| journal.check(sources).err().unwrap_or_default();
    assert_eq!(check(std::slice::from_ref(&one)), "");
    assert_eq!(check(&[one.clone(), source(2, &[(2, 0), (2, 1)])]), "");
    assert!(check(&[]).contains("is lost"));
    assert!(check(&[one.clone(), source(2, &[(2, 0)])]).contains("1 of 2 rows"));
    assert!(check(&[one.clone(), source(2, &[(1, 0)])]).contains("2 times"));
    assert!(check(&[one.clone(), source(2, &[(3, 0), (3, 1)])]).contains("did not happen"));
    assert!(check(&[one.clone(), source(2, &[(4, 0)])]).contains("nobody wrote"));
    assert!(check(&[one.clone(), source(1, &[(2, 0), (2, 1)])]).contains("reaches into"));
    // Rows of one key and partition, in the wrong order.
    let wide: Vec<u32> = (0..40).filter(|row| Row::of(id(5), *row).key == 0).collect();
    journal.add(id(5), 40, false);
    journal.answer(id(5), Answer::Ok).unwrap();
    let same = |row: &&u32| Row::of(id(5), **row).partition == 0;
    let two: Vec<u32> = wide.iter().filter(same).take(2).copied().collect();
    let swapped = source(3, &[(5, two[1]), (5, two[0])]);
    assert!(journal.check_order(&[swapped]).unwrap_err().contains("came later"));
    assert!(journal.answer(id(1), Answer::Ok).unwrap_err().contains("once more"));
    // A record in doubt is there with everything in it: statements, a truncation, what came behind.
    journal.truncate(Answer::Unknown);
    journal.add(id(6), 1, true);
    journal.answer(id(6), Answer::Unknown).unwrap();
    assert_eq!(journal.settle(true), Settled { kept: 2, gone: 0 });
    journal.check(&[source(4, &[(6, 0)])]).unwrap();
    assert!(journal.check(&[one]).unwrap_err().contains("did not happen"));
    assert!(journal.check(&[]).unwrap_err().contains("is lost"));
    assert!(journal.answer(id(3), Answer::Recognised).unwrap_err().contains("is not"));
}
