//! DataFusion's memory pool over our one memory budget.
//!
//! Invariant: what DataFusion's operators hold is part of the same budget that sinks, merges and readers draw from.
//! `grow`, which DataFusion does not allow to fail, may overdraw the budget; later requests then fail until it is paid.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use host::{Account, MemoryBudget, MemoryGrant};
use parking_lot::Mutex;

/// Operators write to disk when one part in so many of the memory is left.
const ROOM_TO_SPILL: u64 = 2;

/// Who holds less than one part in so many of the limit writes nothing.
const WORTH_A_SPILL: u64 = 16;

/// One statement's pool.
pub(crate) struct BudgetPool {
    budget: MemoryBudget,
    held: Mutex<MemoryGrant>,
    account: Arc<Account>,
}

impl BudgetPool {
    pub(crate) fn new(budget: MemoryBudget, account: Arc<Account>) -> BudgetPool {
        let held = Mutex::new(budget.empty_grant("query"));
        BudgetPool { budget, held, account }
    }

    /// Whether an operator that can write to disk should: what it says it holds is a part of what there is, and to write it
    /// takes memory, too. One that holds little would gain nothing.
    fn should_spill(&self, held: u64, additional: u64) -> bool {
        let limit = self.budget.limit().min(self.account.limit_bytes());
        let holds_much = held.saturating_add(additional) > limit / WORTH_A_SPILL;
        holds_much && self.account.room_bytes() < additional.saturating_add(limit / ROOM_TO_SPILL)
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

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if reservation.consumer().can_spill()
            && self.should_spill(as_u64(reservation.size()), as_u64(additional))
        {
            let message =
                format!("memory is short: {} bytes of the statement are left", self.account.room_bytes());
            return Err(DataFusionError::ResourcesExhausted(message));
        }
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
