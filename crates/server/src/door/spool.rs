//! A result that is held back: in memory up to a limit, then in a file.
//!
//! Invariant: the file has no use after its answer and is removed with it; a crash leaves it in the spool folder, which is
//! emptied at the next start. Must not know: what the bytes mean.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use host::{Disk, DiskFile};

/// Bytes read back at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes on their way, in order.
pub(crate) struct Spool {
    chunks: Vec<Bytes>,
    memory_bytes: usize,
    file: Option<SpoolFile>,
    bytes: u64,
}

struct SpoolFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    bytes: u64,
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        // What cannot be removed now is at the next start.
        let _ = self.disk.remove_file(&self.path);
    }
}

impl Spool {
    pub(crate) fn new() -> Spool {
        Spool { chunks: Vec::new(), memory_bytes: 0, file: None, bytes: 0 }
    }

    /// Everything that was put in.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Adds bytes in memory.
    pub(crate) fn push(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.bytes += bytes.len() as u64;
            self.memory_bytes += bytes.len();
            self.chunks.push(bytes.into());
        }
    }

    /// Bytes that are held in memory.
    pub(crate) fn in_memory(&self) -> usize {
        self.memory_bytes
    }

    /// Moves what is in memory to the end of the file, which `path` names if there is none yet.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub(crate) fn spill(&mut self, disk: &Arc<dyn Disk>, path: impl FnOnce() -> PathBuf) -> io::Result<()> {
        if self.file.is_none() {
            let path = path();
            if let Some(folder) = path.parent() {
                disk.create_dir_all(folder)?;
            }
            let file = disk.create(&path)?;
            self.file = Some(SpoolFile { disk: Arc::clone(disk), path, file, bytes: 0 });
        }
        let Some(spooled) = &mut self.file else { return Ok(()) };
        for chunk in self.chunks.drain(..) {
            spooled.file.append(&chunk)?;
            spooled.bytes += chunk.len() as u64;
        }
        self.memory_bytes = 0;
        Ok(())
    }

    /// Takes it apart: chunks one after the other, those of the file first.
    pub(crate) fn into_chunks(self) -> io::Result<Chunks> {
        let file = match &self.file {
            Some(spooled) => Some(spooled.disk.open_read(&spooled.path)?),
            None => None,
        };
        Ok(Chunks { reader: file, at: 0, spooled: self.file, memory: self.chunks.into_iter() })
    }
}

/// What a spool held.
pub(crate) struct Chunks {
    reader: Option<Arc<dyn host::DiskRead>>,
    at: u64,
    spooled: Option<SpoolFile>,
    memory: std::vec::IntoIter<Bytes>,
}

impl Iterator for Chunks {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<io::Result<Bytes>> {
        if let (Some(reader), Some(spooled)) = (&self.reader, &self.spooled)
            && self.at < spooled.bytes
        {
            let left = usize::try_from(spooled.bytes - self.at).unwrap_or(usize::MAX);
            let chunk = reader.read_bytes(self.at, left.min(CHUNK_BYTES));
            self.at = match &chunk {
                Ok(chunk) => self.at + chunk.len() as u64,
                Err(_) => spooled.bytes,
            };
            return Some(chunk);
        }
        self.memory.next().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_held_comes_out_in_order_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(host::SystemDisk);
        let path = folder.path().join("spool").join("a");
        for spills in [0, 1, 2] {
            let (mut spool, mut expected) = (Spool::new(), Vec::new());
            for round in 0..3_u8 {
                let bytes = vec![round; 700_000];
                expected.extend_from_slice(&bytes);
                spool.push(bytes);
                if round < spills {
                    spool.spill(&disk, || path.clone()).unwrap();
                    assert_eq!(spool.in_memory(), 0);
                }
            }
            assert_eq!(spool.len(), expected.len() as u64);
            let chunks: Vec<Bytes> = spool.into_chunks().unwrap().map(Result::unwrap).collect();
            assert!(chunks.concat() == expected, "{spills} spills");
            assert!(!path.exists());
        }
    }
}
