//! How many statements compute at one time, and who waits for that.
//!
//! Invariant: nobody waits longer than the limit says, and no more wait than it says: the others are told so at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::{Error, ErrorKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;

/// See the module.
pub(crate) struct Gate {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    limits: Limits,
}

/// One who waits, for as long as they do.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    pub(crate) fn new(limits: &Limits) -> Gate {
        Gate {
            places: Arc::new(Semaphore::new(limits.statements)),
            waiting: AtomicUsize::new(0),
            limits: limits.clone(),
        }
    }

    /// A place, if one is free.
    pub(crate) fn try_enter(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// A place, at once or after a while.
    ///
    /// # Errors
    /// Too many wait already, or it took too long.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, Error> {
        if let Some(place) = self.try_enter() {
            return Ok(place);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= self.limits.waiting {
            return Err(self.full(format!("{before} more wait")));
        }
        match tokio::time::timeout(self.limits.wait, Arc::clone(&self.places).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(self.full("the server stops".to_owned())),
            Err(_) => Err(self.full(format!("none ended within {} s", self.limits.wait.as_secs()))),
        }
    }

    /// A place again, behind those who wait now, for one who let them go first. `None`: the server stops.
    pub(crate) async fn again(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// Statements that compute or wait for that.
    pub(crate) fn busy(&self) -> usize {
        self.limits.statements.saturating_sub(self.places.available_permits()) + self.waiting()
    }

    /// Statements that wait for a place.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn full(&self, why: String) -> Error {
        let message = format!("{} statements run, which is the limit, and {why}", self.limits.statements);
        Error::new(ErrorKind::Limit, 202, message).with_hint("try again later")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn places_are_given_in_turn_and_refused_beyond_the_queue() {
        let limits = Limits { statements: 1, waiting: 1, wait: Duration::from_secs(60), ..Limits::default() };
        let gate = Gate::new(&limits);
        let first = gate.enter().await.unwrap();
        let mut second = Box::pin(gate.enter());
        assert!(futures::poll!(&mut second).is_pending());
        assert_eq!((gate.waiting(), gate.busy()), (1, 2));
        assert_eq!(gate.enter().await.unwrap_err().code, 202);
        drop(first);
        let mut again = Box::pin(gate.again());
        assert!(futures::poll!(&mut again).is_pending(), "who waited goes first");
        let second = second.await;
        assert!(second.is_ok());
        assert_eq!(gate.waiting(), 0);
        drop(second);
        assert!(again.await.is_some());
    }

    #[tokio::test]
    async fn nobody_waits_longer_than_the_limit() {
        let limits = Limits { statements: 1, waiting: 1, wait: Duration::ZERO, ..Limits::default() };
        let gate = Gate::new(&limits);
        let _first = gate.enter().await.unwrap();
        assert_eq!(gate.enter().await.unwrap_err().code, 202);
    }
}
