//! A whole page or a file's content, kept while a statement reads it: small in memory, large in a file without a name.
//!
//! Invariant: at most [`SPOOL_BYTES_MAX`] of it, [`MEMORY_BYTES_MAX`] of it in memory; the file is gone with the
//! statement, and with the process. Must not know: where the bytes come from.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use model::saturating::{u64_of, usize_of};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::sync::Mutex;

use crate::error::{Result, SourceError, SourceErrorKind};

/// As much as two ranges of a page that is read in ranges.
const MEMORY_BYTES_MAX: usize = 16 << 20;
/// What is larger is refused: it would fill the disk before a row is seen.
const SPOOL_BYTES_MAX: u64 = 64 << 30;

/// See the module.
#[derive(Debug, Default)]
pub struct Spool {
    memory: BytesMut,
    file: Option<Mutex<tokio::fs::File>>,
    bytes: u64,
}

impl Spool {
    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of it that are in memory.
    pub fn memory_bytes(&self) -> u64 {
        u64_of(self.memory.len())
    }

    /// Appends.
    ///
    /// # Errors
    /// The page is too large, or the folder of temporary files is full.
    pub async fn push(&mut self, shown: &str, chunk: Bytes) -> Result<()> {
        self.bytes = self.bytes.saturating_add(u64_of(chunk.len()));
        if self.bytes > SPOOL_BYTES_MAX {
            return Err(SourceError::new(
                SourceErrorKind::Memory,
                format!(
                    "\"{shown}\" is larger than {SPOOL_BYTES_MAX} bytes, and all of it would have to be kept"
                ),
            ));
        }
        if self.file.is_none() && self.memory.len() + chunk.len() <= MEMORY_BYTES_MAX {
            self.memory.extend_from_slice(&chunk);
            return Ok(());
        }
        let failed = |error: std::io::Error| failed(shown, &error);
        if self.file.is_none() {
            let file = tokio::fs::File::from_std(tempfile::tempfile().map_err(failed)?);
            self.file = Some(Mutex::new(file));
        }
        let memory = std::mem::take(&mut self.memory);
        if let Some(file) = &mut self.file {
            file.get_mut().write_all(&memory).await.map_err(failed)?;
            file.get_mut().write_all(&chunk).await.map_err(failed)?;
        }
        Ok(())
    }

    /// A range that lies inside.
    pub(crate) async fn get(&self, shown: &str, range: Range<u64>) -> Result<Bytes> {
        let length = usize_of(range.end.saturating_sub(range.start));
        let Some(file) = &self.file else {
            let start = usize_of(range.start).min(self.memory.len());
            let end = start.saturating_add(length).min(self.memory.len());
            return Ok(Bytes::copy_from_slice(&self.memory[start..end]));
        };
        let failed = |error: std::io::Error| failed(shown, &error);
        let mut file = file.lock().await;
        file.flush().await.map_err(failed)?;
        file.seek(std::io::SeekFrom::Start(range.start)).await.map_err(failed)?;
        let mut bytes = BytesMut::zeroed(length);
        file.read_exact(&mut bytes).await.map_err(failed)?;
        Ok(bytes.freeze())
    }
}

fn failed(shown: &str, error: &std::io::Error) -> SourceError {
    SourceError::new(
        SourceErrorKind::Memory,
        format!("\"{shown}\" could not be kept in a temporary file: {error}"),
    )
    .with_hint("it cannot be read in ranges, so all of it is kept; make room where TMPDIR points")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_read_from_memory_and_from_a_file() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut spool = Spool::default();
            let chunk: Bytes = (0..=250_u8).cycle().take(5 << 20).collect::<Vec<u8>>().into();
            for i in 1..=4_u64 {
                spool.push("p", chunk.clone()).await.unwrap();
                assert_eq!(spool.bytes(), i * (5 << 20));
                assert_eq!(spool.file.is_some(), i == 4);
                for start in [0, 7, spool.bytes() - 9] {
                    let at = usize::try_from(start).unwrap() % chunk.len();
                    assert_eq!(spool.get("p", start..start + 9).await.unwrap(), chunk[at..at + 9]);
                }
            }
        });
    }
}
