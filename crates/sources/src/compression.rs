//! How the bytes of a file are compressed, and the streams that undo it.
//!
//! Invariant: magic bytes win over the suffix; a stream that ends inside a frame is an error, never a short file.
//! Must not know: formats, stores.

use std::io;

use async_compression::tokio::bufread::{GzipDecoder, Lz4Decoder, ZstdDecoder};
use bytes::{Bytes, BytesMut};
use futures::stream::{BoxStream, StreamExt};
use tokio::io::{AsyncBufRead, AsyncRead, AsyncReadExt};
use tokio_util::io::StreamReader;

use crate::error::{Result, SourceError, SourceErrorKind, code};

/// Bytes of one decompressed chunk.
const CHUNK_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    Lz4,
}

/// What the first bytes of a file say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Magic {
    Compressed(Compression),
    Parquet,
    /// Named so that it can be refused by name.
    Foreign(&'static str),
}

/// First bytes to look at.
pub const MAGIC_BYTES: u64 = 8;

impl Compression {
    /// An argument of a table function.
    pub fn by_name(name: &str) -> Result<Compression> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "none" | "" => Compression::None,
            "gzip" | "gz" => Compression::Gzip,
            "zstd" | "zst" => Compression::Zstd,
            "lz4" => Compression::Lz4,
            other @ ("br" | "brotli" | "xz" | "lzma" | "bz2" | "snappy" | "deflate") => {
                return Err(SourceError::unsupported(format!(
                    "compression method \"{other}\" is not supported yet"
                ))
                .with_hint("none, gzip, zstd and lz4 are"));
            }
            _ => return Err(SourceError::bad_arguments(format!("unknown compression method \"{name}\""))),
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
        }
    }

    /// The method of a name's last suffix, and the name without it.
    pub fn by_suffix(file_name: &str) -> (Compression, &str) {
        let suffixes = [
            (".gz", Compression::Gzip),
            (".gzip", Compression::Gzip),
            (".zst", Compression::Zstd),
            (".zstd", Compression::Zstd),
            (".lz4", Compression::Lz4),
        ];
        suffixes
            .iter()
            .find_map(|(suffix, compression)| Some((*compression, file_name.strip_suffix(suffix)?)))
            .unwrap_or((Compression::None, file_name))
    }
}

/// What a file is by its first bytes; `None` for text and for anything unknown.
pub fn magic(first: &[u8]) -> Option<Magic> {
    let known: [(&[u8], Magic); 10] = [
        (b"PAR1", Magic::Parquet),
        (b"\x1f\x8b", Magic::Compressed(Compression::Gzip)),
        (b"\x28\xb5\x2f\xfd", Magic::Compressed(Compression::Zstd)),
        (b"\x04\x22\x4d\x18", Magic::Compressed(Compression::Lz4)),
        (b"\xfd7zXZ\x00", Magic::Foreign("xz")),
        (b"BZh", Magic::Foreign("bz2")),
        (b"ORC", Magic::Foreign("ORC")),
        (b"ARROW1", Magic::Foreign("Arrow")),
        (b"Obj\x01", Magic::Foreign("Avro")),
        (b"PK\x03\x04", Magic::Foreign("ZIP")),
    ];
    known.iter().find(|(bytes, _)| first.starts_with(bytes)).map(|(_, magic)| *magic)
}

/// A stream of chunks as they are stored.
pub(crate) type ByteStream = BoxStream<'static, Result<Bytes>>;

/// The stream without its compression.
pub(crate) fn decompressed(stored: ByteStream, compression: Compression, path: &str) -> ByteStream {
    if compression == Compression::None {
        return stored;
    }
    let reader = StreamReader::new(stored.map(|chunk| chunk.map_err(io::Error::other)));
    let state = (decoder(reader, compression), path.to_owned(), None);
    futures::stream::try_unfold(state, move |(mut decoder, path, mut failed)| async move {
        if let Some(error) = failed {
            return Err(decode_error(&error, compression, &path));
        }
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        while chunk.len() < CHUNK_BYTES {
            match decoder.read_buf(&mut chunk).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if chunk.is_empty() => return Err(decode_error(&error, compression, &path)),
                Err(error) => {
                    // What was decoded before is good; the error comes with the next chunk.
                    failed = Some(error);
                    break;
                }
            }
        }
        Ok((!chunk.is_empty()).then(|| (chunk.freeze(), (decoder, path, failed))))
    })
    .boxed()
}

/// The stream without its compression, which its first bytes tell unless `said`.
pub(crate) fn opened(stored: ByteStream, said: Option<Compression>, path: &str) -> ByteStream {
    let path = path.to_owned();
    let opened = async move {
        let mut stored = stored;
        let first = stored.next().await;
        let compression = said.unwrap_or_else(|| match &first {
            Some(Ok(first)) => by_first_bytes(first, &path),
            _ => Compression::None,
        });
        decompressed(futures::stream::iter(first).chain(stored).boxed(), compression, &path)
    };
    futures::stream::once(opened).flatten().boxed()
}

/// Magic bytes win. Without any the suffix counts only for a stream that starts with a skippable frame, which zstd
/// and lz4 share: everything else compressed has magic bytes.
fn by_first_bytes(first: &[u8], path: &str) -> Compression {
    match magic(first) {
        Some(Magic::Compressed(compression)) => compression,
        Some(_) => Compression::None,
        None => {
            let skippable = first.len() >= 4 && first[0] & 0xf0 == 0x50 && first[1..4] == [0x2a, 0x4d, 0x18];
            if skippable { Compression::by_suffix(path).0 } else { Compression::None }
        }
    }
}

fn decoder(
    reader: impl AsyncBufRead + Send + Unpin + 'static,
    compression: Compression,
) -> Box<dyn AsyncRead + Send + Unpin> {
    match compression {
        Compression::None => Box::new(reader),
        // A file may be several streams, one after the other: parallel compressors and `cat` make such files.
        Compression::Gzip => {
            let mut decoder = GzipDecoder::new(reader);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
        Compression::Zstd => {
            let mut decoder = ZstdDecoder::new(reader);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
        Compression::Lz4 => {
            let mut decoder = Lz4Decoder::new(reader);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
    }
}

fn decode_error(error: &io::Error, compression: Compression, path: &str) -> SourceError {
    // An error of the store below travels inside.
    if let Some(inner) = error.get_ref().and_then(|inner| SourceError::find(inner)) {
        return inner.clone();
    }
    let name = compression.name();
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("\"{path}\" is cut: it ends inside a {name} stream"),
        _ => format!("\"{path}\" cannot be decompressed as {name}: {error}"),
    };
    SourceError::new(SourceErrorKind::Corrupt, message).with_file(path).with_code(code::CANNOT_DECOMPRESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_suffixes() {
        assert_eq!(Compression::by_name("GZ").unwrap(), Compression::Gzip);
        assert_eq!(Compression::by_name("xz").unwrap_err().code(), code::NOT_IMPLEMENTED);
        assert_eq!(Compression::by_name("rar").unwrap_err().code(), code::BAD_ARGUMENTS);
        assert_eq!(Compression::by_suffix("a.csv.zst"), (Compression::Zstd, "a.csv"));
        assert_eq!(Compression::by_suffix("a.csv"), (Compression::None, "a.csv"));
    }

    #[test]
    fn first_bytes() {
        assert_eq!(magic(b"PAR1...."), Some(Magic::Parquet));
        assert_eq!(magic(&[0x1f, 0x8b, 8]), Some(Magic::Compressed(Compression::Gzip)));
        assert_eq!(magic(b"BZh91AY"), Some(Magic::Foreign("bz2")));
        assert_eq!(magic(b"a,b,c"), None);
        assert_eq!(magic(b""), None);
    }
}
