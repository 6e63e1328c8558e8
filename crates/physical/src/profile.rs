//! Where a statement's time goes: spans measured while it runs, and the tree that shows them to people.
//!
//! Invariant: a span is added when it is over; execution is what the others leave of the whole, so the spans add up.
//! A statement pays one allocation, and two looks at the clock and one short lock for each of its spans. Must not know:
//! sessions, SQL text, who asks.

mod report;
mod kept;

use std::sync::Arc;
use std::time::Duration;

use catalog::CommitTimes;
use host::Clock;
use model::saturating::micros_of;
use parking_lot::Mutex;

pub use kept::KeptProfiles;
pub use report::{Report, State, millis, start_time, statement_line};

/// A part of a statement's time that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Span {
    Parse,
    /// Listing sources and inferring their columns.
    List,
    Plan,
    /// Rows made into bytes of a log record.
    Encode,
    /// Waiting for the commit before, and for the group.
    CommitQueue,
    LogWrite,
    LogSync,
    /// The new state made visible.
    Apply,
}

impl Span {
    const ALL: [Span; 8] = [
        Span::Parse,
        Span::List,
        Span::Plan,
        Span::Encode,
        Span::CommitQueue,
        Span::LogWrite,
        Span::LogSync,
        Span::Apply,
    ];

    /// As the tree shows it.
    fn name(self) -> &'static str {
        match self {
            Span::Parse => "Parse",
            Span::List => "List",
            Span::Plan => "Plan",
            Span::Encode => "Encode",
            Span::CommitQueue => "CommitQueue",
            Span::LogWrite => "LogWrite",
            Span::LogSync => "LogSync",
            Span::Apply => "Apply",
        }
    }

    /// As `ProfileEvents` of the query log names it.
    fn event(self) -> &'static str {
        match self {
            Span::Parse => "ParseMicroseconds",
            Span::List => "ListMicroseconds",
            Span::Plan => "PlanMicroseconds",
            Span::Encode => "EncodeMicroseconds",
            Span::CommitQueue => "CommitQueueMicroseconds",
            Span::LogWrite => "LogWriteMicroseconds",
            Span::LogSync => "LogSyncMicroseconds",
            Span::Apply => "ApplyMicroseconds",
        }
    }
}

/// What was measured so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    spans: [Duration; Span::ALL.len()],
    /// Commits of the statement: one, or more if it creates a table and fills it.
    pub commits: usize,
    /// Statements whose transactions became durable with this one's, itself included.
    pub group_statements: usize,
    /// Requests by which records were created in a store; then that is what [`Span::LogSync`] was spent on.
    pub puts: u32,
    /// Files of the statement's sources, and their bytes.
    pub files: usize,
    pub file_bytes: u64,
}

impl Measured {
    pub fn span(&self, span: Span) -> Duration {
        self.spans[span as usize]
    }

    fn add(&mut self, span: Span, time: Duration) {
        self.spans[span as usize] += time;
    }

    /// From queueing to visibility.
    pub fn commit(&self) -> Duration {
        [Span::CommitQueue, Span::LogWrite, Span::LogSync, Span::Apply]
            .into_iter()
            .map(|span| self.span(span))
            .sum()
    }

    /// What the spans leave of `total`.
    pub fn execution(&self, total: Duration) -> Duration {
        total.saturating_sub(self.spans.iter().sum())
    }
}

/// When a statement's profile outlives it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    Always,
    Longer(Duration),
    Never,
}

impl Keep {
    /// `seconds` is how long a statement takes whose profile is kept unasked; 0 keeps none.
    pub fn of(is_asked_for: bool, seconds: f64) -> Keep {
        let threshold = Duration::try_from_secs_f64(seconds).ok().filter(|threshold| !threshold.is_zero());
        match threshold {
            _ if is_asked_for => Keep::Always,
            Some(threshold) => Keep::Longer(threshold),
            None => Keep::Never,
        }
    }
}

/// See the module. Shared by everything that works on one statement.
#[derive(Debug)]
pub struct StatementProfile {
    pub query_id: String,
    clock: Arc<dyn Clock>,
    started: Duration,
    keep: Keep,
    measured: Mutex<Measured>,
}

impl StatementProfile {
    /// Of a statement that `started` then, by the monotonic clock.
    pub fn new(clock: &Arc<dyn Clock>, query_id: String, started: Duration, keep: Keep) -> StatementProfile {
        StatementProfile {
            query_id,
            clock: Arc::clone(clock),
            started,
            keep,
            measured: Mutex::new(Measured::default()),
        }
    }

    pub fn add(&self, span: Span, time: Duration) {
        self.measured.lock().add(span, time);
    }

    /// Measures a span until the answer is dropped.
    pub fn timed(&self, span: Span) -> Timed<'_> {
        Timed { profile: self, span, since: self.clock.monotonic() }
    }

    /// Adds where the time of a commit went; the durations are those of its steps, one after the other.
    pub fn committed(&self, times: &CommitTimes) {
        let mut measured = self.measured.lock();
        measured.add(Span::CommitQueue, times.queued);
        measured.add(Span::LogWrite, times.written);
        measured.add(Span::LogSync, times.synced);
        measured.add(Span::Apply, times.applied);
        measured.commits += 1;
        measured.puts += times.puts;
        measured.group_statements = measured.group_statements.max(times.statements);
    }

    /// Adds what listing a source found.
    pub fn listed(&self, files: usize, bytes: u64) {
        let mut measured = self.measured.lock();
        measured.files += files;
        measured.file_bytes += bytes;
    }

    pub fn measured(&self) -> Measured {
        *self.measured.lock()
    }

    /// Since the statement started.
    pub fn elapsed(&self) -> Duration {
        self.clock.monotonic().saturating_sub(self.started)
    }

    /// Whether `enable_profile` was set.
    pub fn is_asked_for(&self) -> bool {
        matches!(self.keep, Keep::Always)
    }

    /// Whether it is kept when the statement took this long.
    pub fn is_kept(&self, total: Duration) -> bool {
        match self.keep {
            Keep::Always => true,
            Keep::Longer(threshold) => total > threshold,
            Keep::Never => false,
        }
    }

    /// Its spans as counters of the query log.
    pub fn counters(&self, total: Duration) -> impl Iterator<Item = (&'static str, u64)> {
        let measured = self.measured();
        let spans = Span::ALL.into_iter().map(move |span| (span.event(), micros_of(measured.span(span))));
        let rest = [
            ("ExecutionMicroseconds", micros_of(measured.execution(total))),
            ("CommitGroupStatements", measured.group_statements as u64),
        ];
        spans.chain(rest)
    }
}

/// A span that is being measured; it ends when this goes away.
#[must_use]
pub struct Timed<'a> {
    profile: &'a StatementProfile,
    span: Span,
    since: Duration,
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let now = self.profile.clock.monotonic();
        self.profile.add(self.span, now.saturating_sub(self.since));
    }
}

#[cfg(test)]
mod tests;
