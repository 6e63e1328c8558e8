//! Credentials taken out of what people and logs see.
//!
//! Invariant: a text that leaves a statement went through here first. Must not know: statements that run, tables.

pub mod text;
pub mod redaction;
