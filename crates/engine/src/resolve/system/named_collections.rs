//! `system.named_collections`: sets of arguments and where they come from.
//!
//! Invariant: no value is shown, whatever is set: most are credentials.

use std::sync::Arc;

use stores::calls::urls::HIDDEN_PART;

use super::SystemTable;
use crate::context::collections::{Origin, all};
use ::tables::system_rows::rows::Cell;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("collection", "Map(String, String)"),
        ("source", "String"),
        ("create_query", "String"),
    ],
    fill: |services, execution, rows| {
        if execution.sees_own_only {
            return Ok(());
        }
        for (name, entries, origin) in all(&services.config, &execution.snapshot) {
            let pairs = entries.keys().map(|key| (key.to_string(), HIDDEN_PART.to_owned())).collect();
            let (source, query) = match origin {
                Origin::Configuration => ("CONFIG", String::new()),
                Origin::Statement => ("SQL", create_query(name, entries)),
            };
            rows.push([name.into(), Cell::Pairs(pairs), source.into(), query.into()])?;
        }
        Ok(())
    },
};

/// The statement that makes it, as ClickHouse prints it.
fn create_query(name: &str, entries: &catalog::Collection) -> String {
    let entry = |(key, value): (&Arc<str>, &catalog::CollectionValue)| {
        let overridable = match value.overridable {
            None => "",
            Some(true) => " OVERRIDABLE",
            Some(false) => " NOT OVERRIDABLE",
        };
        format!("{} = '{HIDDEN_PART}'{overridable}", sql::escape::quote_name(key))
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    format!("CREATE NAMED COLLECTION {} AS {}", sql::escape::quote_name(name), entries.join(", "))
}
