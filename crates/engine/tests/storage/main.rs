//! What lies on the disk: damaged parts, a folder whose log is gone, column chunks kept in memory.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../support/mod.rs"]
mod support;
mod damage;
mod restore;
mod unpacked;
