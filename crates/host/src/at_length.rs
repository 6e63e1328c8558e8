//! Work that computes for long between two awaits.
//!
//! As many such pieces as there are computing threads, and whatever else these have to do, a `SELECT 1`, would wait for the end of
//! one. What cannot stop [lets the others go](let_others_go) instead.
//! Invariant: the work runs on the thread that asks for it, so that what belongs to the thread is there.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Runs the work; the other tasks of a computing thread go on on another one meanwhile, and the operating system shares
/// the cores among them. It costs some microseconds.
pub fn at_length<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

/// The other tasks of a computing thread go on on another one, and what the caller does until it awaits stands in nobody's way.
pub fn let_others_go() {
    at_length(|| ());
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::Runtimes;

    #[test]
    fn a_task_ends_beside_work_that_computes_for_ever() {
        let runtimes = Runtimes::new(1, 1).expect("started");
        let (began, begins) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let long = runtimes.spawn_cpu("long", async move {
            at_length(|| {
                began.send(()).expect("somebody waits");
                ends.recv().is_ok()
            })
        });
        begins.recv().expect("it began");
        let (told, tells) = mpsc::channel();
        drop(runtimes.spawn_cpu("short", async move { told.send(7) }));
        assert_eq!(tells.recv_timeout(Duration::from_secs(60)), Ok(7));
        end.send(()).expect("it waits");
        assert!(runtimes.block_on(long).expect("it ended"));
        assert!(at_length(|| true), "outside of a pool it is an ordinary call");
    }
}
