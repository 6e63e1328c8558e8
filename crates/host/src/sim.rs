//! A simulated machine: everything a [`crate::Host`] offers, decided by one seed.
//!
//! ```
//! use std::path::Path;
//! let (host, world) = host::SimHost::new(7);
//! world.crash_after(3); // the third disk call from here on is the last one
//! let mut file = host.disk.create(Path::new("/a")).unwrap();
//! file.append(b"bytes").unwrap();
//! assert!(file.sync_data().is_err() && world.crashed());
//! let host = world.reopen(); // what survived: perhaps the file, perhaps its bytes, perhaps a part of them
//! assert!(host.disk.exists(Path::new("/a")).is_ok());
//! ```
//!
//! What a crash does (see [`file`] and [`names`]): each unsynced write is lost, kept, cut at a 512-byte
//! sector, kept in some sectors only, or turned into zeros; unsynced names vanish or come back, in an order a
//! journal could have produced. Stricter than the real thing: a removed file cannot be read through an old
//! handle, a poisoned file stays poisoned for every handle, directories cannot be renamed.
//!
//! Invariant: same seed and same single-threaded calls give the same [`SimWorld::trace_hash`], which covers
//! every call with its content and outcome, every clock read and every random byte. With more threads the
//! order of calls is the scheduler's, so seeded runs call from one.

pub mod names;
pub mod file;
pub mod state;
pub mod disk;
pub mod world;
pub mod objects;

pub use objects::{SimClient, SimStore};
pub use state::SimFault;
pub use world::{SimHost, SimWorld};

#[cfg(test)]
mod tests;
