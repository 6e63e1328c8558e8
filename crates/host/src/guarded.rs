//! Foreign code that may panic on hostile input, run so that a panic is an error.
//!
//! Some decoders of file formats assert what a broken file does not keep. Such a panic is the file's fault: it is
//! caught, not printed, and its message becomes an error's text. Invariant: only panics inside [`guarded`] are quiet;
//! any other is printed as before. Must not know: what the work is.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

static HOOK: Once = Once::new();

/// Longest message handed on.
const MESSAGE_CHARACTERS_MAX: usize = 300;

/// Runs `work`; a panic inside it is `Err` with the panic's message.
///
/// What `work` was changing must not be used afterwards: it may be half changed.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(quiet_when_guarded);
    let _depth = Depth::enter();
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message_of(panic.as_ref()))
}

/// The message of a caught panic.
pub fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    text.chars().take(MESSAGE_CHARACTERS_MAX).collect()
}

/// The message of a task that panicked; `None` if it was stopped.
pub fn panic_of(task: tokio::task::JoinError) -> Option<String> {
    task.try_into_panic().ok().map(|panic| message_of(panic.as_ref()))
}

fn quiet_when_guarded() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if DEPTH.with(Cell::get) == 0 {
            before(info);
        }
    }));
}

struct Depth;

impl Depth {
    fn enter() -> Depth {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Depth
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message_and_the_next_call_works() {
        assert_eq!(guarded(|| 3), Ok(3));
        let empty: Vec<u8> = Vec::new();
        let at = empty.len() + 5;
        assert!(guarded(|| empty[at]).unwrap_err().contains("index is 5"));
        assert_eq!(guarded(|| std::panic::panic_any(7)), Err::<(), _>("no message".to_owned()));
        assert_eq!(DEPTH.with(Cell::get), 0);
        assert_eq!(guarded(|| guarded(|| 1)), Ok(Ok(1)));
    }
}
