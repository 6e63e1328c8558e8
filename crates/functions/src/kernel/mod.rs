//! What every function is written with: its arguments and its session (`call`), its names and how NULLs pass it (`registry`),
//! its rows one by one, and the types they have in common.
//!
//! Invariant: constants, NULLs and dictionaries are dealt with here, so that a family need not. Must not know: families.

pub mod call;
pub(crate) mod fixed_text;
pub(crate) mod types;
pub(crate) mod alike;
pub(crate) mod list;
pub(crate) mod raw;
pub mod registry;
pub(crate) mod rows;
