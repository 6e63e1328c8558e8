//! Columns of system tables with a point in their name: `key.names` of `system.dictionaries`.
//!
//! Invariant: they are among the columns of their tables. Must not know: what stands in them.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Query, visit_relations};

use crate::reserved::SYSTEM;

const DOTTED: &[(&str, &[&str])] = &[
    ("dictionaries", &["key.names", "key.types", "attribute.names", "attribute.types"]),
    ("mutations", &["block_numbers.partition_id", "block_numbers.number"]),
];

/// Those of the tables that a query names.
pub fn named_in(query: &Query) -> Vec<String> {
    let mut found = Vec::new();
    // It never breaks off.
    let _ = visit_relations(query, |name| {
        let parts = name.0.iter().filter_map(|part| part.as_ident()).map(|part| part.value.as_str());
        if let [database, table] = parts.collect::<Vec<_>>().as_slice()
            && *database == SYSTEM
        {
            let columns = DOTTED.iter().filter(|(known, _)| known == table).flat_map(|(_, columns)| *columns);
            found.extend(columns.map(|column| (*column).to_owned()));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system_rows::dictionaries::COLUMNS;

    #[test]
    fn those_of_dictionaries_are_all() {
        let query = sql::parse_query("SELECT 1 FROM (SELECT * FROM system.dictionaries)").unwrap();
        let all = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).filter(|name| name.contains('.'));
        assert_eq!(named_in(&query), all.collect::<Vec<_>>());
    }
}
