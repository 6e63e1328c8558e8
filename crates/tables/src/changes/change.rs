//! What becomes of rows, and of the rows of which parts.
//!
//! Invariant: conditions and values are over the names of the table's columns. Must not know: how rows are read, and who asks.

use std::collections::BTreeSet;

use boundary::error::Error;
use model::{ColumnDef, ColumnId, PartDescriptor, TableDef};
use sql::Expr;
use sql::escape::quote_text;

/// One command.
#[derive(Clone, Debug)]
pub struct Change {
    pub kind: Kind,
    pub within: Within,
}

/// What becomes of rows.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Delete {
        condition: Expr,
        /// Only of parts that are nothing but such rows.
        only_whole: bool,
    },
    Update {
        /// By the column.
        values: Vec<(ColumnId, Expr)>,
        condition: Expr,
        /// MATERIALIZED columns that are to be computed anew for the rows that match.
        computed: BTreeSet<ColumnId>,
        /// Whether CHECKs are asked of the rows that match.
        is_checked: bool,
    },
    /// All rows are gone, unread.
    Drop,
    /// Nothing but that parts of older columns become parts of the current ones.
    Renew,
}

/// Which parts it is about.
#[derive(Clone, PartialEq, Debug)]
pub enum Within {
    All,
    /// By its id.
    Partition(String),
    /// By its name.
    Part(String),
}

impl Change {
    /// Whether it is about rows of a part.
    pub fn concerns(&self, part: &PartDescriptor) -> bool {
        self.within.has(part)
    }
}

impl Within {
    /// Whether a part is one of them.
    pub fn has(&self, part: &PartDescriptor) -> bool {
        match self {
            Within::All => true,
            Within::Partition(name) => part.partition.name() == name,
            Within::Part(name) => part.name() == *name,
        }
    }
}

/// What a column's values are where nothing is said.
pub(super) fn default_of(def: &TableDef, column: &ColumnDef) -> Result<Expr, Error> {
    let text = match &column.default {
        Some((_, text)) => sql::named_expression(text, def),
        None => format!("defaultValueOfTypeName({})", quote_text(&column.column_type.to_string())),
    };
    Ok(sql::parse_expression(&text)?)
}
