//! One thread that syncs files ahead of whoever will have to wait for it.
//!
//! The kernel leaves written bytes in memory for seconds; a sync at the end of a part would then wait for all of them
//! while the processor is idle. Invariant: the result of every sync reaches the file's owner, because the kernel reports
//! a failure once and then calls the pages clean.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};

/// Syncs that may wait; more are not begun early.
const WAITING_MAX: usize = 64;

struct Job {
    file: Arc<File>,
    done: std::sync::mpsc::Sender<io::Result<()>>,
}

/// Begins a sync; `None` if too many are waiting or there is no thread for it.
pub(crate) fn begin(file: &Arc<File>) -> Option<Receiver<io::Result<()>>> {
    static QUEUE: OnceLock<Option<SyncSender<Job>>> = OnceLock::new();
    let queue = QUEUE.get_or_init(start).as_ref()?;
    let (done, result) = channel();
    queue.try_send(Job { file: Arc::clone(file), done }).ok().map(|()| result)
}

fn start() -> Option<SyncSender<Job>> {
    let (queue, jobs) = sync_channel::<Job>(WAITING_MAX);
    let work = move || {
        for job in jobs {
            // The owner may have given the file up.
            let _ = job.done.send(job.file.sync_data());
        }
    };
    std::thread::Builder::new().name("writeback".to_owned()).spawn(work).ok().map(|_| queue)
}
