//! Words of a written time: months, days of the week, halves of the day and zones.
//!
//! Invariant: a name is written with its first three letters or in full. Must not know: what numbers mean.

use super::{Reader, Step, Unreadable, value, wrong};

const MONTHS: [&[u8]; 12] = [
    b"january",
    b"february",
    b"march",
    b"april",
    b"may",
    b"june",
    b"july",
    b"august",
    b"september",
    b"october",
    b"november",
    b"december",
];
const WEEKDAYS: [&[u8]; 7] =
    [b"monday", b"tuesday", b"wednesday", b"thursday", b"friday", b"saturday", b"sunday"];

impl Reader<'_> {
    fn letters(&mut self) -> [u8; 3] {
        let mut word = [0; 3];
        for place in &mut word {
            match self.next().filter(u8::is_ascii_alphabetic) {
                Some(letter) => *place = letter.to_ascii_lowercase(),
                None => break,
            }
            self.at += 1;
        }
        word
    }

    pub(super) fn month_word(&mut self) -> Result<i64, Unreadable> {
        let word = self.letters();
        self.month = None;
        self.name(&word)?;
        self.month.ok_or(Unreadable::Part("unexpected word after day of month"))
    }

    pub(super) fn word(&mut self) -> Step {
        let word = self.letters();
        match &word {
            b"am\0" => self.is_am = true,
            b"pm\0" => self.is_pm = true,
            [_, 0, _] => return wrong("unexpected alphabetical character"),
            b"utc" | b"gmt" => self.shift(0, 0),
            b"msk" => self.hours_east(3),
            b"msd" => self.hours_east(4),
            _ => return self.name(&word),
        }
        Ok(())
    }

    /// A month or a day of the week.
    fn name(&mut self, word: &[u8; 3]) -> Step {
        let named = |names: &[&[u8]]| names.iter().position(|name| name.starts_with(word));
        if let Some(at) = named(&MONTHS) {
            self.month = i64::try_from(at + 1).ok();
            self.rest_of(MONTHS[at])?;
        } else if let Some(at) = named(&WEEKDAYS) {
            self.rest_of(WEEKDAYS[at])?;
            self.take(b",");
        } else {
            return wrong("unexpected word");
        }
        Ok(())
    }

    /// Behind the other letters of a name, where it is written in full.
    fn rest_of(&mut self, name: &[u8]) -> Step {
        let rest = &name[3..];
        if self.text[self.at..].get(..rest.len()).is_some_and(|text| text.eq_ignore_ascii_case(rest)) {
            self.at += rest.len();
        }
        let goes_on = self.next().is_some_and(|byte| byte.is_ascii_alphabetic());
        if goes_on { wrong("unexpected word") } else { Ok(()) }
    }

    /// `+h`, `+hh`, `+hmm`, `+hhmm`, `+hh:mm`.
    pub(super) fn zone_offset(&mut self) -> Step {
        let minus = self.text[self.at] == b'-';
        self.at += 1;
        let run = self.digits();
        if self.has_date() && !self.has_time && run.len() == 6 {
            return self.compact_clock(run);
        }
        self.is_west |= minus;
        let (hours, mut minutes) = match run.len() {
            3 | 4 => (value(run) / 100, value(run) % 100),
            1 | 2 => (value(run), 0),
            _ => return wrong("unexpected number of decimal digits for time zone offset"),
        };
        if run.len() < 3 && self.take(b":").is_some() {
            minutes = self.short("unexpected number of decimal digits for time zone offset in minutes")?;
        }
        self.shift(hours, minutes);
        Ok(())
    }

    /// Offsets written one behind another add up.
    pub(super) fn shift(&mut self, hours: i64, minutes: i64) {
        let before = self.offset.unwrap_or((0, 0));
        self.offset = Some((before.0 + hours, before.1 + minutes));
    }

    /// A zone by its name: hours that were written before do not count.
    fn hours_east(&mut self, hours: i64) {
        self.offset = Some((hours, self.offset.map_or(0, |(_, minutes)| minutes)));
    }
}
