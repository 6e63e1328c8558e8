//! Runs one statement for a person: answer, progress, warnings, closing line; ctrl-C cancels it.
//!
//! Invariant: when `run` returns, the statement has ended, unless it was asked twice to stop, and nothing of it is
//! left on the screen but its answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use engine::{
    BodyStream, Database, Error, ErrorCode, ErrorKind, FormatKind, Outcome, QueryProgress, Request, Session,
    Telling, room_to_finish,
};
use formats::{FormatSettings, new_writer};
use futures::StreamExt;
use host::{Clock, Host, meter};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::outfile::OpenOutfile;
use crate::progress::{Moment, ProgressLine};
use crate::remote::{Answer, Remote};
use crate::statistics::{Finished, closing_line};
use crate::terminal;

/// How often progress and memory are looked at.
const TICK: Duration = Duration::from_millis(100);
/// Why a statement did not come to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(Error),
    /// Nobody reads the answer any more.
    OutputClosed,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// Where statements run.
enum Place {
    Here(Session),
    /// On a server.
    There(Remote),
}

impl Place {
    async fn execute(&self, request: Request) -> Result<Answer, Error> {
        match self {
            Place::Here(session) => Ok(Answer::Rows(Box::new(session.execute(request).await?))),
            Place::There(remote) => remote.execute(request).await,
        }
    }
}

/// One session and how its answers are shown.
pub(crate) struct Runner {
    place: Place,
    host: Host,
    format: FormatKind,
    statistics: bool,
}

impl Runner {
    pub(crate) fn new(database: &Arc<Database>, host: &Host, format: FormatKind, statistics: bool) -> Runner {
        Runner { place: Place::Here(database.session()), host: host.clone(), format, statistics }
    }

    /// Statements run on a server; only their answers are shown here.
    pub(crate) fn of_server(remote: Remote, host: &Host, format: FormatKind, statistics: bool) -> Runner {
        Runner { place: Place::There(remote), host: host.clone(), format, statistics }
    }

    /// Runs `sql` and shows its answer. `body` is data of an INSERT that stands outside its text.
    pub(crate) async fn run(&self, sql: &str, body: Option<BodyStream>) -> Result<(), Stop> {
        // The memory a statement takes on a server is not this process's.
        let is_here = matches!(self.place, Place::Here(_));
        let mut watch = Watch::new(Arc::clone(&self.host.clock), self.statistics && is_here);
        let shown = self.execute_and_show(sql, body, &mut watch).await;
        watch.line.wipe();
        let finished = shown?;
        if self.statistics {
            terminal::note(&closing_line(&finished));
        }
        Ok(())
    }

    /// Runs `sql` and keeps its rows; nothing is shown.
    pub(crate) async fn rows(&self, sql: &str) -> Result<Vec<RecordBatch>, Error> {
        match self.place.execute(Request::new(sql)).await? {
            Answer::Rows(outcome) => outcome.collect().await,
            Answer::Bytes(_) => Err(Error::internal("a look-up answered in a format of its own")),
        }
    }

    async fn execute_and_show(
        &self,
        sql: &str,
        body: Option<BodyStream>,
        watch: &mut Watch,
    ) -> Result<Finished, Stop> {
        let request = Request { body, ..Request::new(sql) };
        let progress = Arc::clone(&request.progress);
        let mut executing = Box::pin(self.place.execute(request));
        let mut interrupted = Box::pin(tokio::signal::ctrl_c());
        let mut asked_to_stop = false;
        let answer = loop {
            tokio::select! {
                answer = &mut executing => break answer?,
                // What is being committed is waited for: its outcome is worth more than the moment it takes.
                _ = &mut interrupted => {
                    // Whoever asks twice does not want to wait.
                    if asked_to_stop {
                        return Err(left_alone(&progress).into());
                    }
                    asked_to_stop = true;
                    progress.cancel();
                    interrupted.set(tokio::signal::ctrl_c());
                }
                elapsed = watch.tick() => watch.show(moment(&progress, elapsed)),
            }
        };
        let shown = tokio::select! {
            shown = self.show_answer(answer, watch) => shown,
            _ = tokio::signal::ctrl_c() => Err(Error::cancelled().into()),
        };
        let result_rows = shown.inspect_err(|_| progress.cancel())?;
        Ok(watch.finished(result_rows, &progress))
    }

    async fn show_answer(&self, answer: Answer, watch: &mut Watch) -> Result<Option<u64>, Stop> {
        match answer {
            Answer::Rows(outcome) => {
                outcome.warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}")));
                if let Some(first) = &outcome.already_loaded {
                    terminal::note(&first.to_string());
                }
                meter::metered(outcome.account.clone(), self.show(*outcome, watch)).await
            }
            Answer::Bytes(mut bytes) => {
                while let Some(piece) = bytes.next().await {
                    watch.line.wipe();
                    terminal::write(&piece?).map_err(|_| Stop::OutputClosed)?;
                }
                Ok(None)
            }
        }
    }

    /// Writes the answer in its format; answers with the number of rows, if it has rows.
    async fn show(&self, mut outcome: Outcome, watch: &mut Watch) -> Result<Option<u64>, Stop> {
        if !outcome.has_result() {
            while let Some(batch) = watch.next(&mut outcome).await {
                batch?;
            }
            return Ok(None);
        }
        let mut sink =
            Sink { shows: outcome.outfile.as_ref().is_none_or(|outfile| outfile.and_stdout), file: None };
        if let Some(outfile) = &outcome.outfile {
            let id = host::random::u64(self.host.random.as_ref());
            sink.file = Some(OpenOutfile::open(outfile, &self.host.disk, id)?);
        }
        let kind = match &outcome.outfile {
            Some(outfile) => outfile.format,
            None => outcome.format.unwrap_or(match outcome.is_text() && is_default(self.format) {
                // A frame around a text is in the way of reading and copying it.
                true => FormatKind::TabSeparatedRaw,
                false => self.format,
            }),
        };
        let to_terminal = outcome.outfile.is_none() && terminal::is_terminal();
        // `auto`, the default, is for us to decide: only we know who reads.
        let pretty_color = outcome.format_settings.pretty_color.unwrap_or(to_terminal);
        let settings =
            FormatSettings { pretty_color: Some(pretty_color), ..(*outcome.format_settings).clone() };
        let mut writer = new_writer(kind, &settings).map_err(unwritable)?;
        let (mut rows, mut out) = (0, Vec::new());
        writer.start(&outcome.schema, &mut out).map_err(unwritable)?;
        sink.head(&out)?;
        out.clear();
        let mut telling = Telling::new(kind, &settings).await;
        loop {
            let batch = tokio::select! {
                biased;
                () = telling.due() => {
                    writer.progress(&outcome.progress.told(watch.elapsed()), &mut out);
                    sink.write(&out)?;
                    out.clear();
                    continue;
                }
                batch = watch.next(&mut outcome) => batch,
            };
            let Some(batch) = batch.transpose()? else { break };
            rows += batch.num_rows() as u64;
            writer.write(&batch, &mut out).map_err(unwritable)?;
            room_to_finish(writer.held_bytes(), "rows held back by the format")?;
            if !out.is_empty() {
                watch.line.wipe();
                sink.write(&out)?;
                out.clear();
            }
        }
        writer.finish(&outcome.progress.told(watch.elapsed()), &mut out).map_err(unwritable)?;
        watch.line.wipe();
        sink.write(&out)?;
        sink.finish()?;
        Ok(Some(rows))
    }
}

/// A statement that nobody waits for while it winds down.
fn left_alone(progress: &QueryProgress) -> Error {
    if !progress.has_begun_commit() {
        return Error::cancelled();
    }
    let message = "it is not known whether the statement was committed: nobody waited for its end";
    Error::new(ErrorKind::OutcomeUnknown, ErrorCode::UNKNOWN_EXCEPTION, message)
        .with_hint("look whether its rows are there")
}

/// Whether nobody asked for another format than the ones answers have by themselves.
fn is_default(format: FormatKind) -> bool {
    matches!(format, FormatKind::PrettyCompact | FormatKind::TabSeparated)
}

fn unwritable(error: impl std::fmt::Display) -> Stop {
    Stop::Failed(Error::internal(error.to_string()))
}

/// Where an answer goes.
struct Sink {
    /// On standard output.
    shows: bool,
    /// Into the file of INTO OUTFILE.
    file: Option<OpenOutfile>,
}

impl Sink {
    /// What stands before the rows. A file that is appended to has it already.
    fn head(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.show(bytes)?;
        match &mut self.file {
            Some(file) if !file.continues() => Ok(file.write(bytes)?),
            _ => Ok(()),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.show(bytes)?;
        match &mut self.file {
            Some(file) => Ok(file.write(bytes)?),
            None => Ok(()),
        }
    }

    /// With a file, the answer is wanted also when nobody reads standard output any more.
    fn show(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        if !self.shows || bytes.is_empty() || terminal::write(bytes).is_ok() {
            return Ok(());
        }
        self.shows = false;
        if self.file.is_some() { Ok(()) } else { Err(Stop::OutputClosed) }
    }

    fn finish(self) -> Result<(), Stop> {
        match self.file {
            Some(file) => Ok(file.finish()?),
            None => Ok(()),
        }
    }
}

/// The time a statement takes and the memory the process has meanwhile.
struct Watch {
    clock: Arc<dyn Clock>,
    started: Duration,
    ticks: Interval,
    line: ProgressLine,
    /// `None` when nobody will see it: looking costs as much as a small statement.
    memory: Option<MemoryWatch>,
}

struct MemoryWatch {
    peak_before_bytes: u64,
    peak_seen_bytes: u64,
}

impl MemoryWatch {
    fn new() -> MemoryWatch {
        let resident = host::process::resident_bytes();
        MemoryWatch { peak_before_bytes: resident.peak, peak_seen_bytes: resident.current }
    }

    fn look(&mut self) {
        self.peak_seen_bytes = self.peak_seen_bytes.max(host::process::current_rss_bytes());
    }

    /// The kernel's high-water mark is exact, but of the whole life of the process: it is this statement's only if
    /// this statement raised it. Otherwise the highest of the samples stands.
    fn peak_bytes(&self) -> u64 {
        let resident = host::process::resident_bytes();
        match resident.peak > self.peak_before_bytes {
            true => resident.peak,
            false => self.peak_seen_bytes.max(resident.current),
        }
    }
}

impl Watch {
    fn new(clock: Arc<dyn Clock>, statistics: bool) -> Watch {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Watch {
            started: clock.monotonic(),
            clock,
            ticks,
            line: ProgressLine::new(),
            memory: statistics.then(MemoryWatch::new),
        }
    }

    fn elapsed(&self) -> Duration {
        self.clock.monotonic().saturating_sub(self.started)
    }

    async fn tick(&mut self) -> Duration {
        self.ticks.tick().await;
        let elapsed = self.elapsed();
        // The first tick comes at once, where the memory has just been looked at.
        if let Some(memory) = self.memory.as_mut().filter(|_| elapsed >= TICK) {
            memory.look();
        }
        elapsed
    }

    fn show(&mut self, moment: Moment) {
        self.line.draw(&moment);
    }

    /// The next batch; draws progress until it comes.
    async fn next(&mut self, outcome: &mut Outcome) -> Option<Result<RecordBatch, Error>> {
        loop {
            tokio::select! {
                batch = outcome.stream.next() => return batch,
                elapsed = self.tick() => self.show(moment(&outcome.progress, elapsed)),
            }
        }
    }

    fn finished(&self, result_rows: Option<u64>, progress: &QueryProgress) -> Finished {
        Finished {
            result_rows,
            written_rows: progress.written_rows(),
            read_rows: progress.read_rows(),
            read_bytes: progress.read_bytes(),
            elapsed: self.elapsed(),
            peak_memory_bytes: self.memory.as_ref().map_or(0, MemoryWatch::peak_bytes),
        }
    }
}

fn moment(progress: &QueryProgress, elapsed: Duration) -> Moment {
    Moment {
        elapsed,
        read_rows: progress.read_rows(),
        read_bytes: progress.read_bytes(),
        total_rows: progress.total_rows_approx(),
        total_bytes: progress.total_bytes(),
        written_rows: progress.written_rows(),
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Failed(Error::from(error))
    }
}
