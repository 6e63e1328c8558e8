//! How many statements compute at one time, who waits for that, and who is next.
//!
//! A statement that has not begun goes before those that have sent a piece of their answers, or read one of their bodies, and
//! go on: so a crowd of long answers makes a short one wait for its own turn only. Every fourth place is for those who go on.
//! Of those who wait to begin the last and the first have their turns: of a thousand who come at once who asks next is not
//! behind them all, and nobody waits more than three times as long as if the first always went first.
//! A place that was computed in for [`LONG`] is *lent*: while somebody waits, one more may begin beside it.
//! Invariant: nobody waits longer than the limit says, and no more wait than it says: the others are told so at once. A
//! place that is given back is somebody's, or free. No more are lent than the limit says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::{Error, ErrorCode, ErrorKind};
use host::Clock;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::door::config::Limits;

/// Of so many places one is for those who go on, if others wait to begin.
const TURNS: u32 = 4;
/// Who has computed for so long is no short statement, and short ones need not wait for its end.
const LONG: Duration = Duration::from_secs(1);
/// How often those who wait look for such places.
const LOOK: Duration = Duration::from_millis(50);

/// See the module.
pub(crate) struct Gate {
    line: Arc<Line>,
    waiting: AtomicUsize,
    limits: Limits,
}

/// A place among the statements that compute, for as long as it is kept.
#[derive(Debug)]
pub(crate) struct Place {
    /// `None`: it is somebody else's by now.
    line: Option<Arc<Line>>,
    number: u64,
}

struct Line {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    lent_max: usize,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("state", &self.state).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct State {
    free: usize,
    /// Places that are taken and not lent, by number: who has theirs longest stands first.
    taken: BTreeMap<u64, Duration>,
    next: u64,
    lent: usize,
    /// Who came first stands in front. Some of them may have left.
    begin: VecDeque<Waiter>,
    go_on: VecDeque<Waiter>,
    turn: u32,
}

/// Where a place will come.
type Waiter = oneshot::Sender<Place>;

/// One who waits, for as long as they do.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.give_back(self.number);
        }
    }
}

impl Line {
    fn place(self: &Arc<Line>, state: &mut State) -> Option<Place> {
        state.free = state.free.checked_sub(1)?;
        Some(self.taken(state))
    }

    /// A place that is no more free.
    fn taken(self: &Arc<Line>, state: &mut State) -> Place {
        let number = state.next;
        state.next += 1;
        state.taken.insert(number, self.clock.monotonic());
        Place { line: Some(Arc::clone(self)), number }
    }

    /// A place now, or where it will come.
    fn wait(
        self: &Arc<Line>,
        queue: impl FnOnce(&mut State) -> &mut VecDeque<Waiter>,
    ) -> Result<Place, oneshot::Receiver<Place>> {
        let mut state = self.state.lock();
        if let Some(place) = self.place(&mut state) {
            return Ok(place);
        }
        let (sender, receiver) = oneshot::channel();
        let queue = queue(&mut state);
        // Those who left are let go before the queue becomes longer than it was at any time.
        if queue.len() == queue.capacity() {
            queue.retain(|waiter| !waiter.is_closed());
        }
        queue.push_back(sender);
        Err(receiver)
    }

    fn give_back(self: &Arc<Line>, number: u64) {
        let mut state = self.state.lock();
        if state.taken.remove(&number).is_none() {
            // It was lent: somebody else has had it for a while.
            state.lent -= 1;
            return;
        }
        drop(state);
        self.pass_on();
    }

    /// Gives a place that is nobody's to who is next.
    fn pass_on(self: &Arc<Line>) {
        loop {
            let mut state = self.state.lock();
            let Some(next) = state.next() else {
                state.free += 1;
                return;
            };
            let place = self.taken(&mut state);
            drop(state);
            let Err(mut place) = next.send(place) else { return };
            // They left; the place is the next one's.
            place.line = None;
            self.state.lock().taken.remove(&place.number);
        }
    }

    /// Lends places of those who have computed for long, while somebody waits for one.
    fn lend(self: &Arc<Line>) {
        loop {
            let mut state = self.state.lock();
            let waits = state.begin.iter().chain(&state.go_on).any(|waiter| !waiter.is_closed());
            let longest = state.taken.first_key_value().map(|(number, since)| (*number, *since));
            let Some((number, since)) = longest.filter(|_| waits && state.lent < self.lent_max) else {
                return;
            };
            if self.clock.monotonic().saturating_sub(since) < LONG {
                return;
            }
            state.taken.remove(&number);
            state.lent += 1;
            drop(state);
            self.pass_on();
        }
    }
}

impl State {
    fn next(&mut self) -> Option<Waiter> {
        loop {
            let goes_on = self.begin.is_empty() || self.turn % TURNS == TURNS - 1 && !self.go_on.is_empty();
            let next = match goes_on {
                true => self.go_on.pop_front()?,
                false if self.turn.is_multiple_of(2) => self.begin.pop_back()?,
                false => self.begin.pop_front()?,
            };
            if !next.is_closed() {
                self.turn = self.turn.wrapping_add(1);
                return Some(next);
            }
        }
    }
}

impl Gate {
    pub(crate) fn new(limits: &Limits, clock: Arc<dyn Clock>) -> Gate {
        let state = State { free: limits.statements, ..State::default() };
        let line = Arc::new(Line { state: Mutex::new(state), clock, lent_max: limits.long_statements });
        Gate { line, waiting: AtomicUsize::new(0), limits: limits.clone() }
    }

    /// A place, if one is free.
    pub(crate) fn try_enter(&self) -> Option<Place> {
        self.line.place(&mut self.line.state.lock())
    }

    /// A place, at once or after a while.
    ///
    /// # Errors
    /// Too many wait already, or it took too long.
    pub(crate) async fn enter(&self) -> Result<Place, Error> {
        if let Some(place) = self.try_enter() {
            return Ok(place);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if before >= self.limits.waiting {
            return Err(self.full(format!("{before} more wait")));
        }
        let mut coming = match self.line.wait(|state| &mut state.begin) {
            Ok(place) => return Ok(place),
            Err(coming) => coming,
        };
        let mut too_long = std::pin::pin!(tokio::time::sleep(self.limits.wait));
        loop {
            self.line.lend();
            tokio::select! {
                biased;
                place = &mut coming => {
                    return place.map_err(|_| self.full("the server stops".to_owned()));
                }
                () = &mut too_long => {
                    return Err(self.full(format!("none ended within {} s", self.limits.wait.as_secs())));
                }
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// A place again, behind those who wait now, for one who let them go first. `None`: the server stops.
    pub(crate) async fn again(&self) -> Option<Place> {
        match self.line.wait(|state| &mut state.go_on) {
            Ok(place) => Some(place),
            Err(mut coming) => loop {
                self.line.lend();
                tokio::select! {
                    biased;
                    place = &mut coming => return place.ok(),
                    () = tokio::time::sleep(LOOK) => {}
                }
            },
        }
    }

    /// Statements that wait for a place.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn full(&self, why: String) -> Error {
        let message = format!("{} statements run, which is the limit, and {why}", self.limits.statements);
        Error::new(ErrorKind::Limit, ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES, message)
            .with_hint("try again later")
    }
}

/// The place of one statement, which it gives to others while it waits for its client.
pub(crate) struct Seat {
    gate: Arc<Gate>,
    place: Mutex<Option<Place>>,
}

impl Seat {
    pub(crate) fn new(gate: &Arc<Gate>, place: Place) -> Arc<Seat> {
        Arc::new(Seat { gate: Arc::clone(gate), place: Mutex::new(Some(place)) })
    }

    pub(crate) fn leave(&self) {
        let place = self.place.lock().take();
        drop(place);
    }

    /// A place that is free, if there is one and it has none.
    pub(crate) fn take_a_free_one(&self) {
        let mut place = self.place.lock();
        if place.is_none() {
            *place = self.gate.try_enter();
        }
    }

    /// Comes back with a place, as [`Gate::again`] does; at once if it has one.
    pub(crate) async fn take_again(&self) {
        if self.place.lock().is_none() {
            let place = self.gate.again().await;
            let before = std::mem::replace(&mut *self.place.lock(), place);
            drop(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn clock() -> Arc<dyn Clock> {
        host::Host::system(1 << 20).unwrap().clock
    }

    /// A clock that stands still until it is moved.
    #[derive(Debug, Default)]
    struct Moved(Mutex<Duration>);

    impl Clock for Moved {
        fn now_ms(&self) -> u64 {
            0
        }

        fn monotonic(&self) -> Duration {
            *self.0.lock()
        }

        fn sleep(&self, duration: Duration) {
            *self.0.lock() += duration;
        }
    }

    #[tokio::test]
    async fn a_place_that_is_kept_for_long_does_not_keep_others_out_but_for_a_limit() {
        let limits = Limits { statements: 2, long_statements: 1, wait: Duration::ZERO, ..Limits::default() };
        let clock = Arc::new(Moved::default());
        let gate = Gate::new(&limits, Arc::clone(&clock) as Arc<dyn Clock>);
        let long = [gate.enter().await.unwrap(), gate.enter().await.unwrap()];
        assert_eq!(gate.enter().await.unwrap_err().code.number(), 202, "they may be short");
        clock.sleep(LONG);
        let short = gate.enter().await.unwrap();
        assert_eq!(gate.enter().await.unwrap_err().code.number(), 202, "one is lent, and no more");
        drop(short);
        let short = gate.enter().await.unwrap();
        let [first, second] = long;
        // Of the two that are left one has been kept for long.
        drop(first);
        let other = gate.enter().await.unwrap();
        drop(second);
        assert_eq!(
            gate.enter().await.unwrap_err().code.number(),
            202,
            "the lent place is nobody's now, and these are new"
        );
        drop((short, other));
        let all = [gate.try_enter(), gate.try_enter(), gate.try_enter()];
        assert_eq!(all.map(|place| place.is_some()), [true, true, false]);
    }

    #[tokio::test]
    async fn a_seat_is_left_and_taken_again() {
        let limits = Limits { statements: 1, wait: Duration::ZERO, ..Limits::default() };
        let gate = Arc::new(Gate::new(&limits, clock()));
        let seat = Seat::new(&gate, gate.enter().await.unwrap());
        seat.take_again().await;
        assert!(gate.try_enter().is_none());
        seat.leave();
        let other = gate.enter().await.unwrap();
        let mut again = Box::pin(seat.take_again());
        assert!(futures::poll!(&mut again).is_pending(), "somebody has it");
        drop(other);
        again.await;
        assert!(gate.try_enter().is_none());
        drop(seat);
        assert!(gate.try_enter().is_some());
    }

    #[tokio::test]
    async fn places_are_given_in_turn_and_refused_beyond_the_queue() {
        let limits = Limits { statements: 1, waiting: 1, wait: Duration::from_secs(60), ..Limits::default() };
        let gate = Gate::new(&limits, clock());
        let first = gate.enter().await.unwrap();
        let mut second = Box::pin(gate.enter());
        assert!(futures::poll!(&mut second).is_pending());
        assert_eq!(gate.waiting(), 1);
        assert_eq!(gate.enter().await.unwrap_err().code.number(), 202);
        drop(first);
        let mut again = Box::pin(gate.again());
        assert!(futures::poll!(&mut again).is_pending(), "who waited goes first");
        let second = second.await;
        assert!(second.is_ok());
        assert_eq!(gate.waiting(), 0);
        drop(second);
        assert!(again.await.is_some());
    }

    #[tokio::test]
    async fn nobody_waits_longer_than_the_limit() {
        let limits = Limits { statements: 1, waiting: 1, wait: Duration::ZERO, ..Limits::default() };
        let gate = Gate::new(&limits, clock());
        let _first = gate.enter().await.unwrap();
        assert_eq!(gate.enter().await.unwrap_err().code.number(), 202);
    }

    #[tokio::test]
    async fn the_last_and_the_first_who_begin_go_before_those_who_go_on_but_for_every_fourth_place() {
        let limits = Limits { statements: 1, waiting: 9, wait: Duration::from_secs(60), ..Limits::default() };
        let gate = Gate::new(&limits, clock());
        let mut held = gate.enter().await.ok();
        // Two go on, eight begin, of whom two leave while they wait.
        let mut waiting: Vec<(usize, futures::future::LocalBoxFuture<'_, Option<Place>>)> = Vec::new();
        waiting.push((100, Box::pin(gate.again())));
        waiting.push((101, Box::pin(gate.again())));
        let begin = |number| (number, Box::pin(async { gate.enter().await.ok() }) as _);
        waiting.extend((0..8).map(begin));
        for (_, waiter) in &mut waiting {
            assert!(futures::poll!(waiter).is_pending());
        }
        waiting.retain(|(number, _)| !matches!(number, 1 | 7));
        let mut order = Vec::new();
        while !waiting.is_empty() {
            drop(held.take());
            let mut next = None;
            for (at, (_, waiter)) in waiting.iter_mut().enumerate() {
                if let std::task::Poll::Ready(place) = futures::poll!(waiter) {
                    assert!(next.is_none(), "there is one place");
                    (held, next) = (place, Some(at));
                }
            }
            order.push(waiting.remove(next.unwrap()).0);
        }
        assert_eq!(order, [6, 0, 5, 100, 4, 2, 3, 101]);
        drop(held);
        assert_eq!((gate.waiting(), gate.try_enter().is_some()), (0, true));
    }
}
