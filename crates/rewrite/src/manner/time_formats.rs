//! Letters in the formats of times that settings give another meaning: `%M` is the minute
//! (`formatdatetime_parsedatetime_m_is_month_name = 0`), `%f`, `%c`, `%k` and `%l` are without zeros.
//!
//! Invariant: no other part of a format changes. Must not know: what the other parts mean.

use model::calendar::names::{BARE_FRACTION, BARE_HALF, BARE_HOUR, BARE_MONTH};
use sql::dialect::{text, text_of};
use sql::{Result, Settings, SqlError};
use sqlparser::ast::Expr;

/// Functions whose second argument is a format in MySQL's words, in lower case.
const TAKE_FORMATS: &[&str] = &[
    "formatdatetime",
    "date_format",
    "from_unixtime",
    "fromunixtimestamp",
    "parsedatetime",
    "parsedatetimeornull",
    "parsedatetimeorzero",
    "parsedatetime64",
    "parsedatetime64ornull",
    "parsedatetime64orzero",
    "str_to_date",
];

/// Whether a function takes such a format, by its name in lower case.
fn takes_format(name: &str) -> bool {
    TAKE_FORMATS.contains(&name)
}

/// Those of [`takes_format`] that write a time.
const WRITE_TIMES: &[&str] = &["formatdatetime", "date_format", "from_unixtime", "fromunixtimestamp"];

/// What letters of formats are in a statement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TimeLetters {
    /// `%M` is the minute (`formatdatetime_parsedatetime_m_is_month_name = 0`).
    pub minutes_by_m: bool,
    /// `%f` has the digits of its type, and one where it has none (`formatdatetime_f_prints_single_zero`).
    pub bare_fractions: bool,
    /// `%c`, `%k` and `%l` have no zero before them (`formatdatetime_format_without_leading_zeros`).
    pub bare_numbers: bool,
}

impl TimeLetters {
    /// The manner of a statement with these settings.
    pub(super) fn of(settings: &Settings) -> TimeLetters {
        TimeLetters {
            minutes_by_m: !settings.get_bool("formatdatetime_parsedatetime_m_is_month_name"),
            bare_fractions: settings.get_bool("formatdatetime_f_prints_single_zero"),
            bare_numbers: settings.get_bool("formatdatetime_format_without_leading_zeros"),
        }
    }

    /// Whether the format of this function, by its name in lower case, is another one.
    pub(crate) fn change(self, function: &str) -> bool {
        let writes = WRITE_TIMES.contains(&function) && (self.bare_fractions || self.bare_numbers);
        takes_format(function) && (self.minutes_by_m || writes)
    }

    /// The format with the letters that the function knows them by.
    ///
    /// # Errors
    /// The format is no constant.
    pub(crate) fn changed(self, function: &str, format: &Expr) -> Result<Expr> {
        let Some(format) = text_of(format) else {
            return Err(SqlError::not_implemented(
                "a setting formatdatetime_.. with a format of times that is no constant",
            ));
        };
        let mut out = String::with_capacity(format.len());
        let mut chars = format.chars();
        while let Some(char) = chars.next() {
            out.push(char);
            if char == '%' {
                out.extend(chars.next().map(|letter| self.letter(function, letter)));
            }
        }
        Ok(text(out))
    }

    fn letter(self, function: &str, letter: char) -> char {
        let writes = WRITE_TIMES.contains(&function);
        match letter {
            'M' if self.minutes_by_m => 'i',
            'f' if writes && self.bare_fractions => BARE_FRACTION,
            'c' if writes && self.bare_numbers => BARE_MONTH,
            'k' if writes && self.bare_numbers => BARE_HOUR,
            'l' if writes && self.bare_numbers => BARE_HALF,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_is_written_by_its_other_letter() {
        let letters = TimeLetters { minutes_by_m: true, ..TimeLetters::default() };
        let changed = letters.changed("formatdatetime", &text("%H:%M %%M %")).unwrap();
        assert_eq!(text_of(&changed), Some("%H:%i %%M %"));
    }
}
