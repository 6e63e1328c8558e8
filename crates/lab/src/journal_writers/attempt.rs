//! What a writer sends: one statement for a seed, a writer and a sequence number, the same whenever it is asked for.
//!
//! Pure. Invariant: every column of a row follows from (client, sequence, row), so rows that were lost, doubled, torn or
//! mixed are told apart by looking at the table alone.

use std::fmt::Write;

use model::mix64::{STEP, mix64};

pub(super) const CREATE: &str = "CREATE TABLE IF NOT EXISTS t \
    (client UInt64, sequence UInt64, row UInt64, day Date, hash UInt64, payload String) \
    ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (client, sequence, row)";

const VALUES_ROWS_MAX: u64 = 20;
const SELECT_ROWS_MAX: u64 = 2_000;

/// `hash = (client * A + sequence * B + row * C) % P`; `tests/crash/labels9.py` has the same numbers.
const CLIENT_FACTOR: u64 = 1_000_003;
const SEQUENCE_FACTOR: u64 = 7_919;
const ROW_FACTOR: u64 = 2_654_435_761;
const PRIME: u64 = 4_294_967_291;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A few rows that go into the log.
    Values,
    /// Rows that go through sinks into parts.
    Select,
    /// The same statement twice at once, as a client does that lost patience.
    Twice,
    /// Its last row cannot be read: all of it must be absent.
    Broken,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Values => "values",
            Kind::Select => "select",
            Kind::Twice => "twice",
            Kind::Broken => "broken",
        }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    client: u64,
    sequence: u64,
    pub(super) kind: Kind,
    pub(super) rows: u64,
}

impl Attempt {
    pub(super) fn of(seed: u64, client: u64, sequence: u64) -> Attempt {
        let dice = mixed(seed ^ mixed(client ^ mixed(sequence)));
        let kind = match dice % 100 {
            0..=4 => Kind::Select,
            5..=7 => Kind::Broken,
            8..=17 => Kind::Twice,
            _ => Kind::Values,
        };
        let rows_max = if kind == Kind::Select { SELECT_ROWS_MAX } else { VALUES_ROWS_MAX };
        Attempt { client, sequence, kind, rows: 1 + (dice >> 8) % rows_max }
    }

    pub(super) fn label(&self) -> String {
        format!("writer{}_{}", self.client, self.sequence)
    }

    /// Sum of the hashes of all rows.
    pub(super) fn hash_sum(&self) -> u64 {
        (0..self.rows).map(|row| self.hash(row)).sum()
    }

    fn hash(&self, row: u64) -> u64 {
        (self.client * CLIENT_FACTOR + self.sequence * SEQUENCE_FACTOR + row * ROW_FACTOR) % PRIME
    }

    pub(super) fn sql(&self) -> String {
        let insert = format!("INSERT INTO t WITH LABEL {}", self.label());
        let (client, sequence) = (self.client, self.sequence);
        if self.kind == Kind::Select {
            let before = client * CLIENT_FACTOR + sequence * SEQUENCE_FACTOR;
            let hash = format!("({before} + number * {ROW_FACTOR}) % {PRIME}");
            return format!(
                "{insert} SELECT {client}, {sequence}, number, toDate('2020-01-01') + (number % 170), {hash}, \
                 concat('payload ', toString({hash})) FROM numbers({})",
                self.rows
            );
        }
        let mut sql = format!("{insert} VALUES ");
        for row in 0..self.rows {
            let (comma, hash) = (if row == 0 { "" } else { ", " }, self.hash(row));
            let day = match self.kind == Kind::Broken && row + 1 == self.rows {
                true => "never".to_owned(),
                false => format!("2020-0{}-01", row % 6 + 1),
            };
            // Writing to a String cannot fail.
            let _ = write!(sql, "{comma}({client}, {sequence}, {row}, '{day}', {hash}, 'payload {hash}')");
        }
        sql
    }
}

/// A number that looks like dice.
pub(super) fn mixed(number: u64) -> u64 {
    mix64(number.wrapping_add(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_the_same_whenever_it_is_asked_for() {
        for sequence in 0..100 {
            let attempt = Attempt::of(7, 3, sequence);
            assert_eq!(attempt, Attempt::of(7, 3, sequence));
            assert_eq!(attempt.sql(), Attempt::of(7, 3, sequence).sql());
            assert!(attempt.rows >= 1);
        }
        assert_ne!(
            (0..20).map(|s| Attempt::of(7, 3, s).rows).collect::<Vec<_>>(),
            (0..20).map(|s| Attempt::of(8, 3, s).rows).collect::<Vec<_>>()
        );
    }

    #[test]
    fn every_kind_comes_up() {
        let kinds: Vec<Kind> = (0..1000).map(|sequence| Attempt::of(1, 0, sequence).kind).collect();
        for kind in [Kind::Values, Kind::Select, Kind::Twice, Kind::Broken] {
            assert!(kinds.contains(&kind), "{}", kind.name());
        }
    }

    #[test]
    fn the_text_names_its_label_and_its_rows() {
        let values = Attempt { client: 1, sequence: 2, kind: Kind::Values, rows: 2 };
        assert_eq!(
            values.sql(),
            "INSERT INTO t WITH LABEL writer1_2 VALUES (1, 2, 0, '2020-01-01', 1015841, 'payload 1015841'), \
             (1, 2, 1, '2020-02-01', 2655451602, 'payload 2655451602')"
        );
        assert_eq!(values.hash_sum(), 1_015_841 + 2_655_451_602);
        let broken = Attempt { kind: Kind::Broken, rows: 1, ..values };
        assert!(broken.sql().contains("'never'"));
        let select = Attempt { kind: Kind::Select, rows: 5, ..values };
        assert!(select.sql().ends_with("FROM numbers(5)"), "{}", select.sql());
    }
}
