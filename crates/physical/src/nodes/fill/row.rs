//! Which rows WITH FILL puts between the rows of a sorted input: pure, over the values of the filled keys alone.
//!
//! Invariant: rows are made in the order of the keys, each behind the one before, and none at or beyond TO. A value
//! without a meaning here (NULL, NaN) is beyond comparison: its key is passed over, as in ClickHouse.

use chrono_tz::Tz;
use functions::Stride;
use model::ColumnType;

use crate::nodes::cells::Cell;

/// From one value to the next.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    Whole(i128),
    Float(f64),
    /// A time of this type an interval later.
    Time(Stride, ColumnType, Tz),
}

impl Step {
    /// The value so many steps later; NULL where the type ends.
    pub(crate) fn later(&self, value: Cell, steps: i64) -> Cell {
        let later = match (value, self) {
            (Cell::Whole(value), Step::Whole(step)) => {
                step.checked_mul(i128::from(steps)).and_then(|by| value.checked_add(by)).map(Cell::Whole)
            }
            (Cell::Float(value), Step::Float(step)) => Some(Cell::Float(value + step * steps as f64)),
            (Cell::Whole(value), Step::Time(stride, column_type, zone)) => i64::try_from(value)
                .ok()
                .and_then(|value| stride.times(steps)?.after(value, column_type, *zone))
                .map(|value| Cell::Whole(i128::from(value))),
            _ => None,
        };
        later.unwrap_or(Cell::Null)
    }
}

/// How one key is filled.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rule {
    pub from: Cell,
    pub to: Cell,
    pub step: Step,
    /// How far behind a row of the input rows are made.
    pub stale: Option<Step>,
    pub descending: bool,
}

impl Rule {
    pub(super) fn before(&self, one: Cell, other: Cell) -> bool {
        let (one, other) = if self.descending { (other, one) } else { (one, other) };
        match (one, other) {
            (Cell::Whole(one), Cell::Whole(other)) => one < other,
            (Cell::Float(one), Cell::Float(other)) => one < other,
            _ => false,
        }
    }

    /// The value a step later; NULL where the type ends.
    fn after(&self, value: Cell) -> Cell {
        self.step.later(value, 1)
    }
}

/// What was made last, and what comes next of the input.
#[derive(Debug)]
pub(crate) struct Filling {
    rules: Vec<Rule>,
    row: Vec<Cell>,
    next: Vec<Cell>,
    /// The row itself was put out, or stands in the input.
    inserted: bool,
    /// Rows to put out before those that steps make.
    pending: Vec<Vec<Cell>>,
    /// A step was made and not yet put out.
    changed: bool,
}

impl Filling {
    pub(crate) fn new(rules: Vec<Rule>) -> Filling {
        let nothing = vec![Cell::Null; rules.len()];
        let mut filling = Filling {
            row: nothing.clone(),
            next: nothing,
            rules,
            inserted: false,
            pending: vec![],
            changed: false,
        };
        filling.start_over(0);
        filling
    }

    /// A row of the input comes; `first`: of its range.
    pub(crate) fn reach(&mut self, values: &[Cell], first: bool) {
        self.pending.clear();
        if first {
            self.enter(values);
        }
        let may_insert = self.is_before(&self.next, &self.row) || is_nothing(&self.row);
        for ((next, value), rule) in self.next.iter_mut().zip(values).zip(&self.rules) {
            let within = rule.to == Cell::Null || rule.before(*value, rule.to);
            *next = if within { *value } else { rule.to };
        }
        if may_insert && self.is_before(&self.row, &self.next) {
            self.pending.push(self.row.clone());
            self.inserted = true;
        }
        self.changed = false;
    }

    /// A range begins at its first row: at FROM, where that is given.
    fn enter(&mut self, values: &[Cell]) {
        for (at, value) in values.iter().enumerate() {
            let from = self.rules[at].from;
            if from != Cell::Null && *value != from {
                self.start_over(at);
                self.inserted = false;
                if self.rules[at].before(from, *value) {
                    self.pending.push(self.row.clone());
                    self.inserted = true;
                }
                return;
            }
            self.row[at] = *value;
        }
    }

    /// The range has no more rows: what is left goes up to TO.
    pub(crate) fn leave(&mut self) {
        self.pending.clear();
        let may_insert = self.is_before(&self.next, &self.row) && !self.inserted || is_nothing(&self.next);
        for (next, rule) in self.next.iter_mut().zip(&self.rules) {
            *next = rule.to;
        }
        if may_insert && self.is_before(&self.row, &self.next) {
            self.pending.push(self.row.clone());
        }
        self.changed = false;
    }

    /// The next row that is missing before what [`Filling::reach`] or [`Filling::leave`] was told.
    pub(crate) fn missing(&mut self) -> Option<Vec<Cell>> {
        if !self.pending.is_empty() {
            return Some(self.pending.remove(0));
        }
        self.changed = false;
        if self.step() {
            self.changed = false;
            return Some(self.row.clone());
        }
        if self.changed {
            self.inserted = false;
        }
        None
    }

    fn start_over(&mut self, from: usize) {
        for (value, rule) in self.row.iter_mut().zip(&self.rules).skip(from) {
            *value = rule.from;
        }
    }

    /// Moves on; false when the next row of the input, or TO, is reached.
    fn step(&mut self) -> bool {
        let differs = |at: &usize| {
            let (row, next) = (self.row[*at], self.next[*at]);
            row != Cell::Null && next != Cell::Null && row != next
        };
        let Some(at) = (0..self.rules.len()).find(differs) else { return false };
        let rule = &self.rules[at];
        if rule.to != Cell::Null && !rule.before(self.row[at], rule.to) {
            return false;
        }
        // A later key that has an end is filled up to it first.
        for later in (at + 1..self.rules.len()).rev() {
            let rule = &self.rules[later];
            if rule.to == Cell::Null || self.row[later] == Cell::Null {
                continue;
            }
            let value = rule.after(self.row[later]);
            if rule.before(value, rule.to) {
                self.row[later] = value;
                self.start_over(later + 1);
                self.changed = true;
                return true;
            }
        }
        let value = rule.after(self.row[at]);
        if value == Cell::Null || rule.before(self.next[at], value) || value == rule.to {
            return false;
        }
        self.row[at] = value;
        self.changed = true;
        if value == self.next[at] {
            let mut is_before = false;
            for later in at + 1..self.rules.len() {
                let from = self.rules[later].from;
                self.row[later] = if from == Cell::Null { self.next[later] } else { from };
                is_before |= self.rules[later].before(self.row[later], self.next[later]);
            }
            return is_before;
        }
        self.start_over(at + 1);
        true
    }

    fn is_before(&self, one: &[Cell], other: &[Cell]) -> bool {
        for ((one, other), rule) in one.iter().zip(other).zip(&self.rules) {
            if *one != Cell::Null && *other != Cell::Null && one != other {
                return rule.before(*one, *other);
            }
        }
        false
    }
}

fn is_nothing(row: &[Cell]) -> bool {
    row.iter().all(|value| *value == Cell::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(from: Option<i128>, to: Option<i128>, step: i128) -> Rule {
        let cell = |value: Option<i128>| value.map_or(Cell::Null, Cell::Whole);
        Rule { from: cell(from), to: cell(to), step: Step::Whole(step), stale: None, descending: step < 0 }
    }

    /// All rows, those of the input and those that are made.
    fn filled(rules: Vec<Rule>, rows: &[&[i128]]) -> Vec<Vec<i128>> {
        let shown = |row: &[Cell]| {
            row.iter().map(|cell| if let Cell::Whole(value) = cell { *value } else { -1 }).collect::<Vec<_>>()
        };
        let (mut filling, mut out) = (Filling::new(rules), vec![]);
        for (at, row) in rows.iter().enumerate() {
            let row: Vec<Cell> = row.iter().map(|value| Cell::Whole(*value)).collect();
            filling.reach(&row, at == 0);
            while let Some(made) = filling.missing() {
                out.push(shown(&made));
            }
            out.push(shown(&row));
        }
        filling.leave();
        while let Some(made) = filling.missing() {
            out.push(shown(&made));
        }
        out
    }

    fn one(rule: Rule, rows: &[i128]) -> Vec<i128> {
        let rows: Vec<Vec<i128>> = rows.iter().map(|value| vec![*value]).collect();
        let rows: Vec<&[i128]> = rows.iter().map(Vec::as_slice).collect();
        filled(vec![rule], &rows).concat()
    }

    #[test]
    fn rows_between_are_made() {
        assert_eq!(one(whole(None, None, 1), &[1, 5, 6]), [1, 2, 3, 4, 5, 6]);
        assert_eq!(one(whole(None, None, 2), &[1, 4]), [1, 3, 4]);
        assert_eq!(one(whole(None, None, -1), &[5, 3]), [5, 4, 3]);
        assert_eq!(one(whole(Some(0), Some(4), 1), &[1]), [0, 1, 2, 3]);
        assert_eq!(one(whole(Some(0), Some(3), 1), &[]), [0, 1, 2]);
        assert_eq!(one(whole(None, Some(20), 3), &[1, 5, 9]), [1, 4, 5, 7, 9, 10, 13, 16, 19]);
        assert_eq!(one(whole(Some(3), None, 1), &[1, 5]), [1, 3, 4, 5]);
        assert_eq!(one(whole(None, None, 1), &[]), []);
    }

    #[test]
    fn later_keys_go_up_to_their_end() {
        let rules = vec![whole(Some(0), Some(2), 1), whole(Some(0), Some(3), 2)];
        assert_eq!(filled(rules, &[&[0, 0], &[1, 2]]), [[0, 0], [0, 2], [1, 0], [1, 2]]);
    }
}
