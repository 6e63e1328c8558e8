//! Statements from outside, through `Database` and `Session`: what they leave, what runs beside them, what they show.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../support/mod.rs"]
mod support;
mod alter;
mod concurrent;
mod exports;
mod loads;
mod objects;
mod outside;
mod profile;
mod secrets;
