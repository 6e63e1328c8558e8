//! `system.named_collections`: sets of arguments and where they come from.
//!
//! Invariant: no value is shown, whatever is set: most are credentials.

use std::sync::Arc;

use arrow::array::{ArrayRef, MapArray, StringViewBuilder, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::SystemTable;
use super::rows::Cell;
use crate::collections::{Origin, all};
use crate::secret_urls::HIDDEN_PART;

pub(super) const TABLE: SystemTable = SystemTable {
    columns: &[
        ("name", "String"),
        ("collection", "Map(String, String)"),
        ("source", "String"),
        ("create_query", "String"),
    ],
    fill: |context, rows| {
        if context.sees_own_only {
            return Ok(());
        }
        for (name, entries, origin) in all(context) {
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

/// Builds a column of maps of texts.
#[derive(Default)]
pub(super) struct PairsBuilder {
    keys: StringViewBuilder,
    values: StringViewBuilder,
    lengths: Vec<usize>,
}

impl PairsBuilder {
    pub(super) fn append(&mut self, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            self.keys.append_value(key);
            self.values.append_value(value);
        }
        self.lengths.push(pairs.len());
    }

    /// The column in the layout of its field.
    pub(super) fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let DataType::Map(field, ordered) = data_type else {
            return Err(ArrowError::SchemaError(format!("pairs are a Map, not {data_type}")));
        };
        let DataType::Struct(entries) = field.data_type() else {
            return Err(ArrowError::SchemaError(format!("entries of {data_type} are no Struct")));
        };
        let columns: Vec<ArrayRef> = vec![Arc::new(self.keys.finish()), Arc::new(self.values.finish())];
        let entries = StructArray::try_new(entries.clone(), columns, None)?;
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, None, *ordered)?))
    }
}
