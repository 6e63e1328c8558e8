//! Bulk loads as decisions: which cuts of the input exist, who works on which, what is done.
//!
//! Invariant: every unit is done exactly once in a load that succeeds. No I/O on data happens here; `engine` runs what
//! is decided. Must not know: files, formats, SQL.

pub mod units;

pub mod adoption;
pub mod controller;
pub mod leases;
pub mod plan;
pub mod queue;

pub use controller::{SinkPlan, SinkRequest, plan_sinks};
pub use leases::{Holder, Leases};
pub use plan::LoadPlan;
pub use queue::{NextUnit, UnitLease, UnitQueue, UnitSource};
pub use units::Unit;
