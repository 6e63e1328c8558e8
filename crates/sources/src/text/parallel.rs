//! One text file read by several streams.
//!
//! ```text
//! ranges ──► decompression ──► cutter: pieces of whole records ──► queue ──► whichever stream asks next parses one
//! ```
//!
//! A task of its own fetches the file in order, scans for record ends (`formats::RecordBoundaries`) and queues pieces;
//! the streams, the *shares* of the file, parse them side by side. Nothing is fetched twice and nothing guessed, and
//! it works for compressed files as for plain ones. What the header says is found out once, by the cutter.
//! Invariant: every record is in one piece, every piece is given to one share; a cutter that stops early is an error
//! for whoever waits. A file whose records cannot be told apart is given to one share, to be read in order.
//! Must not know: batches' schemas, queries.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use bytes::Bytes;
use formats::{
    Cutter, Feed, FormatError, FormatKind, FormatSettings, Header, ReaderStart, RecordBoundaries, RowReader,
};
use host::{MemoryBudget, MemoryGrant, Runtimes};
use model::saturating::u64_of;
use parking_lot::Mutex;
use stores::codecs::compression::ByteStream;
use stores::error::{Result, SourceError, SourceErrorKind};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use crate::text::cut_stream::{CutStream, Next};

/// The first piece is short: others wait for what it says about the header.
const FIRST_PIECE_BYTES: usize = 128 << 10;
/// Pieces that wait, beside the ones that are parsed.
const PIECES_AHEAD: usize = 2;

/// Makes a row reader of the file: of its start, or of its middle.
pub(crate) type MakeReader = Box<dyn Fn(&ReaderStart) -> Result<Box<dyn RowReader>> + Send + Sync>;

/// A file that several streams read together; each holds a [`Share`].
pub(crate) struct SharedText {
    queue: Arc<Queue>,
    /// The cutter, once a share was opened.
    cutter: Mutex<Option<AbortOnDropHandle<()>>>,
    taken: Vec<AtomicBool>,
    counted: AtomicBool,
}

/// One stream's part in a [`SharedText`]: as many pieces as it asks for.
#[derive(Clone)]
pub struct Share {
    file: Arc<SharedText>,
    index: usize,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Share({} of {})", self.index + 1, self.file.taken.len())
    }
}

impl PartialEq for Share {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.index == other.index
    }
}

impl Eq for Share {}

impl std::hash::Hash for Share {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.file).hash(state);
        self.index.hash(state);
    }
}

/// What a share is given.
pub(crate) enum Given {
    /// Rows of the file's first piece.
    Rows(Vec<RecordBatch>),
    Piece(Piece),
    /// The rest of the file, which cannot be cut.
    Rest {
        feed: Feed,
        chunks: ByteStream,
    },
}

/// Whole records.
pub(crate) struct Piece {
    /// Where it starts in the file, decompressed.
    pub position: u64,
    /// End to end.
    parts: Vec<Bytes>,
    /// Names of the file's columns in its own order, if it has any.
    columns: Arc<Option<Vec<String>>>,
    _granted: MemoryGrant,
}

impl Piece {
    /// Its rows, by a reader made for it.
    ///
    /// # Errors
    /// There can be no such reader, or a row cannot be read; it is named by its part of the file at `path`.
    pub(crate) fn read(
        self,
        path: &str,
        make_reader: impl FnOnce(&ReaderStart) -> Result<Box<dyn RowReader>>,
    ) -> Result<Vec<RecordBatch>> {
        let (columns, position) = (self.columns.as_ref().clone(), self.position);
        let reader = make_reader(&ReaderStart::Middle { columns, position })?;
        let mut rows = Vec::new();
        Feed::new(reader)
            .take_all(self.parts, false, true, &mut rows)
            .map_err(|error| bad_row_of_piece(path, position, &error))?;
        Ok(rows)
    }
}

/// What the cutter works with.
pub(crate) struct CutPlan {
    pub chunks: ByteStream,
    /// Of the file, for errors.
    pub path: String,
    pub boundaries: RecordBoundaries,
    pub make_reader: MakeReader,
    pub piece_bytes: usize,
    pub runtimes: Runtimes,
    pub memory: MemoryBudget,
}

#[derive(Default)]
struct Queue {
    state: Mutex<Waiting>,
    /// Something was queued, or the end.
    changed: Notify,
    /// Something was taken.
    room: Notify,
}

#[derive(Default)]
struct Waiting {
    given: VecDeque<Given>,
    /// Nothing follows what waits; an error is for the first who finds nothing else.
    ended: Option<Result<()>>,
}

/// As many shares as this of a file of a format that can be cut; `None`: it is read by one stream.
pub(crate) fn shares(
    format: FormatKind,
    settings: &FormatSettings,
    count: usize,
) -> Option<impl Iterator<Item = Share>> {
    if count < 2 || RecordBoundaries::new(format, settings).is_none() {
        return None;
    }
    let file = Arc::new(SharedText {
        queue: Arc::default(),
        cutter: Mutex::new(None),
        taken: (0..count).map(|_| AtomicBool::new(false)).collect(),
        counted: AtomicBool::new(false),
    });
    Some((0..count).map(move |index| Share { file: Arc::clone(&file), index }))
}

impl Share {
    /// Opens the share; the first to be opened starts the cutter, of what `plan` makes.
    ///
    /// # Errors
    /// The share was opened before: what the first reader took would be missing.
    pub(crate) fn open(&self, plan: impl FnOnce() -> Result<CutPlan>) -> Result<()> {
        let again = self.file.taken.get(self.index).is_none_or(|taken| taken.swap(true, Ordering::AcqRel));
        if again {
            let message =
                format!("part {self:?} of a text file was opened twice; its rows cannot be read again");
            return Err(SourceError::new(SourceErrorKind::Unavailable, message)
                .with_hint("run the statement again, or set input_format_parallel_parsing = 0"));
        }
        let mut cutter = self.file.cutter.lock();
        if cutter.is_none() {
            let plan = plan()?;
            let runtimes = plan.runtimes.clone();
            let end = EndOnDrop(Arc::clone(&self.file.queue));
            let task = runtimes.spawn_cpu("source cutter", async move {
                let ended = cut(plan, &end.0).await;
                end.0.end(ended);
            });
            *cutter = Some(AbortOnDropHandle::new(task));
        }
        Ok(())
    }

    /// Whether nobody has counted the file as done yet; true for one share alone.
    pub(crate) fn counts_file(&self) -> bool {
        !self.file.counted.swap(true, Ordering::AcqRel)
    }

    /// The next piece nobody has; `None` at the end of the file.
    pub(crate) async fn next(&self) -> Result<Option<Given>> {
        let queue = &self.file.queue;
        loop {
            // Registered before looking, so that nothing queued in between is missed. A share that is not polled any
            // more holds nothing: what it was woken for stays in the queue for the others.
            let mut changed = std::pin::pin!(queue.changed.notified());
            changed.as_mut().enable();
            if let Some(given) = queue.take() {
                return given;
            }
            changed.await;
        }
    }
}

impl Queue {
    fn take(&self) -> Option<Result<Option<Given>>> {
        let mut state = self.state.lock();
        if let Some(given) = state.given.pop_front() {
            drop(state);
            self.room.notify_one();
            return Some(Ok(Some(given)));
        }
        state.ended.as_ref().map(|ended| ended.clone().map(|()| None))
    }

    async fn put(&self, given: Given) {
        while self.state.lock().given.len() >= PIECES_AHEAD {
            self.room.notified().await;
        }
        self.state.lock().given.push_back(given);
        self.changed.notify_waiters();
    }

    fn is_empty(&self) -> bool {
        self.state.lock().given.is_empty()
    }

    fn end(&self, ended: Result<()>) {
        self.state.lock().ended.get_or_insert(ended);
        self.changed.notify_waiters();
    }
}

/// A cutter that is stopped has not queued everything: that must not look like the end of the file.
struct EndOnDrop(Arc<Queue>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        let message = "reading of a text file was stopped: the database is shutting down";
        self.0.end(Err(SourceError::new(SourceErrorKind::Unavailable, message)));
    }
}

/// A row that cannot be read, with its file.
pub(crate) fn bad_row(path: &str, error: &FormatError) -> SourceError {
    let message = format!("\"{path}\" cannot be parsed: {error}");
    SourceError::new(SourceErrorKind::BadValue, message).with_file(path).with_code(error.code)
}

/// [`bad_row`] of a piece: how many rows stand in front of it nobody knows.
pub(crate) fn bad_row_of_piece(path: &str, position: u64, error: &FormatError) -> SourceError {
    let mut error = error.clone();
    let Some(row) = error.row.take() else { return bad_row(path, &error) };
    let message =
        format!("\"{path}\" cannot be parsed, row {row} of the part from byte {position} on: {error}");
    SourceError::new(SourceErrorKind::BadValue, message).with_file(path).with_code(error.code)
}

async fn cut(plan: CutPlan, queue: &Queue) -> Result<()> {
    let CutPlan { chunks, path, boundaries, make_reader, piece_bytes, memory, .. } = plan;
    let mut file = CutStream::new(Cutter::new(boundaries, Vec::new(), 0), chunks);
    let rest = |file: CutStream<SourceError>, feed| Given::Rest { feed, chunks: file.into_rest() };
    let mut feed = Feed::new(make_reader(&ReaderStart::File)?);
    let (first, is_last) = match file.next(FIRST_PIECE_BYTES).await? {
        Next::Records(piece) => (piece, false),
        Next::Last(piece) => (piece, true),
        Next::Rest => {
            queue.put(rest(file, feed)).await;
            return Ok(());
        }
    };
    let mut rows = Vec::new();
    let failed = |error: FormatError| bad_row(&path, &error);
    feed.take_all(first.parts, false, is_last, &mut rows).map_err(failed)?;
    let columns = match feed.header() {
        _ if is_last => None,
        // More lines to skip than the piece has, or a reader that wants to see more.
        Header::Ahead => {
            queue.put(Given::Rows(rows)).await;
            queue.put(rest(file, feed)).await;
            return Ok(());
        }
        Header::Read(columns) => Some(columns.map(<[String]>::to_vec)),
    };
    if !is_last {
        // The rest of the rows that the reader holds back for a full batch.
        feed.take(&[], true, &mut rows).map_err(failed)?;
    }
    queue.put(Given::Rows(rows)).await;
    let Some(columns) = columns else { return Ok(()) };
    let columns = Arc::new(columns);
    loop {
        let (piece, is_last) = match file.next(piece_bytes).await? {
            Next::Records(piece) => (piece, false),
            Next::Last(piece) => (piece, true),
            Next::Rest => {
                let (columns, position) = (columns.as_ref().clone(), file.position());
                let feed = Feed::new(make_reader(&ReaderStart::Middle { columns, position })?);
                queue.put(rest(file, feed)).await;
                return Ok(());
            }
        };
        if !piece.parts.is_empty() {
            let granted = granted(&memory, piece.bytes(), queue).await;
            let formats::Piece { parts, position } = piece;
            let columns = Arc::clone(&columns);
            queue.put(Given::Piece(Piece { position, parts, columns, _granted: granted })).await;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Memory of a piece until it is parsed. While there is none, pieces are not queued beside others.
async fn granted(memory: &MemoryBudget, bytes: usize, queue: &Queue) -> MemoryGrant {
    let bytes = u64_of(bytes);
    loop {
        let mut grant = memory.empty_grant("source pieces");
        if grant.try_grow(bytes).is_ok() {
            return grant;
        }
        if queue.is_empty() {
            // Without this piece there is no progress at all, so it is counted past the limit.
            grant.grow_anyway(bytes);
            return grant;
        }
        queue.room.notified().await;
    }
}

#[cfg(test)]
mod tests;
