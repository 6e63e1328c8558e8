//! A statement's profile as lines of text: a summary, then one tree of commit, operators and listing.
//!
//! Invariant: a function of its fields alone, so that a running statement, an ended one and EXPLAIN ANALYZE look the same.
//! Shares are of the whole time for spans, and of all operators' computing time for operators.

use std::sync::Arc;
use std::time::Duration;

use crate::operators::Operator;
use model::ByteSize;

use super::{Measured, Span};

/// Characters of a statement's text that a profile shows.
const STATEMENT_CHARS_MAX: usize = 1000;

/// How far a statement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Running,
    Finished,
    Error,
    /// Run by EXPLAIN ANALYZE, and undone.
    RolledBack,
}

impl State {
    /// StarRocks' words.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "Running",
            State::Finished => "Finished",
            State::Error => "Error",
            State::RolledBack => "Aborted",
        }
    }
}

/// Everything a profile shows.
#[derive(Clone, Debug)]
pub struct Report {
    pub query_id: String,
    pub user: Arc<str>,
    pub state: State,
    /// One line.
    pub statement: String,
    pub started_ms: u64,
    pub total: Duration,
    pub measured: Measured,
    pub memory_peak: u64,
    pub read_rows: u64,
    pub read_bytes: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
    pub settings: Vec<(&'static str, String)>,
    pub operators: Option<Operator>,
}

impl Report {
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Lines::default();
        self.summary(&mut lines);
        let depth = self.commit(&mut lines);
        if let Some(operators) = &self.operators {
            let whole = time_of(operators);
            push_operator(&mut lines, depth, operators, whole);
        }
        if self.measured.files > 0 || !self.measured.span(Span::List).is_zero() {
            let (files, bytes) = (self.measured.files, ByteSize(self.measured.file_bytes));
            lines.push(0, &format!("Listing: {}, {files} file(s), {bytes}", self.share_of(Span::List)));
        }
        lines.0
    }

    fn summary(&self, lines: &mut Lines) {
        lines.push(0, "Summary");
        lines.push(1, &format!("QueryId: {}", self.query_id));
        lines.push(1, &format!("State: {}", self.state.name()));
        lines.push(1, &format!("Statement: {}", self.statement));
        lines.push(1, &format!("StartTime: {}", start_time(self.started_ms)));
        lines.push(1, &format!("TotalTime: {}", millis(self.total)));
        let measured = &self.measured;
        for span in Span::ALL {
            if span == Span::Encode {
                let execution = self.measured.execution(self.total);
                lines.push(2, &format!("Execution: {}", share(execution, self.total)));
            }
            if !self.measured.span(span).is_zero() {
                let name = if span == Span::LogSync && measured.puts > 0 { "LogPut" } else { span.name() };
                lines.push(2, &format!("{name}: {}", self.share_of(span)));
            }
        }
        lines.push(1, &format!("QueryPeakMemoryUsage: {}", ByteSize(self.memory_peak)));
        lines.push(1, &format!("RowsRead: {}, {}", self.read_rows, ByteSize(self.read_bytes)));
        lines.push(1, &format!("RowsWritten: {}, {}", self.written_rows, ByteSize(self.written_bytes)));
        let settings: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !settings.is_empty() {
            lines.push(1, &format!("NonDefaultVariables: {}", settings.join(", ")));
        }
    }

    /// The Commit node; answers how deep the operators stand below it.
    fn commit(&self, lines: &mut Lines) -> usize {
        let measured = &self.measured;
        if self.state == State::RolledBack {
            lines.push(0, "Commit: not done, so its queue, write, sync and apply are not measured");
            return 1;
        }
        if measured.commits == 0 {
            return 0;
        }
        lines.push(0, &format!("Commit: {}", share(measured.commit(), self.total)));
        for (name, span) in [
            ("Queue", Span::CommitQueue),
            ("Write", Span::LogWrite),
            (if measured.puts > 0 { "Put" } else { "Fsync" }, Span::LogSync),
            ("Apply", Span::Apply),
        ] {
            lines.push(1, &format!("{name}: {}", self.share_of(span)));
        }
        if measured.puts > 0 {
            lines.push(1, &format!("PutRequests: {}", measured.puts));
        }
        lines.push(1, &format!("StatementsInGroup: {}", measured.group_statements));
        1
    }

    fn share_of(&self, span: Span) -> String {
        share(self.measured.span(span), self.total)
    }
}

fn push_operator(lines: &mut Lines, depth: usize, operator: &Operator, whole: Duration) {
    let mut counted = Vec::new();
    counted.extend(operator.time.map(|time| format!("time: {}", share(time, whole))));
    counted.extend(operator.rows.map(|rows| format!("rows: {rows}")));
    counted.extend(operator.bytes.map(|bytes| format!("bytes: {}", ByteSize(bytes))));
    match counted.is_empty() {
        true => lines.push(depth, &operator.text),
        false => lines.push(depth, &format!("{} [{}]", operator.text, counted.join(", "))),
    }
    if !operator.others.is_empty() {
        lines.push(depth + 2, &operator.others.join(", "));
    }
    for input in &operator.inputs {
        push_operator(lines, depth + 1, input, whole);
    }
}

/// Computing time of an operator and everything below it.
fn time_of(operator: &Operator) -> Duration {
    operator.time.unwrap_or_default() + operator.inputs.iter().map(time_of).sum::<Duration>()
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn push(&mut self, depth: usize, text: &str) {
        self.0.push(format!("{}{text}", "  ".repeat(depth)));
    }
}

/// `1.234 ms (12.34%)`.
fn share(part: Duration, whole: Duration) -> String {
    let percent = match whole.is_zero() {
        true => 0.0,
        false => part.as_secs_f64() / whole.as_secs_f64() * 100.0,
    };
    format!("{} ({percent:.2}%)", millis(part))
}

/// `1.234 ms`.
pub fn millis(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}

/// `2024-01-02 03:04:05`, in UTC.
pub fn start_time(started_ms: u64) -> String {
    let time = i64::try_from(started_ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map(|time| time.format("%Y-%m-%d %H:%M:%S").to_string()).unwrap_or_default()
}

/// A statement's text on one line, cut short.
pub fn statement_line(text: &str) -> String {
    let one_line = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(STATEMENT_CHARS_MAX).map(one_line).collect()
}
