//! Compressed bodies as doors receive them, and what a door says it is.
//!
//! Invariant: a body is decompressed as it is read, one chunk ahead at most; an error of the body itself comes out as it
//! went in. Must not know: protocols and their names of methods.

use std::sync::Arc;

use futures::StreamExt;
use parking_lot::Mutex;
use stores::SourceError;
use stores::SourceErrorKind;
use stores::codecs::compression::{Compression, opened};

/// The version of ClickHouse that clients may take us for.
pub use functions::call::CLAIMED_VERSION as CLICKHOUSE_VERSION;
pub use functions::city_hash_128;

use crate::error::Error;
use crate::request::BodyStream;

/// The newest revision of ClickHouse's protocols that answers are written in.
pub const CLICKHOUSE_REVISION: u64 = 54_460;

/// The body without its compression, which a name such as `gzip` tells; several members may follow each other.
///
/// # Errors
/// The method is unknown.
pub fn decompressed(body: BodyStream, method: &str) -> Result<BodyStream, Error> {
    let method = Compression::by_name(method)?;
    let broken: Arc<Mutex<Option<Error>>> = Arc::default();
    let noted = Arc::clone(&broken);
    let stored = body.map(move |chunk| {
        chunk.map_err(|error| {
            let passed = SourceError::new(SourceErrorKind::Unavailable, error.message.clone());
            *noted.lock() = Some(error);
            passed
        })
    });
    let plain = opened(stored.boxed(), Some(method), "request body", None);
    Ok(plain.map(move |chunk| chunk.map_err(|e| broken.lock().take().unwrap_or_else(|| e.into()))).boxed())
}
