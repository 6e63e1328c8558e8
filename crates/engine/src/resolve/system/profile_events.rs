//! `ProfileEvents Map(String, UInt64)`: named counters of a statement.
//!
//! Invariant: counters that are zero are left out, as ClickHouse leaves them out; a name stands once.

use ::tables::system_rows::rows::Cell;

/// A row's counters; those of one name are added up.
pub(super) fn profile_events(counters: impl IntoIterator<Item = (&'static str, u64)>) -> Cell {
    let mut events: Vec<(&'static str, u64)> = Vec::new();
    for (name, value) in counters.into_iter().filter(|(_, value)| *value > 0) {
        match events.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum = sum.saturating_add(value),
            None => events.push((name, value)),
        }
    }
    Cell::Counters(events)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use model::type_arrow::to_field;

    use super::*;
    use ::tables::system_rows::maps::CountersBuilder;
    use ::tables::system_rows::rows::column_type;

    #[test]
    fn zeros_are_left_out_and_names_stand_once() {
        let Cell::Counters(events) = profile_events([("a", 1), ("b", 0), ("a", 2)]) else {
            panic!("not counters")
        };
        assert_eq!(events, [("a", 3)]);
    }

    #[test]
    fn a_column_of_maps_has_the_layout_of_its_field() {
        let field = to_field("ProfileEvents", &column_type("Map(String, UInt64)"));
        let mut builder = CountersBuilder::default();
        builder.append(&[("a", 1), ("b", 2)]);
        builder.append(&[]);
        builder.append(&[("c", 3)]);
        let column = builder.finish(field.data_type()).unwrap();
        assert_eq!(column.data_type(), field.data_type());
        let lengths: Vec<usize> = (0..3).map(|row| column.as_map().value(row).len()).collect();
        assert_eq!(lengths, [2, 0, 1]);
    }
}
