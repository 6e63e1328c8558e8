use super::*;

/// Other tests of this process count into the same total: limits of the server are far away.
fn server() -> MemoryBudget {
    MemoryBudget::new(1 << 50)
}

const MIB: usize = 1 << 20;

#[test]
fn an_account_holds_what_its_threads_allocate_and_do_not_free() {
    let account = Account::open(u64::MAX, &server());
    {
        let _entered = enter(Some(Arc::clone(&account)));
        let tag = allocated(3 * MIB);
        assert_eq!(account.live_bytes(), 3 << 20);
        // Another statement's thread frees it.
        let other = Account::open(u64::MAX, &server());
        let inner = enter(Some(Arc::clone(&other)));
        freed_of(2 * MIB, tag);
        allocated(5 * MIB);
        drop(inner);
        assert_eq!((account.live_bytes(), other.live_bytes()), (1 << 20, 5 << 20));
        freed_of(5 * MIB, other.tag);
        freed_of(MIB, tag);
    }
    assert_eq!((account.live_bytes(), account.peak_bytes()), (0, 3 << 20));
}

#[test]
fn what_a_statement_leaves_behind_is_not_charged_to_the_next() {
    let first = Account::open(u64::MAX, &server());
    let entered = enter(Some(Arc::clone(&first)));
    let tag = allocated(3 * MIB);
    drop(entered);
    drop(first);
    let second = Account::open(u64::MAX, &server());
    freed_of(3 * MIB, tag);
    assert_eq!(second.live_bytes(), 0);
    assert_eq!(second.tag.place(), tag.place());
}

#[test]
fn bytes_are_refused_before_they_are_allocated_and_counted_once() {
    let account = Account::open(10 << 20, &server());
    let entered = enter(Some(Arc::clone(&account)));
    let refused = reserve("repeat", 11 * MIB).unwrap_err();
    assert_eq!((refused.scope, refused.consumer, refused.asked), ("query", "repeat", 11 << 20));
    assert_eq!(account.live_bytes(), 0);
    let reserved = reserve("repeat", 8 * MIB).unwrap();
    assert_eq!(account.live_bytes(), 8 << 20);
    assert!(reserve("repeat", 4 * MIB).is_err());
    let tag = allocated(6 * MIB);
    assert_eq!(account.live_bytes(), 8 << 20);
    drop(reserved);
    assert_eq!(account.live_bytes(), 6 << 20);
    // More than was asked for counts, too.
    let reserved = reserve("repeat", 2 * MIB).unwrap();
    allocated(5 * MIB);
    assert_eq!(account.live_bytes(), 11 << 20);
    assert!(check("scan").is_err());
    drop(reserved);
    assert_eq!(account.live_bytes(), 11 << 20);
    freed_of(11 * MIB, tag);
    drop(entered);
    assert_eq!(account.live_bytes(), 0);
}

#[test]
fn a_bound_larger_than_any_memory_is_refused() {
    let account = Account::open(1 << 30, &server());
    let _entered = enter(Some(Arc::clone(&account)));
    assert!(reserve("format", usize::MAX).is_err());
    assert_eq!(account.live_bytes(), 0);
}

#[test]
fn nobody_is_refused_without_an_account() {
    assert!(reserve("merge", usize::MAX).is_ok());
    assert!(check("merge").is_ok());
    assert!(current().is_none());
}

#[test]
fn a_future_works_for_its_account_wherever_it_is_polled() {
    let account = Account::open(u64::MAX, &server());
    let work = async {
        allocated(MIB);
        current().is_some()
    };
    let mut work = Box::pin(metered(Some(Arc::clone(&account)), work));
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert_eq!(work.as_mut().poll(&mut context), Poll::Ready(true));
    assert!(current().is_none());
    assert_eq!(account.live_bytes(), 1 << 20);
    freed_of(MIB, account.tag);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a thread that is joined has ended, one of a pool is about to")]
fn a_thread_that_ends_loses_nothing_of_what_it_counted() {
    let account = Account::open(u64::MAX, &server());
    let entered = Arc::clone(&account);
    let thread = std::thread::spawn(move || {
        count_to_the_end();
        let inside = enter(Some(entered));
        // Fewer than a thread tells by itself, and behind the last change of accounts.
        let tag = allocated(1000);
        drop(inside);
        freed_of(400, tag);
        HERE.with(|here| here.total.get())
    });
    assert!(thread.join().unwrap() != 0, "it had something to tell");
    assert_eq!(account.live_bytes(), 600);
}

#[test]
fn many_statements_of_a_middle_size_have_a_smaller_share_each() {
    let limit = u64::try_from(64 * MIB).unwrap();
    let accounts: Vec<_> = (0..64).map(|_| Account::open(u64::MAX, &MemoryBudget::new(limit))).collect();
    let entered = enter(Some(Arc::clone(&accounts[0])));
    let tag = allocated(2 * limit.try_into().unwrap_or(0));
    let held = accounts[1].limit_bytes() / 64;
    drop(entered);
    let _entered = enter(Some(Arc::clone(&accounts[1])));
    // Less than a 32nd of the limit, and more than its share.
    let own = allocated(usize::try_from(held).unwrap());
    let refused = check("the statement");
    freed_of(usize::try_from(held).unwrap(), own);
    freed_of(2 * usize::try_from(limit).unwrap(), tag);
    assert!(refused.is_err());
}
