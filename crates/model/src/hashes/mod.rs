//! Hashes of bytes that others have published: each gives everywhere the number that ClickHouse gives.
//!
//! Invariant: the numbers never change; keys and states that are kept hang on them. Must not know: types, and what is hashed.

pub mod checksum;
pub mod city;
pub mod farm;
pub mod md4;
pub mod metro;
pub mod murmur;
pub mod sip;
pub mod wy;
