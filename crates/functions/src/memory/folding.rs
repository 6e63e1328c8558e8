//! Constants that are computed while a statement is planned.
//!
//! A plan copies its constants, by each rule that rewrites what they stand in and into names, and no rule asks for the
//! memory. So planning has room for a certain sum of them; what needs more stays a call and is computed when the
//! statement runs, where it is counted like any other value.
//! Invariant: nothing is refused outside of [`within`]. Must not know: rules.

use std::cell::Cell;
use std::marker::PhantomData;

use model::ErrorCode;

use crate::error::FunctionError;

/// All constants of one statement.
pub const ROOM_BYTES: usize = 32 << 20;
/// One of them, and what computing it takes.
const ONE_BYTES_MAX: usize = 8 << 20;

thread_local! {
    static ROOM: Cell<Option<usize>> = const { Cell::new(None) };
    static IS_CONSTANT: Cell<bool> = const { Cell::new(false) };
}

/// Does a piece of the planning of a statement that has so much room left.
pub fn within<T>(room: &mut usize, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<usize>);
    impl Drop for Restore {
        fn drop(&mut self) {
            ROOM.set(self.0);
        }
    }
    let _restore = Restore(ROOM.replace(Some(*room)));
    let done = work();
    *room = ROOM.get().unwrap_or(*room);
    done
}

/// While it lives, the calling thread computes a value of constants alone.
#[derive(Debug)]
pub struct OfConstants {
    before: bool,
    /// It belongs to its thread.
    thread: PhantomData<*const ()>,
}

/// See [`OfConstants`].
pub fn of_constants() -> OfConstants {
    OfConstants { before: IS_CONSTANT.replace(true), thread: PhantomData }
}

impl Drop for OfConstants {
    fn drop(&mut self) {
        IS_CONSTANT.set(self.before);
    }
}

/// Whether a constant may take so many bytes to compute.
pub(crate) fn check(bytes: usize) -> Result<(), FunctionError> {
    let room = ROOM.get().filter(|_| IS_CONSTANT.get());
    match room.map(|room| room.min(ONE_BYTES_MAX)) {
        Some(room) if bytes > room => Err(too_large(bytes, room)),
        _ => Ok(()),
    }
}

/// Takes the room of a constant that was computed.
///
/// # Errors
/// There is not so much left: the expression stays.
pub fn keep(bytes: usize) -> Result<(), FunctionError> {
    check(bytes)?;
    if IS_CONSTANT.get()
        && let Some(room) = ROOM.get()
    {
        ROOM.set(Some(room.saturating_sub(bytes)));
    }
    Ok(())
}

fn too_large(bytes: usize, room: usize) -> FunctionError {
    let message = format!("a constant of {bytes} bytes is not computed while planning, {room} are left");
    FunctionError::new(ErrorCode::MEMORY_LIMIT_EXCEEDED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planning_has_room_for_so_many_constants_and_running_for_all() {
        let _constant = of_constants();
        assert!(keep(usize::MAX).is_ok());
        let mut room = 10 << 20;
        within(&mut room, || {
            assert!(check(9 << 20).is_err());
            keep(6 << 20).unwrap();
            assert!(keep(6 << 20).is_err());
            keep(4 << 20).unwrap();
            assert!(keep(1).is_err());
        });
        assert_eq!(room, 0);
        assert!(keep(usize::MAX).is_ok());
    }

    #[test]
    fn what_is_no_constant_is_not_refused() {
        within(&mut 0, || assert!(keep(1 << 30).is_ok()));
    }
}
