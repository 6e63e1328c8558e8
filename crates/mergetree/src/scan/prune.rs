//! May a part hold rows that a filter keeps? Answered from the bounds in its descriptor.
//!
//! Pure. Invariant: "no" is a proof; whatever is not known is "yes".

use model::{ColumnBounds, ColumnId, PartDescriptor, Value};

/// Rows kept: all of these hold.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScanFilter {
    pub columns: Vec<ColumnRange>,
}

/// What must hold for the value of one column; NULL never matches. Ends are included.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnRange {
    pub column: ColumnId,
    pub min: Option<Value>,
    pub max: Option<Value>,
    /// The value is one of these.
    pub one_of: Option<Vec<Value>>,
}

impl ScanFilter {
    /// Whether a part may hold a row for which the filter is true.
    pub fn may_match(&self, part: &PartDescriptor) -> bool {
        part.rows > 0 && self.columns.iter().all(|range| range.may_match(part))
    }
}

impl ColumnRange {
    fn may_match(&self, part: &PartDescriptor) -> bool {
        let Some(bounds) = part.bounds_of(self.column) else { return true };
        if bounds.nulls == Some(part.rows) {
            return false;
        }
        let overlaps = |min: Option<&Value>, max: Option<&Value>| {
            let below = max.zip(bounds.min.as_ref()).is_some_and(|(max, least)| is_less(max, least));
            let above = min.zip(bounds.max.as_ref()).is_some_and(|(min, greatest)| is_less(greatest, min));
            !below && !above
        };
        let within = |value: &Value| overlaps(Some(value), Some(value));
        overlaps(self.min.as_ref(), self.max.as_ref())
            && self.one_of.as_ref().is_none_or(|values| values.iter().any(within))
    }
}

/// Values of different kinds prove nothing.
fn is_less(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b) && a.order(b).is_lt()
}

/// Whether bounds are those of a single value; used to tell partitions by a plain column.
pub fn is_constant(bounds: &ColumnBounds) -> bool {
    bounds.min.is_some() && bounds.min == bounds.max && bounds.nulls == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{BlockRange, PartId, PartLocation, PartitionValue, SortOrder, TableId};

    fn part(bounds: Vec<ColumnBounds>) -> PartDescriptor {
        PartDescriptor {
            id: PartId::from_bytes([1; 16]),
            table: TableId::from_bytes([1; 16]),
            schema_version: 1,
            partition: PartitionValue::all(),
            bucket: 0,
            location: PartLocation { store: 0, key: "k".into(), owner_nodes: vec![] },
            tail: None,
            checksum: 0,
            blocks: BlockRange::default(),
            level: 0,
            data_version: 0,
            sort_order: SortOrder::None,
            adopted: Vec::new(),
            bounds,
            rows: 10,
            bytes: 1,
            bytes_uncompressed: 1,
            format: 1,
            load: None,
            created_ms: 0,
        }
    }

    fn int(text: &str) -> Option<Value> {
        text.parse().ok().map(Value::Int)
    }

    /// `bounds` is `min..max nulls`, `filter` is `min..max` or `in a b c`.
    fn check(bounds: &str, filter: &str, expected: bool) {
        let (ends, nulls) = bounds.split_once(' ').unwrap();
        let (min, max) = ends.split_once("..").unwrap();
        let column = ColumnId(1);
        let part =
            part(vec![ColumnBounds { column, min: int(min), max: int(max), nulls: nulls.parse().ok() }]);
        let range = match filter.strip_prefix("in ") {
            Some(values) => {
                let one_of = Some(values.split(' ').filter_map(int).collect());
                ColumnRange { column, min: None, max: None, one_of }
            }
            None => {
                let (min, max) = filter.split_once("..").unwrap();
                ColumnRange { column, min: int(min), max: int(max), one_of: None }
            }
        };
        let filter = ScanFilter { columns: vec![range] };
        assert_eq!(filter.may_match(&part), expected, "{bounds} against {filter:?}");
    }

    #[test]
    fn ranges_against_bounds() {
        check("10..20 0", "20..", true);
        check("10..20 0", "21..", false);
        check("10..20 0", "..10", true);
        check("10..20 0", "..9", false);
        check("10..20 0", "12..13", true);
        check("10..20 0", "in 9 21", false);
        check("10..20 0", "in 9 15", true);
        check("10..20 0", "in ", false);
        check(".. ?", "5..6", true);
        check("..20 ?", "21..", false);
        check(".. 10", "..", false);
        check(".. 9", "..", true);
    }

    #[test]
    fn what_is_not_known_may_match() {
        let other = ColumnRange { column: ColumnId(2), min: int("1"), max: None, one_of: None };
        assert!(ScanFilter { columns: vec![other] }.may_match(&part(vec![])));
        let bounds = ColumnBounds { column: ColumnId(1), min: int("5"), max: int("6"), nulls: None };
        let text =
            ColumnRange { column: ColumnId(1), min: Some(Value::Text("x".into())), max: None, one_of: None };
        assert!(ScanFilter { columns: vec![text] }.may_match(&part(vec![bounds.clone()])));
        assert!(!is_constant(&bounds));
        assert!(ScanFilter::default().may_match(&part(vec![])));
    }
}
