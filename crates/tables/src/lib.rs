//! Tables as statements see them: definitions with compiled keys and defaults, and rows made to fit them.
//!
//! Invariant: a row that comes into a table went through `conform`. Must not know: sessions, statements.

pub mod checks;
pub mod clauses;
pub mod memory;
pub mod temporary;
pub mod row_expr;
pub mod partition_ids;
pub mod same_structure;
pub mod virtual_columns;
pub mod joined;
pub mod altered;
pub mod changes;
pub mod parts_change;
pub mod alias_columns;
pub mod defaults;
pub mod constraints;
pub mod ttl;
pub mod nested;
pub mod conform;
pub mod new_values;
pub mod insert_shape;
pub mod evolving;
pub mod stored;
pub mod reserved;
pub mod dictionaries;
pub mod view_runs;
pub mod system_rows;
pub mod finals;
pub mod leftmost;
pub mod labels;
pub mod calls;
pub mod mutation_queries;
