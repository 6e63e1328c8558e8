//! Deep statements run, and are dropped, where there is stack enough for them.
//!
//! Plans and trees are walked recursively, by us and by libraries. How deep they will be was measured when the text was
//! read; a future or stream in here is polled on a stack of that size. Invariant: a shallow one costs a comparison.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use sql::Measure;

/// Aliases make a query deeper than its text: up to this, and never more than it has elements.
const ALIAS_LEVELS: usize = 400;
/// A statement of so few elements is not deep, whatever they are.
const SMALL_ELEMENTS: usize = 60;

/// What needs room while it is used.
pub struct Roomy<T> {
    measure: Measure,
    work: Option<T>,
}

impl<T> Roomy<T> {
    /// For what a statement's text was measured to be.
    pub fn new(measure: Measure, work: T) -> Self {
        let hidden = if measure.elements > SMALL_ELEMENTS { measure.elements.min(ALIAS_LEVELS) } else { 0 };
        Self { measure: Measure { levels: measure.levels.max(hidden), ..measure }, work: Some(work) }
    }
}

impl<T> Drop for Roomy<T> {
    fn drop(&mut self) {
        let work = self.work.take();
        self.measure.run(move || drop(work));
    }
}

impl<T> Future for Roomy<BoxFuture<'_, T>> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let measure = self.measure;
        match &mut self.work {
            Some(work) => measure.run(|| work.as_mut().poll(context)),
            None => Poll::Pending,
        }
    }
}

impl<T> Stream for Roomy<BoxStream<'_, T>> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let measure = self.measure;
        match &mut self.work {
            Some(work) => measure.run(|| work.as_mut().poll_next(context)),
            None => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;

    fn stack() -> usize {
        // So much is left while it runs.
        stacker::remaining_stack().unwrap_or(0)
    }

    #[test]
    fn work_of_a_deep_statement_has_more_stack_than_its_thread() {
        let deep = Measure { levels: 300, ..Measure::default() };
        let before = stack();
        let left = futures::executor::block_on(Roomy::new(deep, async { stack() }.boxed()));
        assert!(left > before + (16 << 20), "{left} {before}");
        let rows = futures::stream::once(async { stack() }).boxed();
        let left = futures::executor::block_on(Roomy::new(deep, rows).next());
        assert!(left > Some(before + (16 << 20)), "{left:?}");
        let small = futures::executor::block_on(Roomy::new(Measure::default(), async { stack() }.boxed()));
        assert!(small <= before);
    }
}
