//! Memory as a budget from which consumers are granted bytes.
//!
//! A budget may have children (a query's limit under the server's): a grant must fit every level up to the
//! root, and counts on every level. Refusal is a normal answer which names who asked, how much, and which
//! limit said no; the asker spills, flushes or waits. Whoever holds bytes only to save work later, a cache, is asked to
//! give way first.
//!
//! Invariant: `used` of a level is the sum of its living grants; dropping a grant returns it everywhere.
//! Must not know: what the bytes are for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

/// A limit on memory; clones share it.
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    level: Arc<Level>,
}

#[derive(Debug)]
struct Level {
    scope: &'static str,
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
    parent: Option<MemoryBudget>,
    spare: OnceLock<Weak<dyn Spare>>,
}

/// Holds memory that others may have at any time.
pub trait Spare: Send + Sync + std::fmt::Debug {
    /// Bytes it holds at this moment.
    fn bytes(&self) -> u64;

    /// Returns grants of at least `bytes`, or all it has. Called by whoever is short of memory: it must neither block
    /// nor ask for memory itself.
    fn give_way(&self, bytes: u64);
}

/// Why there is no memory for a consumer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "memory limit ({scope}) exceeded: {consumer} asked for {asked} bytes, {used} of {limit} bytes are in use"
)]
pub struct MemoryRefused {
    /// Which level refused: `total` for the root, else the name given to the child.
    pub scope: &'static str,
    pub consumer: &'static str,
    /// Bytes asked for.
    pub asked: u64,
    /// Bytes in use at that level.
    pub used: u64,
    /// Bytes of that level.
    pub limit: u64,
}

impl MemoryBudget {
    /// A root budget of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self::level("total", bytes, None)
    }

    /// A budget of its own limit under this one, called `query` in refusals.
    #[must_use]
    pub fn child(&self, bytes: u64) -> Self {
        self.child_named("query", bytes)
    }

    /// A budget of its own limit under this one; `scope` is its name in refusals.
    #[must_use]
    pub fn child_named(&self, scope: &'static str, bytes: u64) -> Self {
        Self::level(scope, bytes, Some(self.clone()))
    }

    fn level(scope: &'static str, limit: u64, parent: Option<Self>) -> Self {
        let (used, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { level: Arc::new(Level { scope, limit, used, peak, parent, spare: OnceLock::new() }) }
    }

    /// Names who gives way when this level is full; only the first one counts. It must take its own grants with
    /// [`MemoryBudget::try_grant_unused`].
    pub fn set_spare(&self, holder: Weak<dyn Spare>) {
        // A second holder would be one that nobody asks: it is simply limited by what is left.
        let _first_counts = self.level.spare.set(holder);
    }

    /// Has whoever holds memory to save work later return `bytes`.
    pub fn ask_to_give_way(&self, bytes: u64) {
        self.levels().filter_map(Level::spare).for_each(|spare| spare.give_way(bytes));
    }

    /// A loan of `bytes`, returned when the grant is dropped.
    ///
    /// # Errors
    /// The bytes do not fit this level or one above; nothing was taken then.
    pub fn try_grant(&self, consumer: &'static str, bytes: u64) -> Result<MemoryGrant, MemoryRefused> {
        self.take(consumer, bytes)?;
        Ok(MemoryGrant { budget: self.clone(), consumer, bytes })
    }

    /// [`MemoryBudget::try_grant`] for which nobody gives way.
    ///
    /// # Errors
    /// The bytes are not unused.
    pub fn try_grant_unused(&self, consumer: &'static str, bytes: u64) -> Result<MemoryGrant, MemoryRefused> {
        self.take_unused(consumer, bytes)?;
        Ok(MemoryGrant { budget: self.clone(), consumer, bytes })
    }

    /// A grant of nothing, to grow later.
    pub fn empty_grant(&self, consumer: &'static str) -> MemoryGrant {
        MemoryGrant { budget: self.clone(), consumer, bytes: 0 }
    }

    /// Bytes of living grants.
    pub fn used(&self) -> u64 {
        self.level.used.load(Ordering::Relaxed)
    }

    /// The most that was in use at one moment.
    pub fn peak(&self) -> u64 {
        self.level.peak.load(Ordering::Relaxed)
    }

    /// The limit of this level in bytes.
    pub fn limit(&self) -> u64 {
        self.level.limit
    }

    /// What a grant could be at this moment, over all levels, if those who can give way.
    pub fn available(&self) -> u64 {
        self.levels()
            .map(|level| {
                let spare = level.spare().map_or(0, |spare| spare.bytes());
                level.limit.saturating_sub(level.used.load(Ordering::Relaxed).saturating_sub(spare))
            })
            .min()
            .unwrap_or(0)
    }

    fn levels(&self) -> impl Iterator<Item = &Level> {
        std::iter::successors(Some(&*self.level), |level| level.parent.as_ref().map(|parent| &*parent.level))
    }

    /// Takes bytes; whoever can gives way, once for each level.
    fn take(&self, consumer: &'static str, asked: u64) -> Result<(), MemoryRefused> {
        let mut full = None;
        loop {
            let Err(refused) = self.take_unused(consumer, asked) else { return Ok(()) };
            let level = self.levels().find(|level| level.scope == refused.scope);
            let spare = level.and_then(Level::spare).filter(|_| full != Some(refused.scope));
            let Some(spare) = spare else { return Err(refused) };
            full = Some(refused.scope);
            spare.give_way(refused.used.saturating_add(asked).saturating_sub(refused.limit));
        }
    }

    fn take_unused(&self, consumer: &'static str, asked: u64) -> Result<(), MemoryRefused> {
        for (taken, level) in self.levels().enumerate() {
            let fits = |used: u64| used.checked_add(asked).filter(|sum| *sum <= level.limit);
            if let Err(used) = level.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits) {
                self.levels().take(taken).for_each(|below| below.give_back(asked));
                return Err(MemoryRefused { scope: level.scope, consumer, asked, used, limit: level.limit });
            }
        }
        self.note_peaks();
        Ok(())
    }

    fn take_anyway(&self, bytes: u64) {
        self.levels().for_each(|level| {
            level.used.fetch_add(bytes, Ordering::Relaxed);
        });
        self.note_peaks();
    }

    /// Only successful grants count, so peaks are noted after every level agreed.
    fn note_peaks(&self) {
        self.levels().for_each(|level| {
            level.peak.fetch_max(level.used.load(Ordering::Relaxed), Ordering::Relaxed);
        });
    }
}

impl Level {
    fn spare(&self) -> Option<Arc<dyn Spare>> {
        self.spare.get()?.upgrade()
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A loan of bytes; dropping it returns them.
#[derive(Debug)]
pub struct MemoryGrant {
    budget: MemoryBudget,
    consumer: &'static str,
    bytes: u64,
}

impl MemoryGrant {
    /// Bytes held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Asks for `more` bytes.
    ///
    /// # Errors
    /// They do not fit; the grant stays as it is.
    pub fn try_grow(&mut self, more: u64) -> Result<(), MemoryRefused> {
        self.budget.take(self.consumer, more)?;
        self.bytes += more;
        Ok(())
    }

    /// Counts bytes that are allocated already, past any limit: honest bookkeeping for callers that cannot be
    /// refused.
    pub fn grow_anyway(&mut self, more: u64) {
        self.budget.take_anyway(more);
        self.bytes += more;
    }

    /// Returns up to `fewer` bytes.
    pub fn shrink(&mut self, fewer: u64) {
        let fewer = fewer.min(self.bytes);
        self.budget.levels().for_each(|level| level.give_back(fewer));
        self.bytes -= fewer;
    }

    /// Makes the grant exactly `bytes`.
    ///
    /// # Errors
    /// It would have to grow and does not fit; the grant stays as it is.
    pub fn resize(&mut self, bytes: u64) -> Result<(), MemoryRefused> {
        if bytes > self.bytes {
            return self.try_grow(bytes - self.bytes);
        }
        self.shrink(self.bytes - bytes);
        Ok(())
    }

    /// Moves up to `bytes` of this grant into one of its own, for instance to travel with a batch.
    #[must_use]
    pub fn split(&mut self, bytes: u64) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), consumer: self.consumer, bytes }
    }
}

impl Drop for MemoryGrant {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests;
