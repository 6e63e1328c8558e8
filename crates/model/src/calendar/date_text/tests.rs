use super::*;

#[test]
fn dates() {
    for (text, days) in [
        ("1970-01-02", Some(1)),
        ("2020-1-2", Some(18_263)),
        ("20200102", Some(18_263)),
        ("2020/01/02", Some(18_263)),
        ("0000-00-00", Some(ZERO_DATE_DAYS)),
    ] {
        assert_eq!(date(text.as_bytes()), days, "{text}");
    }
    for wrong in ["", "2020", "2020-13-01", "2020-02-30", "2020-01-02x", "abcd-ef-gh", "2020-1", "1577836800"]
    {
        assert_eq!(date(wrong.as_bytes()), None, "{wrong}");
    }
}

#[test]
fn times_by_setting() {
    // 2020-01-02 03:04:05 as seconds.
    let noon = 1_577_934_245;
    let day = 18_263 * DAY_SECONDS;
    for (text, basic, best_effort) in [
        ("2020-01-02 03:04:05", Some((noon, 0, None)), Some((noon, 0, None))),
        ("2020-01-02T03:04:05.25", Some((noon, 250_000_000, None)), Some((noon, 250_000_000, None))),
        ("2020-01-02T03:04:05Z", None, Some((noon, 0, Some(0)))),
        ("2020-01-02", Some((day, 0, None)), Some((day, 0, None))),
        ("1577934245", Some((noon, 0, Some(0))), Some((noon, 0, Some(0)))),
        ("20200102", Some((20_200_102, 0, Some(0))), Some((day, 0, None))),
        ("2020", None, Some((day - DAY_SECONDS, 0, None))),
        ("0000-00-00 00:00:00", Some((0, 0, None)), Some((0, 0, None))),
        ("0000-00-00", Some((0, 0, None)), None),
        ("2 Jan", None, None),
        ("hello", None, None),
        ("", None, None),
    ] {
        let made = |found: Option<(i64, u32, Option<i64>)>| {
            found.map(|(seconds, nanos, offset)| TimeText { seconds, nanos, offset })
        };
        assert_eq!(time_basic(text.as_bytes()), made(basic), "{text}");
        assert_eq!(time_best_effort(text.as_bytes(), false), made(best_effort), "{text}");
    }
}

#[test]
fn a_clock_of_many_digits_is_no_time() {
    for text in [
        "1970-01-01 00:222222222222222220:00",
        "1970-01-01 9223372036854775807:00:00",
        "1970-01-01 125:00:00",
    ] {
        assert_eq!(time_best_effort(text.as_bytes(), false), None, "{text}");
    }
}

#[test]
fn the_month_may_come_first() {
    let at = |text: &str, input| time(text.as_bytes(), input).map(|found| found.seconds / DAY_SECONDS);
    // Answers of parseDateTimeBestEffort and parseDateTimeBestEffortUS.
    for (text, day_first, month_first) in [
        ("01/02/2020 03:04:05", (2020, 2, 1), (2020, 1, 2)),
        ("13/02/2020", (2020, 2, 13), (2020, 2, 13)),
        ("02/13/2020 03:04:05", (2020, 2, 13), (2020, 2, 13)),
        ("02.03.2020 00:00:00", (2020, 3, 2), (2020, 2, 3)),
        ("01/02/20 03:04:05", (2020, 2, 1), (2020, 1, 2)),
        ("Feb 3 2020 01:02:03", (2020, 2, 3), (2020, 2, 3)),
        ("2020-01-02 03:04:05", (2020, 1, 2), (2020, 1, 2)),
    ] {
        let days = |(y, m, d)| Some(days_of(y, m, d));
        assert_eq!(at(text, DateTimeInput::BestEffort), days(day_first), "{text}");
        assert_eq!(at(text, DateTimeInput::BestEffortUs), days(month_first), "{text}");
    }
}
