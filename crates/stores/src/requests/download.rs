//! One range of one object on its way: what arrived is kept, a body that breaks is asked for from where it broke.
//!
//! Invariant: all bytes are of one version of the object: each answer's ETag is that of the listing, or of the first
//! answer, whether or not the server honours `If-Match`. Must not know: how often it is tried, what the bytes mean.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use model::saturating::{u64_of, usize_of};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore};
use parking_lot::Mutex;

use crate::error::{SourceError, SourceErrorKind};
use crate::network::wire::Paced;
use crate::requests::attempts::Failure;
use crate::requests::errors::read_error;
use crate::requests::verdict::Verdict;

#[derive(Debug)]
pub(crate) struct Download {
    pub objects: Arc<dyn ObjectStore>,
    pub path: Path,
    /// `?versionId=`.
    pub version: Option<String>,
    /// `bucket/key`
    pub shown: String,
    pub range: Range<u64>,
    /// Times the body may break.
    pub breaks_max: usize,
    pub arrived: Mutex<Arrived>,
}

#[derive(Debug)]
pub(crate) struct Arrived {
    /// Of the listing; without one, of the first answer.
    pub etag: Option<String>,
    bytes: BytesMut,
    breaks: usize,
}

impl Arrived {
    /// `room` is empty and takes the bytes; with too little room they move elsewhere.
    pub(crate) fn of_version(etag: Option<&str>, room: BytesMut) -> Mutex<Arrived> {
        Mutex::new(Arrived { etag: etag.map(str::to_owned), bytes: room, breaks: 0 })
    }
}

impl Download {
    /// Asks for what is missing.
    pub(crate) async fn attempt(self: Arc<Self>) -> Result<BytesMut, Failure> {
        let (missing, etag) = self.missing();
        let options = GetOptions {
            range: Some(GetRange::Bounded(missing.clone())),
            // A weak one matches nothing, not even itself.
            if_match: etag.clone().filter(|etag| !etag.starts_with("W/")),
            version: self.version.clone(),
            ..GetOptions::default()
        };
        let answer = self.objects.get_opts(&self.path, options).await?;
        let (object_bytes, answered) = (answer.meta.size, answer.range.clone());
        self.same_version(etag.as_deref(), answer.meta.e_tag.as_deref())?;
        let announced = usize_of(answered.end.saturating_sub(answered.start));
        self.arrived.lock().bytes.reserve(announced.min(self.expected()));
        let mut pieces = Paced::new(answer.into_stream());
        loop {
            match pieces.next(|piece| piece.as_ref().map_or(0, Bytes::len)).await {
                Ok(Some(Ok(piece))) => self.take(&piece)?,
                Ok(None) => break,
                // What broke has brought all there was to bring.
                Ok(Some(Err(_))) | Err(_) if self.is_whole() => break,
                Ok(Some(Err(error))) => return Err(self.broke(&error)),
                Err(silent) => {
                    let error = object_store::Error::Generic { store: "S3", source: Box::new(silent) };
                    return Err(self.broke(&error));
                }
            }
        }
        self.whole(object_bytes)
    }

    fn expected(&self) -> usize {
        usize_of(self.range.end - self.range.start)
    }

    fn is_whole(&self) -> bool {
        self.arrived.lock().bytes.len() == self.expected()
    }

    /// A body without an end must not be collected until memory ends.
    fn take(&self, piece: &Bytes) -> Result<(), Failure> {
        let mut arrived = self.arrived.lock();
        if arrived.bytes.len() + piece.len() > self.expected() {
            drop(arrived);
            let message =
                format!("the store sent more of \"{}\" than the range that was asked for", self.shown);
            let error = SourceError::new(SourceErrorKind::Corrupt, message)
                .with_hint("the store, or a proxy in front of it, does not keep to the S3 protocol");
            return Err(self.ours(error, Verdict::Never));
        }
        arrived.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn missing(&self) -> (Range<u64>, Option<String>) {
        let mut arrived = self.arrived.lock();
        if arrived.etag.is_none() {
            // Nothing would tell the rest of another version from the rest of this one.
            arrived.bytes.clear();
        }
        let start = self.range.start + u64_of(arrived.bytes.len());
        (start.min(self.range.end)..self.range.end, arrived.etag.clone())
    }

    fn same_version(&self, expected: Option<&str>, answered: Option<&str>) -> Result<(), Failure> {
        match (expected, answered) {
            (Some(expected), Some(answered)) if bare(expected) != bare(answered) => {
                let message = format!(
                    "\"{}\" was replaced while it was being read: its ETag was {expected} and is {answered}",
                    self.shown
                );
                let error = SourceError::new(SourceErrorKind::Changed, message)
                    .with_hint("run the statement again to read the new version");
                Err(self.ours(error, Verdict::Never))
            }
            (None, Some(answered)) => {
                self.arrived.lock().etag = Some(answered.to_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The body ended early. What arrived stays.
    fn broke(&self, error: &object_store::Error) -> Failure {
        let shown = read_error(error, &self.shown, None);
        self.again(shown)
    }

    fn again(&self, error: SourceError) -> Failure {
        let mut arrived = self.arrived.lock();
        arrived.breaks += 1;
        if arrived.breaks <= self.breaks_max {
            return self.ours(error, Verdict::Again);
        }
        let hint = format!(
            "the body broke {} times and {} bytes arrived: raise s3_max_single_read_retries, or lower \
             max_download_buffer_size",
            arrived.breaks,
            arrived.bytes.len()
        );
        self.ours(error.with_hint(hint), Verdict::Never)
    }

    fn whole(&self, object_bytes: u64) -> Result<BytesMut, Failure> {
        let mut arrived = self.arrived.lock();
        let expected = self.expected();
        if arrived.bytes.len() == expected {
            return Ok(std::mem::take(&mut arrived.bytes));
        }
        let got = arrived.bytes.len();
        drop(arrived);
        if got < expected && object_bytes >= self.range.end {
            let message = format!("reading \"{}\" failed: the body ended after {got} bytes", self.shown);
            return Err(self.again(SourceError::new(SourceErrorKind::Unavailable, message)));
        }
        let message = format!(
            "\"{}\" has {object_bytes} bytes, and its listing says at least {}",
            self.shown, self.range.end
        );
        let error = SourceError::new(SourceErrorKind::Changed, message)
            .with_hint("run the statement again; if it stays so, the store's listing is wrong");
        Err(self.ours(error, Verdict::Never))
    }

    fn ours(&self, error: SourceError, verdict: Verdict) -> Failure {
        Failure::Ours { error: error.with_file(&self.shown).with_range(self.range.clone()), verdict }
    }
}

/// Some servers quote an ETag in one answer and not in another.
fn bare(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}
