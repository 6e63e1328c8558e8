//! Rows that could not be read and may be skipped.
//!
//! Invariant: whether a bad row is skipped follows from the counts alone, as in ClickHouse: it is an error once there are
//! more than `input_format_allow_errors_num` and their share is above `input_format_allow_errors_ratio`. What is kept
//! of them is bounded. Must not know: formats, files.

use model::ErrorCode;
use model::saturating::u64_of;

use crate::error::FormatError;
use crate::settings::FormatSettings;

/// Bad rows kept until somebody takes them; the counts go on.
const KEPT_MAX: usize = 1000;
/// Bytes kept of a bad row.
const TEXT_BYTES_MAX: usize = 512;
/// `input_format_allow_errors_ratio` is kept as a whole number of these.
const BILLION: u128 = 1_000_000_000;

/// A row that was skipped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejectedRow {
    /// Row of the input, from 1, header rows not counted.
    pub row: u64,
    /// Byte of the input at which the row, or its bad value, stands.
    pub position: u64,
    pub column: Option<String>,
    pub code: ErrorCode,
    pub message: String,
    /// The row's beginning.
    pub text: String,
}

impl RejectedRow {
    pub(crate) fn new(error: FormatError, text: &[u8]) -> Self {
        let text = text.trim_ascii();
        Self {
            row: error.row.unwrap_or(0),
            position: error.position.unwrap_or(0),
            column: error.column,
            code: error.code,
            message: error.message,
            text: String::from_utf8_lossy(&text[..text.len().min(TEXT_BYTES_MAX)]).into_owned(),
        }
    }
}

/// How many bad rows a reader may skip, and those it has skipped.
#[derive(Debug, Default)]
pub(crate) struct Tolerance {
    errors_max: u64,
    ratio_billionths_max: u64,
    rows: u64,
    errors: u64,
    kept: Vec<RejectedRow>,
}

impl Tolerance {
    /// `None` when every bad row is an error.
    pub(crate) fn of(settings: &FormatSettings) -> Option<Box<Self>> {
        let (errors_max, ratio_billionths_max) =
            (settings.allow_errors_num, settings.allow_errors_ratio_billionths);
        let tolerance = Self { errors_max, ratio_billionths_max, ..Self::default() };
        (errors_max > 0 || ratio_billionths_max > 0).then(|| Box::new(tolerance))
    }

    /// Rows read well since the last call.
    pub(crate) fn good(&mut self, rows: usize) {
        self.rows += u64_of(rows);
    }

    /// A bad row; the error when it is one too many.
    pub(crate) fn bad(&mut self, error: FormatError, text: &[u8]) -> Result<(), FormatError> {
        self.rows += 1;
        self.errors += 1;
        let share = u128::from(self.errors) * BILLION;
        let above = share > u128::from(self.ratio_billionths_max) * u128::from(self.rows);
        // A state that must not be is no bad row.
        if error.code == ErrorCode::LOGICAL_ERROR || self.errors > self.errors_max && above {
            let mut error = error;
            error.message = format!(
                "{}; it is bad row {} of {} so far, more than input_format_allow_errors_num and \
                 input_format_allow_errors_ratio let pass",
                error.message, self.errors, self.rows
            );
            return Err(error);
        }
        if self.kept.len() < KEPT_MAX {
            self.kept.push(RejectedRow::new(error, text));
        }
        Ok(())
    }

    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }

    pub(crate) fn take(&mut self) -> Vec<RejectedRow> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong() -> FormatError {
        FormatError::new(ErrorCode::INCORRECT_DATA, "x")
    }

    #[test]
    fn both_limits_must_be_passed() {
        // (number, ratio, good and bad rows) -> the bad row that is one too many
        for (errors_max, ratio, rows, fails_at) in [
            (0, 0, "b", Some(1)),
            (1, 0, "gbgb", Some(2)),
            (0, 500_000_000, "gbgb", None),
            (0, 500_000_000, "bg", Some(1)),
            (1, 500_000_000, "bgbb", Some(2)),
            (3, 0, "bbb", None),
            (0, 100_000_000, "gggggggggb", None),
        ] {
            let mut tolerance = Tolerance { errors_max, ratio_billionths_max: ratio, ..Tolerance::default() };
            let mut failed = None;
            for row in rows.chars() {
                match row {
                    'g' => tolerance.good(1),
                    _ if tolerance.bad(wrong(), b"").is_err() => {
                        failed = Some(tolerance.errors());
                        break;
                    }
                    _ => {}
                }
            }
            assert_eq!(failed, fails_at, "{errors_max} {ratio} {rows}");
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut tolerance = Tolerance { errors_max: 9999, ..Tolerance::default() };
        for row in 1..=1500 {
            tolerance.bad(wrong().at_row(row), &[b'a'; 2000]).unwrap();
        }
        let kept = tolerance.take();
        assert_eq!((kept.len(), kept[999].row, kept[0].text.len()), (1000, 1000, 512));
        assert_eq!((tolerance.errors(), tolerance.take().len()), (1500, 0));
    }
}
