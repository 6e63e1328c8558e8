//! DataFusion's memory pool over our one memory budget.
//!
//! Invariant: what DataFusion's operators hold is part of the same budget that sinks, merges and readers draw from.
//! `grow`, which DataFusion does not allow to fail, may overdraw the budget; later requests then fail until it is paid.

use std::fmt;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use host::{MemoryBudget, MemoryGrant};
use parking_lot::Mutex;

/// One statement's pool.
pub(crate) struct BudgetPool {
    budget: MemoryBudget,
    held: Mutex<MemoryGrant>,
}

impl BudgetPool {
    pub(crate) fn new(budget: MemoryBudget) -> BudgetPool {
        let held = Mutex::new(budget.empty_grant("query"));
        BudgetPool { budget, held }
    }
}

fn as_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl fmt::Debug for BudgetPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BudgetPool({} of {} bytes)", self.budget.used(), self.budget.limit())
    }
}

impl fmt::Display for BudgetPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl MemoryPool for BudgetPool {
    fn name(&self) -> &str {
        "budget"
    }

    fn grow(&self, _reservation: &MemoryReservation, additional: usize) {
        self.held.lock().grow_anyway(as_u64(additional));
    }

    fn shrink(&self, _reservation: &MemoryReservation, shrink: usize) {
        self.held.lock().shrink(as_u64(shrink));
    }

    fn try_grow(&self, _reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let grown = self.held.lock().try_grow(as_u64(additional));
        grown.map_err(|refused| DataFusionError::ResourcesExhausted(refused.to_string()))
    }

    fn reserved(&self) -> usize {
        usize::try_from(self.held.lock().bytes()).unwrap_or(usize::MAX)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(usize::try_from(self.budget.limit()).unwrap_or(usize::MAX))
    }
}
