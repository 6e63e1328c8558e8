//! What a failed attempt means: ask again, ask a few times, or give up; and how long to wait before that.
//!
//! Invariant: pure; the same answer of a store has the same verdict whatever was asked. Must not know: clocks, waits.

use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};

use crate::error::SourceError;
use crate::requests::errors::causes;

/// First wait before a retry and the longest one; waits double.
const WAIT_MIN_MS: u64 = 25;
const WAIT_MAX_MS: u64 = 5000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Trouble that passes: the whole budget may be spent on it.
    Again,
    /// It may be a mistake of ours or of the store: a few attempts tell.
    AFew,
    /// The same request will get the same answer.
    Never,
}

/// S3 codes of a passing trouble whatever status they come with.
const PASSING_CODES: [&str; 9] = [
    "SlowDown",
    "InternalError",
    "ServiceUnavailable",
    "ServerBusy",
    "OperationTimedOut",
    "RequestTimeout",
    "RequestLimitExceeded",
    "OperationAborted",
    "ConditionalRequestConflict",
];

/// `status` and `s3_code` are what the store said, if it said anything.
pub(crate) fn verdict(error: &object_store::Error, status: Option<u16>, s3_code: Option<&str>) -> Verdict {
    // Refused by us: a host that may not be asked, too many redirects.
    if SourceError::find(error).is_some() {
        return Verdict::Never;
    }
    if s3_code.is_some_and(|code| PASSING_CODES.contains(&code)) {
        return Verdict::Again;
    }
    match status {
        Some(408 | 425 | 429 | 500 | 502 | 503 | 504 | 520..=599) => return Verdict::Again,
        Some(300..) => return Verdict::Never,
        _ => {}
    }
    let told = causes(error).find_map(|cause| cause.downcast_ref::<HttpError>().map(HttpError::kind));
    match told {
        Some(_) if says_wrong_address(error) => Verdict::AFew,
        Some(HttpErrorKind::Decode) => Verdict::AFew,
        Some(_) => Verdict::Again,
        // An answer arrived and the client could not read it: garbage in a listing, a range nobody asked for.
        None if matches!(error, object_store::Error::Generic { .. }) && status.is_some() => Verdict::AFew,
        None => Verdict::Never,
    }
}

/// A name that is written wrong never resolves; a resolver that is restarted does, soon. Whoever answers TLS with plain
/// text will do so again, unless it is a proxy that starts.
fn says_wrong_address(error: &object_store::Error) -> bool {
    causes(error).any(|cause| {
        let text = cause.to_string();
        ["dns error", "failed to lookup address", "InvalidContentType"]
            .iter()
            .any(|words| text.contains(words))
    })
}

/// A refusal because we ask too much, not because something broke.
pub(crate) fn is_slow_down(status: Option<u16>, s3_code: Option<&str>) -> bool {
    matches!(status, Some(429 | 503))
        || matches!(s3_code, Some("SlowDown" | "ServerBusy" | "RequestLimitExceeded"))
}

/// The wait after the attempt with this number, the first being 1: doubling, and between half of it and all of it, so
/// that requests that failed together do not come back together. A store that names a time gets at least that.
pub(crate) fn backoff(number: usize, dice: u64, retry_after: Option<Duration>) -> Duration {
    let doublings = u32::try_from(number.saturating_sub(1)).unwrap_or(u32::MAX).min(10);
    let full = (WAIT_MIN_MS << doublings).min(WAIT_MAX_MS) * 1000;
    let wait = Duration::from_micros(full / 2 + dice % (full / 2 + 1));
    retry_after.map_or(wait, |asked| asked.max(wait))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_store_says_decides() {
        let error = || object_store::Error::Generic { store: "S3", source: "said".into() };
        for (status, code, expected) in [
            (Some(500), Some("InternalError"), Verdict::Again),
            (Some(503), Some("SlowDown"), Verdict::Again),
            (Some(502), None, Verdict::Again),
            (Some(429), None, Verdict::Again),
            (Some(408), None, Verdict::Again),
            (Some(400), Some("RequestTimeout"), Verdict::Again),
            (Some(409), Some("OperationAborted"), Verdict::Again),
            (Some(400), Some("ExpiredToken"), Verdict::Never),
            (Some(401), None, Verdict::Never),
            (Some(403), Some("RequestTimeTooSkewed"), Verdict::Never),
            (Some(404), Some("NoSuchKey"), Verdict::Never),
            (Some(412), None, Verdict::Never),
            (Some(416), Some("InvalidRange"), Verdict::Never),
            (Some(501), Some("NotImplemented"), Verdict::Never),
            (Some(301), Some("PermanentRedirect"), Verdict::Never),
            (Some(200), None, Verdict::AFew),
            (None, None, Verdict::Never),
        ] {
            assert_eq!(verdict(&error(), status, code), expected, "{status:?} {code:?}");
        }
    }

    #[test]
    fn broken_connections_pass_and_unknown_hosts_hardly() {
        let http = |kind, text: &str| object_store::Error::Generic {
            store: "S3",
            source: Box::new(HttpError::new(kind, std::io::Error::other(text.to_owned()))),
        };
        for (kind, text, expected) in [
            (HttpErrorKind::Connect, "connection refused", Verdict::Again),
            (HttpErrorKind::Timeout, "silent", Verdict::Again),
            (HttpErrorKind::Interrupted, "reset by peer", Verdict::Again),
            (HttpErrorKind::Connect, "dns error: failed to lookup address information", Verdict::AFew),
            (HttpErrorKind::Connect, "received corrupt message of type InvalidContentType", Verdict::AFew),
            (HttpErrorKind::Decode, "not XML", Verdict::AFew),
        ] {
            assert_eq!(verdict(&http(kind, text), None, None), expected, "{text}");
        }
    }

    #[test]
    fn waits_double_with_jitter_up_to_five_seconds() {
        for (number, least_ms, most_ms) in
            [(1, 12, 25), (2, 25, 50), (5, 200, 400), (9, 2500, 5000), (400, 2500, 5000)]
        {
            for dice in [0, 1, 77_777, u64::MAX] {
                let wait = backoff(number, dice, None).as_millis();
                assert!((least_ms..=most_ms).contains(&wait), "{number}: {wait}");
            }
        }
        assert_eq!(backoff(1, 0, Some(Duration::from_secs(3))), Duration::from_secs(3));
        assert!(backoff(9, 0, Some(Duration::from_millis(1))) >= Duration::from_millis(2500));
    }
}
