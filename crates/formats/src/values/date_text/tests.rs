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
fn best_effort_reads_what_people_write() {
    // 2020-01-02 03:04:05 as seconds.
    let noon = 1_577_934_245;
    for (text, seconds, nanos, offset) in [
        ("2020-01-02 03:04:05", noon, 0, None),
        ("2020-01-02T03:04:05Z", noon, 0, Some(0)),
        ("2020-01-02T03:04:05.25+02:00", noon, 250_000_000, Some(7200)),
        ("2020-01-02T03:04:05-0330", noon, 0, Some(-12_600)),
        ("02/01/2020 03:04:05", noon, 0, None),
        ("2 Jan 2020 03:04:05", noon, 0, None),
        ("Thu, 02 Jan 2020 03:04:05 GMT", noon, 0, Some(0)),
        ("Jan 2 2020 3:04:05 AM", noon, 0, None),
        ("20200102030405", noon, 0, None),
        ("1577934245", noon, 0, Some(0)),
        ("1577934245123", noon, 123_000_000, Some(0)),
        ("1577934245.5", noon, 500_000_000, Some(0)),
        ("2020-01-02", 18_263 * DAY_SECONDS, 0, None),
        ("2020-01-02 03", noon - 245, 0, None),
        ("2020-01-02T3", noon - 245, 0, None),
        ("2020-01-01 24:00:00", 18_263 * DAY_SECONDS, 0, None),
        ("2020-01-01 23:59:60", 18_263 * DAY_SECONDS, 0, None),
        ("2020-01-01 25:01:00", 18_263 * DAY_SECONDS + 3660, 0, None),
        ("2020", 18_262 * DAY_SECONDS, 0, None),
        ("2020-01", 18_262 * DAY_SECONDS, 0, None),
        ("202001", 18_262 * DAY_SECONDS, 0, None),
        ("0000-00-00 00:00:00", 0, 0, None),
    ] {
        assert_eq!(
            time_best_effort(text.as_bytes(), false),
            Some(TimeText { seconds, nanos, offset }),
            "{text}"
        );
    }
    for wrong in [
        "",
        "hello",
        "2020-13-45 99:99:99",
        "0",
        "2020-01-02 100:00:00",
        "1.2.3",
        "2020-01-02 03:04:05+25:00",
        "0000-00-00",
        "-",
        "+02:00",
        "may",
    ] {
        assert_eq!(time_best_effort(wrong.as_bytes(), false), None, "{wrong}");
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
