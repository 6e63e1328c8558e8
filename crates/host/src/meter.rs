//! Bytes that live in the process and in each statement, as its allocator counts them.
//!
//! A budget (`memory.rs`) knows what its consumers say; this knows what there is. The allocator calls [`allocated`] and
//! [`freed`]; a thread counts for itself and tells the process every [`BATCH`] bytes. While a task of a statement runs, its
//! thread has *entered* the statement's [`Account`]: what it allocates is charged there. An allocation worth it carries its
//! account's tag, so that whoever frees it credits the right one; a small one is credited to the account it is freed in.
//!
//! Invariant: nothing here allocates, blocks or fails inside the allocator. A limit is enforced by asking: before a large
//! allocation ([`reserve`]), and between batches ([`check`]). Must not know: what the bytes are for.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU32, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use parking_lot::Mutex;

use crate::faults::Faults;
use crate::memory::{MemoryBudget, MemoryRefused};
use crate::shortage::{look, make_room};

/// A thread tells the process when it is so many bytes ahead or behind. All threads together may be this much off.
const BATCH: isize = 256 << 10;

/// Accounts that can be open at a time; a statement beyond them counts in the process only. Place 0 is nobody's.
const PLACES: usize = 1024;

/// A statement that holds no more than one part in so many of the server's memory, and than its half share of it, is not
/// stopped for what others hold.
const SMALL_SHARE: u64 = 32;

/// All may use so much of the server's memory, in sixteenths, before others than the largest are stopped, too.
const ALL_STOP_SIXTEENTHS: u64 = 17;

/// Bytes that live in the process.
static TOTAL: AtomicIsize = AtomicIsize::new(0);

static SLOTS: [Slot; PLACES] = [const { Slot::new() }; PLACES];

/// Places that nobody has, those used last first; `None` until the first account.
static FREE: Mutex<Option<Vec<u16>>> = Mutex::new(None);

/// Accounts that are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A mistake planted in a debug build: nobody is refused.
static ALLOWS_EVERYTHING: AtomicBool = AtomicBool::new(false);

/// Apart from each other, so that statements do not slow each other down.
#[repr(align(64))]
struct Slot {
    live: AtomicIsize,
    peak: AtomicIsize,
    /// How often the place was given away: what carries an older tag belongs to a statement that has ended.
    turn: AtomicU32,
}

impl Slot {
    const fn new() -> Slot {
        Slot { live: AtomicIsize::new(0), peak: AtomicIsize::new(0), turn: AtomicU32::new(0) }
    }

    fn add(&self, bytes: isize) {
        let live = self.live.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if bytes > 0 && live > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(live, Ordering::Relaxed);
        }
    }
}

/// Whose an allocation is: a place, and which turn of it. It is written beside the allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag(u32);

/// Bits of a tag that are the place; the others are the turn, which comes round after four million statements.
const PLACE_BITS: u32 = PLACES.ilog2();

impl Tag {
    fn new(place: u16, turn: u32) -> Tag {
        Tag((turn << PLACE_BITS) | u32::from(place))
    }

    fn place(self) -> usize {
        usize::try_from(self.0).unwrap_or(0) % PLACES
    }

    fn slot(self) -> Option<&'static Slot> {
        let slot = &SLOTS[self.place()];
        let turn = slot.turn.load(Ordering::Relaxed) << PLACE_BITS >> PLACE_BITS;
        (self.place() > 0 && turn == self.0 >> PLACE_BITS).then_some(slot)
    }

    /// As it is written.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// As it was written.
    pub fn from_bits(bits: u32) -> Tag {
        Tag(bits)
    }
}

/// What a thread has counted and not told.
struct Here {
    tag: Cell<Tag>,
    total: Cell<isize>,
    own: Cell<isize>,
    /// Bytes that were told before they are allocated.
    prepaid: Cell<isize>,
    /// What it may be ahead or behind: [`BATCH`], and nothing once the thread is about to end.
    batch: Cell<isize>,
}

thread_local! {
    // Nothing in it needs to be dropped: the allocator may ask for it at any time.
    static HERE: Here = const {
        Here {
            tag: Cell::new(Tag(0)),
            total: Cell::new(0),
            own: Cell::new(0),
            prepaid: Cell::new(0),
            batch: Cell::new(BATCH),
        }
    };
    static CURRENT: RefCell<Option<Arc<Account>>> = const { RefCell::new(None) };
    static ENDING: Ending = const { Ending };
}

/// Dropped when its thread ends.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        HERE.with(|here| {
            here.batch.set(0);
            here.tell_all();
        });
    }
}

/// From now on nothing that the calling thread has counted is lost when it ends. Every thread that ends before its process
/// does calls it once.
pub fn count_to_the_end() {
    ENDING.with(|_ending| ());
}

impl Here {
    fn count(&self, bytes: isize, is_own: bool) {
        let total = self.total.get().wrapping_add(bytes);
        let own = self.own.get().wrapping_add(if is_own { bytes } else { 0 });
        self.total.set(total);
        self.own.set(own);
        let batch = self.batch.get();
        let low = -batch - self.prepaid.get();
        if total > batch || total < low || own > batch || own < low {
            self.tell();
        }
    }

    /// Tells the process all but what is prepaid.
    fn tell(&self) {
        let prepaid = self.prepaid.get();
        if self.total.get() > 0 || self.own.get() > 0 {
            // More than was asked for: the rest of it is not waited for.
            self.prepaid.set(0);
            return self.tell_all();
        }
        let (total, own) = (self.total.replace(-prepaid) + prepaid, self.own.replace(-prepaid) + prepaid);
        self.add(total, own);
    }

    fn tell_all(&self) {
        let (total, own) = (self.total.replace(0), self.own.replace(0));
        self.add(total, own);
    }

    fn add(&self, total: isize, own: isize) {
        TOTAL.fetch_add(total, Ordering::Relaxed);
        if let Some(slot) = self.tag.get().slot() {
            slot.add(own);
        }
    }
}

/// Called by the allocator for what it gave out; the tag is whose it is.
#[inline]
pub fn allocated(bytes: usize) -> Tag {
    HERE.with(|here| {
        here.count(bytes.cast_signed(), true);
        here.tag.get()
    })
}

/// Called by the allocator for what it got back and does not know whose it was.
#[inline]
pub fn freed(bytes: usize) {
    HERE.with(|here| here.count(-bytes.cast_signed(), true));
}

/// Called by the allocator for what it got back.
#[inline]
pub fn freed_of(bytes: usize, tag: Tag) {
    HERE.with(|here| {
        let is_own = tag == here.tag.get();
        here.count(-bytes.cast_signed(), is_own);
        if !is_own && let Some(slot) = tag.slot() {
            slot.add(-bytes.cast_signed());
        }
    });
}

/// Bytes that live in the process; 0 where the allocator does not count.
pub fn live_bytes() -> u64 {
    as_u64(TOTAL.load(Ordering::Relaxed))
}

fn as_u64(bytes: isize) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}

/// What one statement holds, and what it may.
#[derive(Debug)]
pub struct Account {
    tag: Tag,
    place: u16,
    limit: u64,
    server: MemoryBudget,
    stopped: AtomicBool,
}

impl Account {
    /// An account of nothing that may hold `limit` bytes, in a process that may hold what `server` may.
    pub fn open(limit: u64, server: &MemoryBudget) -> Arc<Account> {
        let mut free = FREE.lock();
        let last = u16::try_from(PLACES - 1).unwrap_or(0);
        let place = free.get_or_insert_with(|| (1..=last).rev().collect()).pop().unwrap_or(0);
        let slot = &SLOTS[usize::from(place)];
        let turn = slot.turn.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        slot.live.store(0, Ordering::Relaxed);
        slot.peak.store(0, Ordering::Relaxed);
        OPEN.fetch_add(1, Ordering::Relaxed);
        let (tag, stopped) = (Tag::new(place, turn), AtomicBool::new(false));
        Arc::new(Account { tag, place, limit, server: server.clone(), stopped })
    }

    /// Bytes it holds. Threads may be ahead or behind of it by [`BATCH`] bytes.
    pub fn live_bytes(&self) -> u64 {
        self.tag.slot().map_or(0, |slot| as_u64(slot.live.load(Ordering::Relaxed)))
    }

    /// The most it held.
    pub fn peak_bytes(&self) -> u64 {
        self.tag.slot().map_or(0, |slot| as_u64(slot.peak.load(Ordering::Relaxed)))
    }

    /// The most it may hold.
    pub fn limit_bytes(&self) -> u64 {
        self.limit.min(self.server.limit())
    }

    /// Bytes it may still get.
    pub fn room_bytes(&self) -> u64 {
        let own = self.limit.saturating_sub(self.live_bytes());
        own.min(self.server.limit().saturating_sub(live_bytes()))
    }

    /// From now on everything it asks for is refused: nobody waits for what it does.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether what it holds, `more` bytes among it that are about to be allocated, is within its limit and the server's.
    fn allows(&self, consumer: &'static str, more: u64) -> Result<(), MemoryRefused> {
        if ALLOWS_EVERYTHING.load(Ordering::Relaxed) {
            return Ok(());
        }
        let used = self.live_bytes();
        if used > self.limit || self.stopped.load(Ordering::Relaxed) {
            let used = used.saturating_sub(more);
            return Err(MemoryRefused { scope: "query", consumer, asked: more, used, limit: self.limit });
        }
        let limit = self.server.limit();
        look(limit);
        if live_bytes() <= limit {
            return Ok(());
        }
        self.server.ask_to_give_way(live_bytes() - limit);
        let all = live_bytes();
        let open = u64::try_from(OPEN.load(Ordering::Relaxed)).unwrap_or(1);
        if all <= limit || used <= limit / SMALL_SHARE.max(2 * open) {
            return Ok(());
        }
        if all <= limit / 16 * ALL_STOP_SIXTEENTHS && used < largest() {
            return Ok(());
        }
        let used = all.saturating_sub(more);
        Err(MemoryRefused { scope: "total", consumer, asked: more, used, limit })
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
        // No thread is in it: each would hold it.
        if let Some(slot) = self.tag.slot() {
            slot.turn.fetch_add(1, Ordering::Relaxed);
            slot.live.store(0, Ordering::Relaxed);
            FREE.lock().get_or_insert_default().push(self.place);
        }
    }
}

/// Makes the mistake that these faults plant, in all of the process: what looks for it can be tested.
pub(crate) fn plant(faults: &Faults) {
    ALLOWS_EVERYTHING.store(faults.planted("meter.allow_everything"), Ordering::Relaxed);
}

/// What the largest account holds.
fn largest() -> u64 {
    as_u64(SLOTS.iter().map(|slot| slot.live.load(Ordering::Relaxed)).max().unwrap_or(0))
}

/// The account that the calling thread has entered.
pub fn current() -> Option<Arc<Account>> {
    CURRENT.with_borrow(Clone::clone)
}

/// The calling thread works for an account until this is dropped.
#[derive(Debug)]
pub struct Entered {
    before: Option<Arc<Account>>,
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

/// Enters an account, or leaves all; what the thread was in before, it is in afterwards.
pub fn enter(account: Option<Arc<Account>>) -> Entered {
    Entered { before: switched(account), thread: PhantomData }
}

fn switched(account: Option<Arc<Account>>) -> Option<Arc<Account>> {
    let tag = account.as_ref().map_or(Tag(0), |account| account.tag);
    HERE.with(|here| {
        if here.tag.get() != tag {
            here.prepaid.set(0);
            here.tell_all();
            here.tag.set(tag);
        }
    });
    CURRENT.replace(account)
}

impl Drop for Entered {
    fn drop(&mut self) {
        drop(switched(self.before.take()));
    }
}

/// Bytes that the calling thread is about to allocate; what it did not is given back when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Reserved {
    bytes: isize,
    tag: Tag,
    thread: PhantomData<*const ()>,
}

/// Asks for bytes before they are allocated. What belongs to no statement is not refused.
///
/// # Errors
/// They do not fit into the statement's limit, or the server's.
pub fn reserve(consumer: &'static str, bytes: usize) -> Result<Reserved, MemoryRefused> {
    let nothing = Reserved { bytes: 0, tag: Tag(0), thread: PhantomData };
    CURRENT.with_borrow(|account| {
        let Some(account) = account else { return Ok(nothing) };
        // Larger than any memory: it must not overflow the counters.
        let asked = bytes.min(isize::MAX.unsigned_abs() >> 8).cast_signed();
        HERE.with(|here| {
            here.tell();
            here.add(asked, asked);
            let more = u64::try_from(bytes).unwrap_or(u64::MAX);
            if let Err(refused) = account.allows(consumer, more) {
                here.add(-asked, -asked);
                return Err(refused);
            }
            make_room(account.server.limit(), more);
            here.total.set(here.total.get() - asked);
            here.own.set(here.own.get() - asked);
            here.prepaid.set(here.prepaid.get() + asked);
            Ok(Reserved { bytes: asked, tag: account.tag, ..nothing })
        })
    })
}

impl Drop for Reserved {
    fn drop(&mut self) {
        HERE.with(|here| {
            if self.tag == here.tag.get() && self.bytes > 0 {
                here.prepaid.set((here.prepaid.get() - self.bytes).max(0));
                here.tell();
            }
        });
    }
}

/// Whether the statement that the calling thread works for is within its limit.
///
/// # Errors
/// It holds more than it may, or it is the one to stop because all hold more than the server may.
pub fn check(consumer: &'static str) -> Result<(), MemoryRefused> {
    CURRENT.with_borrow(|account| match account {
        Some(account) => account.allows(consumer, 0),
        None => Ok(()),
    })
}

/// A future that works for an account whenever it is polled, and when it is dropped.
#[derive(Debug)]
pub struct Metered<F> {
    account: Option<Arc<Account>>,
    future: Option<Pin<Box<F>>>,
}

/// The future, working for an account.
pub fn metered<F: Future>(account: Option<Arc<Account>>, future: F) -> Metered<F> {
    Metered { account, future: Some(Box::pin(future)) }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = enter(self.account.clone());
        let Some(future) = self.future.as_mut() else { return Poll::Pending };
        let polled = future.as_mut().poll(context);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl<F> Drop for Metered<F> {
    fn drop(&mut self) {
        let _entered = enter(self.account.clone());
        self.future = None;
    }
}

#[cfg(test)]
mod tests;
