//! Transactions that meet in the log: one leads, the others come while its record is being written and are the next
//! one.
//!
//! Each has a thread, as a session would; the next one is started only when the one before stands in line, and all
//! wait until the leader, held before its record, is let go. So their order is the one given, and the seed decides
//! everything.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use catalog::{Catalog, Transaction};

use crate::jobs::arm;
use crate::writer::Outcome;

enum Event {
    /// It leads and is held, or it stands in line.
    Waits,
    Done(Outcome),
}

struct Session {
    events: Receiver<Event>,
    thread: JoinHandle<()>,
}

/// What became of each, in the order given.
pub(crate) fn commit_together(catalog: &Arc<Catalog>, transactions: Vec<Transaction>) -> Vec<Outcome> {
    let mut leader: Option<Sender<()>> = None;
    let mut sessions = Vec::new();
    for transaction in transactions {
        let (resume, resumed) = channel::<()>();
        let leads = leader.is_none();
        let (session, waits) = Session::start(catalog, transaction, leads, resumed);
        if leads && matches!(waits, Event::Waits) {
            leader = Some(resume);
        }
        sessions.push((session, waits));
    }
    // Held no longer; there was none if nobody got as far as a record.
    drop(leader);
    sessions.into_iter().map(|(session, event)| session.finish(event)).collect()
}

impl Session {
    /// Returns when the transaction waits, or is done without having had to.
    fn start(
        catalog: &Arc<Catalog>,
        transaction: Transaction,
        leads: bool,
        resumed: Receiver<()>,
    ) -> (Session, Event) {
        let (tell, events) = channel();
        let waits = tell.clone();
        arm(catalog.host(), if leads { "commitlog.record.write" } else { "catalog.queued" }, move || {
            let _ = waits.send(Event::Waits);
            if leads {
                let _ = resumed.recv();
            }
        });
        let catalog = Arc::clone(catalog);
        let work = move || {
            let outcome = catalog.commit(transaction);
            drop(catalog);
            let _ = tell.send(Event::Done(outcome));
        };
        let thread = Builder::new().name("session".to_owned()).spawn(work).unwrap();
        let event = events.recv().unwrap();
        (Session { events, thread }, event)
    }

    fn finish(self, event: Event) -> Outcome {
        let outcome = match event {
            Event::Done(outcome) => outcome,
            Event::Waits => match self.events.recv() {
                Ok(Event::Done(outcome)) => outcome,
                _ => panic!("a commit does not end"),
            },
        };
        self.thread.join().unwrap();
        outcome
    }
}
