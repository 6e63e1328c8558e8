//! Loads that copy column chunks of Parquet files instead of decoding and encoding them (`docs/design/adoption.md`).
//!
//! Invariant: what is not copied is read as every other load reads it. Must not know: who commits the parts.

mod chunk_facts;
mod outputs;
mod row_group;
mod adoption;
mod groups;
mod counters;
mod stream;
mod node;
mod report;

pub use adoption::{AdoptTarget, Adoption, Needs, Stages};
pub use node::AdoptExec;
pub use outputs::UnitPlan;
pub use row_group::Target;
