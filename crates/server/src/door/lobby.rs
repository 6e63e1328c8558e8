//! Who waits for a client, and who of them has to go when there are too many: who has waited longest.
//!
//! Two lists are kept this way: connections, which wait for a request, and bodies, which wait for their bytes.
//! Invariant: one that works is never sent away, unless its client has not moved for [`STALLED`] and nobody waits. Coming, going and changing between waiting and working cost no more than a
//! look at two numbers; only who sends somebody away looks at all of them. Must not know: what is waited for.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// In place of the time since when one waits: it works, or its client moves.
const WORKS: u64 = u64::MAX;
/// A client that takes nothing for so long may have to go for another one.
const STALLED: Duration = Duration::from_secs(10);

/// See the module.
pub(crate) struct Lobby {
    clock: Arc<dyn Clock>,
    guests: Mutex<Guests>,
}

#[derive(Default)]
struct Guests {
    next: u64,
    all: BTreeMap<u64, Arc<Guest>>,
}

struct Guest {
    from: IpAddr,
    /// Microseconds of the clock since when it waits, or [`WORKS`].
    since: AtomicU64,
    /// The same of an answer that is not being taken: since when its client has not moved.
    stalled: AtomicU64,
    sent_away: Notify,
}

/// One on the list, for as long as it is kept.
pub(crate) struct Stay {
    lobby: Arc<Lobby>,
    number: u64,
    guest: Arc<Guest>,
}

impl Lobby {
    pub(crate) fn new(clock: &Arc<dyn Clock>) -> Arc<Lobby> {
        Arc::new(Lobby { clock: Arc::clone(clock), guests: Mutex::default() })
    }

    /// One more, which waits from now on.
    pub(crate) fn enter(self: &Arc<Lobby>, from: IpAddr) -> Stay {
        let guest = Arc::new(Guest {
            from,
            since: AtomicU64::new(self.now()),
            stalled: AtomicU64::new(WORKS),
            sent_away: Notify::new(),
        });
        let mut guests = self.guests.lock();
        let number = guests.next;
        guests.next += 1;
        guests.all.insert(number, Arc::clone(&guest));
        drop(guests);
        Stay { lobby: Arc::clone(self), number, guest }
    }

    /// All of them, also those that work.
    pub(crate) fn count(&self) -> usize {
        self.guests.lock().all.len()
    }

    /// Those that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.guests.lock().all.values().filter(|guest| guest.waits_since() != WORKS).count()
    }

    /// Those that wait for clients of one address.
    pub(crate) fn waiting_for(&self, from: IpAddr) -> usize {
        let waits = |guest: &&Arc<Guest>| guest.from == from && guest.waits_since() != WORKS;
        self.guests.lock().all.values().filter(waits).count()
    }

    /// Sends away who has waited longest, of one address or of all, or else whose client has not moved for longest;
    /// `false`: there is none.
    pub(crate) fn send_one_away(&self, from: Option<IpAddr>) -> bool {
        let mut guests = self.guests.lock();
        let long_ago = self.now().saturating_sub(micros(STALLED));
        let longest = |since: fn(&Guest) -> u64, before: u64| {
            let all = guests.all.iter().map(|(number, guest)| (since(guest), *number, guest.from));
            let fitting =
                all.filter(|(since, _, of)| *since <= before && from.is_none_or(|from| from == *of));
            fitting.min().map(|(_, number, _)| number)
        };
        let waits = longest(Guest::waits_since, WORKS - 1);
        let Some(number) = waits.or_else(|| longest(Guest::stalled_since, long_ago)) else { return false };
        // It is not sent away twice while it packs up.
        if let Some(guest) = guests.all.remove(&number) {
            guest.sent_away.notify_one();
        }
        true
    }

    fn now(&self) -> u64 {
        micros(self.clock.monotonic())
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(WORKS - 1)
}

impl Guest {
    fn waits_since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    fn stalled_since(&self) -> u64 {
        self.stalled.load(Ordering::Relaxed)
    }
}

impl Stay {
    /// It waits from now on.
    pub(crate) fn waits(&self) {
        self.guest.since.store(self.lobby.now(), Ordering::Relaxed);
    }

    pub(crate) fn works(&self) {
        self.guest.since.store(WORKS, Ordering::Relaxed);
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.guest.waits_since() != WORKS
    }

    /// Its client does not take what it was sent, from now on if it was not so before.
    pub(crate) fn stalls(&self) {
        if self.guest.stalled_since() == WORKS {
            self.guest.stalled.store(self.lobby.now(), Ordering::Relaxed);
        }
    }

    /// Its client has taken something.
    pub(crate) fn moves(&self) {
        self.guest.stalled.store(WORKS, Ordering::Relaxed);
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.guest.stalled_since() != WORKS
    }

    /// Comes back when it has to go, once.
    pub(crate) async fn sent_away(&self) {
        self.guest.sent_away.notified().await;
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.lobby.guests.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn who_has_waited_longest_goes_and_who_works_stays() {
        let clock = host::Host::system(1 << 20).unwrap().clock;
        let lobby = Lobby::new(&clock);
        let (here, there): (IpAddr, IpAddr) = ("127.0.0.1".parse().unwrap(), "10.0.0.1".parse().unwrap());
        let stays: Vec<Stay> = [here, there, here, there]
            .map(|from| {
                clock.sleep(Duration::from_millis(1));
                lobby.enter(from)
            })
            .into();
        stays[0].works();
        clock.sleep(Duration::from_millis(1));
        stays[1].works();
        stays[1].waits();
        assert_eq!((lobby.count(), lobby.waiting(), lobby.waiting_for(there)), (4, 3, 2));
        let gone = |number: usize| stays[number].sent_away().now_or_never().is_some();
        // The last but one of that address has waited longest by now.
        assert!(lobby.send_one_away(Some(there)));
        assert!(gone(3) && !gone(1));
        assert!(lobby.send_one_away(None));
        assert!(gone(2) && !gone(1));
        assert!(lobby.send_one_away(None) && gone(1));
        assert!(!lobby.send_one_away(None) && !gone(0), "it works");
        stays[0].stalls();
        assert!(!lobby.send_one_away(None) && !gone(0), "its client has just been slow");
        drop(stays);
        assert_eq!(lobby.count(), 0);
    }
}
