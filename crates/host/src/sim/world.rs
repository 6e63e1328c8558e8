//! The test's side of a simulated machine: when it stops, what came of it, and the host over what survived.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::disk::SimDisk;
use super::state::{State, refuse};
use crate::clock::Clock;
use crate::faults::Faults;
use crate::machine::Host;
use crate::memory::MemoryBudget;
use crate::random::Random;
use crate::workers::Workers;

/// Wall clock of every simulation at its start: 2026-01-01 UTC.
const START_MS: u64 = 1_767_225_600_000;
/// Memory budget of a simulated host unless the test wants another.
const MEMORY_BYTES: u64 = 1 << 30;

/// Makes simulated machines.
#[derive(Debug)]
pub struct SimHost;

impl SimHost {
    /// A machine decided by `seed`, with an empty disk, and the handle by which a test rules it.
    #[expect(clippy::new_ret_no_self, reason = "a simulated host is a Host; this type only makes one")]
    pub fn new(seed: u64) -> (Host, SimWorld) {
        Self::with_memory(seed, MEMORY_BYTES)
    }

    /// The same with a memory budget of `memory_bytes_max`.
    pub fn with_memory(seed: u64, memory_bytes_max: u64) -> (Host, SimWorld) {
        let state = Arc::new(Mutex::new(State::new(seed)));
        let stopping = Arc::clone(&state);
        let faults = Faults::of_simulation(move |point| stopping.lock().stop_at_point(point));
        let world = SimWorld { state, memory_bytes_max, faults };
        (world.host(), world)
    }
}

/// A simulated machine as its test sees it; clones rule the same one.
#[derive(Debug, Clone)]
pub struct SimWorld {
    state: Arc<Mutex<State>>,
    memory_bytes_max: u64,
    faults: Faults,
}

impl SimWorld {
    fn host(&self) -> Host {
        let life = self.state.lock().life;
        Host {
            clock: Arc::new(SimClock { state: Arc::clone(&self.state) }),
            random: Arc::new(SimRandom { state: Arc::clone(&self.state) }),
            disk: Arc::new(SimDisk { state: Arc::clone(&self.state), life }),
            memory: MemoryBudget::new(self.memory_bytes_max),
            faults: self.faults.clone(),
            // Whoever has work does it: a seed decides everything.
            workers: Workers::default(),
        }
    }

    /// The machine stops in the `ops`-th disk call from now, 1 being the next; that call and all later ones
    /// fail.
    pub fn crash_after(&self, ops: u64) {
        let mut state = self.state.lock();
        state.stop_at = Some(state.ops + ops.max(1));
    }

    /// The `ops`-th disk call from now, 1 being the next, fails once without stopping the machine. If it is a
    /// sync, the file is poisoned and its unsynced bytes are lost though still seen.
    pub fn fail_after(&self, ops: u64) {
        let mut state = self.state.lock();
        state.fail_at = Some(state.ops + ops.max(1));
    }

    /// The machine stops now: every later disk call fails.
    pub fn crash(&self) {
        self.state.lock().stopped = true;
    }

    /// Makes every program on this machine, now and later, make the mistake of this name (see [`Faults::planted`]).
    #[cfg(debug_assertions)]
    pub fn plant(&self, mistake: &'static str) {
        self.faults.plant(mistake);
    }

    /// Has it stopped?
    pub fn crashed(&self) -> bool {
        self.state.lock().stopped
    }

    /// Stops the machine if it has not, lets unsynced changes meet their fates, and starts it again. Handles
    /// of hosts made before stay dead.
    pub fn reopen(&self) -> Host {
        self.state.lock().machine_stopped();
        self.faults.disarm();
        self.host()
    }

    /// Only the program ended, as by kill -9: locks and handles are gone, every written byte is still seen,
    /// and unsynced ones may still be lost by a later crash.
    pub fn restart_program(&self) -> Host {
        self.state.lock().program_ended();
        self.faults.disarm();
        self.host()
    }

    /// Digest of every disk call with its content and outcome, every clock read and every random byte so far.
    pub fn trace_hash(&self) -> u64 {
        self.state.lock().trace_hash()
    }

    /// Disk calls so far.
    pub fn ops(&self) -> u64 {
        self.state.lock().ops
    }

    /// The disk is full at this many bytes.
    pub fn set_disk_bytes_max(&self, bytes: u64) {
        self.state.lock().disk_bytes_max = bytes;
    }

    /// Damages a byte of a file behind everybody's back, durably: its bits in `mask` are inverted.
    ///
    /// # Errors
    /// There is no such file or byte.
    pub fn damage(&self, path: &Path, offset: u64, mask: u8) -> io::Result<()> {
        let mut state = self.state.lock();
        let id = state.named_file(path)?;
        let file = state.file(id, path)?;
        let at = usize::try_from(offset).map_err(io::Error::other)?;
        let byte =
            file.content.get(at).ok_or_else(|| refuse(ErrorKind::UnexpectedEof, path, "ends before"))?;
        file.write(at, &[byte ^ mask]);
        file.sync();
        Ok(())
    }
}

#[derive(Debug)]
struct SimClock {
    state: Arc<Mutex<State>>,
}

impl Clock for SimClock {
    fn now_ms(&self) -> u64 {
        START_MS + u64::try_from(self.state.lock().read_clock().as_millis()).unwrap_or(u64::MAX / 2)
    }

    fn monotonic(&self) -> Duration {
        self.state.lock().read_clock()
    }

    fn sleep(&self, duration: Duration) {
        self.state.lock().now += duration;
    }
}

#[derive(Debug)]
struct SimRandom {
    state: Arc<Mutex<State>>,
}

impl Random for SimRandom {
    fn fill(&self, bytes: &mut [u8]) {
        self.state.lock().fill(bytes);
    }
}
