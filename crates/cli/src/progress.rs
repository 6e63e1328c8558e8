//! The line that moves while a statement runs: how much is done, how fast, how long it will take.
//!
//! Weighted by bytes when the total is known, because rows of different files differ more than their bytes do.
//! Invariant: nothing is drawn unless standard error is a terminal, nor in the first second; what was drawn is wiped.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use model::{ByteSize, RowCount};

use crate::statistics::{as_f64, scaled};

/// Statements faster than this show nothing.
const QUIET: Duration = Duration::from_secs(1);
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const BAR_WIDTH_MAX: usize = 40;

/// What is known at one moment. Totals of 0 are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) elapsed: Duration,
    pub(crate) read_rows: u64,
    pub(crate) read_bytes: u64,
    pub(crate) total_rows: u64,
    pub(crate) total_bytes: u64,
    pub(crate) written_rows: u64,
}

impl Moment {
    /// Between 0 and 1, if anything is known about the end.
    fn fraction(&self) -> Option<f64> {
        let (done, total) = match (self.total_bytes, self.total_rows) {
            (0, 0) => return None,
            (0, rows) => (self.read_rows, rows),
            (bytes, _) => (self.read_bytes, bytes),
        };
        Some((as_f64(done) / as_f64(total)).clamp(0.0, 1.0))
    }

    fn seconds_left(&self) -> Option<f64> {
        let fraction = self.fraction().filter(|fraction| *fraction > 0.01)?;
        Some(self.elapsed.as_secs_f64() * (1.0 - fraction) / fraction)
    }
}

/// The line for a terminal of `width` columns.
fn render(moment: &Moment, width: usize) -> String {
    let seconds = moment.elapsed.as_secs_f64();
    let turn = usize::try_from(moment.elapsed.as_millis() / 100).unwrap_or(0);
    let mut line = format!(
        "{} {seconds:.1} s: {} rows, {} ({}/s.)",
        SPINNER[turn % SPINNER.len()],
        RowCount(moment.read_rows),
        ByteSize(moment.read_bytes).decimal(),
        scaled(moment.read_bytes, seconds, &[" B", " KB", " MB", " GB", " TB"]),
    );
    if moment.written_rows > 0 {
        line.push_str(&format!(", {} written", RowCount(moment.written_rows)));
    }
    let Some(fraction) = moment.fraction() else { return cut(line, width) };
    let mut end = format!(" {:3.0} %", fraction * 100.0);
    if let Some(left) = moment.seconds_left() {
        end.push_str(&format!(" {left:.0} s left"));
    }
    let room = width.saturating_sub(line.chars().count() + end.len() + 3).min(BAR_WIDTH_MAX);
    if room >= 5 {
        line.push_str(&format!(" {}", bar(fraction, room)));
    }
    line.push_str(&end);
    cut(line, width)
}

/// `room` columns, filled from the left in eighths.
pub(crate) fn bar(fraction: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let filled = eighths(fraction, room);
    let (whole, part) = (filled / 8, filled % 8);
    let mut bar = "█".repeat(whole);
    bar.push_str(EIGHTHS[part]);
    bar.push_str(&" ".repeat(room - whole - usize::from(part > 0)));
    bar
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction of a small number of columns"
)]
fn eighths(fraction: f64, room: usize) -> usize {
    let all = room * 8;
    ((as_f64(all as u64) * fraction.clamp(0.0, 1.0)).round() as usize).min(all)
}

fn cut(line: String, width: usize) -> String {
    if line.chars().count() < width { line } else { line.chars().take(width.saturating_sub(1)).collect() }
}

/// The line on standard error.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    wanted: bool,
    drawn: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine { wanted: io::stderr().is_terminal(), drawn: false }
    }

    pub(crate) fn draw(&mut self, moment: &Moment) {
        if self.wanted && moment.elapsed >= QUIET {
            let width = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
            // A terminal that cannot be written to has nobody looking at it.
            let _ = write!(io::stderr().lock(), "\r\x1b[K{}", render(moment, width));
            self.drawn = true;
        }
    }

    /// Leaves the terminal as it was before the first draw.
    pub(crate) fn wipe(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment() -> Moment {
        Moment {
            elapsed: Duration::from_secs(2),
            read_rows: 1_000_000,
            read_bytes: 100_000_000,
            total_rows: 0,
            total_bytes: 400_000_000,
            written_rows: 900_000,
        }
    }

    #[test]
    fn bytes_decide_how_far_it_is() {
        let line = render(&moment(), 200);
        assert!(
            line.contains("2.0 s: 1.00 million rows, 100.00 MB (50.0 MB/s.), 900.00 thousand written"),
            "{line}"
        );
        assert!(line.ends_with("25 % 6 s left"), "{line}");
        assert_eq!(line.matches('█').count(), 10);
        let by_rows = Moment { total_bytes: 0, total_rows: 2_000_000, ..moment() };
        assert!(render(&by_rows, 200).contains("50 % 2 s left"));
        let unknown = Moment { total_bytes: 0, ..moment() };
        assert!(render(&unknown, 200).ends_with("written"));
    }

    #[test]
    fn a_line_never_wraps() {
        for width in 1..160 {
            assert!(render(&moment(), width).chars().count() < width.max(2), "{width}");
        }
    }

    #[test]
    fn a_bar_fills_its_room() {
        for (fraction, expected) in
            [(0.0, "    "), (0.5, "██  "), (1.0, "████"), (0.28, "█▏  "), (7.0, "████")]
        {
            assert_eq!(bar(fraction, 4), expected, "{fraction}");
        }
    }
}
