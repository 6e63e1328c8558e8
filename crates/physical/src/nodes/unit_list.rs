//! The units of a load as far as they are known: a list that only grows.
//!
//! Invariant: a unit keeps its number and never changes. Must not know: who reads units, who finds them.

use std::sync::Arc;

use parking_lot::RwLock;
use sources::SourceUnit;

/// Shared by all who read one load in this process.
#[derive(Debug, Default)]
pub struct UnitList {
    known: RwLock<Arc<Vec<SourceUnit>>>,
    /// About how many more will be found, and their bytes.
    more: (usize, u64),
}

impl UnitList {
    pub fn new(units: Vec<SourceUnit>) -> UnitList {
        UnitList::growing(units, (0, 0))
    }

    /// A list to which about so many units of so many bytes in all will be added.
    pub fn growing(units: Vec<SourceUnit>, more: (usize, u64)) -> UnitList {
        UnitList { known: RwLock::new(Arc::new(units)), more }
    }

    pub fn all(&self) -> Arc<Vec<SourceUnit>> {
        Arc::clone(&self.known.read())
    }

    pub fn len(&self) -> usize {
        self.known.read().len()
    }

    pub fn is_empty(&self) -> bool {
        self.known.read().is_empty()
    }

    pub fn get(&self, number: usize) -> Option<SourceUnit> {
        self.known.read().get(number).cloned()
    }

    /// Units that are numbered from `first` on. Several may find the same ones at a time: what is known by now is left out, and
    /// nothing is added behind a gap.
    pub fn add(&self, first: usize, units: &[SourceUnit]) {
        let mut known = self.known.write();
        let new = known.len().checked_sub(first).and_then(|seen| units.get(seen..));
        if let Some(new) = new {
            Arc::make_mut(&mut *known).extend_from_slice(new);
        }
    }

    /// Units and their bytes, known or not.
    pub(crate) fn outlook(&self) -> (usize, u64) {
        let known = self.all();
        let bytes = known.iter().fold(0, |sum: u64, unit| sum.saturating_add(unit.bytes));
        let (count, expected) = self.more;
        (known.len().max(count), bytes.max(expected))
    }
}

/// How many units of `bytes_each` so many bytes are.
pub fn units_in(bytes: u64, bytes_each: u64) -> u64 {
    bytes.div_ceil(bytes_each.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(bytes: u64) -> SourceUnit {
        SourceUnit { file: 0, row_groups: None, range: Some(0..bytes), bytes, rows: None, share: None }
    }

    #[test]
    fn it_grows_to_what_is_expected_and_beyond() {
        let list = UnitList::growing(Vec::new(), (3, 30));
        assert!(list.is_empty() && list.get(0).is_none());
        assert_eq!(list.outlook(), (3, 30));
        list.add(0, &[unit(10), unit(20)]);
        list.add(2, &[unit(5), unit(6)]);
        for (first, units) in [(0, &[unit(10), unit(20)][..]), (3, &[unit(6)]), (5, &[unit(9)]), (4, &[])] {
            list.add(first, units);
        }
        assert_eq!((list.len(), list.get(2), list.get(4)), (4, Some(unit(5)), None), "each of them once");
        assert_eq!(list.outlook(), (4, 41));
        assert_eq!((UnitList::new(vec![unit(1)]).all().len(), units_in(16, 16)), (1, 1));
        assert_eq!((units_in(0, 16), units_in(17, 16)), (0, 2));
    }
}
