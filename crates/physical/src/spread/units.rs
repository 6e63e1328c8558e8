//! Units of files that several servers share: who asks first reads the next one, the largest first.
//!
//! They are cut once, when the first row is wanted. Invariant: a unit is read by one server, and it is known by which; what a server that is lost had taken can be
//! read again. Must not know: how servers ask.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use sources::{NextSourceUnit, ObjectScanExec, SourceUnit, UnitFeed};
use stores::error::SourceError;
use tokio::sync::OnceCell;

/// The place of this server among those that share.
const HERE: usize = 0;

/// See the module.
#[derive(Debug)]
pub struct SharedUnits {
    scan: ObjectScanExec,
    units: OnceCell<Vec<SourceUnit>>,
    handed: Mutex<Handed>,
}

#[derive(Debug)]
struct Handed {
    /// The next unit that nobody has.
    next: usize,
    /// By server.
    held: Vec<Vec<usize>>,
}

impl SharedUnits {
    /// What the scan of files reads, for so many servers.
    pub fn of(scan: ObjectScanExec, servers: usize) -> SharedUnits {
        let handed = Mutex::new(Handed { next: 0, held: vec![Vec::new(); servers] });
        SharedUnits { scan, units: OnceCell::new(), handed }
    }

    /// All units, in the order in which they are handed out.
    ///
    /// # Errors
    /// A footer cannot be read.
    pub async fn all(&self) -> Result<&[SourceUnit], SourceError> {
        let servers = self.handed.lock().held.len();
        let cut = self.units.get_or_try_init(|| async {
            let mut units = self.scan.units_for(servers).await?;
            units.sort_by_key(|unit| std::cmp::Reverse(unit.bytes));
            Ok(units)
        });
        cut.await.map(Vec::as_slice)
    }

    /// The next unit for a server, as its place among [`Self::all`], which were asked for before.
    pub fn lease(&self, server: usize) -> Option<usize> {
        let count = self.units.get().map_or(0, Vec::len);
        let mut handed = self.handed.lock();
        let unit = handed.next;
        if unit >= count {
            return None;
        }
        handed.next += 1;
        if let Some(held) = handed.held.get_mut(server) {
            held.push(unit);
        }
        Some(unit)
    }

    /// What a server has taken.
    pub fn held_by(&self, server: usize) -> Vec<SourceUnit> {
        let held = self.handed.lock().held.get(server).cloned().unwrap_or_default();
        let units = self.units.get().map_or(&[][..], Vec::as_slice);
        held.into_iter().filter_map(|unit| units.get(unit).cloned()).collect()
    }
}

/// What this server reads of them.
#[derive(Debug)]
pub struct OfThisServer(pub Arc<SharedUnits>);

impl UnitFeed for OfThisServer {
    fn next(&self) -> NextSourceUnit<'_> {
        Box::pin(async move {
            let units = self.0.all().await?;
            Ok(self.0.lease(HERE).and_then(|unit| units.get(unit).cloned()))
        })
    }
}

/// These units, and no others.
#[derive(Debug)]
pub struct TheseUnits(Mutex<VecDeque<SourceUnit>>);

impl TheseUnits {
    pub fn new(units: Vec<SourceUnit>) -> TheseUnits {
        TheseUnits(Mutex::new(units.into()))
    }
}

impl UnitFeed for TheseUnits {
    fn next(&self) -> NextSourceUnit<'_> {
        Box::pin(std::future::ready(Ok(self.0.lock().pop_front())))
    }
}
