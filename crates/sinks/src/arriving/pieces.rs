//! A large body read by several threads: cut into pieces of whole records, each parsed by a task of its own.
//!
//! ```text
//! first MiB ─► one reader            a body that is no longer is never cut
//! then        ─► cutter ─► pieces ─► tasks on the computing threads ─► batches in the order of the body
//! ```
//! Invariant: rows, their order and the first error are those of one reader, with the row's number in the whole body.
//! No more is held than the pieces that are parsed, [`PIECES_WAITING`] that wait to be taken, and one that is cut; they
//! are counted in the statement's memory, and when that is used up there is one piece. Tasks end with the stream.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use boundary::error::Error;
use boundary::request::BodyStream;
use bytes::Bytes;
use formats::{Cutter, Feed, FormatError, Header, Piece, ReaderStart, RecordBoundaries, RowReader, joined};
use futures::StreamExt;
use futures::stream::BoxStream;
use host::{MemoryBudget, MemoryGrant, Runtimes};
use sources::text::cut_stream::{CutStream, Next};
use stores::statement::rejects::Rejects;
use tokio_util::task::AbortOnDropHandle;

use crate::arriving::stream::{Reading, each_batch};

/// A body up to here is read by one reader: tasks would cost more than they save.
const SMALL_BYTES_MAX: usize = 1 << 20;
/// Pieces that are parsed and wait, beside those that are parsed.
const PIECES_WAITING: usize = 2;

/// Chunks at hand that are given to one reader together.
const CHUNKS_JOINED: usize = 16;

/// Makes a reader of the body's start, or of its middle.
pub type MakeReader = Arc<dyn Fn(&ReaderStart) -> Result<Box<dyn RowReader>, FormatError> + Send + Sync>;

/// How a body is read.
pub struct BodyPlan {
    pub make_reader: MakeReader,
    /// `None`: by one reader.
    pub boundaries: Option<RecordBoundaries>,
    /// Whether a record is longer than a chunk as a rule.
    pub has_long_records: bool,
    /// Pieces that are parsed at once at most.
    pub threads: usize,
    pub piece_bytes: usize,
    pub rejects: Arc<Rejects>,
    pub runtimes: Runtimes,
    pub memory: MemoryBudget,
}

/// The rows of a body.
///
/// # Errors
/// The format cannot be read into these columns.
pub fn read_body(
    mut plan: BodyPlan,
    mut chunks: BodyStream,
) -> Result<BoxStream<'static, Result<RecordBatch, Error>>, Error> {
    let reader = (plan.make_reader)(&ReaderStart::File)?;
    let boundaries = plan.boundaries.take().filter(|_| plan.threads > 1);
    if plan.has_long_records && boundaries.is_none() {
        // A reader that waits for the rest of a record would look at it again with every chunk.
        chunks =
            chunks.ready_chunks(CHUNKS_JOINED).flat_map(|ready| futures::stream::iter(join(ready))).boxed();
    }
    let early = boundaries.map(|boundaries| Early { boundaries, seen: Vec::new(), bytes: 0, rows: 0 });
    let reading = Reading::new(Feed::new(reader), chunks, Arc::clone(&plan.rejects));
    let state = (plan, Stage::Alone(Alone { reading, rows_before: 0, early }));
    let steps = futures::stream::unfold(Some(state), |state| async move {
        let (plan, stage) = state?;
        match stage.step(&plan).await {
            Ok((batches, stage)) => Some((Ok(batches), stage.map(|stage| (plan, stage)))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(each_batch(steps))
}

/// The same bytes in fewer chunks.
fn join(ready: Vec<Result<Bytes, Error>>) -> Vec<Result<Bytes, Error>> {
    let (mut parts, mut joint) = (Vec::new(), Vec::new());
    for chunk in ready {
        match chunk {
            Ok(chunk) => parts.push(chunk),
            Err(error) => joint.extend([Ok(joined(std::mem::take(&mut parts))), Err(error)]),
        }
    }
    if !parts.is_empty() {
        joint.push(Ok(joined(parts)));
    }
    joint
}

enum Stage {
    Alone(Alone),
    Together(Together),
}

/// One reader.
struct Alone {
    reading: Reading,
    /// Rows that others read.
    rows_before: u64,
    early: Option<Early>,
}

/// What is known of a body that may be cut when it turns out to be large.
struct Early {
    boundaries: RecordBoundaries,
    seen: Vec<Bytes>,
    bytes: usize,
    rows: u64,
}

/// Pieces at work.
struct Together {
    body: CutStream<Error>,
    /// Names of the body's columns in its own order, if it has any.
    columns: Option<Vec<String>>,
    /// A piece that waits for memory.
    held: Option<Piece>,
    at_work: VecDeque<Work>,
    rows_before: u64,
    /// What follows when all pieces are done.
    then: Then,
}

struct Work {
    parsed: AbortOnDropHandle<Result<Vec<RecordBatch>, FormatError>>,
    _granted: MemoryGrant,
}

enum Then {
    Cut,
    End,
    /// The rest is for one reader.
    Rest,
    Failed(Error),
}

/// Batches, and how it goes on.
type Step = (Vec<RecordBatch>, Option<Stage>);

impl Stage {
    async fn step(self, plan: &BodyPlan) -> Result<Step, Error> {
        match self {
            Stage::Alone(alone) => alone.step(plan).await,
            Stage::Together(together) => together.step(plan).await,
        }
    }
}

/// The error of a reader that does not know of the rows before its own.
fn behind(rows_before: u64) -> impl Fn(FormatError) -> Error {
    move |mut error| {
        error.row = error.row.map(|row| row.saturating_add(rows_before));
        Error::from(error)
    }
}

fn rows_of(batches: &[RecordBatch]) -> u64 {
    batches.iter().map(|batch| batch.num_rows() as u64).sum()
}

impl Alone {
    /// The rest of a body that nobody cuts any more.
    fn with_rest(plan: &BodyPlan, feed: Feed, rows_before: u64, chunks: BodyStream) -> Alone {
        let reading = Reading::new(feed, chunks, Arc::clone(&plan.rejects));
        Alone { reading, rows_before, early: None }
    }

    async fn step(mut self, plan: &BodyPlan) -> Result<Step, Error> {
        let chunk = self.reading.chunk().await?;
        if let (Some(early), Some(chunk)) = (&mut self.early, &chunk) {
            early.seen.push(chunk.clone());
            early.bytes += chunk.len();
        }
        if let Some(early) = self.early.take_if(|early| early.bytes > SMALL_BYTES_MAX) {
            return share(plan, self.reading, early).await;
        }
        let is_last = chunk.is_none();
        let batches = self.reading.read(chunk).map_err(behind(self.rows_before))?;
        if let Some(early) = &mut self.early {
            early.rows += rows_of(&batches);
        }
        Ok((batches, (!is_last).then_some(Stage::Alone(self))))
    }
}

/// Reads one more piece with the reader that has read so far, which then knows what the others need to know.
async fn share(plan: &BodyPlan, reading: Reading, early: Early) -> Result<Step, Error> {
    let (mut feed, chunks) = reading.into_parts();
    feed.forget_rest();
    let cutter = Cutter::new(early.boundaries, early.seen, feed.consumed());
    let mut body = CutStream::new(cutter, chunks);
    let mut batches = Vec::new();
    let mut read = |feed: &mut Feed, piece: Piece, end| {
        feed.take_all(piece.parts, plan.has_long_records, end, &mut batches)
    };
    match body.next(plan.piece_bytes).await? {
        Next::Last(piece) => {
            read(&mut feed, piece, true)?;
            return Ok((batches, None));
        }
        Next::Records(piece) => read(&mut feed, piece, false)?,
        Next::Rest => {}
    }
    let columns = match feed.header() {
        Header::Read(columns) if !body.is_lost() => columns.map(<[String]>::to_vec),
        // The header is longer than all that was read, or the format is one that is not cut here.
        _ => {
            let alone = Alone::with_rest(plan, feed, 0, body.into_rest());
            return Ok((batches, Some(Stage::Alone(alone))));
        }
    };
    // What is held back for a full batch.
    feed.take(&[], true, &mut batches)?;
    let rows_before = early.rows + rows_of(&batches);
    let (held, at_work, then) = (None, VecDeque::new(), Then::Cut);
    let together = Together { body, columns, held, at_work, rows_before, then };
    Ok((batches, Some(Stage::Together(together))))
}

impl Together {
    async fn step(mut self, plan: &BodyPlan) -> Result<Step, Error> {
        loop {
            self.employ(plan);
            let parsing = self.at_work.iter().filter(|work| !work.parsed.is_finished()).count();
            let may_cut = matches!(self.then, Then::Cut)
                && self.held.is_none()
                && parsing < plan.threads
                && self.at_work.len() < plan.threads + PIECES_WAITING;
            let done = match self.at_work.front_mut() {
                None if may_cut => {
                    let next = self.body.next(plan.piece_bytes).await;
                    self.take(next);
                    continue;
                }
                None => return self.end(plan),
                Some(first) if may_cut => {
                    // Cutting comes first: whoever takes the rows may be busy with them for long.
                    tokio::select! {
                        biased;
                        next = self.body.next(plan.piece_bytes) => {
                            self.take(next);
                            continue;
                        }
                        done = &mut first.parsed => done,
                    }
                }
                Some(first) => (&mut first.parsed).await,
            };
            self.at_work.pop_front();
            let done =
                done.map_err(|error| Error::internal(format!("the parsing of a piece broke: {error}")))?;
            let batches = done.map_err(behind(self.rows_before))?;
            self.rows_before += rows_of(&batches);
            return Ok((batches, Some(Stage::Together(self))));
        }
    }

    /// What was cut, in the order of the body: a failure shows when all before it is read.
    fn take(&mut self, next: Result<Next, Error>) {
        match next {
            Ok(Next::Records(piece)) => self.held = Some(piece),
            Ok(Next::Last(piece)) => {
                self.then = Then::End;
                self.held = Some(piece).filter(|piece| !piece.parts.is_empty());
            }
            Ok(Next::Rest) => self.then = Then::Rest,
            Err(error) => self.then = Then::Failed(error),
        }
    }

    /// Gives the piece that waits to a task, unless there is no memory and others are at work.
    fn employ(&mut self, plan: &BodyPlan) {
        let Some(piece) = self.held.take() else { return };
        // Its bytes, and the rows they become.
        let bytes = 2 * piece.bytes() as u64;
        let mut granted = plan.memory.empty_grant("body pieces");
        if granted.try_grow(bytes).is_err() {
            if !self.at_work.is_empty() {
                self.held = Some(piece);
                return;
            }
            // Without this piece there is no progress at all.
            granted.grow_anyway(bytes);
        }
        let start = ReaderStart::Middle { columns: self.columns.clone(), position: piece.position };
        let (make_reader, joins) = (Arc::clone(&plan.make_reader), plan.has_long_records);
        let task = plan.runtimes.spawn_cpu("body piece", async move {
            let mut batches = Vec::new();
            Feed::new(make_reader(&start)?).take_all(piece.parts, joins, true, &mut batches)?;
            Ok(batches)
        });
        self.at_work.push_back(Work { parsed: AbortOnDropHandle::new(task), _granted: granted });
    }

    /// All pieces are done, and none is to come.
    fn end(self, plan: &BodyPlan) -> Result<Step, Error> {
        match self.then {
            Then::Failed(error) => Err(error),
            Then::Rest => {
                let start = ReaderStart::Middle { columns: self.columns, position: self.body.position() };
                let feed = Feed::new((plan.make_reader)(&start)?);
                let alone = Alone::with_rest(plan, feed, self.rows_before, self.body.into_rest());
                Ok((Vec::new(), Some(Stage::Alone(alone))))
            }
            Then::Cut | Then::End => Ok((Vec::new(), None)),
        }
    }
}

#[cfg(test)]
mod tests;
