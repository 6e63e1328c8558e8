//! What ClickHouse 26.9's `parseDateTimeBestEffort` gives, asked of it: no answer here is ours alone.

use super::*;

const TODAY: (i64, i64, i64) = (2026, 11, 27);

/// As `2020-01-02 03:04:05` in UTC, with the fraction where there is one; `None` is refused.
fn shown(text: &str, month_first: bool) -> Option<String> {
    let written = read(text.as_bytes(), Habits { month_first, today: Some(TODAY) }).ok()?;
    let seconds = written.seconds - written.offset.unwrap_or(0);
    let (year, month, day) = super::super::civil_of(seconds.div_euclid(DAY_SECONDS));
    let time = seconds.rem_euclid(DAY_SECONDS);
    let clock = format!("{:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60);
    let fraction = if written.nanos == 0 { String::new() } else { format!(".{:09}", written.nanos) };
    Some(format!("{year:04}-{month:02}-{day:02} {clock}{fraction}"))
}

#[test]
fn what_people_and_machines_write() {
    for (text, wanted) in [
        ("2020-01-02T03:04:05.25+02:00", "2020-01-02 01:04:05.250000000"),
        ("2020-01-02 03:04:05 -0330", "2020-01-02 06:34:05"),
        ("02/01/2020 03:04:05", "2020-01-02 03:04:05"),
        ("12/31/2020", "2020-12-31 00:00:00"),
        ("2 Jan 2020 03:04:05", "2020-01-02 03:04:05"),
        ("02-Jan-2020", "2020-01-02 00:00:00"),
        ("Thu, 02 Jan 2020 03:04:05 GMT", "2020-01-02 03:04:05"),
        ("Monday, 5 Jan", "2026-01-05 00:00:00"),
        ("January 2, 2020T3 PM +0100", "2020-01-02 14:00:00"),
        ("Jan 5, 6", "2026-01-05 06:00:00"),
        ("20200102030405", "2020-01-02 03:04:05"),
        ("20200506T030405", "2020-05-06 03:04:05"),
        ("1577934245", "2020-01-02 03:04:05"),
        ("1577934245123", "2020-01-02 03:04:05.123000000"),
        ("1577934245.5", "2020-01-02 03:04:05.500000000"),
        ("157793424", "1975-01-01 07:30:24"),
        ("2020", "2020-01-01 00:00:00"),
        ("2020 05", "2020-05-01 00:00:00"),
        ("202005-06", "2020-05-01 06:00:00"),
        ("2020-05-06,07:08", "2020-05-06 07:08:00"),
        ("03:04:05, 2020-05-06", "2020-05-06 03:04:05"),
        ("2020-05-06 99:99:99", "2020-05-10 04:40:39"),
        ("2020-05-06 03:04.5", "2020-05-06 03:04:00.500000000"),
        ("05:30+06MSD", "2026-01-01 01:30:00"),
        ("05:30MSD-06", "2026-01-01 15:30:00"),
        ("2020-05-06 12AM", "2020-05-06 00:00:00"),
        ("27 Nov", "2026-11-27 00:00:00"),
        ("28 Nov", "2025-11-28 00:00:00"),
    ] {
        assert_eq!(shown(text, false).as_deref(), Some(wanted), "{text}");
    }
}

#[test]
fn what_is_no_time() {
    for text in [
        "",
        "hello",
        "may x",
        "2020-13-45",
        "2020-02-30",
        "13/13/2020",
        "1.2.3",
        "2 JanZ",
        "02/01/2020z",
        "2 Jan, 03:04",
        "Sept 5 2021",
        "Mond 5 Jan",
        "5 January/2020",
        "2024-10-27 1.5",
        "2020-01-02 03:04:0075",
        "2020 03:04",
        "2020-05-06, 3pm",
        "2020-05-06,",
        "2020-05-06 100:00",
        "2020-05-06 03:04:05,123",
        "1577934245 UTC",
        "-1577934245",
        "20200506 0304",
        "2020-366",
        "+03",
        "Z",
        "Mon",
        "2020-01-02 03:04:05 x",
        "2020-01-02 03:04:05+123456",
        "1970-01-01 00:222222222222222220:00",
        "99999999999999999999",
    ] {
        assert_eq!(shown(text, false), None, "{text}");
    }
    let rest = |text: &str| read(text.as_bytes(), Habits { month_first: false, today: None }).unwrap_err();
    assert_eq!(rest("2020-01-02 03:04:05 04:05:06"), Unreadable::Rest(20));
    assert_eq!(rest("2020-01-02 03:04:05 #"), Unreadable::Rest(20));
    assert_eq!(rest("2 Jan"), Unreadable::Part("the year is missing"));
}

#[test]
fn the_month_may_come_first() {
    for (text, day_first, month_first) in [
        ("01/02/2020", "2020-02-01", "2020-01-02"),
        ("13/02/2020", "2020-02-13", "2020-02-13"),
        ("02/13/2020", "2020-02-13", "2020-02-13"),
        ("5/6/69", "2069-06-05", "2069-05-06"),
        ("5/6/70", "1970-06-05", "1970-05-06"),
        ("2020-01-02", "2020-01-02", "2020-01-02"),
    ] {
        assert_eq!(shown(text, false).as_deref(), Some(format!("{day_first} 00:00:00").as_str()), "{text}");
        assert_eq!(shown(text, true).as_deref(), Some(format!("{month_first} 00:00:00").as_str()), "{text}");
    }
    assert_eq!(shown("02-Jan-2020", true), None);
}
