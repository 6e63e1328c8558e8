//! `Host`: the machine as one handle, passed to everything that must touch it.
//!
//! Invariant: two hosts share nothing but the operating system; a simulated one not even that.

use std::io;
use std::sync::Arc;

use crate::clock::{Clock, SystemClock};
use crate::disk::Disk;
use crate::faults::Faults;
use crate::memory::MemoryBudget;
use crate::random::{Random, SystemRandom};
use crate::system_disk::SystemDisk;
use crate::workers::Workers;

/// Time, dice, disk and memory. Clones share them.
#[derive(Debug, Clone)]
pub struct Host {
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
    pub disk: Arc<dyn Disk>,
    pub memory: MemoryBudget,
    /// Points where a test may make this host fail; nothing in release builds.
    pub faults: Faults,
    /// Threads beside that of whoever has work for more; none until somebody brings them.
    pub workers: Workers,
}

impl Host {
    /// The real machine, with a memory budget of `memory_bytes_max`.
    ///
    /// # Errors
    /// The operating system gives no entropy.
    pub fn system(memory_bytes_max: u64) -> io::Result<Self> {
        let faults = Faults::of_environment();
        crate::meter::plant(&faults);
        Ok(Self {
            clock: Arc::new(SystemClock::new()),
            random: Arc::new(SystemRandom::new()?),
            disk: Arc::new(SystemDisk),
            memory: MemoryBudget::new(memory_bytes_max),
            faults,
            workers: Workers::default(),
        })
    }
}
