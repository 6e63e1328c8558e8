//! The loop around requests that never leave the process.

use std::sync::atomic::{AtomicUsize, Ordering};

use host::{Runtimes, SystemClock};

use super::*;

fn policy() -> RetryPolicy {
    RetryPolicy {
        attempts: 3,
        retry_timeout: Duration::from_secs(10),
        ..RetryPolicy::from(&SourceSettings::default())
    }
}

fn status(status: u16, code: &str) -> Failure {
    let text = format!(
        "non-2xx status code: {status} X: <Error><Code>{code}</Code><RequestId>r</RequestId></Error>"
    );
    Failure::Store(object_store::Error::Generic { store: "S3", source: text.into() })
}

/// How many attempts were made of a request that fails so often, and how it ended.
fn attempts(policy: RetryPolicy, fails: usize, failure: impl Fn() -> Failure) -> (usize, Result<()>) {
    let runtimes = Runtimes::new(1, 1).unwrap();
    let attempts = Attempts::new(Lane::new(Arc::new(SystemClock::new())), policy);
    let made = AtomicUsize::new(0);
    let show = |error: &object_store::Error| crate::requests::errors::read_error(error, "b/k", Some(5..10));
    let done = runtimes.block_on(attempts.run(RequestKind::Get, show, || {
        let failed = made.fetch_add(1, Ordering::Relaxed) < fails;
        let outcome = if failed { Err(failure()) } else { Ok(()) };
        async move { outcome }
    }));
    (made.into_inner(), done)
}

#[test]
fn passing_trouble_is_tried_again_within_the_budget() {
    let slow_down = || status(503, "SlowDown");
    assert!(matches!(attempts(policy(), 3, slow_down), (4, Ok(()))));
    let (made, done) = attempts(policy(), 99, slow_down);
    let shown = done.unwrap_err().to_string();
    assert_eq!(made, 4);
    for part in [
        "\"b/k\"",
        "bytes 5-9",
        "HTTP 503",
        "SlowDown",
        "request id r",
        "4 attempts in 0.",
        "s3_retry_attempts",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn lasting_answers_cost_one_attempt() {
    for (code, s3_code) in
        [(400, "InvalidRequest"), (401, "X"), (403, "AccessDenied"), (404, "NoSuchKey"), (412, "P")]
    {
        assert_eq!(attempts(policy(), 99, || status(code, s3_code)).0, 1, "{code}");
    }
}

#[test]
fn credentials_and_clocks_that_are_off_say_so() {
    for (code, s3_code, words) in [
        (400, "ExpiredToken", "session token has expired"),
        (403, "RequestTimeTooSkewed", "clock"),
        (403, "AccessDenied", "NOSIGN"),
    ] {
        let (_, done) = attempts(policy(), 99, || status(code, s3_code));
        let error = done.unwrap_err();
        assert_eq!(error.kind(), SourceErrorKind::Denied);
        assert!(error.hint().is_some_and(|hint| hint.contains(words)), "{error}");
    }
}

#[test]
fn time_ends_it_before_a_wait_that_is_too_long() {
    let short = RetryPolicy { attempts: 500, retry_timeout: Duration::from_millis(60), ..policy() };
    let (made, done) = attempts(short, 999, || status(500, "InternalError"));
    assert!((2..=5).contains(&made), "{made}");
    assert!(done.unwrap_err().to_string().contains("when the store is back"));
}

/// Whether a request waits that begins when another of the bucket has been told to slow down.
fn waits_behind_a_refusal(slow_all: bool) -> bool {
    let runtimes = Runtimes::new(1, 1).unwrap();
    let policy = RetryPolicy { slow_all, ..policy() };
    let attempts = Attempts::new(Lane::new(Arc::new(SystemClock::new())), policy);
    let show = |error: &object_store::Error| crate::requests::errors::read_error(error, "b/k", None);
    runtimes.block_on(async {
        let refused = || async { Err::<(), _>(status(503, "SlowDown")) };
        let mut first = std::pin::pin!(attempts.run(RequestKind::Get, show, refused));
        assert!(futures::poll!(first.as_mut()).is_pending(), "it waits before it asks again");
        let mut second = std::pin::pin!(attempts.run(RequestKind::Get, show, || async { Ok(()) }));
        futures::poll!(second.as_mut()).is_pending()
    })
}

#[test]
fn one_refusal_slows_everybody_if_told_so() {
    assert!(waits_behind_a_refusal(true));
    assert!(!waits_behind_a_refusal(false));
}

#[test]
fn dropping_it_ends_its_wait() {
    let runtimes = Runtimes::new(1, 1).unwrap();
    let attempts = Attempts::new(Lane::new(Arc::new(SystemClock::new())), policy());
    let show = |error: &object_store::Error| crate::requests::errors::read_error(error, "b/k", None);
    let other = attempts.clone();
    let waiting = runtimes.spawn_io("waiting", async move {
        other
            .run::<(), _>(RequestKind::Get, show, || async { Err(status(503, "SlowDown")) })
            .await
            .map_err(|error| error.to_string())
    });
    waiting.abort();
    let ended = runtimes.block_on(waiting);
    assert!(ended.is_err_and(|error| error.is_cancelled()), "the wait outlived its task");
    assert!(runtimes.running().is_empty(), "{:?}", runtimes.running());
}
