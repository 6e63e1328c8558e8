//! The two task pools: `cpu` for work that computes, `io` for work that waits.
//!
//! They are two because a task that decodes for 50 ms between its awaits would hold up every socket of a
//! shared pool. Blocking work (merges, syncs) runs on threads beside the `cpu` pool, a sink on a thread of its own.
//!
//! Invariant: every task has a name; [`Runtimes::running`] lists the living ones, and nothing runs after
//! [`Runtimes::shutdown`].
//! Must not know: what the tasks do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::idle::idle;
use crate::meter;

/// Most blocking threads at once; more closures wait in a queue. Merges are bounded by their own setting far below
/// this; the limit only keeps a mistake from taking the machine's threads.
const BLOCKING_THREADS_MAX: usize = 256;

/// Stack of a worker. Planning nested expressions recurses deeply; the default 2 MiB overflow at a few
/// hundred levels.
const STACK_BYTES: usize = 8 << 20;

/// Both pools; clones share them.
#[derive(Debug, Clone)]
pub struct Runtimes {
    cpu: Handle,
    io: Handle,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Taken by the shutdown.
    owned: Mutex<Option<(Runtime, Runtime)>>,
    tasks: Arc<Tasks>,
}

/// What a task is called. A name known when the program is built costs nothing.
#[derive(Debug, Clone)]
pub struct TaskName(Cow<'static, str>);

impl From<&'static str> for TaskName {
    fn from(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

impl From<&String> for TaskName {
    fn from(name: &String) -> Self {
        Self(Cow::Owned(name.clone()))
    }
}

/// Lists of living tasks, so that tasks that start at the same time seldom wait for each other.
const LISTS: usize = 16;

#[derive(Debug, Default)]
struct Tasks {
    next: AtomicU64,
    living: [Mutex<BTreeMap<u64, TaskName>>; LISTS],
}

/// A name on the list for as long as its task lives, however the task ends.
struct Named {
    tasks: Arc<Tasks>,
    id: u64,
}

impl Drop for Named {
    fn drop(&mut self) {
        self.tasks.list_of(self.id).lock().remove(&self.id);
    }
}

impl Tasks {
    fn enter(self: Arc<Self>, name: TaskName) -> Named {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.list_of(id).lock().insert(id, name);
        Named { tasks: self, id }
    }

    fn list_of(&self, id: u64) -> &Mutex<BTreeMap<u64, TaskName>> {
        &self.living[usize::try_from(id).unwrap_or(0) % LISTS]
    }
}

/// Starts closures on threads where they may block, as long as the pool for computing lives.
pub(crate) struct Blocking {
    cpu: Handle,
    tasks: Arc<Tasks>,
}

impl Blocking {
    pub(crate) fn run(&self, name: &'static str, work: Box<dyn FnOnce() + Send>) {
        let named = Arc::clone(&self.tasks).enter(name.into());
        let account = meter::current();
        self.cpu.spawn_blocking(move || {
            let _named = named;
            let _entered = meter::enter(account);
            work();
        });
    }
}

impl Runtimes {
    /// Starts both pools; a count of 0 means 1.
    ///
    /// # Errors
    /// The operating system gives no threads.
    pub fn new(cpu_threads: usize, io_threads: usize) -> io::Result<Self> {
        let cpu = pool("cpu", cpu_threads)?;
        let io = pool("io", io_threads)?;
        let handles = (cpu.handle().clone(), io.handle().clone());
        let shared = Shared { owned: Mutex::new(Some((cpu, io))), tasks: Arc::default() };
        Ok(Self { cpu: handles.0, io: handles.1, shared: Arc::new(shared) })
    }

    /// The pool for computing.
    pub fn cpu(&self) -> &Handle {
        &self.cpu
    }

    /// The pool for waiting.
    pub fn io(&self) -> &Handle {
        &self.io
    }

    /// Runs a task on the `io` pool.
    pub fn spawn_io<F>(&self, name: impl Into<TaskName>, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.io.spawn(self.named(name.into(), task))
    }

    /// Runs a task on the `cpu` pool.
    pub fn spawn_cpu<F>(&self, name: impl Into<TaskName>, task: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.cpu.spawn(self.named(name.into(), task))
    }

    /// Runs a closure on a thread where it may block.
    pub fn spawn_blocking<F, T>(&self, name: impl Into<TaskName>, work: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let named = Arc::clone(&self.shared.tasks).enter(name.into());
        let account = meter::current();
        self.cpu.spawn_blocking(move || {
            let _named = named;
            let entered = meter::enter(account);
            let done = work();
            drop(entered);
            // Nobody tells a blocking thread that it waits.
            idle();
            done
        })
    }

    /// What [`Runtimes::spawn_blocking`] does, for whoever keeps neither pool alive.
    pub(crate) fn blocking(&self) -> Blocking {
        Blocking { cpu: self.cpu.clone(), tasks: Arc::clone(&self.shared.tasks) }
    }

    /// Runs a closure on a thread of its own, which ends with it. For work that waits for the pools: waiting on one of
    /// their blocking threads for another of them, enough of it would stand still for ever.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn spawn_thread<F, T>(&self, name: impl Into<TaskName>, work: F) -> io::Result<oneshot::Receiver<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let name = name.into();
        let named = Arc::clone(&self.shared.tasks).enter(name.clone());
        let (sender, receiver) = oneshot::channel();
        let account = meter::current();
        let run = move || {
            meter::count_to_the_end();
            let _entered = meter::enter(account);
            let done = work();
            drop(named);
            // Whoever asked may have gone.
            let _ = sender.send(done);
        };
        std::thread::Builder::new().name(name.0.into_owned()).stack_size(STACK_BYTES).spawn(run)?;
        Ok(receiver)
    }

    /// Waits for a future on the calling thread, which must not belong to a pool.
    pub fn block_on<F: Future>(&self, task: F) -> F::Output {
        self.cpu.block_on(task)
    }

    /// Names of the living tasks, oldest first.
    pub fn running(&self) -> Vec<String> {
        let mut living = BTreeMap::new();
        for list in &self.shared.tasks.living {
            living.extend(list.lock().iter().map(|(id, name)| (*id, name.0.to_string())));
        }
        living.into_values().collect()
    }

    /// Stops both pools, waiting up to `patience` for each; returns the names of tasks that did not end.
    ///
    /// Tasks stop at their next await; blocking closures are waited for. Must not be called from a task.
    pub fn shutdown(&self, patience: Duration) -> Vec<String> {
        let owned = self.shared.owned.lock().take();
        if let Some((cpu, io)) = owned {
            cpu.shutdown_timeout(patience);
            io.shutdown_timeout(patience);
        }
        self.running()
    }

    fn named<F: Future>(&self, name: TaskName, task: F) -> impl Future<Output = F::Output> + use<F> {
        let named = Arc::clone(&self.shared.tasks).enter(name);
        let task = async move {
            let _named = named;
            task.await
        };
        // Whoever works for a statement has others work for it.
        meter::metered(meter::current(), task)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A runtime dropped inside a task would panic; in the background it does not.
        if let Some((cpu, io)) = self.owned.get_mut().take() {
            cpu.shutdown_background();
            io.shutdown_background();
        }
    }
}

fn pool(name: &'static str, threads: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .thread_name(name)
        .worker_threads(threads.max(1))
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_stack_size(STACK_BYTES)
        .on_thread_start(meter::count_to_the_end)
        .on_thread_park(idle)
        .enable_all()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_where_they_were_sent_and_are_listed_by_name() {
        let runtimes = Runtimes::new(1, 1).expect("started");
        let thread = || std::thread::current().name().map(str::to_owned);
        let cpu = runtimes.spawn_cpu("decode", async move { thread() });
        let io = runtimes.spawn_io("fetch", async move { thread() });
        let blocking = runtimes.spawn_blocking("merge", || 7);
        assert_eq!(runtimes.block_on(cpu).expect("joined").as_deref(), Some("cpu"));
        assert_eq!(runtimes.block_on(io).expect("joined").as_deref(), Some("io"));
        assert_eq!(runtimes.block_on(blocking).expect("joined"), 7);
        let own = runtimes.spawn_thread("sink", thread).expect("started");
        assert_eq!(runtimes.block_on(own).expect("sent").as_deref(), Some("sink"));
        let (release, wait) = oneshot::channel::<()>();
        let waiting = runtimes.spawn_io("waiter", wait);
        assert_eq!(runtimes.running(), ["waiter"]);
        release.send(()).expect("received");
        runtimes.block_on(waiting).expect("joined").expect("sent");
        assert_eq!(runtimes.shutdown(Duration::from_secs(5)), Vec::<String>::new());
    }

    #[test]
    fn shutdown_ends_a_task_that_waits_for_ever() {
        let runtimes = Runtimes::new(1, 1).expect("started");
        let _never = runtimes.spawn_io("never", std::future::pending::<()>());
        assert_eq!(runtimes.shutdown(Duration::from_secs(5)), Vec::<String>::new());
    }
}
