//! Named points where a test may stop or disturb the program between two steps that both succeed on their
//! own, and named mistakes a simulation may plant to see whether its checker notices them.
//!
//! A point belongs to a [`crate::Host`], so tests running side by side do not meet. In release builds the
//! type is empty, [`Faults::hit`] is a constant `Ok` and [`Faults::planted`] a constant `false`. Invariant: only a
//! simulated host, or a process of a debug build that was asked to, has planted mistakes. Must not know: who hits which point; names are `crate.step`.

use std::io;

#[cfg(debug_assertions)]
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

#[cfg(debug_assertions)]
use parking_lot::Mutex;

/// What an armed point does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// `hit` returns an error.
    Fail,
    /// The simulated machine stops and `hit` returns an error; on a real host it only returns an error.
    Stop,
    /// The process ends at once, as by kill -9: no destructor runs, no buffer is written.
    Abort,
}

/// The fault points of one host; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    #[cfg(debug_assertions)]
    points: Arc<Points>,
}

/// What a test runs at a point.
#[cfg(debug_assertions)]
type Call = Box<dyn FnOnce() + Send>;

#[cfg(debug_assertions)]
#[derive(Default)]
struct Points {
    armed: Mutex<BTreeMap<&'static str, Armed>>,
    calls: Mutex<BTreeMap<&'static str, Call>>,
    planted: Mutex<BTreeSet<&'static str>>,
    /// Stops the simulated machine at the point of this name.
    stop: Option<Box<dyn Fn(&'static str) + Send + Sync>>,
}

#[cfg(debug_assertions)]
impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Points")
            .field("armed", &self.armed)
            .field("planted", &self.planted)
            .finish_non_exhaustive()
    }
}

#[cfg(debug_assertions)]
#[derive(Debug)]
struct Armed {
    skip: u64,
    action: FaultAction,
}

/// Names mistakes that a process of a debug build makes on purpose, divided by commas, so that those who attack it can be
/// tested.
#[cfg(debug_assertions)]
const PLANTED_VARIABLE: &str = "GRISTMILL_PLANTED";

#[cfg(debug_assertions)]
impl Faults {
    /// The points of the real machine, with the mistakes that `GRISTMILL_PLANTED` names.
    pub(crate) fn of_environment() -> Self {
        let faults = Self::default();
        if let Ok(names) = std::env::var(PLANTED_VARIABLE) {
            faults.plant_named(&names);
        }
        faults
    }

    /// The points of a simulated machine, which `stop` stops.
    pub(crate) fn of_simulation(stop: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self { points: Arc::new(Points { stop: Some(Box::new(stop)), ..Points::default() }) }
    }

    /// Passes the point `name`.
    ///
    /// # Errors
    /// The point is armed with [`FaultAction::Fail`] or [`FaultAction::Stop`] and its turn has come; it is disarmed
    /// by that.
    pub fn hit(&self, name: &'static str) -> io::Result<()> {
        let call = self.points.calls.lock().remove(name);
        if let Some(call) = call {
            call();
        }
        let mut armed = self.points.armed.lock();
        let Some(point) = armed.get_mut(name) else { return Ok(()) };
        if point.skip > 0 {
            point.skip -= 1;
            return Ok(());
        }
        let action = point.action;
        armed.remove(name);
        drop(armed);
        match (action, &self.points.stop) {
            (FaultAction::Abort, _) => std::process::abort(),
            (FaultAction::Stop, Some(stop)) => stop(name),
            (FaultAction::Stop, None) | (FaultAction::Fail, _) => {}
        }
        Err(io::Error::other(format!("fault point {name}")))
    }

    /// Arms a point: it acts once, after `skip` passes without effect.
    pub fn arm(&self, name: &'static str, skip: u64, action: FaultAction) {
        self.points.armed.lock().insert(name, Armed { skip, action });
    }

    /// Makes the next pass of a point do something before it goes on, such as wait while others work.
    pub fn arm_call(&self, name: &'static str, call: impl FnOnce() + Send + 'static) {
        self.points.calls.lock().insert(name, Box::new(call));
    }

    /// Whether to make the mistake `name`, for the sake of whoever checks.
    pub fn planted(&self, name: &'static str) -> bool {
        self.points.planted.lock().contains(name)
    }

    /// Plants the mistakes of this list, divided by commas.
    fn plant_named(&self, names: &str) {
        let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
        self.points.planted.lock().extend(names.map(|name| &*name.to_owned().leak()));
    }

    pub(crate) fn plant(&self, name: &'static str) {
        self.points.planted.lock().insert(name);
    }

    pub(crate) fn disarm(&self) {
        self.points.armed.lock().clear();
        self.points.calls.lock().clear();
    }
}

#[cfg(not(debug_assertions))]
impl Faults {
    /// Release builds have none.
    pub(crate) fn of_environment() -> Self {
        Self {}
    }

    pub(crate) fn of_simulation(_stop: impl Fn(&'static str) + Send + Sync + 'static) -> Self {
        Self {}
    }

    /// Passes the point `name`; release builds have none.
    ///
    /// # Errors
    /// Never.
    #[inline(always)]
    pub fn hit(&self, _name: &'static str) -> io::Result<()> {
        Ok(())
    }

    /// Release builds make no mistakes on purpose.
    #[inline(always)]
    pub fn planted(&self, _name: &'static str) -> bool {
        false
    }

    pub(crate) fn disarm(&self) {}
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn an_armed_point_fails_once_at_its_turn() {
        let faults = Faults::default();
        faults.arm("commitlog.sync", 1, FaultAction::Fail);
        let shared = faults.clone();
        assert!(shared.hit("commitlog.sync").is_ok());
        assert!(shared.hit("other").is_ok());
        assert_eq!(
            shared.hit("commitlog.sync").expect_err("its turn").to_string(),
            "fault point commitlog.sync"
        );
        assert!(faults.hit("commitlog.sync").is_ok());
    }

    #[test]
    fn a_call_at_a_point_is_made_once() {
        let faults = Faults::default();
        let (sender, receiver) = std::sync::mpsc::channel();
        faults.arm_call("flush.commit", move || sender.send(1).expect("received"));
        assert!(faults.hit("other").is_ok() && receiver.try_recv().is_err());
        assert!(faults.hit("flush.commit").is_ok() && faults.hit("flush.commit").is_ok());
        assert_eq!(receiver.iter().count(), 1);
    }

    #[test]
    fn a_point_stops_a_simulated_machine_and_a_planted_mistake_stays_with_it() {
        let (host, world) = crate::SimHost::new(1);
        world.plant("log.forget");
        host.faults.arm("log.write", 0, FaultAction::Stop);
        assert!(host.faults.hit("log.write").is_err() && world.crashed());
        host.faults.arm("log.write", 0, FaultAction::Stop);
        let host = world.reopen();
        assert!(host.faults.hit("log.write").is_ok(), "a new life has nothing armed");
        assert!(host.faults.planted("log.forget") && !host.faults.planted("log.write"));
        assert!(!Faults::default().planted("log.forget"));
        let faults = Faults::default();
        faults.plant_named("a.b, c.d,");
        assert!(faults.planted("a.b") && faults.planted("c.d") && !faults.planted(""));
    }
}
