//! A post between simulated processes that loses, delays and repeats what one has another commit.
//!
//! Invariant: an answer that comes is the other's own; everything else may happen. Must not know: what is sent.

use std::sync::Weak;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::*;
use crate::catalog::{Elsewhere, RecordWriter, SentRows};

/// Processes, by number; and what is under way to them.
#[derive(Debug)]
pub(super) struct Post {
    boxes: Mutex<Vec<Weak<Catalog>>>,
    late: Mutex<Vec<(usize, SentRows)>>,
    dice: Mutex<u64>,
    /// Rows that another one was asked to commit, and that it did.
    pub carried: Mutex<usize>,
}

/// The mark of a process in its records.
pub(super) fn mark(number: u64) -> RecordWriter {
    (number + 1).to_be_bytes()
}

impl Post {
    pub(super) fn new(nodes: usize, seed: u64) -> Post {
        let boxes = Mutex::new((0..nodes).map(|_| Weak::new()).collect());
        Post { boxes, late: Mutex::default(), dice: Mutex::new(seed), carried: Mutex::default() }
    }

    /// A process has begun.
    pub(super) fn move_in(self: &Arc<Self>, number: u64, catalog: &Arc<Catalog>) {
        let number = usize::try_from(number).unwrap();
        if let Some(place) = self.boxes.lock().get_mut(number) {
            *place = Arc::downgrade(catalog);
            catalog
                .ask_elsewhere(Box::new(Desk { post: Arc::clone(self), catalog: Arc::downgrade(catalog) }));
        }
    }

    fn below(&self, limit: u64) -> u64 {
        let mut dice = self.dice.lock();
        let mut own = Dice(*dice);
        let thrown = own.below(limit);
        *dice = own.0;
        thrown
    }

    fn deliver(&self, to: usize, rows: SentRows) -> Option<Vec<Bytes>> {
        let catalog = self.boxes.lock().get(to).and_then(Weak::upgrade)?;
        let since = rows.since;
        catalog.commit_for_others(since, vec![rows]).now_or_never()?.ok()
    }

    /// What was under way arrives.
    pub(super) fn deliver_late(&self) {
        let late = std::mem::take(&mut *self.late.lock());
        for (to, rows) in late {
            let _ = self.deliver(to, rows);
        }
    }
}

/// Where a process hands in what is to be sent.
#[derive(Debug)]
struct Desk {
    post: Arc<Post>,
    catalog: Weak<Catalog>,
}

impl Elsewhere for Desk {
    fn reaches(&self, _writer: RecordWriter) -> bool {
        // Else nothing would be decided anew beside a record of somebody else.
        self.post.below(2) == 0
    }

    fn commit(&self, writer: RecordWriter, rows: SentRows) -> BoxFuture<'_, bool> {
        let to = usize::try_from(u64::from_be_bytes(writer).wrapping_sub(1)).unwrap_or(usize::MAX);
        let post = &self.post;
        let answered = match post.below(8) {
            0 => false,
            1 => {
                post.late.lock().push((to, rows));
                false
            }
            // The answer is lost.
            2 => post.deliver(to, rows).is_some_and(|_| false),
            // It comes once more.
            3 => {
                post.late.lock().push((to, rows.clone()));
                self.told(post.deliver(to, rows))
            }
            // It comes, without the records.
            4 => post.deliver(to, rows).is_some(),
            _ => self.told(post.deliver(to, rows)),
        };
        std::future::ready(answered).boxed()
    }

    fn outrun_by(&self, writer: RecordWriter) {
        let to = usize::try_from(u64::from_be_bytes(writer).wrapping_sub(1)).unwrap_or(usize::MAX);
        // Some calls do not arrive.
        if self.post.below(2) == 0
            && let Some(catalog) = self.post.boxes.lock().get(to).and_then(Weak::upgrade)
        {
            catalog.give_way();
        }
    }
}

impl Desk {
    fn told(&self, frames: Option<Vec<Bytes>>) -> bool {
        let (Some(frames), Some(catalog)) = (frames, self.catalog.upgrade()) else { return false };
        *self.post.carried.lock() += 1;
        catalog.take_told(frames).is_ok()
    }
}
