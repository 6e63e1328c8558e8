//! What a load is going to do, decided before anything runs.
//!
//! Invariant: a plan is data; making one twice from the same listing gives the same plan.

use crate::units::Unit;

/// The units of one load and their sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadPlan {
    units: Vec<Unit>,
    pub bytes_total: u64,
    /// `None` when a format without a row count takes part.
    pub rows_total: Option<u64>,
}

impl LoadPlan {
    pub fn new(units: Vec<Unit>) -> LoadPlan {
        let bytes_total = units.iter().map(|unit| unit.bytes).sum();
        let rows_total = units.iter().map(|unit| unit.rows).sum();
        LoadPlan { units, bytes_total, rows_total }
    }

    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Order in which units are handed out: in listing order, but the largest of the last `tail` units first, so that
    /// rows keep the order of their files and no worker is left with a big unit at the end.
    pub fn hand_out_order(&self, tail: usize) -> Vec<Unit> {
        let mut order = self.units.clone();
        let split = order.len().saturating_sub(tail);
        order[split..].sort_by_key(|unit| std::cmp::Reverse(unit.bytes));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::UnitId;

    fn unit(id: u32, bytes: u64, rows: Option<u64>) -> Unit {
        Unit { id: UnitId(id), file: id, bytes, rows }
    }

    #[test]
    fn sums_and_order() {
        let plan = LoadPlan::new(vec![unit(0, 9, Some(1)), unit(1, 1, Some(2)), unit(2, 5, Some(3))]);
        assert_eq!((plan.bytes_total, plan.rows_total), (15, Some(6)));
        let order: Vec<u32> = plan.hand_out_order(2).iter().map(|unit| unit.id.0).collect();
        assert_eq!(order, [0, 2, 1]);
        assert_eq!(LoadPlan::new(vec![unit(0, 1, Some(1)), unit(1, 1, None)]).rows_total, None);
    }
}
