//! Free memory that the allocator keeps, given back while the process has little left.
//!
//! What is freed stays resident for a while, because it is mostly wanted again. Close to the limit that is memory which
//! others cannot have. Invariant: looked at once in [`PAUSE`] at most, by who looks at the meter anyway, however little lives: a
//! large statement has just ended; and before much is taken in one go, whether somebody asked for it or not. Must not know:
//! allocators.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::process::current_rss_bytes;

/// Reading the resident bytes takes some 20 microseconds, giving memory back up to some milliseconds.
const PAUSE: Duration = Duration::from_millis(50);

/// Memory is short when so many eighths of the limit are resident.
const SHORT_EIGHTHS: u64 = 6;

/// Who takes so much in one go does not wait for the next look: it would be resident by then.
const AT_ONCE_BYTES: u64 = 16 << 20;

static WORK: OnceLock<(SystemClock, fn(bool))> = OnceLock::new();
static NEXT_MS: AtomicU64 = AtomicU64::new(0);
/// What the process may hold; 0 before anybody looked.
static LIMIT: AtomicU64 = AtomicU64::new(0);
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Has this done while memory is short, with `true`, and when it is no longer, with `false`. The first call counts.
pub fn when_short(work: fn(bool)) {
    let _first = WORK.set((SystemClock::new(), work));
}

/// Called by a thread that has nothing to do: what it keeps is given back at once while memory is short. False if it is not.
pub(crate) fn give_back_while_short() -> bool {
    let work = WORK.get().filter(|_| IS_SHORT.load(Ordering::Relaxed));
    if let Some((_, work)) = work {
        work(true);
    }
    work.is_some()
}

/// Called by who may take `bytes` in a process that may hold `limit`: where both do not fit beside what the allocator keeps, that
/// is given back before.
pub(crate) fn make_room(limit: u64, bytes: u64) {
    let Some((_, work)) = WORK.get().filter(|_| bytes >= AT_ONCE_BYTES && limit > 0) else { return };
    if is_over(current_rss_bytes(), bytes, limit) {
        // The next look takes it back.
        IS_SHORT.store(true, Ordering::Relaxed);
        work(true);
    }
}

/// Called by the allocator before it gives `bytes`, of which it need not know who asked for them.
#[inline]
pub fn make_room_for(bytes: usize) {
    if u64_of(bytes) >= AT_ONCE_BYTES {
        make_room(LIMIT.load(Ordering::Relaxed), u64_of(bytes));
    }
}

fn u64_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn is_over(resident: u64, more: u64, limit: u64) -> bool {
    resident.saturating_add(more) > limit
}

/// Called by who looks at the meter of a process that may hold `limit` bytes.
pub(crate) fn look(limit: u64) {
    let Some((clock, work)) = WORK.get() else { return };
    LIMIT.store(limit, Ordering::Relaxed);
    let now = u64::try_from(clock.monotonic().as_millis()).unwrap_or(u64::MAX);
    let next = NEXT_MS.load(Ordering::Relaxed);
    let pause = u64::try_from(PAUSE.as_millis()).unwrap_or(0);
    let is_mine = now >= next
        && NEXT_MS.compare_exchange(next, now + pause, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if !is_mine {
        return;
    }
    let is_short = current_rss_bytes() > limit / 8 * SHORT_EIGHTHS;
    if IS_SHORT.swap(is_short, Ordering::Relaxed) || is_short {
        work(is_short);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_and_what_is_asked_for_must_fit_together() {
        assert!(!is_over(300, 200, 500));
        assert!(is_over(300, 201, 500));
        assert!(is_over(300, u64::MAX, 500));
    }
}
