//! Room and time for planning: threads of its own, stack enough, and ends for what nobody waits for.
//!
//! Must not know: what is planned.

pub(crate) mod planners;
pub(crate) mod stops;
pub(crate) mod stack_room;
