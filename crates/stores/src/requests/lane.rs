//! The way to one bucket, shared by everybody who asks it: how many requests are under way, how often one may start,
//! and whether the store asked for quiet.
//!
//! Invariant: at most `connections` requests hold a [`Turn`]; a turn ends when it is dropped, so a cancelled request
//! frees its place. Must not know: what is asked, retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host::Clock;
use model::mix64::{STEP, mix64};
use model::saturating::nanos_of;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::statement::rate::{Rate, Spacing};

/// Which limit of the store a request counts against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestKind {
    Get,
    /// A HEAD, too: both cost one small read.
    List,
    Put,
}

#[derive(Debug)]
pub(crate) struct Lane {
    clock: Arc<dyn Clock>,
    under_way: Mutex<usize>,
    ended: Notify,
    gets: Mutex<Spacing>,
    puts: Mutex<Spacing>,
    quiet_until: Mutex<Duration>,
    rolls: AtomicU64,
}

/// The right to have one request under way.
#[derive(Debug)]
pub(crate) struct Turn {
    lane: Arc<Lane>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        *self.lane.under_way.lock() -= 1;
        // All, because those who wait may have different limits.
        self.lane.ended.notify_waiters();
    }
}

impl Lane {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Lane> {
        Arc::new(Lane {
            clock,
            under_way: Mutex::default(),
            ended: Notify::new(),
            gets: Mutex::default(),
            puts: Mutex::default(),
            quiet_until: Mutex::default(),
            rolls: AtomicU64::new(0),
        })
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Waits until a request may start.
    pub(crate) async fn turn(self: &Arc<Self>, kind: RequestKind, rate: Rate, connections: usize) -> Turn {
        let spacing = if kind == RequestKind::Put { &self.puts } else { &self.gets };
        let wait = spacing.lock().reserve(self.clock.monotonic(), rate);
        pause(wait).await;
        loop {
            let quiet = self.quiet_until.lock().saturating_sub(self.clock.monotonic());
            if quiet.is_zero() {
                break;
            }
            pause(quiet).await;
        }
        loop {
            // Made before looking, so that a turn that ends in between is not missed.
            let ended = self.ended.notified();
            {
                let mut under_way = self.under_way.lock();
                if *under_way < connections.max(1) {
                    *under_way += 1;
                    return Turn { lane: Arc::clone(self) };
                }
            }
            ended.await;
        }
    }

    /// Nobody starts a request for so long.
    pub(crate) fn quiet_for(&self, wait: Duration) {
        let until = self.clock.monotonic() + wait;
        let mut quiet_until = self.quiet_until.lock();
        *quiet_until = until.max(*quiet_until);
    }

    /// A number for jitter: no secret, and the same in a simulation with the same clock.
    pub(crate) fn roll(&self) -> u64 {
        let nanos = nanos_of(self.clock.monotonic());
        mix64(nanos ^ self.rolls.fetch_add(STEP, Ordering::Relaxed))
    }
}

async fn pause(wait: Duration) {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use host::SystemClock;

    use super::*;

    #[test]
    fn turns_are_bounded_and_come_back() {
        let lane = Lane::new(Arc::new(SystemClock::new()));
        let ask = |connections| lane.turn(RequestKind::Get, Rate::default(), connections).now_or_never();
        let (first, second) = (ask(2), ask(2));
        assert!(first.is_some() && second.is_some() && ask(2).is_none());
        assert!(ask(3).is_some(), "another limit, and its turn is over at once");
        drop(first);
        let third = ask(2);
        assert!(third.is_some() && ask(2).is_none());
    }

    #[test]
    fn one_who_waits_is_woken_and_one_who_gave_up_is_not_counted() {
        let runtimes = host::Runtimes::new(1, 1).unwrap();
        let lane = Lane::new(Arc::new(SystemClock::new()));
        let first = runtimes.block_on(lane.turn(RequestKind::Get, Rate::default(), 1));
        let other = Arc::clone(&lane);
        let gone =
            runtimes.spawn_io("gone", async move { other.turn(RequestKind::Get, Rate::default(), 1).await });
        gone.abort();
        let other = Arc::clone(&lane);
        let waiting = runtimes.spawn_io("waiting", async move {
            other.turn(RequestKind::Get, Rate::default(), 1).await;
        });
        drop(first);
        runtimes.block_on(waiting).unwrap();
    }
}
