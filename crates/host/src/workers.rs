//! Workers: threads that do pieces of work for somebody who goes on meanwhile and waits for all of them in the end.
//!
//! Invariant: work is run once, or dropped unrun if there is nobody to run it any more; whoever waits must notice both. Without
//! threads there are no workers, as in the simulated machine. Must not know: what the work is.

use std::fmt;
use std::sync::Arc;

use crate::runtimes::Runtimes;

/// Runs a piece of work on another thread.
type Run = dyn Fn(&'static str, Box<dyn FnOnce() + Send>) + Send + Sync;

/// See the module. Clones share the threads; the default has none.
#[derive(Clone, Default)]
pub struct Workers {
    threads: usize,
    run: Option<Arc<Run>>,
}

impl Workers {
    /// Of the pool for computing; none where there is no core beside that of whoever asks.
    pub fn of(runtimes: &Runtimes, cores: usize) -> Workers {
        let work = runtimes.blocking();
        let run = move |name, task: Box<dyn FnOnce() + Send>| work.run(name, task);
        match cores {
            0 | 1 => Workers::default(),
            _ => Workers { threads: cores - 1, run: Some(Arc::new(run)) },
        }
    }

    /// How many pieces of work are worth having at a time; 0: none, whoever has work does it.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Starts a piece of work. Without workers it is done here and now.
    pub fn run(&self, name: &'static str, work: impl FnOnce() + Send + 'static) {
        match &self.run {
            Some(run) => run(name, Box::new(work)),
            None => work(),
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workers({})", self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn work_is_done_elsewhere_or_here_or_dropped() {
        let runtimes = Runtimes::new(1, 1).unwrap();
        let workers = Workers::of(&runtimes, 4);
        assert_eq!((workers.threads(), Workers::of(&runtimes, 1).threads()), (3, 0));
        let (sender, receiver) = mpsc::channel();
        let of_thread = sender.clone();
        workers.run("test", move || of_thread.send(std::thread::current().id()).unwrap());
        assert_ne!(receiver.recv().unwrap(), std::thread::current().id());
        let here = sender.clone();
        Workers::default().run("test", move || here.send(std::thread::current().id()).unwrap());
        assert_eq!(receiver.recv().unwrap(), std::thread::current().id());
        runtimes.shutdown(Duration::from_secs(5));
        workers.run("test", move || sender.send(std::thread::current().id()).unwrap());
        assert!(receiver.recv().is_err(), "nobody is there to do it");
    }
}
