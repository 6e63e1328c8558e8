//! The tree of a profile as text, and what its spans add up to.

use std::sync::Arc;
use std::time::Duration;

use crate::operators::Operator;
use catalog::CommitTimes;
use host::Clock;
use parking_lot::Mutex;

use super::kept::KeptProfiles;
use super::{Keep, Measured, Report, Span, State, StatementProfile, statement_line};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Moves only when somebody sleeps.
#[derive(Debug, Default)]
struct StillClock(Mutex<Duration>);

impl Clock for StillClock {
    fn now_ms(&self) -> u64 {
        0
    }

    fn monotonic(&self) -> Duration {
        *self.0.lock()
    }

    fn sleep(&self, duration: Duration) {
        *self.0.lock() += duration;
    }
}

fn times() -> CommitTimes {
    CommitTimes { queued: ms(1), written: ms(2), synced: ms(4), applied: ms(3), puts: 0, statements: 5 }
}

fn profile(keep: Keep) -> StatementProfile {
    let clock: Arc<dyn Clock> = Arc::new(StillClock::default());
    StatementProfile::new(&clock, "q".to_owned(), Duration::ZERO, keep)
}

fn report(state: State, measured: Measured, operators: Option<Operator>) -> Report {
    Report {
        query_id: "q1".to_owned(),
        user: "ann".into(),
        state,
        statement: statement_line("INSERT INTO t\nSELECT 1"),
        started_ms: 1_704_164_645_000,
        total: ms(100),
        measured,
        memory_peak: 1 << 20,
        read_rows: 10,
        read_bytes: 80,
        written_rows: 10,
        written_bytes: 2048,
        settings: vec![("enable_profile", "1".to_owned())],
        operators,
    }
}

#[test]
fn spans_add_up_to_the_whole() {
    let profile = profile(Keep::Never);
    profile.add(Span::Parse, ms(10));
    profile.add(Span::Plan, ms(20));
    profile.committed(&times());
    let measured = profile.measured();
    assert_eq!((measured.commit(), measured.execution(ms(100))), (ms(10), ms(60)));
    assert_eq!((measured.commits, measured.group_statements), (1, 5));
    let sum: u64 = profile
        .counters(ms(100))
        .filter(|(name, _)| name.ends_with("Microseconds"))
        .map(|(_, value)| value)
        .sum();
    assert_eq!(sum, 100_000);
    // Spans of work done side by side may be longer than the whole.
    assert_eq!(measured.execution(ms(1)), Duration::ZERO);
}

#[test]
fn a_span_ends_when_its_guard_goes() {
    let profile = profile(Keep::Never);
    let timed = profile.timed(Span::List);
    profile.clock.sleep(ms(7));
    assert!(profile.measured().span(Span::List).is_zero());
    drop(timed);
    assert_eq!((profile.measured().span(Span::List), profile.elapsed()), (ms(7), ms(7)));
}

#[test]
fn profiles_are_kept_when_asked_for_or_when_it_took_long() {
    let kept = |asked: bool, seconds: f64, took: Duration| profile(Keep::of(asked, seconds)).is_kept(took);
    assert!(!kept(false, 30.0, ms(100)) && kept(false, 30.0, ms(30_001)));
    assert!(kept(true, 30.0, ms(0)));
    assert!(!kept(false, 0.5, ms(400)) && kept(false, 0.5, ms(600)));
    assert!(!kept(false, 0.0, ms(1_000_000)));
}

#[test]
fn the_tree_of_a_load() {
    let profile = profile(Keep::Never);
    profile.add(Span::Parse, ms(10));
    profile.add(Span::List, ms(20));
    profile.listed(2, 3072);
    profile.committed(&times());
    let scan = Operator {
        text: "UnitScanExec: files=2, units=2".to_owned(),
        rows: Some(10),
        time: Some(ms(30)),
        ..Operator::default()
    };
    let sink = Operator {
        text: "SinkExec: table=t".to_owned(),
        rows: Some(10),
        time: Some(ms(10)),
        bytes: Some(512),
        others: vec!["parts=1".to_owned()],
        inputs: vec![scan],
    };
    let lines = report(State::Finished, profile.measured(), Some(sink)).lines();
    assert_eq!(
        lines,
        [
            "Summary",
            "  QueryId: q1",
            "  State: Finished",
            "  Statement: INSERT INTO t SELECT 1",
            "  StartTime: 2024-01-02 03:04:05",
            "  TotalTime: 100.000 ms",
            "    Parse: 10.000 ms (10.00%)",
            "    List: 20.000 ms (20.00%)",
            "    Execution: 60.000 ms (60.00%)",
            "    CommitQueue: 1.000 ms (1.00%)",
            "    LogWrite: 2.000 ms (2.00%)",
            "    LogSync: 4.000 ms (4.00%)",
            "    Apply: 3.000 ms (3.00%)",
            "  QueryPeakMemoryUsage: 1.00 MiB",
            "  RowsRead: 10, 80.00 B",
            "  RowsWritten: 10, 2.00 KiB",
            "  NonDefaultVariables: enable_profile=1",
            "Commit: 10.000 ms (10.00%)",
            "  Queue: 1.000 ms (1.00%)",
            "  Write: 2.000 ms (2.00%)",
            "  Fsync: 4.000 ms (4.00%)",
            "  Apply: 3.000 ms (3.00%)",
            "  StatementsInGroup: 5",
            "  SinkExec: table=t [time: 10.000 ms (25.00%), rows: 10, bytes: 512.00 B]",
            "      parts=1",
            "    UnitScanExec: files=2, units=2 [time: 30.000 ms (75.00%), rows: 10]",
            "Listing: 20.000 ms (20.00%), 2 file(s), 3.00 KiB",
        ]
    );
}

#[test]
fn a_commit_in_a_store_is_a_put_and_says_how_many_it_took() {
    let profile = profile(Keep::Never);
    profile.committed(&CommitTimes { puts: 3, ..times() });
    let lines = report(State::Finished, profile.measured(), None).lines();
    for line in ["    LogPut: 4.000 ms (4.00%)", "  Put: 4.000 ms (4.00%)", "  PutRequests: 3"] {
        assert!(lines.iter().any(|there| there == line), "{line}: {lines:?}");
    }
    assert!(!lines.iter().any(|line| line.contains("ync")), "{lines:?}");
}

#[test]
fn a_statement_without_a_commit_has_no_commit_node_and_one_that_was_undone_says_so() {
    let node = |state: State| {
        let lines = report(state, Measured::default(), None).lines();
        lines.into_iter().find(|line| line.starts_with("Commit"))
    };
    assert_eq!(node(State::Finished), None);
    assert!(node(State::RolledBack).is_some_and(|line| line.contains("not done")));
}

#[test]
fn the_newest_thousand_profiles_are_kept() {
    let kept = KeptProfiles::default();
    for number in 0..1001 {
        let mut report = report(State::Finished, Measured::default(), None);
        report.query_id = number.to_string();
        kept.push(report);
    }
    let list = kept.list();
    assert_eq!((list.len(), list[0].query_id.as_str()), (1000, "1000"));
    assert!(kept.find("0").is_none() && kept.find("1").is_some());
}
