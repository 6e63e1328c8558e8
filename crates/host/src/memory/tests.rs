//! A budget's arithmetic: limits of every level, peaks, returns, and many threads at once.

use super::*;

#[test]
fn a_grant_must_fit_both_levels_and_the_refusal_names_the_one_that_said_no() {
    let server = MemoryBudget::new(100);
    let query = server.child(60);
    let other = server.child(90);
    let held = other.try_grant("sort", 50).expect("fits both");
    let refused = query.try_grant("join", 55).expect_err("server has 50 left");
    assert_eq!((refused.scope, refused.consumer, refused.asked), ("total", "join", 55));
    assert_eq!((refused.used, refused.limit), (50, 100));
    let refused = query.try_grant("join", 61).expect_err("query has 60");
    assert_eq!((refused.scope, refused.used, refused.limit), ("query", 0, 60));
    let message = "memory limit (query) exceeded: join asked for 61 bytes, 0 of 60 bytes are in use";
    assert_eq!(refused.to_string(), message);
    assert_eq!((server.used(), query.used(), query.peak()), (50, 0, 0), "a refusal takes nothing");
    assert_eq!(query.available(), 50);
    drop(held);
    assert!(query.try_grant("join", 60).is_ok());
    assert_eq!((server.used(), server.peak(), query.peak()), (0, 60, 60));
}

#[test]
fn grants_grow_shrink_split_and_return() {
    let budget = MemoryBudget::new(100);
    let mut grant = budget.empty_grant("writer");
    grant.try_grow(40).expect("fits");
    grant.resize(70).expect("fits");
    assert!(grant.resize(101).is_err());
    assert_eq!(grant.bytes(), 70, "a refused resize changes nothing");
    let part = grant.split(30);
    assert_eq!((grant.bytes(), part.bytes(), budget.used()), (40, 30, 70));
    grant.shrink(1000);
    assert_eq!((grant.bytes(), budget.used()), (0, 30));
    drop(part);
    grant.grow_anyway(130);
    assert_eq!((budget.used(), budget.peak(), budget.available()), (130, 130, 0));
    drop(grant);
    assert_eq!(budget.used(), 0);
}

#[test]
fn overflow_is_a_refusal() {
    let budget = MemoryBudget::new(u64::MAX);
    let _held = budget.try_grant("a", u64::MAX).expect("fits");
    assert!(budget.try_grant("b", 1).is_err());
}

/// A cache of ten-byte entries.
#[derive(Debug)]
struct Cache(std::sync::Mutex<Vec<MemoryGrant>>);

impl Spare for Cache {
    fn bytes(&self) -> u64 {
        self.0.lock().unwrap().iter().map(MemoryGrant::bytes).sum()
    }

    fn give_way(&self, bytes: u64) {
        let mut held = self.0.lock().unwrap();
        let keep = held.len().saturating_sub(usize::try_from(bytes.div_ceil(10)).unwrap());
        held.truncate(keep);
    }
}

#[test]
fn who_holds_spare_memory_gives_way_by_as_much_as_is_missing() {
    let server = MemoryBudget::new(100);
    let cache = Arc::new(Cache(std::sync::Mutex::default()));
    let holder: Arc<dyn Spare> = Arc::<Cache>::clone(&cache);
    server.set_spare(Arc::downgrade(&holder));
    for _ in 0..6 {
        cache.0.lock().unwrap().push(server.try_grant_unused("cache", 10).expect("fits"));
    }
    let query = server.child(90);
    assert_eq!((server.used(), query.available()), (60, 90), "what can give way is available");
    let held = query.try_grant("sort", 55).expect("two entries give way");
    assert_eq!((server.used(), cache.bytes()), (95, 40));
    assert!(server.try_grant_unused("cache", 10).is_err(), "nobody gives way for a cache");
    assert_eq!(cache.bytes(), 40);
    let refused = query.try_grant("sort", 40).expect_err("the query has 35 left");
    assert_eq!((refused.scope, cache.bytes()), ("query", 40), "the cache could not help");
    let refused = server.try_grant("merge", 46).expect_err("more than everything");
    assert_eq!((refused.scope, refused.used), ("total", 55), "what gave way is gone");
    drop((held, holder));
    drop(cache);
    assert_eq!(server.used(), 0);
    assert!(server.try_grant("merge", 100).is_ok());
}

#[test]
fn threads_never_exceed_the_limit_and_return_everything() {
    let server = MemoryBudget::new(1000);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let query = server.child(600);
            scope.spawn(move || {
                for size in 0..2000_u64 {
                    let _grant = query.try_grant("worker", size % 500);
                }
            });
        }
    });
    assert_eq!(server.used(), 0);
    assert!(server.peak() <= 1000);
}
