//! Byte ranges of one file, fetched together: near ranges in one request, long ones in several at once.
//!
//! Invariant: what is returned is exactly what was asked for, in that order; at most `max_download_threads` requests
//! of one file are in flight. Must not know: what the bytes mean.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, StreamExt, TryStreamExt};
use model::saturating::{u64_of, usize_of};

use crate::clients::store::Store;
use crate::error::{Result, SourceError, SourceErrorKind};
use crate::files::listing::SourceFile;
use crate::statement::progress::ReadProgress;
use crate::statement::settings::SourceSettings;

/// Ranges nearer than this are one request: on any network a round trip costs more than these bytes.
const GAP_BYTES_MAX: u64 = 256 << 10;

/// Reads one file; clones share everything.
#[derive(Clone, Debug)]
pub struct FileReader {
    pub store: Arc<Store>,
    pub file: Arc<SourceFile>,
    pub settings: Arc<SourceSettings>,
    pub progress: Arc<ReadProgress>,
}

impl FileReader {
    fn etag(&self) -> Option<&str> {
        self.file.etag.as_deref().filter(|_| self.settings.validate_etag)
    }

    /// One range in one request.
    pub async fn get(&self, range: Range<u64>) -> Result<Bytes> {
        if let Some(unwrapped) = &self.file.unwrapped {
            return unwrapped.content.get(&self.file.path, range).await;
        }
        self.progress.add_request();
        let bytes = self.store.get(&self.file.key, range, self.etag()).await?;
        self.progress.add_bytes(u64_of(bytes.len()));
        Ok(bytes)
    }

    /// One of the pieces of a request, into its place.
    async fn get_piece(&self, range: Range<u64>, room: BytesMut) -> Result<BytesMut> {
        if self.file.unwrapped.is_some() {
            let mut room = room;
            room.extend_from_slice(&self.get(range).await?);
            return Ok(room);
        }
        self.progress.add_request();
        let bytes = self.store.get_into(&self.file.key, range, self.etag(), room).await?;
        self.progress.add_bytes(u64_of(bytes.len()));
        Ok(bytes)
    }

    /// Several ranges, in the order asked for.
    pub async fn get_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes_max = self.settings.max_download_buffer_size;
        let gets = joined(ranges, bytes_max).into_iter().flat_map(|request| places(request, bytes_max));
        let gets = gets.map(|(range, place)| async move {
            let start = range.start;
            Ok(match place {
                Place::Alone => (start, Arrived::Whole(self.get(range).await?)),
                Place::First(room) => (start, Arrived::First(self.get_piece(range, room).await?)),
                Place::Next(room) => (start, Arrived::Next(self.get_piece(range, room).await?)),
            })
        });
        let in_flight = self.settings.max_download_threads;
        let mut arrived: Vec<(u64, Arrived)> =
            stream::iter(gets).buffer_unordered(in_flight).try_collect().await?;
        arrived.sort_unstable_by_key(|(start, _)| *start);
        let arrived = assemble(arrived);
        Ok(ranges.iter().map(|range| slice(&arrived, range)).collect())
    }

    /// Several ranges, written into `copy` where they stand in the file; in memory is only what is on its way.
    pub async fn copy_ranges(&self, ranges: &[Range<u64>], copy: &Arc<File>) -> Result<()> {
        let requests = plan(ranges, self.settings.max_download_buffer_size);
        let gets = requests.into_iter().map(|range| async move {
            let bytes = self.get(range.clone()).await?;
            let copy = Arc::clone(copy);
            let write = move || copy.write_all_at(&bytes, range.start);
            let written = self.store.runtimes().spawn_blocking("source copy", write).await;
            let stopped = |task| SourceError::ended_early("copying", task);
            written.map_err(stopped)?.map_err(|error| self.no_copy(&error))
        });
        stream::iter(gets).buffer_unordered(self.settings.max_download_threads).try_collect().await
    }

    /// Most bytes that are on their way for [`FileReader::copy_ranges`].
    pub fn copying_bytes(&self) -> u64 {
        let in_flight = u64_of(self.settings.max_download_threads);
        self.settings.max_download_buffer_size.saturating_mul(2).saturating_mul(in_flight)
    }

    /// There is no room for [`FileReader::copy_ranges`].
    pub fn no_copy(&self, error: &io::Error) -> SourceError {
        let path = &self.file.path;
        let message = format!("a row group of \"{path}\" could not be kept in a temporary file: {error}");
        SourceError::new(SourceErrorKind::Memory, message)
            .with_file(path)
            .with_hint("it is too large for the memory that is left; raise max_memory_usage, or make room where TMPDIR points")
    }
}

/// Where the bytes of a request go.
enum Place {
    Alone,
    /// Pieces of one request are neighbours in memory too: so they are one when they have arrived, without a copy.
    First(BytesMut),
    Next(BytesMut),
}

enum Arrived {
    Whole(Bytes),
    First(BytesMut),
    Next(BytesMut),
}

fn places(request: Range<u64>, bytes_max: u64) -> Vec<(Range<u64>, Place)> {
    let pieces = pieces(request.clone(), bytes_max);
    if pieces.len() == 1 {
        return vec![(request, Place::Alone)];
    }
    let mut rest = BytesMut::with_capacity(usize_of(request.end - request.start));
    let place = |(index, piece): (usize, Range<u64>)| {
        // An allocation may be larger than it was asked to be; what is behind the last piece stays with it.
        let behind = rest.split_off(usize_of(piece.end - piece.start).min(rest.capacity()));
        let room = std::mem::replace(&mut rest, behind);
        (piece, if index == 0 { Place::First(room) } else { Place::Next(room) })
    };
    pieces.into_iter().enumerate().map(place).collect()
}

/// What arrived, in order, with the pieces of each request put together.
fn assemble(arrived: Vec<(u64, Arrived)>) -> Vec<(u64, Bytes)> {
    let mut whole = Vec::new();
    let mut pieces: Option<(u64, BytesMut)> = None;
    for (start, arrived) in arrived {
        match (arrived, &mut pieces) {
            (Arrived::Next(bytes), Some((_, before))) => {
                before.unsplit(bytes);
                continue;
            }
            (arrived, ended) => {
                whole.extend(ended.take().map(|(start, bytes)| (start, bytes.freeze())));
                match arrived {
                    Arrived::Whole(bytes) => whole.push((start, bytes)),
                    Arrived::First(bytes) | Arrived::Next(bytes) => pieces = Some((start, bytes)),
                }
            }
        }
    }
    whole.extend(pieces.map(|(start, bytes)| (start, bytes.freeze())));
    whole
}

/// Requests that cover the ranges: near ones joined, joined ones cut into pieces of at most `bytes_max`.
fn plan(ranges: &[Range<u64>], bytes_max: u64) -> Vec<Range<u64>> {
    joined(ranges, bytes_max).into_iter().flat_map(|request| pieces(request, bytes_max)).collect()
}

/// Near ranges as one, up to `bytes_max`; a longer one stays alone, because a range that lies in one request needs no copy.
fn joined(ranges: &[Range<u64>], bytes_max: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<&Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).collect();
    sorted.sort_unstable_by_key(|range| (range.start, range.end));
    let mut requests: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match requests.last_mut() {
            Some(last) if range.end <= last.end => {}
            Some(last)
                if range.start <= last.end + GAP_BYTES_MAX
                    && (range.start < last.end || range.end - last.start <= bytes_max) =>
            {
                last.end = range.end;
            }
            _ => requests.push(range.clone()),
        }
    }
    requests
}

/// Equal pieces, none above `bytes_max`; a request up to twice that stays whole.
fn pieces(request: Range<u64>, bytes_max: u64) -> Vec<Range<u64>> {
    let bytes = request.end - request.start;
    if bytes <= 2 * bytes_max {
        return vec![request];
    }
    let count = bytes.div_ceil(bytes_max);
    let size = bytes.div_ceil(count);
    (0..count)
        .map(|i| request.start + i * size..(request.start + (i + 1) * size).min(request.end))
        .filter(|piece| !piece.is_empty())
        .collect()
}

/// The bytes of a range out of pieces that cover it.
fn slice(arrived: &[(u64, Bytes)], range: &Range<u64>) -> Bytes {
    if range.is_empty() {
        return Bytes::new();
    }
    let first = arrived.partition_point(|(start, _)| *start <= range.start).saturating_sub(1);
    let length = usize_of(range.end - range.start);
    let mut joined = BytesMut::new();
    for (start, bytes) in &arrived[first..] {
        let from = usize_of(range.start.saturating_sub(*start)).min(bytes.len());
        let until = usize_of(range.end.saturating_sub(*start)).min(bytes.len());
        if from == until {
            continue;
        }
        if until - from == length {
            return bytes.slice(from..until);
        }
        joined.reserve(length - joined.len());
        joined.extend_from_slice(&bytes[from..until]);
        if joined.len() == length {
            break;
        }
    }
    joined.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn near_ranges_are_one_request_and_long_ones_several() {
        let mib = 1 << 20;
        let planned = |ranges: &[(u64, u64)]| -> Vec<(u64, u64)> {
            let ranges: Vec<Range<u64>> = ranges.iter().map(|(start, end)| *start..*end).collect();
            plan(&ranges, mib).into_iter().map(|range| (range.start, range.end)).collect()
        };
        assert_eq!(planned(&[(0, 10), (20, 30)]), [(0, 30)]);
        assert_eq!(planned(&[(0, 10), (mib, mib + 1)]), [(0, 10), (mib, mib + 1)]);
        assert_eq!(planned(&[(0, mib), (mib, 2 * mib)]), [(0, mib), (mib, 2 * mib)]);
        assert_eq!(planned(&[(0, 2 * mib)]), [(0, 2 * mib)]);
        assert_eq!(planned(&[(0, 3 * mib)]), [(0, mib), (mib, 2 * mib), (2 * mib, 3 * mib)]);
        assert_eq!(planned(&[(5, 5)]), []);
    }

    static CONTENT: std::sync::LazyLock<Vec<u8>> =
        std::sync::LazyLock::new(|| (0..=250).cycle().take(2_700_000).collect());

    fn content(range: &Range<u64>) -> &'static [u8] {
        &CONTENT[usize_of(range.start)..usize_of(range.end)]
    }

    fn arrive((range, place): (Range<u64>, Place)) -> (u64, Arrived) {
        let fill = |mut room: BytesMut| {
            room.extend_from_slice(content(&range));
            room
        };
        let arrived = match place {
            Place::Alone => Arrived::Whole(Bytes::copy_from_slice(content(&range))),
            Place::First(room) => Arrived::First(fill(room)),
            Place::Next(room) => Arrived::Next(fill(room)),
        };
        (range.start, arrived)
    }

    #[test]
    fn pieces_of_a_request_are_put_together_without_a_copy() {
        let arrived: Vec<(u64, Arrived)> = places(5..2_000_000, 300_000).into_iter().map(arrive).collect();
        assert!(arrived.len() > 5);
        let begins_at = match &arrived[0].1 {
            Arrived::First(bytes) => bytes.as_ptr(),
            Arrived::Whole(_) | Arrived::Next(_) => panic!("the first piece is not the first"),
        };
        let whole = assemble(arrived);
        assert_eq!(whole.len(), 1);
        assert_eq!((whole[0].0, whole[0].1.as_ptr()), (5, begins_at));
        assert_eq!(whole[0].1, content(&(5..2_000_000)));
    }

    proptest! {
        #[test]
        fn slices_are_what_was_asked_for(
            asked in prop::collection::vec((0_u64..2_000_000, 0_u64..700_000), 0..8),
            bytes_max in 65_536_u64..400_000,
        ) {
            let ranges: Vec<Range<u64>> = asked.iter().map(|(start, length)| *start..start + length).collect();
            let requests = joined(&ranges, bytes_max);
            let mut arrived: Vec<(u64, Arrived)> =
                requests.iter().flat_map(|request| places(request.clone(), bytes_max)).map(arrive).collect();
            arrived.sort_unstable_by_key(|(start, _)| *start);
            let arrived = assemble(arrived);
            prop_assert_eq!(arrived.len(), requests.len());
            for range in &ranges {
                prop_assert_eq!(&slice(&arrived, range)[..], content(range));
            }
        }
    }
}
