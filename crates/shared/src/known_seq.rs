//! The last record this machine knew of a log, in the folder of what it keeps: a log that ends before it was cut.
//!
//! Invariant: the record was in the log once. Losing the number costs the check. Must not know: what is in the log.

use std::io;
use std::path::{Path, PathBuf};

use host::Host;
use parking_lot::Mutex;

const NAME: &str = "known_seq";

/// See the module.
#[derive(Debug)]
pub struct KnownSeq {
    host: Host,
    path: PathBuf,
    seq: Mutex<u64>,
}

impl KnownSeq {
    /// What the folder says; nothing is said of a log nobody knew.
    pub fn open(host: Host, folder: &Path) -> KnownSeq {
        let path = folder.join(NAME);
        let text = host::read_all(&*host.disk, &path).ok();
        let seq = text.and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse().ok()).unwrap_or(0);
        KnownSeq { host, path, seq: Mutex::new(seq) }
    }

    pub fn get(&self) -> u64 {
        *self.seq.lock()
    }

    /// Where it stands, for people.
    pub fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// The record is in the log.
    ///
    /// # Errors
    /// The disk refuses; the older number stays.
    pub fn note(&self, seq: u64) -> io::Result<()> {
        let mut known = self.seq.lock();
        if seq > *known {
            host::replace_file(&*self.host.disk, &self.path, format!("{seq}\n").as_bytes())?;
            *known = seq;
        }
        Ok(())
    }
}
