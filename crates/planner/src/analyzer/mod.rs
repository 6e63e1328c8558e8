//! The rules that DataFusion runs over a plan before it optimizes: marks become steps (`lift`), defaults stand where NULLs
//! would (`filled`), expressions get ClickHouse's types (`rules`).
//!
//! Invariant: `lift` runs first, so that no other rule sees a mark. Must not know: SQL text.

pub(crate) mod marks;
pub(crate) mod marked;
pub(crate) mod ordered;
pub(crate) mod lift;
pub(crate) mod filled;
pub(crate) mod bags;
pub(crate) mod constant_rows;
pub(crate) mod orderless;
pub(crate) mod dependencies;
pub(crate) mod outer_joins;
pub(crate) mod counted;
pub(crate) mod taken_apart;
pub(crate) mod using;
pub(crate) mod window_orders;
pub(crate) mod drawn;
pub(crate) mod whole_blocks;
pub(crate) mod elements;
pub(crate) mod rules;
