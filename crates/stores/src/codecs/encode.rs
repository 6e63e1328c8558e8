//! Compresses what a writer puts out, chunk by chunk.
//!
//! Invariant: what [`Encoder`] gives between `new` and `finish` is one stream that [`crate::codecs::compression`] and
//! ClickHouse read back; without `finish` it is a cut one, and reading it is an error. Must not know: formats, stores.

use std::io;

use async_compression::Level;
use async_compression::tokio::write::{
    BrotliEncoder, BzEncoder, GzipEncoder, Lz4Encoder, XzEncoder, ZlibEncoder, ZstdEncoder,
};
use async_compression::zstd::CParameter;
use futures::FutureExt;
use model::ErrorCode;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::codecs::compression::Compression;
use crate::codecs::snappy;
use crate::error::{Result, SourceError, SourceErrorKind};

/// Levels a method knows, and the one taken when none is said: ClickHouse's `output_format_compression_level` 3.
const LEVEL_DEFAULT: i32 = 3;

/// Windows that zstd knows, as powers of two.
const WINDOW_LOGS: std::ops::RangeInclusive<u32> = 10..=31;

/// How hard to compress.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effort {
    /// `None`: ClickHouse's default.
    pub level: Option<i32>,
    /// `output_format_compression_zstd_window_log`: zstd looks for repetitions this far back, as a power of two. 0: as far
    /// as the level says.
    pub zstd_window_log: u32,
}

impl Effort {
    /// This level, all else by default.
    pub fn of_level(level: i32) -> Effort {
        Effort { level: Some(level), ..Effort::default() }
    }
}

/// One compressed stream in the making.
pub struct Encoder {
    compression: Compression,
    stream: Stream,
}

enum Stream {
    None,
    Gzip(GzipEncoder<Vec<u8>>),
    Deflate(ZlibEncoder<Vec<u8>>),
    Zstd(ZstdEncoder<Vec<u8>>),
    Lz4(Lz4Encoder<Vec<u8>>),
    Xz(XzEncoder<Vec<u8>>),
    Bzip2(BzEncoder<Vec<u8>>),
    Brotli(Box<BrotliEncoder<Vec<u8>>>),
    Snappy(snappy::BlockEncoder),
}

impl Encoder {
    /// An encoder of `compression`.
    ///
    /// # Errors
    /// The method does not know the level or the window.
    pub fn new(compression: Compression, effort: Effort) -> Result<Encoder> {
        let (least, most) = levels(compression);
        let level = match effort.level {
            Some(level) if !(least..=most).contains(&level) => {
                let name = compression.name();
                return Err(SourceError::bad_arguments(format!("{name} has no compression level {level}"))
                    .with_hint(format!("levels of {name} are {least} to {most}")));
            }
            Some(level) => level,
            None => LEVEL_DEFAULT.clamp(least, most),
        };
        let (level, out) = (Level::Precise(level), Vec::new());
        let stream = match compression {
            Compression::None => Stream::None,
            Compression::Gzip => Stream::Gzip(GzipEncoder::with_quality(out, level)),
            Compression::Deflate => Stream::Deflate(ZlibEncoder::with_quality(out, level)),
            Compression::Zstd => Stream::Zstd(zstd(level, effort.zstd_window_log)?),
            Compression::Lz4 => Stream::Lz4(Lz4Encoder::with_quality(out, level)),
            Compression::Xz => Stream::Xz(XzEncoder::with_quality(out, level)),
            Compression::Bzip2 => Stream::Bzip2(BzEncoder::with_quality(out, level)),
            Compression::Brotli => Stream::Brotli(Box::new(BrotliEncoder::with_quality(out, level))),
            Compression::Snappy => Stream::Snappy(snappy::BlockEncoder::default()),
        };
        Ok(Encoder { compression, stream })
    }

    /// Compresses `bytes` and appends to `out` what is ready of the stream.
    ///
    /// # Errors
    /// The library behind the method failed, as for want of memory.
    pub fn encode(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let written = match &mut self.stream {
            Stream::None => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Stream::Gzip(encoder) => push(encoder, bytes).map(|()| out.append(encoder.get_mut())),
            Stream::Deflate(encoder) => push(encoder, bytes).map(|()| out.append(encoder.get_mut())),
            Stream::Zstd(encoder) => push(encoder, bytes).map(|()| out.append(encoder.get_mut())),
            Stream::Lz4(encoder) => push(encoder, bytes).map(|()| out.append(encoder.get_mut())),
            Stream::Xz(encoder) => push(encoder, bytes).map(|()| out.append(encoder.get_mut())),
            Stream::Bzip2(encoder) => push(encoder, bytes).map(|()| out.append(encoder.get_mut())),
            Stream::Brotli(encoder) => push(encoder.as_mut(), bytes).map(|()| out.append(encoder.get_mut())),
            Stream::Snappy(encoder) => encoder.encode(bytes, out),
        };
        written.map_err(|error| failed(self.compression, &error))
    }

    /// Appends to `out` all that a reader needs for what was encoded so far; of Snappy, whose blocks are whole, nothing. It
    /// costs some of the compression.
    ///
    /// # Errors
    /// As for [`Encoder::encode`].
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let flushed = match &mut self.stream {
            Stream::None | Stream::Snappy(_) => Ok(()),
            Stream::Gzip(encoder) => flush(encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Deflate(encoder) => flush(encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Zstd(encoder) => flush(encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Lz4(encoder) => flush(encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Xz(encoder) => flush(encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Bzip2(encoder) => flush(encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Brotli(encoder) => flush(encoder.as_mut()).map(|()| out.append(encoder.get_mut())),
        };
        flushed.map_err(|error| failed(self.compression, &error))
    }

    /// Ends the stream and appends its last bytes to `out`.
    ///
    /// # Errors
    /// As for [`Encoder::encode`].
    pub fn finish(self, out: &mut Vec<u8>) -> Result<()> {
        let finished = match self.stream {
            Stream::None => Ok(()),
            Stream::Gzip(mut encoder) => end(&mut encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Deflate(mut encoder) => end(&mut encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Zstd(mut encoder) => end(&mut encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Lz4(mut encoder) => end(&mut encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Xz(mut encoder) => end(&mut encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Bzip2(mut encoder) => end(&mut encoder).map(|()| out.append(encoder.get_mut())),
            Stream::Brotli(mut encoder) => end(encoder.as_mut()).map(|()| out.append(encoder.get_mut())),
            Stream::Snappy(mut encoder) => encoder.finish(out),
        };
        finished.map_err(|error| failed(self.compression, &error))
    }
}

fn zstd(level: Level, window_log: u32) -> Result<ZstdEncoder<Vec<u8>>> {
    if window_log == 0 {
        return Ok(ZstdEncoder::with_quality(Vec::new(), level));
    }
    if !WINDOW_LOGS.contains(&window_log) {
        let message = format!("zstd has no window of 2^{window_log} bytes");
        return Err(SourceError::bad_arguments(message)
            .with_code(ErrorCode::ILLEGAL_CODEC_PARAMETER)
            .with_hint("output_format_compression_zstd_window_log is 0, for the level's own, or 10 to 31"));
    }
    let parameters = [CParameter::window_log(window_log), CParameter::enable_long_distance_matching(true)];
    Ok(ZstdEncoder::with_quality_and_params(Vec::new(), level, &parameters))
}

fn levels(compression: Compression) -> (i32, i32) {
    match compression {
        Compression::None | Compression::Snappy => (i32::MIN, i32::MAX),
        Compression::Gzip | Compression::Deflate | Compression::Bzip2 => (1, 9),
        Compression::Zstd => (1, 22),
        Compression::Lz4 => (1, 12),
        Compression::Xz => (0, 9),
        Compression::Brotli => (0, 11),
    }
}

/// A vector takes every byte at once, so these never wait; were that to change, it is an error and not a lost byte.
fn push(encoder: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    encoder.write_all(bytes).now_or_never().unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
}

fn flush(encoder: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    encoder.flush().now_or_never().unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
}

fn end(encoder: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    encoder.shutdown().now_or_never().unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))
}

fn failed(compression: Compression, error: &io::Error) -> SourceError {
    let message = format!("output cannot be compressed as {}: {error}", compression.name());
    SourceError::new(SourceErrorKind::Unavailable, message).with_code(ErrorCode::CANNOT_COMPRESS)
}
