//! The failure contract of requests: what passes is tried again, what lasts fails at once, and both end.
//!
//! Invariant: each request has its own budget of attempts and time, and never restarts another's; every wait is a
//! timer in the caller's future, so dropping that future ends it at once. Permanent answers cost one attempt.
//! Must not know: what is asked, or how a client is made.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use object_store::client::HttpError;

use crate::error::{Result, SourceError, SourceErrorKind};
use crate::network::wire::{Asked, Told};
use crate::requests::lane::{Lane, RequestKind};
use crate::requests::verdict::{Verdict, backoff, is_slow_down, verdict};
use crate::statement::rate::Rate;
use crate::statement::settings::SourceSettings;

/// Attempts at what a repetition seldom repairs: a page of a listing that is no XML, a host nobody knows.
const A_FEW: usize = 5;
/// Silence the first attempts bear: a store answers in milliseconds or hangs, and another connection may not.
const FIRST_SILENCES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(10)];

/// How patient requests are, and how many there may be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RetryPolicy {
    /// Attempts after the first.
    pub attempts: usize,
    /// Times the body of one range may break.
    pub body_retries: usize,
    pub connect_timeout: Duration,
    pub request_timeout: Duration,
    /// No attempt starts later than this after the first one.
    pub retry_timeout: Duration,
    /// One refusal slows everybody who asks the bucket.
    pub slow_all: bool,
    /// Requests of everybody under way in one bucket.
    pub connections: usize,
    pub redirects_max: usize,
    pub get_rate: Rate,
    pub put_rate: Rate,
}

impl From<&SourceSettings> for RetryPolicy {
    fn from(settings: &SourceSettings) -> Self {
        RetryPolicy {
            attempts: settings.retry_attempts,
            body_retries: settings.body_retries,
            connect_timeout: settings.connect_timeout,
            request_timeout: settings.request_timeout,
            retry_timeout: settings.retry_timeout,
            slow_all: settings.slow_all_after_refusal,
            connections: settings.max_connections,
            redirects_max: settings.redirects_max,
            get_rate: settings.get_rate,
            put_rate: settings.put_rate,
        }
    }
}

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What it means is to be found out.
    Store(object_store::Error),
    /// We know what it is.
    Ours { error: SourceError, verdict: Verdict },
}

impl From<object_store::Error> for Failure {
    fn from(error: object_store::Error) -> Self {
        Failure::Store(error)
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Failure::Store(object_store::Error::Generic { store: "S3", source: Box::new(error) })
    }
}

/// Makes requests to one bucket.
#[derive(Clone, Debug)]
pub(crate) struct Attempts {
    lane: Arc<Lane>,
    policy: RetryPolicy,
}

impl Attempts {
    pub(crate) fn new(lane: Arc<Lane>, policy: RetryPolicy) -> Attempts {
        Attempts { lane, policy }
    }

    pub(crate) fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Runs `attempt` until it succeeds, fails for good, or the budget is spent. `show` says what an error of the
    /// store means for what was asked. An attempt whose answer is lost may have happened: what is repeated must
    /// bear it.
    pub(crate) async fn run<T, A>(
        &self,
        kind: RequestKind,
        show: impl Fn(&object_store::Error) -> SourceError,
        mut attempt: impl FnMut() -> A,
    ) -> Result<T>
    where
        A: Future<Output = Result<T, Failure>>,
    {
        let clock = Arc::clone(self.lane.clock());
        let began = clock.monotonic();
        let (mut number, mut doubtful) = (0, 0);
        loop {
            let rate = if kind == RequestKind::Put { self.policy.put_rate } else { self.policy.get_rate };
            let turn = self.lane.turn(kind, rate, self.policy.connections).await;
            number += 1;
            let asked = Asked::new(Arc::clone(&clock), self.silence_max(number), self.policy.request_timeout);
            let failure = match Arc::clone(&asked).scope(attempt()).await {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            drop(turn);
            let told = asked.told();
            let (error, verdict) = judge(failure, &told, &show);
            doubtful += usize::from(verdict == Verdict::AFew);
            let wait = backoff(number, self.lane.roll(), told.retry_after);
            let spent = clock.monotonic().saturating_sub(began);
            if let Some(hint) = self.why_ended(verdict, number, doubtful, spent.saturating_add(wait)) {
                return Err(ended(error, &told, hint).with_attempts(number, spent));
            }
            if self.policy.slow_all && is_slow_down(told.status, error.s3_code()) {
                self.lane.quiet_for(wait);
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Nothing while there is another attempt to make.
    fn why_ended(
        &self,
        verdict: Verdict,
        number: usize,
        doubtful: usize,
        next: Duration,
    ) -> Option<&'static str> {
        match verdict {
            Verdict::Never => Some(""),
            Verdict::AFew if doubtful >= A_FEW => Some("check the endpoint, or ask its operator"),
            _ if number > self.policy.attempts => {
                Some("run the statement again later, or raise s3_retry_attempts")
            }
            _ if next > self.policy.retry_timeout => Some("run the statement again when the store is back"),
            _ => None,
        }
    }

    fn silence_max(&self, number: usize) -> Duration {
        let all = self.policy.request_timeout;
        FIRST_SILENCES.get(number - 1).map_or(all, |first| all.min(*first))
    }
}

fn judge(
    failure: Failure,
    told: &Told,
    show: impl Fn(&object_store::Error) -> SourceError,
) -> (SourceError, Verdict) {
    match failure {
        Failure::Ours { error, verdict } => (error, verdict),
        Failure::Store(error) => {
            let shown = show(&error);
            let status = shown.http_status().or(told.status);
            let verdict = verdict(&error, status, shown.s3_code());
            (shown, verdict)
        }
    }
}

fn ended(error: SourceError, told: &Told, hint: &str) -> SourceError {
    // A redirect without a body names the bucket's region in its head.
    let region = told.region.as_deref().filter(|_| told.status == Some(301));
    let refused = told.status.filter(|status| *status >= 300);
    let error = error.with_head(refused, told.request_id.as_deref(), region);
    match hint {
        "" => error,
        hint if error.kind() == SourceErrorKind::Unavailable => error.with_hint(hint),
        _ => error,
    }
}

#[cfg(test)]
mod tests;
