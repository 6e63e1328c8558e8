//! ClickHouse's types of what DataFusion plans with: fields, literals, expressions.
//!
//! Invariant: what carries no type of ours is a predicate of DataFusion's or a literal of the statement's text. Must not
//! know: functions, steps of plans.

pub(crate) mod literals;
