//! A query that several servers work on: which piece of its plan, over which shares of what it reads.
//!
//! Every server makes the same plan from the text of the statement; what differs is the share of the rows that its leaves read.
//! Invariant: the shares of all servers together are what the leaves of the plan read, each row once. Must not know: how servers
//! speak to each other.

pub mod leaf;
pub mod digest;
pub mod fragment;
pub mod share;
pub mod dealing;
pub mod units;
pub mod node;
