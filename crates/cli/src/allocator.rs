//! The allocator of the process: mimalloc, told to keep what is freed for five seconds, and asked by idle threads to give it back.
//!
//! Every allocation is counted (`host::meter`). One of [`TAGGED_BYTES_MIN`] bytes has its account's tag behind its end, so
//! that it is credited to whom it was charged, whoever frees it.
//! Invariant: set up before the first thread. The delay is measured: `docs/decisions.md`, "Choices that were measured".

use std::alloc::{GlobalAlloc, Layout};

use host::meter::{self, Tag};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Smaller allocations mostly end in the task that they began in; their four bytes would cost more.
const TAGGED_BYTES_MIN: usize = 4096;

/// A tag is written behind the bytes asked for.
const TAG_BYTES: usize = size_of::<u32>();

struct Counting;

/// The layout with room for a tag. Sizes are at most `isize::MAX`: the sum does not overflow, and a layout that rounds up
/// beyond it is refused by the allocator, not by the type.
fn with_tag(layout: Layout) -> Option<Layout> {
    Layout::from_size_align(layout.size() + TAG_BYTES, layout.align()).ok()
}

/// Counts an allocation that has room for a tag, and writes it.
#[expect(unsafe_code, reason = "the tag is written where nobody else writes")]
fn tag(block: *mut u8, bytes: usize) {
    if !block.is_null() {
        let tag = meter::allocated(bytes);
        // SAFETY: the block has `bytes + TAG_BYTES` bytes.
        unsafe { block.add(bytes).cast::<u32>().write_unaligned(tag.bits()) };
    }
}

/// Counts the end of an allocation that has a tag.
#[expect(unsafe_code, reason = "the tag is read where it was written")]
fn untag(block: *mut u8, bytes: usize) {
    // SAFETY: `tag` has written it when the block was allocated with these bytes.
    let bits = unsafe { block.add(bytes).cast::<u32>().read_unaligned() };
    meter::freed_of(bytes, Tag::from_bits(bits));
}

#[expect(unsafe_code, reason = "an allocator is")]
// SAFETY: mimalloc's, with sizes that are the same for each block whenever it is asked about.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() < TAGGED_BYTES_MIN {
            // SAFETY: the caller's.
            let block = unsafe { MiMalloc.alloc(layout) };
            if !block.is_null() {
                meter::allocated(layout.size());
            }
            return block;
        }
        let Some(larger) = with_tag(layout) else { return std::ptr::null_mut() };
        host::make_room_for(layout.size());
        // SAFETY: the caller's, and larger than nothing.
        let block = unsafe { MiMalloc.alloc(larger) };
        tag(block, layout.size());
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < TAGGED_BYTES_MIN {
            // SAFETY: the caller's.
            let block = unsafe { MiMalloc.alloc_zeroed(layout) };
            if !block.is_null() {
                meter::allocated(layout.size());
            }
            return block;
        }
        let Some(larger) = with_tag(layout) else { return std::ptr::null_mut() };
        host::make_room_for(layout.size());
        // SAFETY: the caller's, and larger than nothing.
        let block = unsafe { MiMalloc.alloc_zeroed(larger) };
        tag(block, layout.size());
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() < TAGGED_BYTES_MIN {
            meter::freed(layout.size());
        } else {
            untag(block, layout.size());
        }
        // SAFETY: the caller's; mimalloc knows the block's size itself.
        unsafe { MiMalloc.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let before = layout.size();
        let with_tag = bytes + if bytes < TAGGED_BYTES_MIN { 0 } else { TAG_BYTES };
        // Read before the block moves; counted when it has.
        let old = (before >= TAGGED_BYTES_MIN).then(|| {
            // SAFETY: as in `untag`.
            let bits = unsafe { block.add(before).cast::<u32>().read_unaligned() };
            Tag::from_bits(bits)
        });
        // The old one is there until the new one has its bytes.
        host::make_room_for(bytes);
        // SAFETY: the caller's; mimalloc knows the block's size itself.
        let moved = unsafe { MiMalloc.realloc(block, layout, with_tag) };
        if moved.is_null() {
            return moved;
        }
        match old {
            Some(tag) => meter::freed_of(before, tag),
            None => meter::freed(before),
        }
        if bytes < TAGGED_BYTES_MIN {
            meter::allocated(bytes);
        } else {
            tag(moved, bytes);
        }
        moved
    }
}

/// By default freed memory goes back to the kernel after 10 ms, and comes back page fault by page fault with the next
/// block of a load or the next statement. After five seconds an idle process still becomes small, as its threads ask for it.
const PURGE_DELAY_MS: std::ffi::c_long = 5000;

/// `mi_option_purge_delay` of mimalloc's `mi_option_e`; the binding does not name it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

pub(crate) fn keep_freed_memory_a_while() {
    // Without it a server that 64 clients had kept busy kept 470 MB of nothing for ever: pages of its idle threads in which
    // other threads had freed everything, and free memory past its five seconds, which only somebody's freeing gives back.
    host::when_idle(give_back);
    host::when_short(give_back_at_once);
    // Whoever sets the variable wants something else.
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_some() {
        return;
    }
    #[expect(unsafe_code, reason = "the allocator's options have no safe interface")]
    // SAFETY: a call without pointers that stores one number; allowed at any time.
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, PURGE_DELAY_MS);
    }
}

/// Under a smaller limit pages are small. A thread has a page of 4 MiB for every size of blocks between 64 and 512 KiB; as huge pages
/// they are resident as soon as one block of them is: some 300 MiB of nothing, with ten threads.
const HUGE_PAGES_LIMIT_MIN: u64 = 2 << 30;

/// Has the kernel give this process small pages if it may hold no more than `limit` bytes and that is little. Huge ones are faster
/// to fill; a kernel that knows no such wish keeps giving them.
#[cfg(target_os = "linux")]
pub(crate) fn fit_pages_to(limit: u64) {
    if limit < HUGE_PAGES_LIMIT_MIN {
        #[expect(unsafe_code, reason = "the call has no safe interface")]
        // SAFETY: a call without pointers that sets one mark of the process.
        let _as_before = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    }
}

/// Other systems have no such pages.
#[cfg(not(target_os = "linux"))]
pub(crate) fn fit_pages_to(_limit: u64) {}

/// Finds the calling thread's pages in which nothing is left, and gives back what has been free for its time.
fn give_back() {
    #[expect(unsafe_code, reason = "the allocator has no safe interface for it")]
    // SAFETY: a call without pointers, of a thread for its own memory; allowed at any time.
    unsafe {
        libmimalloc_sys::mi_collect(false);
    }
}

/// While memory is short nothing that is free stays: neither what is freed from now on nor what waits for its time already.
/// With a delay of zero the allocator looks for none of the latter, so they go first.
fn give_back_at_once(is_short: bool) {
    #[expect(unsafe_code, reason = "the allocator has no safe interface for it")]
    // SAFETY: calls without pointers; allowed at any time.
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, PURGE_DELAY_MS);
        if is_short {
            libmimalloc_sys::mi_collect(true);
            libmimalloc_sys::mi_option_set(PURGE_DELAY, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident_bytes() -> usize {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("a process has one");
        let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        resident.expect("the second number is that of resident pages") * 4096
    }

    /// What the process holds before and after memory gets short, when so much waits to be given back.
    fn before_and_after(bytes: usize) -> (usize, usize) {
        keep_freed_memory_a_while();
        drop(std::hint::black_box(vec![1_u8; bytes]));
        let before = resident_bytes();
        give_back_at_once(true);
        (before, resident_bytes())
    }

    #[test]
    fn what_was_freed_before_memory_got_short_goes_back_too() {
        let bytes = 256 << 20;
        for _ in 0..2 {
            let (before, after) = before_and_after(bytes);
            assert!(after + bytes / 2 < before, "{before} bytes were resident, {after} are");
        }
        give_back_at_once(false);
    }
}
