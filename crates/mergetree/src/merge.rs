//! Merges: neighbouring parts of one partition become one.
//!
//! Invariant: a merge changes no row and no order of insertion; it becomes true only if its commit finds every input
//! still live. Which merge is `choose` (pure), how is `execute`, and `run` makes it true.

pub mod choose;
pub mod candidates;
pub mod rows;
pub mod order;
pub mod gather;
pub mod memory;
pub mod inputs;
pub mod execute;
pub mod running;
pub mod run;

pub use candidates::{choose_for, plan_all, plan_all_but, summaries};
pub use choose::{MergeLimits, MergePlan, MergeReason, PartSummary, choose};
pub use execute::MergeProgress;
pub use memory::memory_bytes_of;
pub use run::{MergeOutcome, run};
