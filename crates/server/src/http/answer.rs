//! One statement from its start to the last byte of its answer.
//!
//! ```text
//! execute ──► batches ──► writer ──► encoding ──► held back ──► head, then chunks through a bounded channel ──► socket
//!                                                    └─ an error here has a status; behind the head it is the last chunk
//! ```
//! Invariant: runs on the computing threads; whoever reads slowly makes it wait, whoever goes away ends it. Must not know:
//! what a request looks like.

use std::sync::Arc;
use std::time::Duration;

use engine::{
    Error, ErrorCode, ErrorKind, FormatKind, Outcome, QueryProgress, Request, Telling, room_to_finish,
};
use formats::{FormatError, FormatSettings, RowWriter, new_writer};
use futures::StreamExt;
use host::meter;
use http::Response;
use tokio::sync::{mpsc, oneshot};

use crate::door::Door;
use crate::door::gate::Seat;
use crate::door::sessions::Lease;
use crate::door::spool::Spool;
use crate::door::turns::SLOW;
use crate::http::arrival::TextMemory;
use crate::http::body::{Body, Piece};
use crate::http::encoding::Encoding;
use crate::http::failure::broken_off;
use crate::http::guests::{Guest, invitations, seated};
use crate::http::head::{Ended, Head};

/// Bytes that all statements together hold back in front of their heads, as far as each may hold any: those that came first
/// and are not read count, too.
const HELD_BY_ALL_MAX: usize = 64 << 20;
/// So many bytes are held back however many statements run.
const HELD_MIN: usize = 64 << 10;

/// How an answer is wanted.
pub(crate) struct Wanted {
    pub(crate) blocks: bool,
    pub(crate) coding: Option<&'static str>,
    /// Nothing is sent before the end.
    pub(crate) waits: bool,
    /// Bytes held back before the head is sent.
    pub(crate) held_bytes: usize,
    pub(crate) native_revision: u64,
}

/// A statement ready to run.
pub(crate) struct Job {
    pub(crate) door: Arc<Door>,
    pub(crate) lease: Lease,
    /// Tables that the statement brings along.
    pub(crate) guests: Vec<Guest>,
    pub(crate) request: Request,
    pub(crate) wanted: Wanted,
    pub(crate) seat: Arc<Seat>,
    /// Memory of the statement's text and of its form.
    pub(crate) texts: [TextMemory; 2],
    pub(crate) head: Head,
    /// Whose it is.
    pub(crate) user: String,
    /// It changes nothing: nobody needs it once its client is gone.
    pub(crate) reads_only: bool,
}

/// Runs a statement and sends its answer; the first of it, with its head, to `client`.
pub(crate) async fn run(job: Job, client: oneshot::Sender<Response<Body>>) -> Ended {
    let Job { door, mut lease, guests, request, wanted, seat, texts, mut head, user, reads_only } = job;
    head.compress_errors(wanted.blocks, wanted.coding);
    let _held = texts;
    let progress = Arc::clone(&request.progress);
    let mut client = Client::Waits(client);
    let invited = invitations(guests, &request);
    let executing = async {
        seated(&mut lease, invited).await?;
        lease.session().execute(request).await
    };
    let outcome = tokio::select! {
        biased;
        outcome = executing => outcome,
        () = client.gone(), if reads_only => Err(Error::cancelled()),
    };
    let lease = Some(lease);
    let _open = Open::new(&door);
    let mut answer = Answer { door, client, seat, lease, head, user, progress, ended: Ended::default() };
    let done = match outcome {
        Ok(outcome) => answer.give(outcome, &wanted).await,
        Err(error) => Err(error),
    };
    if let Err(error) = done {
        answer.fail(error);
    }
    answer.ended
}

/// An answer that is counted for as long as it is made and sent.
struct Open(Arc<Door>);

impl Open {
    fn new(door: &Arc<Door>) -> Open {
        door.metrics.answers_open.enter();
        Open(Arc::clone(door))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.metrics.answers_open.leave();
    }
}

/// Who reads.
enum Client {
    Waits(oneshot::Sender<Response<Body>>),
    Reads(mpsc::Sender<Piece>),
    /// It has everything, or it left.
    Done,
}

impl Client {
    async fn gone(&mut self) {
        match self {
            Client::Waits(head) => head.closed().await,
            Client::Reads(pieces) => pieces.closed().await,
            Client::Done => {}
        }
    }
}

struct Answer {
    door: Arc<Door>,
    client: Client,
    seat: Arc<Seat>,
    lease: Option<Lease>,
    head: Head,
    user: String,
    progress: Arc<QueryProgress>,
    ended: Ended,
}

/// An answer in the making.
struct Making {
    writer: Box<dyn RowWriter>,
    encoding: Encoding,
    raw: Vec<u8>,
    telling: Telling,
}

impl Making {
    /// What the writer made, encoded behind `out`.
    fn encode(&mut self, out: &mut Vec<u8>) -> Result<u64, Error> {
        let raw_bytes = self.raw.len() as u64;
        if self.encoding.is_plain() && out.is_empty() {
            // Not copied. The next bytes will be about as many, and find room without growing into it step by step.
            let room = self.raw.len() + self.raw.len() / 8;
            *out = std::mem::replace(&mut self.raw, Vec::with_capacity(room));
            return Ok(raw_bytes);
        }
        self.encoding.push(&self.raw, out)?;
        self.raw.clear();
        Ok(raw_bytes)
    }
}

impl Answer {
    /// The statement has ended. Its client may send the next one of the session as soon as it has seen all of the answer.
    fn is_over(&mut self) {
        self.lease = None;
        self.seat.leave();
    }

    /// Sends everything a statement answers.
    async fn give(&mut self, mut outcome: Outcome, wanted: &Wanted) -> Result<(), Error> {
        if outcome.outfile.is_some() {
            let message = "INTO OUTFILE is not allowed here: the file would be the server's";
            return Err(self.ours(Error::new(
                ErrorKind::Unsupported,
                ErrorCode::INTO_OUTFILE_NOT_ALLOWED,
                message,
            )));
        }
        self.head.warn(&outcome.warnings);
        if !outcome.has_result() {
            drop(outcome);
            self.is_over();
            self.send_head(Body::empty());
            return Ok(());
        }
        let kind = outcome.format.unwrap_or(FormatKind::TabSeparated);
        let encoding = Encoding::new(wanted.blocks, wanted.coding)?;
        self.head.describe(kind, encoding.http_name());
        let settings = FormatSettings {
            native_revision: wanted.native_revision,
            // Nobody knows whether a terminal reads.
            pretty_color: Some(outcome.format_settings.pretty_color.unwrap_or(false)),
            ..(*outcome.format_settings).clone()
        };
        let writer = new_writer(kind, &settings).map_err(|error| self.unwritable(&error))?;
        let telling = Telling::new(kind, &settings).await;
        let mut making = Making { writer, encoding, raw: Vec::new(), telling };
        let mut held = Spool::new();
        let account = outcome.account.clone();
        let ended =
            meter::metered(account, self.give_rows(&mut outcome, &mut making, wanted, &mut held)).await;
        drop(outcome);
        self.is_over();
        match ended {
            Ok(()) => self.send_held(held).await,
            Err(error) => {
                // In front of the head the error is all of the answer.
                if let Client::Reads(_) = self.client {
                    self.break_off(&error, &mut making).await;
                }
                Err(error)
            }
        }
    }

    async fn give_rows(
        &mut self,
        outcome: &mut Outcome,
        making: &mut Making,
        wanted: &Wanted,
        held: &mut Spool,
    ) -> Result<(), Error> {
        let mut out = Vec::new();
        making.writer.start(&outcome.schema, &mut making.raw).map_err(|error| self.unwritable(&error))?;
        self.ended.result_bytes += making.encode(&mut out)?;
        loop {
            let batch = tokio::select! {
                biased;
                () = making.telling.due() => {
                    self.tell(&mut out, making, wanted, held).await?;
                    continue;
                }
                batch = outcome.stream.next() => batch,
                () = self.client.gone() => return Err(Error::cancelled()),
            };
            let Some(batch) = batch.transpose()? else { break };
            self.ended.result_rows += batch.num_rows() as u64;
            making.writer.write(&batch, &mut making.raw).map_err(|error| self.unwritable(&error))?;
            drop(batch);
            room_to_finish(making.writer.held_bytes(), "rows held back by the format")?;
            self.ended.result_bytes += making.encode(&mut out)?;
            if let Client::Reads(_) = self.client {
                making.encoding.flush(&mut out);
            }
            self.hand_on(&mut out, held, wanted, wanted.held_bytes).await?;
        }
        let stats = self.progress.told(self.elapsed());
        making.writer.finish(&stats, &mut making.raw).map_err(|error| self.unwritable(&error))?;
        self.ended.result_bytes += making.encode(&mut out)?;
        making.encoding.finish(&mut out)?;
        held_or_sent(self, &mut out, held).await
    }

    /// Sends how far the statement is, and with it all that was held back: news of what is over are none.
    async fn tell(
        &mut self,
        out: &mut Vec<u8>,
        making: &mut Making,
        wanted: &Wanted,
        held: &mut Spool,
    ) -> Result<(), Error> {
        making.writer.progress(&self.progress.told(self.elapsed()), &mut making.raw);
        if making.raw.is_empty() {
            return Ok(());
        }
        self.ended.result_bytes += making.encode(out)?;
        making.encoding.flush_all(out)?;
        self.hand_on(out, held, wanted, 0).await
    }

    /// An error of ours, which the engine has not seen, so that it is counted here.
    fn ours(&self, error: Error) -> Error {
        self.door.database.note_answered(&error, self.head.query_id(), &self.user);
        error
    }

    fn unwritable(&self, error: &FormatError) -> Error {
        self.ours(Error::new(ErrorKind::BadInput, error.code, error.to_string()))
    }

    fn elapsed(&self) -> Duration {
        self.door.host.clock.monotonic().saturating_sub(self.head.started())
    }

    /// Holds bytes back, or sends them when so many are held.
    async fn hand_on(
        &mut self,
        out: &mut Vec<u8>,
        held: &mut Spool,
        wanted: &Wanted,
        enough: usize,
    ) -> Result<(), Error> {
        held_or_sent(self, out, held).await?;
        let Client::Waits(_) = self.client else { return Ok(()) };
        if wanted.waits {
            if held.in_memory() > self.door.config.limits.held_bytes {
                let door = &self.door;
                held.spill(&door.host.disk, || door.config.spool.join(door.new_id()))?;
            }
            return Ok(());
        }
        let open = usize::try_from(self.door.metrics.answers_open.get()).unwrap_or(usize::MAX);
        let others = open.saturating_add(self.door.gate.waiting());
        let share = (HELD_BY_ALL_MAX / others.max(1)).max(HELD_MIN);
        if held.in_memory() >= enough.min(share) {
            let (pieces, body) = Body::coming(None);
            self.send_head(body);
            self.client = Client::Reads(pieces);
            let held = std::mem::replace(held, Spool::new());
            for chunk in held.into_chunks()? {
                self.send(Piece::Bytes(chunk?)).await?;
            }
        }
        Ok(())
    }

    /// Everything is there: what was held goes with its length, what was streamed gets its end.
    async fn send_held(&mut self, held: Spool) -> Result<(), Error> {
        if let Client::Reads(_) = self.client {
            return self.send(Piece::End).await;
        }
        let length = held.len();
        let mut chunks = held.into_chunks()?;
        let first = chunks.next().transpose()?.unwrap_or_default();
        if first.len() as u64 == length {
            self.send_head(Body::whole(first));
            return Ok(());
        }
        let (pieces, body) = Body::coming(Some(length));
        self.send_head(body);
        self.client = Client::Reads(pieces);
        self.send(Piece::Bytes(first)).await?;
        for chunk in chunks {
            self.send(Piece::Bytes(chunk?)).await?;
        }
        self.send(Piece::End).await
    }

    /// The error behind rows that were sent already: a chunk by itself, as clients look for it, and no end, as ClickHouse
    /// does for those who do not.
    async fn break_off(&mut self, error: &Error, making: &mut Making) {
        let mut out = Vec::new();
        // A client that left, or an encoder that broke, cannot be told anything.
        if making.encoding.push(&broken_off(error, self.head.tag()), &mut out).is_ok()
            && making.encoding.finish(&mut out).is_ok()
        {
            let _ = self.send(Piece::Broken(out.into())).await;
        }
    }

    /// Sends a piece, and comes back when the client is about to take the next: none is computed for one that takes nothing.
    async fn send(&mut self, piece: Piece) -> Result<(), Error> {
        let Client::Reads(pieces) = &self.client else { return Err(Error::cancelled()) };
        let is_last = !matches!(piece, Piece::Bytes(_));
        if let Piece::Bytes(bytes) | Piece::Broken(bytes) = &piece {
            self.door.metrics.response_bytes.add(bytes.len() as u64);
        }
        pieces.reserve().await.map_err(|_| Error::cancelled())?.send(piece);
        if is_last { Ok(()) } else { self.until_taken().await }
    }

    /// A client that is slow gives up its place among those who compute.
    async fn until_taken(&mut self) -> Result<(), Error> {
        let Client::Reads(pieces) = &self.client else { return Err(Error::cancelled()) };
        let taken = match tokio::time::timeout(SLOW, pieces.reserve()).await {
            Ok(taken) => taken,
            Err(_) => {
                self.seat.leave();
                pieces.reserve().await
            }
        };
        taken.map_err(|_| Error::cancelled())?;
        self.take_turns().await
    }

    /// Who has sent something lets those go first who wait to begin: a new statement waits for one piece of each of the
    /// others, and not for their ends.
    async fn take_turns(&mut self) -> Result<(), Error> {
        if self.door.gate.waiting() == 0 {
            // One that was slow goes on without a place if there is none: at its client's pace that costs others little.
            self.seat.take_a_free_one();
            return Ok(());
        }
        self.seat.leave();
        let seat = Arc::clone(&self.seat);
        tokio::select! {
            biased;
            () = seat.take_again() => {}
            () = self.client.gone() => return Err(Error::cancelled()),
        }
        Ok(())
    }

    fn send_head(&mut self, body: Body) {
        if let Body::Whole(Some(bytes)) = &body {
            self.door.metrics.response_bytes.add(bytes.len() as u64);
        }
        let now = self.door.host.clock.monotonic();
        let response = self.head.response(body, &self.progress, &self.ended, now);
        if let Client::Waits(client) = std::mem::replace(&mut self.client, Client::Done) {
            // Whoever asked may have left.
            let _ = client.send(response);
        }
    }

    /// The statement failed; if nothing was sent, the error is the answer.
    fn fail(&mut self, error: Error) {
        self.is_over();
        if let Client::Waits(client) = std::mem::replace(&mut self.client, Client::Done) {
            let _ = client.send(self.head.failure(&error));
        }
        self.ended.error = Some(error);
    }
}

async fn held_or_sent(answer: &mut Answer, out: &mut Vec<u8>, held: &mut Spool) -> Result<(), Error> {
    if out.is_empty() {
        return Ok(());
    }
    let bytes = std::mem::take(out);
    match answer.client {
        Client::Reads(_) => answer.send(Piece::Bytes(bytes.into())).await,
        Client::Waits(_) => {
            held.push(bytes);
            Ok(())
        }
        Client::Done => Err(Error::cancelled()),
    }
}
