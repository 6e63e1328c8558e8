//! What a statement brings along when it asks stores, and takes home: settings and rates; counters and rejected rows.
//!
//! Invariant: plain data, shared by all requests of one statement. Must not know: sessions, requests.

pub mod rate;
pub mod rejects;
pub mod progress;
pub mod settings;
