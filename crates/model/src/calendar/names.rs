//! What months and days of the week are called, and letters of formats that nobody writes.
//!
//! Invariant: names are English. Must not know: formats.

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The month's name; nothing of a number that is no month.
pub fn month_name(month: i32) -> &'static str {
    usize::try_from(month - 1).ok().and_then(|index| MONTHS.get(index)).copied().unwrap_or("")
}

/// The name of a day of the week, of which Monday is 1.
pub fn weekday_name(weekday: i32) -> &'static str {
    usize::try_from(weekday - 1).ok().and_then(|index| WEEKDAYS.get(index)).copied().unwrap_or("")
}

/// The fraction of a second with the digits that its type has, for `%f`.
pub const BARE_FRACTION: char = '\u{1}';
/// The month without a zero before it, for `%c`.
pub const BARE_MONTH: char = '\u{2}';
/// The hour of 24 without a zero before it, for `%k`.
pub const BARE_HOUR: char = '\u{3}';
/// The hour of 12 without a zero before it, for `%l`.
pub const BARE_HALF: char = '\u{4}';
