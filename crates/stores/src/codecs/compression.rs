//! How the bytes of a file are compressed, and the streams that undo it.
//!
//! Invariant: magic bytes win over the suffix; a stream that ends inside a frame is an error, never a short file.
//! Must not know: formats, stores.

use std::io;
use std::sync::Arc;

use async_compression::tokio::bufread::{
    BrotliDecoder, BzDecoder, GzipDecoder, Lz4Decoder, XzDecoder, ZlibDecoder, ZstdDecoder,
};
use async_compression::zstd::DParameter;
use bytes::{Bytes, BytesMut};
use futures::stream::StreamExt;
use host::{MemoryBudget, MemoryGrant, Runtimes};
use model::ErrorCode;
use model::saturating::u64_of;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;
use tokio_util::task::AbortOnDropHandle;

use crate::codecs::frames::Framing;
pub use crate::codecs::side_by_side::ByteStream;
use crate::codecs::side_by_side::{Decode, Workers, side_by_side};
use crate::codecs::snappy;
use crate::error::{Result, SourceError, SourceErrorKind};

/// Bytes of one decompressed chunk.
const CHUNK_BYTES: usize = 1 << 20;
/// Decompressed chunks that wait for the parser: enough that neither waits for the other's scheduling.
const CHUNKS_AHEAD: usize = 4;
/// Largest zstd window, as a power of two: 128 MiB, which is what ClickHouse and the `zstd` tool read unasked.
pub const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// What the decoder can be told.
const ZSTD_WINDOW_LOGS: std::ops::RangeInclusive<u32> = 10..=31;
/// Memory of one xz decoder where no budget says less; the largest preset needs 65 MiB.
const XZ_BYTES_MAX: u64 = 1 << 30;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
    Lz4,
    /// Also the older `.lzma` files.
    Xz,
    Bzip2,
    Brotli,
    /// Hadoop's blocks, or frames.
    Snappy,
    /// What ClickHouse calls so: zlib's format.
    Deflate,
}

/// What the first bytes of a file say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Magic {
    Compressed(Compression),
    Parquet,
    /// Named so that it can be refused by name.
    Foreign(&'static str),
}

/// First bytes to look at, of a stream.
pub const FIRST_BYTES: usize = 16;

impl Compression {
    /// An argument of a table function.
    pub fn by_name(name: &str) -> Result<Compression> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "none" | "" => Compression::None,
            "gzip" | "gz" => Compression::Gzip,
            "zstd" | "zst" => Compression::Zstd,
            "lz4" => Compression::Lz4,
            "xz" | "lzma" => Compression::Xz,
            "bz2" => Compression::Bzip2,
            "br" | "brotli" => Compression::Brotli,
            "snappy" => Compression::Snappy,
            "deflate" => Compression::Deflate,
            _ => {
                return Err(SourceError::bad_arguments(format!("unknown compression method \"{name}\""))
                    .with_code(ErrorCode::NOT_IMPLEMENTED)
                    .with_hint("auto, none, gzip, zstd, lz4, xz, bz2, br, snappy and deflate are known"));
            }
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Lz4 => "lz4",
            Compression::Xz => "xz",
            Compression::Bzip2 => "bz2",
            Compression::Brotli => "brotli",
            Compression::Snappy => "snappy",
            Compression::Deflate => "deflate",
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
            (".xz", Compression::Xz),
            (".lzma", Compression::Xz),
            (".bz2", Compression::Bzip2),
            (".br", Compression::Brotli),
            (".snappy", Compression::Snappy),
            (".deflate", Compression::Deflate),
        ];
        suffixes
            .iter()
            .find_map(|(suffix, compression)| Some((*compression, file_name.strip_suffix(suffix)?)))
            .unwrap_or((Compression::None, file_name))
    }
}

/// What a file is by its first bytes; `None` for text and for anything unknown.
pub fn magic(first: &[u8]) -> Option<Magic> {
    let known: [(&[u8], Magic); 11] = [
        (b"PAR1", Magic::Parquet),
        (b"\x1f\x8b", Magic::Compressed(Compression::Gzip)),
        (b"\x28\xb5\x2f\xfd", Magic::Compressed(Compression::Zstd)),
        (b"\x04\x22\x4d\x18", Magic::Compressed(Compression::Lz4)),
        (b"\xfd7zXZ\x00", Magic::Compressed(Compression::Xz)),
        (b"BZh", Magic::Compressed(Compression::Bzip2)),
        (snappy::FRAMED_MAGIC, Magic::Compressed(Compression::Snappy)),
        (b"ORC", Magic::Foreign("ORC")),
        (b"ARROW1", Magic::Foreign("Arrow")),
        (b"Obj\x01", Magic::Foreign("Avro")),
        (b"PK\x03\x04", Magic::Foreign("ZIP")),
    ];
    known.iter().find(|(bytes, _)| first.starts_with(bytes)).map(|(_, magic)| *magic)
}

/// Where decompression runs when it is to run beside the parser, and whose memory it uses.
#[derive(Clone)]
pub struct DecodeTask {
    pub runtimes: Runtimes,
    pub memory: MemoryBudget,
    /// Frames of one file that may be decompressed at the same time.
    pub threads: usize,
}

/// How a stream is to be opened.
#[derive(Clone, Copy)]
pub struct Opening {
    /// `None`: the first bytes tell.
    pub said: Option<Compression>,
    /// `zstd_window_log_max`.
    pub zstd_window_log_max: u32,
}

impl From<Option<Compression>> for Opening {
    /// With the windows that are read unasked.
    fn from(said: Option<Compression>) -> Self {
        Opening { said, zstd_window_log_max: ZSTD_WINDOW_LOG_MAX }
    }
}

/// The stream without its compression, which its first bytes tell unless it is said. With a `task` it is decompressed
/// there, a few chunks ahead of whoever reads, and frames side by side; dropping the stream ends the task.
pub fn opened(
    stored: ByteStream,
    opening: impl Into<Opening>,
    path: &str,
    task: Option<DecodeTask>,
) -> ByteStream {
    let (path, opening) = (path.to_owned(), opening.into());
    let opened = async move {
        let mut stored = stored;
        // A chunk may be shorter than what tells the methods apart.
        let (mut chunks, mut first_bytes) = (Vec::new(), Bytes::new());
        while first_bytes.len() < FIRST_BYTES {
            let Some(chunk) = stored.next().await else { break };
            match &chunk {
                Ok(chunk) if first_bytes.is_empty() => first_bytes = chunk.clone(),
                Ok(chunk) => first_bytes = [&first_bytes[..], &chunk[..]].concat().into(),
                Err(_) => {}
            }
            let failed = chunk.is_err();
            chunks.push(chunk);
            if failed {
                break;
            }
        }
        let compression = opening.said.unwrap_or_else(|| by_first_bytes(&first_bytes, &path));
        let stored = futures::stream::iter(chunks).chain(stored).boxed();
        if compression == Compression::None {
            return stored;
        }
        let window_log_max = opening.zstd_window_log_max;
        match decompressed(stored, (compression, window_log_max), &path, &first_bytes, task) {
            Ok(stream) => stream,
            Err(error) => futures::stream::iter([Err(error)]).boxed(),
        }
    };
    futures::stream::once(opened).flatten().boxed()
}

/// Magic bytes win. Without any, the suffix counts for methods that have none, and for a skippable frame, which zstd
/// and lz4 share.
pub fn by_first_bytes(first: &[u8], path: &str) -> Compression {
    match magic(first) {
        Some(Magic::Compressed(compression)) => compression,
        Some(_) => Compression::None,
        None if first.is_empty() => Compression::None,
        None => {
            let said = Compression::by_suffix(path).0;
            let skippable = first.len() >= 4 && first[0] & 0xf0 == 0x50 && first[1..4] == [0x2a, 0x4d, 0x18];
            // The older .lzma has no magic bytes, and its first byte is the common 0x5d, the letter `]`.
            let nameless = match said {
                Compression::Brotli | Compression::Snappy | Compression::Deflate => true,
                Compression::Xz => path.ends_with(".lzma") && first[0] == 0x5d,
                _ => false,
            };
            if skippable || nameless { said } else { Compression::None }
        }
    }
}

fn decompressed(
    stored: ByteStream,
    (compression, window_log_max): (Compression, u32),
    path: &str,
    first: &[u8],
    task: Option<DecodeTask>,
) -> Result<ByteStream> {
    if compression == Compression::Zstd && !ZSTD_WINDOW_LOGS.contains(&window_log_max) {
        let message = format!("zstd_window_log_max = {window_log_max} is no window of zstd");
        return Err(SourceError::bad_arguments(message).with_hint("10 to 31 are, and 0 means 27"));
    }
    if compression == Compression::Brotli && first.first().is_some_and(|byte| byte & 0x7f == 0x11) {
        let message = format!(
            "\"{path}\" is brotli with a window above 16 MiB, which is no standard brotli and is not read"
        );
        return Err(SourceError::new(SourceErrorKind::Corrupt, message)
            .with_file(path)
            .with_code(ErrorCode::CANNOT_DECOMPRESS)
            .with_hint("compress the file without --large_window"));
    }
    let xz_bytes_max =
        task.as_ref().map_or(XZ_BYTES_MAX, |task| task.memory.available().clamp(16 << 20, XZ_BYTES_MAX));
    let decode = decode_of(compression, Limits { xz_bytes_max, window_log_max }, path);
    let Some(task) = task else { return Ok(decode(stored)) };
    let bytes = decoder_bytes(compression, window_log_max, first);
    let chunks = u64_of(CHUNK_BYTES * CHUNKS_AHEAD);
    let grant = task.memory.try_grant("decompression", bytes.saturating_add(chunks)).map_err(|refused| {
        SourceError::new(SourceErrorKind::Memory, format!("\"{path}\" cannot be decompressed: {refused}"))
            .with_file(path)
            .with_hint("raise max_memory_usage, or lower max_threads so that fewer files are read at a time")
    })?;
    let threads = task.threads.min(task.runtimes.cpu().metrics().num_workers());
    let decoded = match framing(compression) {
        Some(framing) if threads > 1 => {
            let DecodeTask { runtimes, memory, .. } = task.clone();
            let workers = Workers { runtimes, memory, threads, decoder_bytes: bytes };
            side_by_side(stored, framing, decode, workers)
        }
        _ => decode(stored),
    };
    Ok(on_its_own(decoded, &task.runtimes, grant))
}

/// How the frames of a method are told apart, if they are.
pub fn framing(compression: Compression) -> Option<Framing> {
    match compression {
        Compression::Gzip => Some(Framing::Bgzf),
        Compression::Zstd => Some(Framing::Zstd),
        Compression::Bzip2 => Some(Framing::Bzip2),
        Compression::Xz => Some(Framing::Xz),
        Compression::None
        | Compression::Lz4
        | Compression::Brotli
        | Compression::Snappy
        | Compression::Deflate => None,
    }
}

/// What a decoder may need.
#[derive(Clone, Copy)]
struct Limits {
    xz_bytes_max: u64,
    window_log_max: u32,
}

/// Makes decoders, each of a whole stream or of some of its frames.
fn decode_of(compression: Compression, limits: Limits, path: &str) -> Decode {
    let path = path.to_owned();
    Arc::new(move |stored| match compression {
        Compression::Snappy => unsnapped(stored, limits, &path),
        _ => decoded(stored, compression, limits, &path),
    })
}

/// Memory of a decoder beside its output: its window, and tables.
fn decoder_bytes(compression: Compression, window_log_max: u32, first: &[u8]) -> u64 {
    match compression {
        Compression::None => 0,
        Compression::Gzip | Compression::Deflate => 64 << 10,
        Compression::Lz4 => 8 << 20,
        Compression::Snappy => 2 << 20,
        Compression::Bzip2 => 4 << 20,
        Compression::Xz | Compression::Brotli => 16 << 20,
        Compression::Zstd => zstd_window(first).unwrap_or(8 << 20).min(1 << window_log_max) + (1 << 20),
    }
}

/// The window that the header of a zstd frame asks for (RFC 8878, 3.1.1.1.2); `None` for a frame of one segment, whose
/// window is its content.
fn zstd_window(first: &[u8]) -> Option<u64> {
    let descriptor = first.get(4)?;
    if !first.starts_with(b"\x28\xb5\x2f\xfd") || descriptor & 0x20 != 0 {
        return None;
    }
    let window = first.get(5)?;
    let base = 1_u64 << (10 + (window >> 3));
    Some(base + base / 8 * u64::from(window & 7))
}

/// Decompresses in a task, at most [`CHUNKS_AHEAD`] chunks ahead. `grant` is held until the stream is dropped.
fn on_its_own(mut decoded: ByteStream, runtimes: &Runtimes, grant: MemoryGrant) -> ByteStream {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    let work = async move {
        while let Some(chunk) = decoded.next().await {
            let failed = chunk.is_err();
            if sender.send(chunk).await.is_err() || failed {
                return true;
            }
        }
        true
    };
    let task = AbortOnDropHandle::new(runtimes.spawn_cpu("source decompression", work));
    let state = (receiver, Some(task), grant);
    futures::stream::try_unfold(state, |(mut receiver, task, grant)| async move {
        if let Some(chunk) = receiver.recv().await {
            return Ok(Some((chunk?, (receiver, task, grant))));
        }
        // A task that was stopped has not sent everything: what is missing must not look like the end of the file.
        match task {
            None => Ok(None),
            Some(task) => match task.await {
                Ok(_) => Ok(None),
                Err(task) => Err(SourceError::ended_early("decompression", task)),
            },
        }
    })
    .boxed()
}

fn decoded(stored: ByteStream, compression: Compression, limits: Limits, path: &str) -> ByteStream {
    let reader = StreamReader::new(stored.map(|chunk| chunk.map_err(io::Error::other)));
    let state = (decoder(reader, compression, limits), path.to_owned(), None);
    futures::stream::try_unfold(state, move |(mut decoder, path, mut failed)| async move {
        if let Some(error) = failed {
            return Err(decode_error(&error, compression, limits, &path));
        }
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES);
        while chunk.len() < CHUNK_BYTES {
            match decoder.read_buf(&mut chunk).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if chunk.is_empty() => {
                    return Err(decode_error(&error, compression, limits, &path));
                }
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

/// Stored bytes given to the snappy decoder at once: they may become several times as many.
const SNAPPY_STEP: usize = 256 << 10;

fn unsnapped(stored: ByteStream, limits: Limits, path: &str) -> ByteStream {
    let state = (stored, snappy::Decoder::default(), Bytes::new(), path.to_owned(), false);
    futures::stream::try_unfold(
        state,
        move |(mut stored, mut decoder, mut waiting, path, mut ended)| async move {
            let mut out = Vec::new();
            while out.is_empty() && !ended {
                let step = waiting.split_to(SNAPPY_STEP.min(waiting.len()));
                let done = match step.is_empty() {
                    false => decoder.decode(&step, &mut out),
                    true => match stored.next().await {
                        Some(chunk) => {
                            waiting = chunk?;
                            Ok(())
                        }
                        None => {
                            ended = true;
                            decoder.finish()
                        }
                    },
                };
                done.map_err(|error| decode_error(&error, Compression::Snappy, limits, &path))?;
            }
            Ok((!out.is_empty()).then(|| (Bytes::from(out), (stored, decoder, waiting, path, ended))))
        },
    )
    .boxed()
}

/// A file may be several streams, one after the other: parallel compressors and `cat` make such files.
macro_rules! of_many_members {
    ($decoder:expr) => {{
        let mut decoder = $decoder;
        decoder.multiple_members(true);
        Box::new(decoder)
    }};
}

fn decoder(
    reader: impl AsyncBufRead + Send + Unpin + 'static,
    compression: Compression,
    limits: Limits,
) -> Box<dyn AsyncRead + Send + Unpin> {
    match compression {
        Compression::None | Compression::Snappy => Box::new(reader),
        Compression::Gzip => of_many_members!(GzipDecoder::new(reader)),
        Compression::Deflate => of_many_members!(ZlibDecoder::new(reader)),
        Compression::Zstd => {
            let window = DParameter::window_log_max(limits.window_log_max);
            of_many_members!(ZstdDecoder::with_params(reader, &[window]))
        }
        Compression::Lz4 => of_many_members!(Lz4Decoder::new(reader)),
        Compression::Xz => of_many_members!(XzDecoder::with_mem_limit(reader, limits.xz_bytes_max)),
        Compression::Bzip2 => of_many_members!(BzDecoder::new(reader)),
        Compression::Brotli => of_many_members!(BrotliDecoder::new(reader)),
    }
}

fn decode_error(error: &io::Error, compression: Compression, limits: Limits, path: &str) -> SourceError {
    // An error of the store below travels inside.
    if let Some(inner) = error.get_ref().and_then(|inner| SourceError::find(inner)) {
        return inner.clone();
    }
    let name = compression.name();
    let said = error.to_string();
    let limit = match compression {
        Compression::Zstd if said.contains("too much memory") => {
            let bytes = 1_u64 << limits.window_log_max;
            let shown = match bytes >> 20 {
                0 => format!("{} KiB", bytes >> 10),
                mib => format!("{mib} MiB"),
            };
            Some((
                format!("its window is larger than {shown}"),
                "set zstd_window_log_max (27 unless set, up to 31), or compress the file with a smaller window",
            ))
        }
        Compression::Xz if said.contains("memory limit") => Some((
            "its dictionary needs more memory than is left (max_memory_usage), 1 GiB at most".to_owned(),
            "compress the file with a smaller window",
        )),
        _ => None,
    };
    if let Some((limit, hint)) = limit {
        let message = format!("\"{path}\" cannot be decompressed as {name}: {limit}");
        return SourceError::new(SourceErrorKind::Memory, message)
            .with_file(path)
            .with_code(ErrorCode::CANNOT_DECOMPRESS)
            .with_hint(hint);
    }
    // The zlib decoder's word for input that ends too early.
    let is_cut = error.kind() == io::ErrorKind::UnexpectedEof
        || compression == Compression::Deflate && said.contains("BufError");
    let message = match is_cut {
        true => format!("\"{path}\" is cut: it ends inside a {name} stream"),
        false => format!("\"{path}\" cannot be decompressed as {name}: {said}"),
    };
    SourceError::new(SourceErrorKind::Corrupt, message)
        .with_file(path)
        .with_code(ErrorCode::CANNOT_DECOMPRESS)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod frame_tests;
