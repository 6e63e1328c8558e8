//! How much room there is on the disk that a folder is on.
//!
//! Invariant: asked of the operating system at every call. Must not know: who may use it.

use std::io;
use std::path::Path;

/// Bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DiskSpace {
    /// What this user may still write.
    pub free: u64,
    pub total: u64,
}

/// Of the disk under an existing path.
pub fn disk_space(path: &Path) -> io::Result<DiskSpace> {
    let found = fs4::statvfs(path)?;
    Ok(DiskSpace { free: found.available_space(), total: found.total_space() })
}
