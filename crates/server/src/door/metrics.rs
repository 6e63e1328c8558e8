//! What the server counts of itself, and the text that Prometheus reads.
//!
//! Invariant: counters only grow; names are ours, with their unit last. Must not know: what is counted elsewhere.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) queries: Counter,
    pub(crate) queries_failed: Counter,
    pub(crate) queries_refused: Counter,
    pub(crate) logins_refused: Counter,
    pub(crate) connections: Counter,
    pub(crate) connections_open: Gauge,
    pub(crate) answers_open: Gauge,
    pub(crate) request_bytes: Counter,
    pub(crate) response_bytes: Counter,
    pub(crate) rows_read: Counter,
    pub(crate) rows_written: Counter,
}

/// A number that grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that grows and shrinks.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicU64);

impl Gauge {
    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Prometheus' text format, version 0.0.4.
#[derive(Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    pub(crate) fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.line(name, help, "counter", value);
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.line(name, help, "gauge", value);
    }

    fn line(&mut self, name: &str, help: &str, kind: &str, value: u64) {
        // Writing into a string does not fail.
        let _ = writeln!(
            self.0,
            "# HELP gristmill_{name} {help}\n# TYPE gristmill_{name} {kind}\ngristmill_{name} {value}"
        );
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl Metrics {
    /// Adds what is counted here.
    pub(crate) fn write(&self, out: &mut Exposition) {
        for (name, help, counter) in [
            ("queries_total", "Statements asked for.", &self.queries),
            ("queries_failed_total", "Statements that ended with an error.", &self.queries_failed),
            ("queries_refused_total", "Statements that found no place to run.", &self.queries_refused),
            ("logins_refused_total", "Requests with wrong credentials.", &self.logins_refused),
            ("connections_total", "Connections accepted.", &self.connections),
            ("request_bytes_total", "Bytes of bodies received, as sent.", &self.request_bytes),
            ("response_bytes_total", "Bytes of answers, as sent.", &self.response_bytes),
            ("rows_read_total", "Rows that statements read.", &self.rows_read),
            ("rows_written_total", "Rows that statements wrote.", &self.rows_written),
        ] {
            out.counter(name, help, counter.get());
        }
        out.gauge("connections_open", "Connections open now.", self.connections_open.get());
        out.gauge("answers_open", "Statements whose answers are not sent yet.", self.answers_open.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_name_kind_and_meaning() {
        let metrics = Metrics::default();
        metrics.queries.add(3);
        metrics.connections_open.enter();
        let mut out = Exposition::default();
        metrics.write(&mut out);
        let text = out.into_text();
        assert!(text.contains("# TYPE gristmill_queries_total counter\ngristmill_queries_total 3\n"));
        assert!(text.contains("# TYPE gristmill_connections_open gauge\ngristmill_connections_open 1\n"));
        assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("gristmill_")));
    }
}
