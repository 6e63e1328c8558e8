//! The life of a statement: a session takes its text, chooses who does it, and streams its answer.
//!
//! Nothing stands above but `repair`.

pub(crate) mod insert;
pub(crate) mod load;
pub(crate) mod create_select;
pub(crate) mod explain;
pub(crate) mod execute;
pub(crate) mod repeat;
mod newest;
pub(crate) mod answer;
mod forward;
mod reading;
mod help;
mod peers;
pub mod session;
mod opened;
pub(crate) mod open;
