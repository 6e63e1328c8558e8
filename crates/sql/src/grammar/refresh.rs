//! REFRESH of CREATE MATERIALIZED VIEW and of ALTER TABLE .. MODIFY REFRESH.
//!
//! Invariant: a schedule that has no next run is refused. Must not know: views.

use model::ErrorCode;
use sqlparser::tokenizer::Token;

use crate::reader::head::Head;
use crate::reader::tokens::tokenize;
use crate::statement::{Interval, IntervalUnit, Refresh, Retries, SettingChange, When};
use lexer::error::{Result, SqlError};

/// What is kept of a view's clause, which [`Refresh`] prints.
pub fn refresh_of_text(text: &str) -> Result<Refresh> {
    let mut head = Head::new(text, 0, tokenize(text)?)?;
    let refresh = refresh(&mut head)?;
    head.expect_end()?;
    Ok(refresh)
}

/// Behind REFRESH, to APPEND.
pub(crate) fn refresh(head: &mut Head<'_>) -> Result<Refresh> {
    let when = if head.word("EVERY") {
        let period = interval(head)?;
        let offset = if head.word("OFFSET") { interval(head)? } else { Interval::default() };
        let Some(length) = period.period() else {
            return Err(refused(
                "Interval shouldn't contain both calendar units and clock units (e.g. months and days)",
            ));
        };
        if offset.after(0) >= length.after(0) {
            return Err(refused("OFFSET must be less than the period"));
        }
        When::Every { period, offset }
    } else if head.word("AFTER") {
        When::After { period: interval(head)? }
    } else {
        return Err(head.expected("EVERY or AFTER"));
    };
    let randomize = if head.words(&["RANDOMIZE", "FOR"]) { interval(head)? } else { Interval::default() };
    let mut depends_on = Vec::new();
    if head.words(&["DEPENDS", "ON"]) {
        depends_on.push(head.table_name()?);
        while head.symbol(&Token::Comma) {
            depends_on.push(head.table_name()?);
        }
    }
    let mut retries = Retries::default();
    let settings =
        if head.word("SETTINGS") { settings(&head.settings()?, &mut retries)? } else { Vec::new() };
    let appends = head.word("APPEND");
    Ok(Refresh { when, randomize, depends_on, retries, settings, appends })
}

fn refused(message: &str) -> SqlError {
    SqlError::new(ErrorCode::BAD_ARGUMENTS, message)
}

/// Counts and units, up to what is no count.
fn interval(head: &mut Head<'_>) -> Result<Interval> {
    let mut parts = Vec::new();
    while let Token::Number(digits, _) = head.token() {
        let count: u32 = digits.parse().map_err(|_| head.expected("a count"))?;
        head.advance();
        let is_unit = |head: &mut Head<'_>, unit: IntervalUnit| {
            head.word(unit.word()) || head.word(&format!("{}S", unit.word()))
        };
        let unit = IntervalUnit::ALL.into_iter().find(|unit| is_unit(head, *unit));
        parts.push((count, unit.ok_or_else(|| head.expected("a unit of time, SECOND to YEAR"))?));
    }
    if parts.is_empty() {
        return Err(head.expected("an interval, as 1 HOUR"));
    }
    if parts.iter().all(|(count, _)| *count == 0) {
        return Err(refused("Interval must be positive"));
    }
    Ok(Interval(parts))
}

fn settings(changes: &[SettingChange], retries: &mut Retries) -> Result<Vec<(String, u64)>> {
    let mut kept = Vec::with_capacity(changes.len());
    for change in changes {
        let text = change.value.text().unwrap_or_default();
        let value = text.parse().map_err(|_| {
            refused(&format!("setting {} of REFRESH is a whole number, not '{text}'", change.name))
        })?;
        match change.name.as_str() {
            "refresh_retries" => retries.count = value,
            "refresh_retry_initial_backoff_ms" => retries.first_pause_ms = value,
            "refresh_retry_max_backoff_ms" => retries.pause_ms_max = value,
            name => {
                let message = format!("unknown setting '{name}' of REFRESH");
                return Err(SqlError::new(ErrorCode::UNKNOWN_SETTING, message)
                    .with_hint("settings of the SELECT stand behind it, as SETTINGS of its own"));
            }
        }
        kept.push((change.name.clone(), value));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        for text in [
            "EVERY 1 HOUR 30 MINUTE OFFSET 5 MINUTE RANDOMIZE FOR 10 SECOND",
            "AFTER 2 WEEK DEPENDS ON d.v, w SETTINGS refresh_retries = 3 APPEND",
            "AFTER 1 MONTH 5 DAY",
            "EVERY 1 QUARTER",
        ] {
            assert_eq!(refresh_of_text(text).unwrap().to_string(), text);
        }
        for (text, said) in [
            ("EVERY 1 SECOND OFFSET 2 SECOND", "OFFSET must be less"),
            ("EVERY 1 MONTH 5 DAY", "both calendar units and clock units"),
            ("EVERY 0 SECOND", "must be positive"),
            ("AFTER 1 DAY OFFSET 1 HOUR", "OFFSET"),
            ("EVERY 1 DAY SETTINGS max_threads = 1", "unknown setting 'max_threads' of REFRESH"),
            ("1 DAY", "EVERY or AFTER"),
        ] {
            let error = refresh_of_text(text).unwrap_err();
            assert!(error.message.contains(said), "{text}: {}", error.message);
        }
    }

    #[test]
    fn runs_come_in_their_slots() {
        // Monday, 2026-11-23 00:00:00.
        let monday = 1_795_392_000;
        for (text, begun, ended, next) in [
            ("EVERY 1 HOUR", monday, monday + 5, monday + 3_600),
            ("EVERY 1 HOUR", monday + 3_599, monday + 9_000, monday + 3_600),
            ("EVERY 1 HOUR OFFSET 5 MINUTE", monday, monday + 1, monday + 300),
            ("EVERY 1 HOUR OFFSET 5 MINUTE", monday + 300, monday + 301, monday + 3_900),
            ("EVERY 1 WEEK OFFSET 1 DAY", monday + 90_000, monday + 90_001, monday + 8 * 86_400),
            ("AFTER 10 SECOND", monday, monday + 7, monday + 17),
        ] {
            assert_eq!(refresh_of_text(text).unwrap().next(begun, ended), next, "{text}");
        }
    }
}
