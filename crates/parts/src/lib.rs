//! Bytes of one part: written once, read many times.
//!
//! Invariant: a part never changes, and its file and name are durable before a [`model::SealedPart`] exists.
//! Must not know: which parts are live, the log, SQL.

pub mod error;
pub mod storage;
mod local_storage;
pub mod array_size;
pub mod compact;
pub mod evolve;
pub mod sorted;
mod packer;
pub mod encoding;
pub mod parquet;
pub mod unpacked;
pub mod health;
pub mod store;
mod column_writer;
mod row_group;
pub mod writer;
pub mod footer;
mod ranges;
pub mod reader;
pub mod found;
pub mod verify;

pub use self::parquet::spliced_chunk::{CopiedChunk, CopiedPage};
pub use array_size::array_bytes;
pub use encoding::{ColumnEncodings, SAMPLE_ROWS_MAX, WritePurpose};
pub use error::PartError;
pub use footer::{PartFooter, tail_range};
pub use found::FoundPart;
pub use health::PartHealth;
pub use reader::{PartBatches, PartReader, open_part};
pub use storage::{PartStorage, UnsealedFile};
pub use store::{PartFile, PartStore};
pub use unpacked::{Fill, PartPages, UnpackedPages, Wanted};
pub use verify::{VerifiedPart, verify};
pub use writer::{PartSpec, PartWriter, UnsyncedPart};
