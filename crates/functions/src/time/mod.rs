//! Days, zones, and the ticks in which a column holds them.
//!
//! Invariant: the proleptic Gregorian calendar; seconds count from 1970-01-01 UTC. Must not know: functions, sessions.

pub(crate) mod calendar;
pub(crate) mod zone;
pub(crate) mod temporal;
