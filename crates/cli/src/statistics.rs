//! The line under an answer: rows, time, what was read and how fast, and the most memory it took.
//!
//! Invariant: pure text from figures; the wording is ClickHouse's, so that people can compare at a glance.

use std::time::Duration;

use model::{ByteSize, RowCount};

/// Figures of a finished statement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Finished {
    /// Rows of the answer; `None` for a statement that has none.
    pub(crate) result_rows: Option<u64>,
    pub(crate) written_rows: u64,
    pub(crate) read_rows: u64,
    pub(crate) read_bytes: u64,
    pub(crate) elapsed: Duration,
    /// Resident memory of the process at its highest while the statement ran; 0 when it ran elsewhere.
    pub(crate) peak_memory_bytes: u64,
}

/// `5 rows in set. Elapsed: 0.012 sec. Processed 960.00 thousand rows, 373.22 MB (80.0 million rows/s., 31.1 GB/s.)
/// Peak memory usage: 42.10 MiB.`, on one line.
pub(crate) fn closing_line(finished: &Finished) -> String {
    let seconds = finished.elapsed.as_secs_f64();
    let mut line = match (finished.result_rows, finished.written_rows) {
        (Some(1), _) => "1 row in set.".to_owned(),
        (Some(rows), _) => format!("{rows} rows in set."),
        (None, 0) => "Ok.".to_owned(),
        (None, 1) => "1 row written.".to_owned(),
        (None, rows) => format!("{} rows written.", RowCount(rows)),
    };
    line.push_str(&format!(" Elapsed: {seconds:.3} sec."));
    if finished.read_rows > 0 || finished.read_bytes > 0 {
        line.push_str(&format!(
            " Processed {} rows, {} ({} rows/s., {}/s.)",
            RowCount(finished.read_rows),
            ByteSize(finished.read_bytes).decimal(),
            scaled(finished.read_rows, seconds, &["", " thousand", " million", " billion", " trillion"]),
            scaled(finished.read_bytes, seconds, &[" B", " KB", " MB", " GB", " TB"]),
        ));
    }
    if finished.peak_memory_bytes > 0 {
        line.push_str(&format!(" Peak memory usage: {}.", ByteSize(finished.peak_memory_bytes)));
    }
    line
}

/// An amount for each second with one decimal and the unit that keeps it below a thousand.
pub(crate) fn scaled(amount: u64, seconds: f64, units: &[&str]) -> String {
    // Less than a microsecond is a clock that did not move, not a rate.
    let mut rate = as_f64(amount) / seconds.max(1e-6);
    let mut unit = 0;
    while rate >= 1000.0 && unit + 1 < units.len() {
        rate /= 1000.0;
        unit += 1;
    }
    format!("{rate:.1}{}", units[unit])
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub(crate) fn as_f64(amount: u64) -> f64 {
    amount as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_reads_as_documented() {
        let finished = Finished {
            result_rows: Some(5),
            written_rows: 0,
            read_rows: 960_000,
            read_bytes: 373_220_000,
            elapsed: Duration::from_millis(12),
            peak_memory_bytes: 44_145_049,
        };
        assert_eq!(
            closing_line(&finished),
            "5 rows in set. Elapsed: 0.012 sec. Processed 960.00 thousand rows, 373.22 MB \
             (80.0 million rows/s., 31.1 GB/s.) Peak memory usage: 42.10 MiB."
        );
        let written = Finished { result_rows: None, written_rows: 1_000_000, ..Finished::default() };
        assert!(closing_line(&written).starts_with("1.00 million rows written. Elapsed: 0.000 sec."));
        assert_eq!(closing_line(&Finished::default()), "Ok. Elapsed: 0.000 sec.");
        let one = Finished { result_rows: Some(1), ..Finished::default() };
        assert!(closing_line(&one).starts_with("1 row in set."));
    }

    #[test]
    fn rates_keep_below_a_thousand() {
        assert_eq!(scaled(999, 1.0, &["", " thousand"]), "999.0");
        assert_eq!(scaled(1000, 1.0, &["", " thousand"]), "1.0 thousand");
        assert_eq!(scaled(5_000_000, 1.0, &["", " thousand"]), "5000.0 thousand");
    }
}
