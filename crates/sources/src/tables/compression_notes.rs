//! How the files of a source are compressed, for EXPLAIN: what reading will find, from their first bytes.
//!
//! Invariant: at most [`FILES_MAX`] files are asked, one request each; nothing is decompressed. Must not know: how the
//! lines are shown.

use std::collections::BTreeMap;

use formats::FormatKind;
use futures::stream::{self, StreamExt, TryStreamExt};
use stores::codecs::compression::{Compression, by_first_bytes, framing};
use stores::codecs::frames::{Framing, outlook};
use stores::error::Result;

use crate::tables::object_table::ObjectTable;

/// Of more files the names alone are believed.
const FILES_MAX: usize = 16;
/// Twice what a member of bgzf may have.
const FIRST_BYTES: u64 = 128 << 10;
/// Files are named up to this many.
const NAMED_MAX: usize = 3;

impl ObjectTable {
    /// How the files are compressed, and whether one file is decompressed in several places; nothing of files that are
    /// not compressed, or inside (Parquet).
    ///
    /// # Errors
    /// A file cannot be read.
    pub async fn compression_notes(&self) -> Result<Vec<String>> {
        if self.format() == FormatKind::Parquet {
            return Ok(Vec::new());
        }
        let looks: Vec<_> =
            (0..self.files().len().min(FILES_MAX)).map(|file| self.first_bytes(file)).collect();
        let mut firsts: Vec<Vec<u8>> = stream::iter(looks).buffered(FILES_MAX).try_collect().await?;
        firsts.resize(self.files().len(), Vec::new());
        let mut notes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (file, first) in self.files().iter().zip(&firsts) {
            for note in notes_of(self.said_compression(), &file.file, first, file.bytes) {
                notes.entry(note).or_default().push(&file.file);
            }
        }
        let line = |(note, files): (String, Vec<&str>)| {
            let named = files.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
            let more = if files.len() > NAMED_MAX { ", .." } else { "" };
            format!("{note}, {} file(s): {named}{more}", files.len())
        };
        Ok(notes.into_iter().map(line).collect())
    }

    async fn first_bytes(&self, file: usize) -> Result<Vec<u8>> {
        let reader = self.reader(file)?;
        let bytes = reader.get(0..reader.file.bytes.min(FIRST_BYTES)).await?;
        Ok(bytes.to_vec())
    }
}

/// What is to be said of one file; `first` is empty if nobody looked.
fn notes_of(said: Option<Compression>, name: &str, first: &[u8], bytes: u64) -> Vec<String> {
    let by_name = Compression::by_suffix(name).0;
    let compression = match first {
        [] => said.unwrap_or(by_name),
        first => said.unwrap_or_else(|| by_first_bytes(first, name)),
    };
    let mut notes = Vec::new();
    if compression != by_name && said.is_none() {
        notes.push(match compression {
            Compression::None => format!("named as {} and not compressed", by_name.name()),
            other => format!("compressed as {}, which the name does not say", other.name()),
        });
    }
    let framing = framing(compression);
    let name = match framing {
        Some(Framing::Bgzf) => "bgzf",
        _ => compression.name(),
    };
    let splits = framing.map_or(Some(false), |framing| outlook(framing, first, bytes));
    match splits {
        _ if compression == Compression::None => {}
        Some(true) => notes.push(format!("decompressed in parallel: {name}")),
        Some(false) => notes.push(format!("not splittable: {}", compression.name())),
        // One frame may be as long as the file.
        None => notes.push(format!("decompressed in parallel where frames are short: {name}")),
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_and_the_name_is_corrected() {
        let bgzf = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\x00\x1b\x00\x03\0\0\0\0\0\0\0\0\0";
        let gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03rest";
        let zstd = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello";
        let told = |said, name: &str, first: &[u8], bytes| notes_of(said, name, first, bytes).join("; ");
        for (name, first, bytes, wanted) in [
            ("a.csv", &b"1,2"[..], 3, ""),
            ("a.csv.gz", &bgzf[..], 100, "decompressed in parallel: bgzf"),
            ("a.csv.gz", gzip, 100, "not splittable: gzip"),
            ("a.csv.lz4", b"\x04\x22\x4d\x18", 100, "not splittable: lz4"),
            ("a.csv.zst", zstd, 100, "decompressed in parallel: zstd"),
            ("a.csv.zst", zstd, 14, "not splittable: zstd"),
            ("a.csv.zst", &zstd[..9], 14, "decompressed in parallel where frames are short: zstd"),
            ("a.csv.zst", b"", 14, "decompressed in parallel where frames are short: zstd"),
            (
                "a.csv.gz",
                zstd,
                100,
                "compressed as zstd, which the name does not say; decompressed in parallel: zstd",
            ),
            ("a.csv.gz", b"1,2", 3, "named as gzip and not compressed"),
        ] {
            assert_eq!(told(None, name, first, bytes), wanted, "{name}");
        }
        assert_eq!(told(Some(Compression::Gzip), "a.csv", gzip, 100), "not splittable: gzip");
    }
}
