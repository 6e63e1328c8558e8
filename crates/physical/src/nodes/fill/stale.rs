//! Which rows WITH FILL .. STALENESS puts between the rows of a sorted input: pure, over the values of its one key.
//!
//! Invariant: rows are made on the steps from the first row of their range, and none that is further behind the row of the input
//! before it than the staleness. Of a range that begins without a value none is made.

use model::ColumnType;

use super::row::{Filling, Rule, Step};
use crate::nodes::cells::Cell;

/// So often a jump is lengthened or shortened at most; twice the bits of a number of steps are enough.
const JUMPS_MAX: usize = 200;

/// How rows are made.
#[derive(Debug)]
pub(crate) enum Course {
    Steps(Filling),
    Stale(Box<Stale>),
}

impl Course {
    pub(crate) fn new(rules: Vec<Rule>, types: &[ColumnType]) -> Course {
        match (rules.as_slice(), types) {
            ([Rule { stale: Some(stale), .. }], [column_type]) => {
                let stale = Stale::new(rules[0].clone(), stale.clone(), column_type.value_type());
                Course::Stale(Box::new(stale))
            }
            _ => Course::Steps(Filling::new(rules)),
        }
    }

    /// A row of the input comes; `first`: of its range.
    pub(crate) fn reach(&mut self, values: &[Cell], first: bool) {
        match self {
            Course::Steps(filling) => filling.reach(values, first),
            Course::Stale(stale) => stale.reach(values.first().copied().unwrap_or(Cell::Null), first),
        }
    }

    /// The range has no more rows.
    pub(crate) fn leave(&mut self) {
        match self {
            Course::Steps(filling) => filling.leave(),
            Course::Stale(stale) => stale.leave(),
        }
    }

    /// The next row that is missing before what was told last.
    pub(crate) fn missing(&mut self) -> Option<Vec<Cell>> {
        match self {
            Course::Steps(filling) => filling.missing(),
            Course::Stale(stale) => stale.missing().map(|made| vec![made]),
        }
    }
}

/// What was made last, and what comes next of the input.
#[derive(Debug)]
pub(crate) struct Stale {
    rule: Rule,
    stale: Step,
    /// There is nothing below 0.
    is_unsigned: bool,
    /// Values of the type, which begins anew behind its last, as in ClickHouse.
    values: Option<i128>,
    /// The row of the input that was reached and not passed yet.
    coming: Option<Cell>,
    starts: bool,
    /// The last step; NULL where there is none.
    made: Cell,
    /// The row of the input before.
    row: Cell,
    /// Where it is stale.
    border: Cell,
    /// The next row of the input; NULL behind the last.
    next: Cell,
}

impl Stale {
    fn new(rule: Rule, stale: Step, column_type: &ColumnType) -> Stale {
        use ColumnType::{Date, DateTime, UInt8, UInt16, UInt32, UInt64};
        let values = match column_type {
            Date => Some(1 << 16),
            DateTime { .. } => Some(1 << 32),
            _ => None,
        };
        Stale {
            rule,
            stale,
            is_unsigned: values.is_some() || matches!(column_type, UInt8 | UInt16 | UInt32 | UInt64),
            values,
            coming: None,
            starts: true,
            made: Cell::Null,
            row: Cell::Null,
            border: Cell::Null,
            next: Cell::Null,
        }
    }

    fn reach(&mut self, value: Cell, first: bool) {
        if first {
            (self.starts, self.made, self.border) = (true, Cell::Null, Cell::Null);
        } else {
            self.pass();
        }
        (self.coming, self.next) = (Some(value), value);
    }

    fn leave(&mut self) {
        self.pass();
        self.next = Cell::Null;
    }

    /// The row that was reached is the row before.
    fn pass(&mut self) {
        let Some(row) = self.coming.take() else { return };
        self.made = if self.starts { row } else { self.jumped(row) };
        self.starts = false;
        self.row = row;
        self.border = if is_endless(row) { Cell::Null } else { self.stale.later(row, 1) };
    }

    /// The last step before a row.
    fn jumped(&self, row: Cell) -> Cell {
        let (mut at, mut steps) = (self.made, 1_i64);
        if is_endless(row) {
            return at;
        }
        for _ in 0..JUMPS_MAX {
            if steps == 0 {
                break;
            }
            let next = self.rule.step.later(at, steps);
            if self.rule.before(next, row) {
                at = next;
                steps = steps.saturating_mul(2);
            } else {
                steps /= 2;
            }
        }
        at
    }

    fn missing(&mut self) -> Option<Cell> {
        loop {
            let made = self.rule.step.later(self.made, 1);
            let is_behind = |end: Cell| end != Cell::Null && !self.rule.before(made, end);
            let has_no_value = matches!(made, Cell::Whole(value) if self.is_unsigned && value < 0);
            if made == self.made
                || has_no_value
                || is_behind(self.rule.to)
                || is_behind(self.next)
                || is_endless(self.next)
                || !self.rule.before(made, self.border)
            {
                return None;
            }
            self.made = made;
            if self.rule.before(self.row, made) {
                return Some(match (made, self.values) {
                    (Cell::Whole(value), Some(values)) => Cell::Whole(value.rem_euclid(values)),
                    _ => made,
                });
            }
        }
    }
}

/// No step leads beyond it.
fn is_endless(value: Cell) -> bool {
    matches!(value, Cell::Float(value) if !value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows, those that are made in negative.
    fn filled(step: i128, stale: i128, to: Option<i128>, rows: &[i128]) -> Vec<i128> {
        let to = to.map_or(Cell::Null, Cell::Whole);
        let stale = Some(Step::Whole(stale));
        let rule = Rule { from: Cell::Null, to, step: Step::Whole(step), stale, descending: step < 0 };
        let mut course = Course::new(vec![rule], &[ColumnType::Int64]);
        let mut out = vec![];
        let take = |course: &mut Course, out: &mut Vec<i128>| {
            while let Some(made) = course.missing() {
                if let [Cell::Whole(value)] = made.as_slice() {
                    out.push(-value);
                }
            }
        };
        for (at, row) in rows.iter().enumerate() {
            course.reach(&[Cell::Whole(*row)], at == 0);
            take(&mut course, &mut out);
            out.push(*row);
        }
        course.leave();
        take(&mut course, &mut out);
        out
    }

    #[test]
    fn rows_are_made_until_they_are_stale() {
        assert_eq!(filled(1, 3, None, &[1, 2, 8]), [1, 2, -3, -4, 8, -9, -10]);
        assert_eq!(filled(3, 4, None, &[1, 9]), [1, -4, 9, -10]);
        assert_eq!(filled(-2, -5, None, &[20, 7]), [20, -18, -16, 7, -6, -4]);
        assert_eq!(filled(1, 9, Some(4), &[1]), [1, -2, -3]);
        assert_eq!(filled(1, 0, None, &[1, 4]), [1, 4]);
        assert_eq!(filled(1, 2, None, &[0, 1 << 62]), [0, -1, 1 << 62, -(1 << 62) - 1]);
        assert_eq!(filled(1, 2, Some(4), &[]), []);
    }
}
