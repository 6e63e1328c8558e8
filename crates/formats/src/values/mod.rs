//! Single values: found in text, and read out of it. How dates are read and values printed is `model`'s.
//!
//! Invariant: what `model` prints is read back as the same value. Must not know: columns, rows,
//! formats.

pub mod cell;
