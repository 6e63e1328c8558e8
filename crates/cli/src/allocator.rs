//! The allocator of the process: mimalloc, told to keep what is freed for five seconds, and asked by idle threads to give it back.
//!
//! Invariant: set up before the first thread. The delay is measured: `docs/performance.md`, "Choices that were measured".

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// By default freed memory goes back to the kernel after 10 ms, and comes back page fault by page fault with the next
/// block of a load or the next statement. After five seconds an idle process still becomes small, as its threads ask for it.
const PURGE_DELAY_MS: std::ffi::c_long = 5000;

/// `mi_option_purge_delay` of mimalloc's `mi_option_e`; the binding does not name it.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

pub(crate) fn keep_freed_memory_a_while() {
    // Without it a server that 64 clients had kept busy kept 470 MB of nothing for ever: pages of its idle threads in which
    // other threads had freed everything, and free memory past its five seconds, which only somebody's freeing gives back.
    host::when_idle(give_back);
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

/// Finds the calling thread's pages in which nothing is left, and gives back what has been free for its time.
fn give_back() {
    #[expect(unsafe_code, reason = "the allocator has no safe interface for it")]
    // SAFETY: a call without pointers, of a thread for its own memory; allowed at any time.
    unsafe {
        libmimalloc_sys::mi_collect(false);
    }
}
