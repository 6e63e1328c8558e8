//! A value as another one: by CAST and the `toX` functions, by a list of counterparts; and what its type is called.
//!
//! Invariant: how a value is converted is `cast`'s. Must not know: SQL text.

pub(crate) mod plain_time;
pub(crate) mod accurate;
pub(crate) mod convert;
pub(crate) mod value;
pub(crate) mod reinterpret;
