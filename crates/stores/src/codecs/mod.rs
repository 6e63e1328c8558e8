//! How the bytes of a file are compressed: streams that undo it, in several places at once where frames allow it, and the
//! way back.
//!
//! Invariant: a stream that ends inside a frame is an error; nothing is made room for because a length says so. Must not know:
//! formats, where bytes come from.

pub(crate) mod snappy;
pub mod frames;
pub(crate) mod side_by_side;
pub mod compression;
pub mod encode;
