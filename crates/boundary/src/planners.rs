//! Threads on which large statements are planned, beside the pool that serves everybody.
//!
//! Planning computes without a pause: a statement of thousands of expressions on a thread of the pool would hold up whoever
//! is served there. Invariant: there are no more such threads at a time than places; a statement that is given up keeps
//! its place until its thread has noticed. Must not know: what a plan is.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::error::Error;
use crate::progress::QueryProgress;
use futures::FutureExt;
use futures::future::BoxFuture;
use host::Runtimes;
use host::guarded::message_of;
use host::meter::Account;
use sql::Measure;
use tokio::sync::Semaphore;

/// From here a statement has a thread of its own: planning it takes longer than starting one by far.
const LARGE_ELEMENTS: usize = 2000;
const LARGE_LEVELS: usize = 60;

/// Places for each thread of the pool.
const PLACES_PER_THREAD: usize = 1;

pub struct Planners {
    places: Arc<Semaphore>,
}

pub fn is_large(measure: Measure) -> bool {
    measure.elements > LARGE_ELEMENTS || measure.levels + measure.terms > LARGE_LEVELS
}

impl Planners {
    pub fn new(threads: usize) -> Self {
        Self { places: Arc::new(Semaphore::new((threads * PLACES_PER_THREAD).max(2))) }
    }

    /// Runs a statement on a thread of its own as soon as there is a place.
    ///
    /// # Errors
    /// It was cancelled while it waited, or there is no thread.
    pub async fn run<T: Send + 'static>(
        &self,
        runtimes: &Runtimes,
        (progress, account): (&Arc<QueryProgress>, &Account),
        work: BoxFuture<'static, Result<T, Error>>,
    ) -> Result<T, Error> {
        let place = tokio::select! {
            biased;
            () = progress.cancellation().cancelled() => return Err(Error::cancelled()),
            place = Arc::clone(&self.places).acquire_owned() => place,
        };
        // The places are never closed.
        progress.plans(place.map_err(|e| Error::internal(e.to_string()))?);
        let (pools, noted) = (runtimes.clone(), Arc::clone(progress));
        let done = runtimes.spawn_thread("planning", move || {
            let done = pools.block_on(AssertUnwindSafe(work).catch_unwind());
            noted.has_planned();
            done.unwrap_or_else(|panic| Err(Error::panicked(message_of(panic.as_ref()))))
        })?;
        let cancelled = progress.cancellation().clone();
        let mut done = Box::pin(done);
        let broke = |_| Err(Error::internal("the thread that planned the statement is gone"));
        tokio::select! {
            biased;
            done = &mut done => done.unwrap_or_else(broke),
            () = cancelled.cancelled() => {
                if !progress.give_up() {
                    return done.await.unwrap_or_else(broke);
                }
                // The thread ends when it notices, between two rules at the latest; nobody waits for it.
                account.stop();
                Err(Error::cancelled())
            }
        }
    }
}
