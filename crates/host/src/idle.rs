//! What a thread of the pools does when it runs out of work: the program may have it give back memory.
//!
//! An allocator that keeps what a thread allocated with that thread learns of what other threads freed only when the thread
//! asks it, and a thread that waits for work asks nothing. Invariant: a thread does this at most once in [`PAUSE`], so that
//! it costs nothing where work comes and goes. Must not know: allocators.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::shortage::give_back_while_short;

/// What is given back takes some 10 to 100 microseconds to find.
const PAUSE: Duration = Duration::from_millis(100);

static WORK: OnceLock<(SystemClock, fn())> = OnceLock::new();

thread_local! {
    /// When the thread may do it again.
    static NEXT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Has the threads of all pools do this when they have nothing to do. The first call counts.
pub fn when_idle(work: fn()) {
    let _first = WORK.set((SystemClock::new(), work));
}

/// Called by a thread that has nothing to do.
pub(crate) fn idle() {
    let Some((clock, work)) = WORK.get() else { return };
    let now = clock.monotonic();
    // A thread that is ending has no variables any more, and gives back everything anyway.
    let is_due = NEXT.try_with(|next| next.get() <= now && next.replace(now + PAUSE) <= now).unwrap_or(false);
    if is_due && !give_back_while_short() {
        work();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static DONE: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn a_thread_does_it_once_in_a_while() {
        let others = || DONE.load(Ordering::Relaxed);
        idle();
        assert_eq!(others(), 0);
        when_idle(|| {
            DONE.fetch_add(1, Ordering::Relaxed);
        });
        // Threads of other tests' pools may do it, too.
        let before = NEXT.with(Cell::get);
        idle();
        assert!(others() > 0 && before < NEXT.with(Cell::get));
        let next = NEXT.with(Cell::get);
        idle();
        assert!(NEXT.with(Cell::get) == next || next <= WORK.get().unwrap().0.monotonic());
    }
}
