//! Text looked at quickly: bytes found one by one or 64 at a time, and digits read as numbers.
//!
//! Invariant: what is found is what a look at one byte after the other finds; nothing is allocated, but for keys that are
//! learnt. Must not know: formats, settings.

pub mod keys;
pub mod find;
pub mod marks;
pub mod records;
pub mod number;
pub mod sum;
