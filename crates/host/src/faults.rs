//! Named points where a test may stop or disturb the program between two steps that both succeed on their
//! own.
//!
//! A point belongs to a [`crate::Host`], so tests running side by side do not meet. In release builds the
//! type is empty and [`Faults::hit`] is a constant `Ok`. Must not know: who hits which point; names are
//! `crate.step`.

use std::io;

#[cfg(debug_assertions)]
use std::{collections::BTreeMap, sync::Arc};

#[cfg(debug_assertions)]
use parking_lot::Mutex;

/// What an armed point does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAction {
    /// `hit` returns an error.
    Fail,
    /// The process ends at once, as by kill -9: no destructor runs, no buffer is written.
    Abort,
}

/// The fault points of one host; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    #[cfg(debug_assertions)]
    armed: Arc<Mutex<BTreeMap<&'static str, Armed>>>,
}

#[cfg(debug_assertions)]
#[derive(Debug)]
struct Armed {
    skip: u64,
    action: FaultAction,
}

#[cfg(debug_assertions)]
impl Faults {
    /// Passes the point `name`.
    ///
    /// # Errors
    /// The point is armed with [`FaultAction::Fail`] and its turn has come; it is disarmed by that.
    pub fn hit(&self, name: &'static str) -> io::Result<()> {
        let mut armed = self.armed.lock();
        let Some(point) = armed.get_mut(name) else { return Ok(()) };
        if point.skip > 0 {
            point.skip -= 1;
            return Ok(());
        }
        let action = point.action;
        armed.remove(name);
        match action {
            FaultAction::Fail => Err(io::Error::other(format!("fault point {name}"))),
            FaultAction::Abort => std::process::abort(),
        }
    }

    /// Arms a point: it acts once, after `skip` passes without effect.
    pub fn arm(&self, name: &'static str, skip: u64, action: FaultAction) {
        self.armed.lock().insert(name, Armed { skip, action });
    }
}

#[cfg(not(debug_assertions))]
impl Faults {
    /// Passes the point `name`; release builds have none.
    ///
    /// # Errors
    /// Never.
    #[inline(always)]
    pub fn hit(&self, _name: &'static str) -> io::Result<()> {
        Ok(())
    }
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
}
