//! DataFusion's memory pool over our one memory budget.
//!
//! Invariant: what DataFusion's operators hold is part of the same budget that sinks, merges and readers draw from.
//! `grow`, which DataFusion does not allow to fail, may overdraw the budget; later requests then fail until it is paid.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use host::{Account, MemoryBudget, MemoryGrant, meter};
use model::saturating::{u64_of, usize_of};
use parking_lot::Mutex;

/// Operators write to disk when fewer eighths of the memory are left: what is written is copied first, and merged again.
const ROOM_TO_SPILL_EIGHTHS: u64 = 5;

/// Who holds less than one part in so many of the limit writes nothing.
const WORTH_A_SPILL: u64 = 16;

/// One part in so many of the memory is never refused for what others hold.
const SMALL_SHARE: u64 = 64;

/// How DataFusion calls the rows that a hash join keeps. It takes memory for them and for their table, and says nothing of the
/// copy that it makes of them then, all in one.
const KEPT_BY_A_JOIN: &str = "HashJoinInput";

/// The meter sees smaller copies early enough.
const LARGE_BYTES: usize = 1 << 20;

/// One statement's pool.
pub struct BudgetPool {
    budget: MemoryBudget,
    held: Mutex<MemoryGrant>,
    account: Arc<Account>,
}

impl BudgetPool {
    pub fn new(budget: MemoryBudget, account: Arc<Account>) -> BudgetPool {
        let held = Mutex::new(budget.empty_grant("query"));
        BudgetPool { budget, held, account }
    }

    /// Whether the statement would hold no more than one part in so many of the memory.
    fn is_small(&self, additional: u64) -> bool {
        let limit = self.budget.limit().min(self.account.limit_bytes());
        self.account.live_bytes().saturating_add(additional) <= limit / SMALL_SHARE
    }

    /// Whether an operator that can write to disk should: what it says it holds is a part of what there is, and to write it
    /// takes memory, too. One that holds little would gain nothing.
    fn should_spill(&self, held: u64, additional: u64) -> bool {
        let limit = self.budget.limit().min(self.account.limit_bytes());
        let holds_much = held.saturating_add(additional) > limit / WORTH_A_SPILL;
        holds_much && self.account.room_bytes() < additional.saturating_add(limit / 8 * ROOM_TO_SPILL_EIGHTHS)
    }
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
        self.held.lock().grow_anyway(u64_of(additional));
    }

    fn shrink(&self, _reservation: &MemoryReservation, shrink: usize) {
        self.held.lock().shrink(u64_of(shrink));
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        if reservation.consumer().can_spill()
            && self.should_spill(u64_of(reservation.size()), u64_of(additional))
        {
            let message =
                format!("memory is short: {} bytes of the statement are left", self.account.room_bytes());
            return Err(DataFusionError::ResourcesExhausted(message));
        }
        if additional > LARGE_BYTES && reservation.consumer().name().starts_with(KEPT_BY_A_JOIN) {
            let with_copy = additional.saturating_add(reservation.size());
            if let Err(refused) = meter::reserve("the rows that a join keeps", with_copy) {
                return Err(DataFusionError::ResourcesExhausted(refused.to_string()));
            }
        }
        let mut held = self.held.lock();
        match held.try_grow(u64_of(additional)) {
            Ok(()) => Ok(()),
            // Others have taken it all: one that holds next to nothing need not end for that, as by the meter.
            Err(refused) if refused.scope == "total" && self.is_small(u64_of(additional)) => {
                held.grow_anyway(u64_of(additional));
                Ok(())
            }
            Err(refused) => Err(DataFusionError::ResourcesExhausted(refused.to_string())),
        }
    }

    fn reserved(&self) -> usize {
        usize_of(self.held.lock().bytes())
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(usize_of(self.budget.limit()))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::MemoryConsumer;

    use super::*;

    #[test]
    fn what_others_have_taken_ends_no_small_statement() {
        let server = MemoryBudget::new(64 << 20);
        let pool = || -> Arc<dyn MemoryPool> {
            let account = Account::open(64 << 20, &server);
            Arc::new(BudgetPool::new(server.child_named("query", 64 << 20), account))
        };
        let (large, small) = (pool(), pool());
        let all = MemoryConsumer::new("all").register(&large);
        all.try_grow(64 << 20).unwrap();
        let some = MemoryConsumer::new("some").register(&small);
        some.try_grow(1 << 20).unwrap();
        some.try_grow(2 << 20).unwrap_err();
        // Its own limit holds.
        let account = Account::open(64 << 20, &server);
        let own: Arc<dyn MemoryPool> =
            Arc::new(BudgetPool::new(server.child_named("query", 1 << 20), account));
        MemoryConsumer::new("own").register(&own).try_grow(2 << 20).unwrap_err();
    }
}
